/* SPDX-License-Identifier: BSD-3-Clause */
/* The bench of the agent's tests. Its asserts are the tests' own. */
#include "lanes/node/agent/test/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cmocka wants these first. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/hostlist.h"
#include "lanes/proto/client.h"
#include "lanes/proto/combined.h"
#include "lanes/proto/collective.h"

/* Those of bench_command(); the tests' own are lower. */
#define COLLECTIVE_FIRST (UINT64_C(1) << 32)
#define PATIENCE_MS      UINT32_MAX

/* --- queues --- */

static void queue_add(struct bench_queue *queue, uint64_t peer,
		      const void *bytes, size_t size)
{
	struct bench_frame *frame = &queue->frames[queue->end++];

	assert_true(queue->end <= BENCH_FRAMES_MAX);
	frame->peer = peer;
	frame->size = size;
	frame->bytes = malloc(size + 1);
	assert_non_null(frame->bytes);
	if (size > 0)
		memcpy(frame->bytes, bytes, size);
}

/* The oldest frame, which stays the queue's until the next call but one. */
static struct bench_frame *queue_take(struct bench_queue *queue)
{
	if (queue->first == queue->end)
		return NULL;
	return &queue->frames[queue->first++];
}

static void queue_clear(struct bench_queue *queue)
{
	for (size_t i = 0; i < queue->end; i++)
		free(queue->frames[i].bytes);
	queue->first = 0;
	queue->end = 0;
}

/* --- the agent's seams --- */

static int seam_dial(void *ctx, uint64_t *ret_peer,
		     struct fairlead_error *ret_error)
{
	struct bench *bench = ctx;

	bench->dial_count++;
	if (bench->dial_error < 0)
		return error_set(ret_error, bench->dial_error,
				 "no such address");
	*ret_peer = ++bench->peer;
	return 0;
}

static int seam_ask(void *ctx, const void *request, size_t size)
{
	struct bench *bench = ctx;

	if (bench->ask_error < 0)
		return bench->ask_error;
	queue_add(&bench->asked, 0, request, size);
	return 0;
}

static int seam_send_manager(void *ctx, uint64_t peer, const void *frame,
			     size_t size)
{
	struct bench *bench = ctx;

	assert_int_equal(peer, bench->peer);
	assert_int_not_equal(peer, bench->closed);
	if (bench->send_error < 0)
		return bench->send_error;
	queue_add(&bench->to_manager, peer, frame, size);
	return 0;
}

static void seam_close(void *ctx, uint64_t peer)
{
	struct bench *bench = ctx;

	assert_int_not_equal(peer, 0);
	bench->closed = peer;
}

static int seam_send_client(void *ctx, uint64_t peer, const void *frame,
			    size_t size)
{
	struct bench *bench = ctx;

	queue_add(&bench->to_clients, peer, frame, size);
	return 0;
}

/* Each confirmation that is in it, as if it had come by the link. */
static void take_part(struct bench *bench, const void *bytes, size_t size)
{
	const uint8_t *confirm;
	struct combined combined;
	size_t cursor = 0;

	assert_int_equal(combined_init(&combined, bench->place_count), 0);
	assert_int_equal(combined_merge(&combined, bytes, size), 0);
	assert_int_equal(combined.set_count, 0); /* they are separate */
	while (combined_carried_next(&combined, &cursor, &confirm, &size)) {
		struct writer frame = { 0 };

		frame_begin(&frame, FRAME_CONFIRM);
		write_bytes(&frame, confirm, size);
		queue_add(&bench->to_manager, 0, frame.data, frame.size);
		writer_fini(&frame);
	}
	combined_fini(&combined);
}

static void seam_answer(void *ctx, uint64_t collective, const void *bytes,
			size_t size, bool is_last)
{
	struct bench *bench = ctx;

	assert_int_not_equal(collective, bench->over);
	if (collective >= COLLECTIVE_FIRST) {
		if (size > 0)
			take_part(bench, bytes, size);
		return;
	}
	queue_add(&bench->parts, collective, bytes, size);
	if (is_last)
		bench->over = collective;
}

static void seam_hops(void *ctx, const struct hop_keys *keys)
{
	struct bench *bench = ctx;

	assert_in_range(keys->hop_count, 1, KEYS_MAX);
	assert_false(keys->is_manager);
	bench->hops = *keys;
}

