/* SPDX-License-Identifier: BSD-3-Clause */
/* The address vector. */
#pragma once

#include "link/domain.h"

struct av_entry {
	bool is_used;
	unsigned int uses; /* how often it was inserted, and not removed */
	bool is_named;     /* no address yet: see names.c */
	uint64_t number;
	uint8_t bytes[LINK_ADDRESS_SIZE];
};

#define AV_CHUNK  256
#define AV_CHUNKS 65536

struct link_av {
	struct fid_av fid;
	struct link_domain *domain;
	enum fi_av_type type;
	struct link_lock changing; /* one at a time; before all others */
	struct link_lock lock;
	/* Chunks stay where they are, so that senders look without a lock. */
	struct av_entry **chunks;
	size_t count;   /* addresses below it were given out */
	size_t removed; /* of them that are free again */
	struct av_number *by_number;
	struct link_ep *endpoints; /* that are bound to it */
	struct fid_eq *eq;         /* or NULL */
};

/* The entry of an address, or NULL. */
struct av_entry *av_entry_of(const struct link_av *av, fi_addr_t address);
/* What it is; 0, or a negative errno when there is none. */
int av_address(struct link_av *av, fi_addr_t at,
	       struct link_address *ret_address);
/* An answer has come for a name: this is its address from now on. */
int av_settle(struct link_av *av, fi_addr_t at, const uint8_t *bytes,
	      struct link_address *address);
/* Another address of the same endpoint, or FI_ADDR_NOTAVAIL. */
fi_addr_t av_twin(struct link_av *av, uint64_t number, fi_addr_t address);
/* The address of an endpoint by its number, or FI_ADDR_NOTAVAIL. */
fi_addr_t av_find(struct link_av *av, uint64_t number);

int link_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
		 struct fid_av **ret_av, void *context);
/* Of addresses in that format. */
int av_insert_as(struct link_av *av, uint32_t format, const void *addresses,
		 size_t count, fi_addr_t *ret_addresses, uint64_t flags,
		 void *context);
int link_av_insertsvc(struct fid_av *av, const char *node, const char *service,
		      fi_addr_t *address, uint64_t flags, void *context);
