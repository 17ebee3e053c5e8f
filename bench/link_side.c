/* SPDX-License-Identifier: BSD-3-Clause */
#include "link_side.h"

#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "link/address/address.h"
#include "rounds.h"

#define OURS         "fairlead="
#define TAG          1
#define TAG_ANSWER   2
#define TAG_NOBODY   1000 /* and above: what nothing matches */
#define TAG_LEFT     (UINT64_C(1) << 32)
#define KEY          1
#define ENTRIES      32
#define ADDRESS_SIZE 64
#define NAP_NS       50000
#define PAGE_SIZE    4096

struct side {
	bool is_first, is_ours, is_napping;
	const char *name;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	struct fid_mr *mr; /* for the other to reach, or NULL */
	fi_addr_t peer;
	size_t address_size;
	uint64_t to_send, to_receive; /* completions that will come */
	uint8_t *out, *in;
	struct fi_context2 contexts[2 * SIDE_WINDOW];
	unsigned int next_context;
};

static void check(const struct side *side, const char *what, long result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "link: %s: %s: %s\n", side->name, what,
		fi_strerror((int)-result));
	exit(1);
}

/* --- open and close --- */

static struct fi_info *info_find(struct side *side, uint64_t more)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;
	const char *provider = side->is_ours ? "fairlead" : side->name;

	if (hints == NULL)
		rounds_die("allocate");
	hints->caps = FI_TAGGED | FI_DIRECTED_RECV | more;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->fabric_attr->prov_name = strdup(provider);
	if (side->is_ours)
		setenv("FI_FAIRLEAD_LINKS", side->name + strlen(OURS), 1);
	check(side, "fi_getinfo",
	      fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	return info;
}

static void exchange(int fd, const void *mine, void *other, size_t size)
{
	if (write(fd, mine, size) != (ssize_t)size ||
	    read(fd, other, size) != (ssize_t)size)
		rounds_die("exchange addresses");
}

/* Each at the beginning of a page: a copy's time depends on that. */
static uint8_t *buffer_make(size_t size)
{
	void *buffer;

	if (posix_memalign(&buffer, PAGE_SIZE, size + 1) != 0)
		rounds_die("allocate");
	memset(buffer, 0, size + 1);
	return buffer;
}

struct side *side_open(const char *name, bool is_first, int fd,
		       size_t message_max, bool is_napping, bool is_reachable)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED, .size = 8192 };
	struct fi_av_attr av = { .type = FI_AV_MAP };
	struct side *side = calloc(1, sizeof(*side));
	uint8_t mine[ADDRESS_SIZE] = { 0 }, other[ADDRESS_SIZE];

	if (side == NULL)
		rounds_die("allocate");
	side->name = name;
	side->is_first = is_first;
	side->is_napping = is_napping;
	side->is_ours = strncmp(name, OURS, strlen(OURS)) == 0;
	side->info = info_find(side, is_reachable ? FI_RMA : 0);
	side->out = buffer_make(message_max);
	side->in = buffer_make(message_max);
	check(side, "fi_fabric",
	      fi_fabric(side->info->fabric_attr, &side->fabric, NULL));
	check(side, "fi_domain",
	      fi_domain(side->fabric, side->info, &side->domain, NULL));
	check(side, "fi_cq_open",
	      fi_cq_open(side->domain, &cq, &side->cq, NULL));
	check(side, "fi_av_open",
	      fi_av_open(side->domain, &av, &side->av, NULL));
	check(side, "fi_endpoint",
	      fi_endpoint(side->domain, side->info, &side->ep, NULL));
	check(side, "bind",
	      fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
	check(side, "bind", fi_ep_bind(side->ep, &side->av->fid, 0));
	check(side, "fi_enable", fi_enable(side->ep));
	if (is_reachable)
		check(side, "fi_mr_reg",
		      fi_mr_reg(side->domain, side->in, message_max + 1,
				FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0,
				&side->mr, NULL));
	side->address_size = sizeof(mine);
	check(side, "fi_getname",
	      fi_getname(&side->ep->fid, mine, &side->address_size));
	exchange(fd, mine, other, sizeof(mine));
	if (fi_av_insert(side->av, other, 1, &side->peer, 0, NULL) != 1)
		check(side, "fi_av_insert", -FI_EINVAL);
	return side;
}

