/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shapes of spanning trees. A shape is a function of its type and of the
 * number of nodes alone: no tree is ever built or sent. Every question is
 * answered in O(log n), but for the list of a node's children, which takes as
 * long as it is.
 *
 * Nodes have ranks from 0 to n - 1; the root is 0. The members of a group are
 * turned so that this holds: see scoll/core/choice.h.
 *
 * A tree is a value: it needs no clean-up, may be copied and is read only once
 * it is made, by as many threads as like.
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

#define TREE_NODES_MAX (UINT32_C(1) << 31)

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

/* One node and its subtree; rank < node_count, here and below. */
struct scoll_tree_node tree_node(const struct tree *tree, uint32_t rank);
/*
 * The subtree's ranks as ranges; returns how many, 0 when the kind's own are
 * none of this tree, which they are checked for. With sums over the group's
 * order they say what a subtree has, and which nodes are lost with it.
 */
uint32_t tree_ranges(const struct tree *tree, uint32_t rank,
		     struct scoll_tree_range ret_ranges[SCOLL_TREE_RANGES_MAX]);
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
	/* The caller's, which knows the members that have the ranks: */
	uint32_t entities; /* of its subtree */
	scoll_nid_t nid;
};

/*
 * A node, and how many children it has. -EINVAL: rank is not below node_count,
 * or the kind describes no node of a tree.
 */
int tree_view(const struct tree *tree, uint32_t rank,
	      struct scoll_tree_node *ret_node, uint32_t *ret_child_count);
/*
 * All children of a node, as tree_view returned it, in the order in which they
 * are served. -EINVAL: together they are no tree; -ENOMEM.
 */
int tree_view_children(const struct tree *tree, enum scoll_order order,
		       uint32_t rank, const struct scoll_tree_node *node,
		       uint32_t child_count, struct tree_child *ret_children);
