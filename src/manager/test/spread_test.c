/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders over a seam that does what each test says: collectives stand in a
 * list until they are answered and ended by hand, with the keys of the nodes.
 */
#include "manager/spread.h"

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

#include "base/seam.h"
#include "manager/wire/gather.h"
#include "manager/wire/nid.h"

#define NODES_MAX  3000
#define ASKED_MAX  64
#define TIMEOUT_MS 30000
#define GRANT      42
#define EPOCH      3
#define LIFE       77

struct node {
	char name[16];
	bool is_up;
	uint8_t incarnation[INCARNATION_SIZE];
	/* What came of it. */
	unsigned int answer_count;
	bool is_heard;
	int result;
	char text[64];
	uint8_t answered_by[INCARNATION_SIZE];
};

/* A collective that was started. */
struct asked {
	uint64_t id, group;
	bool is_flat, is_separate;
	uint32_t patience_ms, part_bytes;
	uint32_t places[NODES_MAX];
	size_t count;
	struct command head;
	bool is_cancelled;
};

struct scene {
	struct command_key key;
	struct command_public public;
	struct node_master master;
	struct node nodes[NODES_MAX];
	const char *names[NODES_MAX];
	struct asked *asked[ASKED_MAX];
	size_t asked_count;
	int start_result;
	uint64_t sequence;
	uint64_t now_ms;
	enum command_op op;
	size_t done_count;
	struct collective_seam seam;
	struct spreads *spreads;
};

/* --- the seam --- */

static uint32_t place_of(const struct scene *scene, uint64_t nid)
{
	for (uint32_t i = 0; i < NODES_MAX; i++)
		if (nid_of_node(scene->nodes[i].name) == nid)
			return i;
	fail_msg("nobody has this NID");
	return 0;
}

static int on_start(void *ctx, const struct collective_request *request)
{
	struct scene *scene = ctx;
	struct asked *asked;

	if (scene->start_result < 0)
		return scene->start_result;
	assert_true(scene->asked_count < ASKED_MAX);
	asked = calloc(1, sizeof(*asked));
	scene->asked[scene->asked_count++] = asked;
	asked->id = request->id;
	asked->group = request->group;
	asked->is_flat = request->is_flat;
	asked->is_separate = request->parcel.is_separate;
	asked->patience_ms = request->parcel.patience_ms;
	asked->part_bytes = request->parcel.part_bytes;
	for (size_t i = 0; i < request->count; i++)
		asked->places[i] = request->count < 200
					   ? place_of(scene, request->nids[i])
					   : (uint32_t)i;
	asked->count = request->count;
	assert_int_equal(command_verify(request->parcel.command,
					request->parcel.command_size,
					&scene->public, 1, &asked->head),
			 0);
	asked->head.body = NULL;
	return 0;
}

static void on_cancel(void *ctx, uint64_t id)
{
	struct scene *scene = ctx;

	for (size_t i = 0; i < scene->asked_count; i++)
		if (scene->asked[i]->id == id)
			scene->asked[i]->is_cancelled = true;
}

static const struct collective_ops collective_ops = {
	.start = on_start,
	.cancel = on_cancel,
};

/* --- the caller --- */

static bool on_member(void *ctx, const char *name,
		      struct spread_member *ret_member)
{
	const struct scene *scene = ctx;
	const struct node *node = &scene->nodes[atoi(name + 1)];

	ret_member->version = WIRE_VERSION;
	memcpy(ret_member->incarnation, node->incarnation, INCARNATION_SIZE);
	return node->is_up;
}

static int on_seal(void *ctx, void *arg, uint16_t version,
		   struct command *ret_command, struct writer *writer)
{
	struct scene *scene = ctx;

	assert_ptr_equal(arg, scene);
	*ret_command = (struct command){
		.version = version,
		.op = (uint8_t)scene->op,
		.epoch = EPOCH,
		.life = LIFE,
		.sequence = ++scene->sequence,
		.grant_id = GRANT,
	};
	return command_seal(&scene->key, ret_command, writer);
}

static size_t on_masters(void *ctx, const struct node_master **ret_masters)
{
	const struct scene *scene = ctx;

	*ret_masters = &scene->master;
	return 1;
}