static void seam_returned(void *ctx)
{
	struct bench *bench = ctx;

	bench->returned_count++;
}

static const struct agent_ops agent_ops = {
	.dial = seam_dial,
	.ask = seam_ask,
	.hops = seam_hops,
	.answer = seam_answer,
	.returned = seam_returned,
};

static const struct net_ops manager_ops = {
	.send = seam_send_manager,
	.close = seam_close,
};

static const struct net_ops clients_ops = {
	.send = seam_send_client,
	.close = seam_close,
};

static void log_keep(void *sink_data, enum log_level level, const char *line)
{
	struct bench *bench = sink_data;
	size_t size = strlen(bench->log);

	if (level <= LOG_LEVEL_WARNING)
		snprintf(bench->log + size, sizeof(bench->log) - size, "%s\n",
			 line);
}

/* --- the whole --- */

/* Without privileges not all can be seen: the agent asks the guard. */
static int list_part(void *state,
		     void (*emit)(void *arg,
				  const struct fairlead_object *object),
		     void *arg, struct fairlead_error *ret_error)
{
	return 0;
}

/* The driver as the agent has it open. */
static const struct guard_driver *driver_make(const struct bench *bench)
{
	static struct fairlead_node_ops ops;
	static struct fairlead_driver driver;
	static struct guard_driver open;

	open = bench->world.driver;
	driver = *open.driver;
	ops = *driver.node;
	ops.list = list_part;
	driver.node = &ops;
	open.driver = &driver;
	return &open;
}

static void agent_begin(struct bench *bench)
{
	static struct log log;
	struct agent_options options = {
		.name = FAKE_NODE,
		.manager = "manager:7171",
		.software = "test",
		.address = { 2, 0, 0x1b, 0x58 },
		.address_size = 4,
		.timeouts = { .epilog_ms = 5000, .housekeeping_ms = 60000 },
		.drivers = driver_make(bench),
		.driver_count = 1,
		.clock = sim_clock_seam(&bench->clock),
		.rng = sim_rng_seam(&bench->rng),
		.manager_net = { .ops = &manager_ops, .ctx = bench },
		.clients_net = { .ops = &clients_ops, .ctx = bench },
		.ops = &agent_ops,
		.ops_ctx = bench,
		.log = &log,
	};

	log = (struct log){
		.level = LOG_LEVEL_DEBUG,
		.sink = log_keep,
		.sink_data = bench,
	};
	memcpy(options.incarnation, bench->world.incarnation, INCARNATION_SIZE);
	bench->agent = agent_create(&options);
	assert_int_equal(agent_start(bench->agent), 0);
}

void bench_init(struct bench *bench)
{
	struct fairlead_error error;

	memset(bench, 0, sizeof(*bench));
	world_init(&bench->world);
	sim_rng_init(&bench->rng, 7);
	bench->clock.monotonic_ms = 1000000;
	bench->clock.wall_us = 1700000000000000;
	bench->next_client = 1000;
	assert_int_equal(world_start(&bench->world, &error), 0);
	agent_begin(bench);
}

void bench_fini(struct bench *bench)
{
	agent_destroy(bench->agent);
	queue_clear(&bench->asked);
	queue_clear(&bench->to_manager);
	queue_clear(&bench->to_clients);
	queue_clear(&bench->parts);
	world_fini(&bench->world);
}

void bench_restart(struct bench *bench)
{
	struct fairlead_error error;

	agent_destroy(bench->agent);
	queue_clear(&bench->asked);
	queue_clear(&bench->to_manager);
	queue_clear(&bench->to_clients);
	queue_clear(&bench->parts);
	world_stop(&bench->world);
	assert_int_equal(world_start(&bench->world, &error), 0);
	agent_begin(bench);
}

void bench_pump(struct bench *bench)
{
	struct bench_frame *request;

	while ((request = queue_take(&bench->asked))) {
		struct writer reply = { 0 };

		assert_int_equal(guard_handle(bench->world.guard,
					      request->bytes, request->size,
					      &reply),
				 0);
		assert_int_equal(agent_guard_received(bench->agent, reply.data,
						      reply.size),
				 0);
		writer_fini(&reply);
	}
	queue_clear(&bench->asked);
}

