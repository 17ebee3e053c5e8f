/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/manager/core/test/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/runs.h"
#include "lanes/manager/core/test/fake_driver.h"
#include "lanes/manager/core/test/journal.h"

struct edge_count {
	char name[64];
	size_t count;
	UT_hash_handle hh;
};

#define APPEND(list, count)                                          \
	((list) = memory_resize(list, (count) + 1, sizeof(*(list))), \
	 (list)[count] = (__typeof__(*(list))){ 0 }, &(list)[(count)++])

/* --- what the core gives out --- */

static void on_store(void *ctx, const struct store_row *row)
{
	struct fixture *fixture = ctx;

	fixture->row_count++;
	if (!fixture->is_failing)
		journal_write(&fixture->journal, row);
}

static void on_reply(void *ctx, uint64_t token, const struct core_reply *reply)
{
	struct fixture *fixture = ctx;
	struct given_reply *given;

	assert_true((reply->result == 0) == (reply->text == NULL));
	assert_true(reply->result <= 0);
	if (fixture->is_failing)
		return;
	given = APPEND(fixture->replies, fixture->reply_count);
	given->token = token;
	given->result = reply->result;
	given->text = memory_text_or_null(reply->text);
	given->hint = memory_text_or_null(reply->hint);
	if (reply->members != NULL) {
		given->members = json_loads(reply->members,
					    JSON_REJECT_DUPLICATES, NULL);
		assert_true(json_is_object(given->members));
	}
}

static void on_fanout(void *ctx, const struct core_fanout *fanout)
{
	struct fixture *fixture = ctx;
	struct given_fanout *given;

	assert_true(fanout->node_count > 0 && fanout->timeout_ms > 0);
	for (size_t i = 0; i < fanout->node_count; i++) {
		const struct node *node =
			nodes_find(&fixture->core->nodes, fanout->nodes[i]);

		assert_int_equal(node->state, NODE_UP);
	}
	if (fixture->is_failing)
		return;
	given = APPEND(fixture->fanouts, fixture->fanout_count);
	given->id = fanout->id;
	given->op = fanout->op;
	given->apply_floor = fanout->apply_floor;
	given->timeout_ms = fanout->timeout_ms;
	given->nodes = hostlist_format(fanout->nodes, fanout->node_count);
	given->node_count = fanout->node_count;
	given->names = memory_array(fanout->node_count, sizeof(char *));
	for (size_t i = 0; i < fanout->node_count; i++)
		given->names[i] = memory_text_or_null(fanout->nodes[i]);
	given->lane = *fanout->lane;
	given->key = memory_text_or_null(fanout->key);
	given->driver = memory_text_or_null(fanout->driver);
	assert_true((fanout->members == NULL) == (fanout->members_size == 0));
	if (fanout->members != NULL)
		given->members = memory_have(strndup(
			(const char *)fanout->members, fanout->members_size));
	assert_true((fanout->sealed == NULL) == (fanout->sealed_size == 0));
	if (fanout->sealed != NULL)
		given->sealed = memory_have(strndup(
			(const char *)fanout->sealed, fanout->sealed_size));
	assert_true((fanout->cores == NULL) ==
		    (fanout->op == CORE_FANOUT_REVOKE));
	if (fanout->cores != NULL) {
		given->cores = memory_text(fanout->cores);
		given->tasks = memory_text(fanout->tasks);
	}
}

static void on_acknowledge(void *ctx, const char *node, uint64_t sequence)
{
	struct fixture *fixture = ctx;
	struct given_ack *given;

	if (fixture->is_failing)
		return;
	given = APPEND(fixture->acks, fixture->ack_count);
	given->node = memory_text_or_null(node);
	given->sequence = sequence;
}

static void on_drain(void *ctx, const char *node, bool is_drained,
		     const char *reason)
{
	struct fixture *fixture = ctx;
	struct given_drain *given;

	if (fixture->is_failing)
		return;
	given = APPEND(fixture->drains, fixture->drain_count);
	given->node = memory_text_or_null(node);
	given->is_drained = is_drained;
	given->reason = memory_text_or_null(reason);
}

static void on_notify(void *ctx, uint64_t id, const char *node, bool is_drained,
		      const char *reason)
{
	struct fixture *fixture = ctx;
	struct given_notice *given;

	if (fixture->is_failing)
		return;
	given = APPEND(fixture->notices, fixture->notice_count);
	given->id = id;
	given->node = memory_text_or_null(node);
	given->is_drained = is_drained;
	given->reason = memory_text_or_null(reason);
}

