/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/reconcile/compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static enum verdict judge(const char *job, const struct job_listing *first,
			  const struct job_listing *second,
			  bool (*is_name)(const char *name))
{
	if (!is_name(job))
		return VERDICT_FOREIGN;
	if (listing_state(first, job) != LISTED_ENDED ||
	    listing_state(second, job) != LISTED_ENDED)
		return VERDICT_KEPT;
	if (listing_has(first, job) || listing_has(second, job))
		return VERDICT_OVER;
	return VERDICT_FORGOTTEN;
}

size_t compare_grants(struct live_grant *grants, size_t count,
		      const struct job_listing *first,
		      const struct job_listing *second,
		      bool (*is_name)(const char *name))
{
	size_t forgotten = 0;

	for (size_t i = 0; i < count; i++) {
		grants[i].verdict =
			judge(grants[i].job, first, second, is_name);
		if (grants[i].verdict == VERDICT_FORGOTTEN)
			forgotten++;
	}
	return forgotten;
}

bool compare_is_much(size_t forgotten, size_t count)
{
	if (forgotten > 1 && forgotten == count)
		return true;
	return forgotten > COMPARE_MOST && forgotten * COMPARE_SHARE > count;
}

static int by_text(const void *a, const void *b)
{
	const char *const *left = a;
	const char *const *right = b;

	return strcmp(*left, *right);
}

void compare_jobs(const struct live_grant *grants, size_t count,
		  const struct job_listing *first,
		  const struct job_listing *second, const char ***ret_names,
		  size_t *ret_count)
{
	_auto_(freep) const char **granted =
		memory_array(count + 1, sizeof(*granted));
	_auto_(freep) const char **names =
		memory_array(first->count + 1, sizeof(*names));
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		granted[i] = grants[i].job;
	qsort(granted, count, sizeof(*granted), by_text);
	for (size_t i = 0; i < first->count; i++) {
		const char *name = first->jobs[i].name;

		if (first->jobs[i].state == LISTED_RUNNING &&
		    listing_state(second, name) == LISTED_RUNNING &&
		    !bsearch(&name, granted, count, sizeof(name), by_text))
			names[found++] = name;
	}
	*ret_names = take_ptr(names);
	*ret_count = found;
}