static void on_answered(void *ctx, void *arg, size_t place,
			const struct spread_answer *answer)
{
	struct scene *scene = ctx;
	struct node *node = &scene->nodes[place];

	node->answer_count++;
	node->is_heard = answer->is_heard;
	node->result = answer->result;
	snprintf(node->text, sizeof(node->text), "%s", answer->text);
	memcpy(node->answered_by, answer->incarnation, INCARNATION_SIZE);
}

static void on_done(void *ctx, void *arg)
{
	struct scene *scene = ctx;

	scene->done_count++;
}

static const struct spread_ops spread_ops = {
	.member = on_member,
	.seal = on_seal,
	.masters = on_masters,
	.answered = on_answered,
	.done = on_done,
};

/* --- the scene --- */

static int setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	const uint8_t seed[KEY_SIZE] = { 1 };

	command_key_derive(1, seed, &scene->key);
	command_public_derive(1, seed, &scene->public);
	node_master_derive(1, seed, &scene->master);
	for (uint32_t i = 0; i < NODES_MAX; i++) {
		struct node *node = &scene->nodes[i];

		snprintf(node->name, sizeof(node->name), "n%u", i);
		memset(node->incarnation, (int)(1 + i % 250), INCARNATION_SIZE);
		node->is_up = true;
		scene->names[i] = node->name;
	}
	scene->now_ms = 1000000;
	scene->seam.ops = &collective_ops;
	scene->seam.ctx = scene;
	assert_int_equal(spreads_create(&spread_ops, scene, &scene->seam,
					&scene->spreads),
			 0);
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	spreads_destroy(scene->spreads);
	for (size_t i = 0; i < scene->asked_count; i++)
		free(scene->asked[i]);
	free(scene);
	return 0;
}

static void start(struct scene *scene, enum command_op op, size_t count)
{
	const struct spread_order order = {
		.op = op,
		.group = GRANT,
		.timeout_ms = TIMEOUT_MS,
		.nodes = scene->names,
		.node_count = count,
		.arg = scene,
	};

	scene->op = op;
	assert_int_equal(spread_start(scene->spreads, &order, scene->now_ms),
			 0);
}

static void tick(struct scene *scene)
{
	spreads_tick(scene->spreads, scene->now_ms);
}

/* Time goes on, from deadline to deadline. */
static void advance(struct scene *scene, uint64_t ms)
{
	uint64_t end_ms = scene->now_ms + ms;
	uint64_t next_ms;

	tick(scene);
	while ((next_ms = spreads_deadline_ms(scene->spreads)) <= end_ms) {
		assert_true(next_ms > scene->now_ms); /* it does not spin */
		scene->now_ms = next_ms;
		tick(scene);
	}
	scene->now_ms = end_ms;
}

/* The only collective since the first `count`; asserts that it is. */
static struct asked *only(struct scene *scene, size_t count)
{
	assert_int_equal(scene->asked_count, count + 1);
	return scene->asked[count];
}

/* --- nodes that answer --- */

static struct writer confirm_make(struct scene *scene,
				  const struct asked *asked, uint32_t place,
				  int result, const char *reason)
{
	const struct node *node = &scene->nodes[place];
	struct writer writer = { 0 };
	struct confirm confirm;
	struct node_key key;

	confirm_answer(&asked->head, node->name, node->incarnation, result,
		       &confirm);
	snprintf(confirm.reason, sizeof(confirm.reason), "%s", reason);
	node_key_derive(&scene->master, node->name, &key);
	assert_int_equal(confirm_encode(&confirm, &key, &writer), 0);
	return writer;
}

/* Places of a command of `count` nodes that a part is about. */
struct part {
	struct scene *scene;
	const struct asked *asked;
	struct gather gather;
};

static struct part part_begin(struct scene *scene, const struct asked *asked,
			      size_t count)
{
	struct part part = { .scene = scene, .asked = asked };

	assert_int_equal(gather_init(&part.gather, (uint32_t)count), 0);
	return part;
}

