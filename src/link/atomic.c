/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fi_atomic and its like. The owner of a region executes all atomics on it,
 * whatever rail they arrive by: different hardware and software would not be
 * atomic to each other.
 */
#include "link/direct.h"
#include "link/names.h"
#include "link/reach.h"
#include "link/rma.h"

/* The arguments of any call of the three families. */
struct link_call {
	enum reach_kind kind;
	const struct fi_msg_atomic *msg;
	const struct fi_ioc *compare;
	size_t compare_count;
	const struct fi_ioc *result;
	size_t result_count;
	uint64_t flags;
};

static enum atomic_family family_of(enum reach_kind kind)
{
	return kind == REACH_ATOMIC  ? ATOMIC_BASE
	       : kind == REACH_FETCH ? ATOMIC_FETCH
				     : ATOMIC_COMPARE;
}

static size_t count_max(const struct link_domain *domain, enum reach_kind kind,
			unsigned int type)
{
	return domain->atomic_max / (kind == REACH_COMPARE ? 2 : 1) /
	       atomic_size(type);
}

/* Values in places of ours become bytes. Returns how many values. */
static size_t iov_fill(struct iovec *iov, const struct fi_ioc *ioc,
		       size_t count, size_t size)
{
	size_t values = 0;

	for (size_t i = 0; i < count; i++) {
		iov[i] = (struct iovec){ ioc[i].addr, ioc[i].count * size };
		values += ioc[i].count;
	}
	return values;
}

static int call_check(struct link_ep *ep, const struct link_call *call)
{
	const struct fi_msg_atomic *msg = call->msg;

	if (!ep->is_enabled)
		return -FI_EOPBADSTATE;
	if (ep_peer(ep, msg->addr) == NULL)
		return (int)name_refusal(ep, msg->addr);
	if (msg->iov_count > LINK_IOV_MAX ||
	    call->compare_count > LINK_IOV_MAX ||
	    call->result_count > LINK_IOV_MAX || msg->rma_iov_count == 0 ||
	    msg->rma_iov_count > LINK_IOV_MAX)
		return -FI_EINVAL;
	if ((call->flags & FI_TAGGED) != 0 ||
	    !atomic_is_valid(family_of(call->kind), msg->datatype, msg->op))
		return -FI_EOPNOTSUPP;
	return 0;
}

/* What has to be as many as there are values in the peer's memory. */
static int counts_check(const struct link_domain *domain,
			const struct link_call *call,
			const struct reach_call *to, size_t values,
			size_t compares, size_t results)
{
	size_t wanted = 0;

	for (size_t i = 0; i < to->range_count; i++)
		wanted += to->ranges[i].count;
	if ((values != wanted && to->op != ATOMIC_READ) ||
	    (call->kind == REACH_COMPARE && compares != wanted) ||
	    (call->kind != REACH_ATOMIC && results != wanted))
		return -FI_EINVAL;
	return wanted > count_max(domain, call->kind, to->type) ? -FI_EMSGSIZE
								: 0;
}

static ssize_t do_call(struct fid_ep *fid, const struct link_call *call)
{
	struct link_ep *ep = ep_of(fid);
	const struct fi_msg_atomic *msg = call->msg;
	struct iovec iov[3][LINK_IOV_MAX];
	struct reach_range ranges[LINK_IOV_MAX];
	int error = call_check(ep, call);

	if (error != 0)
		return error;
	size_t size = atomic_size(msg->datatype);
	struct reach_call to = {
		.kind = call->kind,
		.type = (enum atomic_type)msg->datatype,
		.op = (enum atomic_op)msg->op,
		.to = msg->addr,
		.iov = iov[0],
		.compare = iov[1],
		.result = iov[2],
		.count = msg->op == FI_ATOMIC_READ ? 0 : msg->iov_count,
		.compare_count = call->compare_count,
		.result_count = call->result_count,
		.ranges = ranges,
		.range_count = msg->rma_iov_count,
		.data = msg->data,
		.flags = call->flags | FI_ATOMIC |
			 (call->kind == REACH_ATOMIC ? FI_WRITE : FI_READ),
		.context = msg->context,
	};
	for (size_t i = 0; i < msg->rma_iov_count; i++)
		ranges[i] = (struct reach_range){ msg->rma_iov[i].addr,
						  msg->rma_iov[i].count,
						  msg->rma_iov[i].key };
	size_t values = iov_fill(iov[0], msg->msg_iov, to.count, size);
	to.size = values * size;
	error = counts_check(
		ep->domain, call, &to, values,
		iov_fill(iov[1], call->compare, to.compare_count, size),
		iov_fill(iov[2], call->result, to.result_count, size));
	return error != 0 ? error : reach_peer(ep, &to);
}

