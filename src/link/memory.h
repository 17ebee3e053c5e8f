/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of programs and of ours, as cores want it. The rail is locked. */
#pragma once

#include "link/links/links.h"
#include "link/setting.h"
#include "link/compat.h"
#include "link/wire/frame.h"

struct rail;
struct slab;

/* Registrations of buffers for as long as a core uses them. */
struct lent {
	unsigned int count;
	struct fid_mr *mrs[LINK_IOV_MAX];
};

/* Memory of ours that a peer reads; all zero: none. */
struct exposed {
	const void *data;
	void *copy; /* of what the program may change, or has in parts */
	struct fid_mr *mrs[RAILS_MAX]; /* on each rail by which it is read */
};

/* Registers memory as the core wants it. */
int rail_register(struct rail *rail, const struct fi_mr_attr *attr,
		  struct fid_mr **ret_mr);
/* The same of memory of ours, under a key of ours. */
int rail_register_own(struct rail *rail, void *bytes, size_t size,
		      uint64_t access, struct fid_mr **ret_mr);
/* A key for a registration of ours, where the core lets us choose it. */
uint64_t rail_own_key(struct rail *rail);
/*
 * Descriptors of buffers for one call of the core: what the program gave (NULL:
 * nothing), or a registration that rail_give_back() ends. `ret_descs` has space
 * for `count`, LINK_IOV_MAX at most.
 */
int rail_lend(struct rail *rail, const struct iovec *iov, size_t count,
	      uint64_t access, void *const *given, void **ret_descs,
	      struct lent *ret_lent);
void rail_give_back(struct lent *lent);
/*
 * Lets a peer read what is at `iov`: from the program's buffer, or from a copy
 * where that has several parts or may change (FI_INJECT); at each of the rails.
 * Whatever is returned, exposed_end() takes it back.
 */
int expose(struct rail *rails, unsigned int count, const struct iovec *iov,
	   size_t iov_count, uint64_t flags, struct frame_rail *ret_where,
	   struct exposed *exposed);
/* The rails are about to be closed: only the memory stays. */
void exposed_hide(struct exposed *exposed);
void exposed_end(struct exposed *exposed);
/* The descriptor of a buffer of ours; -FI_ENOMEM and the like without one. */
int rail_slab_desc(struct rail *rail, struct slab *slab, void **ret_desc);
