/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/proto/test/samples.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

const char *const sample_names[SAMPLE_COUNT] = {
	"challenge",   "refuse", "register", "register_empty", "confirm",
	"confirm_own", "hello",  "apply",    "revoke",         "query",
	"clean",       "ack",    "drain",    "lease",
};

/* 0, 1, 2, ...: the nonce of the sample challenge. */
#define COUNTING                                                              \
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, \
		20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31

static const uint8_t nonce[NONCE_SIZE] = { COUNTING };

const struct challenge sample_challenge = {
	.version = WIRE_VERSION,
	.nonce = { COUNTING },
};

const struct refuse sample_refuse = {
	.text = "node 'n3' is not one of ours",
};

const struct hello_body sample_hello = {
	.nonce = { COUNTING },
	.node = SAMPLE_NODE,
	.cluster = { COUNTING },
};

const struct apply_body sample_apply = {
	.key = "slurm/4711/0",
	.driver = "slingshot",
	.uid = 1000,
	.gid = 100,
	.nodes = "n[0-3]",
	.cores = "8",
	.tasks = "4(x3),2",
	.id_count = 2,
	.ids = { 1024, 65535 },
	.options = "vnis=2,tcs=LOW_LATENCY",
	.sealed = (const uint8_t *)"sealed",
	.sealed_size = 6,
	.members = (const uint8_t *)"members",
	.members_size = 7,
};

const struct revoke_body sample_revoke = {
	.nodes = "n[0-3]",
	.key = "slurm/4711/0",
	.driver = "slingshot",
	.uid = 1000,
	.gid = 100,
	.id_count = 2,
	.ids = { 1024, 65535 },
};

const struct query_body sample_query = {
	.nodes = "n3",
	.what = QUERY_OBJECTS,
};

const struct clean_body sample_clean = {
	.nodes = "n3",
	.is_all = true,
	.is_dry_run = false,
};

const struct ack_body sample_ack = {
	.node = SAMPLE_NODE,
	.sequence = 0x0102030405060708,
};

const struct drain_body sample_drain = {
	.node = SAMPLE_NODE,
	.is_drained = true,
	.reason = "service 5 on cxi0 is busy",
};

const struct lease_body sample_lease = {
	.nodes = "n[0-3]",
	.lease_s = 30,
};

void sample_fill(void *bytes, size_t size, uint8_t first)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)bytes)[i] = (uint8_t)(first + i);
}

void sample_keys_init(struct sample_keys *keys)
{
	sample_fill(keys->seed, KEY_SIZE, 0xa0);
	command_key_derive(SAMPLE_KEY_ID, keys->seed, &keys->command);
	command_public_derive(SAMPLE_KEY_ID, keys->seed, &keys->public);
	node_master_derive(SAMPLE_KEY_ID, keys->seed, &keys->master);
	node_key_derive(&keys->master, SAMPLE_NODE, &keys->node);
}

void sample_registration_empty(struct registration *ret)
{
	*ret = (struct registration){
		.version = WIRE_VERSION,
		.node = SAMPLE_NODE,
		.software = "0.1.0",
	};
	memcpy(ret->manager_nonce, nonce, sizeof(nonce));
	sample_fill(ret->incarnation, sizeof(ret->incarnation), 0x40);
	sample_fill(ret->node_nonce, sizeof(ret->node_nonce), 0x60);
}

void sample_registration(struct registration *ret)
{
	static const struct registration_grant grants[] = {
		{ .grant_id = 42,
		  .state = GRANT_APPLIED,
		  .driver = "slingshot",
		  .id_count = 1,
		  .ids = { 1024 } },
		{ .grant_id = 43, .state = GRANT_REVOKING, .driver = "none" },
	};
	static const struct registration_object objects[] = {
		{ .driver = "slingshot",
		  .device = "cxi0",
		  .id = 5,
		  .flags = FAIRLEAD_OBJECT_ENABLED | FAIRLEAD_OBJECT_BUSY,
		  .uid = UINT32_MAX,
		  .id_count = 4,
		  .ids = { 2000, 2001, 2002, 2003 } },
	};
	static const struct registration_driver drivers[] = {
		{ .name = "none",
		  .is_usable = true,
		  .place = { .size = 4, .bytes = { 10, 0, 0, 3 } } },
		{ .name = "slingshot", .detail = "no library" },
	};
	static const uint8_t address[] = {
		0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87,
		0x88, 0x89, 0x8a, 0x8b, 0x8c, 0x8d, 0x8e, 0x8f,
	};
	static const uint8_t proof[COMMAND_HEADER_SIZE] = { COUNTING };

	sample_registration_empty(ret);
	ret->pending_count = 2;
	ret->address = address;
	ret->address_size = sizeof(address);
	ret->proof = proof;
	ret->proof_size = sizeof(proof);
	ret->grants = grants;
	ret->grant_count = 2;
	ret->objects = objects;
	ret->object_count = 1;
	ret->drivers = drivers;
	ret->driver_count = 2;
}

void sample_command(enum command_op op, struct command *ret)
{
	bool has_grant = op == COMMAND_APPLY || op == COMMAND_REVOKE;

	*ret = (struct command){
		.version = WIRE_VERSION,
		.op = (uint8_t)op,
		.epoch = 3,
		.life = 0x1122334455667788,
		.sequence = 9,
		.grant_id = has_grant ? 42 : 0,
		.apply_floor = 40,
	};
}

