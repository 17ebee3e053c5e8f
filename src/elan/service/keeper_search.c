/* SPDX-License-Identifier: BSD-3-Clause */
/* The keeper without cgroups: members are looked for. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "elan/service/keepers.h"
#include "elan/service/search.h"

static bool is_sure(void *ctx)
{
	return false;
}

static void take_from(uint64_t *figure, uint64_t base)
{
	*figure = *figure > base ? *figure - base : 0;
}

/* Figures from now on; of memory and its peak all counts. */
static int choose(void *ctx, struct program *program,
		  const struct process *process)
{
	struct proc_stat stat;
	int result = proc_stat(process->pid, &stat);

	if (result < 0)
		return result;
	keeper_sum(&stat, 1, &program->base);
	program->start = search_now();
	return 0;
}

static int look(void *ctx, struct program *program)
{
	_auto_(members_fini) struct members members = { 0 };
	int result = search_members(program, &members, NULL);

	return result < 0 ? result : members.count > 0;
}

/* Its session is known from then on: it may end before anybody looks again. */
static int make(void *ctx, struct program *program,
		const struct process *process)
{
	int result = search_note(program, process, 0);

	if (result == 0)
		result = look(ctx, program);
	return result < 0 ? result : 0;
}

/* Whoever is left is forgotten. */
static int remove_program(void *ctx, struct program *program)
{
	return 0;
}

static int find_members(void *ctx, struct program *program,
			struct members *ret_members)
{
	return search_members(program, ret_members, NULL);
}

/* One look at all processes, for all programs. */
static int find(void *ctx, struct program *programs,
		const struct process *process, struct program **ret_program,
		uint32_t *ret_setting)
{
	_auto_(freep) struct proc_stat *stats = NULL;
	struct program *program;
	size_t count = 0;

	if (programs == NULL || proc_stat_all(&stats, &count) < 0)
		return -ESRCH;
	DL_FOREACH (programs, program) {
		_auto_(members_fini) struct members members = { 0 };

		if (search_among(program, stats, count, &members, NULL) < 0)
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

/* There is no place to be near. */
static bool is_near(void *ctx, const struct program *program,
		    const struct process *process)
{
	return true;
}

static int enter(void *ctx, struct program *program,
		 const struct process *process, uint32_t setting)
{
	return search_note(program, process, setting);
}

static int leave(void *ctx, struct program *program,
		 const struct process *process)
{
	search_forget(program, process);
	return 0;
}

static bool is_in(struct keeper *keeper, const struct program *program,
		  const struct process *process)
{
	return true;
}

static int signal_all(void *ctx, struct program *program, int number)
{
	return keeper_signal_each(ctx, &search_ops, program, number, is_in);
}

static int suspend(void *ctx, struct program *program, bool suspends)
{
	return signal_all(ctx, program, suspends ? SIGSTOP : SIGCONT);
}

static int sum_usage(void *ctx, struct program *program,
		     struct usage *ret_usage)
{
	_auto_(members_fini) struct members members = { 0 };
	_auto_(freep) struct proc_stat *stats = NULL;
	int result = search_members(program, &members, &stats);

	if (result < 0)
		return result;
	keeper_sum(stats, members.count, ret_usage);
	take_from(&ret_usage->user_us, program->base.user_us);
	take_from(&ret_usage->system_us, program->base.system_us);
	take_from(&ret_usage->faults, program->base.faults);
	return 0;
}

const struct keeper_ops search_ops = {
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
	.usage = sum_usage,
	.identify = keeper_identify,
	.watch = keeper_watch,
};
