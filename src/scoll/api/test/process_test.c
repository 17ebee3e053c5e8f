/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members in processes of their own: that they work together, die, stand
 * still, come back, and are forged. The provider is the program's argument.
 */
#include "scoll.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "scoll/api/test/clock.h"
#include "scoll/api/test/member.h"
#include "sys/test/watchdog.h"

#define COUNT      6  /* members, besides the root */
#define DEEP_COUNT 14 /* of a deeper tree */
#define BULK_BYTES 3000000
#define PATIENCE_S 100 /* P */
#define PATIENCE   (PATIENCE_S * INT64_C(1000000000))

static const char *provider = "tcp;ofi_rxm";
static struct person root;
static struct member members[CROWD_MAX + 1]; /* from 1 on */
static scoll_group_t *group;
static struct outcome outcome;
static uint8_t bulk[BULK_BYTES];

static const char *host(void)
{
	return "127.0.0.1";
}

static int setup(void **state)
{
	watchdog_start(NULL);
	memset(members, 0, sizeof(members));
	person_open(&root, 0, provider, host(), NULL, SCOLL_DISCOVERY_GIVEN);
	root.timeout = PATIENCE;
	return 0;
}

static int setup_with(void **state, int factor)
{
	scoll_duration_t rtt = crowd_rtt;
	int result;

	crowd_rtt = factor * rtt;
	result = setup(state);
	crowd_rtt = rtt;
	return result;
}

/* All of them connect at once. */
static int setup_patient(void **state)
{
	return setup_with(state, 10);
}

/* Who waits for others has time to say so. */
static int setup_deep(void **state)
{
	return setup_with(state, 2);
}

static int teardown(void **state)
{
	for (int i = 1; i <= CROWD_MAX; i++) {
		if (members[i].child.pid != 0)
			kill(members[i].child.pid, SIGCONT);
		child_stop(&members[i].child);
	}
	if (root.scoll != NULL)
		person_close(&root);
	watchdog_stop();
	return 0;
}

static void start(int count, int forger)
{
	for (int i = 1; i <= count; i++)
		member_start_begin(&members[i], i, provider, host(), NULL,
				   i == forger);
	for (int i = 1; i <= count; i++)
		member_start_end(&members[i]);
	members_meet(members, count, &root);
}

static double elapsed_ms(const struct timespec *since)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - since->tv_sec) * 1e3 +
	       (double)(now.tv_nsec - since->tv_nsec) / 1e6;
}

static void group_of(int count, scoll_tree_type_t tree, bool populate_now)
{
	struct timespec since;

	clock_gettime(CLOCK_MONOTONIC, &since);
	group = crowd_group_far(&root, count, tree, populate_now);
	print_message("group: %.1f ms\n", elapsed_ms(&since));
}

static void run(const char *text, size_t bulk_len, unsigned flags)
{
	assert_int_equal(crowd_send(&root, group, text, (int)strlen(text), bulk,
				    bulk_len, flags, &outcome),
			 0);
	crowd_until(&root, 1, &outcome.is_done);
}

static void go_on(void)
{
	scoll_wait(root.scoll, 100000000);
}

/*
 * All who can have answered: the root waits for the others until its timeout.
 */
static void run_without(const char *text, int replies)
{
	root.reply_count = 0;
	assert_int_equal(crowd_send(&root, group, text, (int)strlen(text), NULL,
				    0, 0, &outcome),
			 0);
	while (!outcome.is_done && root.reply_count < replies)
		go_on();
	clock_skip(2 * PATIENCE_S);
	crowd_until(&root, 1, &outcome.is_done);
}

static void is_success(int count, const char *text, size_t bulk_len)
{
	uint64_t nodes = (uint64_t)count + 1;

	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.failure_count, 0);
	assert_int_equal(outcome.tally.node_count, nodes);
	assert_int_equal(outcome.tally.payload_sum,
			 nodes * crowd_sum(text, strlen(text)));
	assert_int_equal(outcome.tally.bulk_sum,
			 nodes * crowd_sum(bulk, bulk_len));
}

static const struct scoll_failure *failure_of(int index)
{
	return outcome_failure(&outcome, index);
}

static void broadcast_reaches_processes_and_sums_them_up(void **state)
{
	static char text[3000];

	memset(text, 'x', sizeof(text) - 1);
	start(COUNT, 0);
	group_of(COUNT, SCOLL_TREE_KNOMIAL(2), false);
	run("first", 0, 0);
	is_success(COUNT, "first", 0);
	run("", 0, 0);
	is_success(COUNT, "", 0);
	run(text, 0, 0);
	is_success(COUNT, text, 0);
	scoll_group_destroy(group);
	group_of(COUNT, SCOLL_TREE_FLAT, true);
	run("flat", 0, SCOLL_LAST);
	is_success(COUNT, "flat", 0);
	scoll_group_destroy(group);
}

