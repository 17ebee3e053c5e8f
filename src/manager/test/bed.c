/* SPDX-License-Identifier: BSD-3-Clause */
#include "bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <utlist.h>

#include "driver/driver.h"
#include "manager/store/batch.h"
#include "manager/wire/client.h"

/* --- nets --- */

static void net_fini(struct bed_net *net)
{
	for (size_t i = 0; i < net->frame_count; i++)
		free(net->frames[i].bytes);
	net->frame_count = 0;
}

static int on_send(void *ctx, uint64_t peer, const void *frame, size_t size)
{
	struct bed_net *net = ctx;
	struct bed_frame *entry;

	if (net->send_result < 0)
		return net->send_result;
	assert_true(size > 0 && size <= FRAME_SIZE_MAX);
	assert_true(net->frame_count < BED_FRAMES_MAX);
	entry = &net->frames[net->frame_count++];
	entry->peer = peer;
	entry->size = size;
	entry->bytes = malloc(size);
	memcpy(entry->bytes, frame, size);
	return 0;
}

static void on_close(void *ctx, uint64_t peer)
{
	struct bed_net *net = ctx;

	assert_true(net->closed_count < BED_FRAMES_MAX);
	net->closed[net->closed_count++] = peer;
}

static const struct net_ops net_ops = { .send = on_send, .close = on_close };

bool bed_was_closed(const struct bed_net *net, uint64_t peer)
{
	for (size_t i = 0; i < net->closed_count; i++) {
		if (net->closed[i] == peer)
			return true;
	}
	return false;
}

/* The oldest frame for the peer; NULL when there is none. To be freed. */
static uint8_t *take_frame(struct bed_net *net, uint64_t peer, size_t *ret_size)
{
	for (size_t i = 0; i < net->frame_count; i++) {
		struct bed_frame frame = net->frames[i];

		if (frame.peer != peer)
			continue;
		net->frame_count--;
		memmove(&net->frames[i], &net->frames[i + 1],
			(net->frame_count - i) * sizeof(frame));
		*ret_size = frame.size;
		return frame.bytes;
	}
	return NULL;
}

/* --- the store --- */

/* Do they have one primary key, or is `by` about all events of a grant? */
static bool is_covered(const struct store_row *row, const struct store_row *by)
{
	if (row->table != by->table)
		return false;
	switch (by->table) {
	case STORE_META:
	case STORE_NODE:
		return strcmp(row->key, by->key) == 0;
	case STORE_EVENT:
	case STORE_PART:
		return row->id == by->id &&
		       (by->sub == STORE_SUB_ALL || row->sub == by->sub);
	default:
		return row->id == by->id;
	}
}

static void row_destroy(struct bed *bed, struct bed_row *entry)
{
	DL_DELETE(bed->journal, entry);
	free((char *)entry->row.key);
	free((void *)entry->row.body);
	free(entry);
}

static void remove_rows(struct bed *bed, const struct store_row *row)
{
	struct bed_row *entry;
	struct bed_row *next;

	DL_FOREACH_SAFE (bed->journal, entry, next) {
		if (is_covered(&entry->row, row))
			row_destroy(bed, entry);
	}
}

static int by_primary_key(struct bed_row *a, struct bed_row *b)
{
	if (a->row.id != b->row.id)
		return a->row.id < b->row.id ? -1 : 1;
	if (a->row.sub != b->row.sub)
		return a->row.sub < b->row.sub ? -1 : 1;
	return strcmp(a->row.key, b->row.key);
}

static void apply_row(struct bed *bed, const struct store_row *row)
{
	struct bed_row *entry;
	uint8_t *body;

	remove_rows(bed, row);
	if (row->verb == STORE_DELETE)
		return;
	entry = calloc(1, sizeof(*entry));
	body = malloc(row->size + 1);
	if (row->size > 0)
		memcpy(body, row->body, row->size);
	entry->row = *row;
	entry->row.key = strdup(row->key);
	entry->row.body = body;
	DL_INSERT_INORDER(bed->journal, entry, by_primary_key);
}

static void on_commit(void *ctx, struct store_batch *batch_owned,
		      void (*done)(void *arg, int result), void *arg)
{
	struct bed *bed = ctx;

	assert_true(bed->commit_count < 64);
	assert_true(store_batch_count(batch_owned) > 0);
	bed->commits[bed->commit_count++] = (struct bed_commit){
		.batch = batch_owned,
		.done = done,
		.arg = arg,
	};
}

