/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Fairlead itself says to fairlead-rms beside the calls of
 * fairlead/rms.h: the driver's half on a node deposits the capabilities of a
 * grant and takes them back, root says which rails there are, and a process
 * attaches to a context.
 *
 * dir: the daemon's directory; NULL: the one of FAIRLEAD_RMS_DIR, or
 * /run/fairlead-rms. Calls block until the daemon has answered, and each is on
 * disk by then. Each has, beside its own errors: -ENOENT, -ECONNREFUSED (no
 * daemon), -EIO (it ended during the call, or cannot save; what was asked may
 * have been done: each may be asked for again), -EUSERS, -EPROTO,
 * -EPROTONOSUPPORT, -ENOMEM. Those of root have -EACCES for others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fairlead/rms.h"
#include "elan/route.h"

/*
 * Root: leave a capability here for the programs of one user, as part of a
 * grant, which may have several. The same again is no error, and gives it
 * another key. What is deposited outlives the daemon, and ends with the kernel.
 * grant_id: by which the depositor knows it again; the driver elan3 says the
 * number of the lane's program, which one lane of a cluster has at a time.
 * -EINVAL: no valid capability (its my-context has to be unset), or the same is
 * being taken back; -EACCES: it overlaps another one of this node; -ENOMEM.
 */
int rms_client_deposit(const char *dir, uint64_t grant_id, uid_t uid,
		       const struct elan_capability *cap);
/*
 * Root: take back all of a grant. From now on nobody gets it. -EBUSY: processes
 * have it still, as members of programs that hold it, or attached; members of
 * the program of the grant's number and owner have its last deposit, and that
 * program goes with it. At most max of them into pids, *ret_count says how many (written in this case only); ask
 * again when they are gone. -ENOENT: there is nothing of this grant (any more).
 */
int rms_client_take_back(const char *dir, uint64_t grant_id, pid_t *pids,
			 size_t max, size_t *ret_count);

/*
 * Root: the same of one deposit, by its number. A dry run says what it would
 * say, and changes nothing.
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

/*
 * Root: is there a rail. None is before that is said; it outlives the daemon.
 * Who is attached to one that goes down stays so. -EINVAL: not 0 to 30.
 */
int rms_client_rail_set(const char *dir, int rail, bool is_up);

struct rms_client_rails {
	uint32_t up; /* a bit for each */
	/* Of all deposits that have the rail. */
	uint32_t contexts[ELAN_MAX_RAILS];
};

/* Anybody. */
int rms_client_rails(const char *dir, struct rms_client_rails *ret_rails);
/* Anybody: does the kernel keep members in: 0 or 1. */
int rms_client_is_sure(const char *dir);

/* As the calls of fairlead/rms.h, for who does not link librms. */
int rms_client_program_create(const char *dir, int id, uid_t uid, int cpus);
int rms_client_program_destroy(const char *dir, int id);
int rms_client_program_signal(const char *dir, int id, int number);
int rms_client_program_stats(const char *dir, int id,
			     struct rms_prgstats *ret_stats);
/* How many members there are now. */
int rms_client_program_count(const char *dir, int id);
int rms_client_claim(const char *dir, int id);
/* Members. */
int rms_client_cap_count(const char *dir);
int rms_client_cap_get(const char *dir, int index,
		       struct elan_capability *ret_cap);
int rms_client_cap_set(const char *dir, int index, int context);

/*
 * The caller is, from now on, at context cap_mycontext (absolute) of the
 * capability on this rail, until it detaches or ends; what it forks is not.
 * Members of a program that holds the capability. -ESRCH: the caller is in no
 * program; -EINVAL: its program has no such capability with this key, or that is
 * being taken back, or it has no such context or rail; -ENETDOWN: the rail is
 * not there; -EBUSY: somebody is attached there.
 */
int rms_client_attach(const char *dir, int rail,
		      const struct elan_capability *cap);
/* Not attached is no error. */
int rms_client_detach(const char *dir, int rail,
		      const struct elan_capability *cap);