static void bulk_data_reaches_processes_hop_by_hop(void **state)
{
	static const size_t sizes[] = { 1, 4096, BULK_BYTES };

	for (size_t i = 0; i < sizeof(bulk); i++)
		bulk[i] = (uint8_t)(i * 7 + (i >> 8));
	start(COUNT, 0);
	group_of(COUNT, SCOLL_TREE_KARY(2), false);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		run("bulk", sizes[i], 0);
		is_success(COUNT, "bulk", sizes[i]);
	}
	scoll_group_destroy(group);
}

static void many_requests_at_once_all_end(void **state)
{
	enum {
		REQUESTS = 100
	};
	static struct outcome outcomes[REQUESTS];

	start(COUNT, 0);
	group_of(COUNT, SCOLL_TREE_KNOMIAL(2), true);
	for (int i = 0; i < REQUESTS; i++)
		assert_int_equal(crowd_send(&root, group, "many", 4, NULL, 0, 0,
					    &outcomes[i]),
				 0);
	for (int i = 0; i < REQUESTS; i++) {
		crowd_until(&root, 1, &outcomes[i].is_done);
		assert_int_equal(outcomes[i].status, 0);
		assert_int_equal(outcomes[i].tally.node_count, COUNT + 1);
	}
	scoll_group_destroy(group);
}

static void killed_member_is_named_and_the_others_answer(void **state)
{
	const struct scoll_failure *failure;

	start(COUNT, 0);
	group_of(COUNT, SCOLL_TREE_FLAT, true);
	run("all", 0, 0);
	is_success(COUNT, "all", 0);
	child_kill(&members[4].child);
	run_without("dead", COUNT - 1);
	assert_int_equal(outcome.status, -EREMOTEIO);
	assert_int_equal(outcome.failure_count, 1);
	failure = failure_of(4);
	assert_non_null(failure);
	assert_true(failure->type == SCOLL_ERROR_TIMEOUT ||
		    failure->type == SCOLL_ERROR_PEER_DEAD ||
		    failure->type == SCOLL_ERROR_NET_SEND);
	assert_int_equal(outcome.tally.node_count, COUNT);
	/* Discovery knows it: it is not asked, or nothing is sent. */
	assert_int_equal(scoll_peer_set(root.scoll, crowd_nid(4), SCOLL_DEAD),
			 0);
	assert_int_equal(crowd_send(&root, group, "no", 2, NULL, 0, 0,
				    &outcome),
			 -EHOSTDOWN);
	scoll_group_destroy(group);
}

/*
 * The death is reported while the request waits: it ends long before its time.
 */
static void news_of_a_death_end_the_wait_for_it(void **state)
{
	const struct scoll_failure *failure;

	start(3, 0);
	group_of(3, SCOLL_TREE_FLAT, true);
	child_tell(&members[2].child, "mute 1");
	child_hear(&members[2].child, (char[CHILD_ANSWER_MAX]){ 0 });
	root.timeout = INT64_C(3600) * 1000000000;
	assert_int_equal(crowd_send(&root, group, "x", 1, NULL, 0, 0, &outcome),
			 0);
	for (int i = 0; i < 10; i++)
		scoll_wait(root.scoll, 10000000);
	assert_false(outcome.is_done);
	child_kill(&members[2].child);
	assert_int_equal(scoll_peer_set(root.scoll, crowd_nid(2), SCOLL_DEAD),
			 0);
	crowd_until(&root, 1, &outcome.is_done);
	failure = failure_of(2);
	assert_non_null(failure);
	assert_int_equal(failure->type, SCOLL_ERROR_PEER_DEAD);
	assert_int_equal(outcome.tally.node_count, 3);
	scoll_group_destroy(group);
}

static void restarted_member_takes_part_again(void **state)
{
	char service[64] = "";

	start(COUNT, 0);
	group_of(COUNT, SCOLL_TREE_KNOMIAL(2), true);
	run("before", 0, 0);
	is_success(COUNT, "before", 0);
	child_kill(&members[2].child);
	assert_int_equal(scoll_peer_set(root.scoll, crowd_nid(2), SCOLL_DEAD),
			 0);
	if (host() != NULL)
		snprintf(service, sizeof(service), "%u",
			 ntohs(((struct sockaddr_in *)members[2].address)
				       ->sin_port));
	member_start(&members[2], 2, provider, host(),
		     service[0] != '\0' ? service : NULL, false);
	members_welcome(members, COUNT, 2, &root);
	assert_int_equal(
		scoll_peer_set(root.scoll, crowd_nid(2), SCOLL_REBOOTED), 0);
	/* It has forgotten the group; the root tells it again. */
	do
		run("after", 0, 0);
	while (outcome.status != 0);
	is_success(COUNT, "after", 0);
	scoll_group_destroy(group);
}

