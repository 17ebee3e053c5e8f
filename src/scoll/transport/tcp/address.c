/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of streams: those of sockets. */
#include "scoll/transport/tcp/address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "scoll/transport/tcp/stream.h"

size_t stream_address_size(const uint8_t *address, size_t size)
{
	sa_family_t family;
	size_t whole = 0;

	if (size < sizeof(family))
		return 0;
	memcpy(&family, address, sizeof(family));
	if (family == AF_INET)
		whole = sizeof(struct sockaddr_in);
	else if (family == AF_INET6)
		whole = sizeof(struct sockaddr_in6);
	return size <= whole ? whole : 0;
}

bool stream_address_is_valid(const uint8_t *address, size_t size)
{
	return size > 0 && stream_address_size(address, size) == size;
}

socklen_t stream_local_name(const uint8_t *address, size_t size,
			    union socket_address *ret)
{
	char *at = ret->un.sun_path + 1;

	memset(ret, 0, sizeof(*ret));
	ret->un.sun_family = AF_UNIX;
	at += sprintf(at, "scoll/");
	for (size_t i = 0; i < size; i++)
		at += sprintf(at, "%02x", address[i]);
	return (socklen_t)(at - (char *)ret);
}

int stream_find(const char *node, const char *service, int flags,
		struct addrinfo **ret_info, struct fairlead_error *error)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = flags,
	};
	int result = getaddrinfo(node, service != NULL ? service : "0", &hints,
				 ret_info);

	if (result == 0)
		return 0;
	return error_set(error, result == EAI_MEMORY ? -ENOMEM : -EINVAL,
			 "no address for '%s', '%s': %s",
			 node != NULL ? node : "",
			 service != NULL ? service : "", gai_strerror(result));
}

int stream_resolve(const char *node, const char *service, void *ret_address,
		   size_t *size, struct fairlead_error *ret_error)
{
	struct addrinfo *info;
	int result = stream_find(node, service, 0, &info, ret_error);

	if (result < 0)
		return result;
	if (*size < info->ai_addrlen)
		result = error_set(ret_error, -ENOSPC, "address is too long");
	else
		memcpy(ret_address, info->ai_addr, info->ai_addrlen);
	*size = info->ai_addrlen;
	freeaddrinfo(info);
	return result;
}

void stream_own_address(union socket_address *ret, socklen_t *ret_size)
{
	struct ifaddrs *all = NULL;

	memset(ret, 0, sizeof(*ret));
	ret->in.sin_family = AF_INET;
	ret->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	*ret_size = sizeof(ret->in);
	if (getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *at = all; at != NULL; at = at->ifa_next) {
		if (at->ifa_addr == NULL ||
		    at->ifa_addr->sa_family != AF_INET ||
		    (at->ifa_flags & (IFF_UP | IFF_LOOPBACK)) != IFF_UP)
			continue;
		memcpy(&ret->in, at->ifa_addr, sizeof(ret->in));
		break;
	}
	freeifaddrs(all);
}
