/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoints on one loop, on this machine. One of them asks the others, and each
 * says that it is there.
 */
#include "sys/endpoint/endpoint.h"

#include <errno.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lanes/proto/collective.h"
#include "sys/test/watchdog.h"

#define SERVICE   9
#define PATIENCE  (INT64_C(30) * 1000000000)
#define NODES_MAX 8

struct member {
	struct endpoint *endpoint;
	struct hop hop;
	uint64_t nid;
	unsigned int request_count;
	unsigned int progress_count;
};

struct bench {
	uv_loop_t loop;
	const char *provider;
	struct member members[NODES_MAX]; /* the first one asks */
	int count;
	scoll_group_t *group;
	bool is_done;
	unsigned int reached_count;
	unsigned int failure_count;
};

static int pre_request(scoll_request_t *request)
{
	for (int i = 0; i < scoll_request_nchildren(request); i++)
		assert_int_equal(
			scoll_reply_buffer_post(i, NULL, 0, request, NULL), 0);
	return 0;
}

static int incoming_request(scoll_request_t *request,
			    const scoll_target_t *target)
{
	struct member *member = scoll_request_service(request);

	member->request_count++;
	return 0;
}

static void post_reply(scoll_request_t *request)
{
	struct bench *bench = request->srq_private;
	struct scoll_failure failure;
	uint64_t cursor = 0;

	if (!scoll_request_is_root(request)) {
		assert_int_equal(scoll_reply(request, NULL, 0), 0);
		return;
	}
	while (scoll_request_failure_next(request, &cursor, &failure))
		bench->failure_count++;
	bench->is_done = true;
}

static const struct scoll_service_ops ops = {
	.size = sizeof(ops),
	.pre_request = pre_request,
	.incoming_request = incoming_request,
	.post_reply = post_reply,
};

static void on_progressed(void *ctx)
{
	struct member *member = ctx;

	member->progress_count++;
}

/* The first member is the manager, and signs with the first key. */
static void keys_take(struct bench *bench, int index, const uint32_t *ids,
		      size_t count)
{
	struct hop_keys keys = {
		.hop_count = count,
		.command_count = count,
		.is_manager = index == 0,
	};

	for (size_t i = 0; i < count; i++) {
		uint8_t seed[KEY_SIZE];

		memset(seed, (int)ids[i], sizeof(seed));
		hop_key_derive(ids[i], seed, &keys.hops[i]);
		command_public_derive(ids[i], seed, &keys.commands[i]);
		if (i == 0)
			command_key_derive(ids[i], seed, &keys.command);
	}
	hop_take(&bench->members[index].hop, &keys);
}

static void member_open(struct bench *bench)
{
	static const uint32_t first[] = { 1 };
	struct member *member = &bench->members[bench->count];
	struct fairlead_error error;
	char name[16];
	struct endpoint_options options = {
		.loop = &bench->loop,
		.provider = bench->provider,
		.host = "127.0.0.1",
		.progressed = on_progressed,
		.ctx = member,
	};

	snprintf(name, sizeof(name), "n%d", bench->count);
	options.nid = bench->count == 0 ? NID_MANAGER : nid_of_node(name);
	member->nid = options.nid;
	hop_init(&member->hop, member->nid);
	options.authenticator = &member->hop.authenticator;
	if (endpoint_open(&options, &member->endpoint, &error) < 0)
		fail_msg("%s", error.text);
	keys_take(bench, bench->count++, first, 1);
	assert_int_equal(
		scoll_service_register(endpoint_scoll(member->endpoint),
				       SERVICE, &ops, member),
		0);
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	watchdog_start(NULL);
	bench->provider = *state;
	uv_loop_init(&bench->loop);
	for (int i = 0; i < 5; i++)
		member_open(bench);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	for (int i = 0; i < bench->count; i++)
		endpoint_close(bench->members[i].endpoint);
	uv_run(&bench->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&bench->loop), 0);
	*state = (void *)bench->provider;
	free(bench);
	watchdog_stop();
	return 0;
}

static void on_group(int status, scoll_group_t *group, const void *private)
{
	struct bench *bench = (struct bench *)private;

	assert_int_equal(status, 0);
	bench->group = group;
}

