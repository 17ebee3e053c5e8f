/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which receive takes which of one peer's messages, when all are known. Messages
 * of one kind keep their order, and so do receives; so a receive gets the oldest
 * message that fits it and that no older receive gets, whichever of them was
 * there first. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/rng.h"

#define MODEL_MESSAGES 300
#define MODEL_TAKES    1200
#define MODEL_LARGE    20000 /* an untagged message, at most */
#define MODEL_LARGEST  70000
#define MODEL_NONE     UINT32_MAX

struct model_message {
	bool is_tagged, has_data;
	bool is_taken;
	uint64_t tag;
	size_t size, offset; /* of what it has, in bytes that both know */
};

enum take_kind {
	TAKE_ONE,
	TAKE_MANY, /* until less than MODEL_LARGE is left of its room */
	TAKE_THIS, /* was claimed, or discarded */
};

/* What takes messages, in the order of posting. */
struct model_take {
	enum take_kind kind;
	bool is_tagged, is_out; /* cancelled */
	bool is_nobody_s;       /* names a peer that sends nothing */
	uint64_t tag, ignore;
	size_t room;
	uint32_t first, count; /* of those that it gets; of many: */
	uint32_t next[MODEL_MESSAGES];
};

struct model {
	struct model_message messages[MODEL_MESSAGES];
	struct model_take takes[MODEL_TAKES];
	uint32_t take_count;
};

/* The messages of one peer in one round. */
void model_init(struct model *model, uint64_t seed);
/* One more that takes, of which all but what it gets is set; finds that. */
struct model_take *model_add(struct model *model,
			     const struct model_take *take);
/*
 * Finds it again for all, when one is out. Those that have ended (`has_ended`) must
 * get what they got before: returns whether that is so.
 */
bool model_renew(struct model *model,
		 bool (*has_ended)(const struct model_take *take));
/* The oldest that fits, and that nothing takes; or MODEL_NONE. */
uint32_t model_find(const struct model *model, const struct model_take *take);
