/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Genders files: which nodes have which attributes, of which one is an ElanID.
 *
 *	# comment
 *	node[0-3],spare1   elanid=7,switch
 *
 * A line has a host list, and, after blanks, attributes with commas between
 * them, each a name or name=value; both may be absent. Other attributes are not
 * looked at, nor the host lists of lines that only have those. Pure, and no GPL
 * code: libgenders is what the tests compare it with, never what is linked.
 * Host lists are ours (base/hostlist.h): of what libgenders takes, "n[01-3]"
 * and "n1,,n2" are not.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "lanes/driver/elan3/hosts.h"

/*
 * The table of ElanIDs that the attribute of that name gives: its value is the
 * number, or "%n" for the last digits of the node's name. Nodes without the
 * attribute have none. -EINVAL with a text, "line 3: ...", also for what
 * elan_hosts_add refuses; -E2BIG: over a maximum.
 */
int genders_hosts(const char *text, size_t size, const char *attribute,
		  struct elan_hosts **ret_hosts,
		  struct fairlead_error *ret_error);
