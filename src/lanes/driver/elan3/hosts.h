/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which node has which ElanID. One table is made from one file, genders.h or
 * elanhosts.h, and does not change afterwards. Pure.
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
