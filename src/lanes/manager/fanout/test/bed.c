/* SPDX-License-Identifier: BSD-3-Clause */
/* The seam of orders.h, and nodes with keys. */
#include "bed.h"

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
#include "lanes/proto/collective.h"

/* --- the seam --- */

static uint32_t place_of(const struct scene *scene, uint64_t nid)
{
	for (uint32_t i = 0; i < NODES_MAX; i++)
		if (nid_of_node(scene->nodes[i].name) == nid)
			return i;
	fail_msg("nobody has this NID");
	return 0;
}

static int on_start(void *ctx, const struct round_request *request)
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

static void on_group_drop(void *ctx, uint64_t group)
{
	struct scene *scene = ctx;

	assert_int_equal(group, GRANT);
	scene->drop_count++;
}

static const struct round_ops round_ops = {
	.start = on_start,
	.cancel = on_cancel,
	.group_drop = on_group_drop,
};

/* --- the caller --- */

static bool on_is_up(void *ctx, const struct fanout_command *command,
		     const char *name,
		     uint8_t ret_incarnation[INCARNATION_SIZE])
{
	struct scene *scene = ctx;
	const struct node *node = &scene->nodes[atoi(name + 1)];

	scene->look_up_count++;
	memcpy(ret_incarnation, node->incarnation, INCARNATION_SIZE);
	return node->is_up;
}

static void on_sign(void *ctx, const struct fanout_command *command,
		    struct command *ret_header, struct writer *writer)
{
	struct scene *scene = ctx;

	*ret_header = (struct command){
		.version = WIRE_VERSION,
		.op = (uint8_t)scene->op,
		.epoch = EPOCH,
		.life = LIFE,
		.sequence = ++scene->sequence,
		.grant_id = GRANT,
	};
	assert_int_equal(command_seal(&scene->key, ret_header, writer), 0);
}

static size_t on_masters(void *ctx, const struct node_master **ret_masters)
{
	const struct scene *scene = ctx;

	*ret_masters = &scene->master;
	return 1;
}

static void on_answered(void *ctx, const struct fanout_command *command,
			const struct fanout_answer *answer)
{
	struct scene *scene = ctx;
	struct node *node = &scene->nodes[atoi(answer->node + 1)];

	node->answer_count++;
	node->is_own = answer->is_own;
	node->result = answer->result;
	snprintf(node->text, sizeof(node->text), "%s", answer->text);
	memcpy(node->answered_by, answer->incarnation, INCARNATION_SIZE);
}

static void on_done(void *ctx, const struct fanout_command *command,
		    const struct fanout_answer *answers)
{
	struct scene *scene = ctx;

	for (size_t i = 0; i < command->node_count; i++) {
		assert_string_equal(answers[i].node, command->nodes[i]);
		assert_int_equal(
			answers[i].result,
			scene->nodes[atoi(answers[i].node + 1)].result);
	}
	scene->done_count++;
}

static void on_late(void *ctx, const struct fanout_command *command,
		    const struct fanout_answer *answer, uint64_t asked_ms)
{
	struct scene *scene = ctx;

	assert_int_equal(command->op, scene->op);
	assert_memory_equal(scene->nodes[atoi(answer->node + 1)].incarnation,
			    answer->incarnation, INCARNATION_SIZE);
	snprintf(scene->late_node, sizeof(scene->late_node), "%s",
		 answer->node);
	scene->late_ms = asked_ms;
	scene->late_count++;
}

static const struct fanout_ops fanout_ops = {
	.is_up = on_is_up,
	.sign = on_sign,
	.masters = on_masters,
	.answered = on_answered,
	.done = on_done,
	.late = on_late,
};

/* --- the scene --- */

int bed_setup(void **state)
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
	scene->seam.ops = &round_ops;
	scene->seam.ctx = scene;
	scene->fanouts = fanouts_create(&fanout_ops, scene, &scene->seam);
	*state = scene;
	return 0;
}

