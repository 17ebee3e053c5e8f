/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests to fairlead-rms: those of fairlead/rms.h, which librms passes on,
 * and Fairlead's own, by which the driver's half on a node deposits the
 * capabilities of a grant and takes them back.
 *
 * dir: the daemon's directory; NULL: the one of FAIRLEAD_RMS_DIR, or
 * /run/fairlead-rms. Calls block until the daemon has answered, and each is on
 * disk by then. Each has, beside its own errors: -ENOENT, -ECONNREFUSED (no
 * daemon), -EIO (it ended during the call, or cannot save; the request may
 * have been done: each can be repeated), -EUSERS, -EPROTO, -EPROTONOSUPPORT,
 * -ENOMEM. Those of root have -EACCES for others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "elan/route.h"
#include "elan/wire/wire.h"
#include "fairlead/rms.h"

/* A request whose reply has nothing but its result. */
int rms_client_call(const char *dir, const struct rms_request *request);
/* One whose reply is a number. */
int rms_client_number(const char *dir, const struct rms_request *request,
		      int *ret_number);

/* The version of the calls. *ret_is_sure: does the kernel keep members in. */
int rms_client_version(const char *dir, bool *ret_is_sure);
int rms_client_stats(const char *dir, int id, struct rms_prgstats *ret_stats);
/* How many members a program has; at most max of them into pids. */
int rms_client_members(const char *dir, int id, pid_t *pids, size_t max);
int rms_client_cap_get(const char *dir, int index,
		       struct elan_capability *ret_cap);

/*
 * Root: leave a capability here for the programs of one user, as part of a
 * grant, which may have several. The same again is no error, and gives it
 * another key. What is deposited outlives the daemon, and ends with the kernel.
 * grant_id: the driver elan3 passes the number of the lane's program, which one
 * lane of a cluster has at a time.
 * -EINVAL: no valid capability (its my-context has to be unset), or the same is
 * being taken back; -EACCES: it overlaps another one of this node; -ENOMEM.
 */
int rms_client_deposit(const char *dir, uint64_t grant_id, uid_t uid,
		       const struct elan_capability *cap);
/*
 * Root: take back one deposit, by its number. From now on nobody gets it.
 * -EBUSY: processes have it still, as members of programs that hold it, or
 * attached; members of the program of the grant's number and owner have its
 * last deposit, and that program goes with it. At most max of them into pids,
 * *ret_count says how many (written in this case only); ask again when they are
 * gone. -ENOENT: it is not there (any more). A dry run returns the same and
 * changes nothing.
 */
int rms_client_take(const char *dir, uint64_t number, bool is_dry_run,
		    pid_t *pids, size_t max, size_t *ret_count);
/*
 * Anybody: is there something of a grant for this user, that is not being taken
 * back. -ENOENT: no.
 */
int rms_client_deposit_is(const char *dir, uint64_t grant_id, uid_t uid);

/*
 * Root: which node this is, and where the adapters of the lane's nodes are, for
 * all deposits of a grant (route.h). -ENOENT: there is none of it; -EINVAL: no
 * node of the capabilities, or no routes.
 */
int rms_client_route(const char *dir, uint64_t grant_id, int node,
		     const void *routes, size_t size);
/* Anybody: where other nodes reach the adapter; family 0: they do not. */
int rms_client_adapter(const char *dir, struct route *ret_route);

struct rms_client_deposit {
	uint64_t number; /* rising */
	uint64_t grant_id;
	uid_t uid;
	bool is_ending;             /* being taken back */
	uint32_t attached_count;    /* over all rails */
	struct elan_capability cap; /* its key is 0 */
};

/*
 * Root: the deposit with the lowest number above this one. -ENOENT: there is
 * none. From 0 on it lists all.
 */
int rms_client_deposit_next(const char *dir, uint64_t number,
			    struct rms_client_deposit *ret_deposit);

struct rms_client_rails {
	uint32_t up; /* a bit for each */
	/* Of all deposits that have the rail. */
	uint32_t contexts[ELAN_MAX_RAILS];
};

/* Anybody. */
int rms_client_rails(const char *dir, struct rms_client_rails *ret_rails);