static void on_outside(void *ctx, const struct outside_request *request)
{
	struct fixture *fixture = ctx;
	struct given_outside *given;

	if (fixture->is_failing)
		return;
	given = APPEND(fixture->outsides, fixture->outside_count);
	given->id = request->id;
	given->verb = request->verb;
	given->grant_id = request->grant_id;
	given->prefix = memory_text(request->prefix);
	given->text = memory_text(request->text);
}

static void on_look(void *ctx, const char *node)
{
	struct fixture *fixture = ctx;

	if (!fixture->is_failing)
		*APPEND(fixture->looks, fixture->look_count) =
			memory_text_or_null(node);
}

const struct core_operator operator_plain = { .uid = 77 };
const struct core_operator operator_forced = { .uid = 77, .is_forced = true };

/* "sealed(NODE,..)" and the bytes, upside down. */
static void on_seal(void *ctx, const struct core_secrets *secrets,
		    struct writer *writer)
{
	assert_true(secrets->seed_size >= 16);
	write_plain(writer, "sealed(");
	for (size_t i = 0; i < secrets->node_count; i++) {
		write_plain(writer, secrets->nodes[i]);
		write_plain(writer, i + 1 < secrets->node_count ? "," : ") ");
	}
	for (size_t i = secrets->packed_size; i > 0; i--)
		write_u8(writer, secrets->packed[i - 1]);
}

/* The number of the key, and the bytes turned by it. */
static void on_encrypt(void *ctx, uint64_t grant_id, const void *secret,
		       size_t size, struct writer *writer)
{
	const struct fixture *fixture = ctx;
	const uint8_t *bytes = secret;

	write_u8(writer, fixture->key);
	for (size_t i = 0; i < size; i++)
		write_u8(writer, bytes[i] ^ (0x80 | fixture->key));
}

static int on_decrypt(void *ctx, uint64_t grant_id, const void *bytes,
		      size_t size, struct writer *writer,
		      struct fairlead_error *ret_error)
{
	const struct fixture *fixture = ctx;
	const uint8_t *sealed = bytes;

	if (sealed[0] > fixture->key)
		return error_set(ret_error, -ENOKEY, "key %u is not there",
				 sealed[0]);
	for (size_t i = 1; i < size; i++)
		write_u8(writer, sealed[i] ^ (0x80 | sealed[0]));
	return sealed[0] < fixture->key;
}

static const struct core_ops ops = {
	.store = on_store,
	.reply = on_reply,
	.fanout = on_fanout,
	.acknowledge = on_acknowledge,
	.drain = on_drain,
	.notify = on_notify,
	.look = on_look,
	.outside = on_outside,
	.encrypt = on_encrypt,
	.decrypt = on_decrypt,
	.seal = on_seal,
};

static void on_edge(void *ctx, const char *edge)
{
	struct fixture *fixture = ctx;
	struct edge_count *count;

	HASH_FIND_STR(fixture->edges, edge, count);
	if (count == NULL) {
		count = memory_array(1, sizeof(*count));
		snprintf(count->name, sizeof(count->name), "%s", edge);
		HASH_ADD_STR(fixture->edges, name, count);
	}
	count->count++;
}

size_t edge_hits(const struct fixture *fixture, const char *edge)
{
	const char *const *names = core_edges();
	struct edge_count *count;

	while (*names != NULL && strcmp(*names, edge) != 0)
		names++;
	if (*names == NULL)
		fail_msg("there is no edge '%s'", edge);
	HASH_FIND_STR(fixture->edges, edge, count);
	return count == NULL ? 0 : count->count;
}

/* --- life --- */

struct fixture *fixture_create(void)
{
	struct fixture *fixture = memory_array(1, sizeof(*fixture));

	fixture->clock.monotonic_ms = 1000;
	fixture->clock.wall_us = 1751386927844317u;
	fixture->clock_seam = sim_clock_seam(&fixture->clock);
	fixture->drivers[0].driver = &fake_driver;
	fixture->drivers[0].settings = fixture->settings;
	fixture->drivers[1].driver = &twin_driver;
	fixture->drivers[2].driver = &bare_driver;
	fixture->drivers[3].driver = &lined_driver;
	sim_rng_init(&fixture->rng, 1);
	fixture->rng_seam = sim_rng_seam(&fixture->rng);
	fixture->config = (struct core_config){
		.nodes = "n[0-9]",
		.cluster = "cl",
		.interconnect = "fake",
		.apply_timeout_ms = 30000,
		.revoke_timeout_ms = 10000,
		.events_keep = 100,
		.drivers = fixture->drivers,
		.driver_count = 3,
	};
	return fixture;
}

void fixture_setting(struct fixture *fixture, const char *name,
		     const char *value)
{
	size_t i = fixture->drivers[0].setting_count;

	for (size_t n = 0; n < i; n++) {
		if (strcmp(fixture->settings[n].name, name) == 0) {
			fixture->settings[n].value = value;
			return;
		}
	}
	assert_true(i < SETTINGS_MAX);
	fixture->settings[i].name = name;
	fixture->settings[i].value = value;
	fixture->settings[i].line = (unsigned int)i + 1;
	fixture->drivers[0].setting_count++;
}