static void part_add(struct part *part, uint32_t place, int result)
{
	struct writer confirm = confirm_make(part->scene, part->asked, place,
					     result, result < 0 ? "why" : "");

	if (part->asked->is_separate)
		assert_int_equal(gather_carry(&part->gather, confirm.data,
					      confirm.size),
				 0);
	else
		assert_int_equal(gather_add(&part->gather, place, confirm.data,
					    confirm.size),
				 0);
	writer_fini(&confirm);
}

static void part_send(struct part *part)
{
	struct writer writer = { 0 };

	assert_int_equal(gather_encode(&part->gather, &writer), 0);
	spreads_part(part->scene->spreads, part->asked->id, writer.data,
		     writer.size);
	writer_fini(&writer);
	gather_fini(&part->gather);
}

/* All of `count` nodes that were asked say "done", but for one. */
static void answer_but(struct scene *scene, const struct asked *asked,
		       size_t count, uint32_t but)
{
	struct part part = part_begin(scene, asked, count);

	for (size_t i = 0; i < asked->count; i++)
		if (asked->places[i] != but)
			part_add(&part, asked->places[i], 0);
	part_send(&part);
}

static void answer_one(struct scene *scene, const struct asked *asked,
		       size_t count, uint32_t place, int result)
{
	struct part part = part_begin(scene, asked, count);

	part_add(&part, place, result);
	part_send(&part);
}

static void end(struct scene *scene, const struct asked *asked)
{
	spreads_ended(scene->spreads, asked->id, 0, NULL, 0);
	tick(scene);
}

static void end_without(struct scene *scene, const struct asked *asked,
			uint32_t place, int status)
{
	const struct collective_failure failure = {
		.nid = nid_of_node(scene->nodes[place].name),
		.status = status,
	};

	spreads_ended(scene->spreads, asked->id, 0, &failure, 1);
	tick(scene);
}

#define NOBODY UINT32_MAX

/* Each of the first `count` was told once, the others never. */
static void assert_told_once(const struct scene *scene, size_t count)
{
	assert_int_equal(scene->done_count, 1);
	for (size_t i = 0; i < NODES_MAX; i++)
		assert_int_equal(scene->nodes[i].answer_count, i < count);
}

/* --- tests --- */

static void one_node_is_asked_and_answers(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	start(scene, COMMAND_APPLY, 1);
	asked = only(scene, 0);
	assert_int_equal(asked->count, 1);
	assert_int_equal(asked->group, GRANT);
	assert_false(asked->is_flat);
	assert_false(asked->is_separate);
	assert_int_equal(asked->head.op, COMMAND_APPLY);
	assert_int_equal(asked->part_bytes, SPREAD_PART_BYTES);
	assert_int_equal(asked->patience_ms, TIMEOUT_MS / 2);
	answer_but(scene, asked, 1, NOBODY);
	end(scene, asked);
	assert_told_once(scene, 1);
	assert_true(scene->nodes[0].is_heard);
	assert_int_equal(scene->nodes[0].result, 0);
	assert_memory_equal(scene->nodes[0].answered_by,
			    scene->nodes[0].incarnation, INCARNATION_SIZE);
	assert_int_equal(spreads_deadline_ms(scene->spreads), DEADLINE_NONE);
}

static void all_nodes_are_asked_by_one_collective(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	start(scene, COMMAND_APPLY, NODES_MAX);
	asked = only(scene, 0);
	assert_int_equal(asked->count, NODES_MAX);
	answer_but(scene, asked, NODES_MAX, NOBODY);
	tick(scene);
	assert_told_once(scene, NODES_MAX);
	/* The end of what is over is no news. */
	end(scene, asked);
	only(scene, 0);
	assert_true(asked->is_cancelled);
}

static void answers_of_a_query_have_room(void **state)
{
	struct scene *scene = *state;

	start(scene, COMMAND_QUERY, 2);
	assert_int_equal(only(scene, 0)->part_bytes, PARCEL_PART_MAX);
}

static void refusal_is_told_with_its_reason(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;
	struct part part;

	start(scene, COMMAND_APPLY, 3);
	asked = only(scene, 0);
	part = part_begin(scene, asked, 3);
	part_add(&part, 0, 0);
	part_add(&part, 1, -EBUSY);
	part_add(&part, 2, 0);
	part_send(&part);
	end(scene, asked);
	assert_told_once(scene, 3);
	assert_int_equal(scene->nodes[1].result, -EBUSY);
	assert_string_equal(scene->nodes[1].text, "why");
	assert_true(scene->nodes[1].is_heard);
	assert_int_equal(scene->nodes[2].result, 0);
}