static void on_read(void *ctx, enum store_table table, uint64_t id,
		    const char *key,
		    void (*done)(void *arg, int result,
				 const struct store_row *rows, size_t count),
		    void *arg)
{
	struct bed *bed = ctx;
	struct store_row rows[256];
	struct bed_row *entry;
	size_t count = 0;

	DL_FOREACH (bed->journal, entry) {
		if (entry->row.table == table && entry->row.id == id &&
		    count < 256)
			rows[count++] = entry->row;
	}
	done(arg, 0, rows, count);
}

static const struct store_ops store_ops = {
	.commit = on_commit,
	.read = on_read,
};

void bed_commit_one(struct bed *bed, int result)
{
	struct bed_commit commit;

	assert_true(bed->commit_count > 0);
	commit = bed->commits[0];
	bed->commit_count--;
	memmove(bed->commits, bed->commits + 1,
		bed->commit_count * sizeof(commit));
	if (result >= 0) {
		store_batch_foreach(commit.batch, row) apply_row(bed, row);
	}
	store_batch_destroy(commit.batch);
	commit.done(commit.arg, result);
}

void bed_commit(struct bed *bed)
{
	while (bed->commit_count > 0)
		bed_commit_one(bed, 0);
}

/* --- the engine's owner --- */

static int load_journal(struct bed *bed, struct engine *engine,
			struct fairlead_error *ret_error)
{
	static const enum store_table tables[] = { STORE_META, STORE_NODE,
						   STORE_JOB, STORE_PART,
						   STORE_TOMBSTONE };
	struct bed_row *entry;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		DL_FOREACH (bed->journal, entry) {
			int result = 0;

			if (entry->row.table == tables[i])
				result = engine_load(engine, &entry->row,
						     ret_error);
			if (result < 0)
				return result;
		}
	}
	return 0;
}

static int on_replay(void *ctx, struct engine *engine, uint64_t *ret_epoch,
		     struct fairlead_error *ret_error)
{
	struct bed *bed = ctx;

	assert_int_equal(bed->commit_count, 0);
	bed->replay_count++;
	if (bed->replay_result < 0)
		return error_set(ret_error, bed->replay_result, "no replay");
	*ret_epoch = ++bed->epoch;
	return load_journal(bed, engine, ret_error);
}

static int on_reconfigure(void *ctx, struct engine *engine, char **ret_text)
{
	struct bed *bed = ctx;
	struct engine_config config = bed->config;
	struct fairlead_error error;
	int result;

	if (bed->reconfigure_result < 0) {
		*ret_text = strdup("f:1: wrong\nf:2: wrong too");
		return bed->reconfigure_result;
	}
	config.core.nodes = bed->reconfigure_nodes;
	result = engine_configure(engine, &config, ret_text, &error);
	if (result < 0)
		*ret_text = strdup(error.text);
	return result;
}

static const char *on_store_error(void *ctx)
{
	return "the disk says no";
}

static void on_tell(void *ctx, uint64_t id, const char *node, bool is_drained,
		    const char *reason)
{
	struct bed *bed = ctx;

	bed->drain_count++;
	bed->drain_id = id;
	bed->drain_value = is_drained;
	strcpy(bed->drain_node, node);
}

static void on_effect(void *ctx, uint64_t grant_id, const char *driver,
		      const struct fairlead_effect *effect)
{
	struct bed *bed = ctx;

	bed->effect_count++;
}

static const struct engine_ops engine_ops = {
	.replay = on_replay,
	.reconfigure = on_reconfigure,
	.store_error = on_store_error,
	.tell = on_tell,
	.effect = on_effect,
};

static void on_line(void *sink_data, enum log_level level, const char *line)
{
	struct bed *bed = sink_data;

	bed->warning_count += level == LOG_LEVEL_WARNING;
	snprintf(bed->last_line, sizeof(bed->last_line), "%s", line);
}

