/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry of a node: programs and their capabilities, deposits, who is
 * attached where; and who may do what with them. Pure: processes, time and
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

/* Who asks, as the kernel says. */
struct caller {
	struct process process;
	uint32_t uid; /* effective */
};

int registry_create(const struct keeper_seam *keeper,
		    const struct notes_seam *notes,
		    const struct clock_seam *clock,
		    struct registry **ret_registry);
void registry_destroy(struct registry *registry);
DEFINE_AUTO(struct registry, registry_destroy)

/* Take one record that an earlier process saved. -EPROTO; -EEXIST. */
int registry_load(struct registry *registry, enum record_kind kind,
		  const void *bytes, size_t size);
/*
 * When all records are loaded, and before anything else: finish or undo what
 * had begun, forget processes that ended, tell the keeper whom to watch.
 */
int registry_reconcile(struct registry *registry);
/* Look at members that only a look keeps in, and at what they use. */
void registry_look(struct registry *registry);
/* Is there a reason to look from time to time. */
bool registry_wants_looks(const struct registry *registry);
/* A process that was watched is gone. */
void registry_process_ended(struct registry *registry,
			    const struct process *process);

/* --- the calls of fairlead/rms.h, in its order --- */

int registry_program_create(struct registry *registry,
			    const struct caller *caller, int32_t id,
			    uint32_t uid, int32_t cpus);
int registry_program_destroy(struct registry *registry,
			     const struct caller *caller, int32_t id);
/* i32 each, by rising id. */
void registry_program_ids(const struct registry *registry,
			  struct writer *writer);
/* u32 how many, then as many i32 as fit. */
int registry_program_members(struct registry *registry, int32_t id,
			     struct writer *writer);
/* pid 0: the caller. */
int registry_program_of(struct registry *registry, const struct caller *caller,
			int32_t pid, int32_t *ret_id);
int registry_process_add(struct registry *registry, const struct caller *caller,
			 int32_t id, int32_t pid);
int registry_process_remove(struct registry *registry,
			    const struct caller *caller, int32_t id,
			    int32_t pid);
int registry_program_signal(struct registry *registry,
			    const struct caller *caller, int32_t id,
			    int32_t number);
int registry_program_suspend(struct registry *registry,
			     const struct caller *caller, int32_t id,
			     bool suspends);
int registry_cap_add(struct registry *registry, const struct caller *caller,
		     int32_t id, int32_t index,
		     const struct elan_capability *cap);
int registry_cap_claim(struct registry *registry, const struct caller *caller,
		       int32_t id);
int registry_cap_set(struct registry *registry, const struct caller *caller,
		     int32_t index, int32_t context);
int registry_cap_count(struct registry *registry, const struct caller *caller,
		       int32_t *ret_count);
int registry_cap_mine(struct registry *registry, const struct caller *caller,
		      int32_t *ret_index);
int registry_cap_get(struct registry *registry, const struct caller *caller,
		     int32_t index, struct elan_capability *ret_cap);
int registry_cap_preferred(struct registry *registry,
			   const struct caller *caller, int32_t processes,
			   int32_t *ret_index);
int registry_initialised(struct registry *registry, const struct caller *caller,
			 int32_t vp);
/* u32 how many, then as many pairs of i32 (vp, pid) as fit. */
int registry_initialised_list(struct registry *registry, int32_t id,
			      struct writer *writer);
int registry_stats(struct registry *registry, const struct caller *caller,
		   int32_t id, struct rms_prgstats *ret_stats);
int registry_elanstats_set(struct registry *registry,
			   const struct caller *caller, int32_t id,
			   const struct rms_elanstats *stats);
int registry_corepath_set(struct registry *registry,
			  const struct caller *caller, const char *path);
/* Valid until the next call. */
int registry_corepath_get(struct registry *registry,
			  const struct caller *caller, int32_t pid,
			  const char **ret_path);

/* --- elan/client.h, where the errors are --- */

/* What is to be known for the messages of who is attached there. */
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
/* A message of a program was taken. It is saved with the next change. */
void registry_count(struct registry *registry, int32_t program, uint64_t bytes);
/* Which node this is, and where the others are, for all deposits of a grant. */
int registry_route(struct registry *registry, const struct caller *caller,
		   uint64_t grant_id, int32_t node, const void *routes,
		   size_t size);

int registry_attach(struct registry *registry, const struct caller *caller,
		    int32_t rail, const struct elan_capability *cap);
int registry_detach(struct registry *registry, const struct caller *caller,
		    int32_t rail, const struct elan_capability *cap);
int registry_rail_set(struct registry *registry, const struct caller *caller,
		      int32_t rail, bool is_up);
/* All of them at once; a bit for each. Root's. */
int registry_rails_set(struct registry *registry, uint32_t rails);
/* u32 which are up, u8 how many follow, of each u32 contexts of deposits. */
void registry_rails(const struct registry *registry, struct writer *writer);
int registry_deposit_add(struct registry *registry, const struct caller *caller,
			 uint64_t grant_id, uint32_t uid,
			 const struct elan_capability *cap);
/* -EBUSY: u32 how many, then as many i32 as fit. */
int registry_deposit_take_back(struct registry *registry,
			       const struct caller *caller, uint64_t grant_id,
			       struct writer *writer);
/* As before, of one deposit, by its number. A dry run only looks. */
int registry_deposit_take(struct registry *registry,
			  const struct caller *caller, uint64_t number,
			  bool is_dry_run, struct writer *writer);
/* -ENOENT: there is none, or it is being taken back. */
int registry_deposit_is(struct registry *registry, uint64_t grant_id,
			uint32_t uid);
/* The first whose number is above this. -ENOENT. */
int registry_deposit_next(struct registry *registry,
			  const struct caller *caller, uint64_t number,
			  struct deposit *ret_deposit, uint32_t *ret_attached);
