/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Three processes that gossip: one is killed and starts again at once. The
 * provider is the program's argument.
 */
#include "scoll.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scoll/api/test/member.h"
#include "sys/test/watchdog.h"

#define COUNT    2                    /* members, besides the root */
#define NEW      2                    /* who starts again */
#define PATIENCE INT64_C(30000000000) /* P, ns */

static const char *provider = "tcp;ofi_rxm";
static struct person root;
static struct member members[COUNT + 1]; /* from 1 on */
static scoll_group_t *group;
static struct outcome outcome;
/* The root's news of NEW: bits of enum scoll_liveness. */
static unsigned news_seen;

static void notified(void *ctx, scoll_nid_t nid, enum scoll_liveness news)
{
	if (nid == crowd_nid(NEW))
		news_seen |= 1u << news;
}

/* What a member knows of NEW, when that has died so often and lives. */
static uint32_t settled(int index, uint32_t deaths, unsigned *ret_news)
{
	char answer[CHILD_ANSWER_MAX];

	child_tell(&members[index].child, "settle %d %u", NEW, deaths);
	member_hear(&members[index], &root, answer);
	assert_int_equal(sscanf(answer, "%u %u", &deaths, ret_news), 2);
	return deaths;
}

/* The root's own word. */
static void settle_root(uint32_t deaths)
{
	while (scoll_is_stealthy(root.scoll) ||
	       scoll_peer_query(root.scoll, crowd_nid(NEW)) != SCOLL_ALIVE ||
	       scoll_peer_deaths(root.scoll, crowd_nid(NEW)) < deaths)
		scoll_wait(root.scoll, 100000000);
}

static int setup(void **state)
{
	unsigned of_member;

	watchdog_start(NULL);
	memset(members, 0, sizeof(members));
	crowd_gossip_count = COUNT + 1;
	person_open(&root, 0, provider, "127.0.0.1", NULL,
		    SCOLL_DISCOVERY_GOSSIP);
	root.timeout = PATIENCE;
	for (int i = 1; i <= COUNT; i++)
		member_start_gossip(&members[i], i, provider, "127.0.0.1");
	members_meet(members, COUNT, &root);
	scoll_peer_notify(root.scoll, notified, NULL);
	for (int i = 1; i <= COUNT; i++)
		settled(i, 0, &of_member);
	settle_root(0);
	group = crowd_group_far(&root, COUNT, SCOLL_TREE_FLAT, false);
	return 0;
}

static int teardown(void **state)
{
	for (int i = 1; i <= COUNT; i++)
		child_stop(&members[i].child);
	if (root.scoll != NULL)
		person_close(&root);
	watchdog_stop();
	return 0;
}

/* Whoever was kept waiting too long may be taken for dead for a while. */
static void run_until_all_answer(const char *text)
{
	int result;

	do {
		scoll_wait(root.scoll, 100000000);
		result = crowd_send(&root, group, text, (int)strlen(text), NULL,
				    0, 0, &outcome);
		if (result == 0)
			crowd_until(&root, 1, &outcome.is_done);
		else
			assert_true(result == -EHOSTDOWN || result == -EAGAIN);
	} while (result < 0 || outcome.status != 0);
	assert_int_equal(outcome.tally.node_count, COUNT + 1);
}

/* kill -9, and the start. */
static void start_again(void)
{
	child_kill(&members[NEW].child);
	member_start_gossip(&members[NEW], NEW, provider, "127.0.0.1");
	members_welcome(members, COUNT, NEW, &root);
}

/* Requests that it ran, in this life. */
static int request_count(int index)
{
	char answer[CHILD_ANSWER_MAX];
	int count;

	child_tell(&members[index].child, "count");
	member_hear(&members[index], &root, answer);
	assert_int_equal(sscanf(answer, "%d", &count), 1);
	return count;
}

/* A death, as all say before it takes part again, and then a life. */
static void reboot_D02_D04_D07_is_counted_and_the_new_start_is_reached(
	void **state)
{
	uint32_t before, before_member;
	unsigned of_member;

	run_until_all_answer("before");
	before = scoll_peer_deaths(root.scoll, crowd_nid(NEW));
	before_member = settled(1, 0, &of_member);
	news_seen = 0;
	start_again();
	settled(NEW, 0, &of_member);
	settle_root(before + 1);
	scoll_progress(root.scoll);
	assert_true(news_seen & (1u << SCOLL_DEAD | 1u << SCOLL_REBOOTED));
	settled(1, before_member + 1, &of_member);
	assert_true(of_member & (1u << SCOLL_DEAD | 1u << SCOLL_REBOOTED));
	assert_int_equal(request_count(NEW), 0);
	run_until_all_answer("after");
	assert_true(request_count(NEW) > 0);
	scoll_group_destroy(group);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(reboot_D02_D04_D07_is_counted_and_the_new_start_is_reached),
	};
	int result = member_main(argc, argv, &provider);

	if (result >= 0)
		return result;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
