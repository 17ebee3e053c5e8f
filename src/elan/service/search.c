/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is a descendant, as far as /proc still says so. */
#include "elan/service/search.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"

#define NS_PER_SEC 1000000000u

uint64_t search_now(void)
{
	uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * ticks +
	       (uint64_t)now.tv_nsec * ticks / NS_PER_SEC;
}

static struct rms_known *find_known(struct program *program,
				    const struct rms_process *process)
{
	for (size_t i = 0; i < program->known_count; i++) {
		if (process_is(&program->known[i].process, process))
			return &program->known[i];
	}
	return NULL;
}

int search_note(struct program *program, const struct rms_process *process,
		uint32_t setting)
{
	struct rms_known *known = find_known(program, process);

	if (known == NULL) {
		if (program->known_count >= KNOWN_MAX)
			return -ENOSPC;
		program->known =
			memory_resize(program->known, program->known_count + 1,
				      sizeof(*known));
		known = program->known + program->known_count++;
		*known = (struct rms_known){ .process = *process };
		program->is_changed = true;
	}
	if (known->setting != setting || known->has_left)
		program->is_changed = true;
	known->setting = setting;
	known->has_left = false;
	return 0;
}

void search_forget(struct program *program, const struct rms_process *process)
{
	struct rms_known *known = find_known(program, process);

	if (known == NULL)
		return;
	known->has_left = true;
	program->is_changed = true;
}

static const struct proc_stat *find_stat(const struct proc_stat *stats,
					 size_t count, int32_t pid)
{
	for (size_t i = 0; i < count; i++) {
		if (stats[i].pid == pid)
			return &stats[i];
	}
	return NULL;
}

static bool has_session(const struct proc_stat *stats, size_t count,
			int32_t session)
{
	for (size_t i = 0; i < count; i++) {
		if (stats[i].session == session)
			return true;
	}
	return false;
}

/* Who has ended goes, unless others are in the session that it led. */
static void refresh(struct program *program, const struct proc_stat *stats,
		    size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < program->known_count; i++) {
		struct rms_known known = program->known[i];
		const struct proc_stat *stat =
			find_stat(stats, count, known.process.pid);

		if (stat != NULL && stat->start == known.process.start) {
			program->is_changed |= known.session != stat->session;
			known.session = stat->session;
		} else if (known.session == known.process.pid &&
			   !known.has_left &&
			   has_session(stats, count, known.session)) {
			known.has_ended = true;
		} else {
			continue;
		}
		program->known[kept++] = known;
	}
	program->is_changed |= kept != program->known_count;
	program->known_count = kept;
}

/* The member through which a process is one, or NULL. */
static const struct rms_known *find_origin(const struct program *program,
					   const struct proc_stat *stat)
{
	for (size_t i = 0; i < program->known_count; i++) {
		const struct rms_known *known = &program->known[i];

		if (known->has_left)
			continue;
		if (!known->has_ended && known->process.pid == stat->parent)
			return known;
		/* Sessions that were made before have others in them. */
		if (known->session == stat->session &&
		    known->session == known->process.pid)
			return known;
	}
	return NULL;
}

static int spread(struct program *program, const struct proc_stat *stats,
		  size_t count)
{
	bool has_more;

	do {
		has_more = false;
		for (size_t i = 0; i < count; i++) {
			struct rms_process process = {
				.pid = stats[i].pid,
				.start = stats[i].start,
			};
			const struct rms_known *origin;
			int result;

			if (stats[i].start < program->start ||
			    find_known(program, &process) != NULL)
				continue;
			origin = find_origin(program, &stats[i]);
			if (origin == NULL)
				continue;
			result =
				search_note(program, &process, origin->setting);
			if (result < 0)
				return result;
			program->known[program->known_count - 1].session =
				stats[i].session;
			has_more = true;
		}
	} while (has_more);
	return 0;
}

int search_among(struct program *program, const struct proc_stat *stats,
		 size_t count, struct members *ret_members)
{
	int result;

	refresh(program, stats, count);
	result = spread(program, stats, count);
	for (size_t i = 0; result == 0 && i < program->known_count; i++) {
		const struct rms_known *known = &program->known[i];
		const struct proc_stat *stat =
			find_stat(stats, count, known->process.pid);
		const struct rms_member member = {
			.process = known->process,
			.setting = known->setting,
		};

		if (!known->has_left && !known->has_ended && stat != NULL &&
		    !proc_stat_is_dead(stat))
			members_add(ret_members, &member);
	}
	return result;
}

int search_members(struct program *program, struct members *ret_members)
{
	_auto_(freep) struct proc_stat *stats = NULL;
	size_t count = 0;
	int result = proc_stat_all(&stats, &count);

	return result < 0 ? result
			  : search_among(program, stats, count, ret_members);
}
