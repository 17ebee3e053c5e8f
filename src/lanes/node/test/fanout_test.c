/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager's end of the fan-out and nodes that are processes, over libfabric
 * on this machine, with the hop keys. A node's agent is a few lines here: each
 * says its NID behind what those below have said. The provider is the argument.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>
#include <uv.h>

#include <cmocka.h>

#include "sys/endpoint/endpoint.h"
#include "lanes/manager/fanout/fanout.h"
#include "lanes/proto/collective.h"
#include "lanes/node/fanout/fanout.h"
#include "scoll/transport/test/child.h"
#include "sys/test/watchdog.h"

#define NODES       7
#define GROUP       7
#define KEY         "1"
#define STRANGE_KEY "99"
#define PATIENCE_MS 200
#define PART_BYTES  PARCEL_PART_MIN
#define LARGE       COMMAND_SIZE_MAX

static uint64_t nid_of(int index)
{
	char name[16];

	snprintf(name, sizeof(name), "n%d", index);
	return nid_of_node(name);
}

static uint64_t sum_of(const uint8_t *bytes, size_t size)
{
	uint64_t sum = size;

	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}

enum part {
	PART_NODE,
	PART_MANAGER,
	PART_OTHER, /* has the hop key, maybe, and signs with one of its own */
};

/* "1 2": the keys; the first one is sealed with, and signed. */
static void keys_take(struct hop *hop, enum part part, const char *words)
{
	struct hop_keys keys = { .is_manager = part != PART_NODE };
	uint32_t ids[2];
	int count = sscanf(words, "%" SCNu32 " %" SCNu32, &ids[0], &ids[1]);

	for (int i = 0; i < count; i++) {
		uint8_t seed[KEY_SIZE];

		memset(seed, (int)ids[i], sizeof(seed));
		hop_key_derive(ids[i], seed, &keys.hops[keys.hop_count++]);
		command_public_derive(ids[i], seed,
				      &keys.commands[keys.command_count++]);
		if (part == PART_OTHER)
			seed[0] ^= 1;
		if (i == 0)
			command_key_derive(ids[i], seed, &keys.command);
	}
	hop_take(hop, &keys);
}

/* --- a node: "node INDEX PROVIDER KEY" --- */

struct errand {
	uint64_t id;
	struct writer below; /* what they have said */
	struct errand *prev, *next;
};

struct node {
	uv_loop_t loop;
	uint64_t nid;
	struct endpoint *endpoint;
	struct hop hop;
	struct node_rounds *node_rounds;
	struct errand *errands;
	unsigned int count; /* of commands */
	uint64_t sum;       /* of the last one */
	/* Of another process. */
	struct rounds *rounds;
	bool is_over;
};

static struct errand *errand_get(struct node *node, uint64_t id)
{
	struct errand *errand;

	DL_FOREACH (node->errands, errand)
		if (errand->id == id)
			return errand;
	errand = calloc(1, sizeof(*errand));
	errand->id = id;
	DL_APPEND(node->errands, errand);
	return errand;
}

static void node_received(void *ctx, uint64_t id, const void *payload,
			  size_t size, const void *bulk, size_t bulk_size)
{
	struct node *node = ctx;
	struct parcel parcel;

	if (parcel_decode(payload, size, &parcel) < 0)
		abort();
	node->count++;
	node->sum = parcel.is_bulk
			    ? sum_of(bulk, bulk_size)
			    : sum_of(parcel.command, parcel.command_size);
}

static void node_part(void *ctx, uint64_t id, const void *bytes, size_t size)
{
	write_bytes(&errand_get(ctx, id)->below, bytes, size);
}

static void node_closed(void *ctx, uint64_t id)
{
	struct node *node = ctx;
	struct errand *errand = errand_get(node, id);

	write_u64(&errand->below, node->nid);
	node_rounds_answer(node->node_rounds, id, errand->below.data,
			   errand->below.size, true);
	DL_DELETE(node->errands, errand);
	writer_fini(&errand->below);
	free(errand);
}

