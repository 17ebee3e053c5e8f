/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the provider share; nobody else's. See doc/rfc/link.md. */
#pragma once

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
struct core {
	struct fi_info *info;
	struct fid_fabric *fabric;
	enum rail_way way;
};

/* The cores of one link, as its text names them: rail by rail. */
struct core_set {
	unsigned int count;
	struct core cores[RAILS_MAX];
};

/*
 * Asks libfabric for the cores of `link`, and names in it the domains that were
 * chosen. Returns 0, or a negative errno when one is not there, with the reason
 * in `error`; `ret_set` is then empty. core_set_fini() frees what it holds.
 */
int core_set_find(struct link_text *link, struct core_set *ret_set,
		  struct fairlead_error *error);
void core_set_fini(struct core_set *set);

/* fi_getinfo of the provider. */
int link_getinfo(uint32_t version, const char *node, const char *service,
		 uint64_t flags, const struct fi_info *hints,
		 struct fi_info **ret_info);

/* fi_fabric of the provider. */
int link_fabric(struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric,
		void *context);
