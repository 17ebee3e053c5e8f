/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What struct scoll_params and SCOLL_TREE say, each seen by what it changes.
 * The provider is the program's argument.
 */
#include "scoll.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "scoll/api/test/crowd.h"
#include "sys/test/watchdog.h"

#define COUNT    3
#define MEMBERS  8 /* of a group whose other members are nowhere */
#define CHAIN    SCOLL_TREE(SCOLL_TREE_USER, 0)
#define VARIABLE "SCOLL_TREE"
#define MS       INT64_C(1000000)

static const char *provider = "tcp;ofi_rxm";
static struct person people[COUNT];
static int people_count;

static int setup(void **state)
{
	watchdog_start(NULL);
	people_count = 0;
	return 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < people_count; i++)
		person_close(&people[i]);
	unsetenv(VARIABLE);
	watchdog_stop();
	return 0;
}

/* The next person. */
static struct person *with(struct scoll_params params)
{
	struct person *person = &people[people_count];

	params.provider = provider;
	params.node = "127.0.0.1";
	person_open_with(person, people_count, &params);
	people_count++;
	return person;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * The nodes that the person would send to, first to last, counted from itself.
 */
static void assert_children(struct person *person, int count,
			    const int *expected)
{
	int self = (int)(person - people);
	struct outcome outcome;
	scoll_group_t *group =
		crowd_group_far(person, MEMBERS - 1, SCOLL_TREE_DEFAULT, false);
	scoll_request_t *request =
		crowd_request(person, group, "x", 1, NULL, 0, 0, &outcome);

	assert_non_null(request);
	assert_int_equal(scoll_get_nchildren(group), count);
	assert_int_equal(scoll_request_nchildren(request), count);
	for (int i = 0; i < count; i++)
		assert_int_equal(scoll_request_child_nid(request, i),
				 crowd_nid((self + expected[i]) % MEMBERS));
	crowd_request_free(request);
	scoll_group_destroy(group);
}

/* --- trees --- */

static void tree_T06_is_that_of_groups_that_say_none(void **state)
{
	static const int all[] = { 7, 6, 5, 4, 3, 2, 1 };
	static const int of_knomial[] = { 4, 3, 2, 1 };

	assert_children(with((struct scoll_params){ .tree = SCOLL_TREE_FLAT }),
			7, all);
	assert_children(with((struct scoll_params){ .tree = 0 }), 4,
			of_knomial);
}

static void environment_G18_names_the_tree(void **state)
{
	static const int of_kary[] = { 1, 2 };
	static const int all[] = { 7, 6, 5, 4, 3, 2, 1 };

	setenv(VARIABLE, "kary:2", 1);
	assert_children(with((struct scoll_params){ .tree = 0 }), 2, of_kary);
	assert_children(with((struct scoll_params){ .tree = SCOLL_TREE_FLAT }),
			7, all);
}

static void environment_G18_that_names_no_tree_is_refused(void **state)
{
	struct scoll_params params = { .size = sizeof(params),
				       .nid = crowd_nid(0),
				       .provider = provider };
	struct fairlead_error error = { 0 };
	scoll_t *scoll;

	setenv(VARIABLE, "oak", 1);
	assert_int_equal(scoll_init(&params, &scoll, &error), -EINVAL);
	assert_non_null(strstr(error.text, VARIABLE));
	assert_non_null(strstr(error.text, "oak"));
}

static void node_of_a_chain(const struct scoll_tree_shape *shape, uint32_t rank,
			    struct scoll_tree_node *ret_node)
{
	ret_node->parent = rank > 0 ? rank - 1 : 0;
	ret_node->size = shape->node_count - rank;
	ret_node->depth = ret_node->size - 1;
}

static uint32_t child_of_a_chain(const struct scoll_tree_shape *shape,
				 uint32_t rank, uint32_t *ret_ranks,
				 uint32_t capacity)
{
	if (rank + 1 >= shape->node_count)
		return 0;
	if (capacity > 0)
		ret_ranks[0] = rank + 1;
	return 1;
}

static const struct scoll_tree_ops chain_ops = {
	.size = sizeof(chain_ops),
	.name = "chain",
	.node = node_of_a_chain,
	.children = child_of_a_chain,
};
static const struct scoll_tree_kind chain = { SCOLL_TREE_USER, &chain_ops };

static void kind_F14_of_ones_own_is_the_default(void **state)
{
	static const int next[] = { 1 };
	const struct scoll_params ours = { .tree = CHAIN,
					   .tree_kinds = &chain,
					   .tree_kind_count = 1 };
	const struct scoll_params by_name = { .tree_kinds = &chain,
					      .tree_kind_count = 1 };
	struct outcome outcome;
	scoll_group_t *group;

	assert_children(with(ours), 1, next);
	setenv(VARIABLE, "chain", 1);
	assert_children(with(by_name), 1, next);
	with(ours);
	crowd_meet(people, COUNT);
	group = crowd_group(people, COUNT, 1, true);
	assert_int_equal(
		crowd_send(&people[1], group, "x", 1, NULL, 0, 0, &outcome), 0);
	crowd_until(people, COUNT, &outcome.is_done);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.tally.node_count, COUNT);
	scoll_group_destroy(group);
}