static const struct node_round_events node_events = {
	.command = node_received,
	.part = node_part,
	.closed = node_closed,
};

static void strange_part(void *ctx, uint64_t id, const void *bytes, size_t size)
{
}

static void strange_ended(void *ctx, uint64_t id, int result,
			  const struct round_failure *failures, size_t count)
{
	struct node *node = ctx;

	node->is_over = true;
}

static const struct round_events strange_events = {
	.part = strange_part,
	.ended = strange_ended,
};

static void node_progressed(void *ctx)
{
	struct node *node = ctx;

	if (node->rounds != NULL)
		rounds_settle(node->rounds);
}

/* "attack NID ADDRESS": to be the manager to that node, in each way. */
static void attack(struct node *node, const char *words)
{
	struct round_seam seam = rounds_seam(node->rounds);
	uint8_t address[COLLECTIVE_ADDRESS_MAX];
	_auto_(freep) uint8_t *command = calloc(1, LARGE);
	char hex[2 * COLLECTIVE_ADDRESS_MAX + 1];
	struct round_request request = {
		.count = 1,
		.parcel = { .patience_ms = PATIENCE_MS,
			    .part_bytes = PART_BYTES,
			    .command = command },
	};
	uint64_t nid;

	if (sscanf(words, "%" SCNu64 " %128s", &nid, hex) != 2)
		abort();
	request.nids = &nid;
	seam.ops->address(seam.ctx, nid, address,
			  child_hex_read(hex, address, sizeof(address)));
	for (int i = 0; i < 3; i++) {
		request.id++;
		request.group = i == 0 ? 0 : GROUP;
		request.parcel.command_size = i == 2 ? LARGE : 100;
		node->is_over = false;
		if (seam.ops->start(seam.ctx, &request) < 0)
			abort();
		if (i == 1) {
			uv_run(&node->loop, UV_RUN_ONCE);
			seam.ops->cancel(seam.ctx, request.id);
			continue;
		}
		while (!node->is_over)
			uv_run(&node->loop, UV_RUN_ONCE);
	}
	seam.ops->group_drop(seam.ctx, GROUP);
}

static void on_line(uv_poll_t *poll, int status, int events)
{
	struct node *node = poll->data;
	char line[CHILD_ANSWER_MAX];
	struct scoll_stats stats = { .size = sizeof(stats) };

	if (fgets(line, sizeof(line), stdin) == NULL) {
		uv_stop(&node->loop);
		return;
	}
	if (strncmp(line, "keys ", 5) == 0)
		keys_take(&node->hop, PART_NODE, line + 5);
	else if (strncmp(line, "attack ", 7) == 0)
		attack(node, line + 7);
	scoll_stats(endpoint_scoll(node->endpoint), &stats);
	printf("ok %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
	       node->count, node->sum, stats.messages_refused, stats.groups,
	       stats.requests_active);
}

