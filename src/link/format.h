/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses as programs want them: ours, or socket addresses (FI_SOCKADDR_IN
 * and the like), which are names of a fabric rail's place.
 */
#pragma once

#include "link/provider.h"

/* Whether it is a format of socket addresses. */
bool format_is_socket(uint32_t format);
/* The size of an address in that format: of a family, not FI_SOCKADDR. */
size_t format_size(uint32_t format);
/* The format of an address of ours; FI_FORMAT_UNSPEC: it has none. */
uint32_t format_of(const uint8_t ours[LINK_ADDRESS_SIZE]);

/*
 * From what a program gives, and to what it gets. Formats that are none of
 * sockets leave it as it is. -FI_EINVAL: of another family, or too short.
 */
int format_read(uint32_t format, uint32_t digest, const void *bytes,
		size_t size, uint8_t ret_ours[LINK_ADDRESS_SIZE]);
void format_write(uint32_t format, const uint8_t ours[LINK_ADDRESS_SIZE],
		  void *ret_bytes);
