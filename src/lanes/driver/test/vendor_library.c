/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library as a vendor's could be: without the software NIC's marker. With
 * LACKS_DESTROY it is one that is not complete.
 */
#include <errno.h>

#include "lanes/driver/slingshot/libcxi_abi.h"

int cxil_get_device_list(struct cxil_device_list **ret_list)
{
	return -ENODEV;
}

void cxil_free_device_list(struct cxil_device_list *list)
{
}

int cxil_open_device(uint32_t dev_id, struct cxil_dev **ret_dev)
{
	return -ENODEV;
}

void cxil_close_device(struct cxil_dev *dev)
{
}

int cxil_get_svc_list(struct cxil_dev *dev, struct cxil_svc_list **ret_list)
{
	return -ENODEV;
}

void cxil_free_svc_list(struct cxil_svc_list *list)
{
}

int cxil_alloc_svc(struct cxil_dev *dev, const struct cxi_svc_desc *desc,
		   struct cxi_svc_fail_info *ret_fail_info)
{
	return -ENODEV;
}

#ifndef LACKS_DESTROY
int cxil_destroy_svc(struct cxil_dev *dev, unsigned int svc_id)
{
	return -ENODEV;
}
#endif
