/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/plugin/flux/resources.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hostlist.h"
#include "base/idset.h"
#include "base/runs.h"

#define RANKS_MAX HOSTLIST_COUNT_MAX
#define CORES_MAX RUNS_VALUE_MAX

struct rank_cores {
	struct idset *ranks;
	uint32_t cores[RANKS_MAX]; /* by rank */
};

/* One entry of R_lite: the same cores on each of its ranks. */
static int add_entry(struct rank_cores *all, const json_t *entry)
{
	_auto_(idset_destroyp) struct idset *ranks = NULL;
	_auto_(idset_destroyp) struct idset *cores = NULL;
	const char *rank_text = NULL;
	const char *core_text = "";

	if (json_unpack((json_t *)entry, "{s:s, s?{s?s}}", "rank", &rank_text,
			"children", "core", &core_text) < 0 ||
	    idset_parse(rank_text, RANKS_MAX, &ranks, NULL) < 0 ||
	    idset_parse(core_text, CORES_MAX, &cores, NULL) < 0)
		return -EINVAL;
	idset_foreach (rank, ranks) {
		idset_add(all->ranks, rank);
		all->cores[rank] += idset_count(cores);
	}
	return 0;
}

static void add_cores(json_t *nodes, const char *name, uint32_t cores)
{
	json_int_t others = json_integer_value(json_object_get(nodes, name));

	json_object_set_new(nodes, name, json_integer(others + cores));
}

/* Hosts, in the order of the ranks; *rank is that of the first one. */
static int add_hosts(json_t *nodes, const char *text,
		     const struct rank_cores *all, uint32_t *rank)
{
	_auto_(hostlist_destroyp) struct hostlist *hosts = NULL;

	if (!text || hostlist_parse(text, &hosts, NULL) < 0)
		return -EINVAL;
	for (size_t i = 0; i < hosts->count; i++) {
		if (*rank == IDSET_NONE)
			return -EINVAL;
		add_cores(nodes, hosts->names[i], all->cores[*rank]);
		*rank = idset_next(all->ranks, *rank + 1);
	}
	return 0;
}

/* Cores by name, in the order of the ranks: jansson keeps it. */
static int read_nodes(const json_t *R, struct rank_cores *all, json_t *nodes)
{
	const json_t *execution = json_object_get(R, "execution");
	const json_t *item;
	uint32_t rank;
	size_t i;

	json_array_foreach (json_object_get(execution, "R_lite"), i, item)
		if (add_entry(all, item) < 0)
			return -EINVAL;
	rank = idset_next(all->ranks, 0);
	json_array_foreach (json_object_get(execution, "nodelist"), i, item)
		if (add_hosts(nodes, json_string_value(item), all, &rank) < 0)
			return -EINVAL;
	return rank == IDSET_NONE && json_object_size(nodes) > 0 ? 0 : -EINVAL;
}

/* A node without a core of its own is asked for as one with one. */
static int format(const json_t *nodes, char **ret_nodes, char **ret_cores)
{
	size_t count = json_object_size(nodes);
	_auto_(freep) const char **names = calloc(count, sizeof(*names));
	_auto_(freep) uint32_t *counts = calloc(count, sizeof(*counts));
	const char *name;
	json_t *cores;
	size_t i = 0;

	if (!names || !counts)
		return -ENOMEM;
	json_object_foreach ((json_t *)nodes, name, cores) {
		names[i] = name;
		counts[i] = (uint32_t)json_integer_value(cores);
		if (counts[i] == 0)
			counts[i] = 1;
		i++;
	}
	*ret_nodes = hostlist_format(names, count);
	*ret_cores = runs_format(counts, count);
	if (*ret_nodes && *ret_cores)
		return 0;
	free(*ret_nodes);
	free(*ret_cores);
	return -ENOMEM;
}

int resources_read(const json_t *R, char **ret_nodes, char **ret_cores,
		   struct fairlead_error *ret_error)
{
	_auto_(freep) struct rank_cores *all = calloc(1, sizeof(*all));
	json_auto_t *nodes = json_object();
	int result;

	if (!all || idset_create(RANKS_MAX, &all->ranks) < 0)
		return error_set(ret_error, -ENOMEM, "out of memory");
	result = read_nodes(R, all, nodes);
	idset_destroy(all->ranks);
	if (result < 0)
		return error_set(ret_error, -EINVAL,
				 "the job's resources are not understood: "
				 "R has no ranks with a host each");
	if (format(nodes, ret_nodes, ret_cores) < 0)
		return error_set(ret_error, -ENOMEM, "out of memory");
	return 0;
}
