/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of scoll/tree know of each other. */
#pragma once

#include "scoll/tree/tree.h"

extern const struct scoll_tree_ops tree_flat, tree_binomial, tree_knomial,
	tree_kary, tree_logp;

#define TREE_OPTION_BITS 24
#define TREE_OPTION_MAX  ((UINT32_C(1) << TREE_OPTION_BITS) - 1)

/* The type's table, whatever its option; NULL: there is none. */
const struct scoll_tree_ops *tree_type_ops(const struct tree_types *types,
					   uint32_t number);

/*
 * Children in the order in which they are served; returns how many. ranks, for
 * scratch, and ret_children have the capacity. -EINVAL: there are more, or a
 * child is not of this node.
 */
int64_t tree_children(const struct tree *tree, enum scoll_order order,
		      uint32_t rank, uint32_t capacity, uint32_t *ranks,
		      struct tree_child *ret_children);
