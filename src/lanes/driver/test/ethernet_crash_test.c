/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver, killed before each call by which it changes something outside
 * itself: while it makes a lane, takes one back, and starts on a node that has
 * one. Whatever it had done, no other user gets into the lane, and after
 * another start the lane can be taken back, and nothing is left of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "lanes/driver/test/crash_world.h"
#include "lanes/driver/test/netns.h"

/* As by default: a class in HTB, with two leaves. One class has no leaf. */
#define TWO_CLASSES "tcs=LOW_LATENCY:BEST_EFFORT"

/* --- what each step is, and what follows its crash --- */

static struct crash_lane lane;
static struct crash_lane others[2]; /* that are taken back with it */

static int make(void *node)
{
	return crash_apply(node, &lane);
}

static int take(void *node)
{
	return crash_revoke(node, &lane);
}

static int take_all(void *node)
{
	struct crash_lane all[] = { lane, others[0], others[1] };

	return crash_revoke_all(node, all, 3);
}

/*
 * Whoever died while a lane was made takes it back first, without a record;
 * then it can be made after all.
 */
static void mend_a_making(void *node)
{
	lane.record.size = 0;
	assert_int_equal(crash_revoke(node, &lane), 0);
	crash_assert_nothing_left();
	assert_int_equal(crash_apply(node, &lane), 0);
	assert_true(crash_gets_out(&lane, CRASH_OWNER));
	assert_false(crash_gets_out(&lane, CRASH_OTHER_USER));
	assert_int_equal(crash_revoke(node, &lane), 0);
	crash_assert_nothing_left();
}

static void mend_a_taking(void *node)
{
	assert_int_equal(crash_revoke(node, &lane), 0);
	crash_assert_nothing_left();
}

/* One by one, as whoever comes next may ask for it. */
static void mend_a_taking_of_all(void *node)
{
	assert_int_equal(crash_revoke(node, &others[1]), 0);
	assert_int_equal(crash_revoke(node, &lane), 0);
	assert_int_equal(crash_revoke(node, &others[0]), 0);
	crash_assert_nothing_left();
}

static void mend_a_start(void *node)
{
	assert_true(crash_gets_out(&lane, CRASH_OWNER));
}

/* Make it, and take it for one that was there before. */
static void have_lane(void)
{
	void *node = crash_open();

	assert_int_equal(crash_apply(node, &lane), 0);
	for (size_t i = 0; i < 2 && others[i].lane.grant_id != 0; i++)
		assert_int_equal(crash_apply(node, &others[i]), 0);
	crash_close(node);
}

static void assert_no_other_user_gets_out(void)
{
	assert_false(crash_gets_out(&lane, CRASH_OTHER_USER));
	for (size_t i = 0; i < 2 && others[i].lane.grant_id != 0; i++)
		assert_false(crash_gets_out(&others[i], CRASH_OTHER_USER));
}

/* False: the step was through before its nth point. */
static bool crash_once(int (*act)(void *node), unsigned int n,
		       void (*mend)(void *node))
{
	bool is_killed = crash_kill_at(act, n);
	void *node;

	/* Before anybody mends anything. */
	assert_no_other_user_gets_out();
	if (!act)
		assert_true(crash_gets_out(&lane, CRASH_OWNER));
	node = crash_open();
	assert_no_other_user_gets_out();
	mend(node);
	crash_close(node);
	return is_killed;
}

static void crash_everywhere(const char *options, int (*act)(void *node),
			     bool has_lane, void (*mend)(void *node))
{
	unsigned int n = 1;

	if (!crash_is_there())
		skip();
	crash_lane_make(&lane, options);
	if (has_lane)
		have_lane();
	while (crash_once(act, n, mend)) {
		n++;
		if (has_lane && act)
			have_lane();
	}
	print_message("the last of its points is the %uth\n", n - 1);
	/* A device is several requests; rules and gate come to that. */
	assert_in_range(n, act ? 20 : 5, 200);
}

static void a_crash_while_a_lane_is_made(void **state)
{
	crash_everywhere(TWO_CLASSES, make, false, mend_a_making);
}

static void a_crash_while_a_lane_is_taken_back(void **state)
{
	crash_everywhere(TWO_CLASSES, take, true, mend_a_taking);
}

static void a_crash_while_a_lane_in_a_namespace_is_made(void **state)
{
	crash_everywhere("tcs=BEST_EFFORT,isolation=netns", make, false,
			 mend_a_making);
}

static void a_crash_while_a_lane_in_a_namespace_is_taken_back(void **state)
{
	crash_everywhere("tcs=BEST_EFFORT,isolation=netns", take, true,
			 mend_a_taking);
}

/* One of them in a namespace of its own. */
static void a_crash_while_several_lanes_are_taken_back(void **state)
{
	if (!crash_is_there())
		skip();
	for (uint32_t i = 0; i < 2; i++) {
		crash_lane_make(&others[i],
				i == 0 ? "tcs=BEST_EFFORT"
				       : "tcs=BEST_EFFORT,isolation=netns");
		others[i].lane.grant_id += i + 1;
		others[i].lane.ids[0] += i + 1;
	}
	crash_everywhere("tcs=BEST_EFFORT", take_all, true,
			 mend_a_taking_of_all);
	memset(others, 0, sizeof(others));
}

static void a_crash_of_a_start_with_a_lane(void **state)
{
	crash_everywhere(TWO_CLASSES, NULL, true, mend_a_start);
}

static void another_user_gets_out_without_enforcement(void **state)
{
	void *node;

	if (!crash_is_there())
		skip();
	crash_lane_make(&lane, "tcs=BEST_EFFORT");
	node = crash_open();
	assert_int_equal(crash_apply(node, &lane), 0);
	assert_false(crash_gets_out(&lane, CRASH_OTHER_USER));
	netns_run("nft delete table inet fairlead");
	netns_run("umount /sys/fs/bpf && mount -t bpf bpf /sys/fs/bpf");
	/* It holds what the file system has lost. */
	crash_close(node);
	assert_true(crash_gets_out(&lane, CRASH_OTHER_USER));
	/* And not any more, from the next start on. */
	node = crash_open();
	assert_false(crash_gets_out(&lane, CRASH_OTHER_USER));
	assert_true(crash_gets_out(&lane, CRASH_OWNER));
	assert_int_equal(crash_revoke(node, &lane), 0);
	crash_assert_nothing_left();
	crash_close(node);
}

#define one(name) \
	cmocka_unit_test_setup_teardown(name, crash_setup, crash_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		one(another_user_gets_out_without_enforcement),
		one(a_crash_while_a_lane_is_made),
		one(a_crash_while_a_lane_is_taken_back),
		one(a_crash_while_several_lanes_are_taken_back),
		one(a_crash_while_a_lane_in_a_namespace_is_made),
		one(a_crash_while_a_lane_in_a_namespace_is_taken_back),
		one(a_crash_of_a_start_with_a_lane),
	};

	if (!crash_world_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
