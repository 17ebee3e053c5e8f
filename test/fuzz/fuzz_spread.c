/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What comes back of a command that was spread: whoever has no node's key
 * answers for none, and the order ends all the same.
 *
 * Input: the number of nodes in one byte, then a part of the answer.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>

#include "base/seam.h"
#include "fuzz.h"
#include "lanes/manager/spread.h"

#define NODES_MAX  16
#define TIMEOUT_MS 10000

struct scene {
	uint64_t id; /* of the last collective */
	size_t answer_count, done_count;
};

static int on_start(void *ctx, const struct collective_request *request)
{
	struct scene *scene = ctx;

	scene->id = request->id;
	return 0;
}

static void on_cancel(void *ctx, uint64_t id)
{
}

static bool on_member(void *ctx, const void *arg, const char *node,
		      struct spread_member *ret_member)
{
	*ret_member = (struct spread_member){ .version = WIRE_VERSION };
	return true;
}

static int on_seal(void *ctx, void *arg, uint16_t version,
		   struct command *ret_command, struct writer *writer)
{
	*ret_command = (struct command){
		.version = version,
		.op = COMMAND_REVOKE,
		.epoch = 3,
		.life = 4,
		.sequence = 5,
		.grant_id = 6,
	};
	return 0;
}

static size_t on_masters(void *ctx, const struct node_master **ret_masters)
{
	static const struct node_master master = { .id = 1, .bytes = { 1 } };

	*ret_masters = &master;
	return 1;
}

static void on_answered(void *ctx, void *arg, size_t place,
			const struct spread_answer *answer)
{
	struct scene *scene = ctx;

	fuzz_check(!answer->is_heard && answer->result == -ETIMEDOUT);
	scene->answer_count++;
}

static void on_done(void *ctx, void *arg)
{
	struct scene *scene = ctx;

	scene->done_count++;
}

static void on_late(void *ctx, const struct spread_late *late)
{
	fuzz_check(false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct collective_ops collective_ops = {
		.start = on_start,
		.cancel = on_cancel,
	};
	static const struct spread_ops ops = {
		.member = on_member,
		.seal = on_seal,
		.masters = on_masters,
		.answered = on_answered,
		.done = on_done,
		.late = on_late,
	};
	static const char *const names[NODES_MAX] = {
		"n0", "n1", "n2",  "n3",  "n4",  "n5",  "n6",  "n7",
		"n8", "n9", "n10", "n11", "n12", "n13", "n14", "n15",
	};
	struct scene scene = { 0 };
	const struct collective_seam seam = { &collective_ops, &scene };
	struct spread_order order = {
		.op = COMMAND_REVOKE,
		.timeout_ms = TIMEOUT_MS,
		.nodes = names,
	};
	struct spreads *spreads;
	uint64_t id;

	if (size < 1)
		return 0;
	fuzz_check(sodium_init() >= 0);
	order.node_count = 1 + data[0] % NODES_MAX;
	fuzz_check(spreads_create(&ops, &scene, &seam, &spreads) == 0);
	fuzz_check(spread_start(spreads, &order, 1000) == 0);
	id = scene.id;
	spreads_part(spreads, id, data + 1, size - 1);
	spreads_tick(spreads, 1000);
	spreads_ended(spreads, id, 0, NULL, 0);
	spreads_tick(spreads, 1000);
	/* They were left out, and are asked again. */
	fuzz_check(scene.id > id && scene.answer_count == 0);
	spreads_part(spreads, scene.id, data + 1, size - 1);
	spreads_tick(spreads, 1000 + TIMEOUT_MS);
	fuzz_check(scene.answer_count == order.node_count);
	fuzz_check(scene.done_count == 1);
	fuzz_check(spreads_deadline_ms(spreads) == DEADLINE_NONE);
	spreads_destroy(spreads);
	return 0;
}
