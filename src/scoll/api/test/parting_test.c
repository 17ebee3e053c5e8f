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

#include <cmocka.h>

#include "scoll/api/test/clock.h"
#include "scoll/api/test/crowd.h"
#include "sys/test/watchdog.h"

#define COUNT            4
#define CYCLE_S          WATCHDOG_S /* passes only where a test skips it */
#define ROUNDS_PER_CYCLE 8

static const char *provider = "tcp;ofi_rxm";
static struct person people[COUNT];

static int setup(void **state)
{
	const struct scoll_params params = {
		.provider = provider,
		.node = "127.0.0.1",
		.tree = CROWD_TREE,
		.discovery = SCOLL_DISCOVERY_GOSSIP,
		.gossip_cycle = CYCLE_S * INT64_C(1000000000),
	};

	watchdog_start(NULL);
	crowd_gossip_count = COUNT;
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

static void cycle_pass(void)
{
	clock_skip(CYCLE_S);
	for (int i = 0; i < ROUNDS_PER_CYCLE * COUNT; i++)
		scoll_wait(people[i % COUNT].scoll, 1000000);
}

static void notified(void *ctx, scoll_nid_t nid, enum scoll_liveness news)
{
	bool *is_seen = ctx;

	assert_int_equal(nid, crowd_nid(COUNT - 1));
	assert_int_equal(news, SCOLL_DEAD);
	*is_seen = true;
}

/*
 * Only silent cycles end in a death that nobody tells of, and no cycle passes
 * after the last one has gone: without its message this waits for ever.
 */
static void leave_D08_is_noticed_without_a_silence(void **state)
{
	bool is_seen = false;

	while (!all_live())
		cycle_pass();
	scoll_peer_notify(people[0].scoll, notified, &is_seen);
	person_close(&people[COUNT - 1]);
	crowd_until(people, COUNT - 1, &is_seen);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(leave_D08_is_noticed_without_a_silence),
	};

	if (argc > 1)
		provider = argv[1];
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