static int node_main(int argc, char **argv)
{
	uint8_t address[COLLECTIVE_ADDRESS_MAX];
	static struct node node;
	struct endpoint_options options = {
		.loop = &node.loop,
		.host = "127.0.0.1",
		.progressed = node_progressed,
		.ctx = &node,
	};
	struct fairlead_error error;
	uv_poll_t lines = { .data = &node };
	bool is_other;
	int result;

	if (argc != 5 || strcmp(argv[1], "node") != 0)
		return -1;
	child_prepare();
	is_other = atoi(argv[2]) < 0;
	uv_loop_init(&node.loop);
	node.nid = is_other ? NID_MANAGER : nid_of(atoi(argv[2]));
	options.nid = node.nid;
	options.provider = argv[3];
	options.authenticator = &node.hop.authenticator;
	hop_init(&node.hop, node.nid);
	result = endpoint_open(&options, &node.endpoint, &error);
	if (result == 0) {
		keys_take(&node.hop, is_other ? PART_OTHER : PART_NODE,
			  argv[4]);
		if (is_other)
			result = rounds_create(endpoint_scoll(node.endpoint),
					       &strange_events, &node,
					       &node.rounds);
		else
			node.node_rounds = node_rounds_create(
				endpoint_scoll(node.endpoint));
	}
	if (result == 0 && !is_other)
		result = node_rounds_serve(node.node_rounds, &node_events,
					   &node);
	if (result < 0)
		abort();
	printf("ok ");
	child_hex_write(stdout, address,
			endpoint_address(node.endpoint, address));
	printf("\n");
	uv_poll_init(&node.loop, &lines, STDIN_FILENO);
	uv_poll_start(&lines, UV_READABLE, on_line);
	uv_run(&node.loop, UV_RUN_DEFAULT);
	uv_close((uv_handle_t *)&lines, NULL);
	endpoint_close(node.endpoint);
	node_rounds_destroy(node.node_rounds);
	rounds_destroy(node.rounds);
	uv_run(&node.loop, UV_RUN_DEFAULT);
	return uv_loop_close(&node.loop) == 0 ? 0 : 1;
}

/* --- the manager --- */

struct worker {
	struct child child;
	char address[2 * COLLECTIVE_ADDRESS_MAX + 1];
};

struct bench {
	uv_loop_t loop;
	const char *provider;
	struct worker workers[NODES];
	uint64_t nids[NODES];
	struct endpoint *endpoint;
	struct hop hop;
	struct rounds *rounds;
	struct round_seam seam;
	uint64_t id_last;
	uint32_t patience_ms;
	/* Of the last collective. */
	bool is_ended;
	int result;
	unsigned int answered[NODES];
	int failed[NODES]; /* status; 0: not */
	uint8_t command[LARGE];
};

static int index_of(const struct bench *bench, uint64_t nid)
{
	for (int i = 0; i < NODES; i++)
		if (bench->nids[i] == nid)
			return i;
	fail_msg("nobody has the NID %" PRIu64, nid);
	return -1;
}

static void on_part(void *ctx, uint64_t id, const void *bytes, size_t size)
{
	struct reader reader = reader_of(bytes, size);
	struct bench *bench = ctx;

	assert_int_equal(id, bench->id_last);
	while (reader.left > 0)
		bench->answered[index_of(bench, read_u64(&reader))]++;
	assert_true(reader_is_done(&reader));
}

static void on_ended(void *ctx, uint64_t id, int result,
		     const struct round_failure *failures, size_t count)
{
	struct bench *bench = ctx;

	assert_int_equal(id, bench->id_last);
	bench->is_ended = true;
	bench->result = result;
	for (size_t i = 0; i < count; i++) {
		int index = index_of(bench, failures[i].nid);

		assert_int_equal(bench->failed[index], 0);
		assert_true(failures[i].status < 0);
		bench->failed[index] = failures[i].status;
	}
}

static const struct round_events events = {
	.part = on_part,
	.ended = on_ended,
};

static void on_progressed(void *ctx)
{
	struct bench *bench = ctx;

	rounds_settle(bench->rounds);
}

static void tell_address(struct bench *bench, int index)
{
	uint8_t address[COLLECTIVE_ADDRESS_MAX];
	size_t size = child_hex_read(bench->workers[index].address, address,
				     sizeof(address));

	bench->seam.ops->address(bench->seam.ctx, bench->nids[index], address,
				 size);
}

static void manager_open(struct bench *bench)
{
	const struct endpoint_options options = {
		.loop = &bench->loop,
		.nid = NID_MANAGER,
		.provider = bench->provider,
		.host = "127.0.0.1",
		.authenticator = &bench->hop.authenticator,
		.progressed = on_progressed,
		.ctx = bench,
	};
	struct fairlead_error error;

	hop_init(&bench->hop, NID_MANAGER);
	if (endpoint_open(&options, &bench->endpoint, &error) < 0)
		fail_msg("%s", error.text);
	keys_take(&bench->hop, PART_MANAGER, KEY);
	assert_int_equal(rounds_create(endpoint_scoll(bench->endpoint), &events,
				       bench, &bench->rounds),
			 0);
	bench->seam = rounds_seam(bench->rounds);
	for (int i = 0; i < NODES; i++)
		tell_address(bench, i);
}