static void kind_F14_of_ones_own_is_text(void **state)
{
	static const struct scoll_tree_ops rope = {
		.size = sizeof(rope),
		.name = "rope",
		.option_min = 1,
		.option_max = 9,
		.node = node_of_a_chain,
		.children = child_of_a_chain,
	};
	const struct scoll_tree_kind kinds[] = {
		chain, { SCOLL_TREE_USER + 1, &rope }
	};
	scoll_t *scoll = with((struct scoll_params){ .tree_kinds = kinds,
						     .tree_kind_count = 2 })
				 ->scoll;
	struct fairlead_error error = { 0 };
	char text[SCOLL_TREE_TEXT];
	scoll_tree_type_t tree = 0;

	assert_int_equal(scoll_tree_parse(scoll, "chain", &tree, &error), 0);
	assert_int_equal(tree, CHAIN);
	assert_string_equal(scoll_tree_format(scoll, CHAIN, text), "chain");
	assert_int_equal(scoll_tree_parse(NULL, "chain", &tree, &error),
			 -EINVAL);
	assert_string_equal(scoll_tree_format(NULL, CHAIN, text), "?");
	assert_int_equal(scoll_tree_parse(scoll, "rope:3", &tree, &error), 0);
	assert_int_equal(tree, SCOLL_TREE(SCOLL_TREE_USER + 1, 3));
	assert_string_equal(scoll_tree_format(scoll, tree, text), "rope:3");
	assert_int_equal(scoll_tree_parse(scoll, "knomial:4", &tree, &error),
			 0);
	assert_string_equal(scoll_tree_format(scoll, tree, text), "knomial:4");
}

static int init_with(const struct scoll_tree_kind *kinds, size_t count,
		     scoll_tree_type_t tree, struct fairlead_error *error)
{
	struct scoll_params params = {
		.size = sizeof(params),
		.nid = crowd_nid(0),
		.provider = provider,
		.tree = tree,
		.tree_kinds = kinds,
		.tree_kind_count = count,
	};
	scoll_t *scoll = NULL;
	int result = scoll_init(&params, &scoll, error);

	assert_null(scoll);
	return result;
}

static void kind_F14_that_is_none_is_refused(void **state)
{
	const struct scoll_tree_kind low = { 5, &chain_ops };
	const struct scoll_tree_kind twice[] = { chain, chain };
	const struct scoll_tree_kind lame = {
		SCOLL_TREE_USER,
		&(const struct scoll_tree_ops){
			.size = sizeof(struct scoll_tree_ops), .name = "lame" }
	};
	struct fairlead_error error = { 0 };

	assert_int_equal(init_with(&low, 1, 0, &error), -EINVAL);
	assert_int_equal(init_with(&lame, 1, 0, &error), -EINVAL);
	assert_non_null(strstr(error.text, "128"));
	assert_int_equal(init_with(twice, 2, 0, &error), -EEXIST);
	assert_int_equal(init_with(NULL, 1, 0, &error), -EINVAL);
	assert_int_equal(init_with(&chain, 1, CHAIN + (1u << 24), &error),
			 -EINVAL);
}

/* --- the order of nodes and children --- */

static void order_R09_is_that_of_the_instance(void **state)
{
	/* Binomial of 8: 1, 2 (3), 4 (5, 6, 7); with 7 of them 4 has 5, 6. */
	static const int deepest_first[] = { 4, 2, 1 };
	static const int of_karies[] = { 1, 2 };
	static const int rank_first[] = { 2, 1 };

	assert_children(with((struct scoll_params){ .tree = CROWD_TREE }), 3,
			deepest_first);
	assert_children(
		with((struct scoll_params){ .tree = SCOLL_TREE_KARY(2) }), 2,
		of_karies);
	assert_children(
		with((struct scoll_params){ .tree = SCOLL_TREE_KARY(2),
					    .order = SCOLL_ORDER_RANK }),
		2, rank_first);
}

static void turn_around(void *ctx, const scoll_nid_t *nids, int count,
			int *order)
{
	*(int *)ctx += count;
	for (int i = 0; i < count; i++) {
		assert_int_equal(order[i], i);
		assert_int_equal(nids[i], crowd_nid(i));
		order[i] = count - 1 - i;
	}
}

static void permute_G17_puts_the_nodes_in_order(void **state)
{
	/* 7, 6, ... 0: behind us, and around the end, come 7, 6, 5, ... */
	static const int expected[] = { 4, 6, 7 };
	int count = 0;

	assert_children(with((struct scoll_params){ .tree = CROWD_TREE,
						    .permute = turn_around,
						    .permute_ctx = &count }),
			3, expected);
	assert_int_equal(count, MEMBERS);
}

