/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls about counters, queues, vectors and endpoints. */
#include <string.h>

#include "link/test/call.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

void counters_are_set_by_the_program(struct pair *pair)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fid_cntr *cntr;

	pair_do(fi_cntr_open(pair->domain, &attr, &cntr, NULL));
	pair_check(fi_cntr_read(cntr) == 0 && fi_cntr_readerr(cntr) == 0);
	pair_do(fi_cntr_add(cntr, 5));
	pair_do(fi_cntr_adderr(cntr, 3));
	pair_check(fi_cntr_read(cntr) == 5 && fi_cntr_readerr(cntr) == 3);
	/* Errors that there were are no news. */
	pair_do(fi_cntr_wait(cntr, 5, -1));
	pair_do(fi_cntr_adderr(cntr, 1));
	pair_do(fi_cntr_set(cntr, 100));
	pair_check(fi_cntr_read(cntr) == 100 && fi_cntr_readerr(cntr) == 4);
	pair_do(fi_cntr_seterr(cntr, 0));
	pair_check(fi_cntr_read(cntr) == 100 && fi_cntr_readerr(cntr) == 0);
	pair_do(fi_close(&cntr->fid));
}

/* A receive is cancelled, for there to be one. */
void queues_say_what_an_error_is(struct pair *pair)
{
	struct fi_cq_err_entry failure = { 0 };
	struct fi_cq_tagged_entry entry;
	char text[64], cut[4];
	const char *said;
	uint8_t byte;

	pair_check(fi_cq_readerr(pair->receive_cq, &failure, 0) == -FI_EAGAIN);
	pair_do(fi_trecv(pair->ep, &byte, 1, NULL, pair->peer, 9, 0, &byte));
	pair_do(fi_cancel(&pair->ep->fid, &byte));
	/* Until it is read no other is. */
	for (unsigned int i = 0; i < 2; i++)
		pair_check(fi_cq_read(pair->receive_cq, &entry, 1) ==
			   -FI_EAVAIL);
	pair_check(fi_cq_readerr(pair->receive_cq, &failure, 0) == 1);
	pair_check(failure.err == FI_ECANCELED && failure.tag == 9);
	pair_check(failure.op_context == &byte);
	said = fi_cq_strerror(pair->receive_cq, failure.prov_errno,
			      failure.err_data, text, sizeof(text));
	pair_check(said != NULL && strcmp(text, said) == 0);
	pair_check(strcmp(text, fi_strerror(FI_ECANCELED)) == 0);
	fi_cq_strerror(pair->receive_cq, failure.prov_errno, NULL, cut,
		       sizeof(cut));
	pair_check(strlen(cut) == 3 && strncmp(cut, text, 3) == 0);
	pair_check(fi_cq_strerror(pair->receive_cq, failure.prov_errno, NULL,
				  NULL, 0) != NULL);
	pair_check(fi_cq_readerr(pair->receive_cq, &failure, 0) == -FI_EAGAIN);
	pair_is_quiet(pair, pair->receive_cq);
}

void addresses_are_looked_up_and_written(struct pair *pair)
{
	uint8_t name[64] = { 0 }, none[64] = { 0 };
	size_t size = sizeof(name), cut = 10, needed = 0, got;
	char text[128], few[8];

	pair_do(fi_av_lookup(pair->av, pair->peer, name, &size));
	pair_check(size == sizeof(name));
	pair_check(memcmp(name, pair->peer_name, size) == 0);
	memset(name, 0, sizeof(name));
	pair_check(fi_av_lookup(pair->av, pair->peer, name, &cut) ==
		   -FI_ETOOSMALL);
	pair_check(cut == sizeof(name) && name[10] == 0);
	pair_check(memcmp(name, pair->peer_name, 10) == 0);
	pair_check(fi_av_lookup(pair->av, 1000, name, &size) == -FI_EINVAL);

	pair_check(fi_av_straddr(pair->av, pair->peer_name, NULL, &needed) ==
		   NULL);
	pair_check(needed > sizeof(few) && needed <= sizeof(text));
	got = sizeof(text);
	pair_check(fi_av_straddr(pair->av, pair->peer_name, text, &got) ==
		   text);
	pair_check(got == needed && strlen(text) + 1 == needed);
	pair_check(strncmp(text, "fi_fairlead://", 14) == 0);
	got = sizeof(few);
	fi_av_straddr(pair->av, pair->peer_name, few, &got);
	pair_check(got == needed && strlen(few) == sizeof(few) - 1);
	pair_check(strncmp(few, text, sizeof(few) - 1) == 0);
	got = sizeof(text);
	fi_av_straddr(pair->av, none, text, &got);
	pair_check(strcmp(text, "no address") == 0);
}