static void dead_node_of_a_revoke_is_told_and_the_others_count(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	start(scene, COMMAND_REVOKE, 4);
	asked = only(scene, 0);
	answer_but(scene, asked, 4, 2);
	end_without(scene, asked, 2, -EHOSTUNREACH);
	assert_int_equal(scene->nodes[1].answer_count, 1);
	assert_int_equal(scene->done_count, 0);
	/* It is asked again alone, by a tree: nobody is suspected. */
	advance(scene, SPREAD_REPEAT_MS);
	assert_int_equal(scene->asked_count, 2);
	asked = scene->asked[1];
	assert_int_equal(asked->count, 1);
	assert_int_equal(asked->places[0], 2);
	assert_false(asked->is_flat);
	assert_int_equal(asked->head.sequence, scene->asked[0]->head.sequence);
	end_without(scene, asked, 2, -EHOSTUNREACH);
	/* And when its lease is over it is waited for no longer. */
	scene->nodes[2].is_up = false;
	advance(scene, SPREAD_REPEAT_MS);
	assert_int_equal(scene->done_count, 0);
	advance(scene, SPREAD_GONE_MS);
	assert_told_once(scene, 4);
	assert_int_equal(scene->nodes[2].result, -EHOSTUNREACH);
	assert_string_equal(scene->nodes[2].text, "the node is down");
	assert_false(scene->nodes[2].is_heard);
}

static void unreached_node_is_asked_until_the_deadline(void **state)
{
	struct scene *scene = *state;

	start(scene, COMMAND_APPLY, 2);
	for (size_t i = 0; scene->done_count == 0; i++) {
		struct asked *asked = scene->asked[scene->asked_count - 1];

		assert_true(i <= TIMEOUT_MS / SPREAD_REPEAT_MS);
		answer_but(scene, asked, 2, 1);
		end_without(scene, asked, 1, -EHOSTDOWN);
		advance(scene, SPREAD_REPEAT_MS);
	}
	assert_true(scene->asked_count >= 10);
	assert_told_once(scene, 2);
	assert_int_equal(scene->nodes[1].result, -EHOSTUNREACH);
	assert_string_equal(scene->nodes[1].text, "the node cannot be reached");
	assert_int_equal(scene->nodes[0].result, 0);
}

static void nodes_that_are_down_are_waited_for_a_while(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	scene->nodes[0].is_up = false;
	scene->nodes[2].is_up = false;
	start(scene, COMMAND_REVOKE, 3);
	asked = only(scene, 0);
	assert_int_equal(asked->count, 1);
	assert_int_equal(asked->places[0], 1);
	answer_but(scene, asked, 3, NOBODY);
	end(scene, asked);
	advance(scene, SPREAD_GONE_MS - 1);
	assert_int_equal(scene->done_count, 0);
	scene->nodes[2].is_up = true;
	spreads_node_up(scene->spreads, "n2");
	tick(scene);
	asked = scene->asked[1];
	assert_int_equal(scene->asked_count, 2);
	assert_int_equal(asked->places[0], 2);
	advance(scene, 1);
	assert_int_equal(scene->nodes[0].result, -EHOSTUNREACH);
	answer_but(scene, asked, 3, NOBODY);
	end(scene, asked);
	assert_told_once(scene, 3);
	assert_int_equal(scene->nodes[2].result, 0);
}

static void silence_is_a_timeout(void **state)
{
	struct scene *scene = *state;

	start(scene, COMMAND_APPLY, 2);
	advance(scene, TIMEOUT_MS - 1);
	assert_int_equal(scene->done_count, 0);
	advance(scene, 1);
	assert_told_once(scene, 2);
	assert_int_equal(scene->nodes[0].result, -ETIMEDOUT);
	assert_true(only(scene, 0)->is_cancelled);
	assert_int_equal(spreads_counters(scene->spreads)->timeout_count, 2);
}