struct loading {
	struct core *core;
	struct fairlead_error *error;
	int result;
};

static void row_load(struct journal_row *row, void *arg)
{
	struct loading *loading = arg;
	struct store_row store_row = {
		.table = row->table,
		.verb = STORE_PUT,
		.id = row->id,
		.sub = row->sub,
		.key = row->key,
		.body = row->body,
		.size = row->size,
	};

	if (loading->result == 0)
		loading->result =
			core_load(loading->core, &store_row, loading->error);
}

/* As it is now, where it stays as it is. */
static const struct core_config *config_copy(struct fixture *fixture)
{
	struct taken_config *taken = &fixture->taken[1 - fixture->taken_index];

	taken->config = fixture->config;
	taken->config.drivers = taken->drivers;
	memcpy(taken->drivers, fixture->drivers, sizeof(taken->drivers));
	memcpy(taken->settings, fixture->settings, sizeof(taken->settings));
	taken->drivers[0].settings = taken->settings;
	return &taken->config;
}

int fixture_configure(struct fixture *fixture, char **ret_changes,
		      struct fairlead_error *ret_error)
{
	int result = core_configure(fixture->core, config_copy(fixture),
				    ret_changes, ret_error);

	if (result == 0)
		fixture->taken_index = 1 - fixture->taken_index;
	return result;
}

int fixture_load(struct fixture *fixture, struct core **ret_core,
		 struct fairlead_error *ret_error)
{
	struct loading loading = { .error = ret_error };
	int result = core_create(config_copy(fixture), &ops, fixture,
				 &fixture->clock_seam, &fixture->rng_seam, NULL,
				 &loading.core, ret_error);

	if (result < 0)
		return result;
	journal_each(&fixture->journal, row_load, &loading);
	if (loading.result == 0)
		*ret_core = loading.core;
	else
		core_destroy(loading.core);
	return loading.result;
}

int fixture_start(struct fixture *fixture, bool is_recovery,
		  struct fairlead_error *ret_error)
{
	int result = fixture_load(fixture, &fixture->core, ret_error);

	if (result < 0)
		return result;
	fixture->taken_index = 1 - fixture->taken_index;
	core_set_probe(fixture->core, on_edge, fixture);
	result = core_start(fixture->core, ++fixture->epoch, is_recovery,
			    ret_error);
	if (result < 0) {
		core_destroy(fixture->core);
		fixture->core = NULL;
	}
	return result;
}

void fixture_restart(struct fixture *fixture)
{
	struct fairlead_error error = { 0 };

	core_destroy(fixture->core);
	fixture->core = NULL;
	/* Who was asked by the old one answers nobody. */
	for (size_t i = 0; i < fixture->fanout_count; i++)
		fixture->fanouts[i].is_answered = true;
	if (fixture_start(fixture, false, &error) < 0)
		fail_msg("the journal does not load: %s", error.text);
}

static void given_free(struct fixture *fixture)
{
	for (size_t i = 0; i < fixture->reply_count; i++) {
		free(fixture->replies[i].text);
		free(fixture->replies[i].hint);
		json_decref(fixture->replies[i].members);
	}
	for (size_t i = 0; i < fixture->fanout_count; i++) {
		struct given_fanout *given = &fixture->fanouts[i];

		for (size_t n = 0; n < given->node_count; n++)
			free(given->names[n]);
		free(given->names);
		free(given->nodes);
		free(given->key);
		free(given->driver);
		free(given->cores);
		free(given->tasks);
		free(given->members);
		free(given->sealed);
	}
	for (size_t i = 0; i < fixture->ack_count; i++)
		free(fixture->acks[i].node);
	for (size_t i = 0; i < fixture->drain_count; i++) {
		free(fixture->drains[i].node);
		free(fixture->drains[i].reason);
	}
	for (size_t i = 0; i < fixture->notice_count; i++) {
		free(fixture->notices[i].node);
		free(fixture->notices[i].reason);
	}
	for (size_t i = 0; i < fixture->look_count; i++)
		free(fixture->looks[i]);
	for (size_t i = 0; i < fixture->outside_count; i++) {
		free(fixture->outsides[i].prefix);
		free(fixture->outsides[i].text);
	}
}

void fixture_forget(struct fixture *fixture)
{
	given_free(fixture);
	fixture->reply_count = 0;
	fixture->fanout_count = 0;
	fixture->ack_count = 0;
	fixture->drain_count = 0;
	fixture->notice_count = 0;
	fixture->look_count = 0;
	fixture->outside_count = 0;
}

