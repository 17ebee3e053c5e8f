/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keeper of cgroups, for programs of both kinds: one that was made when
 * there were none has no place, and goes on to be looked for.
 */
#include "elan/service/keepers.h"

#include <errno.h>
#include <utlist.h>

static const struct keeper_ops *ops_of(const struct program *program)
{
	return program->place[0] != '\0' ? &group_ops : &search_ops;
}

static bool is_sure(void *ctx)
{
	return true;
}

static int choose(void *ctx, struct program *program,
		  const struct process *process)
{
	return group_ops.choose(ctx, program, process);
}

static int make(void *ctx, struct program *program,
		const struct process *process)
{
	return ops_of(program)->make(ctx, program, process);
}

static int remove_program(void *ctx, struct program *program)
{
	return ops_of(program)->remove(ctx, program);
}

static int look(void *ctx, struct program *program)
{
	return ops_of(program)->look(ctx, program);
}

static int find_members(void *ctx, struct program *program,
			struct members *ret_members)
{
	return ops_of(program)->members(ctx, program, ret_members);
}

/* By its cgroup; or among those that are looked for, who may have left one. */
static int find(void *ctx, struct program *programs,
		const struct process *process, struct program **ret_program,
		uint32_t *ret_setting)
{
	struct program *program;

	if (group_ops.find(ctx, programs, process, ret_program, ret_setting) ==
	    0)
		return 0;
	DL_FOREACH (programs, program) {
		_auto_(members_fini) struct members members = { 0 };

		if (program->known_count == 0 ||
		    find_members(ctx, program, &members) < 0)
			continue;
		for (size_t i = 0; i < members.count; i++) {
			if (!process_is(&members.items[i].process, process))
				continue;
			*ret_program = program;
			*ret_setting = members.items[i].setting;
			return 0;
		}
	}
	return -ESRCH;
}

static bool is_near(void *ctx, const struct program *program,
		    const struct process *process)
{
	return ops_of(program)->is_near(ctx, program, process);
}

static int enter(void *ctx, struct program *program,
		 const struct process *process, uint32_t setting)
{
	return ops_of(program)->enter(ctx, program, process, setting);
}

static int leave(void *ctx, struct program *program,
		 const struct process *process)
{
	return ops_of(program)->leave(ctx, program, process);
}

static int signal_all(void *ctx, struct program *program, int number)
{
	return ops_of(program)->signal(ctx, program, number);
}

static int suspend(void *ctx, struct program *program, bool suspends)
{
	return ops_of(program)->suspend(ctx, program, suspends);
}

static int usage(void *ctx, struct program *program, struct usage *ret_usage)
{
	return ops_of(program)->usage(ctx, program, ret_usage);
}

const struct keeper_ops either_ops = {
	.is_sure = is_sure,
	.choose = choose,
	.make = make,
	.remove = remove_program,
	.look = look,
	.members = find_members,
	.find = find,
	.is_near = is_near,
	.enter = enter,
	.leave = leave,
	.signal = signal_all,
	.suspend = suspend,
	.usage = usage,
	.identify = keeper_identify,
	.watch = keeper_watch,
};
