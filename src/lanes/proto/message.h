/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of the node protocol (doc/rfc/node-protocol.md), as structs.
 *
 *	manager                                   node
 *	challenge_encode ---- CHALLENGE --------> challenge_decode, _choose
 *	registration_open <-- REGISTER ---------- registration_encode
 *	x_body_encode,   ---- COMMAND ----------> command_verify,
 *	command_seal                              x_body_decode
 *	confirm_open <------- CONFIRM ----------- confirm_answer, confirm_encode
 *
 * Encoders append a frame's payload to a writer (see frame_begin) and borrow
 * what the struct points to: 0, -EINVAL (a field that the other side would
 * refuse), -EMSGSIZE (too long for its field or for a frame), -ENOMEM; on an
 * error the writer is as before. Decoders take exactly one payload; a decoded
 * struct owns what it points to until its _fini, and no pointer in it is NULL
 * but those of empty lists. They fail with -EBADMSG (or -ENOMEM), and with
 * -EPROTONOSUPPORT for another version than WIRE_VERSION.
 *
 * Texts for people are clean (base/text.h) once they are decoded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "lanes/proto/frame.h"
#include "lanes/proto/names.h"
#include "lanes/proto/sign.h"

#define NONCE_SIZE               32
#define NONCE_START_SIZE         16
#define INCARNATION_SIZE         16
#define CLUSTER_ID_SIZE          32

#define SOFTWARE_MAX             64 /* bytes of a software version */
#define COLLECTIVE_ADDRESS_MAX   64 /* bytes, as the provider has it */
#define REGISTRATION_GRANTS_MAX  4096
#define REGISTRATION_OBJECTS_MAX 4096
#define REGISTRATION_DRIVERS_MAX 16
#define DRIVER_DETAIL_MAX        256    /* bytes */
#define DEVICE_NAME_MAX          31     /* bytes */
#define REFUSE_TEXT_MAX          1023   /* bytes */
#define CONFIRM_REASON_MAX       4096   /* bytes */
#define CONFIRM_ANSWER_MAX       786432 /* bytes: 768 KiB of JSON */
#define DRAIN_REASON_MAX         1023   /* bytes */
#define LEASE_S_MAX              86400
/* A request keeps to these two, so that its APPLY fits a command. */
#define NODES_TEXT_MAX 327680  /* bytes of a host list: 320 KiB */
#define RUNS_TEXT_MAX  131072  /* bytes of a run-length list: 128 KiB */
#define SEALED_MAX     3162112 /* bytes of sealed secrets: 3,088 KiB */

/* --- CHALLENGE and REFUSE --- */

struct challenge {
	uint16_t version; /* WIRE_VERSION, here and below */
	uint8_t nonce[NONCE_SIZE];
};

int challenge_encode(const struct challenge *challenge, struct writer *writer);
int challenge_decode(const void *bytes, size_t size,
		     struct challenge *ret_challenge);

struct refuse {
	char text[REFUSE_TEXT_MAX + 1];
};

int refuse_encode(const struct refuse *refuse, struct writer *writer);
int refuse_decode(const void *bytes, size_t size, struct refuse *ret_refuse);

/* --- REGISTER --- */

enum grant_state {
	GRANT_APPLYING = 1,
	GRANT_APPLIED,
	GRANT_REVOKING,
	GRANT_LOST, /* in a REGISTER only: a record of it, and no object */
};

/* A grant in the node's journal. */
struct registration_grant {
	uint64_t grant_id;
	uint8_t state; /* enum grant_state */
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	uint8_t id_count;
	uint32_t ids[FAIRLEAD_LANE_IDS_MAX];
};

/* Something with identifiers on a device that belongs to no such grant. */
struct registration_object {
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	char device[DEVICE_NAME_MAX + 1];
	uint32_t id;
	uint32_t flags; /* FAIRLEAD_OBJECT_x */
	uint32_t uid;   /* UINT32_MAX: none */
	uint8_t id_count;
	uint32_t ids[FAIRLEAD_OBJECT_IDS_MAX];
};

struct registration_driver {
	char name[FAIRLEAD_DRIVER_NAME_MAX + 1];
	bool is_usable;
	char detail[DRIVER_DETAIL_MAX + 1];
	struct fairlead_place place; /* size 0: it has none */
};

struct registration {
	uint16_t version;
	char node[NODE_NAME_MAX + 1];
	uint8_t incarnation[INCARNATION_SIZE];
	uint8_t manager_nonce[NONCE_SIZE]; /* of the CHALLENGE */
	uint8_t node_nonce[NONCE_SIZE];    /* HELLO answers it; it begins as
					      all do of the daemon's start */
	char software[SOFTWARE_MAX + 1];
	const uint8_t *address; /* of its endpoint for collectives */
	size_t address_size;    /* 0: it has none */
	const uint8_t *proof;   /* an epoch proof */
	size_t proof_size;      /* COMMAND_HEADER_SIZE, or 0: none obeyed yet */
	uint32_t pending_count; /* pending confirmations */
	const struct registration_grant *grants;
	size_t grant_count;
	const struct registration_object *objects;
	size_t object_count;
	const struct registration_driver *drivers;
	size_t driver_count;
};

int registration_encode(const struct registration *registration,
			const struct node_key *key, struct writer *writer);
/*
 * Verify and decode. nonce: the one that this connection was challenged with.
 * -ENOKEY: a key id that is not among the masters; -EKEYREJECTED: a false MAC;
 * -ESTALE: it answers to another challenge. The epoch proof is not looked into.
 */
