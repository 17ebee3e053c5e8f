/* SPDX-License-Identifier: BSD-3-Clause */
/* Which core provider, and which of its domains, a rail is. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "link/direct.h"

/* What a rail needs of its core; all else the link makes of these. */
#define CORE_CAPS (FI_MSG | FI_TAGGED | FI_RMA | FI_SOURCE | FI_DIRECTED_RECV)

/* Of registered memory: what cores may demand. */
#define CORE_MODES                                                          \
	(FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | \
	 FI_MR_ENDPOINT)

static int set_text(char **field, const char *text)
{
	free(*field);
	*field = strdup(text);
	return *field == NULL ? -FI_ENOMEM : 0;
}

static struct fi_info *hints_make(const struct rail_text *rail,
				  const struct link_place *place)
{
	struct fi_info *hints = fi_allocinfo();

	if (hints == NULL)
		return NULL;
	hints->caps = CORE_CAPS;
	if (links_is_local(rail->provider))
		hints->caps |= CORE_CAPS_SHARED;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->tx_attr->msg_order = FI_ORDER_SAS;
	hints->rx_attr->msg_order = FI_ORDER_SAS;
	if (set_text(&hints->fabric_attr->prov_name, rail->provider) != 0 ||
	    (rail->domain[0] != '\0' &&
	     set_text(&hints->domain_attr->name, rail->domain) != 0)) {
		fi_freeinfo(hints);
		return NULL;
	}
	if (place == NULL || place->source == NULL)
		return hints;
	hints->src_addrlen = place->source->size;
	hints->src_addr = malloc(hints->src_addrlen);
	if (hints->src_addr == NULL) {
		fi_freeinfo(hints);
		return NULL;
	}
	memcpy(hints->src_addr, place->source->bytes, hints->src_addrlen);
	return hints;
}

/* A place on no device in particular is of no use to others. */
static bool is_anywhere(const struct fi_info *info)
{
	const struct sockaddr *address = info->src_addr;

	if (address == NULL || info->src_addrlen < sizeof(*address))
		return false;
	if (address->sa_family == AF_INET)
		return ((const struct sockaddr_in *)address)->sin_addr.s_addr ==
		       INADDR_ANY;
	return address->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_UNSPECIFIED(
		       &((const struct sockaddr_in6 *)address)->sin6_addr);
}

/* An address that is none without the name of a device, which is not known. */
static bool is_of_link(const struct fi_info *info)
{
	const struct sockaddr_in6 *address = info->src_addr;

	return address != NULL && info->src_addrlen == sizeof(*address) &&
	       address->sin6_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr);
}

/* Layers do not look at the name of a domain, and answer with each. */
static bool is_it(const struct fi_info *info, const struct rail_text *rail)
{
	return strcasecmp(info->fabric_attr->prov_name, rail->provider) == 0 &&
	       !is_of_link(info) &&
	       (rail->domain[0] == '\0' ||
		strcmp(info->domain_attr->name, rail->domain) == 0);
}

/*
 * The first answer of the provider itself: libfabric lists what it has put a
 * layer upon as well. A copy, or NULL; the list is freed.
 */
static struct fi_info *first_of(struct fi_info *list,
				const struct rail_text *rail)
{
	struct fi_info *info = list, *found = NULL;

	while (info != NULL && !is_it(info, rail))
		info = info->next;
	if (info != NULL)
		found = fi_dupinfo(info);
	fi_freeinfo(list);
	return found;
}

/*
 * FI_PROVIDER may name us alone, and so hide the cores: these are asked first.
 * A core that can do with offsets and our keys is not asked for less.
 */
static struct fi_info *core_ask(const struct rail_text *rail,
				const struct link_place *place,
				struct fi_info *hints)
{
	static const int modes[] = { 0, CORE_MODES };
	static const uint64_t ways[] = { GETINFO_HIDDEN, 0 };
	static const struct link_place anywhere;
	struct fi_info *list, *found = NULL;

	if (place == NULL)
		place = &anywhere;
	for (size_t i = 0; i < 4 && found == NULL; i++) {
		hints->domain_attr->mr_mode = modes[i / 2];
		if (fi_getinfo(BUILD_VERSION, place->node, place->service,
			       ways[i % 2] | place->flags, hints, &list) == 0)
			found = first_of(list, rail);
	}
	return found;
}

