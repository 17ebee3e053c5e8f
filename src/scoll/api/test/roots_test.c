/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several roots over one group that one of them has made. The provider is the
 * program's argument.
 */
#include "scoll.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scoll/api/test/crowd.h"
#include "sys/test/watchdog.h"

#define COUNT 5
#define MS    INT64_C(1000000)

static const char *provider = "tcp;ofi_rxm";
static struct person people[COUNT];
static scoll_group_t *groups[COUNT]; /* as each has it */
static int keep_result;

/* All but the creator and the last one keep it when they hear of it. */
static int incoming_request(scoll_request_t *request,
			    const scoll_target_t *target)
{
	struct person *person = scoll_request_service(request);
	int index = (int)(person - people);

	if (groups[index] == NULL && index < COUNT - 1) {
		groups[index] = scoll_request_group(request);
		keep_result |= scoll_group_keep(groups[index]);
	}
	return crowd_service.incoming_request(request, target);
}

static int open_all(scoll_duration_t lifetime)
{
	struct scoll_service_ops ops = crowd_service;
	const struct scoll_params params = { .provider = provider,
					     .node = "127.0.0.1",
					     .tree = CROWD_TREE,
					     .rtt = 1000 * MS,
					     .group_lifetime = lifetime };

	ops.incoming_request = incoming_request;
	watchdog_start(NULL);
	memset(groups, 0, sizeof(groups));
	keep_result = 0;
	for (int i = 0; i < COUNT; i++) {
		person_open_with(&people[i], i, &params);
		scoll_service_unregister(people[i].scoll, CROWD_SERVICE);
		scoll_service_register(people[i].scoll, CROWD_SERVICE, &ops,
				       &people[i]);
	}
	crowd_meet(people, COUNT);
	groups[0] = crowd_group(people, COUNT, 0, true);
	return 0;
}

static int setup(void **state)
{
	return open_all(0);
}

static int setup_mortal(void **state)
{
	return open_all(100 * MS);
}

static int teardown(void **state)
{
	for (int i = 0; i < COUNT; i++)
		person_close(&people[i]);
	watchdog_stop();
	return 0;
}

static void send_from(int root, struct outcome *outcome)
{
	assert_int_equal(crowd_send(&people[root], groups[root], "root", 4,
				    NULL, 0, 0, outcome),
			 0);
}

static void finish(struct outcome *outcome)
{
	crowd_until(people, COUNT, &outcome->is_done);
	assert_int_equal(outcome->status, 0);
	assert_int_equal(outcome->tally.node_count, COUNT);
	assert_int_equal(outcome->tally.nid_sum, COUNT * 0x0a000001ul + 10);
}

/* Again, if some member has forgotten the group: then the root is notified. */
static void reach_all_from(int root)
{
	struct outcome outcome;

	do {
		send_from(root, &outcome);
		crowd_until(people, COUNT, &outcome.is_done);
		for (int i = 0; i < outcome.failure_count; i++)
			assert_int_equal(outcome.failures[i].type,
					 SCOLL_ERROR_NO_GROUP);
	} while (outcome.status != 0);
	assert_int_equal(outcome.tally.node_count, COUNT);
}

static void assert_kept(void)
{
	reach_all_from(0);
	assert_int_equal(keep_result, 0);
	for (int i = 0; i < COUNT - 1; i++)
		assert_non_null(groups[i]);
}

static uint64_t group_count(int index)
{
	struct scoll_stats stats = { .size = sizeof(stats) };

	scoll_stats(people[index].scoll, &stats);
	return stats.groups;
}

static void group_G15_that_is_kept_has_many_roots(void **state)
{
	struct outcome outcomes[COUNT - 1];

	assert_kept();
	assert_int_equal(scoll_group_keep(groups[0]), -EALREADY);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < COUNT - 1; i++)
			send_from(i, &outcomes[i]);
		for (int i = 0; i < COUNT - 1; i++)
			finish(&outcomes[i]);
	}
	assert_string_equal(scoll_group_name(groups[2]), "crowd");
	assert_int_equal(scoll_group_nodes(groups[2]), COUNT);
	/* Each has its own tree: the root of this one is node 2. */
	assert_int_equal(scoll_get_nchildren(groups[2]), 3);
}

static void group_G15_L06_that_is_kept_outlives_its_lifetime(void **state)
{
	struct outcome outcome;

	assert_kept();
	/* Those who have not kept it forget it. */
	while (group_count(COUNT - 1) > 0) {
		for (int i = 0; i < COUNT; i++)
			scoll_wait(people[i].scoll, MS);
	}
	assert_int_equal(group_count(1), 1);
	send_from(1, &outcome);
	crowd_until(people, COUNT, &outcome.is_done);
	assert_int_equal(outcome.failure_count, 1);
	assert_int_equal(outcome.failures[0].type, SCOLL_ERROR_NO_GROUP);
	reach_all_from(1);
	scoll_group_destroy(groups[1]);
	while (group_count(1) > 0) {
		for (int i = 0; i < COUNT; i++)
			scoll_wait(people[i].scoll, MS);
	}
}

static void group_G15_L02_that_is_kept_ends_with_its_creators(void **state)
{
	struct outcome outcome;

	assert_kept();
	assert_int_equal(scoll_group_keep(groups[1]), 0);
	scoll_group_destroy(groups[0]);
	while (group_count(1) > 0) {
		for (int i = 0; i < COUNT; i++)
			scoll_wait(people[i].scoll, MS);
	}
	assert_int_equal(crowd_send(&people[1], groups[1], "x", 1, NULL, 0, 0,
				    &outcome),
			 -ESHUTDOWN);
	assert_int_equal(scoll_group_keep(groups[1]), -ESHUTDOWN);
	assert_string_equal(scoll_group_name(groups[1]), "crowd");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(scoll_service_unregister(people[1].scoll,
							  CROWD_SERVICE),
				 -EBUSY);
		scoll_group_destroy(groups[1]);
	}
	assert_int_equal(
		scoll_service_unregister(people[1].scoll, CROWD_SERVICE), 0);
	/* The others' are not given back: scoll_fini does that. */
}

#define TEST(name, setup) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(group_G15_that_is_kept_has_many_roots, setup),
		TEST(group_G15_L06_that_is_kept_outlives_its_lifetime,
		     setup_mortal),
		TEST(group_G15_L02_that_is_kept_ends_with_its_creators, setup),
	};

	if (argc > 1)
		provider = argv[1];
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
