/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host lists: "n[0-3,07],login1" names n0 n1 n2 n3 n07 login1, in that order.
 * One pair of brackets a name; numbers keep their leading zeros.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"

#define HOSTLIST_NAME_MAX 64     /* bytes of a name, without its zero */
#define HOSTLIST_COUNT_MAX 65536 /* names in a list */

struct hostlist {
	size_t count;
	char **names; /* each 1..HOSTLIST_NAME_MAX of [A-Za-z0-9._-] */
};

/*
 * Expand text. Duplicates are kept. -EINVAL with the offending part for bad
 * syntax, bad characters or an empty list; -E2BIG over HOSTLIST_COUNT_MAX.
 */
int hostlist_parse(const char *text, struct hostlist **ret_list,
		   struct fairlead_error *ret_error);
void hostlist_destroy(struct hostlist *list);
DEFINE_AUTO(struct hostlist, hostlist_destroy)

/* Shortest text with the same names in the same order; the caller frees. */
char *hostlist_format(const char *const *names, size_t count);
/* Index of the first such name in text form, or -ENOENT, -EINVAL. */
int hostlist_find(const char *text, const char *name);
/* Index of the first name that stands in the list twice, or -ENOENT. */
int hostlist_duplicate(const struct hostlist *list);
