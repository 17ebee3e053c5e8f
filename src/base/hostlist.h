/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host lists: "n[0-3,07],login1" names n0 n1 n2 n3 n07 login1, in that order.
 *
 *	list  = part *( "," part )
 *	part  = [ text ] "[" range *( "," range ) "]" [ text ]  /  text
 *	range = digits [ "-" digits ]
 *
 * One pair of brackets a name; numbers keep their leading zeros, and a range
 * counts up in the width of its first number: "[08-11]" is 08 09 10 11. The
 * last number of a range is written as it is counted: "[08-9]" is refused.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"

#define HOSTLIST_NAME_MAX   64    /* bytes of a name, without its zero */
#define HOSTLIST_COUNT_MAX  65536 /* names in a list */
#define HOSTLIST_DIGITS_MAX 18    /* digits of a number in brackets */

/*
 * A name has 1..HOSTLIST_NAME_MAX bytes of [A-Za-z0-9._-] and begins with a
 * letter or a digit (it is never an option, "." or "..").
 */
struct hostlist {
	size_t count;
	char **names; /* the list's; may be reordered, not freed one by one */
};

/*
 * Expand text. Duplicates are kept. -EINVAL with the offending part for bad
 * syntax, bad characters, a name that is too long or an empty list; -E2BIG
 * over HOSTLIST_COUNT_MAX; -ENOMEM.
 */
int hostlist_parse(const char *text, struct hostlist **ret_list,
		   struct fairlead_error *ret_error);
void hostlist_destroy(struct hostlist *list);
DEFINE_AUTO(struct hostlist, hostlist_destroy)

/*
 * A short text with the same names in the same order (of none: ""), in which
 * names that follow each other and differ in one number share brackets; the
 * caller frees it. NULL when memory is out.
 */
char *hostlist_format(const char *const *names, size_t count);
/*
 * Index of the first such name in text form, without expanding it. -ENOENT;
 * -EINVAL or -E2BIG when the text is bad up to there.
 */
int hostlist_find(const char *text, const char *name);
/*
 * How many names text form has, without expanding it. -EINVAL or -E2BIG when
 * it is bad.
 */
int hostlist_count(const char *text);

/*
 * The lowest index of a name that stands at a lower index too. -ENOENT when
 * all names differ; -ENOMEM.
 */
int hostlist_duplicate(const struct hostlist *list);