void fixture_destroy(struct fixture *fixture)
{
	struct edge_count *edge, *next;

	core_destroy(fixture->core);
	given_free(fixture);
	free(fixture->replies);
	free(fixture->fanouts);
	free(fixture->acks);
	free(fixture->drains);
	free(fixture->outsides);
	free(fixture->notices);
	free(fixture->looks);
	journal_clear(&fixture->journal);
	HASH_ITER (hh, fixture->edges, edge, next) {
		HASH_DEL(fixture->edges, edge);
		free(edge);
	}
	free(fixture);
}

int fixture_setup(void **state)
{
	struct fixture *fixture = fixture_create();
	struct fairlead_error error = { 0 };

	if (fixture_start(fixture, false, &error) < 0)
		fail_msg("no core: %s", error.text);
	*state = fixture;
	return 0;
}

/* Whatever a test has done, the journal has to say the same. */
int fixture_teardown(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->core != NULL)
		verify(fixture);
	fixture_destroy(fixture);
	return 0;
}

void fixture_advance(struct fixture *fixture, uint64_t duration_ms)
{
	sim_clock_advance(&fixture->clock, duration_ms);
	core_tick(fixture->core);
}

/* --- the journal --- */

void journal_put(struct fixture *fixture, const struct store_row *row)
{
	journal_write(&fixture->journal, row);
}

static struct journal_row *row_find(const struct fixture *fixture,
				    enum store_table table, uint64_t id,
				    const char *key)
{
	struct journal_row *row, *next;

	HASH_ITER (hh, fixture->journal, row, next)
		if (row->table == table && row->id == id &&
		    (key == NULL || strcmp(row->key, key) == 0))
			return row;
	fail_msg("no such row");
	return NULL;
}

void journal_damage(struct fixture *fixture, enum store_table table,
		    uint64_t id, const char *key)
{
	struct journal_row *row = row_find(fixture, table, id, key);

	row->size--;
}

void journal_remove(struct fixture *fixture, enum store_table table,
		    uint64_t id, const char *key)
{
	struct journal_row *row = row_find(fixture, table, id, key);

	HASH_DEL(fixture->journal, row);
	free(row->key);
	free(row->body);
	free(row);
}

size_t rows(const struct fixture *fixture, enum store_table table, uint64_t id)
{
	struct journal_row *row, *next;
	size_t count = 0;

	HASH_ITER (hh, fixture->journal, row, next)
		count += row->table == table && (id == 0 || row->id == id);
	return count;
}

static int by_number(const void *left, const void *right)
{
	const struct journal_row *const *a = left, *const *b = right;

	return (*a)->sub < (*b)->sub ? -1 : (*a)->sub > (*b)->sub;
}

/* The grant's lines in order, as an array. */
static json_t *events_array(const struct fixture *fixture, uint64_t grant_id)
{
	struct journal_row *sorted[256], *row, *next;
	json_t *array = json_array();
	size_t count = 0;

	HASH_ITER (hh, fixture->journal, row, next) {
		if (row->table != STORE_EVENT || row->id != grant_id)
			continue;
		assert_true(count < 256);
		sorted[count++] = row;
	}
	qsort(sorted, count, sizeof(sorted[0]), by_number);
	for (size_t i = 0; i < count; i++) {
		json_t *line = json_loadb((char *)sorted[i]->body,
					  sorted[i]->size, 0, NULL);

		if (!json_is_object(line) ||
		    !json_is_real(json_object_get(line, "timestamp")) ||
		    !json_is_string(json_object_get(line, "name")) ||
		    !json_is_object(json_object_get(line, "context")) ||
		    json_object_size(line) != 3)
			fail_msg("no event: %.*s", (int)sorted[i]->size,
				 sorted[i]->body);
		json_array_append_new(array, line);
	}
	return array;
}

const char *events(const struct fixture *fixture, uint64_t grant_id)
{
	static char text[4096];
	json_t *array = events_array(fixture, grant_id);
	size_t i;
	json_t *line;

	text[0] = 0;
	json_array_foreach (array, i, line) {
		if (i > 0)
			strcat(text, " ");
		strcat(text, json_string_value(json_object_get(line, "name")));
	}
	json_decref(array);
	return text;
}

json_t *event(const struct fixture *fixture, uint64_t grant_id,
	      const char *name)
{
	json_t *array = events_array(fixture, grant_id);
	json_t *found = NULL, *line;
	size_t i;

	json_array_foreach (array, i, line)
		if (strcmp(json_string_value(json_object_get(line, "name")),
			   name) == 0)
			found = json_object_get(line, "context");
	if (found == NULL)
		fail_msg("no event '%s'", name);
	json_incref(found);
	json_decref(array);
	return found;
}
