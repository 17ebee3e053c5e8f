/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of scoll/wire share. */
#pragma once

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "scoll/wire/wire.h"

#define MAGIC       0x6c73
#define PREFIX_SIZE 4 /* magic, version, kind */
#define ERRNO_MAX   4095

/* Which ranks there may be: a root that is no member is one more. */
#define RANK_COUNT_MAX (SCOLL_NODES_MAX + 1)

static inline bool status_is_valid(int64_t status)
{
	return status <= 0 && status >= -ERRNO_MAX;
}

static inline bool tag_is_valid(uint64_t tag)
{
	return (tag & WIRE_TAG_PART_MASK) == 0 && tag >> 63 == 0;
}

/* A writer over a buffer that is there: it never allocates. */
static inline struct writer writer_over(uint8_t *bytes, size_t capacity)
{
	return (struct writer){
		.data = bytes,
		.capacity = capacity,
		.limit = capacity,
	};
}

static inline void write_digest(struct writer *writer,
				const struct wire_digest *digest)
{
	write_bytes(writer, digest->bytes, sizeof(digest->bytes));
}

/* The reader has not failed before: the message's length was checked. */
static inline void read_digest(struct reader *reader,
			       struct wire_digest *ret_digest)
{
	const uint8_t *bytes = read_bytes(reader, sizeof(ret_digest->bytes));

	if (bytes != NULL)
		memcpy(ret_digest->bytes, bytes, sizeof(ret_digest->bytes));
}

/* Bytes of a root's signature; 0: there are none. */
size_t wire_signature_size(const struct scoll_authenticator *auth);

void wire_prefix_write(struct writer *writer, enum wire_kind kind);
/* WIRE_OK and the kind: it has a prefix, of our version. */
enum wire_result wire_prefix_read(const void *bytes, size_t size,
				  uint8_t *ret_kind);

/* Behind `size` bytes a seal fits. */
void wire_seal_write(const struct scoll_authenticator *auth, scoll_nid_t to,
		     uint8_t *bytes, size_t size);
/* Behind `size` bytes there is a seal; is it theirs? */
bool wire_seal_check(const struct scoll_authenticator *auth, scoll_nid_t from,
		     const uint8_t *bytes, size_t size);

bool wire_failure_is_valid(const struct wire_failure *failure);
void wire_failure_write(struct writer *writer,
			const struct wire_failure *failure);
/* False: out of its range; then it is not to be used. */
bool wire_failure_read(struct reader *reader, struct wire_failure *ret_failure);

/* The messages of one kind; the prefix was read. */
enum wire_result wire_bcast_open(const uint8_t *bytes, size_t size,
				 const struct scoll_authenticator *auth,
				 struct wire_bcast *ret_bcast);
enum wire_result wire_notice_open(enum wire_kind kind, const uint8_t *bytes,
				  size_t size,
				  const struct scoll_authenticator *auth,
				  struct wire_notice *ret_notice);
