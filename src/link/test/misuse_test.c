/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs do too early, twice, or in the wrong order is refused, and all goes
 * on as if it had not been tried.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "link/test/pair.h"

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_cq *cq;
static struct fid_cntr *cntr;
static struct fid_av *av;
static struct fid_ep *ep;
static struct fid_mr *mr;
static uint8_t bytes[64], name[64];

static unsigned int thread_count(void)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned int count = 0;

	pair_check(folder != NULL);
	while ((entry = readdir(folder)) != NULL)
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

static bool is_found(void)
{
	struct fi_info *hints = fi_allocinfo();

	hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("fairlead");
	if (fi_getinfo(fi_version(), NULL, NULL, 0, hints, &info) != 0)
		info = NULL;
	fi_freeinfo(hints);
	return info != NULL;
}

static void all_open(void)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_cntr_attr cntr_attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	pair_do(fi_fabric(info->fabric_attr, &fabric, NULL));
	pair_do(fi_domain(fabric, info, &domain, NULL));
	pair_do(fi_cq_open(domain, &cq_attr, &cq, NULL));
	pair_do(fi_cntr_open(domain, &cntr_attr, &cntr, NULL));
	pair_do(fi_av_open(domain, &av_attr, &av, NULL));
	pair_do(fi_mr_reg(domain, bytes, sizeof(bytes), FI_REMOTE_READ, 0, 3, 0,
			  &mr, NULL));
	pair_do(fi_endpoint(domain, info, &ep, NULL));
}

static void what_is_not_bound_is_not_enabled(void)
{
	pair_check(fi_enable(ep) == -FI_ENOAV);
	pair_do(fi_ep_bind(ep, &av->fid, 0));
	pair_check(fi_enable(ep) == -FI_ENOCQ);
	pair_do(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT));
	pair_check(fi_enable(ep) == -FI_ENOCQ);
	pair_do(fi_ep_bind(ep, &cq->fid, FI_RECV));
	pair_do(fi_ep_bind(ep, &cntr->fid, FI_SEND));
}

static void what_is_bound_is_not_bound_again(void)
{
	pair_check(fi_ep_bind(ep, &av->fid, 0) == -FI_EINVAL);
	pair_check(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT) == -FI_EINVAL);
	pair_check(fi_ep_bind(ep, &cq->fid, FI_RECV) == -FI_EINVAL);
	pair_check(fi_ep_bind(ep, &cq->fid, 0) == -FI_EINVAL);
	pair_check(fi_ep_bind(ep, &cntr->fid, FI_SEND) == -FI_EINVAL);
	pair_check(fi_ep_bind(ep, &domain->fid, 0) == -FI_EINVAL);
	/* All or nothing. */
	pair_do(fi_ep_bind(ep, &cntr->fid, FI_READ));
	pair_check(fi_ep_bind(ep, &cntr->fid, FI_RECV | FI_READ) == -FI_EINVAL);
	pair_do(fi_ep_bind(ep, &cntr->fid, FI_RECV));
}

static void nothing_is_used_before_it_is_enabled(void)
{
	size_t size = sizeof(name);

	pair_check(fi_getname(&ep->fid, name, &size) == -FI_EOPBADSTATE);
	pair_check(fi_send(ep, bytes, 1, NULL, 0, NULL) == -FI_EOPBADSTATE);
	pair_check(fi_tinject(ep, bytes, 1, 0, 1) == -FI_EOPBADSTATE);
	pair_check(fi_recv(ep, bytes, 1, NULL, FI_ADDR_UNSPEC, NULL) ==
		   -FI_EOPBADSTATE);
	pair_check(fi_trecv(ep, bytes, 1, NULL, FI_ADDR_UNSPEC, 1, 0, NULL) ==
		   -FI_EOPBADSTATE);
	pair_check(fi_read(ep, bytes, 1, NULL, 0, 0, 3, NULL) < 0);
	pair_check(fi_write(ep, bytes, 1, NULL, 0, 0, 3, NULL) < 0);
	pair_check(fi_cancel(&ep->fid, NULL) == -FI_ENOENT);
	pair_check(fi_cq_read(cq, NULL, 0) == -FI_EAGAIN);
}