/* A relay below which are 1 and 2 has changed the tag of their set. */
static void set_with_a_false_tag_is_asked_for_separately(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;
	struct part part;

	start(scene, COMMAND_REVOKE, 4);
	asked = only(scene, 0);
	part = part_begin(scene, asked, 4);
	part_add(&part, 1, 0);
	part_add(&part, 2, 0);
	part.gather.sets[0].tag[5] ^= 1;
	part_send(&part);
	part = part_begin(scene, asked, 4);
	part_add(&part, 0, 0);
	part_add(&part, 3, 0);
	part_send(&part);
	end(scene, asked);
	assert_int_equal(scene->nodes[0].answer_count, 1);
	assert_int_equal(scene->nodes[3].answer_count, 1);
	assert_int_equal(scene->nodes[1].answer_count, 0);
	assert_int_equal(scene->nodes[2].answer_count, 0);
	assert_int_equal(spreads_counters(scene->spreads)->false_count, 2);
	asked = only(scene, 1);
	assert_true(asked->is_flat);
	assert_true(asked->is_separate);
	assert_int_equal(asked->group, 0);
	assert_int_equal(asked->count, 2);
	answer_but(scene, asked, 4, NOBODY);
	end(scene, asked);
	assert_told_once(scene, 4);
	assert_int_equal(scene->nodes[1].result, 0);
	assert_true(scene->nodes[1].is_heard);
}

/* It says that all below have answered, and has left one out. */
static void node_that_was_left_out_is_asked_separately(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	start(scene, COMMAND_APPLY, 4);
	asked = only(scene, 0);
	answer_but(scene, asked, 4, 3);
	end(scene, asked);
	assert_int_equal(scene->done_count, 0);
	assert_int_equal(spreads_counters(scene->spreads)->omitted_count, 1);
	asked = only(scene, 1);
	assert_true(asked->is_flat);
	assert_int_equal(asked->count, 1);
	assert_int_equal(asked->places[0], 3);
	/* It is only slow, and is not asked without a pause. */
	end(scene, asked);
	only(scene, 1);
	advance(scene, SPREAD_REPEAT_MS);
	assert_int_equal(scene->asked_count, 3);
	answer_but(scene, scene->asked[2], 4, NOBODY);
	end(scene, scene->asked[2]);
	assert_told_once(scene, 4);
}

/* A set may be true and still name nobody who was not there. */
static void relay_cannot_answer_for_a_node_that_has_not(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;
	struct part part;

	start(scene, COMMAND_REVOKE, 3);
	asked = only(scene, 0);
	part = part_begin(scene, asked, 3);
	part_add(&part, 0, 0);
	part_add(&part, 1, 0);
	idset_add(part.gather.sets[0].places, 2);
	part_send(&part);
	end(scene, asked);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(scene->nodes[i].answer_count, 0);
	asked = only(scene, 1);
	assert_true(asked->is_separate);
	assert_int_equal(asked->count, 3);
}

static void forged_confirmations_count_for_nothing(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;
	struct part part;
	struct writer confirm;

	start(scene, COMMAND_APPLY, 2);
	asked = only(scene, 0);
	part = part_begin(scene, asked, 2);
	confirm = confirm_make(scene, asked, 1, -EIO, "not true");
	confirm.data[confirm.size - 1] ^= 1;
	assert_int_equal(gather_carry(&part.gather, confirm.data, confirm.size),
			 0);
	writer_fini(&confirm);
	/* And one of a node that was not asked. */
	confirm = confirm_make(scene, asked, 7, 0, "");
	assert_int_equal(gather_carry(&part.gather, confirm.data, confirm.size),
			 0);
	writer_fini(&confirm);
	part_send(&part);
	spreads_part(scene->spreads, asked->id, "nonsense", 8);
	tick(scene);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(scene->nodes[i].answer_count, 0);
	answer_but(scene, asked, 2, NOBODY);
	end(scene, asked);
	assert_told_once(scene, 2);
	assert_int_equal(scene->nodes[1].result, 0);
}

