/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes that say the same thing are one line. A group is an errno and a text,
 * and the nodes that gave them; there are at most CORE_GROUPS_MAX groups, and
 * nodes with yet another text are only counted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lanes/manager/core/node.h"

#define GROUP_TEXT_MAX 2047 /* bytes of a node's text; longer ones are cut */

struct group {
	int code;
	char *text; /* clean */
	uint32_t *nodes;
	size_t node_count, node_capacity;
};

struct groups {
	struct group *list;
	size_t count;
	size_t node_count; /* in all, also the ones that have no group */
	size_t more;       /* nodes that have none */
};

/* All zero is empty. */
void groups_fini(struct groups *groups);
/*
 * code is 0 or a negative errno; text may be NULL. The same text of the same
 * node twice in a row counts once.
 */
void groups_add(struct groups *groups, int code, const char *text,
		uint32_t node);

/*
 * [{"nodes":"n[3-4]","text":"..","errno":-5}], errno where asked for; the
 * caller frees it.
 */
char *groups_json(const struct groups *groups, const struct nodes *nodes,
		  bool has_errno);
/* "n[3-4]: ..; n7: ..", cut to capacity bytes. */
void groups_format(const struct groups *groups, const struct nodes *nodes,
		   char *text, size_t capacity);