void bed_start(struct bed *bed, uint64_t epoch, bool is_recovery)
{
	const struct engine_options options = {
		.config = &bed->config,
		.keys = &bed->keys,
		.nodes_max = bed->nodes_max,
		.clock = sim_clock_seam(&bed->clock),
		.rng = sim_rng_seam(&bed->rng),
		.nodes = { .ops = &net_ops, .ctx = &bed->nodes },
		.clients = { .ops = &net_ops, .ctx = &bed->clients },
		.store = { .ops = &store_ops, .ctx = bed },
		.ops = &engine_ops,
		.ops_ctx = bed,
		.log = &bed->log,
	};
	struct fairlead_error error = { 0 };

	bed->log = (struct log){ .level = LOG_LEVEL_INFO,
				 .sink = on_line,
				 .sink_data = bed };
	bed->epoch = epoch;
	if (engine_create(&options, &bed->engine, &error) < 0 ||
	    load_journal(bed, bed->engine, &error) < 0 ||
	    engine_start(bed->engine, epoch, is_recovery, &error) < 0)
		fail_msg("%s", error.text);
	bed_commit(bed);
}

void bed_crash(struct bed *bed)
{
	while (bed->commit_count > 0)
		store_batch_destroy(bed->commits[--bed->commit_count].batch);
	engine_destroy(bed->engine);
	bed->engine = NULL;
	net_fini(&bed->nodes);
	net_fini(&bed->clients);
}

struct bed *bed_create(void)
{
	static const struct fairlead_setting settings[] = {
		{ "vni_pool", "1024-1033", 1 },
	};
	static const struct engine_submitter submitters[] = {
		{ "slurm", BED_SUBMITTER },
		{ "flux", BED_OTHER },
	};
	static struct core_driver_config configs[2];
	struct bed *bed = calloc(1, sizeof(*bed));
	struct rng_seam rng;

	assert_true(sodium_init() >= 0);
	configs[0].driver = driver_find("none");
	configs[1].driver = driver_find("slingshot");
	configs[1].settings = settings;
	configs[1].setting_count = 1;
	bed->clock.monotonic_ms = 1000000;
	bed->clock.wall_us = 1700000000000000;
	sim_rng_init(&bed->rng, 1);
	rng = sim_rng_seam(&bed->rng);
	manager_keys_create(&rng, &bed->keys);
	bed->config = (struct engine_config){
		.core = {
			.nodes = "n[0-9]",
			.interconnect = "slingshot",
			.apply_timeout_ms = 30000,
			.revoke_timeout_ms = 10000,
			.events_keep = 1000,
			.drivers = configs,
			.driver_count = 2,
		},
		.cluster = "test",
		.submitters = submitters,
		.submitter_count = 2,
	};
	bed->reconfigure_nodes = "n[0-9]";
	bed_start(bed, BED_EPOCH, false);
	return bed;
}

void bed_destroy(struct bed *bed)
{
	bed_crash(bed);
	while (bed->journal != NULL)
		row_destroy(bed, bed->journal);
	manager_keys_fini(&bed->keys);
	free(bed);
}

int bed_set_up(void **state)
{
	*state = bed_create();
	return 0;
}

int bed_tear_down(void **state)
{
	bed_destroy(*state);
	return 0;
}

void bed_advance(struct bed *bed, uint64_t duration_ms)
{
	uint64_t end_ms = bed->clock.monotonic_ms + duration_ms;

	while (engine_deadline_ms(bed->engine) <= end_ms) {
		uint64_t deadline_ms = engine_deadline_ms(bed->engine);

		if (deadline_ms > bed->clock.monotonic_ms)
			sim_clock_advance(&bed->clock,
					  deadline_ms -
						  bed->clock.monotonic_ms);
		engine_tick(bed->engine);
		/* What is due and waits for the disk comes no nearer. */
		if (engine_deadline_ms(bed->engine) <= deadline_ms &&
		    bed->commit_count > 0)
			break;
	}
	if (bed->clock.monotonic_ms < end_ms)
		sim_clock_advance(&bed->clock,
				  end_ms - bed->clock.monotonic_ms);
}

/* --- clients --- */

uint64_t bed_client(struct bed *bed, uid_t uid)
{
	uint64_t peer = ++bed->peer_last;

	engine_client_opened(bed->engine, peer, uid, false);
	return peer;
}

uint64_t bed_remote_client(struct bed *bed, uid_t uid)
{
	uint64_t peer = ++bed->peer_last;

	engine_client_opened(bed->engine, peer, uid, true);
	return peer;
}

void bed_client_send(struct bed *bed, uint64_t client, const char *text)
{
	engine_client_received(bed->engine, client, text, strlen(text));
}

