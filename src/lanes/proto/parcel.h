/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a collective carries (doc/rfc/fan-out.md): a command, and how it is to
 * be answered. Nothing of it is signed but the command.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "lanes/proto/message.h"

/* Bytes of one part of a combined answer: a whole CONFIRM fits. */
#define PARCEL_PART_MIN 8192
#define PARCEL_PART_MAX FRAME_SIZE_MAX

/* The service of libscoll that takes them, on every member. */
#define PARCEL_SERVICE 1

struct parcel {
	bool is_separate;       /* nobody's answer is combined with another's */
	bool is_bulk;           /* the command is the collective's bulk data */
	uint32_t patience_ms;   /* then a node answers without its own */
	uint32_t part_bytes;    /* PARCEL_PART_MIN to _MAX: of an answer */
	const uint8_t *command; /* somebody else's bytes; NULL: is_bulk */
	size_t command_size;
};

/* -EINVAL: part_bytes; -ENOMEM, or the writer's limit. */
int parcel_encode(const struct parcel *parcel, struct writer *writer);
/* -EBADMSG. ret_parcel->command points into bytes. */
int parcel_decode(const void *bytes, size_t size, struct parcel *ret_parcel);

/*
 * How many parts the answer of so many nodes may have: room for them is made
 * before the command is sent. What has none is left out, and asked again.
 */
#define PARCEL_PARTS_MAX 8
int parcel_parts(const struct parcel *parcel, int node_count);

/*
 * The host list of a command that has one, for who passes it on: nothing is
 * verified. -EBADMSG: it has none, or is no command; -ENOMEM. The caller frees
 * it.
 */
int command_nodes_read(const void *bytes, size_t size, char **ret_nodes);
