/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What FI_FAIRLEAD_LINKS says: which core providers a link joins. Pure.
 *
 *	links = link { "|" link }
 *	link  = rails { "+" rails }
 *	rails = provider [ ":" domain { "," domain } ]
 *
 * The grammar is that of FI_LNX_PROV_LINKS, so that a site can switch from one
 * provider to the other by the variable's name. A provider is called by its
 * full name in libfabric ("tcp;ofi_rxm"); without a domain the first one that
 * fits is taken. Each domain makes a rail of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define LINKS_MAX     8
#define RAILS_MAX     8 /* of one link */
#define RAIL_NAME_MAX 64
/* Of which names of providers and domains are. */
#define LINKS_NAME_CHARS             \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789_-./;@"

struct rail_text {
	char provider[RAIL_NAME_MAX];
	char domain[RAIL_NAME_MAX]; /* "": not named */
};

/* Shared memory, if the link has it, is its first rail. */
struct link_text {
	unsigned int count; /* >= 1 */
	struct rail_text rails[RAILS_MAX];
};

struct links {
	unsigned int count; /* >= 1 */
	struct link_text links[LINKS_MAX];
};

/* Whether a provider joins processes of one node only. */
bool links_is_local(const char *provider);

/*
 * Parses `text`. Returns 0, or -EINVAL with what is wrong and at which
 * character (from 1) in `error`; `ret_links` is then as it was.
 */
int links_parse(const char *text, struct links *ret_links,
		struct fairlead_error *error);

/*
 * Formats one link as it would be written, into `size` bytes (cut if it does
 * not fit): "shm+tcp;ofi_rxm:eth0,eth1".
 */
void links_format(const struct link_text *link, char *text, size_t size);