void side_close(struct side *side)
{
	if (side->mr != NULL)
		fi_close(&side->mr->fid);
	fi_close(&side->ep->fid);
	fi_close(&side->av->fid);
	fi_close(&side->cq->fid);
	fi_close(&side->domain->fid);
	fi_close(&side->fabric->fid);
	fi_freeinfo(side->info);
	free(side->out);
	free(side->in);
	free(side);
}

/* --- what the loops are made of --- */

static void nap(void)
{
	const struct timespec time = { .tv_nsec = NAP_NS };

	nanosleep(&time, NULL);
}

static void progress(struct side *side)
{
	struct fi_cq_tagged_entry entries[ENTRIES];
	struct fi_cq_err_entry failure = { 0 };
	ssize_t count = fi_cq_read(side->cq, entries, ENTRIES);

	if (count == -FI_EAVAIL) {
		fi_cq_readerr(side->cq, &failure, 0);
		check(side, "a completion", -failure.err);
	}
	for (ssize_t i = 0; i < count; i++) {
		if ((entries[i].flags & FI_RECV) != 0)
			side->to_receive--;
		else
			side->to_send--;
	}
	if (count <= 0 && side->is_napping)
		nap();
}

static void wait_received(struct side *side)
{
	while (side->to_receive > 0)
		progress(side);
}

static void wait_all(struct side *side)
{
	while (side->to_receive > 0 || side->to_send > 0)
		progress(side);
}

static void *context_of(struct side *side)
{
	return &side->contexts[side->next_context++ % (2 * SIDE_WINDOW)];
}

static void post(struct side *side, size_t size, uint64_t tag)
{
	ssize_t result;

	while ((result = fi_trecv(side->ep, side->in, size, NULL, side->peer,
				  tag, 0, context_of(side))) == -FI_EAGAIN)
		progress(side);
	check(side, "fi_trecv", result);
	side->to_receive++;
}

/* As MPI does: injected where the provider takes that. */
static void put(struct side *side, size_t size, uint64_t tag)
{
	bool is_small = size <= side->info->tx_attr->inject_size;
	ssize_t result;

	do {
		result = is_small ? fi_tinject(side->ep, side->out, size,
					       side->peer, tag)
				  : fi_tsend(side->ep, side->out, size, NULL,
					     side->peer, tag, context_of(side));
		if (result == -FI_EAGAIN)
			progress(side);
	} while (result == -FI_EAGAIN);
	check(side, "send", result);
	side->to_send += is_small ? 0 : 1;
}

/* --- what is timed --- */

double side_latency(struct side *side, size_t size, unsigned int count)
{
	uint64_t start;

	post(side, size, TAG);
	if (!side->is_first) {
		for (unsigned int i = 0; i < count; i++) {
			wait_received(side);
			if (i + 1 < count)
				post(side, size, TAG);
			put(side, size, TAG);
		}
		wait_all(side);
		return 0;
	}
	start = rounds_now_ns();
	for (unsigned int i = 0; i < count; i++) {
		put(side, size, TAG);
		wait_received(side);
		if (i + 1 < count)
			post(side, size, TAG);
	}
	wait_all(side);
	return (double)(rounds_now_ns() - start) / count / 2;
}

