/* SPDX-License-Identifier: BSD-3-Clause */
/* A core's endpoint, which says to a peer of the provider's what it likes. */
#pragma once

#include "link/test/pair.h"

struct raw {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t to;     /* the victim */
	bool has_several; /* fabric rails, in the link */
};

/*
 * To the first fabric rail of the other process of the pair; over shared memory alone
 * to that.
 */
void raw_open(struct raw *raw, const struct pair *pair);
void raw_close(struct raw *raw);
void raw_progress(struct pair *pair, struct raw *raw);
void raw_send(struct pair *pair, struct raw *raw, const void *bytes,
	      size_t size);
/* The same with remote data: as a message that goes without a frame. */
void raw_send_direct(struct pair *pair, struct raw *raw, const void *bytes,
		     size_t size, uint64_t tag);
/* Whether the link takes such messages. */
bool raw_is_direct(void);
