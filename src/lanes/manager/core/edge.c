/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of edges, from the one table. */
#include "lanes/manager/core/edge.h"

#include <assert.h>

static const char *const names[] = {
#define EDGE_TEXT(name, text) [EDGE_##name] = text,
	EDGE_TABLE(EDGE_TEXT)
#undef EDGE_TEXT
		[EDGE_COUNT] = NULL,
};

const char *const *edge_names(void)
{
	return names;
}

void edge_hit(const struct edge_probe *probe, enum edge edge)
{
	assert(edge < EDGE_COUNT);
	if (probe->hit != NULL)
		probe->hit(probe->ctx, names[edge]);
}
