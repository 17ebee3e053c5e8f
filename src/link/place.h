/* SPDX-License-Identifier: BSD-3-Clause */
/* Where endpoints are: the addresses that fi_getinfo takes and returns. */
#pragma once

#include "link/provider.h"

/*
 * Whether a program has given one: some forget the size of what they took away.
 */
static inline bool place_is_given(const void *bytes, size_t size)
{
	return bytes != NULL && size > 0;
}

/*
 * The addresses of `info`, in our form: what the program has given itself
 * counts; then what node and service tell, which the cores of `set` were asked
 * for. Returns 0; -FI_ENODATA: this link does not lead there; or another
 * negative errno.
 */
int place_fill(struct fi_info *info, const struct fi_info *hints,
	       const struct link_text *link, const struct core_set *set,
	       const struct link_place *place);

/*
 * Hints with addresses as sockets have them, in our form; NULL: without memory,
 * or they are none.
 */
struct fi_info *place_hints(const struct fi_info *hints);
/*
 * And back. Leaves out what has no such address: -FI_ENODATA, if that is all.
 */
int place_list(struct fi_info **list, uint32_t format);
