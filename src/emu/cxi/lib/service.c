/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The service model's functions: each checks its arguments as the vendor's
 * does, asks the daemon, and hands out what comes back. Lists are one block
 * from malloc, since callers free them with free().
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "emu/cxi/lib/device.h"

int cxil_alloc_svc(struct cxil_dev *dev, const struct cxi_svc_desc *desc,
		   struct cxi_svc_fail_info *ret_fail_info)
{
	struct wire_request request = { .op = WIRE_ALLOC_SVC };
	_auto_(exchange_fini) struct exchange exchange = { 0 };
	int result;

	if (dev == NULL || desc == NULL)
		return -EINVAL;
	request.desc = *desc;
	result = device_exchange((struct device *)dev, &request, &exchange);
	if (result < 0 && exchange.packet != NULL && ret_fail_info != NULL)
		wire_read(&exchange.reply.body, ret_fail_info,
			  sizeof(*ret_fail_info));
	return result;
}

int cxil_destroy_svc(struct cxil_dev *dev, unsigned int svc_id)
{
	struct wire_request request = {
		.op = WIRE_DESTROY_SVC,
		.id = svc_id,
	};

	return svc_id == 0 ? -EINVAL : device_call(dev, &request);
}

int cxil_update_svc(struct cxil_dev *dev, const struct cxi_svc_desc *desc,
		    struct cxi_svc_fail_info *ret_fail_info)
{
	struct wire_request request = { .op = WIRE_UPDATE_SVC };

	if (desc == NULL)
		return -EINVAL;
	request.desc = *desc;
	return device_call(dev, &request);
}

int cxil_get_svc(struct cxil_dev *dev, unsigned int svc_id,
		 struct cxi_svc_desc *ret_desc)
{
	return device_read(dev, WIRE_GET_SVC, svc_id, ret_desc,
			   sizeof(*ret_desc));
}

/*
 * A list is a count, which the caller sets, and its items from `head` on, each
 * of so many bytes. How many, or a negative errno.
 */
static int get_list(struct cxil_dev *dev, enum wire_op op, size_t head,
		    size_t size, void **ret_list)
{
	struct wire_request request = { .op = op };
	_auto_(exchange_fini) struct exchange exchange = { 0 };
	_auto_(freep) char *list = NULL;
	int count;

	if (dev == NULL || ret_list == NULL)
		return -EINVAL;
	count = device_exchange((struct device *)dev, &request, &exchange);
	if (count < 0)
		return count;
	if (count > WIRE_LIST_MAX)
		return -EIO;
	list = calloc(1, head + (size_t)count * size);
	if (list == NULL)
		return -ENOMEM;
	wire_read(&exchange.reply.body, list + head, (size_t)count * size);
	if (!reader_is_done(&exchange.reply.body))
		return -EIO;
	*ret_list = take_ptr(list);
	return count;
}

int cxil_get_svc_list(struct cxil_dev *dev, struct cxil_svc_list **ret_list)
{
	int count = get_list(dev, WIRE_GET_SVC_LIST,
			     offsetof(struct cxil_svc_list, descs),
			     sizeof((*ret_list)->descs[0]), (void **)ret_list);

	if (count >= 0)
		(*ret_list)->count = (uint32_t)count;
	return count < 0 ? count : 0;
}

void cxil_free_svc_list(struct cxil_svc_list *list)
{
	free(list);
}

int cxil_get_svc_rsrc_use(struct cxil_dev *dev, unsigned int svc_id,
			  struct cxi_rsrc_use *ret_use)
{
	return device_read(dev, WIRE_GET_SVC_RSRC_USE, svc_id, ret_use,
			   sizeof(*ret_use));
}

int cxil_get_svc_rsrc_list(struct cxil_dev *dev,
			   struct cxil_svc_rsrc_list **ret_list)
{
	int count = get_list(dev, WIRE_GET_SVC_RSRC_LIST,
			     offsetof(struct cxil_svc_rsrc_list, rsrcs),
			     sizeof((*ret_list)->rsrcs[0]), (void **)ret_list);

	if (count >= 0)
		(*ret_list)->count = (uint32_t)count;
	return count < 0 ? count : 0;
}

void cxil_free_svc_rsrc_list(struct cxil_svc_rsrc_list *list)
{
	free(list);
}
