/* SPDX-License-Identifier: BSD-3-Clause */
/* What stream.c needs of addresses. */
#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/error.h"

union socket_address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

/* The name of the Unix socket that belongs to an address. Returns its size. */
socklen_t stream_local_name(const uint8_t *address, size_t size,
			    union socket_address *ret);
/* As getaddrinfo(3); flags: AI_.... -EINVAL, -ENOMEM, with a text. */
int stream_find(const char *node, const char *service, int flags,
		struct addrinfo **ret_info, struct fairlead_error *error);
/* Of an interface that is up; one of the loopback is the last choice. */
void stream_own_address(union socket_address *ret, socklen_t *ret_size);
