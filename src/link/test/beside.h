/* SPDX-License-Identifier: BSD-3-Clause */
/* One more endpoint in a process of a pair: shares memory with its first. */
#pragma once

#include "link/test/pair.h"

struct beside {
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t mine; /* the pair's endpoint, for it */
	fi_addr_t its;  /* it, for the pair's endpoint, once it is inserted */
};

/* Its queue is for all that it does. */
void beside_open(struct beside *beside, struct pair *pair);
/* Makes it known to the pair's endpoint; returns its address. */
fi_addr_t beside_insert(struct beside *beside, struct pair *pair);
void beside_close(struct beside *beside);
