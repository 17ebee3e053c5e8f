/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPICH asks of libfabric (the device ch4:ofi), in its order: all that
 * there is; what it has chosen, by hints; and an endpoint with one queue and
 * one counter. The system's MPICH cannot be made to use libfabric.
 */
#include <string.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include "link/compat.h"
#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MODES           (FI_CONTEXT | FI_CONTEXT2 | FI_ASYNC_IOV | FI_RX_CQ_DATA)
#define ATOMIC_ORDERS                                                      \
	(FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | \
	 FI_ORDER_ATOMIC_WAW)
#define TAG_BITS UINT64_C(0x00e000007fffffff)
#define AM_SIZE  (1 << 20)
#define LARGE    300000
#define KEY      3
#define RANK     41                           /* goes with each message */
#define SYNC     UINT64_C(0x0020000000000000) /* in a tag */

/* --- what it asks for --- */

static bool suits_mpich(const struct fi_info *info)
{
	const uint64_t both = FI_MSG | FI_MULTI_RECV;

	return (info->caps & FI_TAGGED) != 0 &&
	       info->domain_attr->cq_data_size >= 4 &&
	       (info->caps & both) == both && (info->caps & FI_RMA) != 0 &&
	       (info->caps & FI_ATOMIC) != 0 &&
	       (info->tx_attr->msg_order & ATOMIC_ORDERS) == ATOMIC_ORDERS &&
	       info->ep_attr->type == FI_EP_RDM;
}

/* The best of those that there are; all that it can do is asked for. */
static void ask_as_mpich(struct fi_info *hints)
{
	struct fi_info *list, *at;

	pair_do(fi_getinfo(fi_version(), NULL, NULL, 0, NULL, &list));
	for (at = list; at != NULL; at = at->next)
		if (strcmp(at->fabric_attr->prov_name, "fairlead") == 0)
			break;
	pair_check(at != NULL && suits_mpich(at));
	hints->caps = at->caps | FI_DIRECTED_RECV;
	hints->addr_format = at->addr_format;
	fi_freeinfo(list);
	hints->mode = MODES;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->av_type = FI_AV_TABLE;
	hints->domain_attr->cq_data_size = 4;
	hints->domain_attr->mr_mode = 0;
	hints->domain_attr->mode = FI_RESTRICTED_COMP;
	hints->tx_attr->op_flags = FI_COMPLETION | FI_DELIVERY_COMPLETE;
	hints->tx_attr->msg_order = FI_ORDER_SAS | ATOMIC_ORDERS;
	hints->tx_attr->comp_order = FI_ORDER_NONE;
	hints->rx_attr->op_flags = FI_COMPLETION;
	hints->rx_attr->msg_order = 0;
	hints->ep_attr->mem_tag_format = TAG_BITS;
}

/* Without any of its own checks it goes by what is said here. */
static void it_is_offered_what_it_needs(struct pair *pair)
{
	const struct fi_info *info = pair->info;

	pair_check(strcmp(info->fabric_attr->prov_name, "fairlead") == 0);
	pair_check(suits_mpich(info) && (info->caps & FI_DIRECTED_RECV) != 0);
	pair_check(info->domain_attr->threading == FI_THREAD_DOMAIN);
	pair_check(info->domain_attr->av_type == FI_AV_TABLE);
	pair_check(info->domain_attr->mr_mode == 0);
	pair_check(info->domain_attr->max_ep_tx_ctx == 1);
	pair_check((info->mode & ~MODES) == 0);
	pair_check((info->ep_attr->mem_tag_format & TAG_BITS) == TAG_BITS);
	pair_check(info->ep_attr->max_msg_size >= AM_SIZE);
	pair_check(info->tx_attr->iov_limit > 1);
	pair_check((info->tx_attr->op_flags & FI_DELIVERY_COMPLETE) != 0);
}

/*
 * Where the default set cannot be had: tags by active messages, keys of the
 * core's.
 */
