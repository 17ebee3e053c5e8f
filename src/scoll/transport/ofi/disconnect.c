/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To close one connection. Over TCP libfabric answers a read from the owner's
 * memory whenever the socket takes more, whether the region is still open or
 * not; it has no call that ends this, and FI_AV_REMOVE_CLEANUP crashes rxm of
 * 1.17 when a connection is half made. So the socket is found among those of
 * the process, by its ends, and shut down, which libfabric takes for the death
 * of the peer.
 *
 * Of the peers of one host that have called us all are closed: their ports do
 * not tell who is who.
 */
#include "scoll/transport/ofi/internal.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>

union ofi_end {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	uint8_t bytes[TRANSPORT_OFI_ADDRESS_MAX];
};

static in_port_t port_of(const union ofi_end *end)
{
	return end->any.sa_family == AF_INET ? end->in.sin_port
					     : end->in6.sin6_port;
}

static bool is_same_host(const union ofi_end *a, const union ofi_end *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (a->any.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	return a->any.sa_family == AF_INET6 &&
	       memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr,
		      sizeof(a->in6.sin6_addr)) == 0;
}

/* One of the two has called the other at its endpoint. */
static bool is_between(int fd, const union ofi_end *ours,
		       const union ofi_end *theirs)
{
	socklen_t local_size, remote_size;
	union ofi_end local, remote;

	local_size = sizeof(local);
	remote_size = sizeof(remote);
	if (getsockname(fd, &local.any, &local_size) < 0 ||
	    getpeername(fd, &remote.any, &remote_size) < 0)
		return false;
	return is_same_host(&remote, theirs) &&
	       (port_of(&remote) == port_of(theirs) ||
		port_of(&local) == port_of(ours));
}

void connection_close(struct transport_ofi *t, const struct ofi_peer *peer)
{
	union ofi_end ours = { .bytes = { 0 } }, theirs = { .bytes = { 0 } };
	size_t size = sizeof(ours);
	const struct dirent *entry;
	DIR *fds;

	if (fi_getname(&t->ep->fid, &ours, &size) != 0)
		return;
	memcpy(&theirs, peer->address, peer->address_size);
	fds = opendir("/proc/self/fd");
	if (fds == NULL)
		return;
	while ((entry = readdir(fds)) != NULL) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && is_between(fd, &ours, &theirs))
			shutdown(fd, SHUT_RDWR);
	}
	closedir(fds);
	t->is_unread = true;
}