int bed_teardown(void **state)
{
	struct scene *scene = *state;

	fanouts_destroy(scene->fanouts);
	for (size_t i = 0; i < scene->asked_count; i++)
		free(scene->asked[i]);
	free(scene);
	return 0;
}

void bed_start(struct scene *scene, enum command_op op, size_t count)
{
	struct fanout_command *command =
		fanout_command_create(op, scene->names, count);

	command->group = GRANT;
	command->timeout_ms = TIMEOUT_MS;
	scene->op = op;
	fanouts_start(scene->fanouts, command, scene->now_ms);
}

void bed_tick(struct scene *scene)
{
	fanouts_tick(scene->fanouts, scene->now_ms);
}

void bed_advance(struct scene *scene, uint64_t ms)
{
	uint64_t end_ms = scene->now_ms + ms;
	uint64_t next_ms;

	bed_tick(scene);
	while ((next_ms = fanouts_deadline_ms(scene->fanouts)) <= end_ms) {
		assert_true(next_ms > scene->now_ms); /* it does not spin */
		scene->now_ms = next_ms;
		bed_tick(scene);
	}
	scene->now_ms = end_ms;
}

struct asked *bed_only(struct scene *scene, size_t count)
{
	assert_int_equal(scene->asked_count, count + 1);
	return scene->asked[count];
}

/* --- nodes that answer --- */

struct writer asked_confirm(struct scene *scene, const struct asked *asked,
			    uint32_t place, int result, const char *reason)
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

struct part part_begin(struct scene *scene, const struct asked *asked,
		       size_t count)
{
	struct part part = { .scene = scene, .asked = asked };

	assert_int_equal(combined_init(&part.combined, (uint32_t)count), 0);
	return part;
}

void part_add(struct part *part, uint32_t place, int result)
{
	struct writer confirm = asked_confirm(part->scene, part->asked, place,
					      result, result < 0 ? "why" : "");

	if (part->asked->is_separate)
		assert_int_equal(combined_carry(&part->combined, confirm.data,
						confirm.size),
				 0);
	else
		assert_int_equal(combined_add(&part->combined, place,
					      confirm.data, confirm.size),
				 0);
	writer_fini(&confirm);
}

void part_send(struct part *part)
{
	struct writer writer = { 0 };

	assert_int_equal(combined_encode(&part->combined, &writer), 0);
	fanouts_part(part->scene->fanouts, part->asked->id, writer.data,
		     writer.size);
	writer_fini(&writer);
	combined_fini(&part->combined);
}

void asked_answer_but(struct scene *scene, const struct asked *asked,
		      size_t count, uint32_t but)
{
	struct part part = part_begin(scene, asked, count);

	for (size_t i = 0; i < asked->count; i++)
		if (asked->places[i] != but)
			part_add(&part, asked->places[i], 0);
	part_send(&part);
}

void asked_answer_one(struct scene *scene, const struct asked *asked,
		      size_t count, uint32_t place, int result)
{
	struct part part = part_begin(scene, asked, count);

	part_add(&part, place, result);
	part_send(&part);
}

void asked_end(struct scene *scene, const struct asked *asked)
{
	fanouts_ended(scene->fanouts, asked->id, 0, NULL, 0);
	bed_tick(scene);
}

void asked_end_without(struct scene *scene, const struct asked *asked,
		       uint32_t place, int status)
{
	const struct round_failure failure = {
		.nid = nid_of_node(scene->nodes[place].name),
		.status = status,
	};

	fanouts_ended(scene->fanouts, asked->id, 0, &failure, 1);
	bed_tick(scene);
}

void bed_reported_once(const struct scene *scene, size_t count)
{
	assert_int_equal(scene->done_count, 1);
	for (size_t i = 0; i < NODES_MAX; i++)
		assert_int_equal(scene->nodes[i].answer_count, i < count);
}
