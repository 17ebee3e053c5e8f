/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elan beside other interconnects on one manager: which it is, is one word of a
 * request. What is sealed in a grant and in an APPLY, the job's nodes open.
 */
#include "bed_elan3.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/driver/elan3/reply.h"
#include "lanes/proto/grant.h"
#include "lanes/proto/seal.h"

struct scene {
	struct bed *bed;
	uint64_t client;
};

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	scene->bed = bed_create();
	bed_elan3_start(scene->bed);
	scene->client = bed_client(scene->bed, BED_SUBMITTER);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	bed_destroy(scene->bed);
	free(scene);
	return 0;
}

/* The members of the answer; the caller json_decref's. */
static json_t *reserve(struct scene *scene, const char *key,
		       const char *interconnect, const char *options)
{
	return bed_elan3_reserve(scene->bed, scene->client, key, interconnect,
				 options);
}

static void assert_public(json_t *answer, const char *ids)
{
	json_t *found =
		json_object_get(json_object_get(answer, "public"), "ids");
	char *text = json_dumps(found, JSON_COMPACT);

	assert_string_equal(text, ids);
	free(text);
	json_decref(answer);
}

static void an_interconnect_is_one_word_of_a_request(void **state)
{
	struct scene *scene = *state;
	json_t *pools, *answer;

	assert_public(reserve(scene, "slurm/1/0", "none", ""), "[]");
	assert_public(reserve(scene, "slurm/2/0", "elan3", ""),
		      "[1,1024,1025]");
	assert_public(reserve(scene, "slurm/3/0", "slingshot", ""), "[1024]");
	assert_public(reserve(scene, "slurm/4/0", "elan3", "contexts=3"),
		      "[2,1026,1028]");
	bed_ask(scene->bed, scene->client, "pools", NULL);
	answer = bed_expect(scene->bed, scene->client, 0);
	pools = json_object_get(json_object_get(answer, "pools"), "elan3");
	assert_string_equal(json_string_value(json_object_get(
				    json_object_get(pools, "context"), "held")),
			    "1024-1028");
	assert_string_equal(json_string_value(json_object_get(
				    json_object_get(pools, "program"), "held")),
			    "1-2");
	json_decref(answer);
}

/* --- what is sealed --- */

static void parse(json_t *answer, struct grant *grant)
{
	struct fairlead_error error = { 0 };

	if (grant_parse(json_string_value(json_object_get(answer, "grant")),
			grant, &error) < 0)
		fail_msg("%s", error.text);
	json_decref(answer);
}

static void key_of(const struct bed *bed, const char *node,
		   struct node_key *key)
{
	struct node_master masters[KEYS_MAX];

	assert_int_equal(manager_keys_masters(&bed->keys, masters), 1);
	node_key_derive(&masters[0], node, key);
}

static void the_nodes_of_a_job_open_its_capabilities(void **state)
{
	struct scene *scene = *state;
	struct fairlead_error error = { 0 };
	struct grant grant, again;
	struct elan3_reply reply;
	struct node_key key;
	struct secret secret;

	parse(reserve(scene, "slurm/1/0", "elan3", "layout=cyclic"), &grant);
	assert_null(strstr(grant.public_text, "key_values"));
	key_of(scene->bed, "n4", &key);
	assert_int_equal(seal_open(&key, 1, grant.grant_id, 1, grant.sealed,
				   grant.sealed_size, &secret),
			 0);
	assert_int_equal(elan3_reply_decode(secret.bytes, secret.size, &reply,
					    &error),
			 0);
	assert_int_equal(reply.program, 1);
	assert_int_equal(reply.cap_count, 1);
	assert_int_equal(reply.caps[0].cap_lownode, 3);
	assert_int_equal(reply.caps[0].cap_highnode, 4);
	assert_int_equal(reply.caps[0].cap_bitmap[0], 15);
	key_of(scene->bed, "n5", &key);
	assert_int_equal(seal_open(&key, 1, grant.grant_id, 1, grant.sealed,
				   grant.sealed_size, &secret),
			 -EKEYREJECTED);
	/* After a restart it is the same, to the byte. */
	bed_crash(scene->bed);
	bed_start(scene->bed, BED_EPOCH + 2, false);
	scene->client = bed_client(scene->bed, BED_SUBMITTER);
	parse(reserve(scene, "slurm/1/0", "elan3", "layout=cyclic"), &again);
	assert_int_equal(again.sealed_size, grant.sealed_size);
	assert_memory_equal(again.sealed, grant.sealed, grant.sealed_size);
	elan3_reply_fini(&reply);
	secret_fini(&secret);
	grant_fini(&grant);
	grant_fini(&again);
}