static void answers_to_another_command_count_for_nothing(void **state)
{
	struct scene *scene = *state;
	struct asked *asked, other;

	start(scene, COMMAND_APPLY, 1);
	asked = only(scene, 0);
	for (int i = 0; i < 5; i++) {
		other = *asked;
		other.head.op = i == 0 ? COMMAND_REVOKE : COMMAND_APPLY;
		other.head.sequence += i == 1;
		other.head.epoch += i == 2;
		other.head.life += i == 3;
		other.head.grant_id += i == 4;
		/* Combined or not. */
		answer_one(scene, &other, 1, 0, 0);
		other.is_separate = true;
		answer_one(scene, &other, 1, 0, 0);
		answer_one(scene, &other, 1, 0, -EIO);
		tick(scene);
		assert_int_equal(scene->nodes[0].answer_count, 0);
	}
}

static void node_that_registers_again_gets_a_new_sequence(void **state)
{
	struct scene *scene = *state;
	struct asked *asked, *again;

	start(scene, COMMAND_APPLY, 3);
	asked = only(scene, 0);
	scene->sequence += 10; /* its HELLO, and others */
	spreads_node_up(scene->spreads, "n1");
	tick(scene);
	again = only(scene, 1);
	assert_int_equal(again->count, 1);
	assert_int_equal(again->places[0], 1);
	assert_true(again->head.sequence > asked->head.sequence + 10);
	/* What it says to the old one is over. */
	answer_one(scene, asked, 3, 1, -ESTALE);
	answer_but(scene, asked, 3, 1);
	end(scene, asked);
	assert_int_equal(scene->nodes[0].answer_count, 1);
	assert_int_equal(scene->nodes[1].answer_count, 0);
	answer_but(scene, again, 3, NOBODY);
	end(scene, again);
	assert_told_once(scene, 3);
	assert_int_equal(scene->nodes[1].result, 0);
}

static void node_that_was_rebooted_meanwhile_has_failed(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	start(scene, COMMAND_APPLY, 2);
	asked = only(scene, 0);
	scene->nodes[1].incarnation[0] ^= 0xff;
	spreads_node_up(scene->spreads, "n1");
	answer_one(scene, asked, 2, 0, 0);
	tick(scene);
	assert_told_once(scene, 2);
	assert_int_equal(scene->nodes[1].result, -EHOSTUNREACH);
	assert_false(scene->nodes[1].is_heard);
}

static void rebooted_node_is_asked_to_revoke_again(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	start(scene, COMMAND_REVOKE, 2);
	asked = only(scene, 0);
	scene->nodes[1].incarnation[0] ^= 0xff;
	spreads_node_up(scene->spreads, "n1");
	tick(scene);
	asked = only(scene, 1);
	assert_int_equal(asked->count, 1);
	assert_int_equal(asked->head.sequence, scene->asked[0]->head.sequence);
	answer_but(scene, asked, 2, NOBODY);
	end(scene, asked);
	assert_int_equal(scene->nodes[1].result, 0);
	assert_memory_equal(scene->nodes[1].answered_by,
			    scene->nodes[1].incarnation, INCARNATION_SIZE);
	answer_one(scene, scene->asked[0], 2, 0, 0);
	end(scene, scene->asked[0]);
	assert_told_once(scene, 2);
}

static void second_answer_changes_nothing(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	start(scene, COMMAND_APPLY, 2);
	asked = only(scene, 0);
	answer_one(scene, asked, 2, 0, -EIO);
	answer_one(scene, asked, 2, 0, 0);
	tick(scene);
	answer_one(scene, asked, 2, 0, 0);
	tick(scene);
	assert_int_equal(scene->nodes[0].answer_count, 1);
	assert_int_equal(scene->nodes[0].result, -EIO);
}

static void collective_that_cannot_begin_is_tried_again(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	scene->start_result = -EAGAIN;
	start(scene, COMMAND_APPLY, 2);
	assert_int_equal(scene->asked_count, 0);
	advance(scene, SPREAD_REPEAT_MS - 1);
	scene->start_result = 0;
	assert_int_equal(scene->asked_count, 0);
	advance(scene, 1);
	asked = only(scene, 0);
	spreads_ended(scene->spreads, asked->id, -ENOMEM, NULL, 0);
	advance(scene, SPREAD_REPEAT_MS);
	assert_int_equal(scene->asked_count, 2);
	/* Nobody was suspected of anything. */
	assert_false(scene->asked[1]->is_flat);
	answer_but(scene, scene->asked[1], 2, NOBODY);
	end(scene, scene->asked[1]);
	assert_told_once(scene, 2);
}

