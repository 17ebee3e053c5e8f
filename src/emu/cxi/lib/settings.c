/* SPDX-License-Identifier: BSD-3-Clause */
/* What is set on a service after it was made, and logical NIs. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "emu/cxi/lib/device.h"

static int done(struct exchange *exchange)
{
	return reader_is_done(&exchange->reply.body) ? 0 : -EIO;
}

int cxil_svc_enable(struct cxil_dev *dev, unsigned int svc_id, bool enable)
{
	struct wire_request request = {
		.op = WIRE_SVC_ENABLE,
		.id = svc_id,
		.value = enable,
	};

	return device_call(dev, &request);
}

int cxil_set_svc_lpr(struct cxil_dev *dev, unsigned int svc_id,
		     unsigned int lnis_per_rgid)
{
	struct wire_request request = {
		.op = WIRE_SET_SVC_LPR,
		.id = svc_id,
		.value = lnis_per_rgid,
	};

	return device_call(dev, &request);
}

int cxil_get_svc_lpr(struct cxil_dev *dev, unsigned int svc_id)
{
	struct wire_request request = { .op = WIRE_GET_SVC_LPR, .id = svc_id };

	return device_call(dev, &request);
}

int cxil_svc_set_exclusive_cp(struct cxil_dev *dev, unsigned int svc_id,
			      bool exclusive_cp)
{
	struct wire_request request = {
		.op = WIRE_SVC_SET_EXCLUSIVE_CP,
		.id = svc_id,
		.value = exclusive_cp,
	};

	return device_call(dev, &request);
}

int cxil_svc_get_exclusive_cp(struct cxil_dev *dev, unsigned int svc_id,
			      bool *ret_exclusive_cp)
{
	struct wire_request request = {
		.op = WIRE_SVC_GET_EXCLUSIVE_CP,
		.id = svc_id,
	};
	_auto_(exchange_fini) struct exchange exchange = { 0 };
	bool exclusive_cp;
	int result;

	if (dev == NULL || ret_exclusive_cp == NULL)
		return -EINVAL;
	result = device_exchange((struct device *)dev, &request, &exchange);
	if (result < 0)
		return result;
	exclusive_cp = read_u8(&exchange.reply.body) != 0;
	result = done(&exchange);
	if (result == 0)
		*ret_exclusive_cp = exclusive_cp;
	return result;
}

int cxil_svc_set_vni_range(struct cxil_dev *dev, unsigned int svc_id,
			   uint16_t vni_min, uint16_t vni_max)
{
	struct wire_request request = {
		.op = WIRE_SVC_SET_VNI_RANGE,
		.id = svc_id,
		.value = vni_min,
		.last = vni_max,
	};

	return device_call(dev, &request);
}

int cxil_svc_get_vni_range(struct cxil_dev *dev, unsigned int svc_id,
			   uint16_t *ret_vni_min, uint16_t *ret_vni_max)
{
	struct wire_request request = {
		.op = WIRE_SVC_GET_VNI_RANGE,
		.id = svc_id,
	};
	_auto_(exchange_fini) struct exchange exchange = { 0 };
	uint16_t vni_min;
	uint16_t vni_max;
	int result;

	if (dev == NULL || ret_vni_min == NULL || ret_vni_max == NULL)
		return -EINVAL;
	result = device_exchange((struct device *)dev, &request, &exchange);
	if (result < 0)
		return result;
	vni_min = read_u16(&exchange.reply.body);
	vni_max = read_u16(&exchange.reply.body);
	result = done(&exchange);
	if (result == 0) {
		*ret_vni_min = vni_min;
		*ret_vni_max = vni_max;
	}
	return result;
}

int cxil_svc_set_netns(struct cxil_dev *dev, unsigned int svc_id,
		       unsigned int netns)
{
	struct wire_request request = {
		.op = WIRE_SVC_SET_NETNS,
		.id = svc_id,
		.value = netns,
	};

	return device_call(dev, &request);
}

static int call_number(struct device *device,
		       const struct wire_request *request, uint32_t *ret_number)
{
	_auto_(exchange_fini) struct exchange exchange = { 0 };
	uint32_t number;
	int result;

	result = device_exchange(device, request, &exchange);
	if (result < 0)
		return result;
	number = read_u32(&exchange.reply.body);
	result = done(&exchange);
	if (result == 0)
		*ret_number = number;
	return result;
}

int cxil_svc_get_netns(struct cxil_dev *dev, unsigned int svc_id,
		       unsigned int *ret_netns)
{
	struct wire_request request = {
		.op = WIRE_SVC_GET_NETNS,
		.id = svc_id,
	};

	if (dev == NULL || ret_netns == NULL)
		return -EINVAL;
	return call_number((struct device *)dev, &request, ret_netns);
}

int cxil_alloc_lni(struct cxil_dev *dev, struct cxil_lni **ret_lni,
		   unsigned int svc_id)
{
	struct wire_request request = { .op = WIRE_ALLOC_LNI, .id = svc_id };
	_auto_(freep) struct logical_nic *nic = NULL;
	int result;

	if (dev == NULL || ret_lni == NULL)
		return -EINVAL;
	nic = calloc(1, sizeof(*nic));
	if (nic == NULL)
		return -ENOMEM;
	nic->device_ref = (struct device *)dev;
	result = call_number(nic->device_ref, &request, &nic->lni.id);
	if (result < 0)
		return result;
	*ret_lni = &take_ptr(nic)->lni;
	return 0;
}

int cxil_destroy_lni(struct cxil_lni *lni)
{
	struct logical_nic *nic = (struct logical_nic *)lni;
	struct wire_request request = { .op = WIRE_DESTROY_LNI };
	int result;

	if (lni == NULL)
		return -EINVAL;
	request.id = lni->id;
	result = device_call(&nic->device_ref->dev, &request);
	/* A device that is gone has taken its LNIs with it. */
	if (result == 0 || result == -EIO)
		free(nic);
	return result;
}
