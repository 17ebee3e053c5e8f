/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager's APPLY of a lane on Elan to so many nodes, made and opened with
 * the code that the manager and the nodes have: signed, with the opaque reply
 * sealed to each node. What fails ends the program.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "lanes/proto/sign.h"

#define WORD_TASKS 4 /* of a node */

struct word {
	uint32_t node_count;
	struct writer command;        /* its bytes */
	struct command_public public; /* what nodes verify it with */
	struct node_key *keys;        /* by node */
};

void word_make(uint32_t node_count, struct word *ret_operator);
void word_fini(struct word *word);
/*
 * As a node does before it makes a lane: verify the command, open the secrets,
 * and look at the capability.
 */
void word_open(const struct word *word, uint32_t node, const void *bytes,
	       size_t size);
