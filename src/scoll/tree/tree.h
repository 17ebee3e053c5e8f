/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shapes of spanning trees. A shape is a function of its type and of the
 * number of nodes alone: no tree is ever built or sent. Every question is
 * answered in O(log n), but for the list of a node's children, which takes as
 * long as it is.
 *
 * Two numberings: a node's *rank* is its place in its group, 0..n-1. Its *tree
 * rank* counts from the root, (rank - root + n) mod n, so that a shape has but
 * one root, 0. Plug-ins speak of tree ranks only; views, and functions that
 * take a root, of ranks.
 *
 * A tree is a value: it needs no clean-up, may be copied and is read only once
 * it is made, by as many threads as like. Views are made once for each root and
 * kept by the caller.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "scoll.h"

/* --- types --- */

#define TREE_TYPES_USER_MAX 128

/* The types there are besides flat, binomial, knomial, kary, logp. Zero: none. */
struct tree_types {
	const struct scoll_tree_ops *ops_ref[TREE_TYPES_USER_MAX];
};

/*
 * Add a type under a number, SCOLL_TREE_USER..255. ops has to outlive `types`.
 * -EINVAL: no such number, or a table that lacks something; -EEXIST: number
 * or name are taken.
 */
int tree_types_add(struct tree_types *types, uint32_t number,
		   const struct scoll_tree_ops *ops);
/*
 * Read "flat", "binomial", "knomial:4", "kary:8", "logp:8.5" or a registered
 * type's. types may be NULL here and below: the built-in ones only. -EINVAL
 * with the reason.
 */
int tree_type_parse(const struct tree_types *types, const char *text,
		    scoll_tree_type_t *ret_type,
		    struct fairlead_error *ret_error);
/*
 * The text, which tree_type_parse reads as the same type; returns it. A type
 * that tree_type_check refuses becomes "?".
 */
const char *tree_type_format(const struct tree_types *types,
			     scoll_tree_type_t type,
			     char ret_text[SCOLL_TREE_TEXT]);
/* 0. -ENOENT: there is no such type; -EINVAL: it has no such option. */
int tree_type_check(const struct tree_types *types, scoll_tree_type_t type);

/* --- trees --- */

#define TREE_NODES_MAX  (UINT32_C(1) << 31)
#define TREE_RANGES_MAX (SCOLL_TREE_RANGES_MAX + 1) /* one may wrap around */

struct tree {
	const struct scoll_tree_ops *ops;
	scoll_tree_type_t type;
	struct scoll_tree_shape shape;
};

/*
 * Make the tree of this type over node_count nodes. As tree_type_check;
 * -ERANGE: node_count is 0 or above TREE_NODES_MAX.
 */
int tree_init(const struct tree_types *types, scoll_tree_type_t type,
	      uint32_t node_count, struct tree *ret_tree);

/* Between the numberings; root and rank are below node_count. */
static inline uint32_t tree_rank_from(uint32_t rank, uint32_t root,
				      uint32_t node_count)
{
	return rank >= root ? rank - root : node_count - root + rank;
}

static inline uint32_t tree_rank_to(uint32_t tree_rank, uint32_t root,
				    uint32_t node_count)
{
	return tree_rank < node_count - root ? tree_rank + root
					     : tree_rank - (node_count - root);
}

/* One node and its subtree; the root's parent is its own rank. */
struct scoll_tree_node tree_node(const struct tree *tree, uint32_t root,
				 uint32_t rank);
/*
 * The subtree's ranks as ranges, rising as tree ranks; returns how many, 0 when
 * the kind's own are none of this tree, which they are checked for. With
 * sums over the group's order they say what a subtree has, and who is lost with
 * it.
 */
uint32_t tree_ranges(const struct tree *tree, uint32_t root, uint32_t rank,
		     struct scoll_tree_range ret_ranges[TREE_RANGES_MAX]);
/*
 * How many children the root has. No node of a built-in type has more. Takes as
 * long as the list of them.
 */
uint32_t tree_width(const struct tree *tree);

/* --- one node's view --- */

struct tree_child {
	uint32_t rank;
	uint32_t size;  /* nodes of its subtree, itself included */
	uint32_t depth; /* edges down to its deepest node */
};

struct tree_view {
	uint32_t rank;
	uint32_t root;
	struct scoll_tree_node node; /* the root's parent is its own rank */
	uint32_t child_count;
	struct tree_child
		children[]; /* in the order in which they are served */
};

/*
 * What the node `rank` has to know of the tree rooted at `root`. -EINVAL: one
 * of them is not below node_count, or what the kind says of the node and its
 * children is no tree; -ENOMEM.
 */
int tree_view_create(const struct tree *tree, enum scoll_order order,
		     uint32_t root, uint32_t rank, struct tree_view **ret_view);
void tree_view_destroy(struct tree_view *view);
