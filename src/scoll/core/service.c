/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Services: few, registered at the start, looked up for each message. One that
 * has requests cannot go (B-32).
 */
#include "base/versioned.h"
#include "scoll/core/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct service *service_find(const struct scoll_core *core,
			     scoll_service_id_t id)
{
	struct service *service = core->services;

	while (service != NULL && service->id != id)
		service = service->next;
	return service;
}

struct group_oob service_oob(const struct service *service)
{
	if (service == NULL)
		return (struct group_oob){ 0 };
	return (struct group_oob){ .members = service->ops.oobgrp,
				   .version = service->ops.oobversion,
				   .private = service->private };
}

static uint32_t service_count(const struct scoll_core *core)
{
	uint32_t count = 0;

	for (const struct service *service = core->services; service != NULL;
	     service = service->next)
		count++;
	return count;
}

int scoll_core_service_register(struct scoll_core *core,
				scoll_service_id_t svid,
				const struct scoll_service_ops *ops,
				void *private)
{
	struct service *service;
	size_t size = ops->size;

	if (svid == 0 || size < offsetof(struct scoll_service_ops, oobgrp) ||
	    !versioned_is_known(ops, size, sizeof(*ops)) ||
	    ops->pre_request == NULL || ops->incoming_request == NULL ||
	    ops->post_reply == NULL)
		return -EINVAL;
	if (service_find(core, svid) != NULL)
		return -EEXIST;
	if (service_count(core) >= SERVICES_MAX)
		return -E2BIG;
	service = calloc(1, sizeof(*service));
	if (service == NULL)
		return -ENOMEM;
	if (size > sizeof(service->ops))
		size = sizeof(service->ops);
	memcpy(&service->ops, ops, size);
	service->private = private;
	service->id = svid;
	service->next = core->services;
	core->services = service;
	return 0;
}

int scoll_core_service_unregister(struct scoll_core *core,
				  scoll_service_id_t svid)
{
	struct service **at = &core->services;
	struct service *service;

	while (*at != NULL && (*at)->id != svid)
		at = &(*at)->next;
	service = *at;
	if (service == NULL)
		return -ENOENT;
	if (service->use_count > 0)
		return -EBUSY;
	*at = service->next;
	free(service);
	return 0;
}
