/* SPDX-License-Identifier: BSD-3-Clause */
/* The core for tests obeys the environment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/fi_rma.h>

#include "link/test/pair.h"

#define SIZE 50000
#define PATH "core-test.record"

struct side {
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t other;
};

static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct side sides[2];
static uint8_t here[SIZE], there[SIZE];

static struct fi_info *info_of(uint64_t mr_mode)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	pair_check(hints != NULL);
	hints->domain_attr->mr_mode = (int)mr_mode;
	hints->fabric_attr->prov_name = strdup("testcore");
	if (fi_getinfo(fi_version(), NULL, NULL, 0, hints, &info) != 0)
		info = NULL;
	fi_freeinfo(hints);
	return info;
}

static void side_open(struct side *side, struct fi_info *info)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av = { .type = FI_AV_TABLE };

	pair_do(fi_endpoint(domain, info, &side->ep, NULL));
	pair_do(fi_cq_open(domain, &cq, &side->cq, NULL));
	pair_do(fi_av_open(domain, &av, &side->av, NULL));
	pair_do(fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
	pair_do(fi_ep_bind(side->ep, &side->av->fid, 0));
	pair_do(fi_enable(side->ep));
}

static void both_open(uint64_t mr_mode)
{
	struct fi_info *info = info_of(mr_mode);

	pair_check(info != NULL);
	pair_do(fi_fabric(info->fabric_attr, &fabric, NULL));
	pair_do(fi_domain(fabric, info, &domain, NULL));
	for (unsigned int i = 0; i < 2; i++)
		side_open(&sides[i], info);
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t name;
		size_t size = sizeof(name);
		pair_do(fi_getname(&sides[1 - i].ep->fid, &name, &size));
		pair_check(fi_av_insert(sides[i].av, &name, 1, &sides[i].other,
					0, NULL) == 1);
	}
	fi_freeinfo(info);
}

static void both_close(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		pair_do(fi_close(&sides[i].ep->fid));
		pair_do(fi_close(&sides[i].av->fid));
		pair_do(fi_close(&sides[i].cq->fid));
	}
	pair_do(fi_close(&domain->fid));
	pair_do(fi_close(&fabric->fid));
	unsetenv("TESTCORE_FAULTS");
	unsetenv("TESTCORE_MR_MODE");
	unsetenv("TESTCORE_DELAY");
}

/* Polls both; 0, or the error of a failure. Counts the polls of this side. */
static int next_of(struct side *side, unsigned int *ret_polls)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry failure = { 0 };
	struct side *other = side == &sides[0] ? &sides[1] : &sides[0];
	ssize_t result;

	*ret_polls = 0;
	do {
		(void)fi_cq_read(other->cq, NULL, 0);
		result = fi_cq_read(side->cq, &entry, 1);
		++*ret_polls;
	} while (result == -FI_EAGAIN);
	if (result == 1)
		return 0;
	pair_check(fi_cq_readerr(side->cq, &failure, 0) == 1);
	return failure.err;
}

static void calls_fail_on_request(void)
{
	unsigned int polls;

	both_open(0);
	setenv("TESTCORE_FAULTS",
	       "tc0/send:2:enomem,receive:*2:eagain,"
	       "complete:1:eio,tc1/cancel:1:eio",
	       1);
	for (unsigned int i = 0; i < 4; i++) {
		ssize_t result = fi_trecv(sides[1].ep, there, 8, NULL,
					  FI_ADDR_UNSPEC, i, 0, NULL);
		pair_check(result == (i % 2 == 0 ? 0 : -FI_EAGAIN));
	}
	pair_do(fi_tsend(sides[0].ep, here, 8, NULL, sides[0].other, 0, NULL));
	pair_check(next_of(&sides[0], &polls) == FI_EIO);
	pair_check(next_of(&sides[1], &polls) == 0);
	pair_check(fi_tsend(sides[0].ep, here, 8, NULL, sides[0].other, 0,
			    NULL) == -FI_ENOMEM);
	pair_check(fi_cancel(&sides[1].ep->fid, here) == -FI_ENOENT);
	both_close();
	setenv("TESTCORE_FAULTS", "open:3:enospc", 1);
	struct fi_info *info = info_of(0);
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED };
	struct fid_cq *queue;
	pair_do(fi_fabric(info->fabric_attr, &fabric, NULL));
	pair_do(fi_domain(fabric, info, &domain, NULL));
	pair_check(fi_cq_open(domain, &cq, &queue, NULL) == -FI_ENOSPC);
	pair_do(fi_close(&domain->fid));
	pair_do(fi_close(&fabric->fid));
	unsetenv("TESTCORE_FAULTS");
	fi_freeinfo(info);
}

