/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests go the way of a client's: from JSON. Fan-outs are kept until the
 * core has returned, since it must not be called from inside its operations,
 * and then answered by all nodes.
 */
#include "core_bed.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/driver/driver.h"
#include "lanes/manager/core/core.h"
#include "lanes/manager/role.h"
#include "lanes/proto/request.h"
#include "lanes/proto/seal.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "sys/rng.h"

#define NODE_TEXT_MAX 16

struct bed {
	struct config *config;
	struct role_config filled;
	struct clock_seam clock;
	struct rng_seam rng;
	struct node_master master; /* of the nodes' keys */
	struct log log;
	struct core *core;
	struct hostlist *nodes;
	bed_store_fn *store;
	void *arg;
	uint64_t random;
	uint32_t *picked; /* by node: the job that picked it last */
	int reply_result;
	uint64_t reply_grant;
	uint64_t fanout_id; /* 0: none waits for its answers */
	struct core_answer *answers;
	size_t answer_count;
};

void bed_die(const char *what, const char *why)
{
	fprintf(stderr, "bench: %s: %s\n", what, why);
	exit(1);
}

/* --- what the core gives out --- */

static void on_store(void *ctx, const struct store_row *row)
{
	struct bed *bed = ctx;

	bed->store(bed->arg, row);
}

static void on_reply(void *ctx, uint64_t token, const struct core_reply *reply)
{
	static const char member[] = "\"grant_id\":";
	const char *found = NULL;
	struct bed *bed = ctx;

	bed->reply_result = reply->result;
	if (reply->result < 0)
		bed_die("refused", reply->text);
	if (reply->members != NULL)
		found = strstr(reply->members, member);
	bed->reply_grant =
		found == NULL ? 0 : strtoull(found + strlen(member), NULL, 10);
}

/* The node's name, as long as the bed lives. */
static const char *node_name(const struct bed *bed, const char *name)
{
	return bed->nodes->names[strtoul(name + 1, NULL, 10)];
}

static void incarnation_of(const char *name, uint8_t incarnation[16])
{
	memset(incarnation, 0, 16);
	memcpy(incarnation, name, strlen(name) < 16 ? strlen(name) : 16);
}

static void on_fanout(void *ctx, const struct core_fanout *fanout)
{
	struct bed *bed = ctx;

	bed->fanout_id = fanout->id;
	bed->answer_count = fanout->node_count;
	for (size_t i = 0; i < fanout->node_count; i++) {
		struct core_answer *answer = &bed->answers[i];

		*answer = (struct core_answer){
			.node = node_name(bed, fanout->nodes[i]),
			.text = "",
		};
		incarnation_of(answer->node, answer->incarnation);
	}
}

static void on_acknowledge(void *ctx, const char *node, uint64_t sequence)
{
}

static void on_drain(void *ctx, const char *node, bool is_drained,
		     const char *reason)
{
	bed_die("a node was drained", reason);
}

static void on_notify(void *ctx, uint64_t id, const char *node, bool is_drained,
		      const char *reason)
{
	bed_die("the site is notified of a drain", reason);
}

static void on_look(void *ctx, const char *node)
{
	bed_die("a node is to be looked at", node);
}

static void on_seal(void *ctx, const struct core_secrets *secrets,
		    struct writer *writer)
{
	const struct bed *bed = ctx;
	struct seal_stream stream;
	struct rng_seam rng;

	seal_stream_init(&stream, secrets->seed, secrets->seed_size,
			 secrets->grant_id, secrets->packed,
			 secrets->packed_size);
	rng = seal_stream_seam(&stream);
	if (seal_make(&rng, &bed->master, secrets->grant_id, secrets->nodes,
		      secrets->node_count, secrets->packed,
		      secrets->packed_size, writer) < 0)
		bed_die("seal", "no memory");
	seal_stream_fini(&stream);
}

static const struct core_ops ops = {
	.store = on_store,
	.reply = on_reply,
	.fanout = on_fanout,
	.acknowledge = on_acknowledge,
	.drain = on_drain,
	.notify = on_notify,
	.look = on_look,
	.seal = on_seal,
};

static void answer_fanout(struct bed *bed)
{
	while (bed->fanout_id != 0) {
		uint64_t id = bed->fanout_id;

		bed->fanout_id = 0;
		core_fanout_done(bed->core, id, bed->answers,
				 bed->answer_count);
	}
}

/* --- the bed --- */

static void load_config(struct bed *bed, const char *path)
{
	_auto_(freep) char *errors = NULL;
	size_t count = 0;

	while (driver_table[count] != NULL)
		count++;
	if (config_load(path, CONFIG_ROLE_MANAGER, driver_table, count,
			&bed->config, &errors) < 0)
		bed_die(path, errors);
	role_config_fill(bed->config, &bed->filled);
}

static void register_nodes(struct bed *bed)
{
	struct fairlead_error error;

	for (size_t i = 0; i < bed->nodes->count; i++) {
		struct core_registration registration = {
			.node = bed->nodes->names[i],
			.version = FAIRLEAD_VERSION,
		};

		incarnation_of(registration.node, registration.incarnation);
		if (core_register(bed->core, &registration, &error) < 0)
			bed_die(registration.node, error.text);
	}
}