static void it_is_offered_the_least_that_it_can_do_with(struct pair *pair)
{
	struct fi_info *hints = fi_dupinfo(pair->info), *info;

	hints->caps = FI_MSG | FI_MULTI_RECV | FI_RMA | FI_READ | FI_WRITE |
		      FI_REMOTE_READ | FI_REMOTE_WRITE;
	hints->mode = MODES;
	hints->domain_attr->av_type = FI_AV_MAP;
	hints->domain_attr->mr_mode =
		FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->tx_attr->op_flags = FI_COMPLETION;
	hints->tx_attr->msg_order = FI_ORDER_SAS;
	hints->tx_attr->caps = hints->rx_attr->caps = 0;
	hints->rx_attr->msg_order = 0;
	hints->ep_attr->max_order_raw_size = 0;
	hints->ep_attr->max_order_war_size = 0;
	hints->ep_attr->max_order_waw_size = 0;
	pair_do(fi_getinfo(fi_version(), NULL, NULL, 0, hints, &info));
	pair_check((info->caps & hints->caps) == hints->caps);
	pair_check(info->domain_attr->av_type == FI_AV_MAP);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

/* --- as it makes an endpoint --- */

static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_cntr *cntr;
static struct fid_ep *ep;
static fi_addr_t peer;
static uint8_t am[AM_SIZE], out[LARGE], in[LARGE], memory[LARGE];
static struct fi_context2 am_context, context;

/* One name has not to be there: it is looked for to be shared. */
static void vector_open(struct pair *pair)
{
	char name[] = "FI_NAMED_AV_0\n";
	struct fi_av_attr named = { .type = FI_AV_TABLE,
				    .name = name,
				    .flags = FI_READ };
	struct fi_av_attr attr = { .type = FI_AV_TABLE };

	pair_check(fi_av_open(pair->domain, &named, &av, NULL) != 0);
	pair_do(fi_av_open(pair->domain, &attr, &av, NULL));
}

/* By the pair, where MPICH has PMI. */
static void names_are_exchanged(struct pair *pair)
{
	uint8_t mine[64] = { 0 }, other[64] = { 0 };
	size_t size = sizeof(mine);

	pair_do(fi_getname(&ep->fid, mine, &size));
	pair_check(size <= sizeof(mine));
	pair_do(fi_trecv(pair->ep, other, size, NULL, pair->peer, 1, 0, NULL));
	pair_retry(pair,
		   fi_tsend(pair->ep, mine, size, NULL, pair->peer, 1, NULL));
	pair_do(fi_cntr_wait(pair->receive_cntr, 1, -1));
	pair_do(fi_cntr_wait(pair->send_cntr, 1, -1));
	pair_wait(pair, pair->receive_cq, NULL);
	pair_wait(pair, pair->send_cq, NULL);
	pair_check(fi_av_insert(av, other, 1, &peer, 0, NULL) == 1);
}

static void an_endpoint_is_made(struct pair *pair)
{
	struct fi_cntr_attr cntr_attr = { .events = FI_CNTR_EVENTS_COMP,
					  .wait_obj = FI_WAIT_UNSPEC };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	const struct iovec iov = { am, sizeof(am) };
	const struct fi_msg msg = { .msg_iov = &iov,
				    .iov_count = 1,
				    .addr = FI_ADDR_UNSPEC,
				    .context = &am_context };
	size_t least = 65536;

	vector_open(pair);
	pair_do(fi_cntr_open(pair->domain, &cntr_attr, &cntr, NULL));
	pair_do(fi_cq_open(pair->domain, &cq_attr, &cq, NULL));
	pair_do(fi_endpoint(pair->domain, pair->info, &ep, NULL));
	pair_do(fi_ep_bind(ep, &av->fid, 0));
	pair_do(fi_ep_bind(ep, &cq->fid,
			   FI_SEND | FI_RECV | FI_SELECTIVE_COMPLETION));
	pair_do(fi_ep_bind(ep, &cntr->fid, FI_READ | FI_WRITE));
	pair_do(fi_enable(ep));
	pair_do(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
			  &least, sizeof(least)));
	pair_do(fi_recvmsg(ep, &msg, FI_MULTI_RECV | FI_COMPLETION));
	names_are_exchanged(pair);
}

