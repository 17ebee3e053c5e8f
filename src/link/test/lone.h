/* SPDX-License-Identifier: BSD-3-Clause */
/* An endpoint of a process that is in no pair, over the link of FI_FAIRLEAD_LINKS. */
#pragma once

#include "link/test/pair.h"

struct lone {
	struct fi_info *info; /* set by the caller; goes with the domain */
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq; /* for all that it does */
	struct fid_av *av;
	struct fid_ep *ep;
	uint8_t name[64];
};

/* What the provider offers, to be freed; NULL: the link cannot be had here. */
struct fi_info *lone_info(uint64_t caps, enum fi_threading threading);
void lone_domain_open(struct lone *lone);
void lone_domain_close(struct lone *lone);
/* In its domain; still to be enabled. */
void lone_endpoint_make(struct lone *lone);
/* The same, enabled, and its name is known. */
void lone_endpoint_open(struct lone *lone);
void lone_endpoint_close(struct lone *lone);
/* The next completion, which is no failure. ret_source may be NULL. */
struct fi_cq_tagged_entry lone_wait(struct lone *lone, fi_addr_t *ret_source);