void sample_confirm(struct confirm *ret)
{
	static const char answer[] = "[{\"grant_id\":42}]";
	uint8_t incarnation[INCARNATION_SIZE];
	struct command command;

	sample_fill(incarnation, sizeof(incarnation), 0x40);
	sample_command(COMMAND_QUERY, &command);
	confirm_answer(&command, SAMPLE_NODE, incarnation, 0, ret);
	ret->version = WIRE_VERSION;
	ret->answer = (const uint8_t *)answer;
	ret->answer_size = sizeof(answer) - 1;
}

void sample_confirm_own(struct confirm *ret)
{
	*ret = (struct confirm){
		.version = WIRE_VERSION,
		.node = SAMPLE_NODE,
		.grant_id = 42,
		.sequence = 77,
		.result = -EBUSY,
		.reason = "service 5 on cxi0 is busy",
	};
	sample_fill(ret->incarnation, sizeof(ret->incarnation), 0x40);
}

static int registration_write(enum sample sample, struct writer *writer)
{
	struct registration registration;
	struct sample_keys keys;

	sample_keys_init(&keys);
	if (sample == SAMPLE_REGISTER)
		sample_registration(&registration);
	else
		sample_registration_empty(&registration);
	return registration_encode(&registration, &keys.node, writer);
}

static int confirm_write(enum sample sample, struct writer *writer)
{
	struct sample_keys keys;
	struct confirm confirm;

	sample_keys_init(&keys);
	if (sample == SAMPLE_CONFIRM)
		sample_confirm(&confirm);
	else
		sample_confirm_own(&confirm);
	return confirm_encode(&confirm, &keys.node, writer);
}

int sample_encode(enum sample sample, struct writer *writer)
{
	switch (sample) {
	case SAMPLE_CHALLENGE:
		return challenge_encode(&sample_challenge, writer);
	case SAMPLE_REFUSE:
		return refuse_encode(&sample_refuse, writer);
	case SAMPLE_REGISTER:
	case SAMPLE_REGISTER_EMPTY:
		return registration_write(sample, writer);
	case SAMPLE_CONFIRM:
	case SAMPLE_CONFIRM_OWN:
		return confirm_write(sample, writer);
	case SAMPLE_HELLO:
		return hello_body_encode(&sample_hello, writer);
	case SAMPLE_APPLY:
		return apply_body_encode(&sample_apply, writer);
	case SAMPLE_REVOKE:
		return revoke_body_encode(&sample_revoke, writer);
	case SAMPLE_QUERY:
		return query_body_encode(&sample_query, writer);
	case SAMPLE_CLEAN:
		return clean_body_encode(&sample_clean, writer);
	case SAMPLE_ACK:
		return ack_body_encode(&sample_ack, writer);
	case SAMPLE_DRAIN:
		return drain_body_encode(&sample_drain, writer);
	case SAMPLE_LEASE:
		return lease_body_encode(&sample_lease, writer);
	case SAMPLE_COUNT:
		break;
	}
	abort();
}

static int tagged_open(enum sample sample, const void *bytes, size_t size)
{
	struct registration registration;
	struct sample_keys keys;
	struct confirm confirm;
	int result;

	sample_keys_init(&keys);
	if (sample == SAMPLE_CONFIRM || sample == SAMPLE_CONFIRM_OWN) {
		result = confirm_open(&keys.master, 1, bytes, size, &confirm);
		if (result == 0)
			confirm_fini(&confirm);
		return result;
	}
	result = registration_open(&keys.master, 1, nonce, bytes, size,
				   &registration);
	if (result == 0)
		registration_fini(&registration);
	return result;
}

static int body_open(enum command_op op, const void *bytes, size_t size)
{
	union command_body body;
	int result = command_body_decode(op, bytes, size, &body);

	if (result == 0)
		command_body_fini(op, &body);
	return result;
}

int sample_open(enum sample sample, const void *bytes, size_t size)
{
	struct challenge challenge;
	struct refuse refuse;

	switch (sample) {
	case SAMPLE_CHALLENGE:
		return challenge_decode(bytes, size, &challenge);
	case SAMPLE_REFUSE:
		return refuse_decode(bytes, size, &refuse);
	case SAMPLE_REGISTER:
	case SAMPLE_REGISTER_EMPTY:
	case SAMPLE_CONFIRM:
	case SAMPLE_CONFIRM_OWN:
		return tagged_open(sample, bytes, size);
	case SAMPLE_HELLO:
		return body_open(COMMAND_HELLO, bytes, size);
	case SAMPLE_APPLY:
		return body_open(COMMAND_APPLY, bytes, size);
	case SAMPLE_REVOKE:
		return body_open(COMMAND_REVOKE, bytes, size);
	case SAMPLE_QUERY:
		return body_open(COMMAND_QUERY, bytes, size);
	case SAMPLE_CLEAN:
		return body_open(COMMAND_CLEAN, bytes, size);
	case SAMPLE_ACK:
		return body_open(COMMAND_ACK, bytes, size);
	case SAMPLE_DRAIN:
		return body_open(COMMAND_DRAIN, bytes, size);
	case SAMPLE_LEASE:
		return body_open(COMMAND_LEASE, bytes, size);
	case SAMPLE_COUNT:
		break;
	}
	abort();
}

uint8_t *sample_unhex(const char *hex, size_t *ret_size)
{
	size_t capacity = strlen(hex) / 2 + 1;
	uint8_t *bytes = malloc(capacity);
	const char *end;

	assert(bytes != NULL);
	if (sodium_hex2bin(bytes, capacity, hex, strlen(hex), NULL, ret_size,
			   &end) != 0 ||
	    *end != 0)
		abort();
	return bytes;
}
