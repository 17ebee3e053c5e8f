/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes of a test bed, on their links; bed_round.c has the rest. */
#include "bed_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

void bed_node_receive(struct bed_node *node, const void *frame, size_t size)
{
	engine_node_received(node->bed->engine, node->peer, frame, size);
}

uint8_t *bed_node_take(struct bed_node *node, enum frame_type type,
		       size_t *ret_size)
{
	size_t size;
	uint8_t *bytes = bed_net_take(&node->bed->nodes, node->peer, &size);
	struct frame frame;

	if (bytes == NULL)
		return NULL;
	assert_int_equal(frame_parse(bytes, size, &frame), 0);
	assert_int_equal(frame.type, type);
	memmove(bytes, bytes + 1, size - 1);
	*ret_size = size - 1;
	return bytes;
}

void bed_node_reconnect(struct bed_node *node)
{
	uint8_t *bytes;
	size_t size;

	node->peer = ++node->bed->peer_last;
	engine_node_opened(node->bed->engine, node->peer, "test");
	bytes = bed_node_take(node, FRAME_CHALLENGE, &size);
	assert_non_null(bytes);
	assert_int_equal(challenge_decode(bytes, size, &node->challenge), 0);
	free(bytes);
}

void bed_node_connect(struct bed *bed, const char *name,
		      struct bed_node *ret_node)
{
	static const uint8_t address[] = { 127, 0, 0, 1 };
	struct node_keys keys;
	struct rng_seam rng = sim_rng_seam(&bed->rng);

	*ret_node = (struct bed_node){ .bed = bed };
	strcpy(ret_node->name, name);
	memset(ret_node->incarnation, name[1], INCARNATION_SIZE);
	assert_int_equal(node_keys_make(&bed->keys, name, &keys, NULL), 0);
	ret_node->key = keys.confirms[0];
	rng_fill(&rng, ret_node->nonce, NONCE_SIZE);
	ret_node->registration.version = WIRE_VERSION;
	strcpy(ret_node->registration.node, name);
	strcpy(ret_node->registration.software, "0.1.0");
	ret_node->registration.address = address;
	ret_node->registration.address_size = sizeof(address);
	bed_node_reconnect(ret_node);
}

uint8_t *bed_node_register_frame(struct bed_node *node, size_t *ret_size)
{
	struct registration *registration = &node->registration;
	struct writer writer = { 0 };
	uint8_t *bytes;

	memcpy(registration->incarnation, node->incarnation, INCARNATION_SIZE);
	memcpy(registration->manager_nonce, node->challenge.nonce, NONCE_SIZE);
	memcpy(registration->node_nonce, node->nonce, NONCE_SIZE);
	frame_begin(&writer, FRAME_REGISTER);
	assert_int_equal(registration_encode(registration, &node->key, &writer),
			 0);
	bytes = writer_take(&writer, ret_size);
	assert_non_null(bytes);
	return bytes;
}

void bed_node_send_register(struct bed_node *node)
{
	size_t size;
	uint8_t *bytes = bed_node_register_frame(node, &size);

	bed_known_set(node);
	bed_node_receive(node, bytes, size);
	free(bytes);
}

bool bed_node_command(struct bed_node *node, struct command *ret_command,
		      uint8_t **ret_bytes)
{
	struct command_public publics[KEYS_MAX];
	size_t count = manager_keys_publics(&node->bed->keys, publics);
	size_t size;

	*ret_bytes = bed_node_take(node, FRAME_COMMAND, &size);
	if (*ret_bytes == NULL)
		return false;
	assert_int_equal(command_verify(*ret_bytes, size, publics, count,
					ret_command),
			 0);
	assert_int_equal(ret_command->epoch, node->bed->epoch);
	return true;
}

void bed_node_register(struct bed_node *node)
{
	struct command command;
	union command_body body;
	uint8_t *bytes;

	bed_node_send_register(node);
	bed_commit(node->bed);
	assert_true(bed_node_command(node, &command, &bytes));
	assert_int_equal(command.op, COMMAND_HELLO);
	assert_int_equal(command_body_decode(COMMAND_HELLO, command.body,
					     command.body_size, &body),
			 0);
	assert_memory_equal(body.hello.nonce, node->nonce, NONCE_SIZE);
	assert_memory_equal(body.hello.cluster, node->bed->keys.cluster,
			    CLUSTER_ID_SIZE);
	assert_string_equal(body.hello.node, node->name);
	free(bytes);
}

void bed_node_up(struct bed *bed, const char *name, struct bed_node *ret_node)
{
	bed_node_connect(bed, name, ret_node);
	bed_node_register(ret_node);
}

uint8_t *bed_node_confirm_frame(struct bed_node *node,
				const struct confirm *confirm, size_t *ret_size)
{
	struct writer writer = { 0 };
	uint8_t *bytes;

	frame_begin(&writer, FRAME_CONFIRM);
	assert_int_equal(confirm_encode(confirm, &node->key, &writer), 0);
	bytes = writer_take(&writer, ret_size);
	assert_non_null(bytes);
	return bytes;
}

void bed_node_confirm(struct bed_node *node, const struct confirm *confirm)
{
	size_t size;
	uint8_t *bytes = bed_node_confirm_frame(node, confirm, &size);

	bed_node_receive(node, bytes, size);
	free(bytes);
}

size_t bed_node_frames(const struct bed_node *node)
{
	size_t count = 0;

	for (size_t i = 0; i < node->bed->nodes.frame_count; i++)
		count += node->bed->nodes.frames[i].peer == node->peer;
	return count;
}

void bed_node_refused(struct bed_node *node, const char *words)
{
	struct refuse refuse;
	size_t size;
	uint8_t *bytes = bed_node_take(node, FRAME_REFUSE, &size);

	assert_non_null(bytes);
	assert_int_equal(refuse_decode(bytes, size, &refuse), 0);
	if (strstr(refuse.text, words) == NULL)
		fail_msg("'%s' has no '%s'", refuse.text, words);
	assert_true(bed_was_closed(&node->bed->nodes, node->peer));
	free(bytes);
}

void bed_node_state(struct bed *bed, const char *name, const char *state)
{
	json_t *node = bed_node_shown(bed, name);

	assert_string_equal(json_string_value(json_object_get(node, "state")),
			    state);
	json_decref(node);
}
