/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job of 11,136 nodes with a reservation at a fabric manager: all but the
 * network and the nodes' daemons is what ships. Each node opens what is sealed
 * to it. (test/sim/fleet_test.c has the network.) FAIRLEAD_TEST=long: 65,536.
 */
#include "bed_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/driver/driver.h"
#include "lanes/manager/core/outside.h"
#include "lanes/proto/combined.h"
#include "lanes/proto/seal.h"

#define COUNT      65536
#define COUNT_LESS 11136
#define TOKEN      "this is the session token"

struct scene {
	struct bed *bed;
	uint64_t client;
	size_t count;
	char list[16];
	struct bed_node *nodes;
};

static int set_up(void **state)
{
	static const struct fairlead_setting settings[] = {
		{ "vni_pool", "1024-1033", 1 },
		{ "hwcoll_url", "https://fabric.example", 2 },
		{ "hwcoll_min_nodes", "4000", 3 },
	};
	static struct core_driver_config driver;
	struct scene *scene = calloc(1, sizeof(*scene));
	struct bed *bed = bed_create();
	const char *length = getenv("FAIRLEAD_TEST");

	driver = (struct core_driver_config){
		.driver = driver_find("slingshot"),
		.settings = settings,
		.setting_count = sizeof(settings) / sizeof(settings[0]),
	};
	scene->count = length != NULL && strcmp(length, "long") == 0
			       ? COUNT
			       : COUNT_LESS;
	snprintf(scene->list, sizeof(scene->list), "n[0-%zu]",
		 scene->count - 1);
	bed_crash(bed);
	bed->config.core.nodes = scene->list;
	bed->config.core.drivers = &driver;
	bed->config.core.driver_count = 1;
	bed->sessions_max = scene->count;
	bed_start(bed, BED_EPOCH + 1, false);
	scene->bed = bed;
	scene->client = bed_client(bed, BED_SUBMITTER);
	scene->nodes = calloc(scene->count, sizeof(*scene->nodes));
	for (size_t i = 0; i < scene->count; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%zu", i);
		bed_node_up(bed, name, &scene->nodes[i]);
		/* Nobody reads it, and it is searched from the beginning. */
		bed_store_fini(bed);
	}
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	bed_destroy(scene->bed);
	free(scene->nodes);
	free(scene);
	return 0;
}

/* The fabric manager has done what it was asked for last. */
static void outside_answer(struct bed *bed, enum outside_verb verb,
			   const char *secret)
{
	const struct outside_end end = {
		.is_reached = true,
		.text = "",
		.secret = (const uint8_t *)secret,
		.secret_size = strlen(secret),
	};

	assert_int_equal(bed->outside_verb, verb);
	engine_outside_done(bed->engine, bed->outside_id, &end);
	bed_commit(bed);
}

static void secret_open(struct scene *scene, size_t index,
			const struct bed_round *round,
			const struct apply_body *apply)
{
	struct secret secret;

	assert_int_equal(seal_open(&scene->nodes[index].key, 1,
				   round->command.grant_id, index,
				   apply->sealed, apply->sealed_size, &secret),
			 0);
	assert_non_null(
		memmem(secret.bytes, secret.size, TOKEN, strlen(TOKEN)));
	assert_non_null(memmem(secret.bytes, secret.size, "test-g1",
			       strlen("test-g1")));
	secret_fini(&secret);
}

/* "Done" of all nodes, as it arrives from below. */
static void all_answer(struct scene *scene, struct bed_round *round)
{
	struct combined combined;
	struct writer writer = { 0 };

	assert_int_equal(round->count, scene->count);
	assert_int_equal(combined_init(&combined, (uint32_t)scene->count), 0);
	for (uint32_t i = 0; i < scene->count; i++) {
		const struct bed_node *node = &scene->nodes[i];
		struct confirm confirm;

		confirm_answer(&round->command, node->name, node->incarnation,
			       0, &confirm);
		assert_int_equal(confirm_encode(&confirm, &node->key, &writer),
				 0);
		assert_int_equal(combined_add(&combined, i, writer.data,
					      writer.size),
				 0);
		writer.size = 0;
	}
	assert_int_equal(combined_encode(&combined, &writer), 0);
	engine_round_part(scene->bed->engine, round->id, writer.data,
			  writer.size);
	combined_fini(&combined);
	writer_fini(&writer);
	if (!round->is_over)
		bed_round_end(scene->bed, round, 0);
	bed_commit(scene->bed);
}

static void every_node_of_a_very_large_job_opens_its_token(void **state)
{
	struct scene *scene = *state;
	struct bed *bed = scene->bed;
	union command_body body;
	struct bed_round *round;
	uint64_t grant_id;

	grant_id = bed_reserve(bed, scene->client, "slurm/1/0", scene->list);
	bed_ask(bed, scene->client, "apply", "{s:I}", "grant_id",
		(json_int_t)grant_id);
	bed_commit(bed);
	assert_null(bed_round_last(bed, COMMAND_APPLY));
	outside_answer(bed, OUTSIDE_MAKE, "test-g1\n" TOKEN);
	round = bed_round_last(bed, COMMAND_APPLY);
	assert_non_null(round);
	assert_null(memmem(round->command.body, round->command.body_size, TOKEN,
			   strlen(TOKEN)));
	assert_int_equal(command_body_decode(COMMAND_APPLY, round->command.body,
					     round->command.body_size, &body),
			 0);
	for (size_t i = 0; i < scene->count; i++)
		secret_open(scene, i, round, &body.apply);
	command_body_fini(COMMAND_APPLY, &body);
	all_answer(scene, round);
	bed_expect_done(bed, scene->client, 0);
	/* At its end the reservation goes. */
	bed_ask(bed, scene->client, "release", "{s:I}", "grant_id",
		(json_int_t)grant_id);
	bed_commit(bed);
	all_answer(scene, bed_round_last(bed, COMMAND_REVOKE));
	bed_expect_done(bed, scene->client, 0);
	outside_answer(bed, OUTSIDE_DROP, "");
}

static void a_larger_job_than_any_is_refused(void **state)
{
	struct scene *scene = *state;
	json_t *answer;

	bed_ask(scene->bed, scene->client, "reserve",
		"{s:{s:s, s:i, s:i, s:s}}", "request", "key", "slurm/1/0",
		"uid", BED_USER, "gid", BED_USER, "nodes", "n[0-65536]");
	bed_commit(scene->bed);
	answer = bed_expect(scene->bed, scene->client, -E2BIG);
	assert_non_null(
		strstr(json_string_value(json_object_get(answer, "error")),
		       "more than 65536"));
	json_decref(answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_node_of_a_very_large_job_opens_its_token),
		cmocka_unit_test(a_larger_job_than_any_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