static struct fi_cq_tagged_entry next(void)
{
	struct fi_cq_tagged_entry entry[8];
	ssize_t got;

	while ((got = fi_cq_read(cq, entry, 1)) == -FI_EAGAIN)
		continue;
	pair_check(got == 1);
	return entry[0];
}

/* Again while there is no room, as MPICH does. */
#define must(call)                                             \
	do {                                                   \
		long result;                                   \
		while ((result = (long)(call)) == -FI_EAGAIN)  \
			(void)fi_cq_read(cq, NULL, 0);         \
		pair_do_at(result, #call, __FILE__, __LINE__); \
	} while (0)

/* Only who calls for the endpoint moves it on: pair_meet() would not. */
static void barrier(void)
{
	must(fi_tinject(ep, NULL, 0, peer, 77));
	must(fi_trecv(ep, NULL, 0, NULL, peer, 77, 0, &context));
	pair_check(next().len == 0);
}

/* Injected or with a completion, and the rank in the data. */
static void tagged_messages_go(struct pair *pair)
{
	static const size_t sizes[] = { 0, 8, 4096, LARGE };

	for (unsigned int i = 0; i < COUNT_OF(sizes); i++) {
		const uint64_t tag = SYNC | i;
		if (pair->is_first) {
			pair_fill(out, sizes[i], i);
			if (sizes[i] <= pair->info->tx_attr->inject_size) {
				must(fi_tinjectdata(ep, out, sizes[i], RANK,
						    peer, tag));
				continue;
			}
			must(fi_tsenddata(ep, out, sizes[i], NULL, RANK, peer,
					  tag, &context));
			pair_check(next().op_context == &context);
			continue;
		}
		must(fi_trecv(ep, in, sizes[i], NULL,
			      i % 2 == 0 ? peer : FI_ADDR_UNSPEC, i,
			      ~TAG_BITS | (TAG_BITS & ~UINT64_C(0x7fffffff)),
			      &context));
		struct fi_cq_tagged_entry entry = next();
		pair_check((entry.flags & FI_RECV) != 0 && entry.data == RANK &&
			   entry.tag == tag);
		pair_check(entry.len == sizes[i]);
		pair_check(pair_is_filled(in, sizes[i], i));
	}
	barrier();
}

/* MPI_Improbe and MPI_Imrecv. */
static void a_message_is_probed_and_claimed(struct pair *pair)
{
	const struct iovec iov = { in, sizeof(in) };
	struct fi_msg_tagged msg = { .addr = peer,
				     .tag = 9,
				     .context = &context };
	struct fi_cq_err_entry failure = { 0 };
	struct fi_cq_tagged_entry entry;
	ssize_t got = 0;

	if (pair->is_first) {
		pair_fill(out, 5000, 3);
		must(fi_tsenddata(ep, out, 5000, NULL, RANK, peer, 9,
				  &context));
		next();
		barrier();
		return;
	}
	while (got != 1) {
		must(fi_trecvmsg(ep, &msg, FI_PEEK | FI_CLAIM | FI_COMPLETION));
		while ((got = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
			continue;
		pair_check(got == 1 || (fi_cq_readerr(cq, &failure, 0) == 1 &&
					failure.err == FI_ENOMSG));
	}
	pair_check(entry.len == 5000 && entry.data == RANK);
	msg.msg_iov = &iov;
	msg.iov_count = 1;
	must(fi_trecvmsg(ep, &msg, FI_CLAIM | FI_COMPLETION));
	pair_check(next().len == 5000 && pair_is_filled(in, 5000, 3));
	barrier();
}

/* Headers are injected, what is longer is sent in two parts. */
static void active_messages_share_a_buffer(struct pair *pair)
{
	const struct iovec iov[] = { { out, 64 }, { out + 64, 8000 } };
	const struct fi_msg msg = { .msg_iov = iov,
				    .iov_count = 2,
				    .addr = peer,
				    .context = &context };

	pair_fill(out, 8064, 1);
	if (pair->is_first) {
		must(fi_inject(ep, out, 64, peer));
		must(fi_sendmsg(ep, &msg, FI_COMPLETION));
		pair_check(next().op_context == &context);
		barrier();
		return;
	}
	for (unsigned int i = 0; i < 2; i++) {
		struct fi_cq_tagged_entry entry = next();
		pair_check(entry.op_context == &am_context);
		pair_check((entry.flags & FI_RECV) != 0);
		pair_check(entry.len == (i == 0 ? 64 : 8064));
		pair_check(pair_is_filled(entry.buf, entry.len, 1));
	}
	barrier();
}

/* --- windows --- */

/* Nothing completes: what is done is counted, and waited for by a flush. */
static void windows_are_written_read_and_changed(struct pair *pair)
{
	static uint64_t one = 1, fetched;
	const struct fi_rma_iov there = { 8, LARGE - 8, KEY };
	const struct iovec iov = { out, LARGE - 8 }, back = { in, LARGE - 8 };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .iov_count = 1,
				  .addr = peer,
				  .rma_iov = &there,
				  .rma_iov_count = 1 };
	const struct fi_ioc value = { &one, 1 };
	const struct fi_rma_ioc word = { 0, 1, KEY };
	const struct fi_msg_atomic add = { .msg_iov = &value,
					   .iov_count = 1,
					   .addr = peer,
					   .rma_iov = &word,
					   .rma_iov_count = 1,
					   .datatype = FI_UINT64,
					   .op = FI_SUM };
	struct fi_ioc to = { &fetched, 1 };
	struct fid_mr *mr;

	memset(memory, 0, sizeof(memory));
	pair_do(fi_mr_reg(pair->domain, memory, sizeof(memory),
			  FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr,
			  NULL));
	barrier();
	pair_fill(out, LARGE - 8, 6 + pair->is_first);
	uint64_t done = fi_cntr_read(cntr);
	must(fi_inject_write(ep, out, 8, peer, 8, KEY));
	must(fi_writemsg(ep, &msg, FI_DELIVERY_COMPLETE));
	must(fi_atomicmsg(ep, &add, FI_DELIVERY_COMPLETE));
	must(fi_fetch_atomicmsg(ep, &add, &to, NULL, 1, FI_DELIVERY_COMPLETE));
	pair_do(fi_cntr_wait(cntr, done + 4, -1));
	msg.msg_iov = &back;
	must(fi_readmsg(ep, &msg, 0));
	pair_do(fi_cntr_wait(cntr, done + 5, -1));
	pair_check(fetched == 1);
	pair_check(pair_is_filled(in, LARGE - 8, 6 + pair->is_first));
	barrier();
	memcpy(&fetched, memory, 8);
	pair_check(fetched == 2);
	pair_check(pair_is_filled(memory + 8, LARGE - 8, 6 + !pair->is_first));
	pair_check(fi_cq_read(cq, NULL, 0) == -FI_EAGAIN);
	pair_do(fi_close(&mr->fid));
}

/* As MPI_Finalize does it: what is posted is cancelled. */
static void all_is_given_back(struct pair *pair)
{
	struct fi_cq_err_entry failure = { 0 };

	pair_do(fi_cancel(&ep->fid, &am_context));
	while (fi_cq_readerr(cq, &failure, 0) == -FI_EAGAIN)
		continue;
	pair_check(failure.err == FI_ECANCELED);
	pair_check(failure.op_context == &am_context);
	barrier();
	pair_do(fi_close(&ep->fid));
	pair_do(fi_close(&cq->fid));
	pair_do(fi_close(&av->fid));
	pair_do(fi_close(&cntr->fid));
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED,
		.ask = ask_as_mpich,
	};
	static const struct pair_case cases[] = {
		pair_case(it_is_offered_what_it_needs),
		pair_case(it_is_offered_the_least_that_it_can_do_with),
		pair_case(an_endpoint_is_made),
		pair_case(tagged_messages_go),
		pair_case(a_message_is_probed_and_claimed),
		pair_case(active_messages_share_a_buffer),
		pair_case(windows_are_written_read_and_changed),
		pair_case(all_is_given_back),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
