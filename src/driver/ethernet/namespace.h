/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job's own network namespace on a node, for isolation=netns: a file in a
 * directory of ours keeps it, as `ip netns` does it, so that it outlives us and
 * launchers can enter it.
 */
#pragma once

#include <stdint.h>

#include "driver/ethernet/device.h"

#define NAMESPACE_PATH_MAX 256

/* DIRECTORY/GRANT: the file to enter by. */
void namespace_path(const char *directory, uint64_t grant_id,
		    char path[NAMESPACE_PATH_MAX]);
/* Make it, with loopback up. -EEXIST. */
int namespace_create(const char *directory, uint64_t grant_id,
		     struct fairlead_error *ret_error);
/* None is no error. Processes inside keep what is theirs, without the device. */
int namespace_delete(const char *directory, uint64_t grant_id,
		     struct fairlead_error *ret_error);
/* A socket that works inside; the calling thread comes back out. */
int namespace_netlink(const char *directory, uint64_t grant_id,
		      struct netlink **ret_netlink,
		      struct fairlead_error *ret_error);
/* Move a device inside, where it is down; addresses and peers are set there. */
int namespace_take(struct netlink *host, const char *directory,
		   uint64_t grant_id, const struct lane_device *device,
		   struct fairlead_error *ret_error);
/* Grants that have one. */
int namespace_list(const char *directory,
		   void (*emit)(void *arg, uint64_t grant_id), void *arg,
		   struct fairlead_error *ret_error);
