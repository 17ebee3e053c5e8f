/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The answers of many nodes to one command in one message: what a node hands
 * up for itself and for those below it.
 *
 * A confirmation that says no more than "done" (result 0, no text, no answer)
 * adds its node's place, the node's index in the command's list of nodes, to a
 * set, and its tag to the set's combined tag: there is one set for each key.
 * Any other confirmation is carried as it is. So whoever passes answers on can
 * leave some out, but cannot make up one, nor change any.
 *
 *	node:    combined_init, combined_add (its own),
 *	         combined_merge (each child's), combined_encode
 *	manager: combined_decode, combined_verify for each set, confirm_open for
 *	         each of the carried
 */
#pragma once

#include "base/bytes.h"
#include "base/idset.h"
#include "lanes/proto/keyfile.h"
#include "lanes/proto/message.h"

#define COMBINED_NODES_MAX (1u << 20) /* nodes of one command */

/* Those whose answer is "done", with a tag under the same key. */
struct combined_set {
	uint32_t key_id;
	struct idset *places;
	uint8_t tag[MAC_SIZE]; /* of all of them, combined */
};

struct combined {
	uint32_t place_count; /* nodes of the command */
	struct combined_set sets[KEYS_MAX];
	size_t set_count;
	/* The others' confirmations: u32 length and bytes, each. */
	struct writer carried;
	uint32_t carried_count;
};

/* -EINVAL: no places, or more than COMBINED_NODES_MAX. */
int combined_init(struct combined *combined, uint32_t place_count);
void combined_fini(struct combined *combined);

/*
 * Add a confirmation as its node has made it; it is not verified. -EBADMSG: it
 * is none; -EEXIST: there is one of this place; -EINVAL: no such place;
 * Nothing has changed then.
 */
int combined_add(struct combined *combined, uint32_t place, const void *confirm,
		 size_t size);
/*
 * Add one that is carried unchanged, whatever it says. -EBADMSG as before.
 */
int combined_carry(struct combined *combined, const void *confirm, size_t size);
/*
 * Add what a child has combined. -EBADMSG: it is malformed, or of another
 * number of places; -EEXIST: one of its places is here already; -E2BIG: of
 * more than KEYS_MAX keys. Nothing has changed then.
 */
int combined_merge(struct combined *combined, const void *bytes, size_t size);
/*
 * What somebody has combined, at the manager. -EBADMSG; ret_combined is to be
 * finished in any case.
 */
int combined_decode(const void *bytes, size_t size, uint32_t place_count,
		    struct combined *ret_combined);
int combined_encode(const struct combined *combined, struct writer *writer);
/* Bytes that it writes; those of two that are merged are no more than both. */
size_t combined_encoded_size(const struct combined *combined);
/* Nobody's answer is in it. */
bool combined_is_empty(const struct combined *combined);

/* The node at a place, as the manager knows it; borrowed. */
struct combined_node {
	const char *name;
	const uint8_t *incarnation; /* INCARNATION_SIZE bytes */
};
typedef struct combined_node combined_node_fn(void *ctx, uint32_t place);

/*
 * Check that each node of the set has confirmed the command with "done", in
 * this incarnation. -ENOKEY: none of the masters made the key; -EKEYREJECTED:
 * some node has not, or has another incarnation.
 */
int combined_verify(const struct combined_set *set,
		    const struct command *command,
		    const struct node_master *masters, size_t master_count,
		    combined_node_fn *node_of, void *ctx);

/* Carried confirmations, one by one: *cursor starts at 0. False: no more. */
bool combined_carried_next(const struct combined *combined, size_t *cursor,
			   const uint8_t **ret_confirm, size_t *ret_size);
