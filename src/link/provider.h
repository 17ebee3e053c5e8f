/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the provider share; nobody else's. See doc/rfc/link.md. */
#pragma once

#include "link/address/address.h"
#include "link/compat.h"
#include "link/links/links.h"

#define PROVIDER_NAME "fairlead"

extern struct fi_provider link_provider;

/* Of messages to the user, in libfabric's way: FI_LOG_LEVEL, FI_LOG_SUBSYS. */
#define link_warn(subsystem, ...) \
	FI_WARN(&link_provider, FI_LOG_##subsystem, __VA_ARGS__)
#define link_info(subsystem, ...) \
	FI_INFO(&link_provider, FI_LOG_##subsystem, __VA_ARGS__)

/* How a rail's messages are received. */
enum rail_way {
	RAIL_SHARED,  /* the core asks our matching where a message goes */
	RAIL_FRAMED,  /* our frames, into our buffers */
	RAIL_MATCHED, /* the core matches tags itself */
};

/* A core provider that can be a rail: what fi_getinfo said of it. */
struct link_core {
	struct fi_info *info; /* NULL: shared memory that cannot be had here */
	struct fid_fabric *fabric;
	enum rail_way way;
};

/* The cores of one link, as its text names them: rail by rail. */
struct core_set {
	unsigned int count;
	struct link_core cores[RAILS_MAX];
};

/* What node and service say, as given to fi_getinfo; NULL: nothing. */
struct link_place {
	const char *node, *service;
	uint64_t flags;
	const struct rail_address *source; /* from where; NULL: anywhere */
};

/*
 * Asks libfabric for the cores of `link`, that of the first fabric rail at
 * `place` (NULL: anywhere); and names in it the domains that were chosen, and
 * providers as this libfabric does. Returns 0, or a negative errno when one is
 * not there, with the reason in `error`; `ret_set` is then empty.
 * core_set_fini() frees what it holds.
 */
int core_set_find(struct link_text *link, const struct link_place *place,
		  struct core_set *ret_set, struct fairlead_error *error);
/* Where a core is reached at node and service. */
int core_place(const struct rail_text *rail, const struct link_place *place,
	       struct rail_address *ret_place, struct fairlead_error *error);
void core_set_fini(struct core_set *set);

/* Of what both sides have to join alike: other digests are no peers. */
uint32_t link_digest(const struct link_text *text, const struct core_set *set);

/*
 * Whether the core of a fabric rail matches tags itself, by FI_FAIRLEAD_OFFLOAD
 * and by what it can: decides the way of the rail, for programs whose tags are
 * of this format (0: any). Returns the bits that tags have.
 */
uint64_t core_set_settle(struct core_set *set, uint64_t tag_format);

/* The bits that tags of a core have, as a mask. */
uint64_t core_tag_mask(const struct fi_info *info);

/* --- layer.c: layers over cores that FI_PROVIDER hides --- */

/* Names the fabric of a layer so that it asks us for its core. */
int layer_stand_in(struct fi_fabric_attr *attr);
/* What a layer asks us in that case: as link_getinfo(). */
int layer_getinfo(uint32_t version, const char *node, const char *service,
		  uint64_t flags, const struct fi_info *hints,
		  struct fi_info **ret_info);
/* Whether it is a core's, as layer_getinfo() names it; and opens that. */
bool layer_is_core(const struct fi_fabric_attr *attr);
int layer_fabric(const struct fi_fabric_attr *of,
		 struct fid_fabric **ret_fabric, void *context);

/* --- provider.c --- */

/* fi_cq_strerror and fi_eq_strerror: cores' own errors are not passed on. */
const char *link_strerror(int prov_errno, char *buf, size_t size);

/* --- info.c, domain.c, offer.c --- */

/* What the cores of a link have together: orders, limits. */
void offer_fill(struct fi_info *info, const struct fi_info *hints,
		const struct core_set *set);

/* fi_getinfo of the provider. */
int link_getinfo(uint32_t version, const char *node, const char *service,
		 uint64_t flags, const struct fi_info *hints,
		 struct fi_info **ret_info);

/* fi_fabric of the provider. */
int link_fabric(struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric,
		void *context);
