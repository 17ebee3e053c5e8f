/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/iov.h"

size_t iov_put_at(const struct iovec *iov, size_t count, size_t offset,
		  const void *data, size_t size)
{
	size_t done = 0;

	for (size_t i = 0; i < count && done < size; i++) {
		size_t space = iov[i].iov_len, part;
		if (offset >= space) {
			offset -= space;
			continue;
		}
		space -= offset;
		part = size - done < space ? size - done : space;
		memcpy((uint8_t *)iov[i].iov_base + offset,
		       (const uint8_t *)data + done, part);
		done += part;
		offset = 0;
	}
	return done;
}

size_t iov_put(const struct iovec *iov, size_t count, const void *data,
	       size_t size)
{
	return iov_put_at(iov, count, 0, data, size);
}

size_t iov_slice(const struct iovec *iov, size_t count, size_t offset,
		 size_t size, struct iovec *ret_iov)
{
	size_t parts = 0;

	for (size_t i = 0; i < count && size > 0; i++) {
		size_t part = iov[i].iov_len;
		if (offset >= part) {
			offset -= part;
			continue;
		}
		part -= offset;
		if (part > size)
			part = size;
		ret_iov[parts++] =
			(struct iovec){ (uint8_t *)iov[i].iov_base + offset,
					part };
		offset = 0;
		size -= part;
	}
	return parts;
}

void iov_skip(struct iovec **iov, size_t *count, size_t size)
{
	while (*count > 0 && size >= (*iov)->iov_len) {
		size -= (*iov)->iov_len;
		(*iov)++;
		(*count)--;
	}
	if (*count > 0) {
		(*iov)->iov_base = (uint8_t *)(*iov)->iov_base + size;
		(*iov)->iov_len -= size;
	}
}