static size_t values_in(const struct fi_ioc *ioc, size_t count)
{
	size_t values = 0;

	for (size_t i = 0; i < count; i++)
		values += ioc[i].count;
	return values;
}

/* A call whose memory there is one range. */
static ssize_t do_simple(struct fid_ep *ep, struct link_call *call,
			 const struct fi_ioc *iov, size_t count, fi_addr_t to,
			 uint64_t address, uint64_t key, enum fi_datatype type,
			 enum fi_op op, void *context)
{
	const struct fi_rma_ioc remote = {
		.addr = address,
		.count = op == FI_ATOMIC_READ
				 ? values_in(call->result, call->result_count)
				 : values_in(iov, count),
		.key = key,
	};
	const struct fi_msg_atomic msg = { .msg_iov = iov,
					   .iov_count = count,
					   .addr = to,
					   .rma_iov = &remote,
					   .rma_iov_count = 1,
					   .datatype = type,
					   .op = op,
					   .context = context };

	call->msg = &msg;
	return do_call(ep, call);
}

/* --- base --- */

static ssize_t atomic_writev(struct fid_ep *ep, const struct fi_ioc *iov,
			     void **desc, size_t count, fi_addr_t to,
			     uint64_t address, uint64_t key,
			     enum fi_datatype type, enum fi_op op,
			     void *context)
{
	struct link_call call = { .kind = REACH_ATOMIC,
				  .flags = send_flags_of(ep) };

	return do_simple(ep, &call, iov, count, to, address, key, type, op,
			 context);
}

static ssize_t atomic_write(struct fid_ep *ep, const void *buf, size_t count,
			    void *desc, fi_addr_t to, uint64_t address,
			    uint64_t key, enum fi_datatype type, enum fi_op op,
			    void *context)
{
	const struct fi_ioc iov = { (void *)buf, count };

	return atomic_writev(ep, &iov, &desc, 1, to, address, key, type, op,
			     context);
}

static ssize_t atomic_writemsg(struct fid_ep *ep,
			       const struct fi_msg_atomic *msg, uint64_t flags)
{
	const struct link_call call = { .kind = REACH_ATOMIC,
					.msg = msg,
					.flags = send_flags_with(ep, flags) };

	return do_call(ep, &call);
}

static ssize_t atomic_inject(struct fid_ep *ep, const void *buf, size_t count,
			     fi_addr_t to, uint64_t address, uint64_t key,
			     enum fi_datatype type, enum fi_op op)
{
	const struct fi_ioc iov = { (void *)buf, count };
	struct link_call call = { .kind = REACH_ATOMIC, .flags = FI_INJECT };

	return do_simple(ep, &call, &iov, 1, to, address, key, type, op, NULL);
}

/* --- fetch --- */

static ssize_t atomic_fetchv(struct fid_ep *ep, const struct fi_ioc *iov,
			     void **desc, size_t count, struct fi_ioc *result,
			     void **result_desc, size_t result_count,
			     fi_addr_t to, uint64_t address, uint64_t key,
			     enum fi_datatype type, enum fi_op op,
			     void *context)
{
	struct link_call call = { .kind = REACH_FETCH,
				  .result = result,
				  .result_count = result_count,
				  .flags = send_flags_of(ep) };

	return do_simple(ep, &call, iov, count, to, address, key, type, op,
			 context);
}

static ssize_t atomic_fetch(struct fid_ep *ep, const void *buf, size_t count,
			    void *desc, void *result, void *result_desc,
			    fi_addr_t to, uint64_t address, uint64_t key,
			    enum fi_datatype type, enum fi_op op, void *context)
{
	const struct fi_ioc iov = { (void *)buf, count };
	struct fi_ioc there = { result, count };

	return atomic_fetchv(ep, &iov, &desc, 1, &there, &result_desc, 1, to,
			     address, key, type, op, context);
}

static ssize_t atomic_fetchmsg(struct fid_ep *ep,
			       const struct fi_msg_atomic *msg,
			       struct fi_ioc *result, void **result_desc,
			       size_t result_count, uint64_t flags)
{
	const struct link_call call = { .kind = REACH_FETCH,
					.msg = msg,
					.result = result,
					.result_count = result_count,
					.flags = send_flags_with(ep, flags) };

	return do_call(ep, &call);
}

/* --- compare --- */

