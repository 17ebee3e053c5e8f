/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SLINGSHOT_VNIS, _DEVICES and _SVC_IDS as a user's job presents them to the
 * privileged process, one a line. There is one NIC with two services: what is
 * accepted names them, and whatever else is refused with a text.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "lanes/driver/slingshot/node.h"
#include "fuzz.h"

#define UID 1000

static struct cxil_dev device;

static int get_device_list(struct cxil_device_list **ret_list)
{
	struct cxil_device_list *list =
		calloc(1, sizeof(*list) + sizeof(list->info[0]));

	fuzz_check(list != NULL);
	list->count = 1;
	*ret_list = list;
	return 0;
}

static void free_device_list(struct cxil_device_list *list)
{
	free(list);
}

static int open_device(uint32_t dev_id, struct cxil_dev **ret_dev)
{
	fuzz_check(dev_id == 0);
	*ret_dev = &device;
	return 0;
}

static void close_device(struct cxil_dev *dev)
{
}

static int get_svc_list(struct cxil_dev *dev, struct cxil_svc_list **ret_list)
{
	struct cxil_svc_list *list =
		calloc(1, sizeof(*list) + 2 * sizeof(list->descs[0]));

	fuzz_check(list != NULL);
	list->count = 2;
	for (uint32_t i = 0; i < 2; i++)
		list->descs[i] = (struct cxi_svc_desc){
			.restricted_members = 1,
			.restricted_vnis = 1,
			.enable = 1,
			.num_vld_vnis = 1,
			.vnis = { 2000 },
			.members = { { .svc_member.uid = UID + i,
				       .type = CXI_SVC_MEMBER_UID } },
			.svc_id = 2 + i,
		};
	*ret_list = list;
	return 0;
}

static void free_svc_list(struct cxil_svc_list *list)
{
	free(list);
}

static const char *get_line(void *arg, const char *name)
{
	static const char *const names[] = { "SLINGSHOT_VNIS",
					     "SLINGSHOT_DEVICES",
					     "SLINGSHOT_SVC_IDS" };
	const char **lines = arg;

	for (int i = 0; i < 3; i++) {
		if (strcmp(name, names[i]) == 0)
			return lines[i];
	}
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cxi_library library = {
		.get_device_list = get_device_list,
		.free_device_list = free_device_list,
		.open_device = open_device,
		.close_device = close_device,
		.get_svc_list = get_svc_list,
		.free_svc_list = free_svc_list,
	};
	struct slingshot_node node = { .library = &library };
	_auto_(freep) char *text = fuzz_text(data, size);
	struct fairlead_error error = { 0 };
	char *lines[3] = { NULL };
	char *rest = text;
	int result;

	for (int i = 0; i < 3; i++)
		lines[i] = strsep(&rest, "\n");
	result = slingshot_inherit(&node, UID, get_line, lines, &error);
	if (result == 0) {
		fuzz_check(strncmp(lines[0], "2000", 4) == 0);
		fuzz_check(strncmp(lines[1], "cxi0", 4) == 0);
		fuzz_check(lines[2][0] == '2');
	} else {
		fuzz_check(result == -ENODEV);
		fuzz_check(error.code == result && error.text[0] != 0);
	}
	return 0;
}
