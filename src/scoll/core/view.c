/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the user may ask about groups and requests. A request's tree is the one
 * that it runs along; a group's is the one of which we would be the root
 * (B-40).
 */
#include "scoll/core/internal.h"

static const struct tree_child *child_of(const scoll_request_t *request,
					 int child)
{
	const struct group_tree *tree = bcast_of(request)->tree;

	if (child < 0 || (uint32_t)child >= tree->child_count)
		return NULL;
	return &tree->children[child];
}

struct scoll_core *scoll_core_of_request(const scoll_request_t *request)
{
	return bcast_of(request)->core;
}

int scoll_request_nchildren(const scoll_request_t *request)
{
	return (int)bcast_of(request)->tree->child_count;
}

scoll_nid_t scoll_request_child_nid(const scoll_request_t *request, int child)
{
	const struct tree_child *node = child_of(request, child);

	return node != NULL ? node->nid : SCOLL_NID_ANY;
}

int scoll_request_childtree_nodes(const scoll_request_t *request, int child)
{
	const struct tree_child *node = child_of(request, child);

	return node != NULL ? (int)node->size : -EINVAL;
}

int scoll_request_childtree_entities(const scoll_request_t *request, int child)
{
	const struct tree_child *node = child_of(request, child);

	return node != NULL ? (int)node->entities : -EINVAL;
}

int scoll_request_depth(const scoll_request_t *request)
{
	return (int)bcast_of(request)->tree->node.depth;
}

bool scoll_request_is_root(const scoll_request_t *request)
{
	return bcast_of(request)->is_root;
}

scoll_nid_t scoll_request_root(const scoll_request_t *request)
{
	return bcast_of(request)->root;
}

scoll_group_t *scoll_request_group(const scoll_request_t *request)
{
	return bcast_of(request)->group;
}

void *scoll_request_service(const scoll_request_t *request)
{
	const struct bcast *bcast = bcast_of(request);

	return bcast->service != NULL ? bcast->service->private : NULL;
}

void scoll_core_request_times(const scoll_request_t *request,
			      struct scoll_request_times *ret_times)
{
	const struct bcast *bcast = bcast_of(request);

	*ret_times = (struct scoll_request_times){
		.received = bcast->received_ns,
		.sent = bcast->sent_ns,
		.replied = bcast->children_left == 0 ? bcast->replied_ns : 0,
	};
}

/* --- groups --- */

struct scoll_core *scoll_core_of_group(const scoll_group_t *group)
{
	return group_table_owner(group->table);
}

const char *scoll_group_name(const scoll_group_t *group)
{
	return group->name;
}

const void *scoll_group_private(const scoll_group_t *group)
{
	return group->private;
}

/* Who is in it now. */
static int refresh(scoll_group_t *group)
{
	const struct scoll_core *core = scoll_core_of_group(group);
	const struct service *service = service_find(core, group->service);
	struct group_oob oob = service_oob(service);

	if (!group->id.is_oob)
		return 0;
	if (service == NULL)
		return -ENOENT;
	return group_oob_refresh(group, &oob);
}

int scoll_core_group_nodes(scoll_group_t *group)
{
	int result = refresh(group);

	return result < 0 ? result : (int)group->membership->count;
}

int scoll_core_group_entities(scoll_group_t *group)
{
	int result = refresh(group);

	return result < 0 ? result : (int)group->membership->entity_count;
}

static int own_tree(scoll_group_t *group, struct group_tree **ret_tree)
{
	const struct scoll_core *core = scoll_core_of_group(group);
	_auto_(choice_unrefp) struct choice *all = NULL;
	int result = refresh(group);

	if (result == 0)
		result = choice_all(group->membership, &all);
	if (result < 0)
		return result;
	return group_tree_get(group, all, core->options.nid,
			      tree_of(core, group->tree), core->options.order,
			      ret_tree);
}

int scoll_core_get_nchildren(scoll_group_t *group)
{
	_auto_(group_tree_unrefp) struct group_tree *tree = NULL;
	int result = own_tree(group, &tree);

	return result < 0 ? result : (int)tree->child_count;
}

static int own_child(scoll_group_t *group, int child,
		     struct tree_child *ret_child)
{
	_auto_(group_tree_unrefp) struct group_tree *tree = NULL;
	int result = own_tree(group, &tree);

	if (result < 0)
		return result;
	if (child < 0 || (uint32_t)child >= tree->child_count)
		return -EINVAL;
	*ret_child = tree->children[child];
	return 0;
}

int scoll_core_get_childtree_nodes(scoll_group_t *group, int child)
{
	struct tree_child node;
	int result = own_child(group, child, &node);

	return result < 0 ? result : (int)node.size;
}

int scoll_core_get_childtree_entities(scoll_group_t *group, int child)
{
	struct tree_child node;
	int result = own_child(group, child, &node);

	return result < 0 ? result : (int)node.entities;
}