static ssize_t atomic_comparev(
	struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
	const struct fi_ioc *compare, void **compare_desc, size_t compare_count,
	struct fi_ioc *result, void **result_desc, size_t result_count,
	fi_addr_t to, uint64_t address, uint64_t key, enum fi_datatype type,
	enum fi_op op, void *context)
{
	struct link_call call = { .kind = REACH_COMPARE,
				  .compare = compare,
				  .compare_count = compare_count,
				  .result = result,
				  .result_count = result_count,
				  .flags = send_flags_of(ep) };

	return do_simple(ep, &call, iov, count, to, address, key, type, op,
			 context);
}

static ssize_t atomic_compare(struct fid_ep *ep, const void *buf, size_t count,
			      void *desc, const void *compare,
			      void *compare_desc, void *result,
			      void *result_desc, fi_addr_t to, uint64_t address,
			      uint64_t key, enum fi_datatype type,
			      enum fi_op op, void *context)
{
	const struct fi_ioc iov = { (void *)buf, count };
	const struct fi_ioc than = { (void *)compare, count };
	struct fi_ioc there = { result, count };

	return atomic_comparev(ep, &iov, &desc, 1, &than, &compare_desc, 1,
			       &there, &result_desc, 1, to, address, key, type,
			       op, context);
}

static ssize_t atomic_comparemsg(struct fid_ep *ep,
				 const struct fi_msg_atomic *msg,
				 const struct fi_ioc *compare,
				 void **compare_desc, size_t compare_count,
				 struct fi_ioc *result, void **result_desc,
				 size_t result_count, uint64_t flags)
{
	const struct link_call call = { .kind = REACH_COMPARE,
					.msg = msg,
					.compare = compare,
					.compare_count = compare_count,
					.result = result,
					.result_count = result_count,
					.flags = send_flags_with(ep, flags) };

	return do_call(ep, &call);
}

/* --- what there is --- */

static int is_there(const struct link_domain *domain, enum reach_kind kind,
		    enum fi_datatype type, enum fi_op op, size_t *ret_count)
{
	if (!atomic_is_valid(family_of(kind), type, op))
		return -FI_EOPNOTSUPP;
	*ret_count = count_max(domain, kind, type);
	return 0;
}

static int base_is_there(struct fid_ep *ep, enum fi_datatype type,
			 enum fi_op op, size_t *ret_count)
{
	return is_there(ep_of(ep)->domain, REACH_ATOMIC, type, op, ret_count);
}

static int fetch_is_there(struct fid_ep *ep, enum fi_datatype type,
			  enum fi_op op, size_t *ret_count)
{
	return is_there(ep_of(ep)->domain, REACH_FETCH, type, op, ret_count);
}

static int compare_is_there(struct fid_ep *ep, enum fi_datatype type,
			    enum fi_op op, size_t *ret_count)
{
	return is_there(ep_of(ep)->domain, REACH_COMPARE, type, op, ret_count);
}

int link_query_atomic(struct fid_domain *domain, enum fi_datatype type,
		      enum fi_op op, struct fi_atomic_attr *attr,
		      uint64_t flags)
{
	enum reach_kind kind = (flags & FI_FETCH_ATOMIC) != 0 ? REACH_FETCH
			       : (flags & FI_COMPARE_ATOMIC) != 0
				       ? REACH_COMPARE
				       : REACH_ATOMIC;
	const uint64_t both = FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC;
	size_t count;
	int result;

	if ((flags & both) == both || (flags & ~(both | FI_TAGGED)) != 0)
		return -FI_EINVAL;
	if ((flags & FI_TAGGED) != 0)
		return -FI_EOPNOTSUPP;
	result = is_there((struct link_domain *)domain, kind, type, op, &count);
	if (result == 0 && attr != NULL)
		*attr = (struct fi_atomic_attr){ .count = count,
						 .size = atomic_size(type) };
	return result;
}

struct fi_ops_atomic link_atomic_ops = {
	.size = sizeof(link_atomic_ops),
	.write = atomic_write,
	.writev = atomic_writev,
	.writemsg = atomic_writemsg,
	.inject = atomic_inject,
	.readwrite = atomic_fetch,
	.readwritev = atomic_fetchv,
	.readwritemsg = atomic_fetchmsg,
	.compwrite = atomic_compare,
	.compwritev = atomic_comparev,
	.compwritemsg = atomic_comparemsg,
	.writevalid = base_is_there,
	.readwritevalid = fetch_is_there,
	.compwritevalid = compare_is_there,
};