/* --- bulk data --- */

static void bulk_segment_K03_is_what_is_read_at_once(void **state)
{
	static uint8_t bulk[256 * 1024];
	const struct scoll_params params = {
		.tree = CHAIN,
		.tree_kinds = &chain,
		.tree_kind_count = 1,
		.rtt = 1000 * MS,
		.bulk_segment = 4096,
	};
	struct scoll_stats before = { .size = sizeof(before) };
	struct scoll_stats after = { .size = sizeof(after) };
	struct outcome outcome;
	scoll_group_t *group;

	while (people_count < COUNT)
		with(params);
	crowd_meet(people, COUNT);
	group = crowd_group(people, COUNT, 0, true);
	scoll_stats(people[2].scoll, &before);
	assert_int_equal(crowd_send(&people[0], group, "x", 1, bulk,
				    sizeof(bulk), 0, &outcome),
			 0);
	crowd_until(people, COUNT, &outcome.is_done);
	assert_int_equal(outcome.status, 0);
	scoll_stats(people[2].scoll, &after);
	/*
	 * The last one hears the request, and how much its parent has: once,
	 * if that has read it at once.
	 */
	assert_true(after.messages_received - before.messages_received > 2);
	scoll_group_destroy(group);
}

/* How long nobody is waited for; the second person is there, and asleep. */
static uint64_t patience_ns(struct scoll_params params, size_t bulk_size)
{
	static uint8_t bulk[1024 * 1024];
	uint64_t begun_ns;
	struct outcome outcome;
	scoll_group_t *group;

	assert_true(bulk_size <= sizeof(bulk));
	with(params);
	with(params);
	crowd_meet(people, people_count);
	people[0].timeout = 0;
	group = crowd_group(people, 2, 0, false);
	begun_ns = now_ns();
	assert_int_equal(crowd_send(&people[0], group, "x", 1, bulk, bulk_size,
				    0, &outcome),
			 0);
	crowd_until(people, 1, &outcome.is_done);
	assert_int_equal(outcome.last_type, SCOLL_ERROR_TIMEOUT);
	scoll_group_destroy(group);
	return now_ns() - begun_ns;
}

static void rtt_O01_is_waited_for(void **state)
{
	const struct scoll_params params = { .tree = CROWD_TREE,
					     .rtt = 400 * MS };

	assert_true(patience_ns(params, 0) >= 400 * MS);
}

static void bulk_bandwidth_B20_is_waited_for(void **state)
{
	const struct scoll_params params = { .tree = CROWD_TREE,
					     .rtt = MS,
					     .bulk_bandwidth = 1024 * 1024 };

	assert_true(patience_ns(params, 512 * 1024) >= 500 * MS);
}

/* --- time --- */

static void group_lifetime_L06_is_over_some_time(void **state)
{
	const struct scoll_params mortal = { .tree = CROWD_TREE,
					     .rtt = 1000 * MS,
					     .group_lifetime = 100 * MS };
	struct scoll_stats stats = { .size = sizeof(stats) };
	scoll_group_t *group;

	while (people_count < COUNT)
		with(mortal);
	crowd_meet(people, COUNT);
	group = crowd_group(people, COUNT, 0, true);
	/* It knew it, and without its lifetime would do so for an hour. */
	do {
		scoll_wait(people[1].scoll, MS);
		scoll_stats(people[1].scoll, &stats);
	} while (stats.groups > 0);
	scoll_stats(people[0].scoll, &stats);
	assert_int_equal(stats.groups, 1);
	scoll_group_destroy(group);
}

static void gossip_cycle_D02_is_as_long_as_it_says(void **state)
{
	const struct scoll_params slow = { .tree = CROWD_TREE,
					   .discovery = SCOLL_DISCOVERY_GOSSIP,
					   .gossip_cycle = 3600000 * MS };

	for (int i = 0; i < 2; i++)
		with(slow);
	/* Cycles of 250 ms would have it look earlier, always. */
	while (scoll_timeout(people[0].scoll) <= 260 * MS)
		scoll_progress(people[0].scoll);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(tree_T06_is_that_of_groups_that_say_none),
		TEST(environment_G18_names_the_tree),
		TEST(environment_G18_that_names_no_tree_is_refused),
		TEST(kind_F14_of_ones_own_is_the_default),
		TEST(kind_F14_of_ones_own_is_text),
		TEST(kind_F14_that_is_none_is_refused),
		TEST(order_R09_is_that_of_the_instance),
		TEST(permute_G17_puts_the_nodes_in_order),
		TEST(bulk_segment_K03_is_what_is_read_at_once),
		TEST(rtt_O01_is_waited_for),
		TEST(bulk_bandwidth_B20_is_waited_for),
		TEST(group_lifetime_L06_is_over_some_time),
		TEST(gossip_cycle_D02_is_as_long_as_it_says),
	};

	unsetenv(VARIABLE);
	if (argc > 1)
		provider = argv[1];
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