static void stopped_member_is_waited_for_until_the_timeout_only(void **state)
{
	start(COUNT, 0);
	group_of(COUNT, SCOLL_TREE_FLAT, true);
	run("all", 0, 0);
	is_success(COUNT, "all", 0);
	kill(members[3].child.pid, SIGSTOP);
	root.timeout = INT64_C(3600) * 1000000000;
	root.reply_count = 0;
	assert_int_equal(
		crowd_send(&root, group, "stop", 4, NULL, 0, 0, &outcome), 0);
	while (root.reply_count < COUNT - 1)
		go_on();
	/* R + P, and not before. */
	clock_skip(3600 - WATCHDOG_S);
	go_on();
	assert_false(outcome.is_done);
	clock_skip(WATCHDOG_S + crowd_rtt / 1000000000);
	crowd_until(&root, 1, &outcome.is_done);
	assert_int_equal(outcome.status, -EREMOTEIO);
	assert_int_equal(outcome.failure_count, 1);
	assert_non_null(failure_of(3));
	assert_int_equal(failure_of(3)->status, -ETIMEDOUT);
	assert_int_equal(outcome.tally.node_count, COUNT);
	kill(members[3].child.pid, SIGCONT);
	root.timeout = PATIENCE;
	do
		run_without("go on", COUNT);
	while (outcome.status != 0);
	is_success(COUNT, "go on", 0);
	scoll_group_destroy(group);
}

static void member_counts(int index, int *ret_requests, unsigned *ret_refused,
			  unsigned *ret_groups)
{
	char answer[CHILD_ANSWER_MAX];

	child_tell(&members[index].child, "count");
	member_hear(&members[index], &root, answer);
	assert_int_equal(sscanf(answer, "%d %u %u", ret_requests, ret_refused,
				ret_groups),
			 3);
}

static bool is_in(int index, const int *list, int count)
{
	for (int i = 0; i < count; i++) {
		if (list[i] == index)
			return true;
	}
	return false;
}

/* Those and nobody else have failed, and nobody else's answer is missing. */
static void have_failed(const int *list, int count)
{
	assert_int_equal(outcome.status, -EREMOTEIO);
	for (int i = 0; i <= DEEP_COUNT; i++)
		assert_int_equal(failure_of(i) != NULL, is_in(i, list, count));
	assert_int_equal(outcome.failure_count, count);
	assert_int_equal(outcome.tally.node_count, DEEP_COUNT + 1 - count);
}

static int member_replies(int index)
{
	char answer[CHILD_ANSWER_MAX];

	child_tell(&members[index].child, "replies");
	return atoi(member_hear(&members[index], &root, answer));
}

/*
 * Nodes 1 and 2, each with another answer of a child, give up the other child.
 */
static void give_up(const int seen[2])
{
	char answer[CHILD_ANSWER_MAX];

	for (int i = 1; i <= 2; i++) {
		while (!outcome.is_done && member_replies(i) <= seen[i - 1])
			;
		child_tell(&members[i].child, "skip %d", 2 * PATIENCE_S);
		member_hear(&members[i], &root, answer);
	}
	crowd_until(&root, 1, &outcome.is_done);
}

/*
 * 0 -> 1, 2; 1 -> 3, 4; 2 -> 5, 6; 3 -> 7, 8; 4 -> 9, 10; 5 -> 11, 12;
 * 6 -> 13, 14. One inner node stands still, another one is killed when it and
 * those below it have run the request.
 */
static void inner_nodes_E06_that_fail_take_their_subtrees_along(void **state)
{
	static const int both[] = { 3, 7, 8, 5, 11, 12 };
	char answer[CHILD_ANSWER_MAX];
	unsigned refused, groups;
	int requests, seen[2];

	start(DEEP_COUNT, 0);
	group_of(DEEP_COUNT, SCOLL_TREE_KARY(2), true);
	run("all", 0, 0);
	is_success(DEEP_COUNT, "all", 0);
	child_tell(&members[3].child, "mute 1");
	member_hear(&members[3], &root, answer);
	kill(members[5].child.pid, SIGSTOP);
	seen[0] = member_replies(1);
	seen[1] = member_replies(2);
	assert_int_equal(
		crowd_send(&root, group, "fail", 4, NULL, 0, 0, &outcome), 0);
	for (int i = 0; i < 3; i++) {
		do
			member_counts(both[i], &requests, &refused, &groups);
		while (requests < 2);
	}
	child_kill(&members[3].child);
	give_up(seen);
	have_failed(both, 6);
	kill(members[5].child.pid, SIGCONT);
	do {
		seen[0] = member_replies(1);
		seen[1] = member_replies(2) + 1; /* of both its children */
		assert_int_equal(crowd_send(&root, group, "go on", 5, NULL, 0,
					    0, &outcome),
				 0);
		give_up(seen);
	} while (failure_of(5) != NULL);
	have_failed(both, 3);
	scoll_group_destroy(group);
}