/* As text; false: the system has no such device, or it has no address. */
static bool device_address(const char *device, char text[INET6_ADDRSTRLEN])
{
	struct ifaddrs *list, *at;
	bool is_found = false;

	if (getifaddrs(&list) != 0)
		return false;
	for (at = list; at != NULL && !is_found; at = at->ifa_next) {
		const void *bytes = at->ifa_addr;
		if (bytes == NULL || strcmp(at->ifa_name, device) != 0)
			continue;
		if (at->ifa_addr->sa_family == AF_INET)
			bytes = &((const struct sockaddr_in *)bytes)->sin_addr;
		else if (at->ifa_addr->sa_family == AF_INET6 &&
			 !IN6_IS_ADDR_LINKLOCAL(
				 &((const struct sockaddr_in6 *)bytes)
					  ->sin6_addr))
			bytes = &((const struct sockaddr_in6 *)bytes)
					 ->sin6_addr;
		else
			continue;
		is_found = inet_ntop(at->ifa_addr->sa_family, bytes, text,
				     INET6_ADDRSTRLEN) != NULL;
	}
	freeifaddrs(list);
	return is_found;
}

/*
 * A variable (FI_TCP_IFACE) may have the core list one device alone: others are
 * found by their address.
 */
static struct fi_info *core_ask_by_address(const struct rail_text *rail,
					   struct fi_info *hints)
{
	struct rail_text unnamed = *rail;
	char address[INET6_ADDRSTRLEN];
	const struct link_place at = { .node = address,
				       .flags = FI_SOURCE | FI_NUMERICHOST };
	struct fi_info *found;

	if (rail->domain[0] == '\0' || !device_address(rail->domain, address))
		return NULL;
	unnamed.domain[0] = '\0';
	free(hints->domain_attr->name);
	hints->domain_attr->name = NULL;
	found = core_ask(&unnamed, &at, hints);
	if (found != NULL &&
	    set_text(&found->domain_attr->name, rail->domain) != 0) {
		fi_freeinfo(found);
		return NULL;
	}
	return found;
}

static int fabric_open(struct link_core *core, const struct rail_text *rail,
		       struct fairlead_error *error)
{
	struct fi_fabric_attr *attr = core->info->fabric_attr;
	int result = fi_fabric(attr, &core->fabric, NULL);

	/* FI_PROVIDER may hide what a layer looks for itself. */
	if (result != 0 && layer_stand_in(attr) == 0)
		result = fi_fabric(attr, &core->fabric, NULL);
	if (result != 0)
		return error_set(error, result, "%s cannot be opened (%s)",
				 rail->provider, fi_strerror(-result));
	return 0;
}

/* A service of no node in particular is one of the rail's own device. */
static struct fi_info *core_ask_place(const struct rail_text *rail,
				      const struct link_place *place,
				      struct fi_info *hints)
{
	struct fi_info *found = core_ask(rail, place, hints), *own;

	if (found == NULL || place == NULL || !is_anywhere(found))
		return found;
	own = core_ask(rail, NULL, hints);
	if (own != NULL && own->src_addrlen == found->src_addrlen &&
	    !is_anywhere(own)) {
		/* The port is at the same place in both families. */
		((struct sockaddr_in *)own->src_addr)->sin_port =
			((struct sockaddr_in *)found->src_addr)->sin_port;
		fi_freeinfo(found);
		return own;
	}
	fi_freeinfo(own);
	return found;
}

/*
 * A hook (FI_HOOK) is put upon each core as well, and hands a receive context
 * that is to be shared to it as something else: shm would write where nothing
 * of that is.
 */
static bool is_hooked(void)
{
	const char *hooks = getenv("FI_HOOK");

	return hooks != NULL && hooks[0] != '\0';
}

static int core_find(struct rail_text *rail, const struct link_place *place,
		     struct link_core *ret_core, struct fairlead_error *error)
{
	const char *name = compat_core_name(rail->provider);
	struct fi_info *hints;

	if (name != rail->provider)
		snprintf(rail->provider, sizeof(rail->provider), "%s", name);
	if (links_is_local(rail->provider) && is_hooked())
		return error_set(error, -FI_ENODATA,
				 "%s cannot be had where FI_HOOK is set",
				 rail->provider);
	if (strcasestr(rail->provider, PROVIDER_NAME) != NULL)
		return error_set(error, -FI_ENODATA,
				 "%s cannot be joined by itself",
				 rail->provider);
	hints = hints_make(rail, place);
	if (hints == NULL)
		return error_set(error, -FI_ENOMEM, "out of memory");
	ret_core->info = core_ask_place(rail, place, hints);
	if (ret_core->info == NULL && (place == NULL || place->node == NULL))
		ret_core->info = core_ask_by_address(rail, hints);
	fi_freeinfo(hints);
	if (ret_core->info == NULL)
		return error_set(
			error, -FI_ENODATA,
			"%s%s%s is not there, or cannot do what is asked: see "
			"fi_info -p '%s'",
			rail->provider, rail->domain[0] == '\0' ? "" : ":",
			rail->domain, rail->provider);
	if (frame_max(rail->provider) < FRAME_LEAST)
		return error_set(error, -FI_ENODATA,
				 "FI_OFI_RXM_BUFFER_SIZE is less than %d: "
				 "messages of %s would overtake each other",
				 FRAME_LEAST, rail->provider);
	ret_core->way =
		links_is_local(rail->provider) ? RAIL_SHARED : RAIL_FRAMED;
	if (!links_is_local(rail->provider))
		snprintf(rail->domain, sizeof(rail->domain), "%s",
			 ret_core->info->domain_attr->name);
	return fabric_open(ret_core, rail, error);
}

