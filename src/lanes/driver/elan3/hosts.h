/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which node has which ElanID. One table is made from one file, of genders or
 * elanhosts, and does not change afterwards. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

#define ELAN_ID_MAX         16383   /* ElanIDs are 0 to it */
#define ELAN_HOSTS_MAX      65536   /* names in a table */
#define ELAN_HOSTS_FILE_MAX 1048576 /* bytes of a file that has it */

/* What a name stands for; a node has one of each kind at most. */
enum elan_host_kind {
	ELAN_HOST_EIP, /* over the Elan */
	ELAN_HOST_ETH, /* over Ethernet */
	ELAN_HOST_OTHER,
	ELAN_HOST_KINDS,
};

struct elan_hosts;

/* An empty table. */
struct elan_hosts *elan_hosts_create(void);
void elan_hosts_destroy(struct elan_hosts *hosts); /* NULL allowed */
DEFINE_AUTO(struct elan_hosts, elan_hosts_destroy)

/*
 * Add a name. -EINVAL with a text: an id over ELAN_ID_MAX, a name that is
 * there, an id that has another name of that kind; -E2BIG.
 */
int elan_hosts_add(struct elan_hosts *hosts, const char *name,
		   enum elan_host_kind kind, uint32_t id,
		   struct fairlead_error *ret_error);

/* The ElanID of a name, of any kind; -ENOENT. */
int elan_hosts_find(const struct elan_hosts *hosts, const char *name);
/* The name of an ElanID, the table's; NULL: none of that kind. */
const char *elan_hosts_name(const struct elan_hosts *hosts,
			    enum elan_host_kind kind, uint32_t id);
size_t elan_hosts_count(const struct elan_hosts *hosts);

/*
 * Elanhosts files, as /etc/elanhosts: lines of a kind, ElanIDs, and as many
 * names, with '#' before comments.
 *
 *	eip  [0-3]  node[0-3]
 *	eth  [0-3]  enode[0-3]
 *
 * A kind is eip, eth or other.
 *
 * -EINVAL with a text, "line 3: ...", also for what elan_hosts_add refuses;
 * -E2BIG: over a maximum.
 */
int elanhosts_parse(const char *text, size_t size,
		    struct elan_hosts **ret_hosts,
		    struct fairlead_error *ret_error);

/*
 * Genders files: which nodes have which attributes, of which one is an ElanID.
 *
 *	# comment
 *	node[0-3],spare1   elanid=7,switch
 *
 * A line has a host list, and, after blanks, attributes with commas between
 * them, each a name or name=value; both may be absent. Other attributes are not
 * looked at, nor the host lists of lines that only have those. No GPL
 * code: libgenders is what the tests compare it with, never what is linked.
 * Host lists are ours (base/hostlist.h): of what libgenders takes, "n[01-3]"
 * and "n1,,n2" are not.
 *
 * The table of ElanIDs that the attribute of that name gives: its value is the
 * number, or "%n" for the last digits of the node's name. Nodes without the
 * attribute have none. -EINVAL with a text, "line 3: ...", also for what
 * elan_hosts_add refuses; -E2BIG: over a maximum.
 */
int genders_hosts(const char *text, size_t size, const char *attribute,
		  struct elan_hosts **ret_hosts,
		  struct fairlead_error *ret_error);
