/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that are known by node and service only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LARGE           300000

static uint8_t out[LARGE], in[LARGE];

static void send_one(struct pair *pair, fi_addr_t to, size_t size,
		     unsigned int seed)
{
	pair_fill(out, size, seed);
	pair_retry(pair, fi_tsend(pair->ep, out, size, NULL, to, 3, NULL));
	pair_wait(pair, pair->send_cq, NULL);
}

static void receive_one(struct pair *pair, fi_addr_t from, fi_addr_t said,
			size_t size, unsigned int seed)
{
	fi_addr_t source = 0;

	memset(in, 0, sizeof(in));
	pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, from, 3, 0, NULL));
	struct fi_cq_tagged_entry entry =
		pair_wait(pair, pair->receive_cq, &source);
	pair_check(entry.len == size && source == said);
	pair_check(pair_is_filled(in, size, seed));
}

/* The first knows no peer yet; the case sets its address. */
static void who_is_known_by_name_is_found(struct pair *pair)
{
	uint8_t there[64];
	size_t size = sizeof(there);

	if (pair->is_first) {
		receive_one(pair, FI_ADDR_UNSPEC, FI_ADDR_NOTAVAIL, 100, 1);
		receive_one(pair, FI_ADDR_UNSPEC, FI_ADDR_NOTAVAIL, LARGE, 2);
		pair_insert(pair);
		send_one(pair, pair->peer, 50, 3);
		send_one(pair, pair->peer, LARGE, 4);
		return;
	}
	/* A receive that names it is posted before it is found. */
	pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, pair->peer, 3, 0,
			 &there));
	send_one(pair, pair->peer, 100, 1);
	send_one(pair, pair->peer, LARGE, 2);
	fi_addr_t source = 0;
	struct fi_cq_tagged_entry entry =
		pair_wait(pair, pair->receive_cq, &source);
	pair_check(entry.op_context == &there && source == pair->peer);
	pair_check(entry.len == 50 && pair_is_filled(in, 50, 3));
	receive_one(pair, pair->peer, pair->peer, LARGE, 4);
	pair_do(fi_av_lookup(pair->av, pair->peer, there, &size));
	pair_check(memcmp(there, pair->peer_name, size) == 0);
}

static void another_address_of_the_same_is_the_same(struct pair *pair)
{
	fi_addr_t again = FI_ADDR_NOTAVAIL, by_name = FI_ADDR_NOTAVAIL;

	if (pair->is_first) {
		for (unsigned int i = 0; i < 4; i++)
			receive_one(pair, pair->peer, pair->peer, 1000, i);
		send_one(pair, pair->peer, 10, 1);
		return;
	}
	pair_check(fi_av_insert(pair->av, pair->peer_name, 1, &again, 0,
				NULL) == 1);
	pair_check(fi_av_insertsvc(pair->av, "127.0.0.1", pair->service,
				   &by_name, 0, NULL) == 1);
	pair_check(again == pair->peer);
	/* Of shared memory alone, the number follows from the name. */
	bool is_one = by_name == again;
	send_one(pair, by_name, 1000, 0);
	send_one(pair, again, 1000, 1);
	pair_do(fi_av_remove(pair->av, &again, 1, 0));
	send_one(pair, pair->peer, 1000, 2);
	pair_do(fi_av_remove(pair->av, &pair->peer, 1, 0));
	pair_check(is_one || fi_tsend(pair->ep, out, 1, NULL, again, 3, NULL) ==
				     -FI_EINVAL);
	/* The other one names it now. */
	pair->peer = by_name;
	send_one(pair, pair->peer, 1000, 3);
	receive_one(pair, pair->peer, pair->peer, 10, 1);
}

static void a_name_of_another_link_is_refused(struct pair *pair)
{
	uint8_t name[64];
	fi_addr_t address = 0;

	if (pair->is_first)
		return;
	memcpy(name, pair->info->dest_addr, sizeof(name));
	name[6] ^= 1; /* in the digest */
	pair_check(fi_av_insert(pair->av, name, 1, &address, 0, NULL) == 0);
	pair_check(address == FI_ADDR_NOTAVAIL);
}

/* What an endpoint at a service of this node is enabled with: node or NULL. */
static int enable_at(struct pair *pair, const char *node)
{
	struct fi_info *hints = fi_dupinfo(pair->info), *info;
	struct fid_ep *ep;
	int result;

	pair_check(hints != NULL);
	free(hints->src_addr);
	hints->src_addr = NULL;
	hints->src_addrlen = 0;
	pair_do(fi_getinfo(fi_version(), node, pair->service, FI_SOURCE, hints,
			   &info));
	pair_do(fi_endpoint(pair->domain, info, &ep, NULL));
	pair_do(fi_ep_bind(ep, &pair->send_cq->fid, FI_TRANSMIT | FI_RECV));
	pair_do(fi_ep_bind(ep, &pair->av->fid, 0));
	result = fi_enable(ep);
	pair_do(fi_close(&ep->fid));
	fi_freeinfo(info);
	fi_freeinfo(hints);
	return result;
}

/* Out of band all processes of fabtests are at one service. */
static void a_service_in_use_is_only_a_preference(struct pair *pair)
{
	if (!pair->is_first)
		return;
	pair_check(enable_at(pair, "127.0.0.1") != 0);
	pair_do(enable_at(pair, NULL));
}

/* Later in the order of cases: its domain does not wait for long. */
static void who_does_not_answer_is_unreachable(struct pair *pair)
{
	char nobody[16];
	fi_addr_t address;
	long result;

	if (pair->is_first)
		return;
	snprintf(nobody, sizeof(nobody), "%d", atoi(pair->service) + 1);
	pair_check(fi_av_insertsvc(pair->av, "127.0.0.1", nobody, &address, 0,
				   NULL) == 1);
	do
		result = fi_tinject(pair->ep, out, 1, address, 3);
	while (result == -FI_EAGAIN);
	pair_check(result == -FI_EHOSTUNREACH);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE,
		.is_named = true,
	};
	static const struct pair_case found[] = {
		pair_case(who_is_known_by_name_is_found),
		pair_case(another_address_of_the_same_is_the_same),
		pair_case(a_name_of_another_link_is_refused),
		pair_case(a_service_in_use_is_only_a_preference),
	};
	static const struct pair_case lost[] = {
		pair_case(who_does_not_answer_is_unreachable),
	};
	static const struct pair_setting sockets = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE,
		.is_named = true,
		.has_sockets = true,
	};
	int result = pair_run(&setting, found, COUNT_OF(found));

	if (result != 0)
		return result;
	/* Of a link of shared memory alone there are none. */
	if (strcmp(getenv("FI_FAIRLEAD_LINKS"), "shm") != 0)
		result = pair_run(&sockets, found, 1);
	if (result != 0)
		return result;
	setenv("FI_FAIRLEAD_NAME_WAIT", "20", 1);
	return pair_run(&setting, lost, COUNT_OF(lost));
}