static void manager_close(struct bench *bench)
{
	endpoint_close(bench->endpoint);
	rounds_destroy(bench->rounds);
	uv_run(&bench->loop, UV_RUN_DEFAULT);
}

static void worker_begin(struct bench *bench, int index, const char *key)
{
	char number[16];
	const char *argv[] = { "node", number, bench->provider, key, NULL };

	snprintf(number, sizeof(number), "%d", index);
	child_start(&bench->workers[index].child, argv);
}

static void worker_end(struct bench *bench, int index)
{
	char answer[CHILD_ANSWER_MAX];

	snprintf(bench->workers[index].address,
		 sizeof(bench->workers[index].address), "%s",
		 child_hear(&bench->workers[index].child, answer));
}

static void worker_restart(struct bench *bench, int index, const char *key)
{
	child_kill(&bench->workers[index].child);
	worker_begin(bench, index, key);
	worker_end(bench, index);
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	watchdog_start(NULL);
	bench->provider = *state;
	bench->patience_ms = PATIENCE_MS;
	uv_loop_init(&bench->loop);
	for (int i = 0; i < NODES; i++) {
		bench->nids[i] = nid_of(i);
		worker_begin(bench, i, KEY);
	}
	for (int i = 0; i < NODES; i++)
		worker_end(bench, i);
	for (size_t i = 0; i < LARGE; i++)
		bench->command[i] = (uint8_t)(i * 7 + i / 256);
	manager_open(bench);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	for (int i = 0; i < NODES; i++)
		child_stop(&bench->workers[i].child);
	manager_close(bench);
	assert_int_equal(uv_loop_close(&bench->loop), 0);
	*state = (void *)bench->provider;
	free(bench);
	watchdog_stop();
	return 0;
}

/* Its number of commands; the others may be NULL. */
static unsigned int look(struct bench *bench, int index, uint64_t *ret_sum,
			 uint64_t *ret_refused, uint64_t *ret_groups)
{
	uint64_t sum, refused, groups, active;
	struct child *child = &bench->workers[index].child;
	char answer[CHILD_ANSWER_MAX];
	unsigned int count;

	child_tell(child, "look");
	assert_int_equal(sscanf(child_hear(child, answer),
				"%u %" SCNu64 " %" SCNu64 " %" SCNu64
				" %" SCNu64,
				&count, &sum, &refused, &groups, &active),
			 5);
	if (ret_sum)
		*ret_sum = sum;
	if (ret_refused)
		*ret_refused = refused;
	if (ret_groups)
		*ret_groups = groups;
	return count;
}

static void ask_some(struct bench *bench, uint64_t group, bool is_separate,
		     const uint64_t *nids, size_t count, size_t command_size)
{
	const struct round_request request = {
		.id = ++bench->id_last,
		.group = group,
		.nids = nids,
		.count = count,
		.parcel = { .is_separate = is_separate,
			    .patience_ms = bench->patience_ms,
			    .part_bytes = PART_BYTES,
			    .command = bench->command,
			    .command_size = command_size },
	};

	bench->is_ended = false;
	memset(bench->answered, 0, sizeof(bench->answered));
	memset(bench->failed, 0, sizeof(bench->failed));
	assert_int_equal(bench->seam.ops->start(bench->seam.ctx, &request), 0);
	while (!bench->is_ended)
		uv_run(&bench->loop, UV_RUN_ONCE);
	assert_int_equal(bench->result, 0);
}

static void ask(struct bench *bench, uint64_t group)
{
	ask_some(bench, group, false, bench->nids, NODES, 200);
}

