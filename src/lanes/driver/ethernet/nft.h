/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program nft, as a child: libnftables must not be in our process (its
 * licence). The child has an empty environment, the root as its folder, its
 * three files and nothing else; with no_new_privs it has no more privileges than
 * we have. It works in the caller's network namespace, and dies with the caller:
 * nothing that a dead process has asked for is done after its death was seen.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * -EPERM: a path that is not absolute, or that others than root can write;
 * -ENOENT, ... of the system. All below look again.
 */
int nft_check(const char *path, struct fairlead_error *ret_error);

/*
 * Run `nft -f -` with the text (rules.h), which is done wholly or not at all.
 * -ENOPKG: no such program; -EPERM, -EEXIST, -ENOENT, -EBUSY, ... as far as nft's
 * words tell, else -EIO; all with its first line.
 */
int nft_apply(const char *path, const void *text, size_t size,
	      struct fairlead_error *ret_error);

/* What was refused, in packets. */
struct nft_counters {
	uint64_t refused_send; /* a stranger's packets into a lane */
	uint64_t refused_raw;  /* VXLAN made by hand */
	uint64_t refused_host; /* VXLAN from no member */
	/*
	 * Lane addresses on another device, forwarding, source routes, first
	 * fragments that hide what they are of.
	 */
	uint64_t refused_way;
};

enum nft_table {
	NFT_TABLE_NONE,
	NFT_TABLE_OURS,    /* written by us, in this version */
	NFT_TABLE_FOREIGN, /* somebody else's, or another version's */
};

/*
 * What `inet fairlead` is now, and, unless ret_counters is NULL, what it has
 * refused (nothing, where it is not ours). nft reads all sets whatever it is asked,
 * so this takes as long as there are lanes (20 ms with 500), unlike adding a lane.
 */
int nft_table(const char *path, enum nft_table *ret_table,
	      struct nft_counters *ret_counters,
	      struct fairlead_error *ret_error);
/*
 * A number for all that the table says but counts: another one is that of a table
 * that was changed. -ENOENT: there is none.
 */
int nft_digest(const char *path, uint64_t *ret_digest,
	       struct fairlead_error *ret_error);
/* Whoever wrote it. None is no error. */
int nft_table_delete(const char *path, struct fairlead_error *ret_error);

/* -ENOENT: there is no table of this version. */
int nft_counters(const char *path, struct nft_counters *ret_counters,
		 struct fairlead_error *ret_error);