void bench_advance(struct bench *bench, uint64_t ms)
{
	uint64_t end_ms = bench->clock.monotonic_ms + ms;

	bench_pump(bench);
	for (;;) {
		uint64_t deadline_ms = agent_deadline_ms(bench->agent);
		uint64_t now_ms = bench->clock.monotonic_ms;

		if (deadline_ms > end_ms)
			break;
		if (deadline_ms > now_ms)
			sim_clock_advance(&bench->clock, deadline_ms - now_ms);
		agent_tick(bench->agent);
		bench_pump(bench);
		/* Else the loop would spin. */
		agent_tick(bench->agent);
		bench_pump(bench);
	}
	sim_clock_advance(&bench->clock, end_ms - bench->clock.monotonic_ms);
	agent_tick(bench->agent);
	bench_pump(bench);
}

/* --- the manager's end --- */

int bench_take(struct bench *bench, struct frame *ret_frame)
{
	struct bench_frame *frame = queue_take(&bench->to_manager);

	if (!frame)
		return 0;
	assert_int_equal(frame_parse(frame->bytes, frame->size, ret_frame), 0);
	return ret_frame->type;
}

void bench_take_confirm(struct bench *bench, struct confirm *ret_confirm)
{
	struct frame frame;

	assert_int_equal(bench_take(bench, &frame), FRAME_CONFIRM);
	assert_int_equal(confirm_open(&bench->world.master, 1, frame.payload,
				      frame.size, ret_confirm),
			 0);
}

void bench_drop_frames(struct bench *bench)
{
	queue_clear(&bench->to_manager);
}

void bench_send(struct bench *bench, enum frame_type type, const void *payload,
		size_t size)
{
	struct writer frame = { 0 };

	frame_begin(&frame, type);
	write_bytes(&frame, payload, size);
	assert_int_equal(frame.result, 0);
	agent_manager_received(bench->agent, bench->peer, frame.data,
			       frame.size);
	writer_fini(&frame);
}

static void carry(struct bench *bench, const struct writer *command)
{
	const struct parcel parcel = {
		.is_separate = true,
		.patience_ms = PATIENCE_MS,
		.part_bytes = PARCEL_PART_MAX,
		.command = command->data,
		.command_size = command->size,
	};
	struct writer payload = { 0 };
	char *nodes;

	assert_int_equal(
		command_nodes_read(command->data, command->size, &nodes), 0);
	bench->place_count = (uint32_t)hostlist_count(nodes);
	free(nodes);
	if (bench->collective++ < COLLECTIVE_FIRST)
		bench->collective = COLLECTIVE_FIRST;
	assert_int_equal(parcel_encode(&parcel, &payload), 0);
	agent_round_command(bench->agent, bench->collective, payload.data,
			    payload.size, NULL, 0);
	agent_round_closed(bench->agent, bench->collective);
	writer_fini(&payload);
}

void bench_command(struct bench *bench, enum command_op op, uint64_t grant_id,
		   struct writer *body)
{
	struct writer command;

	if (op == COMMAND_HELLO || op == COMMAND_ACK || op == COMMAND_DRAIN) {
		bench_command_by_link(bench, op, grant_id, body);
		return;
	}
	world_seal(&bench->world, op, grant_id, body, &command);
	carry(bench, &command);
	writer_fini(&command);
	writer_fini(body);
}

void bench_command_by_link(struct bench *bench, enum command_op op,
			   uint64_t grant_id, struct writer *body)
{
	struct writer bytes;

	world_seal(&bench->world, op, grant_id, body, &bytes);
	bench_send(bench, FRAME_COMMAND, bytes.data, bytes.size);
	writer_fini(&bytes);
	writer_fini(body);
}

void bench_challenge(struct bench *bench)
{
	struct challenge challenge = { .version = WIRE_VERSION };
	struct writer writer = { 0 };

	memset(challenge.nonce, 0x5c, NONCE_SIZE);
	agent_manager_opened(bench->agent, bench->peer); /* if it is not */
	assert_int_equal(challenge_encode(&challenge, &writer), 0);
	bench_send(bench, FRAME_CHALLENGE, writer.data, writer.size);
	writer_fini(&writer);
}

