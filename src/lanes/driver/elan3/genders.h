/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Genders files: which nodes have which attributes.
 *
 *	# comment
 *	node[0-3],spare1   elanid=7,switch
 *
 * A line has a host list, and, after blanks, attributes with commas between
 * them, each a name or name=value; both may be absent. In a value "%n" stands
 * for the node's name and "%%" for "%"; another "%" is itself. A node may stand in several lines; an
 * attribute twice for one node is an error. Pure, and no GPL code: libgenders
 * is what the tests compare it with, never what is linked. Host lists are ours
 * (base/hostlist.h): of what libgenders takes, "n[01-3]" and "n1,,n2" are not.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "lanes/driver/elan3/hosts.h"

#define GENDERS_ATTRIBUTE_MAX  64     /* bytes of an attribute's name */
#define GENDERS_VALUE_MAX      1024   /* bytes of a value, in its full length */
#define GENDERS_ATTRIBUTES_MAX 262144 /* of all nodes together */

/* Borrowed for the call. */
struct genders_attribute {
	const char *node;
	const char *name;
	const char *value; /* NULL: it has none */
	unsigned int line;
};

/*
 * Read a file's text and call fn for each attribute of each node, in the order
 * of the file; an error of fn ends it and is returned. -EINVAL with a text,
 * "line 3: ..."; -E2BIG: over a maximum.
 */
int genders_parse(const char *text, size_t size,
		  int (*fn)(void *arg,
			    const struct genders_attribute *attribute,
			    struct fairlead_error *ret_error),
		  void *arg, struct fairlead_error *ret_error);

/*
 * The table of ElanIDs that the attribute of that name gives: its value is the
 * number, or the node's name (as "elanid=%n"), whose last digits are it. Nodes
 * without the attribute have none. Errors as above, and elan_hosts_add's.
 */
int genders_hosts(const char *text, size_t size, const char *attribute,
		  struct elan_hosts **ret_hosts,
		  struct fairlead_error *ret_error);
