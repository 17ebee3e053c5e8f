/* SPDX-License-Identifier: BSD-3-Clause */
/* What is set on a service after it was made, and logical NIs. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "emu/cxi/lib/device.h"

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
	uint8_t exclusive_cp;
	int result;

	if (ret_exclusive_cp == NULL)
		return -EINVAL;
	result = device_read(dev, WIRE_SVC_GET_EXCLUSIVE_CP, svc_id,
			     &exclusive_cp, sizeof(exclusive_cp));
	if (result == 0)
		*ret_exclusive_cp = exclusive_cp != 0;
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
	uint16_t range[2];
	int result;

	if (ret_vni_min == NULL || ret_vni_max == NULL)
		return -EINVAL;
	result = device_read(dev, WIRE_SVC_GET_VNI_RANGE, svc_id, range,
			     sizeof(range));
	if (result == 0) {
		*ret_vni_min = le16toh(range[0]);
		*ret_vni_max = le16toh(range[1]);
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

static int read_number(struct cxil_dev *dev, enum wire_op op, uint32_t id,
		       uint32_t *ret_number)
{
	uint32_t number;
	int result = device_read(dev, op, id, &number, sizeof(number));

	if (result == 0)
		*ret_number = le32toh(number);
	return result;
}

int cxil_svc_get_netns(struct cxil_dev *dev, unsigned int svc_id,
		       unsigned int *ret_netns)
{
	return ret_netns == NULL ? -EINVAL
				 : read_number(dev, WIRE_SVC_GET_NETNS, svc_id,
					       ret_netns);
}

int cxil_alloc_lni(struct cxil_dev *dev, struct cxil_lni **ret_lni,
		   unsigned int svc_id)
{
	_auto_(freep) struct logical_nic *nic = NULL;
	int result;

	if (dev == NULL || ret_lni == NULL)
		return -EINVAL;
	nic = calloc(1, sizeof(*nic));
	if (nic == NULL)
		return -ENOMEM;
	nic->device_ref = (struct device *)dev;
	result = read_number(dev, WIRE_ALLOC_LNI, svc_id, &nic->lni.id);
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
