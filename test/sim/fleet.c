/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/manager/engine.h"
#include "lanes/proto/collective.h"
#include "lanes/proto/seal.h"
#include "lanes/proto/sign.h"

#define TIMEOUT_MS 10000

/* --- nodes --- */

/* As the guard does it; the digest of all of it is another's to test. */
static void secret_open(struct node *node, const uint8_t *command, size_t size)
{
	struct fleet *fleet = node->fleet;
	union command_body body;
	struct secret secret;

	assert_int_equal(command_body_decode(COMMAND_APPLY,
					     command + COMMAND_HEADER_SIZE,
					     size - COMMAND_HEADER_SIZE, &body),
			 0);
	assert_int_equal(hostlist_find(body.apply.nodes, node->name),
			 node->place);
	assert_int_equal(seal_open(&node->key, 1, GRANT, node->place,
				   body.apply.sealed, body.apply.sealed_size,
				   &secret),
			 0);
	assert_int_equal(secret.size, fleet->secret_size);
	assert_memory_equal(secret.bytes, fleet->secret, secret.size);
	fleet->opened_count++;
	secret_fini(&secret);
	command_body_fini(COMMAND_APPLY, &body);
}

static void on_received(void *ctx, uint64_t collective, const void *payload,
			size_t size, const void *bulk, size_t bulk_size)
{
	struct node *node = ctx;
	struct visit *visit = calloc(1, sizeof(*visit));
	struct writer writer = { 0 };
	struct command head;
	struct parcel parcel;
	struct confirm confirm = { .version = WIRE_VERSION, .reason = "" };

	assert_non_null(visit);
	node->fleet->payload_size = size;
	assert_int_equal(parcel_decode(payload, size, &parcel), 0);
	if (parcel.is_bulk) {
		parcel.command = bulk;
		parcel.command_size = bulk_size;
	}
	assert_int_equal(command_header_read(parcel.command, &head), 0);
	if (node->fleet->sealed.size > 0 && head.op == COMMAND_APPLY)
		secret_open(node, parcel.command, parcel.command_size);
	confirm.op = head.op;
	confirm.grant_id = head.grant_id;
	confirm.sequence = head.sequence;
	confirm.epoch = head.epoch;
	confirm.life = head.life;
	memcpy(confirm.node, node->name, sizeof(node->name));
	memcpy(confirm.incarnation, node->incarnation, INCARNATION_SIZE);
	assert_int_equal(confirm_encode(&confirm, &node->key, &writer), 0);
	visit->id = collective;
	assert_int_equal(combined_init(&visit->combined,
				       (uint32_t)node->fleet->count),
			 0);
	assert_int_equal(combined_add(&visit->combined, node->place,
				      writer.data, writer.size),
			 0);
	writer_fini(&writer);
	HASH_ADD(hh, node->visits, id, sizeof(visit->id), visit);
}

static struct visit *visit_of(struct node *node, uint64_t id)
{
	struct visit *visit;

	HASH_FIND(hh, node->visits, &id, sizeof(id), visit);
	assert_non_null(visit);
	return visit;
}

static void on_node_part(void *ctx, uint64_t collective, const void *bytes,
			 size_t size)
{
	struct visit *visit = visit_of(ctx, collective);

	assert_int_equal(combined_merge(&visit->combined, bytes, size), 0);
}

static void visit_end(struct node *node, struct visit *visit)
{
	HASH_DEL(node->visits, visit);
	combined_fini(&visit->combined);
	free(visit);
}

static void on_closed(void *ctx, uint64_t collective)
{
	struct node *node = ctx;
	struct visit *visit = visit_of(node, collective);
	struct writer writer = { 0 };

	assert_int_equal(combined_encode(&visit->combined, &writer), 0);
	node_rounds_answer(node->node_rounds, collective, writer.data,
			   writer.size, true);
	writer_fini(&writer);
	visit_end(node, visit);
}

