/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The key files (doc/rfc/keys.md): manager.key with the seeds, and each node's
 * node.key that is made from it. Both are parsed from memory; reading a file,
 * and checking that nobody else can, is the caller's.
 *
 *	create -> (rotate -> activate -> retire)*
 *	          after rotate and after activate: node_keys_make for each node
 *
 * All structs here hold secrets and are wiped by their _fini. What is written
 * with a writer is a secret too: wipe it before it is freed. Daemons lock those
 * that they keep (keys_lock).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"
#include "base/seam.h"
#include "lanes/proto/message.h"
#include "lanes/proto/sign.h"

#define KEYFILE_SIZE_MAX 16384
#define KEYS_MAX         3 /* keys of one kind in a file */

enum key_state {
	KEY_STAGED,   /* on its way to the nodes */
	KEY_ACTIVE,   /* signs; exactly one */
	KEY_RETIRING, /* still accepted in what nodes send */
};

#define KEY_STATE_COUNT 3

/* "staged", "active", "retiring" */
const char *key_state_name(enum key_state state);

struct manager_key {
	uint32_t id;
	enum key_state state;
	uint8_t seed[KEY_SIZE];
};

struct manager_keys {
	uint8_t cluster[CLUSTER_ID_SIZE];
	size_t count;
	struct manager_key keys[KEYS_MAX]; /* no two of one state or id */
};

struct node_keys {
	uint8_t cluster[CLUSTER_ID_SIZE];
	char name[NODE_NAME_MAX + 1];
	size_t command_count;
	struct command_public commands[KEYS_MAX]; /* accepted */
	size_t confirm_count;
	struct node_key confirms[KEYS_MAX]; /* the first one is used */
	size_t hop_count;
	struct hop_key hops[KEYS_MAX]; /* accepted; the first one is used */
};

/* What a member of collectives has of them. */
struct hop_keys {
	size_t hop_count;
	struct hop_key hops[KEYS_MAX]; /* accepted; the first one is used */
	size_t command_count;
	struct command_public commands[KEYS_MAX]; /* accepted of the manager */
	bool is_manager;
	struct command_key command; /* what it signs with */
};

void hop_keys_fini(struct hop_keys *keys);

/*
 * Keep a struct with keys out of swap and core files until keys_unlock(), which
 * wipes it. Where RLIMIT_MEMLOCK leaves no room the keys are used all the same;
 * the log says so once. log: may be NULL.
 */
void keys_lock(void *keys, size_t size, const struct log *log);
void keys_unlock(void *keys, size_t size);

/* --- node.key; all that a node needs --- */

/* -EINVAL with a text that has the line's number, never its words; -E2BIG. */
int node_keys_parse(const char *text, size_t size, struct node_keys *ret_keys,
		    struct fairlead_error *ret_error);
void node_keys_fini(struct node_keys *keys);
/* What a node has as a member. */
void node_keys_hops(const struct node_keys *keys, struct hop_keys *ret_hops);
/* Append the file's text. */
int node_keys_format(const struct node_keys *keys, struct writer *writer);

/* --- manager.key --- */

int manager_keys_parse(const char *text, size_t size,
		       struct manager_keys *ret_keys,
		       struct fairlead_error *ret_error);
void manager_keys_fini(struct manager_keys *keys);
int manager_keys_format(const struct manager_keys *keys, struct writer *writer);

/* A new cluster, with one active key. */
void manager_keys_create(const struct rng_seam *rng,
			 struct manager_keys *ret_keys);
/*
 * Add a staged key. -EEXIST with a text when there is one; -ERANGE when ids
 * are used up.
 */
int manager_keys_rotate(struct manager_keys *keys, const struct rng_seam *rng,
			struct fairlead_error *ret_error);
/*
 * The staged key becomes active, the active one retiring. -ENOENT: none is
 * staged; -EBUSY: one is retiring still.
 */
int manager_keys_activate(struct manager_keys *keys,
			  struct fairlead_error *ret_error);
/* Forget the retiring key. -ENOENT: there is none. */
int manager_keys_retire(struct manager_keys *keys,
			struct fairlead_error *ret_error);

/* The key of that state, or NULL. */
const struct manager_key *manager_keys_find(const struct manager_keys *keys,
					    enum key_state state);
/* The key that signs. */
void manager_keys_command(const struct manager_keys *keys,
			  struct command_key *ret_key);
/* What proofs and what nodes send is verified with; returns the count. */
size_t manager_keys_publics(const struct manager_keys *keys,
			    struct command_public ret_publics[KEYS_MAX]);
size_t manager_keys_masters(const struct manager_keys *keys,
			    struct node_master ret_masters[KEYS_MAX]);

/*
 * What the manager has as a member: hop keys, the active one first, and what it
 * signs with. It obeys no root.
 */
void manager_keys_hops(const struct manager_keys *keys,
		       struct hop_keys *ret_hops);

/*
 * Append a secret of a grant as the journal keeps it: encrypted under the
 * active key. It has KEY_SECRET_OVERHEAD bytes more.
 */
#define KEY_SECRET_OVERHEAD (4 + 24 + 16)
void manager_keys_encrypt(const struct manager_keys *keys, uint64_t grant_id,
			  const void *secret, size_t size,
			  struct writer *writer);
/*
 * Append what was encrypted. 0; 1: under another key than the active one.
 * -ENOKEY: the file lacks the key; -EKEYREJECTED: it has another one of that
 * id; -EBADMSG; with texts that say what to do.
 */
int manager_keys_decrypt(const struct manager_keys *keys, uint64_t grant_id,
			 const void *bytes, size_t size, struct writer *writer,
			 struct fairlead_error *ret_error);

/*
 * What a node has to have: active, then staged; of the hop keys the retiring
 * one, too, since nodes get their files one after the other. -EINVAL with a
 * text when name is not the name of a node.
 */
int node_keys_make(const struct manager_keys *keys, const char *name,
		   struct node_keys *ret_keys,
		   struct fairlead_error *ret_error);