uint64_t bed_ask(struct bed *bed, uint64_t client, const char *op,
		 const char *format, ...)
{
	json_t *request = client_request(++bed->id_last, op);
	json_t *members;
	va_list args;
	char *text;

	if (format != NULL) {
		va_start(args, format);
		members = json_vpack_ex(NULL, 0, format, args);
		va_end(args);
		assert_non_null(members);
		json_object_update(request, members);
		json_decref(members);
	}
	text = json_dumps(request, JSON_COMPACT);
	bed_client_send(bed, client, text);
	free(text);
	json_decref(request);
	return bed->id_last;
}

json_t *bed_answer(struct bed *bed, uint64_t client)
{
	size_t size;
	uint8_t *bytes = take_frame(&bed->clients, client, &size);
	struct fairlead_error error;
	json_t *answer;

	if (bytes == NULL)
		return NULL;
	assert_int_equal(client_parse(bytes, size, &answer, &error), 0);
	free(bytes);
	return answer;
}

json_t *bed_expect(struct bed *bed, uint64_t client, int result)
{
	json_t *answer = bed_answer(bed, client);
	struct client_answer opened;
	struct fairlead_error error;

	if (answer == NULL)
		fail_msg("no answer to client %d", (int)client);
	assert_int_equal(client_answer_open(answer, &opened, &error), 0);
	if (opened.result != result)
		fail_msg("result %d (%s) instead of %d", opened.result,
			 opened.text == NULL ? "" : opened.text, result);
	return answer;
}

void bed_expect_done(struct bed *bed, uint64_t client, int result)
{
	json_decref(bed_expect(bed, client, result));
}

json_t *bed_node_shown(struct bed *bed, const char *name)
{
	uint64_t client = bed_client(bed, BED_ROOT);
	json_t *found = NULL;
	json_t *answer;
	json_t *node;
	size_t index;

	bed_ask(bed, client, "node-list", NULL);
	bed_commit(bed);
	answer = bed_expect(bed, client, 0);
	json_array_foreach (json_object_get(answer, "nodes"), index, node) {
		if (strcmp(json_string_value(json_object_get(node, "name")),
			   name) == 0)
			found = json_incref(node);
	}
	json_decref(answer);
	engine_client_closed(bed->engine, client);
	assert_non_null(found);
	return found;
}

uint64_t bed_reserve(struct bed *bed, uint64_t client, const char *key,
		     const char *nodes)
{
	json_t *answer;
	uint64_t grant_id;

	bed_ask(bed, client, "reserve", "{s:{s:s, s:i, s:i, s:s}}", "request",
		"key", key, "uid", BED_USER, "gid", BED_USER, "nodes", nodes);
	bed_commit(bed);
	answer = bed_expect(bed, client, 0);
	grant_id = (uint64_t)json_integer_value(
		json_object_get(answer, "grant_id"));
	assert_int_not_equal(grant_id, 0);
	json_decref(answer);
	return grant_id;
}

/* --- nodes --- */

void bed_node_receive(struct bed_node *node, const void *frame, size_t size)
{
	engine_node_received(node->bed->engine, node->peer, frame, size);
}

uint8_t *bed_node_take(struct bed_node *node, enum frame_type type,
		       size_t *ret_size)
{
	size_t size;
	uint8_t *bytes = take_frame(&node->bed->nodes, node->peer, &size);
	struct frame frame;

	if (bytes == NULL)
		return NULL;
	assert_int_equal(frame_parse(bytes, size, &frame), 0);
	assert_int_equal(frame.type, type);
	memmove(bytes, bytes + 1, size - 1);
	*ret_size = size - 1;
	return bytes;
}

void bed_node_reconnect(struct bed_node *node)
{
	uint8_t *bytes;
	size_t size;

	node->peer = ++node->bed->peer_last;
	engine_node_opened(node->bed->engine, node->peer, "test");
	bytes = bed_node_take(node, FRAME_CHALLENGE, &size);
	assert_non_null(bytes);
	assert_int_equal(challenge_decode(bytes, size, &node->challenge), 0);
	free(bytes);
}

void bed_node_connect(struct bed *bed, const char *name,
		      struct bed_node *ret_node)
{
	struct node_keys keys;
	struct rng_seam rng = sim_rng_seam(&bed->rng);