static const struct node_round_events node_events = {
	.command = on_received,
	.part = on_node_part,
	.closed = on_closed,
};

static void nothing(void *ctx)
{
}

void tell_address(struct fleet *fleet, struct node *node)
{
	uint8_t address[COLLECTIVE_ADDRESS_MAX];
	size_t size = sizeof(address);

	assert_int_equal(scoll_address(node->scoll, address, &size), 0);
	fleet->seam.ops->address(fleet->seam.ctx, node->hop.nid, address, size);
}

void node_start(struct fleet *fleet, struct node *node)
{
	struct medium_member member = {
		.nid = node->hop.nid,
		.authenticator = &node->hop.authenticator,
		.rng = sim_rng_seam(&node->rng),
		.started_us = ++fleet->started,
		.settled = nothing,
	};

	node->scoll = medium_join(fleet->medium, &member);
	node->node_rounds = node_rounds_create(node->scoll);
	assert_int_equal(
		node_rounds_serve(node->node_rounds, &node_events, node), 0);
	tell_address(fleet, node);
}

void node_stop(struct node *node)
{
	struct visit *visit, *next;

	medium_leave(take_ptr(node->scoll));
	node_rounds_destroy(take_ptr(node->node_rounds));
	HASH_ITER (hh, node->visits, visit, next)
		visit_end(node, visit);
}

static void node_init(struct fleet *fleet, uint32_t place)
{
	struct node *node = &fleet->nodes[place];
	struct node_keys keys;
	struct hop_keys hops;

	node->fleet = fleet;
	node->place = place;
	snprintf(node->name, sizeof(node->name), "n%u", place);
	fleet->names[place] = node->name;
	memcpy(node->incarnation, node->name, sizeof(node->name));
	assert_int_equal(node_keys_make(&fleet->keys, node->name, &keys, NULL),
			 0);
	node->key = keys.confirms[0];
	node_keys_hops(&keys, &hops);
	node_keys_fini(&keys);
	hop_init(&node->hop, nid_of_node(node->name));
	hop_take(&node->hop, &hops);
	sim_rng_init(&node->rng, place + 2);
	node_start(fleet, node);
}

/* --- the manager: every node is up by its lease, dead or alive --- */

static bool on_is_up(void *ctx, const struct fanout_command *command,
		     const char *node,
		     uint8_t ret_incarnation[INCARNATION_SIZE])
{
	memset(ret_incarnation, 0, INCARNATION_SIZE);
	snprintf((char *)ret_incarnation, INCARNATION_SIZE, "%s", node);
	return true;
}

static int apply_encode(const struct fleet *fleet, struct writer *writer)
{
	const struct apply_body apply = {
		.nodes = fleet->nodes_text,
		.key = "slurm/1/0",
		.driver = "slingshot",
		.cores = "4",
		.tasks = "4",
		.sealed = fleet->sealed.data,
		.sealed_size = fleet->sealed.size,
	};

	return apply_body_encode(&apply, writer);
}

static int body_encode(const struct fleet *fleet, struct writer *writer)
{
	const struct revoke_body revoke = {
		.nodes = fleet->nodes_text,
		.key = "slurm/1/0",
		.driver = "none",
	};
	const struct lease_body lease = {
		.nodes = fleet->nodes_text,
		.lease_s = ENGINE_LEASE_MS / 1000,
	};

	if (fleet->op == COMMAND_LEASE)
		return lease_body_encode(&lease, writer);
	if (fleet->op == COMMAND_APPLY && fleet->sealed.size > 0)
		return apply_encode(fleet, writer);
	return revoke_body_encode(&revoke, writer);
}

static void on_sign(void *ctx, const struct fanout_command *sent,
		    struct command *ret_header, struct writer *writer)
{
	struct fleet *fleet = ctx;
	struct command command = {
		.version = WIRE_VERSION,
		.op = (uint8_t)sent->op,
		.body = sent->body.data,
		.body_size = sent->body.size,
		.epoch = 1,
		.life = 1,
		.sequence = ++fleet->sequence,
		.grant_id = fleet->op == COMMAND_LEASE ? 0 : GRANT,
	};

