/* SPDX-License-Identifier: BSD-3-Clause */
/* How many devices does this process see? The exit code says. */
#include "lanes/driver/slingshot/libcxi_abi.h"

#define EXIT_NO_LIST 99

int main(void)
{
	struct cxil_device_list *list;
	int count;

	if (cxil_get_device_list(&list) < 0)
		return EXIT_NO_LIST;
	count = (int)list->count;
	cxil_free_device_list(list);
	return count;
}
