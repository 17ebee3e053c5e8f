/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory is opened to be read. Whoever has its key from the wire can do that,
 * and no more. The provider is the program's argument.
 */
#include "scoll/transport/ofi/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scoll/transport/test/node.h"
#include "sys/test/watchdog.h"

#define SIZE 1000

/* Somebody with libfabric, and nothing of ours. */
struct outsider {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t victim;
};

static struct node victim;
static struct outsider outsider;
static uint8_t memory[SIZE];

static struct fi_info *hints_make(void)
{
	struct fi_info *hints = fi_allocinfo();

	assert_non_null(hints);
	hints->caps = FI_MSG | FI_RMA | FI_READ | FI_WRITE;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode =
		FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->fabric_attr->prov_name = strdup(test_provider);
	return hints;
}

static void outsider_open(const uint8_t *address)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_CONTEXT };
	struct fi_av_attr av = { .type = FI_AV_UNSPEC };
	struct outsider *s = &outsider;
	struct fi_info *hints = hints_make();

	assert_int_equal(fi_getinfo(FI_VERSION(1, 17), test_host(), NULL,
				    FI_SOURCE, hints, &s->info),
			 0);
	fi_freeinfo(hints);
	assert_int_equal(fi_fabric(s->info->fabric_attr, &s->fabric, NULL), 0);
	assert_int_equal(fi_domain(s->fabric, s->info, &s->domain, NULL), 0);
	assert_int_equal(fi_cq_open(s->domain, &cq, &s->cq, NULL), 0);
	assert_int_equal(fi_av_open(s->domain, &av, &s->av, NULL), 0);
	assert_int_equal(fi_endpoint(s->domain, s->info, &s->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(s->ep, &s->cq->fid, FI_TRANSMIT | FI_RECV),
			 0);
	assert_int_equal(fi_ep_bind(s->ep, &s->av->fid, 0), 0);
	assert_int_equal(fi_enable(s->ep), 0);
	assert_int_equal(fi_av_insert(s->av, address, 1, &s->victim, 0, NULL),
			 1);
}

static void outsider_close(void)
{
	struct outsider *s = &outsider;

	fi_close(&s->ep->fid);
	fi_close(&s->av->fid);
	fi_close(&s->cq->fid);
	fi_close(&s->domain->fid);
	fi_close(&s->fabric->fid);
	fi_freeinfo(s->info);
}

static int setup(void **state)
{
	uint8_t address[TRANSPORT_ADDRESS_MAX];

	watchdog_start(NULL);
	node_open(&victim, test_host(), NULL, 0);
	node_address(&victim, address);
	outsider_open(address);
	return 0;
}

static int teardown(void **state)
{
	outsider_close();
	node_close(&victim);
	watchdog_stop();
	return 0;
}

/* Until it has ended: 0, or a negative errno. */
static int transfer(const struct remote_piece *remote, uint8_t *bytes,
		    bool is_write)
{
	static struct fi_context2 context;
	struct fi_cq_entry entry;
	struct fi_cq_err_entry error = { 0 };
	ssize_t result;

	do {
		victim.kind->progress(victim.t, test_now_ns());
		(void)fi_cq_read(outsider.cq, NULL, 0);
		if (is_write)
			result = fi_write(outsider.ep, bytes, SIZE, NULL,
					  outsider.victim, remote->address,
					  remote->key, &context);
		else
			result = fi_read(outsider.ep, bytes, SIZE, NULL,
					 outsider.victim, remote->address,
					 remote->key, &context);
	} while (result == -FI_EAGAIN);
	if (result != 0)
		return (int)result;
	do {
		victim.kind->progress(victim.t, test_now_ns());
		result = fi_cq_read(outsider.cq, &entry, 1);
	} while (result == -FI_EAGAIN);
	if (result > 0)
		return 0;
	assert_int_equal(result, -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(outsider.cq, &error, 0), 1);
	return -error.err;
}

static void memory_that_peers_may_read_cannot_be_written(void **state)
{
	struct iovec piece = { memory, SIZE };
	struct remote_piece remote;
	struct region region;
	uint8_t bytes[SIZE] = { 0 };

	memset(memory, 0x5a, SIZE);
	assert_int_equal(victim.ops->region_open(victim.t, &piece, 1, &region,
						 &remote),
			 0);
	assert_int_equal(transfer(&remote, bytes, false), 0);
	assert_memory_equal(bytes, memory, SIZE);
	memset(bytes, 0, SIZE);
	/* It may end when it has left; what comes behind it is later. */
	(void)transfer(&remote, bytes, true);
	(void)transfer(&remote, bytes, false);
	for (size_t i = 0; i < SIZE; i++)
		assert_int_equal(memory[i], 0x5a);
	victim.ops->region_close(victim.t, &region);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			memory_that_peers_may_read_cannot_be_written, setup,
			teardown),
	};
	int result = puppet_main(argc, argv);

	return result >= 0 ? result : cmocka_run_group_tests(tests, NULL, NULL);
}