	assert_int_equal(command_seal(&fleet->command_key, &command, writer),
			 0);
	*ret_header = command;
}

static size_t on_masters(void *ctx, const struct node_master **ret_masters)
{
	const struct fleet *fleet = ctx;

	*ret_masters = fleet->masters;
	return fleet->master_count;
}

static void on_answered(void *ctx, const struct fanout_command *command,
			const struct fanout_answer *answer)
{
	struct fleet *fleet = ctx;
	uint32_t place = (uint32_t)atoi(answer->node + 1);

	if (answer->is_own && answer->result == 0) {
		fleet->answer_count++;
		fleet->last_ms = fleet->now_ns / MS;
		if (fleet->op == COMMAND_LEASE)
			fleet->nodes[place].leased_ms = fleet->last_ms;
		return;
	}
	fleet->lost_count++;
	fleet->lost = place;
}

static void on_done(void *ctx, const struct fanout_command *command,
		    const struct fanout_answer *answers)
{
	struct fleet *fleet = ctx;

	fleet->is_done = true;
}

static void on_late(void *ctx, const struct fanout_command *command,
		    const struct fanout_answer *answer, uint64_t asked_ms)
{
}

static const struct fanout_ops fanout_ops = {
	.is_up = on_is_up,
	.sign = on_sign,
	.masters = on_masters,
	.answered = on_answered,
	.done = on_done,
	.late = on_late,
};

static void on_part(void *ctx, uint64_t id, const void *bytes, size_t size)
{
	struct fleet *fleet = ctx;

	fanouts_part(fleet->fanouts, id, bytes, size);
}

static void on_ended(void *ctx, uint64_t id, int result,
		     const struct round_failure *failures, size_t count)
{
	struct fleet *fleet = ctx;

	fanouts_ended(fleet->fanouts, id, result, failures, count);
}

static void on_settled(void *ctx)
{
	struct fleet *fleet = ctx;

	rounds_settle(fleet->rounds);
}

void manager_start(struct fleet *fleet)
{
	static const struct round_events events = { on_part, on_ended };
	const struct medium_member member = {
		.nid = NID_MANAGER,
		.authenticator = &fleet->hop.authenticator,
		.rng = sim_rng_seam(&fleet->rng),
		.started_us = ++fleet->started,
		.share_addresses = true,
		.settled = on_settled,
		.ctx = fleet,
	};

	fleet->scoll = medium_join(fleet->medium, &member);
	assert_int_equal(
		rounds_create(fleet->scoll, &events, fleet, &fleet->rounds), 0);
	fleet->seam = rounds_seam(fleet->rounds);
	fleet->fanouts = fanouts_create(&fanout_ops, fleet, &fleet->seam);
}

void manager_stop(struct fleet *fleet)
{
	fanouts_destroy(take_ptr(fleet->fanouts));
	medium_leave(take_ptr(fleet->scoll));
	rounds_destroy(take_ptr(fleet->rounds));
}

/* --- the whole --- */

static uint64_t on_now_ns(void *ctx)
{
	const struct fleet *fleet = ctx;

	return fleet->now_ns;
}

struct fleet *fleet_create(size_t count)
{
	struct fleet *fleet = calloc(1, sizeof(*fleet));
	struct medium_options options = {
		.network = { .seed = 1,
			     .costs = { .latency_ns = 50000,
					.gap_ns = 1000,
					.byte_ps = 1000 },
			     .faults_ppm = { [TRANSPORT_SIM_REFUSED] =
						     1000000 },
			     .needs_addresses = true },
		.now_ns = on_now_ns,
		.ctx = fleet,
	};
	struct hop_keys hops;
	struct rng_seam seam;

