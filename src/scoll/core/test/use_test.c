/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The uses that the document names, each as a service would be written: what
 * the members have afterwards, and the one value that the root gets.
 */
#include "cast.h"

#include <string.h>

#define NODES       13
#define LAYOUT_SIZE 3000

/* What a server of the uses below has. */
struct server {
	char capability[32];
	uint8_t layout[LAYOUT_SIZE];
	bool is_prepared, is_committed, is_full;
	uint32_t clients; /* a bit each */
};

static struct server servers[NODES];
static uint8_t layout[LAYOUT_SIZE];

static struct server *server_of(const struct member *member)
{
	return &servers[member->nid - cast_nid(0)];
}

/* Its own share of the sum in the place of 1. */
static void answer(scoll_request_t *request, uint32_t own)
{
	struct work *work = request->srq_private;

	work->sum += own - 1;
}

/* Requests are a word and perhaps a number. */
static void serve(struct member *member, scoll_request_t *request)
{
	struct server *server = server_of(member);
	char text[64];
	uint32_t client = 0;

	snprintf(text, sizeof(text), "%.*s", member->payload_len,
		 (const char *)member->payload);
	if (sscanf(text, "grant %31s", server->capability) == 1) {
		answer(request, 1);
	} else if (strcmp(text, "prepare") == 0) {
		server->is_prepared = !server->is_full;
		answer(request, server->is_prepared);
	} else if (strcmp(text, "commit") == 0) {
		server->is_committed = server->is_prepared;
		answer(request, server->is_committed);
	} else if (strcmp(text, "give up") == 0) {
		server->is_prepared = false;
		answer(request, 1);
	} else if (sscanf(text, "evict %u", &client) == 1) {
		answer(request, server->clients >> client & 1);
		server->clients &= ~(UINT32_C(1) << client);
	} else if (strcmp(text, "health") == 0) {
		answer(request, (uint32_t)__builtin_popcount(server->clients));
	}
}

static void take_layout(struct member *member, scoll_request_t *request)
{
	const struct iovec *iov = request->srq_bulk_iovs;
	const void *bytes =
		scoll_request_is_root(request) ? layout : iov->iov_base;

	assert_int_equal(request->srq_bulk_len, LAYOUT_SIZE);
	memcpy(server_of(member)->layout, bytes, LAYOUT_SIZE);
}

struct bench {
	struct cast cast;
	scoll_group_t *group;
};

static int setup(void **state)
{
	static struct bench bench;

	memset(servers, 0, sizeof(servers));
	cast_init(&bench.cast, NODES, SCOLL_TREE_KNOMIAL(3));
	for (int i = 0; i < NODES; i++)
		bench.cast.members[i].on_request = serve;
	bench.group = cast_group(&bench.cast, 4, 0, NODES);
	*state = &bench;
	return 0;
}

static int teardown(void **state)
{
	struct bench *bench = *state;

	cast_finish(&bench->cast, bench->group);
	return 0;
}

/* The root's sum over all members. */
static uint32_t call(struct bench *bench, const char *text)
{
	struct member *root = &bench->cast.members[4];

	cast_bcast(&bench->cast, 4, bench->group, text);
	assert_int_equal(root->status, 0);
	return root->sum;
}

static void capability_S11_is_distributed(void **state)
{
	assert_int_equal(call(*state, "grant 5f3a99"), NODES);
	for (int i = 0; i < NODES; i++)
		assert_string_equal(servers[i].capability, "5f3a99");
}

static void commit_S11_is_done_by_all(void **state)
{
	assert_int_equal(call(*state, "prepare"), NODES);
	assert_int_equal(call(*state, "commit"), NODES);
	for (int i = 0; i < NODES; i++)
		assert_true(servers[i].is_committed);
}

static void commit_S11_is_done_by_none_when_one_cannot(void **state)
{
	servers[11].is_full = true;
	assert_int_equal(call(*state, "prepare"), NODES - 1);
	assert_int_equal(call(*state, "give up"), NODES);
	for (int i = 0; i < NODES; i++) {
		assert_false(servers[i].is_prepared);
		assert_false(servers[i].is_committed);
	}
}

static void layout_S11_is_replicated(void **state)
{
	struct bench *bench = *state;
	struct iovec iov = { layout, LAYOUT_SIZE };

	for (size_t i = 0; i < LAYOUT_SIZE; i++)
		layout[i] = (uint8_t)(i * 31 + i / 251);
	for (int i = 0; i < NODES; i++)
		bench->cast.members[i].on_request = take_layout;
	cast_send(&bench->cast,
		  cast_bulk_request(&bench->cast, 4, bench->group, &iov, 1));
	cast_run(&bench->cast);
	assert_int_equal(bench->cast.members[4].sum, NODES);
	for (int i = 0; i < NODES; i++)
		assert_memory_equal(servers[i].layout, layout, LAYOUT_SIZE);
}

static void eviction_S11_is_notified_and_health_is_aggregated(void **state)
{
	for (uint32_t i = 0; i < NODES; i++)
		servers[i].clients = UINT32_C(1) << 3 | (i % 2 ? 1u << 7 : 0);
	assert_int_equal(call(*state, "health"), NODES + NODES / 2);
	assert_int_equal(call(*state, "evict 7"), NODES / 2);
	assert_int_equal(call(*state, "evict 7"), 0);
	assert_int_equal(call(*state, "health"), NODES);
}

static void service_T01_of_a_later_version_is_refused_if_it_uses_it(
	void **state)
{
	struct {
		struct scoll_service_ops ops;
		void (*later)(void);
	} ops = { .ops = cast_service_ops };
	struct scoll_core *core;
	struct cast cast;

	cast_init(&cast, 1, SCOLL_TREE_FLAT);
	core = cast.members[0].core;
	ops.ops.size = sizeof(ops);
	ops.later = abort;
	assert_int_equal(scoll_core_service_register(core, 99, &ops.ops, NULL),
			 -EINVAL);
	ops.later = NULL;
	assert_int_equal(scoll_core_service_register(core, 99, &ops.ops, NULL),
			 0);
	ops.ops.size = offsetof(struct scoll_service_ops, oobgrp);
	assert_int_equal(scoll_core_service_register(core, 98, &ops.ops, NULL),
			 0);
	ops.ops.size--;
	assert_int_equal(scoll_core_service_register(core, 97, &ops.ops, NULL),
			 -EINVAL);
	cast_finish(&cast, NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(capability_S11_is_distributed),
		TEST(commit_S11_is_done_by_all),
		TEST(commit_S11_is_done_by_none_when_one_cannot),
		TEST(layout_S11_is_replicated),
		TEST(eviction_S11_is_notified_and_health_is_aggregated),
		cmocka_unit_test(
			service_T01_of_a_later_version_is_refused_if_it_uses_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
