/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layers (tcp;ofi_rxm) over cores that FI_PROVIDER hides. A layer asks
 * libfabric for its core by name, and does not find one that is hidden, where
 * we do. So it is given that it is a layer over us ("fairlead;^tcp;ofi_rxm"),
 * and what it asks us, we ask the core.
 */
#include <stdlib.h>
#include <string.h>

#include "link/provider.h"

/* The name of a fabric of such a core begins with the core's: "^tcp;". */
#define MARK '^'

int layer_stand_in(struct fi_fabric_attr *attr)
{
	const char *layer = strchr(attr->prov_name, ';');
	char *name;

	if (layer == NULL || attr->prov_name[0] == MARK ||
	    asprintf(&name, PROVIDER_NAME ";%c%s", MARK, attr->prov_name) < 0)
		return -FI_ENODATA;
	free(attr->prov_name);
	attr->prov_name = name;
	return 0;
}

/* What a layer asks for: ours, but neither the core nor the layer itself. */
static char *core_asked_for(const struct fi_info *hints)
{
	static const char begin[] = PROVIDER_NAME ";^";
	const char *name = hints == NULL || hints->fabric_attr == NULL
				   ? NULL
				   : hints->fabric_attr->prov_name;
	size_t size;

	if (name == NULL || strncmp(name, begin, strlen(begin)) != 0)
		return NULL;
	name += strlen(begin);
	size = strcspn(name, ";");
	return name[size] == '\0' ? NULL : strndup(name, size);
}

/* So that it is opened by us: see layer_fabric(). */
static int fabric_mark(struct fi_fabric_attr *attr, const char *core)
{
	char *name;

	if (asprintf(&name, "%c%s;%s", MARK, core, attr->name) < 0)
		return -FI_ENOMEM;
	free(attr->name);
	attr->name = name;
	free(attr->prov_name);
	attr->prov_name = NULL;
	return 0;
}

int layer_getinfo(uint32_t version, const char *node, const char *service,
		  uint64_t flags, const struct fi_info *hints,
		  struct fi_info **ret_info)
{
	char *core = core_asked_for(hints);
	struct fi_fabric_attr attr;
	struct fi_info of_core, *list;
	int result;

	if (core == NULL)
		return -FI_ENODATA;
	attr = *hints->fabric_attr;
	attr.prov_name = core;
	of_core = *hints;
	of_core.fabric_attr = &attr;
	result = fi_getinfo(version, node, service, flags | GETINFO_HIDDEN,
			    &of_core, &list);
	if (result == 0) {
		for (struct fi_info *i = list; i != NULL && result == 0;
		     i = i->next)
			result = fabric_mark(i->fabric_attr, core);
		if (result == 0)
			*ret_info = list;
		else
			fi_freeinfo(list);
	}
	free(core);
	return result;
}

bool layer_is_core(const struct fi_fabric_attr *attr)
{
	return attr->name != NULL && attr->name[0] == MARK;
}

int layer_fabric(const struct fi_fabric_attr *of,
		 struct fid_fabric **ret_fabric, void *context)
{
	struct fi_fabric_attr attr = *of;
	size_t size = strcspn(of->name, ";");
	int result;

	if (of->name[size] == '\0')
		return -FI_EINVAL;
	attr.prov_name = strndup(of->name + 1, size - 1);
	attr.name = of->name + size + 1;
	result = attr.prov_name == NULL ? -FI_ENOMEM
					: fi_fabric(&attr, ret_fabric, context);
	free(attr.prov_name);
	return result;
}