	assert_non_null(fleet);
	assert_int_equal(given_create(true, &fleet->given), 0);
	options.given = fleet->given;
	fleet->medium = medium_create(&options);
	sim_rng_init(&fleet->rng, 1);
	seam = sim_rng_seam(&fleet->rng);
	manager_keys_create(&seam, &fleet->keys);
	manager_keys_command(&fleet->keys, &fleet->command_key);
	fleet->master_count =
		manager_keys_masters(&fleet->keys, fleet->masters);
	hop_init(&fleet->hop, NID_MANAGER);
	manager_keys_hops(&fleet->keys, &hops);
	hop_take(&fleet->hop, &hops);
	fleet->count = count;
	snprintf(fleet->nodes_text, sizeof(fleet->nodes_text), "n[0-%zu]",
		 count - 1);
	fleet->nodes = calloc(count, sizeof(*fleet->nodes));
	fleet->names = calloc(count, sizeof(*fleet->names));
	assert_non_null(fleet->nodes);
	assert_non_null(fleet->names);
	manager_start(fleet);
	for (uint32_t i = 0; i < count; i++)
		node_init(fleet, i);
	return fleet;
}

void fleet_advance(struct fleet *fleet)
{
	medium_run(fleet->medium, fleet->now_ns + MS);
	fleet->now_ns += MS;
	fanouts_tick(fleet->fanouts, fleet->now_ns / MS);
}

void fleet_destroy(struct fleet *fleet)
{
	fleet->seam.ops->group_drop(fleet->seam.ctx, GRANT);
	fleet->seam.ops->group_drop(fleet->seam.ctx, ROUND_GROUP_ALL);
	for (int i = 0; i < 20000; i++)
		fleet_advance(fleet);
	assert_int_equal(rounds_counters(fleet->rounds)->round_count, 0);
	assert_true(medium_is_idle(fleet->scoll));
	for (size_t i = 0; i < fleet->count; i++) {
		struct node *node = &fleet->nodes[i];

		if (node->scoll != NULL) {
			assert_null(node->visits);
			assert_true(medium_is_idle(node->scoll));
			node_stop(node);
		}
		hop_fini(&node->hop);
	}
	manager_stop(fleet);
	medium_destroy(fleet->medium);
	given_destroy(fleet->given);
	hop_fini(&fleet->hop);
	command_key_fini(&fleet->command_key);
	manager_keys_fini(&fleet->keys);
	writer_fini(&fleet->sealed);
	free(fleet->nodes);
	free(fleet->names);
	free(fleet);
}

void fan_out(struct fleet *fleet, enum command_op op, const char *what)
{
	struct fanout_command *command =
		fanout_command_create(op, fleet->names, fleet->count);

	command->group = op == COMMAND_LEASE ? ROUND_GROUP_ALL : GRANT;
	command->timeout_ms = TIMEOUT_MS;
	fleet->op = op;
	fleet->is_done = false;
	fleet->answer_count = 0;
	fleet->lost_count = 0;
	fleet->opened_count = 0;
	fleet->start_ms = fleet->now_ns / MS;
	assert_int_equal(body_encode(fleet, &command->body), 0);
	fanouts_start(fleet->fanouts, command, fleet->start_ms);
	for (unsigned int i = 0; i <= TIMEOUT_MS + 1 && !fleet->is_done; i++)
		fleet_advance(fleet);
	assert_true(fleet->is_done);
	print_message(
		"%zu nodes, %s: %zu answered, the last one after %llu ms, "
		"%zu lost\n",
		fleet->count, what, fleet->answer_count,
		(unsigned long long)(fleet->last_ms - fleet->start_ms),
		fleet->lost_count);
}

void fan_out_to_all(struct fleet *fleet, enum command_op op, const char *what)
{
	fan_out(fleet, op, what);
	assert_int_equal(fleet->answer_count, fleet->count);
	assert_int_equal(fleet->lost_count, 0);
}
