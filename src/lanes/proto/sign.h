/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may say what (doc/rfc/node-protocol.md, doc/rfc/keys.md).
 *
 *	seed of a manager key -+-> command key   signs commands, and the
 *	                       |                 broadcasts that carry them
 *	                       |                 (Ed25519)
 *	                       +-> node master --> node key of each node
 *	                       |                  (MACs, sealed secrets)
 *	                       +-> hop key      seals what goes from member to
 *	                                        member of a collective
 *
 * Downwards, authority is the signature of a command; upwards, the MAC of a
 * registration or confirmation. Tags of several confirmations combine by XOR,
 * so that relays can hand on one tag for all.
 *
 * Everything that is signed or tagged begins with a domain text, none of which
 * begins another one, so that no message can stand for another kind. All of it
 * is deterministic; nothing here draws a random number. The program calls
 * sodium_init() before it uses any of it.
 *
 * Structs with secrets are wiped by their _fini.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Of the node protocol. */
#define WIRE_VERSION        1

#define KEY_SIZE            32 /* bytes: seeds, public keys, masters, node keys */
#define DIGEST_SIZE         32 /* BLAKE2b-256 */
#define MAC_SIZE            32 /* keyed BLAKE2b-256 */

#define COMMAND_KEY_SIZE    64 /* an Ed25519 secret key as libsodium has it */
#define COMMAND_HEADER_SIZE 148
#define COMMAND_SIZE_MAX    4194304 /* bytes; on a link a frame has fewer */
#define ROOT_SIGNATURE_SIZE 68      /* u32 key id, an Ed25519 signature */

#define MAC_DOMAIN_REGISTER "fairlead register"
#define MAC_DOMAIN_CONFIRM  "fairlead confirm"

/* The manager's: signs commands. */
struct command_key {
	uint32_t id;
	uint8_t secret[COMMAND_KEY_SIZE];
};

/* The nodes': verifies commands. */
struct command_public {
	uint32_t id;
	uint8_t bytes[KEY_SIZE];
};

/* The manager's: makes every node's key. */
struct node_master {
	uint32_t id;
	uint8_t bytes[KEY_SIZE];
};

/* One node's, shared with the manager. */
struct node_key {
	uint32_t id;
	uint8_t bytes[KEY_SIZE];
};

/* All members' of collectives: keeps out who is none. */
struct hop_key {
	uint32_t id;
	uint8_t bytes[KEY_SIZE];
};

void command_key_derive(uint32_t id, const uint8_t seed[KEY_SIZE],
			struct command_key *ret_key);
void command_key_fini(struct command_key *key);
void command_public_derive(uint32_t id, const uint8_t seed[KEY_SIZE],
			   struct command_public *ret_public);
void node_master_derive(uint32_t id, const uint8_t seed[KEY_SIZE],
			struct node_master *ret_master);
void node_master_fini(struct node_master *master);
void node_key_derive(const struct node_master *master, const char *name,
		     struct node_key *ret_key);
void node_key_fini(struct node_key *key);
void hop_key_derive(uint32_t id, const uint8_t seed[KEY_SIZE],
		    struct hop_key *ret_key);
/* Of secrets in the manager's journal. */
void journal_key_derive(const uint8_t seed[KEY_SIZE],
			uint8_t ret_key[KEY_SIZE]);

/* --- commands --- */

enum command_op {
	COMMAND_HELLO = 1,
	COMMAND_APPLY,
	COMMAND_REVOKE,
	COMMAND_QUERY,
	COMMAND_CLEAN,
	COMMAND_ACK,
	COMMAND_DRAIN,
	COMMAND_LEASE,
};

#define COMMAND_OP_MAX COMMAND_LEASE

/* "APPLY"; "?" for a number that is none. */
const char *command_op_name(unsigned int op);

/*
 * A command: its header's fields, and a view of its body. epoch and life name
 * one manager process.
 */
struct command {
	uint16_t version;
	uint8_t op; /* enum command_op */
	uint32_t key_id;
	uint64_t epoch;
	uint64_t life;
	uint64_t sequence;
	uint64_t grant_id;    /* 0 where there is none */
	uint64_t apply_floor; /* no APPLY for a lower grant id comes any more */
	uint8_t digest[DIGEST_SIZE]; /* of the body */
	const uint8_t *body;         /* somebody else's bytes */
	size_t body_size;
};

/*
 * Write header and body, signed. key_id and digest are set by this call and
 * need not be filled. -EINVAL: another version, no such op, or
 * APPLY or REVOKE without a grant id; -EMSGSIZE, -ENOMEM: the writer's.
 */
int command_seal(const struct command_key *key, const struct command *command,
		 struct writer *writer);

/*
 * Check a whole command: sizes, magic, version, signature by one of the keys,
 * digest of the body, op. What is left to the caller is the order of epochs,
 * and whether it is itself named in the body.
 *
 * -EBADMSG: not a command, or a body that is not the signed one;
 * -EPROTONOSUPPORT: another version than WIRE_VERSION; -ENOKEY: signed
 * with a key that is not among `keys`; -EKEYREJECTED: a false signature;
 * -EOPNOTSUPP: signed, but an op of a later version.
 * ret_command->body points into bytes.
 */
int command_verify(const void *bytes, size_t size,
		   const struct command_public *keys, size_t key_count,
		   struct command *ret_command);

/*
 * Check an epoch proof: a header alone, COMMAND_HEADER_SIZE bytes. Errors as
 * above, any op is taken; ret_command has no body.
 */
int command_proof_verify(const void *bytes, size_t size,
			 const struct command_public *keys, size_t key_count,
			 struct command *ret_command);

/*
 * The fields of a header that was verified before, as a journal keeps it: its
 * signature is not looked at. -EBADMSG: it is no header.
 */
int command_header_read(const uint8_t header[COMMAND_HEADER_SIZE],
			struct command *ret_command);

/* --- what carries commands --- */

/* The manager's signature of what it says as the root of a collective. */
void root_sign(const struct command_key *key, const void *bytes, size_t size,
	       uint8_t ret_signature[ROOT_SIGNATURE_SIZE]);
/* -ENOKEY: none of these keys; -EKEYREJECTED: a false signature. */
int root_verify(const struct command_public *keys, size_t key_count,
		const void *bytes, size_t size,
		const uint8_t signature[ROOT_SIGNATURE_SIZE]);

/* --- tags --- */

/* The tag of bytes under a node's key, in a domain (MAC_DOMAIN_x). */
void mac_make(const char *domain, const struct node_key *key, const void *bytes,
	      size_t size, uint8_t ret_tag[MAC_SIZE]);

/* -EKEYREJECTED when tag is not the tag of bytes. In constant time. */
int mac_verify(const char *domain, const struct node_key *key,
	       const void *bytes, size_t size, const uint8_t tag[MAC_SIZE]);

/* combined ^= tag: what a relay does. No tag at all is 32 zero bytes. */
void mac_combine(uint8_t combined[MAC_SIZE], const uint8_t tag[MAC_SIZE]);