/* All but this one (-1: all) have answered once; it has failed, and no other. */
static void assert_failed(const struct bench *bench, int lost)
{
	for (int i = 0; i < NODES; i++) {
		assert_int_equal(bench->failed[i] < 0, i == lost);
		assert_int_equal(bench->answered[i], i != lost);
	}
}

/* Who was below it has failed too, and is asked again, as it is. */
static void ask_around(struct bench *bench, uint64_t group, int lost)
{
	uint64_t nids[NODES];
	size_t count = 0;

	ask(bench, group);
	assert_true(bench->failed[lost] < 0);
	for (int i = 0; i < NODES; i++) {
		assert_int_equal(bench->answered[i], bench->failed[i] == 0);
		if (bench->failed[i] < 0)
			nids[count++] = bench->nids[i];
	}
	ask_some(bench, 0, true, nids, count, 200);
	for (int i = 0; i < NODES; i++)
		assert_int_equal(bench->failed[i] < 0, i == lost);
}

/* --- tests --- */

static void command_goes_down_and_answers_come_back(void **state)
{
	struct bench *bench = *state;
	uint64_t sum;

	for (unsigned int round = 1; round <= 3; round++) {
		ask(bench, GROUP);
		assert_failed(bench, -1);
		for (int i = 0; i < NODES; i++) {
			assert_int_equal(look(bench, i, &sum, NULL, NULL),
					 round);
			assert_true(sum == sum_of(bench->command, 200));
		}
	}
	assert_int_equal(rounds_counters(bench->rounds)->made_count, 1);
}

static void command_that_does_not_fit_is_bulk_data(void **state)
{
	struct bench *bench = *state;
	uint64_t sum;

	ask_some(bench, GROUP, false, bench->nids, NODES, LARGE);
	assert_failed(bench, -1);
	for (int i = 0; i < NODES; i++) {
		look(bench, i, &sum, NULL, NULL);
		assert_true(sum == sum_of(bench->command, LARGE));
	}
	assert_int_equal(rounds_counters(bench->rounds)->bulk_count, 1);
}

static void nodes_can_be_asked_with_nobody_between(void **state)
{
	struct bench *bench = *state;

	ask_some(bench, 0, true, bench->nids, NODES, 200);
	assert_failed(bench, -1);
}

static void group_is_made_again_for_a_node_that_moved(void **state)
{
	struct bench *bench = *state;

	ask(bench, GROUP);
	worker_restart(bench, 5, KEY);
	tell_address(bench, 5);
	/* Its parent does not know that it has restarted, and sends
	 * nothing twice that it may have run. */
	ask(bench, GROUP);
	assert_failed(bench, 5);
	assert_int_equal(bench->failed[5], -ECONNRESET);
	ask(bench, GROUP);
	assert_failed(bench, -1);
	assert_int_equal(look(bench, 5, NULL, NULL, NULL), 1);
	assert_int_equal(rounds_counters(bench->rounds)->made_count, 2);
	assert_int_equal(rounds_counters(bench->rounds)->group_count, 1);
}

static void killed_node_alone_is_not_reached(void **state)
{
	struct bench *bench = *state;

	/* Longer than a connection is tried for. */
	bench->patience_ms = 10000;
	ask(bench, GROUP);
	/* Without anybody below it, and with. */
	for (int lost = 0; lost <= 3; lost += 3) {
		child_kill(&bench->workers[lost].child);
		ask_around(bench, GROUP, lost);
		assert_int_equal(bench->failed[lost], -EHOSTUNREACH);
		worker_begin(bench, lost, KEY);
		worker_end(bench, lost);
		tell_address(bench, lost);
	}
	ask(bench, GROUP);
	assert_failed(bench, -1);
}