/*
 * A member without the key, of the user nobody, with two below it: it gets what
 * is sealed for it, and what it sends is refused: broadcasts (kind 1), bulk
 * ready (2), aborts (3), replies (4).
 */
static void what_is_forged_is_refused_and_changes_nothing(void **state)
{
	struct scoll_stats before = { .size = sizeof(before) };
	struct scoll_stats after = { .size = sizeof(after) };
	unsigned refused, refused_before, groups;
	char answer[CHILD_ANSWER_MAX];
	int requests;

	if (geteuid() != 0) {
		print_message("only root can become somebody else\n");
		skip();
	}
	start(4, 1);
	/* 0 -> 1, 2; 1 -> 3, 4. */
	group_of(4, SCOLL_TREE_KARY(2), false);
	scoll_stats(root.scoll, &before);
	root.reply_count = 0;
	assert_int_equal(crowd_send(&root, group, "forged", 6, bulk, 100000, 0,
				    &outcome),
			 0);
	do {
		go_on();
		scoll_stats(root.scoll, &after);
	} while (root.reply_count < 1 ||
		 after.messages_refused == before.messages_refused);
	clock_skip(2 * PATIENCE_S);
	crowd_until(&root, 1, &outcome.is_done);
	/*
	 * Nobody believes 1 for which start it takes messages, nor any answer
	 * of it; nothing comes to 3 and 4.
	 */
	assert_int_equal(outcome.status, -EREMOTEIO);
	assert_int_equal(outcome.tally.node_count, 2);
	assert_null(failure_of(2));
	assert_non_null(failure_of(1));
	assert_int_equal(failure_of(1)->status, -ETIMEDOUT);
	for (int i = 3; i <= 4; i++) {
		member_counts(i, &requests, &refused, &groups);
		assert_int_equal(requests, 0);
		assert_int_equal(groups, 0);
	}
	member_counts(2, &requests, &refused, &groups);
	assert_int_equal(requests, 1);
	scoll_group_destroy(group);
	/* As a root it has no more luck. */
	scoll_stats(root.scoll, &before);
	member_counts(4, &requests, &refused_before, &groups);
	child_tell(&members[1].child, "attack");
	member_hear(&members[1], &root, answer);
	assert_int_equal(atoi(answer), -EREMOTEIO);
	do { /* what it has sent may still be on its way */
		scoll_wait(root.scoll, 1000000);
		scoll_stats(root.scoll, &after);
	} while (after.messages_refused < before.messages_refused + 2);
	assert_int_equal(after.groups, before.groups);
	assert_int_equal(after.requests, before.requests);
	do
		member_counts(4, &requests, &refused, &groups);
	while (refused < refused_before + 2);
	assert_int_equal(requests, 0);
	assert_int_equal(groups, 0);
}

static void sixty_four_processes_work_together(void **state)
{
	struct timespec since;

	start(63, 0);
	group_of(63, SCOLL_TREE_KNOMIAL(4), true);
	clock_gettime(CLOCK_MONOTONIC, &since);
	run("sixty-four", 0, 0);
	print_message("first broadcast: %.1f ms\n", elapsed_ms(&since));
	is_success(63, "sixty-four", 0);
	clock_gettime(CLOCK_MONOTONIC, &since);
	for (int i = 0; i < 20; i++) {
		run("again", 0, 0);
		is_success(63, "again", 0);
	}
	print_message("each of the next: %.1f ms\n", elapsed_ms(&since) / 20);
	scoll_group_destroy(group);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(broadcast_reaches_processes_and_sums_them_up),
		TEST(bulk_data_reaches_processes_hop_by_hop),
		TEST(many_requests_at_once_all_end),
		TEST(killed_member_is_named_and_the_others_answer),
		TEST(news_of_a_death_end_the_wait_for_it),
		TEST(restarted_member_takes_part_again),
		TEST(stopped_member_is_waited_for_until_the_timeout_only),
		cmocka_unit_test_setup_teardown(
			inner_nodes_E06_that_fail_take_their_subtrees_along,
			setup_deep, teardown),
		TEST(what_is_forged_is_refused_and_changes_nothing),
		cmocka_unit_test_setup_teardown(
			sixty_four_processes_work_together, setup_patient,
			teardown),
	};
	int result = member_main(argc, argv, &provider);

	if (result >= 0)
		return result;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
