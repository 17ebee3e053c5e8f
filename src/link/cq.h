/* SPDX-License-Identifier: BSD-3-Clause */
/* The completion queue. */
#pragma once

#include "link/domain.h"
#include "link/wait.h"

struct cq_entry {
	struct fi_cq_tagged_entry tagged;
	fi_addr_t source;
};

struct cq_failure {
	struct cq_failure *next;
	struct fi_cq_err_entry entry;
};

struct link_cq {
	struct fid_cq fid;
	struct link_domain *domain;
	enum fi_cq_format format;
	struct link_lock lock;
	struct cq_entry *ring; /* a power of two; grows in time */
	size_t size, head, tail;
	struct cq_failure *failures, **failures_end;
	struct cq_failure *spares; /* for those to come */
	unsigned int spare_count;
	bool has_failure;  /* one of these, or: */
	bool is_overrun;   /* something was lost for want of memory */
	bool is_signalled; /* fi_cq_signal: who waits stops */
	struct wait wait;
	struct endpoints endpoints; /* that complete to it */
};

/* What is lost for want of memory is said by the next read: FI_EOVERRUN. */
void cq_add(struct link_cq *cq, const struct cq_entry *entry);
void cq_fail(struct link_cq *cq, const struct fi_cq_err_entry *entry);

int link_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
		 struct fid_cq **ret_cq, void *context);
