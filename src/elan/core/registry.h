/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry of a node: programs and their capabilities, deposits and
 * attachments; and what each user may do with them. Pure: processes, time and
 * disk come through seams. Each change is saved before it is answered, and
 * written down before it is done where it cannot be done at once; after a crash
 * registry_reconcile() looks at what came of it.
 *
 * Functions return 0 or a negative errno, which is the one that fairlead/rms.h
 * says of the call; further ones are -EIO and what a seam gives.
 */
#pragma once

#include "base/cleanup.h"
#include "elan/core/model.h"

struct registry *registry_create(const struct keeper_seam *keeper,
				 const struct notes_seam *notes,
				 const struct clock_seam *clock);
void registry_destroy(struct registry *registry);
DEFINE_AUTO(struct registry, registry_destroy)

/* Take one record that an earlier process saved. -EPROTO; -EEXIST. */
int registry_load(struct registry *registry, enum rms_record kind,
		  const void *bytes, size_t size);
/*
 * When all records are loaded, and before anything else: finish or undo what
 * had begun, forget processes that ended, have the keeper watch the others.
 */
int registry_reconcile(struct registry *registry);
/* Look at members that only a look keeps in, and at what they use. */
void registry_look(struct registry *registry);
/* Is there a reason to look from time to time. */
bool registry_wants_looks(const struct registry *registry);
/* A process that was watched is gone. */
void registry_process_ended(struct registry *registry,
			    const struct rms_process *process);

/* For the messages of the process attached there. */
struct attached {
	uint32_t program;
	const struct elan_capability *cap; /* with its key */
	int32_t node;                      /* -1: not known */
	const struct route *routes;
	size_t route_count;
};

/* Of the caller's. -ENOENT: it is not. Valid until the next call. */
int registry_attached(struct registry *registry, const struct caller *caller,
		      int32_t rail, int32_t context,
		      struct attached *ret_attached);
/* The same as a request to detach, of this rail and context. */
int registry_detach_one(struct registry *registry, const struct caller *caller,
			int32_t rail, int32_t context);
/* A message of a program was taken. It is saved with the next change. */
void registry_count(struct registry *registry, int32_t program, uint64_t bytes);
/* All rails at once; a bit for each. */
int registry_rails_set(struct registry *registry, uint32_t rails);

/*
 * What a request asks for: the calls of fairlead/rms.h in its order, and those
 * of elan/client.h, where the errors are. The reply's fields go into body.
 */
typedef int registry_call(struct registry *registry,
			  const struct caller *caller,
			  const struct rms_request *request,
			  struct writer *body);

registry_call registry_version; /* u32 version, u8 is the keeper sure */
registry_call registry_program_create;
registry_call registry_program_destroy;
registry_call registry_program_ids;     /* i32 each, by rising id */
registry_call registry_program_members; /* u32 how many, as many i32 as fit */
registry_call registry_program_of;      /* i32 */
registry_call registry_process_add;
registry_call registry_process_remove;
registry_call registry_program_signal;
registry_call registry_program_suspend; /* and resume */
registry_call registry_cap_add;
registry_call registry_cap_claim;
registry_call registry_cap_set;
registry_call registry_cap_count;     /* i32 */
registry_call registry_cap_mine;      /* i32 */
registry_call registry_cap_get;       /* the capability, short */
registry_call registry_cap_preferred; /* i32 */
registry_call registry_initialised;
registry_call registry_initialised_list; /* u32, as many {i32 vp, i32 pid} */
registry_call registry_stats;
registry_call registry_elanstats_set;
registry_call registry_corepath_set;
registry_call registry_corepath_get; /* text */

registry_call registry_attach;
registry_call registry_detach;
registry_call registry_route;
registry_call registry_adapter; /* a route */
registry_call registry_rail_set;
registry_call registry_rails; /* u32 up, u8 count, of each u32 contexts */
registry_call registry_deposit_add;
registry_call registry_deposit_take; /* -EBUSY: as program_members */
registry_call registry_deposit_is;
registry_call registry_deposit_next; /* the first above a number */
