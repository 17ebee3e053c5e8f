/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job's own network namespace on a node, for isolation=netns: a file in a
 * directory of ours keeps it, as `ip netns` does it, so that it outlives us and
 * launchers can enter it.
 *
 *	namespace_create -> device_create (host) -> namespace_take -> device_dress
 *	(inside) -> ... -> devices_delete (inside) -> namespace_delete
 *
 * The file is a mount. It is there for launchers only if they see our mounts,
 * and outlives us only if our mount namespace does: the unit of systemd must
 * not have one of its own (PrivateTmp=, ProtectSystem=, ProtectHome=,
 * ProtectKernel*=, ProtectControlGroups=, PrivateMounts=, ... each make one),
 * and needs CAP_SYS_ADMIN, CAP_NET_ADMIN, RestrictNamespaces=net or none, and
 * @mount in its SystemCallFilter=.
 *
 * The mount is made last: a namespace that is listed is complete. What a crash
 * leaves before that is an empty file, in which there is nothing.
 *
 * The caller's thread stays where it is: what has to be done inside is done by
 * one more thread, which has ended when the function returns.
 */
#pragma once

#include <stdint.h>

#include "lanes/driver/ethernet/device.h"

#define NAMESPACE_PATH_MAX 256

/* DIRECTORY/GRANT: the file to enter by. "" when that is too long. */
void namespace_path(const char *directory, uint64_t grant_id,
		    char path[NAMESPACE_PATH_MAX]);
/*
 * Make it, with loopback up; the directory, too (not those above it). -EEXIST;
 * -EPERM: the directory is not root's alone; -EOPNOTSUPP: nobody else would see
 * it (the unit, above), or the kernel has no network namespaces; -ENAMETOOLONG.
 */
int namespace_create(const char *directory, uint64_t grant_id,
		     struct fairlead_error *ret_error);
/*
 * What namespace_create would say of the directory, which need not be there
 * yet; nothing is made.
 */
int namespace_check(const char *directory, struct fairlead_error *ret_error);
/*
 * None is no error. Processes inside keep what is theirs, and the namespace
 * lives as long as they do: its devices have to be deleted inside before.
 */
int namespace_delete(const char *directory, uint64_t grant_id,
		     struct fairlead_error *ret_error);
/* A socket that works inside, the caller's to close. -ENOENT: there is none. */
int namespace_netlink(const char *directory, uint64_t grant_id,
		      struct netlink **ret_netlink,
		      struct fairlead_error *ret_error);
/*
 * Move a device inside, where it is down. Its index, name, MAC, MTU, alias,
 * group, flags and forwarding entries go with it, and the socket that it sends
 * by stays in the host's namespace; the kernel drops its addresses and
 * neighbours, and would give it a link-local address again: device_dress sets
 * them inside.
 */
int namespace_take(struct netlink *host, const char *directory,
		   uint64_t grant_id, const struct lane_device *device,
		   struct fairlead_error *ret_error);
/* Grants that have one. No directory: none. -EIO with a text. */
int namespace_list(const char *directory,
		   void (*emit)(void *arg, uint64_t grant_id), void *arg,
		   struct fairlead_error *ret_error);
