/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes that are taken back: by answers that are late, forged, or do not come. */
#include "scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "lanes/manager/fanout/fanout.h"

static void a_forged_answer_counts_for_nothing(void **state)
{
	struct scene *scene = *state;
	struct bed_node liar = scene->nodes[0];
	struct bed_round *round;
	struct confirm confirm;

	scene_make_active(scene);
	scene_release(scene);
	/* n1 says that n0 has revoked it, or could not. */
	liar.key = scene->nodes[1].key;
	round = bed_node_asked(&liar);
	confirm_answer(&round->command, "n0", liar.incarnation, 0, &confirm);
	bed_node_say(&liar, round, &confirm);
	confirm.result = -EBUSY;
	bed_node_say(&liar, round, &confirm);
	bed_node_obey(&scene->nodes[1], COMMAND_REVOKE, 0);
	bed_commit(scene->bed);
	assert_null(bed_answer(scene->bed, scene->client));
	bed_advance(scene->bed, 11000);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
	assert_int_equal(scene_count_quarantined(scene), 1);
}

static void an_answer_of_an_older_life_frees_nothing(void **state)
{
	struct scene *scene = *state;
	struct bed_round *round;
	struct confirm confirm;

	scene_make_active(scene);
	scene_release(scene);
	bed_node_obey(&scene->nodes[1], COMMAND_REVOKE, 0);
	round = bed_node_asked(&scene->nodes[0]);
	confirm_answer(&round->command, "n0", scene->nodes[0].incarnation, 0,
		       &confirm);
	confirm.life++;
	bed_node_say(&scene->nodes[0], round, &confirm);
	bed_commit(scene->bed);
	bed_advance(scene->bed, 11000);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
	assert_int_equal(scene_count_quarantined(scene), 1);
}

/* Its round goes on for a while after the client's answer. */
static void a_late_answer_is_a_confirmation(void **state)
{
	struct scene *scene = *state;
	struct bed_round *round;

	scene_make_active(scene);
	scene_release(scene);
	bed_node_obey(&scene->nodes[1], COMMAND_REVOKE, 0);
	bed_advance(scene->bed, 10000);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
	assert_int_equal(scene_count_quarantined(scene), 1);
	while ((round = bed_node_asked(&scene->nodes[0]))->is_over)
		continue;
	scene_confirm_revoked(scene, round);
	assert_int_equal(scene_count_quarantined(scene), 0);
}

/* By its own word, on its link. */
static void a_revoke_is_confirmed_when_its_collective_is_over(void **state)
{
	struct scene *scene = *state;
	struct confirm own = { .version = WIRE_VERSION, .sequence = 1 };

	scene_make_active(scene);
	scene_release(scene);
	bed_node_obey(&scene->nodes[1], COMMAND_REVOKE, 0);
	bed_node_obey(&scene->nodes[0], COMMAND_REVOKE, -EBUSY);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
	assert_int_equal(scene_count_quarantined(scene), 1);
	own.grant_id = scene->grant_id;
	strcpy(own.node, "n0");
	memcpy(own.incarnation, scene->nodes[0].incarnation, INCARNATION_SIZE);
	bed_node_confirm(&scene->nodes[0], &own);
	bed_commit(scene->bed);
	assert_int_equal(scene_count_quarantined(scene), 0);
}

/* Commands are answered the way that they came. */
static void an_answer_on_a_link_counts_for_nothing(void **state)
{
	struct scene *scene = *state;
	struct bed_round *round;
	struct confirm confirm;

	scene_make_active(scene);
	scene_release(scene);
	round = bed_node_asked(&scene->nodes[0]);
	confirm_answer(&round->command, "n0", scene->nodes[0].incarnation, 0,
		       &confirm);
	bed_node_confirm(&scene->nodes[0], &confirm);
	bed_node_obey(&scene->nodes[1], COMMAND_REVOKE, 0);
	bed_commit(scene->bed);
	assert_null(bed_answer(scene->bed, scene->client));
}

static void the_group_of_a_grant_goes_with_its_lane(void **state)
{
	struct scene *scene = *state;

	scene_make_active(scene);
	assert_int_equal(scene->bed->drop_count, 0);
	scene_release(scene);
	assert_int_equal(bed_round_last(scene->bed, COMMAND_REVOKE)->group,
			 scene->grant_id);
	for (int i = 0; i < 2; i++)
		bed_node_obey(&scene->nodes[i], COMMAND_REVOKE, 0);
	/* It is over with the REVOKE, and again with the grant. */
	assert_true(scene->bed->drop_count > 0);
	assert_int_equal(scene->bed->dropped_group, scene->grant_id);
}

static void nodes_that_are_gone_end_the_wait(void **state)
{
	struct scene *scene = *state;

	scene_make_active(scene);
	/* Up to here their answers came; from now on nobody answers. */
	for (int i = 0; i < 2; i++) {
		engine_node_closed(scene->bed->engine, scene->nodes[i].peer);
		bed_node_silence(&scene->nodes[i], true);
	}
	bed_advance(scene->bed, ENGINE_LEASE_MS - 1000);
	scene_release(scene);
	bed_advance(scene->bed, FANOUT_GONE_MS);
	bed_commit(scene->bed);
	assert_null(bed_answer(scene->bed, scene->client));
	/* A lease has run out, and a short while later they are given up. */
	bed_advance(scene->bed, 2000);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
	assert_int_equal(scene_count_quarantined(scene), 1);
}

static void a_busy_node_keeps_its_identifiers_quarantined(void **state)
{
	struct scene *scene = *state;

	scene_make_active(scene);
	scene_release(scene);
	bed_node_obey(&scene->nodes[0], COMMAND_REVOKE, -EBUSY);
	bed_node_obey(&scene->nodes[1], COMMAND_REVOKE, 0);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
	assert_int_equal(scene_count_quarantined(scene), 1);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_forged_answer_counts_for_nothing),
		TEST(an_answer_of_an_older_life_frees_nothing),
		TEST(a_late_answer_is_a_confirmation),
		TEST(a_revoke_is_confirmed_when_its_collective_is_over),
		TEST(an_answer_on_a_link_counts_for_nothing),
		TEST(the_group_of_a_grant_goes_with_its_lane),
		TEST(nodes_that_are_gone_end_the_wait),
		TEST(a_busy_node_keeps_its_identifiers_quarantined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
