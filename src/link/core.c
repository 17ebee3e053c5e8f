/* SPDX-License-Identifier: BSD-3-Clause */
/* Which core provider, and which of its domains, a rail is. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "link/provider.h"

/* What a rail needs of its core; all else the link makes of these. */
#define CORE_CAPS (FI_MSG | FI_TAGGED | FI_RMA | FI_SOURCE | FI_DIRECTED_RECV)

static int set_text(char **field, const char *text)
{
	free(*field);
	*field = strdup(text);
	return *field == NULL ? -FI_ENOMEM : 0;
}

static struct fi_info *hints_make(const struct rail_text *rail)
{
	struct fi_info *hints = fi_allocinfo();

	if (hints == NULL)
		return NULL;
	hints->caps = CORE_CAPS;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->mr_mode = 0; /* offsets, and keys of ours */
	hints->tx_attr->msg_order = FI_ORDER_SAS;
	hints->rx_attr->msg_order = FI_ORDER_SAS;
	if (set_text(&hints->fabric_attr->prov_name, rail->provider) != 0 ||
	    (rail->domain[0] != '\0' &&
	     set_text(&hints->domain_attr->name, rail->domain) != 0)) {
		fi_freeinfo(hints);
		return NULL;
	}
	return hints;
}

/*
 * The first answer of the provider itself: libfabric lists what it has put a
 * layer upon as well. A copy, or NULL; the list is freed.
 */
static struct fi_info *first_of(struct fi_info *list, const char *provider)
{
	struct fi_info *info = list, *found = NULL;

	while (info != NULL &&
	       strcasecmp(info->fabric_attr->prov_name, provider) != 0)
		info = info->next;
	if (info != NULL)
		found = fi_dupinfo(info);
	fi_freeinfo(list);
	return found;
}

/* FI_PROVIDER may name us alone, and so hide the cores: these are asked first. */
static struct fi_info *core_ask(const struct rail_text *rail,
				const struct fi_info *hints)
{
	static const uint64_t ways[] = { GETINFO_HIDDEN, 0 };
	struct fi_info *list, *found = NULL;

	for (size_t i = 0; i < 2 && found == NULL; i++)
		if (fi_getinfo(BUILD_VERSION, NULL, NULL, ways[i], hints,
			       &list) == 0)
			found = first_of(list, rail->provider);
	return found;
}

/*
 * A provider that is a layer upon another looks for that by itself, and does
 * not find it where FI_PROVIDER hides it.
 */
static int fabric_open(struct core *core, const struct rail_text *rail,
		       struct fairlead_error *error)
{
	int result = fi_fabric(core->info->fabric_attr, &core->fabric, NULL);

	if (result != 0)
		return error_set(error, result,
				 "%s cannot be opened (%s): if FI_PROVIDER is "
				 "set, it has to name each part of it, too",
				 rail->provider, fi_strerror(-result));
	return 0;
}

static int core_find(struct rail_text *rail, struct core *ret_core,
		     struct fairlead_error *error)
{
	struct fi_info *hints = hints_make(rail);

	if (hints == NULL)
		return error_set(error, -FI_ENOMEM, "out of memory");
	ret_core->info = core_ask(rail, hints);
	fi_freeinfo(hints);
	if (ret_core->info == NULL)
		return error_set(
			error, -FI_ENODATA,
			"%s%s%s is not there, or cannot do what is asked: see "
			"fi_info -p '%s'",
			rail->provider, rail->domain[0] == '\0' ? "" : ":",
			rail->domain, rail->provider);
	ret_core->way =
		links_is_local(rail->provider) ? RAIL_SHARED : RAIL_FRAMED;
	if (!links_is_local(rail->provider))
		snprintf(rail->domain, sizeof(rail->domain), "%s",
			 ret_core->info->domain_attr->name);
	return fabric_open(ret_core, rail, error);
}

int core_set_find(struct link_text *link, struct core_set *ret_set,
		  struct fairlead_error *error)
{
	*ret_set = (struct core_set){ 0 };
	for (unsigned int i = 0; i < link->count; i++) {
		int result =
			core_find(&link->rails[i], &ret_set->cores[i], error);
		ret_set->count++;
		if (result != 0) {
			core_set_fini(ret_set);
			return result;
		}
	}
	return 0;
}

void core_set_fini(struct core_set *set)
{
	for (unsigned int i = 0; i < set->count; i++) {
		if (set->cores[i].fabric != NULL)
			fi_close(&set->cores[i].fabric->fid);
		fi_freeinfo(set->cores[i].info);
	}
	*set = (struct core_set){ 0 };
}
