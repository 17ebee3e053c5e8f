/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * make-service: a CXI service as somebody else would make it, without Fairlead:
 * make-service DEVICE VNI UID. Prints its id.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/driver/slingshot/libcxi_abi.h"

int main(int argc, char **argv)
{
	struct cxi_svc_desc service = {
		.restricted_members = 1,
		.restricted_vnis = 1,
		.resource_limits = 1,
		.num_vld_vnis = 1,
	};
	struct cxil_dev *device;
	int result;

	if (argc != 4 || strncmp(argv[1], "cxi", 3) != 0) {
		fputs("usage: make-service cxiN VNI UID\n", stderr);
		return 2;
	}
	service.vnis[0] = (uint16_t)atoi(argv[2]);
	service.members[0].svc_member.uid = (uid_t)atoi(argv[3]);
	service.members[0].type = CXI_SVC_MEMBER_UID;
	result = cxil_open_device((uint32_t)atoi(argv[1] + 3), &device);
	if (result == 0) {
		result = cxil_alloc_svc(device, &service, NULL);
		cxil_close_device(device);
	}
	if (result < 0) {
		fprintf(stderr, "make-service: %s\n", strerror(-result));
		return 1;
	}
	printf("%d\n", result);
	return 0;
}
