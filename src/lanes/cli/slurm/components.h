/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The components of a heterogeneous job, as squeue lists them. They share one
 * grant, under the leader's id.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hostlist.h"

#define COMPONENTS_MAX 128 /* Slurm's own maximum */

enum component_state {
	COMPONENT_OVER,    /* or not begun: nothing of it runs */
	COMPONENT_ENDING,  /* its tasks are, or their epilogs */
	COMPONENT_THERE,   /* it is starting, or in a state not known here */
	COMPONENT_RUNNING, /* its PrologSlurmctld has ended well */
};

struct component {
	uint32_t id;
	enum component_state state;
	uint32_t cpu_count;
	struct hostlist *nodes; /* NULL: it has none */
};

struct components {
	size_t count;
	struct component items[COMPONENTS_MAX];
};

/*
 * The arguments for squeue of the components of leader `id_text`, ended by
 * NULL: one line each of the format that components_parse() reads.
 */
#define COMPONENTS_SQUEUE(id_text)                                          \
	{                                                                   \
		"squeue", "-h", "-a", "-j", (id_text), "-o", "%A|%T|%C|%N", \
			NULL                                                \
	}

/*
 * text is changed. The caller frees *ret_components with components_destroy().
 * -EINVAL with a text: a line is no such line, or there is none; -E2BIG.
 */
int components_parse(char *text, struct components **ret_components,
		     struct fairlead_error *ret_error);
void components_destroy(struct components *components);
DEFINE_AUTO(struct components, components_destroy)

/* Those for squeue about the job `id_text`: lines for components_is_over(). */
#define COMPONENTS_SQUEUE_STATE(id_text)                                  \
	{                                                                 \
		"squeue", "-h", "-a", "-t", "all", "-j", (id_text), "-o", \
			"%A|%T", NULL                                     \
	}

/* A line says of job `id` that nothing of it runs, or is about to. */
bool components_is_over(const char *text, uint32_t id);

/*
 * Another component than `id` is there: on this node, be it at its end, or,
 * where node is NULL, anywhere.
 */
bool components_has_other(const struct components *components, uint32_t id,
			  const char *node);

bool components_is_running(const struct components *components, uint32_t id);

/*
 * All nodes of those that are there, each once, and the cores of each along
 * them: the sum of its components', a component's spread evenly. The caller
 * frees both texts. -ENODATA: there are none.
 */
int components_join(const struct components *components, char **ret_nodes,
		    char **ret_cores, struct fairlead_error *ret_error);