struct bed *bed_create(const char *config_path)
{
	struct bed *bed = calloc(1, sizeof(*bed));
	struct fairlead_error error;
	uint8_t seed[KEY_SIZE];
	const char *nodes;

	if (bed == NULL || sodium_init() < 0)
		bed_die("start", "out of memory");
	load_config(bed, config_path);
	nodes = bed->filled.engine.core.nodes;
	if (hostlist_parse(nodes, &bed->nodes, &error) < 0)
		bed_die(nodes, error.text);
	bed->picked = calloc(bed->nodes->count, sizeof(*bed->picked));
	bed->answers = calloc(bed->nodes->count, sizeof(*bed->answers));
	if (bed->picked == NULL || bed->answers == NULL)
		bed_die("start", "out of memory");
	sys_log_init(&bed->log, "bench", LOG_LEVEL_WARNING);
	bed->clock = sys_clock();
	bed->rng = sys_rng();
	rng_fill(&bed->rng, seed, sizeof(seed));
	node_master_derive(1, seed, &bed->master);
	bed->random = 0x9e3779b97f4a7c15;
	return bed;
}

const char *bed_state_path(const struct bed *bed)
{
	return bed->config->manager.state;
}

uint32_t bed_node_count(const struct bed *bed)
{
	return (uint32_t)bed->nodes->count;
}

void bed_start(struct bed *bed, uint64_t epoch, bed_store_fn *store, void *arg)
{
	struct fairlead_error error;

	bed->store = store;
	bed->arg = arg;
	if (core_create(&bed->filled.engine.core, &ops, bed, &bed->clock,
			&bed->rng, &bed->log, &bed->core, &error) < 0 ||
	    core_start(bed->core, epoch, false, &error) < 0)
		bed_die("start", error.text);
	register_nodes(bed);
}

void bed_destroy(struct bed *bed)
{
	core_destroy(bed->core);
	config_destroy(bed->config);
	hostlist_destroy(bed->nodes);
	free(bed->picked);
	free(bed->answers);
	free(bed);
}

/* --- requests --- */

static uint64_t random_next(struct bed *bed)
{
	bed->random ^= bed->random << 13;
	bed->random ^= bed->random >> 7;
	bed->random ^= bed->random << 17;
	return bed->random;
}

static char *nodes_format(struct bed *bed, uint64_t job, uint32_t spread)
{
	char *text = malloc((size_t)spread * NODE_TEXT_MAX + 8);
	size_t used = 0;

	if (text == NULL)
		bed_die("reserve", "out of memory");
	for (uint32_t i = 0; i < spread; i++) {
		uint64_t node;

		do
			node = random_next(bed) % bed->nodes->count;
		while (bed->picked[node] == (uint32_t)job);
		bed->picked[node] = (uint32_t)job;
		used += (size_t)sprintf(text + used, "%s%" PRIu64,
					i == 0 ? "n[" : ",", node);
	}
	strcpy(text + used, "]");
	return text;
}

static uint64_t reserve(struct bed *bed, uint64_t job, const char *nodes,
			uint32_t tasks)
{
	static const struct core_caller root = { .is_root = true };
	_auto_(request_destroyp) struct request *request = NULL;
	struct fairlead_error error;
	char key[64];
	json_t *json;

	snprintf(key, sizeof(key), "bench/%" PRIu64 "/0", job);
	json = json_pack("{s:s, s:i, s:i, s:s, s:s, s:i}", "key", key, "uid",
			 1000, "gid", 1000, "nodes", nodes, "cores", "8",
			 "tasks", (int)tasks);
	if (request_parse_json(json, bed->filled.engine.core.interconnect,
			       &request, &error) < 0)
		bed_die(key, error.text);
	json_decref(json);
	core_reserve(bed->core, &root, request, job);
	return bed->reply_grant;
}

uint64_t bed_reserve(struct bed *bed, uint64_t job, uint32_t spread)
{
	_auto_(freep) char *nodes = nodes_format(bed, job, spread);

	return reserve(bed, job, nodes, 1);
}

uint64_t bed_reserve_range(struct bed *bed, uint64_t job, uint32_t first,
			   uint32_t last, uint32_t tasks)
{
	char nodes[NODE_TEXT_MAX * 2 + 8];

	snprintf(nodes, sizeof(nodes), "n[%" PRIu32 "-%" PRIu32 "]", first,
		 last);
	return reserve(bed, job, nodes, tasks);
}

void bed_apply(struct bed *bed, uint64_t grant_id)
{
	static const struct core_caller root = { .is_root = true };

	core_apply(bed->core, &root, grant_id, grant_id);
	answer_fanout(bed);
}

void bed_release(struct bed *bed, uint64_t grant_id)
{
	static const struct core_caller root = { .is_root = true };
	const struct core_selector selector = { .grant_id = grant_id };

	core_release(bed->core, &root, &selector, 0, grant_id);
	answer_fanout(bed);
}
