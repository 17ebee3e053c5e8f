/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A NIC is opened for each operation: they are rare, and a descriptor
 * that is kept would keep the kernel's driver from being unloaded.
 *
 * An I/O error from a NIC can mean that it was removed. Whether it was is
 * asked, not guessed: only a NIC that has left the list of devices is gone.
 */
#include "lanes/driver/slingshot/nic.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/driver/common/options.h"
#include "lanes/driver/common/trusted_path.h"

static int compare_infos(const void *a, const void *b)
{
	const struct cxil_devinfo *x = a;
	const struct cxil_devinfo *y = b;

	return (x->dev_id > y->dev_id) - (x->dev_id < y->dev_id);
}

int nic_list_read(const struct slingshot_node *node, struct nic_list *ret_list,
		  struct fairlead_error *ret_error)
{
	struct cxil_device_list *devices = NULL;
	struct nic_list list = { 0 };
	int result = node->library->get_device_list(&devices);

	if (result < 0)
		return error_set(ret_error, result,
				 "cannot list Slingshot NICs: %s",
				 strerror(-result));
	for (uint32_t i = 0; i < devices->count && result == 0; i++) {
		if (devices->info[i].is_vf)
			continue;
		if (list.count == SLINGSHOT_DEVICES_MAX)
			result = error_set(ret_error, -E2BIG,
					   "there are more than %d NICs",
					   SLINGSHOT_DEVICES_MAX);
		else
			list.infos[list.count++] = devices->info[i];
	}
	node->library->free_device_list(devices);
	if (result < 0)
		return result;
	qsort(list.infos, list.count, sizeof(list.infos[0]), compare_infos);
	*ret_list = list;
	return 0;
}

const struct cxil_devinfo *nic_list_find(const struct nic_list *list,
					 uint32_t dev_id)
{
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->infos[i].dev_id == dev_id)
			return &list->infos[i];
	}
	return NULL;
}

void nic_name_format(uint32_t dev_id, char name[NIC_NAME_MAX])
{
	snprintf(name, NIC_NAME_MAX, "cxi%u", dev_id);
}

int nic_name_parse(const char *name, uint32_t *ret_dev_id)
{
	if (strncmp(name, "cxi", 3) != 0 ||
	    !number_parse(name + 3, 0, UINT32_MAX, ret_dev_id))
		return -EINVAL;
	return 0;
}

int nic_init(struct cxi_nic *nic, const struct slingshot_node *node,
	     const struct cxil_devinfo *info, struct fairlead_error *ret_error)
{
	int result;

	*nic = (struct cxi_nic){ .library = node->library, .info = *info };
	nic_name_format(info->dev_id, nic->name);
	result = nic->library->open_device(info->dev_id, &nic->dev);
	if (result < 0)
		return error_set(ret_error, result, "%s: cannot open it: %s",
				 nic->name, strerror(-result));
	return nic_refresh(nic, ret_error);
}

int nic_refresh(struct cxi_nic *nic, struct fairlead_error *ret_error)
{
	struct cxil_svc_list *services = NULL;
	int result = nic->library->get_svc_list(nic->dev, &services);

	if (result < 0)
		return error_set(ret_error, result,
				 "%s: cannot list its services: %s", nic->name,
				 strerror(-result));
	if (nic->services)
		nic->library->free_svc_list(nic->services);
	nic->services = services;
	return 0;
}

void nic_fini(struct cxi_nic *nic)
{
	if (nic->services)
		nic->library->free_svc_list(nic->services);
	if (nic->dev)
		nic->library->close_device(nic->dev);
	nic->services = NULL;
	nic->dev = NULL;
}

const struct cxi_svc_desc *nic_service(const struct cxi_nic *nic,
				       uint32_t svc_id)
{
	for (uint32_t i = 0; i < nic->services->count; i++) {
		if (nic->services->descs[i].svc_id == svc_id)
			return &nic->services->descs[i];
	}
	return NULL;
}

bool nic_is_used(const struct cxi_nic *nic, uint32_t svc_id)
{
	struct cxi_rsrc_use use;

	if (!nic->library->get_svc_rsrc_use ||
	    nic->library->get_svc_rsrc_use(nic->dev, svc_id, &use) < 0)
		return false;
	for (int type = 0; type < CXI_RSRC_TYPE_MAX; type++) {
		if (use.in_use[type] > 0 &&
		    use.in_use[type] != CXI_RSRC_USE_NOT_APPLICABLE)
			return true;
	}
	return false;
}

bool nic_is_gone(const struct slingshot_node *node, uint32_t dev_id, int result)
{
	struct nic_list list;

	switch (result) {
	case -EIO:
	case -ENODEV:
	case -ENOENT:
	case -ENXIO:
		return nic_list_read(node, &list, NULL) == 0 &&
		       !nic_list_find(&list, dev_id);
	default:
		return false;
	}
}

/*
 * --- the library: one that another user could replace would give that user our
 * privileges. The software NIC's says what it is by a symbol that the vendor's
 * does not have, not by its name or place, which anybody can choose. ---
 */

static void find_functions(struct cxi_library *library, const char **missing)
{
#define FIND_OPTIONAL(name) \
	library->name = dlsym(library->handle, "cxil_" #name);
#define FIND_REQUIRED(name)                     \
	FIND_OPTIONAL(name)                     \
	if (!library->name && *missing == NULL) \
		*missing = "cxil_" #name;

	CXI_LIBRARY_REQUIRED(FIND_REQUIRED)
	CXI_LIBRARY_OPTIONAL(FIND_OPTIONAL)
#undef FIND_REQUIRED
#undef FIND_OPTIONAL
}

int cxi_library_open(const char *path, bool may_be_emulated,
		     struct cxi_library **ret_library,
		     struct fairlead_error *ret_error)
{
	_auto_(cxi_library_closep) struct cxi_library *library = NULL;
	_auto_(freep) char *resolved = NULL;
	const char *missing = NULL;
	int result;

	result = trusted_path_resolve("library", path, may_be_emulated,
				      &resolved, ret_error);
	if (result < 0)
		return result;
	library = memory_alloc(sizeof(*library));
	library->handle = dlopen(resolved, RTLD_NOW | RTLD_LOCAL);
	if (!library->handle)
		return error_set(ret_error, -ELIBBAD, "library: %s", dlerror());
	find_functions(library, &missing);
	if (missing)
		return error_set(ret_error, -ELIBBAD,
				 "library: '%s' has no function '%s'", path,
				 missing);
	library->is_emulated = dlsym(library->handle, CXI_SOFTNIC_MARKER);
	if (library->is_emulated && !may_be_emulated)
		return error_set(ret_error, -EPERM,
				 "library: '%s' is the software NIC's; lanes "
				 "on it protect nothing, set emulation to "
				 "true if that is meant",
				 path);
	*ret_library = take_ptr(library);
	return 0;
}

void cxi_library_close(struct cxi_library *library)
{
	if (!library)
		return;
	if (library->handle)
		dlclose(library->handle);
	free(library);
}
