/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver, killed before each call by which it changes something outside
 * itself: while it makes a lane, takes one back, and starts on a node that has
 * one. Whatever it had done, no stranger gets into the lane, and after another
 * start the lane can be taken back, and nothing is left of it.
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
 * Whoever died while a lane was made takes it back first, without a record; then
 * it can be made after all.
 */
static void mend_a_making(void *node)
{
	lane.record.size = 0;
	assert_int_equal(crash_revoke(node, &lane), 0);
	crash_assert_nothing_left();
	assert_int_equal(crash_apply(node, &lane), 0);
	assert_true(crash_gets_out(&lane, CRASH_OWNER));
	assert_false(crash_gets_out(&lane, CRASH_STRANGER));
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

/*
 * A short run visits every other point; those in between are the other level's.
 */
static unsigned int stride(void)
{
	return crash_is_long() ? 1 : 2;
}

static unsigned int first_point(void)
{
	return stride() == 1 || strcmp(crash_bpf, "off") == 0 ? 1 : 2;
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

static void assert_no_stranger_gets_out(void)
{
	assert_false(crash_gets_out(&lane, CRASH_STRANGER));
	for (size_t i = 0; i < 2 && others[i].lane.grant_id != 0; i++)
		assert_false(crash_gets_out(&others[i], CRASH_STRANGER));
}

/* False: the step was through before its nth point. */
static bool crash_once(int (*act)(void *node), unsigned int n,
		       void (*mend)(void *node))
{
	bool is_killed = crash_kill_at(act, n);
	void *node;

	/* Before anybody mends anything. */
	assert_no_stranger_gets_out();
	if (!act)
		assert_true(crash_gets_out(&lane, CRASH_OWNER));
	node = crash_open();
	assert_no_stranger_gets_out();
	mend(node);
	crash_close(node);
	return is_killed;
}

static void crash_everywhere(const char *options, int (*act)(void *node),
			     bool has_lane, void (*mend)(void *node))
{
	unsigned int n = first_point();

	if (!crash_is_there())
		skip();
	crash_lane_make(&lane, options);
	if (has_lane)
		have_lane();
	while (crash_once(act, n, mend)) {
		n += stride();
		if (has_lane && act)
			have_lane();
	}
	print_message("the last of its points is the %uth\n", n - stride());
	/* A device is several requests; nft and the gate come to that. */
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

static void a_stranger_gets_out_where_nothing_keeps_it(void **state)
{
	void *node;

	if (!crash_is_there())
		skip();
	crash_lane_make(&lane, "tcs=BEST_EFFORT");
	node = crash_open();
	assert_int_equal(crash_apply(node, &lane), 0);
	assert_false(crash_gets_out(&lane, CRASH_STRANGER));
	netns_run("nft delete table inet fairlead");
	netns_run("umount /sys/fs/bpf && mount -t bpf bpf /sys/fs/bpf");
	/* It holds what the file system has lost. */
	crash_close(node);
	assert_true(crash_gets_out(&lane, CRASH_STRANGER));
	/* And not any more, from the next start on. */
	node = crash_open();
	assert_false(crash_gets_out(&lane, CRASH_STRANGER));
	assert_true(crash_gets_out(&lane, CRASH_OWNER));
	assert_int_equal(crash_revoke(node, &lane), 0);
	crash_assert_nothing_left();
	crash_close(node);
}

/* With a text that has a lane in it, it is as slow as can be. */
static void slow_nft_make(void)
{
	netns_run("cd " CRASH_DIRECTORY " && mkfifo reached go && "
		  "cat >nft <<'END' && chmod 755 nft\n"
		  "#!/bin/sh\n"
		  "cat >" CRASH_DIRECTORY "/text\n"
		  "if grep -q %u " CRASH_DIRECTORY "/text; then\n"
		  "	echo >" CRASH_DIRECTORY "/reached\n"
		  "	read -r line <" CRASH_DIRECTORY "/go\n"
		  "fi\n"
		  "/usr/sbin/nft \"$@\" <" CRASH_DIRECTORY "/text\n"
		  "END",
		  CRASH_OWNER);
}

static void what_a_dead_driver_has_asked_of_nft_is_not_done_late(void **state)
{
	int reached, go;
	char byte;
	void *node;
	pid_t child;

	if (!crash_is_there())
		skip();
	slow_nft_make();
	go = open(CRASH_DIRECTORY "/go", O_RDWR | O_CLOEXEC);
	crash_lane_make(&lane, "tcs=BEST_EFFORT");
	have_lane();
	child = crash_begin(CRASH_DIRECTORY "/nft", make);
	reached = open(CRASH_DIRECTORY "/reached", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(reached, &byte, 1), 1);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	node = crash_open();
	lane.record.size = 0;
	assert_int_equal(crash_revoke(node, &lane), 0);
	crash_assert_nothing_left();
	assert_int_equal(write(go, "go\n", 3), 3);
	crash_await_orphans();
	crash_assert_nothing_left();
	crash_close(node);
	close(reached);
	close(go);
}

#define one(name) \
	cmocka_unit_test_setup_teardown(name, crash_setup, crash_teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		one(a_stranger_gets_out_where_nothing_keeps_it),
		one(what_a_dead_driver_has_asked_of_nft_is_not_done_late),
		one(a_crash_while_a_lane_is_made),
		one(a_crash_while_a_lane_is_taken_back),
		one(a_crash_while_several_lanes_are_taken_back),
		one(a_crash_while_a_lane_in_a_namespace_is_made),
		one(a_crash_while_a_lane_in_a_namespace_is_taken_back),
		one(a_crash_of_a_start_with_a_lane),
	};
	if (argc != 2)
		return 2;
	crash_bpf = argv[1];
	if (!crash_world_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
