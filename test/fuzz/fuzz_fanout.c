/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What comes back of a command to nodes: whoever has no node's key
 * answers for none, and the fan-out ends all the same.
 *
 * Input: the number of nodes in one byte, then a part of the answer.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/seam.h"
#include "fuzz.h"
#include "lanes/manager/fanout/fanout.h"

#define NODES_MAX  16
#define TIMEOUT_MS 10000

struct scene {
	uint64_t id; /* of the last collective */
	size_t answer_count, done_count;
};

static int on_start(void *ctx, const struct round_request *request)
{
	struct scene *scene = ctx;

	scene->id = request->id;
	return 0;
}

static void on_cancel(void *ctx, uint64_t id)
{
}

static bool on_is_up(void *ctx, const struct fanout_command *command,
		     const char *node,
		     uint8_t ret_incarnation[INCARNATION_SIZE])
{
	memset(ret_incarnation, 0, INCARNATION_SIZE);
	return true;
}

static void on_sign(void *ctx, const struct fanout_command *command,
		    struct command *ret_header, struct writer *writer)
{
	*ret_header = (struct command){
		.version = WIRE_VERSION,
		.op = COMMAND_REVOKE,
		.epoch = 3,
		.life = 4,
		.sequence = 5,
		.grant_id = 6,
	};
}

static size_t on_masters(void *ctx, const struct node_master **ret_masters)
{
	static const struct node_master master = { .id = 1, .bytes = { 1 } };

	*ret_masters = &master;
	return 1;
}

static void on_answered(void *ctx, const struct fanout_command *command,
			const struct fanout_answer *answer)
{
	struct scene *scene = ctx;

	fuzz_check(!answer->is_own && answer->result == -ETIMEDOUT);
	scene->answer_count++;
}

static void on_done(void *ctx, const struct fanout_command *command,
		    const struct fanout_answer *answers)
{
	struct scene *scene = ctx;

	scene->done_count++;
}

static void on_late(void *ctx, const struct fanout_command *command,
		    const struct fanout_answer *answer, uint64_t asked_ms)
{
	fuzz_check(false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct round_ops round_ops = {
		.start = on_start,
		.cancel = on_cancel,
	};
	static const struct fanout_ops ops = {
		.is_up = on_is_up,
		.sign = on_sign,
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
	const struct round_seam seam = { &round_ops, &scene };
	struct fanout_command *command;
	struct fanouts *fanouts;
	size_t count;
	uint64_t id;

	if (size < 1)
		return 0;
	fuzz_check(sodium_init() >= 0);
	count = 1 + data[0] % NODES_MAX;
	command = fanout_command_create(COMMAND_REVOKE, names, count);
	command->timeout_ms = TIMEOUT_MS;
	fanouts = fanouts_create(&ops, &scene, &seam);
	fanouts_start(fanouts, command, 1000);
	id = scene.id;
	fanouts_part(fanouts, id, data + 1, size - 1);
	fanouts_tick(fanouts, 1000);
	fanouts_ended(fanouts, id, 0, NULL, 0);
	fanouts_tick(fanouts, 1000);
	/* They were left out, and are asked again. */
	fuzz_check(scene.id > id && scene.answer_count == 0);
	fanouts_part(fanouts, scene.id, data + 1, size - 1);
	fanouts_tick(fanouts, 1000 + TIMEOUT_MS);
	fuzz_check(scene.answer_count == count);
	fuzz_check(scene.done_count == 1);
	fuzz_check(fanouts_deadline_ms(fanouts) == DEADLINE_NONE);
	fanouts_destroy(fanouts);
	return 0;
}
