/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory in several parts, as programs and cores name it. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

static inline size_t iov_size(const struct iovec *iov, size_t count)
{
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
		size += iov[i].iov_len;
	return size;
}

/*
 * Copies all parts to one place. Returns how many bytes they are. Empty ones
 * may be NULL.
 */
static inline size_t iov_flatten(const struct iovec *iov, size_t count,
				 void *to)
{
	uint8_t *at = to;

	for (size_t i = 0; i < count; i++) {
		if (iov[i].iov_len > 0)
			memcpy(at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	return (size_t)(at - (uint8_t *)to);
}

/* All of it in one piece: as it is, or copied to `buffer`. */
static inline const void *iov_one(const struct iovec *iov, size_t count,
				  void *buffer)
{
	if (count == 1)
		return iov[0].iov_base;
	iov_flatten(iov, count, buffer);
	return buffer;
}

/*
 * Copies into the parts, from `offset` on (of iov_put(), from their beginning);
 * what fits. Returns how much that was.
 */
size_t iov_put_at(const struct iovec *iov, size_t count, size_t offset,
		  const void *data, size_t size);
size_t iov_put(const struct iovec *iov, size_t count, const void *data,
	       size_t size);

/*
 * Where `size` bytes from `offset` on are, as far as they go: at most `count`
 * parts. Returns how many; none is empty.
 */
size_t iov_slice(const struct iovec *iov, size_t count, size_t offset,
		 size_t size, struct iovec *ret_iov);

/* Leaves out the first bytes, in place. */
void iov_skip(struct iovec **iov, size_t *count, size_t size);