/* The first one sends to all others whose addresses it knows. */
static void ask(struct bench *bench)
{
	static const scoll_tag_t tag = { "x" };
	scoll_t *root = endpoint_scoll(bench->members[0].endpoint);
	scoll_target_t targets[NODES_MAX];
	uint8_t address[ENDPOINT_ADDRESS_MAX];
	scoll_request_t *request;

	for (int i = 1; i < bench->count; i++) {
		struct member *member = &bench->members[i];
		size_t size = endpoint_address(member->endpoint, address);

		targets[i - 1] = (scoll_target_t){ member->nid, &tag, 1 };
		assert_int_equal(scoll_peer_address(root, member->nid, address,
						    size),
				 0);
		member->request_count = 0;
	}
	bench->is_done = false;
	bench->failure_count = 0;
	assert_int_equal(scoll_group_create(root, SERVICE, "g", targets,
					    bench->count - 1, SCOLL_TREE_FLAT,
					    false, on_group, bench),
			 0);
	request = scoll_bcast_new(bench->group, "hello", 5, NULL, 0, SCOLL_LAST,
				  PATIENCE, bench);
	assert_non_null(request);
	assert_int_equal(pre_request(request), 0);
	assert_int_equal(scoll_bcast_send(request), 0);
	while (!bench->is_done)
		uv_run(&bench->loop, UV_RUN_ONCE);
	scoll_group_destroy(bench->group);
}

static void loop_carries_what_members_send(void **state)
{
	struct bench *bench = *state;

	ask(bench);
	assert_int_equal(bench->failure_count, 0);
	for (int i = 1; i < bench->count; i++) {
		assert_int_equal(bench->members[i].request_count, 1);
		assert_true(bench->members[i].progress_count > 0);
	}
}

static void keys_are_exchanged_one_after_the_other(void **state)
{
	static const uint32_t staged[] = { 1, 2 };
	static const uint32_t retiring[] = { 2, 1 };
	struct bench *bench = *state;

	for (int step = 0; step < 3; step++) {
		for (int i = 0; i < bench->count; i++) {
			keys_take(bench, i, step == 0 ? staged : retiring,
				  step == 2 ? 1 : 2);
			ask(bench);
			assert_int_equal(bench->failure_count, 0);
		}
	}
}

static void unknown_provider_is_refused_with_a_hint(void **state)
{
	struct bench *bench = *state;
	struct endpoint *endpoint;
	struct fairlead_error error;
	struct endpoint_options options = {
		.loop = &bench->loop,
		.authenticator = &bench->members[0].hop.authenticator,
		.nid = nid_of_node("n99"),
		.provider = "none-such",
		.host = "127.0.0.1",
	};

	assert_int_equal(endpoint_open(&options, &endpoint, &error), -ENODATA);
	assert_non_null(strstr(error.text, "no provider 'none-such'"));
	assert_non_null(strstr(error.text, "fi_info"));
	/* A provider without messages to peers that are not connected. */
	options.provider = "tcp;ofi_rxd";
	assert_int_equal(endpoint_open(&options, &endpoint, &error), -ENODATA);
}

static void address_of_nobody_is_refused(void **state)
{
	struct bench *bench = *state;
	struct endpoint *endpoint;
	struct fairlead_error error;
	const struct endpoint_options options = {
		.loop = &bench->loop,
		.authenticator = &bench->members[0].hop.authenticator,
		.nid = nid_of_node("n99"),
		.provider = bench->provider,
		.host = "192.0.2.1",
	};

	assert_true(endpoint_open(&options, &endpoint, &error) < 0);
	assert_non_null(strstr(error.text, "192.0.2.1"));
}

static void port_that_is_taken_is_said(void **state)
{
	struct bench *bench = *state;
	struct endpoint *endpoint;
	struct fairlead_error error;
	struct endpoint_options options = {
		.loop = &bench->loop,
		.authenticator = &bench->members[0].hop.authenticator,
		.nid = nid_of_node("n99"),
		.provider = bench->provider,
		.host = "127.0.0.1",
	};
	uint8_t bytes[ENDPOINT_ADDRESS_MAX];
	struct sockaddr_in address;

	assert_int_equal(endpoint_address(bench->members[0].endpoint, bytes),
			 sizeof(address));
	memcpy(&address, bytes, sizeof(address));
	options.port = ntohs(address.sin_port);
	assert_true(endpoint_open(&options, &endpoint, &error) < 0);
	assert_non_null(strstr(error.text, "127.0.0.1"));
}

int main(int argc, char **argv)
{
#define TEST(name)                                                        \
	cmocka_unit_test_prestate_setup_teardown(name, set_up, tear_down, \
						 argv[1])
	const struct CMUnitTest tests[] = {
		TEST(loop_carries_what_members_send),
		TEST(keys_are_exchanged_one_after_the_other),
		TEST(unknown_provider_is_refused_with_a_hint),
		TEST(address_of_nobody_is_refused),
		TEST(port_that_is_taken_is_said),
	};

	return sodium_init() < 0 ||
	       cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
}
