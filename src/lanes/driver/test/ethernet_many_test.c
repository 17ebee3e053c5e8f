/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes in hundreds on one node: each works, a start writes the rules of all at
 * once, they are taken back one by one and together, and nothing is left of
 * them. Prints how long each step took.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <time.h>

#include "lanes/driver/test/crash_world.h"

#define LANES_LONG 500
#define LANES      200 /* of a short run */
#define STEP       37  /* between those that are looked at */
#define ALONE      20  /* taken back one by one */

static struct crash_lane lanes[LANES_LONG];

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void say(const char *what, double begin)
{
	print_message("%s: %.1f s\n", what, now_s() - begin);
}

static void assert_works(const struct crash_lane *lane)
{
	assert_true(crash_gets_out(lane, CRASH_OWNER));
	assert_false(crash_gets_out(lane, CRASH_OTHER_USER));
}

static void hundreds_of_lanes_are_on_a_node_at_once(void **state)
{
	uint32_t count = crash_is_long() ? LANES_LONG : LANES;
	double begin = now_s();
	void *node;

	if (!crash_is_there())
		skip();
	crash_lane_make(&lanes[0], "tcs=BEST_EFFORT");
	node = crash_open();
	for (uint32_t i = 0; i < count; i++) {
		lanes[i] = lanes[0];
		lanes[i].lane.grant_id += i;
		lanes[i].lane.ids[0] += i;
		assert_int_equal(crash_apply(node, &lanes[i]), 0);
	}
	say("made", begin);
	for (uint32_t i = 0; i < count; i += STEP)
		assert_works(&lanes[i]);
	crash_close(node);
	begin = now_s();
	node = crash_open();
	say("started with them", begin);
	for (uint32_t i = STEP / 2; i < count; i += STEP)
		assert_works(&lanes[i]);
	begin = now_s();
	for (uint32_t i = 0; i < ALONE; i++)
		assert_int_equal(crash_revoke(node, &lanes[i]), 0);
	say("some taken back one by one", begin);
	begin = now_s();
	assert_int_equal(crash_revoke_all(node, lanes + ALONE, count - ALONE),
			 0);
	say("the others together", begin);
	crash_assert_nothing_left();
	crash_close(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			hundreds_of_lanes_are_on_a_node_at_once, crash_setup,
			crash_teardown),
	};

	if (!crash_world_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