static void flat_collectives_are_few_and_small(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;
	size_t count = 0;

	start(scene, COMMAND_REVOKE, NODES_MAX);
	asked = only(scene, 0);
	end(scene, asked); /* all were left out */
	assert_int_equal(scene->asked_count, 1 + SPREAD_FLATS_MAX);
	for (size_t i = 1; i < scene->asked_count; i++) {
		assert_true(scene->asked[i]->is_flat);
		assert_in_range(scene->asked[i]->count, 1, SPREAD_FLAT_MAX);
		count += scene->asked[i]->count;
	}
	assert_int_equal(count, SPREAD_FLATS_MAX * SPREAD_FLAT_MAX);
	/* With each that ends another one begins, until all were asked. */
	for (size_t i = 1; i < scene->asked_count; i++) {
		answer_but(scene, scene->asked[i], NODES_MAX, NOBODY);
		end(scene, scene->asked[i]);
	}
	assert_told_once(scene, NODES_MAX);
}

/* The manager has read its journal again: what it sent is void. */
static void what_is_forgotten_is_cancelled_and_tells_nobody(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	start(scene, COMMAND_APPLY, 2);
	asked = only(scene, 0);
	answer_one(scene, asked, 2, 0, 0);
	spreads_clear(scene->spreads);
	assert_true(asked->is_cancelled);
	answer_one(scene, asked, 2, 1, 0);
	end(scene, asked);
	assert_int_equal(scene->done_count, 0);
	assert_int_equal(scene->nodes[0].answer_count, 0);
	assert_int_equal(spreads_deadline_ms(scene->spreads), DEADLINE_NONE);
}

static void two_orders_do_not_meet(void **state)
{
	struct scene *scene = *state;
	struct asked *first, *second;

	start(scene, COMMAND_REVOKE, 1);
	start(scene, COMMAND_REVOKE, 1);
	assert_int_equal(scene->asked_count, 2);
	first = scene->asked[0];
	second = scene->asked[1];
	assert_int_not_equal(first->head.sequence, second->head.sequence);
	answer_but(scene, second, 1, NOBODY);
	end(scene, second);
	assert_int_equal(scene->done_count, 1);
	answer_but(scene, first, 1, NOBODY);
	end(scene, first);
	assert_int_equal(scene->done_count, 2);
	assert_int_equal(scene->nodes[0].answer_count, 2);
}

static void order_needs_nodes(void **state)
{
	struct scene *scene = *state;
	const struct spread_order order = { .op = COMMAND_QUERY };

	assert_int_equal(spread_start(scene->spreads, &order, scene->now_ms),
			 -EINVAL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_node_is_asked_and_answers),
		TEST(all_nodes_are_asked_by_one_collective),
		TEST(answers_of_a_query_have_room),
		TEST(refusal_is_told_with_its_reason),
		TEST(dead_node_of_a_revoke_is_told_and_the_others_count),
		TEST(unreached_node_is_asked_until_the_deadline),
		TEST(nodes_that_are_down_are_waited_for_a_while),
		TEST(silence_is_a_timeout),
		TEST(set_with_a_false_tag_is_asked_for_separately),
		TEST(node_that_was_left_out_is_asked_separately),
		TEST(relay_cannot_answer_for_a_node_that_has_not),
		TEST(forged_confirmations_count_for_nothing),
		TEST(answers_to_another_command_count_for_nothing),
		TEST(node_that_registers_again_gets_a_new_sequence),
		TEST(node_that_was_rebooted_meanwhile_has_failed),
		TEST(rebooted_node_is_asked_to_revoke_again),
		TEST(second_answer_changes_nothing),
		TEST(collective_that_cannot_begin_is_tried_again),
		TEST(flat_collectives_are_few_and_small),
		TEST(what_is_forgotten_is_cancelled_and_tells_nobody),
		TEST(two_orders_do_not_meet),
		TEST(order_needs_nodes),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