void bench_greet(struct bench *bench)
{
	struct hello_body hello = { .node = FAKE_NODE };
	struct registration registration;
	struct writer body = { 0 };
	uint8_t nonce[NONCE_SIZE];
	struct frame frame;

	memset(nonce, 0x5c, NONCE_SIZE);
	assert_int_equal(bench_take(bench, &frame), FRAME_REGISTER);
	assert_int_equal(registration_open(&bench->world.master, 1, nonce,
					   frame.payload, frame.size,
					   &registration),
			 0);
	memcpy(hello.nonce, registration.node_nonce, NONCE_SIZE);
	memcpy(hello.cluster, bench->world.keys.cluster, CLUSTER_ID_SIZE);
	registration_fini(&registration);
	assert_int_equal(hello_body_encode(&hello, &body), 0);
	bench_command(bench, COMMAND_HELLO, 0, &body);
}

void bench_connect(struct bench *bench)
{
	bench_pump(bench);
	bench_challenge(bench);
	bench_pump(bench);
	bench_greet(bench);
	bench_pump(bench);
}

void bench_apply(struct bench *bench, uint64_t grant_id)
{
	struct writer writer = { 0 };
	struct apply_body body;

	fake_apply_body(grant_id, "n[0-1]", &body);
	assert_int_equal(apply_body_encode(&body, &writer), 0);
	bench_command(bench, COMMAND_APPLY, grant_id, &writer);
	bench_pump(bench);
}

void bench_revoke(struct bench *bench, uint64_t grant_id)
{
	struct writer writer = { 0 };
	struct revoke_body body;

	fake_revoke_body(grant_id, &body);
	assert_int_equal(revoke_body_encode(&body, &writer), 0);
	bench_command(bench, COMMAND_REVOKE, grant_id, &writer);
	bench_pump(bench);
}

void bench_ack(struct bench *bench, uint64_t sequence)
{
	struct ack_body body = { .node = FAKE_NODE, .sequence = sequence };
	struct writer writer = { 0 };

	assert_int_equal(ack_body_encode(&body, &writer), 0);
	bench_command(bench, COMMAND_ACK, 0, &writer);
	bench_pump(bench);
}

/* --- clients --- */

uint64_t bench_client(struct bench *bench, uid_t uid)
{
	uint64_t client = bench->next_client++;

	agent_client_opened(bench->agent, client, uid);
	return client;
}

void bench_request(struct bench *bench, uint64_t client, uint64_t id,
		   const char *op, const char *members)
{
	json_t *request = client_request(id, op);
	struct writer frame = { 0 };

	if (*members) {
		json_error_t error;
		json_t *more = json_loads(members, 0, &error);

		if (!more)
			fail_msg("%s: %s", members, error.text);
		assert_int_equal(json_object_update(request, more), 0);
		json_decref(more);
	}
	assert_int_equal(client_encode(request, &frame), 0);
	json_decref(request);
	agent_client_received(bench->agent, client, frame.data, frame.size);
	writer_fini(&frame);
}

json_t *bench_answer(struct bench *bench, uint64_t *ret_client)
{
	struct bench_frame *frame = queue_take(&bench->to_clients);
	struct fairlead_error error;
	json_t *answer;

	if (!frame)
		return NULL;
	assert_int_equal(
		client_parse(frame->bytes, frame->size, &answer, &error), 0);
	if (ret_client)
		*ret_client = frame->peer;
	return answer;
}

json_t *bench_call(struct bench *bench, uid_t uid, const char *op,
		   const char *members, int expected)
{
	uint64_t client = bench_client(bench, uid), answered = 0;
	struct client_answer head;
	struct fairlead_error error;
	json_t *answer;

	bench_request(bench, client, 5, op, members);
	bench_pump(bench);
	answer = bench_answer(bench, &answered);
	assert_non_null(answer);
	assert_int_equal(answered, client);
	assert_int_equal(client_answer_open(answer, &head, &error), 0);
	assert_int_equal(head.id, 5);
	if (head.result != expected)
		fail_msg("%s: %d instead of %d: %s", op, head.result, expected,
			 head.text ? head.text : "");
	agent_client_closed(bench->agent, client);
	return answer;
}

size_t answer_count(const json_t *answer, const char *name)
{
	json_t *array = json_object_get(answer, name);

	assert_true(json_is_array(array));
	return json_array_size(array);
}

const char *answer_at(const json_t *answer, const char *name, size_t i,
		      const char *member)
{
	static char text[64];
	json_t *value = json_object_get(
		json_array_get(json_object_get(answer, name), i), member);

	if (json_is_string(value))
		return json_string_value(value);
	snprintf(text, sizeof(text), "%lld", json_integer_value(value));
	return text;
}
