/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What agent and guard say to each other (doc/rfc/node-guard.md): the agent
 * asks, the guard answers each request once, in order. On their stream each
 * message stands after its length, as frames of the node protocol do.
 *
 * Both ends are one program, so the channel has no versions. Encoders borrow
 * and append; decoders take exactly one message, check every field, and what
 * they return owns its memory until _fini. Errors as in lanes/proto/layout.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "fairlead_driver.h"
#include "lanes/proto/keyfile.h"
#include "lanes/proto/message.h"

#define GUARD_MESSAGE_MAX (COMMAND_SIZE_MAX + 65536) /* bytes */
#define GUARD_TEXT_MAX    CONFIRM_REASON_MAX
#define GRANT_GONE        0   /* a state besides enum grant_state */
#define GUARD_PAGE_MAX    128 /* grants in a reply */
#define GUARD_OBJECTS_MAX 512 /* objects in a reply */

enum guard_type {
	/* bytes: a COMMAND of the manager. The reply says what it was. */
	GUARD_COMMAND = 1,
	/*
	 * nonce: of the CHALLENGE; bytes: the address for collectives,
	 * or none. Reply: bytes, a REGISTER.
	 */
	GUARD_REGISTER,
	/* Grants above id `number`, in order. Reply: grants, has_more. */
	GUARD_GRANTS,
	/*
	 * The first pending confirmation above sequence `number`. Reply: bytes,
	 * a CONFIRM, and its sequence; -ENOENT when there is none.
	 */
	GUARD_PENDING,
	/*
	 * The answer to the QUERY or CLEAN of sequence `number`: result, bytes.
	 * Reply: bytes, a CONFIRM; -ENOENT when nobody asked.
	 */
	GUARD_ANSWER,
	/*
	 * Take grant `number` back (is_dry_run, is_last, is_clean). Reply: its
	 * state.
	 */
	GUARD_REVOKE,
	/* Destroy an object that belongs to no grant (is_dry_run). */
	GUARD_DESTROY,
	/* Reply: bytes, the environment file of grant `number`. */
	GUARD_ENVIRONMENT,
	/* Read the key file again. The old keys stay when that fails. */
	GUARD_RELOAD,
	/* Reply: bytes, a member's keys (guard_hops_decode). */
	GUARD_HOPS,
	/* Reply: bytes, an inventory (inventory_decode) of drivers only. */
	GUARD_DRIVERS,
	/*
	 * Objects that the drivers list, but for the first `number`. Reply:
	 * objects, has_more.
	 */
	GUARD_OBJECTS,
};

/* Fields that a type does not use are zero. */
struct guard_request {
	uint8_t type; /* enum guard_type */
	uint64_t number;
	bool is_dry_run;
	bool is_last;  /* GUARD_REVOKE: if busy, the manager is to drain us */
	bool is_clean; /* GUARD_REVOKE: from under its job, if it is applied */
	uint8_t nonce[NONCE_SIZE];
	struct registration_object object;
	int result;
	const uint8_t *bytes;
	size_t size;
};

/* A grant as the agent sees it. */
struct guard_grant {
	uint64_t grant_id;
	uint8_t state; /* enum grant_state, or GRANT_GONE */
	char key[REQUEST_KEY_MAX + 1];
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	uint32_t uid;
	uint8_t id_count;
	uint32_t ids[FAIRLEAD_LANE_IDS_MAX];
	char text[GUARD_TEXT_MAX + 1]; /* warnings; or why it is still there */
};

/* An object on a device, as its driver lists it. */
struct guard_object {
	struct registration_object object;
	char detail[256];
};

struct guard_reply {
	uint8_t type;                  /* of the request */
	int result;                    /* of the request, or of the COMMAND */
	char text[GUARD_TEXT_MAX + 1]; /* reason, warnings, or DRAIN's */
	uint64_t epoch;                /* the highest obeyed */
	uint8_t key_count;
	uint32_t key_ids[KEYS_MAX]; /* command keys that are accepted */
	uint32_t pending_count;     /* pending confirmations */
	uint8_t op;                 /* enum command_op; 0: not believed */
	uint64_t sequence;          /* of the command or confirmation */
	uint8_t what;               /* QUERY: enum query_what */
	bool is_all;                /* CLEAN */
	bool is_dry_run;            /* CLEAN */
	bool is_drained;            /* DRAIN */
	uint32_t lease_s;           /* LEASE */
	bool has_moved; /* LEASE: a place or level is not as reported */
	bool has_more;
	const struct guard_grant *grants; /* that were changed or asked for */
	size_t grant_count;
	const struct guard_object *objects; /* that were asked for */
	size_t object_count;
	const uint8_t *bytes; /* COMMAND: a CONFIRM to send, if there is one */
	size_t size;
};

/* What a node has as a member: a secret. */
int guard_hops_encode(const struct hop_keys *keys, struct writer *writer);
/* 0, or -EBADMSG; *ret_keys is the caller's to wipe either way. */
int guard_hops_decode(const void *bytes, size_t size,
		      struct hop_keys *ret_keys);

int guard_request_encode(const struct guard_request *request,
			 struct writer *writer);
int guard_request_decode(const void *bytes, size_t size,
			 struct guard_request *ret_request);
void guard_request_fini(struct guard_request *request);

int guard_reply_encode(const struct guard_reply *reply, struct writer *writer);
int guard_reply_decode(const void *bytes, size_t size,
		       struct guard_reply *ret_reply);
void guard_reply_fini(struct guard_reply *reply);