int registration_open(const struct node_master *masters, size_t master_count,
		      const uint8_t nonce[NONCE_SIZE], const void *bytes,
		      size_t size, struct registration *ret_registration);
void registration_fini(struct registration *registration);

/* --- CONFIRM --- */

struct confirm {
	uint16_t version;
	char node[NODE_NAME_MAX + 1];
	uint8_t incarnation[INCARNATION_SIZE];
	uint8_t op; /* enum command_op that is answered; 0: of its own accord */
	uint64_t grant_id;
	uint64_t sequence; /* of the command; op 0: of the confirmation */
	uint64_t epoch;    /* of the command */
	uint64_t life;     /* of the command */
	int result;        /* 0 or a negative errno */
	char reason[CONFIRM_REASON_MAX + 1]; /* reason, or warnings */
	/* JSON text, or of an inventory; ended by a zero when decoded. */
	const uint8_t *answer;
	size_t answer_size;
	uint32_t key_id; /* that it was tagged with; set by confirm_open */
};

/* Begin the answer to a command: everything but reason and answer is set. */
void confirm_answer(const struct command *command, const char *node,
		    const uint8_t incarnation[INCARNATION_SIZE], int result,
		    struct confirm *ret_confirm);
int confirm_encode(const struct confirm *confirm, const struct node_key *key,
		   struct writer *writer);
/* Verify and decode. -ENOKEY, -EKEYREJECTED as in registration_open. */
int confirm_open(const struct node_master *masters, size_t master_count,
		 const void *bytes, size_t size, struct confirm *ret_confirm);
/*
 * Decode without verifying, for who passes it on; ret_tag: what it is tagged
 * with. -EBADMSG, -EPROTONOSUPPORT, -ENOMEM.
 */
int confirm_read(const void *bytes, size_t size, struct confirm *ret_confirm,
		 uint8_t ret_tag[MAC_SIZE]);
void confirm_fini(struct confirm *confirm);

/*
 * The answer to QUERY_INVENTORY: grants, objects and drivers of a registration
 * alone. Decoding sets these only; registration_fini as ever.
 */
int inventory_encode(const struct registration *registration,
		     struct writer *writer);
int inventory_decode(const void *bytes, size_t size,
		     struct registration *ret_registration);

/* --- bodies of COMMAND --- */

struct hello_body {
	uint8_t nonce[NONCE_SIZE]; /* of the node's REGISTER */
	char node[NODE_NAME_MAX + 1];
	uint8_t cluster[CLUSTER_ID_SIZE];
};

int hello_body_encode(const struct hello_body *body, struct writer *writer);

/*
 * A node finds itself with hostlist_find(nodes, name), and its own share with
 * runs_at(cores, index) and runs_at(tasks, index).
 */
struct apply_body {
	char key[REQUEST_KEY_MAX + 1];
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	uint32_t uid;
	uint32_t gid;
	const char *nodes; /* host list */
	const char *cores; /* run-length list along it */
	const char *tasks; /* likewise */
	uint8_t id_count;
	uint32_t ids[FAIRLEAD_LANE_IDS_MAX];
	char options[FAIRLEAD_OPTIONS_MAX + 1];
	const uint8_t *sealed; /* lanes/proto/seal.h */
	size_t sealed_size;    /* 0: the lane has no secrets */
	/* What the driver made of the nodes' places; FAIRLEAD_MEMBERS_MAX. */
	const uint8_t *members;
	size_t members_size; /* 0: it makes nothing of them */
};

int apply_body_encode(const struct apply_body *body, struct writer *writer);

struct revoke_body {
	const char *nodes;
	char key[REQUEST_KEY_MAX + 1]; /* "": the manager has forgotten it */
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	uint32_t uid;
	uint32_t gid;
	uint8_t id_count;
	uint32_t ids[FAIRLEAD_LANE_IDS_MAX];
};

int revoke_body_encode(const struct revoke_body *body, struct writer *writer);

enum query_what {
	QUERY_GRANTS = 1,
	QUERY_DEVICES,
	QUERY_OBJECTS,
	QUERY_INVENTORY, /* see inventory_encode */
};

struct query_body {
	const char *nodes;
	uint8_t what; /* enum query_what */
};

int query_body_encode(const struct query_body *body, struct writer *writer);

struct clean_body {
	const char *nodes;
	bool is_all;
	bool is_dry_run;
};

int clean_body_encode(const struct clean_body *body, struct writer *writer);

struct ack_body {
	char node[NODE_NAME_MAX + 1];
	uint64_t sequence; /* of the CONFIRM */
};

int ack_body_encode(const struct ack_body *body, struct writer *writer);

struct drain_body {
	char node[NODE_NAME_MAX + 1];
	bool is_drained;
	char reason[DRAIN_REASON_MAX + 1];
};

int drain_body_encode(const struct drain_body *body, struct writer *writer);

/* The manager is there, and its nodes are up for so long once they answer. */
struct lease_body {
	const char *nodes;
	uint32_t lease_s; /* 1..LEASE_S_MAX */
};

int lease_body_encode(const struct lease_body *body, struct writer *writer);

union command_body {
	struct hello_body hello;
	struct apply_body apply;
	struct revoke_body revoke;
	struct query_body query;
	struct clean_body clean;
	struct ack_body ack;
	struct drain_body drain;
	struct lease_body lease;
};

/* The member is that of the op. On success it is to be handed to _fini. */
int command_body_decode(enum command_op op, const void *bytes, size_t size,
			union command_body *ret_body);
void command_body_fini(enum command_op op, union command_body *body);
/* The nodes it is for: a host list, or the name of one node. */
const char *command_body_nodes(enum command_op op,
			       const union command_body *body);
