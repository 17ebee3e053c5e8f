/* SPDX-License-Identifier: BSD-3-Clause */
/* Services and groups: the core's, under the lock. */
#include "scoll/api/internal.h"

#include <errno.h>

#include "sys/clock.h"

int scoll_service_register(scoll_t *scoll, scoll_service_id_t svid,
			   const struct scoll_service_ops *ops, void *private)
{
	return SCOLL_LOCKED(scoll, scoll_core_service_register(
					   scoll->core, svid, ops, private));
}

int scoll_service_unregister(scoll_t *scoll, scoll_service_id_t svid)
{
	return SCOLL_LOCKED(scoll,
			    scoll_core_service_unregister(scoll->core, svid));
}

int scoll_group_create(scoll_t *scoll, scoll_service_id_t svid,
		       const char *name, const scoll_target_t *targets, int cnt,
		       scoll_tree_type_t tree, bool populate_now,
		       scoll_create_group_cb_t cb, const void *private)
{
	struct core_callback callback = { 0 };
	int result;

	scoll_lock(scoll);
	result = scoll_core_group_create(scoll->core, sys_monotonic_ns(), svid,
					 name, targets, cnt, tree, populate_now,
					 cb, private, &callback);
	scoll_unlock_changed(scoll);
	if (result == 0 && !populate_now)
		core_callback_call(&callback);
	return result;
}

scoll_group_t *scoll_oob_group_create(scoll_t *scoll, scoll_service_id_t svid,
				      const char *name, scoll_oobgrp_id_t oobid,
				      scoll_tree_type_t tree,
				      const void *private)
{
	scoll_group_t *group = NULL;
	int result;

	scoll_lock(scoll);
	result = scoll_core_oob_group_create(scoll->core, svid, name, &oobid,
					     tree, private, &group);
	scoll_unlock(scoll);
	if (result < 0) {
		errno = -result;
		return NULL;
	}
	return group;
}

int scoll_group_failure_next(scoll_t *scoll, uint64_t *cursor,
			     struct scoll_failure *ret_failure)
{
	return SCOLL_LOCKED(scoll, scoll_core_group_failure_next(
					   scoll->core, cursor, ret_failure));
}

int scoll_group_keep(scoll_group_t *group)
{
	struct scoll *scoll = scoll_of_group(group);

	return SCOLL_LOCKED(scoll, scoll_core_group_keep(group));
}

void scoll_group_destroy(scoll_group_t *group)
{
	struct scoll *scoll = scoll_of_group(group);

	scoll_lock(scoll);
	scoll_core_group_destroy(group, sys_monotonic_ns());
	scoll_unlock_changed(scoll);
}

/* The core asks an out-of-band group's service, and so changes the handle. */
int scoll_group_nodes(const scoll_group_t *group)
{
	struct scoll *scoll = scoll_of_group(group);

	return SCOLL_LOCKED(scoll,
			    scoll_core_group_nodes((scoll_group_t *)group));
}

int scoll_group_entities(const scoll_group_t *group)
{
	struct scoll *scoll = scoll_of_group(group);

	return SCOLL_LOCKED(scoll,
			    scoll_core_group_entities((scoll_group_t *)group));
}

int scoll_get_nchildren(scoll_group_t *group)
{
	struct scoll *scoll = scoll_of_group(group);

	return SCOLL_LOCKED(scoll, scoll_core_get_nchildren(group));
}

int scoll_get_childtree_nodes(scoll_group_t *group, int child)
{
	struct scoll *scoll = scoll_of_group(group);

	return SCOLL_LOCKED(scoll,
			    scoll_core_get_childtree_nodes(group, child));
}

int scoll_get_childtree_entities(scoll_group_t *group, int child)
{
	struct scoll *scoll = scoll_of_group(group);

	return SCOLL_LOCKED(scoll,
			    scoll_core_get_childtree_entities(group, child));
}