static void completions_are_held_back(void)
{
	unsigned int polls;

	both_open(0);
	setenv("TESTCORE_DELAY", "20", 1);
	pair_do(fi_tsend(sides[0].ep, here, 8, NULL, sides[0].other, 0, NULL));
	pair_check(next_of(&sides[0], &polls) == 0);
	pair_check(polls == 20);
	both_close();
}

static void what_it_demands_has_to_be_offered(void)
{
	setenv("TESTCORE_MR_MODE", "local,prov_key", 1);
	pair_check(info_of(FI_MR_LOCAL) == NULL);
	struct fi_info *info = info_of(FI_MR_LOCAL | FI_MR_PROV_KEY);
	pair_check(info != NULL);
	pair_check(info->domain_attr->mr_mode ==
		   (FI_MR_LOCAL | FI_MR_PROV_KEY));
	fi_freeinfo(info);
	unsetenv("TESTCORE_MR_MODE");
}

static struct fid_mr *registered(void *memory, uint64_t key)
{
	struct fid_mr *mr;

	pair_do(fi_mr_reg(domain, memory, SIZE,
			  FI_SEND | FI_READ | FI_REMOTE_READ, 0, key, 0, &mr,
			  NULL));
	return mr;
}

static void memory_is_what_the_modes_say(void)
{
	const uint64_t mode = FI_MR_LOCAL | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR |
			      FI_MR_ALLOCATED | FI_MR_ENDPOINT;
	unsigned int polls;

	setenv("TESTCORE_MR_MODE",
	       "local,prov_key,virt_addr,allocated,endpoint", 1);
	both_open(mode);
	struct fid_mr *from = registered(there, 5), *to = registered(here, 5);
	uint64_t key = fi_mr_key(from), address = (uintptr_t)there;
	pair_check(key != 5 && key != fi_mr_key(to));
	pair_fill(there, SIZE, 3);
	/* Without a descriptor, before it is enabled, and by an offset. */
	pair_check(fi_read(sides[0].ep, here, SIZE, NULL, sides[0].other,
			   address, key, NULL) == -FI_EINVAL);
	pair_do(fi_read(sides[0].ep, here, SIZE, fi_mr_desc(to), sides[0].other,
			address, key, NULL));
	pair_check(next_of(&sides[0], &polls) == FI_EACCES);
	pair_do(fi_mr_bind(from, &sides[1].ep->fid, 0));
	pair_do(fi_mr_enable(from));
	pair_do(fi_read(sides[0].ep, here, SIZE, fi_mr_desc(to), sides[0].other,
			0, key, NULL));
	pair_check(next_of(&sides[0], &polls) == FI_EACCES);
	pair_do(fi_read(sides[0].ep, here, SIZE, fi_mr_desc(to), sides[0].other,
			address, key, NULL));
	pair_check(next_of(&sides[0], &polls) == 0);
	pair_check(pair_is_filled(here, SIZE, 3));
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *gone =
		mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fid_mr *none;
	pair_check(gone != MAP_FAILED && munmap(gone, page) == 0);
	pair_check(fi_mr_reg(domain, gone, 8, FI_SEND, 0, 6, 0, &none, NULL) ==
		   -FI_EFAULT);
	pair_do(fi_close(&from->fid));
	pair_do(fi_close(&to->fid));
	both_close();
}

static void it_records_what_it_is_given(void)
{
	static const char expected[] =
		"post tag=2 ignore=1 any size=8 tc0\n"
		"tsend tag=3 size=4 tc0\n"
		"took tag=3 size=4 tc0\n"
		"post tag=9 ignore=0 directed size=8 tc0\n"
		"cancel tag=9 tc0\n";
	char got[512] = "";
	unsigned int polls;

	both_open(0);
	unlink(PATH);
	setenv("TESTCORE_RECORD", PATH, 1);
	pair_do(fi_trecv(sides[1].ep, there, 8, NULL, FI_ADDR_UNSPEC, 2, 1,
			 NULL));
	pair_do(fi_tsend(sides[0].ep, here, 4, NULL, sides[0].other, 3, NULL));
	pair_check(next_of(&sides[1], &polls) == 0);
	pair_do(fi_trecv(sides[1].ep, there, 8, NULL, sides[1].other, 9, 0,
			 there));
	pair_do(fi_cancel(&sides[1].ep->fid, there));
	pair_check(next_of(&sides[1], &polls) == FI_ECANCELED);
	unsetenv("TESTCORE_RECORD");
	FILE *file = fopen(PATH, "r");
	pair_check(file != NULL);
	pair_check(fread(got, 1, sizeof(got) - 1, file) > 0);
	fclose(file);
	unlink(PATH);
	pair_check(strcmp(got, expected) == 0);
	both_close();
}

int main(void)
{
	calls_fail_on_request();
	completions_are_held_back();
	what_it_demands_has_to_be_offered();
	memory_is_what_the_modes_say();
	it_records_what_it_is_given();
	return 0;
}