	*ret_node = (struct bed_node){ .bed = bed };
	strcpy(ret_node->name, name);
	memset(ret_node->incarnation, name[1], INCARNATION_SIZE);
	assert_int_equal(node_keys_make(&bed->keys, name, &keys, NULL), 0);
	ret_node->key = keys.confirms[0];
	rng_fill(&rng, ret_node->nonce, NONCE_SIZE);
	ret_node->registration.version = WIRE_VERSION;
	strcpy(ret_node->registration.node, name);
	strcpy(ret_node->registration.software, "0.1.0");
	bed_node_reconnect(ret_node);
}

uint8_t *bed_node_register_frame(struct bed_node *node, size_t *ret_size)
{
	struct registration *registration = &node->registration;
	struct writer writer = { 0 };
	uint8_t *bytes;

	memcpy(registration->incarnation, node->incarnation, INCARNATION_SIZE);
	memcpy(registration->manager_nonce, node->challenge.nonce, NONCE_SIZE);
	memcpy(registration->node_nonce, node->nonce, NONCE_SIZE);
	frame_begin(&writer, FRAME_REGISTER);
	assert_int_equal(registration_encode(registration, &node->key, &writer),
			 0);
	bytes = writer_take(&writer, ret_size);
	assert_non_null(bytes);
	return bytes;
}

void bed_node_send_register(struct bed_node *node)
{
	size_t size;
	uint8_t *bytes = bed_node_register_frame(node, &size);

	bed_node_receive(node, bytes, size);
	free(bytes);
}

bool bed_node_command(struct bed_node *node, struct command *ret_command,
		      uint8_t **ret_bytes)
{
	struct command_public publics[KEYS_MAX];
	size_t count = manager_keys_publics(&node->bed->keys, publics);
	size_t size;

	*ret_bytes = bed_node_take(node, FRAME_COMMAND, &size);
	if (*ret_bytes == NULL)
		return false;
	assert_int_equal(command_verify(*ret_bytes, size, publics, count,
					ret_command),
			 0);
	assert_int_equal(ret_command->epoch, node->bed->epoch);
	return true;
}

void bed_node_register(struct bed_node *node)
{
	struct command command;
	struct hello_body body;
	uint8_t *bytes;

	bed_node_send_register(node);
	bed_commit(node->bed);
	assert_true(bed_node_command(node, &command, &bytes));
	assert_int_equal(command.op, COMMAND_HELLO);
	assert_int_equal(hello_body_decode(command.body, command.body_size,
					   command.version, &body),
			 0);
	assert_memory_equal(body.nonce, node->nonce, NONCE_SIZE);
	assert_memory_equal(body.cluster, node->bed->keys.cluster,
			    CLUSTER_ID_SIZE);
	assert_string_equal(body.node, node->name);
	free(bytes);
}

void bed_node_up(struct bed *bed, const char *name, struct bed_node *ret_node)
{
	bed_node_connect(bed, name, ret_node);
	bed_node_register(ret_node);
}

uint8_t *bed_node_confirm_frame(struct bed_node *node,
				const struct confirm *confirm, size_t *ret_size)
{
	struct writer writer = { 0 };
	uint8_t *bytes;

	frame_begin(&writer, FRAME_CONFIRM);
	assert_int_equal(confirm_encode(confirm, &node->key, &writer), 0);
	bytes = writer_take(&writer, ret_size);
	assert_non_null(bytes);
	return bytes;
}

void bed_node_confirm(struct bed_node *node, const struct confirm *confirm)
{
	size_t size;
	uint8_t *bytes = bed_node_confirm_frame(node, confirm, &size);

	bed_node_receive(node, bytes, size);
	free(bytes);
}

void bed_node_obey(struct bed_node *node, enum command_op op, int result)
{
	struct command command;
	struct confirm confirm;
	uint8_t *bytes;

	assert_true(bed_node_command(node, &command, &bytes));
	assert_int_equal(command.op, op);
	confirm_answer(&command, node->name, node->incarnation, result,
		       &confirm);
	bed_node_confirm(node, &confirm);
	free(bytes);
}

size_t bed_node_frames(const struct bed_node *node)
{
	size_t count = 0;

	for (size_t i = 0; i < node->bed->nodes.frame_count; i++)
		count += node->bed->nodes.frames[i].peer == node->peer;
	return count;
}
