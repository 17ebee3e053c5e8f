/* SPDX-License-Identifier: BSD-3-Clause */
/* News: which changes are reported, and how often. */
#include "scoll/member/discovery.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "scoll/member/given.h"

static struct given *given;
static struct discovery *discovery;

static int set_up(void **state)
{
	assert_int_equal(given_create(true, &given), 0);
	discovery = given_discovery(given);
	return 0;
}

static int tear_down(void **state)
{
	given_destroy(given);
	return 0;
}

static void assert_news(uint64_t nid, enum scoll_liveness news)
{
	enum scoll_liveness got;
	uint64_t got_nid;

	assert_true(discovery_has_news(discovery));
	assert_true(discovery_news_next(discovery, &got_nid, &got));
	assert_int_equal(got_nid, nid);
	assert_int_equal(got, news);
}

static void assert_no_news(void)
{
	enum scoll_liveness news;
	uint64_t nid;

	assert_false(discovery_news_next(discovery, &nid, &news));
	assert_false(discovery_has_news(discovery));
}

static void news_D02_of_death_and_reboot(void **state)
{
	assert_no_news();
	given_set(given, 7, SCOLL_DEAD);
	assert_news(7, SCOLL_DEAD);
	assert_no_news();
	given_set(given, 7, SCOLL_ALIVE);
	assert_news(7, SCOLL_ALIVE);
	given_set(given, 7, SCOLL_REBOOTED);
	assert_news(7, SCOLL_REBOOTED);
	assert_int_equal(discovery_counter(discovery, 7), 2);
	assert_no_news();
}

static void what_does_not_change_is_no_news(void **state)
{
	given_set(given, 7, SCOLL_ALIVE);
	assert_no_news();
	given_set(given, 8, SCOLL_DEAD);
	given_set(given, 8, SCOLL_DEAD);
	assert_news(8, SCOLL_DEAD);
	assert_no_news();
}

static void many_changes_of_a_node_are_one(void **state)
{
	given_set(given, 7, SCOLL_DEAD);
	given_set(given, 7, SCOLL_ALIVE);
	assert_news(7, SCOLL_REBOOTED);
	given_set(given, 7, SCOLL_REBOOTED);
	given_set(given, 7, SCOLL_DEAD);
	assert_news(7, SCOLL_DEAD);
	given_set(given, 7, SCOLL_ALIVE);
	given_set(given, 7, SCOLL_DEAD);
	assert_news(7, SCOLL_DEAD);
	assert_no_news();
}

static void each_node_has_its_own(void **state)
{
	for (uint64_t nid = 1; nid <= 200; nid++)
		given_set(given, nid, SCOLL_DEAD);
	for (uint64_t nid = 1; nid <= 200; nid++)
		assert_news(nid, SCOLL_DEAD);
	assert_no_news();
	given_set(given, 150, SCOLL_ALIVE);
	assert_news(150, SCOLL_ALIVE);
	given_set(given, 3, SCOLL_ALIVE); /* before the last one */
	assert_news(3, SCOLL_ALIVE);
	assert_no_news();
}

#define test_with_bed(name) \
	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_with_bed(news_D02_of_death_and_reboot),
		test_with_bed(what_does_not_change_is_no_news),
		test_with_bed(many_changes_of_a_node_are_one),
		test_with_bed(each_node_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