void options_are_those_that_there_are(struct pair *pair)
{
	size_t value = 0, size = sizeof(value), small = 1;
	struct fid *fid = &pair->ep->fid;

	pair_do(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value,
			  &size));
	pair_check(size == sizeof(value) && value > 0);
	pair_check(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
			     &value, &small) == -FI_ETOOSMALL);
	pair_check(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value,
			     &size) == -FI_ENOPROTOOPT);
	pair_check(fi_setopt(fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value,
			     size) == -FI_ENOPROTOOPT);
	pair_check(fi_setopt(fid, FI_OPT_ENDPOINT + 1, FI_OPT_MIN_MULTI_RECV,
			     &value, size) == -FI_ENOPROTOOPT);
	pair_check(fi_setopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
			     &value, 1) == -FI_EINVAL);
}

/* --- an endpoint of its own, that sends to itself --- */

#define SHORT 4

static struct fi_info *short_info(struct pair *pair, size_t size)
{
	struct fi_info *hints = fi_dupinfo(pair->info), *info = NULL;

	hints->tx_attr->size = size;
	hints->rx_attr->size = size;
	if (fi_getinfo(fi_version(), NULL, NULL, 0, hints, &info) != 0)
		info = NULL;
	fi_freeinfo(hints);
	return info;
}

/* All that it does is in one queue, and what it gets and sends in one counter. */
static void short_open(struct pair *pair, struct fi_info *info,
		       struct fid_cq **cq, struct fid_cntr **cntr,
		       struct fid_ep **ep)
{
	struct fi_cntr_attr cntr_attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED,
				      .size = SHORT };

	pair_do(fi_cq_open(pair->domain, &cq_attr, cq, NULL));
	pair_do(fi_cntr_open(pair->domain, &cntr_attr, cntr, NULL));
	pair_do(fi_endpoint(pair->domain, info, ep, NULL));
	pair_do(fi_ep_bind(*ep, &(*cq)->fid, FI_TRANSMIT | FI_RECV));
	pair_do(fi_ep_bind(*ep, &(*cntr)->fid,
			   FI_SEND | FI_RECV | FI_READ | FI_WRITE));
	pair_do(fi_ep_bind(*ep, &pair->av->fid, 0));
	pair_do(fi_enable(*ep));
}

/* More than any of its queues was asked to hold. */
static void short_exchange(struct fid_cq *cq, struct fid_ep *ep, fi_addr_t self)
{
	static uint32_t sent[8 * SHORT], got[8 * SHORT];
	struct fi_cq_tagged_entry entry;
	unsigned int ended = 0;

	for (unsigned int i = 0; i < COUNT_OF(got); i++)
		pair_do(fi_trecv(ep, &got[i], 4, NULL, self, i, 0, NULL));
	for (unsigned int i = 0; i < COUNT_OF(sent); i++) {
		ssize_t result;
		sent[i] = 100 + i;
		while ((result = fi_tsend(ep, &sent[i], 4, NULL, self, i,
					  NULL)) == -FI_EAGAIN)
			ended += fi_cq_read(cq, &entry, 1) == 1;
		pair_do(result);
	}
	while (ended < COUNT_OF(sent) + COUNT_OF(got))
		ended += fi_cq_read(cq, &entry, 1) == 1;
	pair_check(memcmp(sent, got, sizeof(sent)) == 0);
}

void queues_may_be_as_short_as_asked_for(struct pair *pair)
{
	struct fi_info *info = short_info(pair, SHORT);
	struct fid_cntr *cntr;
	struct fid_cq *cq;
	struct fid_ep *ep;
	fi_addr_t self;
	uint8_t name[64];
	size_t size = sizeof(name);

	pair_check(short_info(pair, (size_t)1 << 40) == NULL);
	pair_check(info != NULL && info->tx_attr->size == SHORT &&
		   info->rx_attr->size == SHORT);
	if (!pair->is_first) {
		fi_freeinfo(info);
		return;
	}
	short_open(pair, info, &cq, &cntr, &ep);
	pair_do(fi_getname(&ep->fid, name, &size));
	pair_check(fi_av_insert(pair->av, name, 1, &self, 0, NULL) == 1);
	short_exchange(cq, ep, self);
	pair_check(fi_cntr_read(cntr) == 16 * SHORT);
	pair_do(fi_av_remove(pair->av, &self, 1, 0));
	pair_do(fi_close(&ep->fid));
	pair_do(fi_close(&cntr->fid));
	pair_do(fi_close(&cq->fid));
	fi_freeinfo(info);
}