static void node_without_the_key_gets_nothing(void **state)
{
	struct bench *bench = *state;
	uint64_t refused, groups;

	worker_restart(bench, 3, STRANGE_KEY);
	tell_address(bench, 3);
	ask_around(bench, GROUP, 3);
	assert_int_equal(look(bench, 3, NULL, &refused, &groups), 0);
	assert_true(refused > 0);
	assert_int_equal(groups, 0);
}

static void attack_with(struct bench *bench, const char *key)
{
	const char *argv[] = { "node", "-1", bench->provider, key, NULL };
	uint64_t before[2], after[2];
	char answer[CHILD_ANSWER_MAX];
	struct child other;

	ask(bench, GROUP);
	look(bench, 4, NULL, &before[0], &before[1]);
	child_start(&other, argv);
	child_hear(&other, answer);
	child_tell(&other, "attack %" PRIu64 " %s", bench->nids[4],
		   bench->workers[4].address);
	child_hear(&other, answer);
	assert_int_equal(look(bench, 4, NULL, &after[0], &after[1]), 1);
	assert_true(after[0] >= before[0] + 3);
	assert_int_equal(after[1], before[1]);
	ask(bench, GROUP);
	assert_failed(bench, -1);
	child_stop(&other);
}

static void process_without_the_key_commands_nobody(void **state)
{
	attack_with(*state, STRANGE_KEY);
}

/* Its start is a later one, besides. */
static void node_with_the_key_is_no_manager(void **state)
{
	attack_with(*state, KEY);
}

static void keys_rotate_under_the_fan_out(void **state)
{
	static const char *const steps[] = { "1 2", "2 1", "2" };
	struct bench *bench = *state;
	char answer[CHILD_ANSWER_MAX];

	ask(bench, GROUP);
	for (size_t step = 0; step < 3; step++) {
		keys_take(&bench->hop, PART_MANAGER, steps[step]);
		for (int i = 0; i < NODES; i++) {
			struct child *child = &bench->workers[i].child;

			child_tell(child, "keys %s", steps[step]);
			child_hear(child, answer);
			if (i % 3 != 0)
				continue;
			ask(bench, GROUP);
			/* The last step is done by all or by nobody. */
			if (step < 2)
				assert_failed(bench, -1);
		}
	}
	ask(bench, GROUP);
	assert_failed(bench, -1);
}

static void manager_that_starts_again_makes_new_groups(void **state)
{
	struct bench *bench = *state;
	uint64_t groups;

	ask(bench, GROUP);
	manager_close(bench);
	manager_open(bench);
	ask(bench, GROUP);
	assert_failed(bench, -1);
	/* Those of its earlier start went with it. */
	for (int i = 0; i < NODES; i++) {
		look(bench, i, NULL, NULL, &groups);
		assert_int_equal(groups, 1);
	}
	bench->seam.ops->group_drop(bench->seam.ctx, GROUP);
	for (int i = 0; i < NODES; i++) {
		do {
			uv_run(&bench->loop, UV_RUN_NOWAIT);
			look(bench, i, NULL, NULL, &groups);
		} while (groups > 0);
	}
}

int main(int argc, char **argv)
{
#define TEST(name)                                                        \
	cmocka_unit_test_prestate_setup_teardown(name, set_up, tear_down, \
						 argv[1])
	const struct CMUnitTest tests[] = {
		TEST(command_goes_down_and_answers_come_back),
		TEST(command_that_does_not_fit_is_bulk_data),
		TEST(nodes_can_be_asked_with_nobody_between),
		TEST(group_is_made_again_for_a_node_that_moved),
		TEST(killed_node_alone_is_not_reached),
		TEST(node_without_the_key_gets_nothing),
		TEST(process_without_the_key_commands_nobody),
		TEST(node_with_the_key_is_no_manager),
		TEST(keys_rotate_under_the_fan_out),
		TEST(manager_that_starts_again_makes_new_groups),
	};
	int result;

	if (sodium_init() < 0)
		return EXIT_FAILURE;
	result = node_main(argc, argv);
	if (result >= 0)
		return result;
	return cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
}
