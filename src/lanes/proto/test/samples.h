/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One filled example of each message, under fixed keys, and its golden bytes
 * (golden.h). Include it after cmocka.h.
 */
#pragma once

#include "lanes/proto/message.h"

#define SAMPLE_KEY_ID 7
#define SAMPLE_NODE   "n3"

struct sample_keys {
	uint8_t seed[KEY_SIZE];
	struct command_key command;
	struct command_public public;
	struct node_master master;
	struct node_key node; /* of SAMPLE_NODE */
};

enum sample {
	SAMPLE_CHALLENGE,
	SAMPLE_REFUSE,
	SAMPLE_REGISTER,
	SAMPLE_REGISTER_EMPTY,
	SAMPLE_CONFIRM,
	SAMPLE_CONFIRM_OWN,
	SAMPLE_HELLO,
	SAMPLE_APPLY,
	SAMPLE_REVOKE,
	SAMPLE_QUERY,
	SAMPLE_CLEAN,
	SAMPLE_ACK,
	SAMPLE_DRAIN,
	SAMPLE_LEASE,
	SAMPLE_COUNT,
};

extern const char *const sample_names[SAMPLE_COUNT];

void sample_keys_init(struct sample_keys *keys);
/* size bytes that count up from `first`. */
void sample_fill(void *bytes, size_t size, uint8_t first);
/* Encode a sample as a payload: 0 or -errno. */
int sample_encode(enum sample sample, struct writer *writer);
/* Open a payload (verify, decode, free) as a message of that kind: 0 or -errno. */
int sample_open(enum sample sample, const void *bytes, size_t size);
/* Bytes of a hex text; the caller frees them. */
uint8_t *sample_unhex(const char *hex, size_t *ret_size);

/* The structs behind the samples. */
extern const struct challenge sample_challenge;
extern const struct refuse sample_refuse;
void sample_registration(struct registration *ret);
void sample_registration_empty(struct registration *ret);
void sample_confirm(struct confirm *ret);
void sample_confirm_own(struct confirm *ret);
void sample_command(enum command_op op, struct command *ret);
extern const struct hello_body sample_hello;
extern const struct apply_body sample_apply;
extern const struct revoke_body sample_revoke;
extern const struct query_body sample_query;
extern const struct clean_body sample_clean;
extern const struct ack_body sample_ack;
extern const struct drain_body sample_drain;
extern const struct lease_body sample_lease;
