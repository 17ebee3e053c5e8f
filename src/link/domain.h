/* SPDX-License-Identifier: BSD-3-Clause */
/* Fabric and domain, and what objects have in common. */
#pragma once

#include "link/eq.h"
#include "link/progress.h"
#include "link/provider.h"
#include "link/setting.h"

struct link_fabric_object {
	struct fid_fabric fid;
	int uses; /* domains and event queues that are open */
};

static inline void fabric_hold(struct link_fabric_object *fabric, int count)
{
	__atomic_add_fetch(&fabric->uses, count, __ATOMIC_ACQ_REL);
}

struct link_domain {
	struct fid_domain fid;
	struct fid_fabric *fabric;
	struct fid_eq *eq; /* or NULL */
	struct link_text text;
	struct core_set cores; /* in the order of the text */
	bool is_threaded;      /* locks are real */
	int uses;              /* objects that are open */
	uint32_t digest;       /* of the link */
	uint32_t format;       /* of addresses: see format.h */
	uint64_t name_wait_ns; /* for a peer known by name only */
	size_t atomic_max;     /* bytes of values in one operation */
	/* Of memory: its addresses are virtual, its keys are chosen here. */
	bool is_virtual, chooses_keys;
	struct link_lock memory; /* before a rail's; what follows */
	uint64_t last_key;       /* that was chosen */
	struct link_mr *mrs;     /* that peers may reach */
	/* By key; changes need both locks. Held while memory is reached. */
	struct link_lock reaching;
	struct link_mr *by_key;
	struct link_ep *endpoints; /* that are enabled */
	struct link_ep *spare;     /* memory of those that were closed */
	struct progress progress;
};

/* Objects that are open keep their domain open. Any thread. */
static inline void domain_hold(struct link_domain *domain, int count)
{
	__atomic_add_fetch(&domain->uses, count, __ATOMIC_ACQ_REL);
}

/* Polls the rails of each endpoint. */
void domain_progress(struct link_domain *domain);

int link_domain_open(struct fid_fabric *fabric, struct fi_info *info,
		     struct fid_domain **ret_domain, void *context);

/* Operations that an object does not have: -FI_ENOSYS. */
int no_bind(struct fid *fid, struct fid *other, uint64_t flags);
int no_control(struct fid *fid, int command, void *arg);
int no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
		void *context);