static void what_is_enabled_stays_so(void)
{
	uint8_t again[sizeof(name)];
	size_t size = sizeof(name);

	pair_do(fi_enable(ep));
	pair_do(fi_getname(&ep->fid, name, &size));
	pair_do(fi_enable(ep));
	pair_do(fi_getname(&ep->fid, again, &size));
	pair_check(memcmp(name, again, sizeof(name)) == 0);
	pair_check(fi_ep_bind(ep, &av->fid, 0) == -FI_EOPBADSTATE);
	pair_check(fi_ep_bind(ep, &cntr->fid, FI_RECV) == -FI_EOPBADSTATE);
}

/* Nothing was found, so that there is nothing to take. */
static void what_was_not_found_is_not_claimed(void)
{
	struct fi_context2 context;
	const struct fi_msg_tagged msg = { .addr = FI_ADDR_UNSPEC,
					   .tag = 9,
					   .context = &context };
	struct fi_cq_err_entry failure = { 0 };

	memset(&context, 0xff, sizeof(context));
	pair_do(fi_trecvmsg(ep, &msg, FI_PEEK | FI_CLAIM));
	while (fi_cq_readerr(cq, &failure, 0) == -FI_EAGAIN)
		(void)fi_cq_read(cq, NULL, 0);
	pair_check(failure.err == FI_ENOMSG);
	pair_check(fi_trecvmsg(ep, &msg, FI_CLAIM) == -FI_EINVAL);
}

/* They grow as they are used. */
static void queues_may_be_asked_to_be_endless(void)
{
	struct fi_cq_attr attr = { .size = SIZE_MAX };
	struct fid_cq *endless;

	pair_do(fi_cq_open(domain, &attr, &endless, NULL));
	pair_do(fi_close(&endless->fid));
}

static void a_domain_without_a_name_is_none(void)
{
	char *its = info->domain_attr->name;
	struct fid_domain *other;

	info->domain_attr->name = NULL;
	pair_check(fi_domain(fabric, info, &other, NULL) == -FI_EINVAL);
	info->domain_attr->name = its;
}

/* And an address that was never inserted. */
static void it_sends_to_itself(void)
{
	struct fi_cq_tagged_entry entry;
	fi_addr_t self;
	unsigned int ends = 0;
	ssize_t result;

	pair_check(fi_send(ep, bytes, 1, NULL, 77, NULL) == -FI_EINVAL);
	pair_check(fi_av_insert(av, name, 1, &self, 0, NULL) == 1);
	pair_do(fi_trecv(ep, bytes, 1, NULL, self, 1, 0, NULL));
	while ((result = fi_tsend(ep, name, 1, NULL, self, 1, NULL)) ==
	       -FI_EAGAIN)
		(void)fi_cq_read(cq, NULL, 0);
	pair_do(result);
	while (ends < 2)
		ends += fi_cq_read(cq, &entry, 1) == 1;
	pair_check(bytes[0] == name[0] && fi_cntr_read(cntr) == 2);
}

static void what_is_in_use_is_not_closed(void)
{
	pair_check(fi_close(&fabric->fid) == -FI_EBUSY);
	pair_check(fi_close(&domain->fid) == -FI_EBUSY);
	pair_check(fi_close(&cq->fid) == -FI_EBUSY);
	pair_check(fi_close(&cntr->fid) == -FI_EBUSY);
	pair_check(fi_close(&av->fid) == -FI_EBUSY);
	it_sends_to_itself();
	pair_do(fi_close(&ep->fid));
	pair_check(fi_close(&domain->fid) == -FI_EBUSY);
	pair_do(fi_close(&av->fid));
	pair_do(fi_close(&cntr->fid));
	pair_do(fi_close(&cq->fid));
	pair_check(fi_close(&domain->fid) == -FI_EBUSY);
	pair_do(fi_close(&mr->fid));
	pair_do(fi_close(&domain->fid));
	pair_do(fi_close(&fabric->fid));
}

int main(void)
{
	if (!is_found()) {
		printf("skipped: no link \"%s\" here\n",
		       getenv("FI_FAIRLEAD_LINKS"));
		return 77;
	}
	all_open();
	what_is_not_bound_is_not_enabled();
	what_is_bound_is_not_bound_again();
	nothing_is_used_before_it_is_enabled();
	what_is_enabled_stays_so();
	what_was_not_found_is_not_claimed();
	queues_may_be_asked_to_be_endless();
	a_domain_without_a_name_is_none();
	/* The provider has no threads, nor have these cores. */
	pair_check(thread_count() == 1);
	what_is_in_use_is_not_closed();
	pair_check(thread_count() == 1);
	fi_freeinfo(info);
	return 0;
}