double side_stream(struct side *side, size_t size, unsigned int window,
		   unsigned int count)
{
	uint64_t start = rounds_now_ns();

	for (unsigned int i = 0; i < count; i++) {
		if (side->is_first) {
			post(side, 1, TAG_ANSWER);
			for (unsigned int k = 0; k < window; k++)
				put(side, size, TAG);
			wait_all(side);
			continue;
		}
		for (unsigned int k = 0; k < window; k++)
			post(side, size, TAG);
		wait_received(side);
		put(side, 1, TAG_ANSWER);
	}
	wait_all(side);
	return (double)(rounds_now_ns() - start) / count / window;
}

/* It has ended when the data is where it belongs. */
static void reach(struct side *side, bool is_read, size_t size)
{
	const struct iovec iov = { side->out, size };
	const struct fi_rma_iov there = { .len = size, .key = KEY };
	const struct fi_msg_rma msg = { .msg_iov = &iov,
					.iov_count = 1,
					.addr = side->peer,
					.rma_iov = &there,
					.rma_iov_count = 1,
					.context = context_of(side) };
	ssize_t result;

	do {
		result = is_read ? fi_readmsg(side->ep, &msg, FI_COMPLETION)
				 : fi_writemsg(side->ep, &msg,
					       FI_COMPLETION |
						       FI_DELIVERY_COMPLETE);
		if (result == -FI_EAGAIN)
			progress(side);
	} while (result == -FI_EAGAIN);
	check(side, "access", result);
	side->to_send++;
}

double side_access(struct side *side, bool is_read, size_t size,
		   unsigned int window, unsigned int count)
{
	uint64_t start = rounds_now_ns(), end;

	if (!side->is_first)
		post(side, 1, TAG_ANSWER);
	for (unsigned int i = 0; i < count && side->is_first; i++) {
		for (unsigned int k = 0; k < window; k++)
			reach(side, is_read, size);
		wait_all(side);
	}
	end = rounds_now_ns();
	if (side->is_first)
		put(side, 1, TAG_ANSWER);
	wait_all(side);
	return (double)(end - start) / count / window;
}

unsigned int side_post(struct side *side, unsigned int count)
{
	struct fi_context2 *contexts = calloc(count + 1, sizeof(*contexts));

	if (contexts == NULL)
		rounds_die("allocate");
	for (unsigned int i = 0; i < count; i++)
		if (fi_trecv(side->ep, side->in, 8, NULL, side->peer,
			     TAG_NOBODY + i, 0, &contexts[i]) != 0)
			return i;
	return count;
}

/* The last one is expected: behind it all are there. */
unsigned int side_leave(struct side *side, unsigned int count)
{
	post(side, 8, TAG_ANSWER);
	for (unsigned int i = 0; i < count; i++)
		put(side, 8, TAG_LEFT + i);
	put(side, 8, TAG_ANSWER);
	wait_all(side);
	return count;
}

/* --- addresses of nobody --- */

static void address_make(struct side *side, unsigned int i, uint8_t *address)
{
	struct link_address ours;

	if (!side->is_ours) {
		struct sockaddr_in *in = (struct sockaddr_in *)address;
		in->sin_port = htons((uint16_t)(1 + i));
		return;
	}
	if (link_address_decode(address, &ours, NULL) != 0)
		rounds_die("an address of ours");
	ours.number += i + 1;
	ours.node++; /* not local, where there is room for few */
	link_address_encode(&ours, address);
}

static size_t memory_used(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

double side_know(struct side *side, unsigned int count)
{
	uint8_t mine[ADDRESS_SIZE], address[ADDRESS_SIZE];
	size_t size = sizeof(mine), before = memory_used();
	fi_addr_t known;

	check(side, "fi_getname", fi_getname(&side->ep->fid, mine, &size));
	for (unsigned int i = 0; i < count; i++) {
		memcpy(address, mine, sizeof(address));
		address_make(side, i, address);
		if (fi_av_insert(side->av, address, 1, &known, 0, NULL) != 1)
			check(side, "fi_av_insert", -FI_EINVAL);
	}
	return (double)(memory_used() - before) / count;
}
