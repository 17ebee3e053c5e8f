/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members that go, and what the others hear of it. The provider is the
 * program's argument.
 */
#include "scoll.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "scoll/api/test/crowd.h"
#include "sys/test/watchdog.h"

#define COUNT    4
#define CYCLE_NS UINT64_C(200000000)

static const char *provider = "tcp;ofi_rxm";
static struct person people[COUNT];

static int setup(void **state)
{
	const struct scoll_params params = {
		.provider = provider,
		.node = "127.0.0.1",
		.tree = CROWD_TREE,
		.discovery = SCOLL_DISCOVERY_GOSSIP,
		.gossip_cycle = CYCLE_NS,
	};

	watchdog_start(NULL);
	for (int i = 0; i < COUNT; i++)
		person_open_with(&people[i], i, &params);
	crowd_meet(people, COUNT);
	return 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < COUNT; i++) {
		if (people[i].scoll != NULL)
			person_close(&people[i]);
	}
	watchdog_stop();
	return 0;
}

static void go_on(int count)
{
	for (int i = 0; i < count; i++)
		scoll_wait(people[i].scoll, 1000000);
}

static bool all_live(void)
{
	bool is_so = true;

	for (int i = 0; i < COUNT; i++) {
		is_so &= !scoll_is_stealthy(people[i].scoll);
		for (int j = 0; j < COUNT; j++)
			is_so &= scoll_peer_query(people[i].scoll,
						  crowd_nid(j)) == SCOLL_ALIVE;
	}
	return is_so;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct seen {
	int count;
	scoll_nid_t first;
	bool has_run;
};

static void notified(void *ctx, scoll_nid_t nid, enum scoll_liveness news)
{
	struct seen *seen = ctx;

	if (news != SCOLL_DEAD)
		return;
	if (seen->count++ == 0)
		seen->first = nid;
	seen->has_run = seen->count == 2;
}

/*
 * The third is silent from now on, the last one leaves later: who leaves
 * without a word is found dead after the silent one.
 */
static void leave_D08_is_noticed_before_a_silence(void **state)
{
	struct seen seen = { .count = 0 };
	scoll_nid_t nids[COUNT];

	for (int i = 0; i < COUNT; i++)
		nids[i] = crowd_nid(i);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(
			scoll_gossip_members(people[i].scoll, nids, COUNT), 0);
	while (!all_live())
		go_on(COUNT);
	scoll_peer_notify(people[0].scoll, notified, &seen);
	/*
	 * Gossip of the last one arrives for some cycles more, fewer than a
	 * death takes.
	 */
	for (uint64_t end_ns = now_ns() + 3 * CYCLE_NS; now_ns() < end_ns;) {
		scoll_wait(people[0].scoll, 0);
		scoll_wait(people[1].scoll, 0);
		scoll_wait(people[3].scoll, 1000000);
	}
	assert_int_equal(seen.count, 0);
	person_close(&people[3]);
	crowd_until(people, 2, &seen.has_run);
	assert_int_equal(seen.first, nids[3]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(leave_D08_is_noticed_before_a_silence),
	};

	if (argc > 1)
		provider = argv[1];
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
