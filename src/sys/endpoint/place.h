/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where on this machine an endpoint is to be: one address, which the others
 * reach it by. So it is no wildcard.
 */
#pragma once

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct place_terms {
	/* As 'listen' of the section 'fabric'; "": by what follows. */
	const char *listen;
	/* A numeric address of this machine, or a wildcard, when that is "". */
	const char *bound;
	/* With a wildcard: this machine's name to others, or "". */
	const char *name;
};

struct endpoint_place {
	char host[INET6_ADDRSTRLEN]; /* numeric */
	uint16_t port;               /* 0: any */
};

/*
 * -EINVAL, -ENODEV (no such interface), -EADDRNOTAVAIL, -ENOTUNIQ (several
 * would do), with a text that says what to do. May wait for names to be looked
 * up.
 */
int place_choose(const struct place_terms *terms,
		 struct endpoint_place *ret_place,
		 struct fairlead_error *ret_error);
/* Whether the machine still has it. */
bool place_is_here(const char *host);