int core_place(const struct rail_text *rail, const struct link_place *place,
	       struct rail_address *ret_place, struct fairlead_error *error)
{
	struct fi_info *hints = hints_make(rail, place), *info;
	int result = 0;

	if (hints == NULL)
		return error_set(error, -FI_ENOMEM, "out of memory");
	info = core_ask(rail, place, hints);
	fi_freeinfo(hints);
	if (info == NULL || info->dest_addr == NULL ||
	    info->dest_addrlen > sizeof(ret_place->bytes)) {
		result = error_set(error, -FI_EADDRNOTAVAIL,
				   "%s does not lead there", rail->provider);
	} else {
		ret_place->size = (uint8_t)info->dest_addrlen;
		memcpy(ret_place->bytes, info->dest_addr, info->dest_addrlen);
	}
	fi_freeinfo(info);
	return result;
}

/* Where shared memory cannot be had, everybody is reached by the fabric. */
static bool does_without(const struct link_text *link, unsigned int rail,
			 const struct fairlead_error *error)
{
	if (rail > 0 || link->count == 1 ||
	    !links_is_local(link->rails[0].provider))
		return false;
	link_info(CORE, "all goes by the fabric: %s\n", error->text);
	return true;
}

int core_set_find(struct link_text *link, const struct link_place *place,
		  struct core_set *ret_set, struct fairlead_error *error)
{
	unsigned int first = links_is_local(link->rails[0].provider) ? 1 : 0;

	*ret_set = (struct core_set){ 0 };
	for (unsigned int i = 0; i < link->count; i++) {
		struct link_core *core = &ret_set->cores[i];
		int result = core_find(&link->rails[i],
				       i == first ? place : NULL, core, error);
		ret_set->count++;
		if (result == -FI_ENODATA && does_without(link, i, error)) {
			core->way = RAIL_SHARED;
		} else if (result != 0) {
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

/* --- who matches tags --- */

uint64_t core_tag_mask(const struct fi_info *info)
{
	uint64_t format = info->ep_attr->mem_tag_format;

	for (unsigned int shift = 1; shift < 64; shift *= 2)
		format |= format >> shift;
	return format & ~LINK_UNTAGGED;
}

/* Whose hardware or firmware it is; the others do it no better than we do. */
static bool is_known_to_match(const char *provider)
{
	static const char *const known[] = { "cxi", "opx", "psm2", "psm3" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcasecmp(provider, known[i]) == 0)
			return true;
	return false;
}

static bool is_wanted(const char *provider)
{
	const char *text = getenv(LINK_OFFLOAD_VARIABLE);

	if (text == NULL || text[0] == '\0' || strcmp(text, "auto") == 0)
		return is_known_to_match(provider);
	if (strcmp(text, "always") != 0 && strcmp(text, "never") != 0)
		link_warn(FABRIC, "%s is auto, always or never, not \"%s\"\n",
			  LINK_OFFLOAD_VARIABLE, text);
	return strcmp(text, "always") == 0;
}

/* Memory has to be registered for it, and a message is then none of ours. */
static bool can_match(const struct fi_info *info, uint64_t tag_format)
{
	return (info->domain_attr->mr_mode & FI_MR_LOCAL) == 0 &&
	       (tag_format & ~LINK_UNTAGGED & ~core_tag_mask(info)) == 0;
}

uint64_t core_set_settle(struct core_set *set, uint64_t tag_format)
{
	struct link_core *fabric = NULL;

	for (unsigned int i = 0; i < set->count; i++) {
		if (set->cores[i].way == RAIL_SHARED)
			continue;
		if (fabric != NULL)
			return ~LINK_UNTAGGED; /* several: none matches */
		fabric = &set->cores[i];
	}
	if (fabric == NULL || !can_match(fabric->info, tag_format) ||
	    !is_wanted(fabric->info->fabric_attr->prov_name))
		return ~LINK_UNTAGGED;
	fabric->way = RAIL_MATCHED;
	return core_tag_mask(fabric->info);
}