static void an_apply_has_what_the_grant_has(void **state)
{
	struct scene *scene = *state;
	struct bed_round *round;
	struct bed_node nodes[2];
	union command_body body;
	struct grant grant;

	bed_elan3_node_up(scene->bed, "n3", 3, &nodes[0]);
	bed_elan3_node_up(scene->bed, "n4", 4, &nodes[1]);
	parse(reserve(scene, "slurm/1/0", "elan3", ""), &grant);
	bed_ask(scene->bed, scene->client, "apply", "{s:I}", "grant_id",
		(json_int_t)grant.grant_id);
	bed_commit(scene->bed);
	round = bed_round_last(scene->bed, COMMAND_APPLY);
	assert_non_null(round);
	assert_int_equal(command_body_decode(COMMAND_APPLY, round->command.body,
					     round->command.body_size, &body),
			 0);
	assert_int_equal(body.apply.sealed_size, grant.sealed_size);
	assert_memory_equal(body.apply.sealed, grant.sealed, grant.sealed_size);
	command_body_fini(COMMAND_APPLY, &body);
	for (int i = 0; i < 2; i++)
		bed_node_obey(&nodes[i], COMMAND_APPLY, 0);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
	grant_fini(&grant);
}

static void a_node_that_is_elsewhere_fails_the_apply(void **state)
{
	struct scene *scene = *state;
	struct bed_node nodes[2];
	struct grant grant;
	json_t *answer;

	bed_elan3_node_up(scene->bed, "n3", 3, &nodes[0]);
	bed_elan3_node_up(scene->bed, "n4", 5, &nodes[1]);
	parse(reserve(scene, "slurm/1/0", "elan3", ""), &grant);
	bed_ask(scene->bed, scene->client, "apply", "{s:I}", "grant_id",
		(json_int_t)grant.grant_id);
	bed_commit(scene->bed);
	answer = bed_answer(scene->bed, scene->client);
	assert_non_null(answer);
	assert_non_null(
		strstr(json_string_value(json_object_get(answer, "error")),
		       "node 'n4': is ElanID 5 on rail 0, and 4"));
	json_decref(answer);
	grant_fini(&grant);
}

/* What a client's answer is, whatever the request is. */
static void refuse(struct scene *scene, const char *nodes, int tasks,
		   const char *options, int code, const char *text)
{
	json_t *answer;

	bed_ask(scene->bed, scene->client, "reserve",
		"{s:{s:s, s:i, s:i, s:s, s:s, s:i, s:s}}", "request", "key",
		"slurm/9/0", "uid", BED_USER, "gid", BED_USER, "nodes", nodes,
		"interconnect", "elan3", "tasks", tasks, "options", options);
	bed_commit(scene->bed);
	answer = bed_expect(scene->bed, scene->client, code);
	if (!strstr(json_string_value(json_object_get(answer, "error")), text))
		fail_msg("'%s' is not in '%s'", text,
			 json_string_value(json_object_get(answer, "error")));
	json_decref(answer);
}

static void what_is_asked_wrongly_is_refused_by_name(void **state)
{
	struct scene *scene = *state;

	refuse(scene, "n[3-4],m7", 1, "", -ENOENT, "m7");
	refuse(scene, "n[3-4]", 5, "contexts=4", -EINVAL,
	       "5 tasks, which are more than the job's 4 contexts");
	refuse(scene, "n[3-4]", 1024, "", -EINVAL, "1024");
	refuse(scene, "n[3-4]", 1, "rails=1", -EINVAL, "'1' is no rail");
	refuse(scene, "n[3,5]", 1, "contiguous", -EINVAL, "'contiguous'");
	refuse(scene, "n[3-4]", 1, "layout=star", -EINVAL, "block or cyclic");
	/* None of it has used up the key. */
	json_decref(reserve(scene, "slurm/9/0", "elan3", ""));
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_interconnect_is_one_word_of_a_request),
		T(the_nodes_of_a_job_open_its_capabilities),
		T(an_apply_has_what_the_grant_has),
		T(a_node_that_is_elsewhere_fails_the_apply),
		T(what_is_asked_wrongly_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
