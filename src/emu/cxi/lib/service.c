/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The service model's functions: each checks its arguments as the vendor's
 * does, asks the daemon, and hands out what comes back. Lists are one block
 * from malloc, since callers free them with free().
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "emu/cxi/lib/device.h"

static int done(struct exchange *exchange, int result)
{
	return reader_is_done(&exchange->reply.body) ? result : -EIO;
}

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
		wire_read_fail_info(&exchange.reply.body, ret_fail_info);
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
	struct wire_request request = { .op = WIRE_GET_SVC, .id = svc_id };
	_auto_(exchange_fini) struct exchange exchange = { 0 };
	struct cxi_svc_desc desc;
	int result;

	if (dev == NULL || ret_desc == NULL)
		return -EINVAL;
	result = device_exchange((struct device *)dev, &request, &exchange);
	if (result < 0)
		return result;
	wire_read_desc(&exchange.reply.body, &desc);
	result = done(&exchange, result);
	if (result == 0)
		*ret_desc = desc;
	return result;
}

int cxil_get_svc_list(struct cxil_dev *dev, struct cxil_svc_list **ret_list)
{
	struct wire_request request = { .op = WIRE_GET_SVC_LIST };
	_auto_(exchange_fini) struct exchange exchange = { 0 };
	_auto_(freep) struct cxil_svc_list *list = NULL;
	int count;

	if (dev == NULL || ret_list == NULL)
		return -EINVAL;
	count = device_exchange((struct device *)dev, &request, &exchange);
	if (count < 0)
		return count;
	if (count > WIRE_LIST_MAX)
		return -EIO;
	list = calloc(1,
		      sizeof(*list) + (size_t)count * sizeof(list->descs[0]));
	if (list == NULL)
		return -ENOMEM;
	for (int i = 0; i < count; i++)
		wire_read_desc(&exchange.reply.body, &list->descs[i]);
	if (done(&exchange, 0) < 0)
		return -EIO;
	list->count = (uint32_t)count;
	*ret_list = take_ptr(list);
	return 0;
}

void cxil_free_svc_list(struct cxil_svc_list *list)
{
	free(list);
}

int cxil_get_svc_rsrc_use(struct cxil_dev *dev, unsigned int svc_id,
			  struct cxi_rsrc_use *ret_use)
{
	struct wire_request request = {
		.op = WIRE_GET_SVC_RSRC_USE,
		.id = svc_id,
	};
	_auto_(exchange_fini) struct exchange exchange = { 0 };
	struct cxi_rsrc_use use;
	int result;

	if (dev == NULL || ret_use == NULL)
		return -EINVAL;
	result = device_exchange((struct device *)dev, &request, &exchange);
	if (result < 0)
		return result;
	wire_read_use(&exchange.reply.body, &use);
	result = done(&exchange, result);
	if (result == 0)
		*ret_use = use;
	return result;
}

int cxil_get_svc_rsrc_list(struct cxil_dev *dev,
			   struct cxil_svc_rsrc_list **ret_list)
{
	struct wire_request request = { .op = WIRE_GET_SVC_RSRC_LIST };
	_auto_(exchange_fini) struct exchange exchange = { 0 };
	_auto_(freep) struct cxil_svc_rsrc_list *list = NULL;
	int count;

	if (dev == NULL || ret_list == NULL)
		return -EINVAL;
	count = device_exchange((struct device *)dev, &request, &exchange);
	if (count < 0)
		return count;
	if (count > WIRE_LIST_MAX)
		return -EIO;
	list = calloc(1,
		      sizeof(*list) + (size_t)count * sizeof(list->rsrcs[0]));
	if (list == NULL)
		return -ENOMEM;
	for (int i = 0; i < count; i++)
		wire_read_use(&exchange.reply.body, &list->rsrcs[i]);
	if (done(&exchange, 0) < 0)
		return -EIO;
	list->count = (uint32_t)count;
	*ret_list = take_ptr(list);
	return 0;
}

void cxil_free_svc_rsrc_list(struct cxil_svc_rsrc_list *list)
{
	free(list);
}
