/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/plugin/flux/resources.h"

#include <errno.h>
#include <flux/hostlist.h>
#include <flux/idset.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/runs.h"

struct rank_cores {
	unsigned int rank;
	size_t cores;
};

struct rank_list {
	size_t count;
	struct rank_cores *list;
};

static int compare_ranks(const void *left, const void *right)
{
	const struct rank_cores *a = left;
	const struct rank_cores *b = right;

	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* One entry of R_lite: the same cores on each of its ranks. */
static int add_places(struct rank_list *places, const json_t *entry)
{
	struct idset *ranks = NULL;
	struct idset *cores = NULL;
	const char *rank_text = NULL;
	const char *core_text = "";
	struct rank_cores *list = NULL;

	if (json_unpack((json_t *)entry, "{s:s, s?{s?s}}", "rank", &rank_text,
			"children", "core", &core_text) == 0) {
		ranks = idset_decode(rank_text);
		cores = idset_decode(core_text);
	}
	if (ranks && cores && idset_count(ranks) > 0)
		list = realloc(places->list,
			       (places->count + idset_count(ranks)) *
				       sizeof(*list));
	if (list) {
		places->list = list;
		for (unsigned int rank = idset_first(ranks);
		     rank != IDSET_INVALID_ID; rank = idset_next(ranks, rank))
			list[places->count++] = (struct rank_cores){
				.rank = rank,
				.cores = idset_count(cores),
			};
	}
	idset_destroy(ranks);
	idset_destroy(cores);
	return list ? 0 : -EINVAL;
}

static struct hostlist *read_hosts(const json_t *nodelist)
{
	struct hostlist *hosts = hostlist_create();
	const json_t *item;
	size_t i;

	json_array_foreach ((json_t *)nodelist, i, item)
		if (!json_is_string(item) ||
		    hostlist_append(hosts, json_string_value(item)) < 0) {
			hostlist_destroy(hosts);
			return NULL;
		}
	return hosts;
}

/* Cores by name, in the order of the ranks: jansson keeps it. */
static json_t *sum_cores(const struct rank_list *places, struct hostlist *hosts)
{
	json_t *nodes = json_object();
	const char *host = hostlist_first(hosts);

	for (size_t i = 0; i < places->count && host; i++) {
		json_int_t cores =
			json_integer_value(json_object_get(nodes, host));

		cores += (json_int_t)places->list[i].cores;
		json_object_set_new(nodes, host, json_integer(cores));
		host = hostlist_next(hosts);
	}
	return nodes;
}

static char *format_nodes(const json_t *nodes)
{
	struct hostlist *hosts = hostlist_create();
	const char *name;
	json_t *cores;
	char *text;

	json_object_foreach ((json_t *)nodes, name, cores)
		hostlist_append(hosts, name);
	text = hostlist_encode(hosts);
	hostlist_destroy(hosts);
	return text;
}

/* A node without a core of its own is asked for as one with one. */
static char *format_cores(const json_t *nodes)
{
	uint32_t *list = calloc(json_object_size(nodes) + 1, sizeof(*list));
	size_t count = 0;
	const char *name;
	json_t *cores;
	char *text;

	if (!list)
		return NULL;
	json_object_foreach ((json_t *)nodes, name, cores)
		list[count++] = json_integer_value(cores) > 0
					? (uint32_t)json_integer_value(cores)
					: 1;
	text = runs_format(list, count);
	free(list);
	return text;
}

static json_t *read_nodes(const json_t *R)
{
	const json_t *execution = json_object_get(R, "execution");
	struct hostlist *hosts =
		read_hosts(json_object_get(execution, "nodelist"));
	struct rank_list places = { 0 };
	json_t *nodes = NULL;
	const json_t *entry;
	int result = 0;
	size_t i;

	json_array_foreach (json_object_get(execution, "R_lite"), i, entry)
		if (result == 0)
			result = add_places(&places, entry);
	if (result == 0 && hosts && places.count > 0 &&
	    (size_t)hostlist_count(hosts) == places.count) {
		qsort(places.list, places.count, sizeof(*places.list),
		      compare_ranks);
		nodes = sum_cores(&places, hosts);
	}
	free(places.list);
	hostlist_destroy(hosts);
	return nodes;
}

int resources_read(const json_t *R, char **ret_nodes, char **ret_cores,
		   struct fairlead_error *ret_error)
{
	json_t *nodes = read_nodes(R);
	char *names;
	char *cores;

	if (!nodes)
		return error_set(ret_error, -EINVAL,
				 "the job's resources are not understood: "
				 "R has no ranks with a host each");
	names = format_nodes(nodes);
	cores = format_cores(nodes);
	json_decref(nodes);
	if (!names || !cores) {
		free(names);
		free(cores);
		return error_set(ret_error, -ENOMEM, "out of memory");
	}
	*ret_nodes = names;
	*ret_cores = cores;
	return 0;
}
