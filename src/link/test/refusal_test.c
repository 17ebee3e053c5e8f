/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and writes that are refused: each ends, and with an error. Over tcp;ofi_rxm
 * alone the core gives up the connection then, and there is nothing behind it.
 */
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_rma.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MEMORY          500000
#define REGION          (MEMORY - 64) /* what is behind it is not reached */
#define KEY             77
#define KEY_READ        78 /* the same memory, to be read alone */
#define KEY_WRITE       79
#define NO_KEY          80

static uint8_t here[MEMORY], out[MEMORY], in[MEMORY];
static struct fid_mr *mr, *read_mr, *write_mr;

static void memory_is_registered(struct pair *pair)
{
	pair_do(fi_mr_reg(pair->domain, here, REGION,
			  FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr,
			  NULL));
	pair_do(fi_mr_reg(pair->domain, here, REGION, FI_REMOTE_READ, 0,
			  KEY_READ, 0, &read_mr, NULL));
	pair_do(fi_mr_reg(pair->domain, here, REGION, FI_REMOTE_WRITE, 0,
			  KEY_WRITE, 0, &write_mr, NULL));
}

static void write_fails(struct pair *pair, size_t size, uint64_t address,
			uint64_t key)
{
	uint64_t errors = fi_cntr_readerr(pair->write_cntr);

	const struct fi_msg_rma msg = {
		.msg_iov = &(struct iovec){ out, size },
		.iov_count = 1,
		.addr = pair->peer,
		.rma_iov = &(struct fi_rma_iov){ address, size, key },
		.rma_iov_count = 1,
		.context = &errors,
	};

	pair_retry(pair, fi_writemsg(pair->ep, &msg, FI_DELIVERY_COMPLETE));
	struct fi_cq_err_entry failure = pair_wait_failure(pair, pair->send_cq);
	pair_check(failure.op_context == &errors && failure.err > 0);
	pair_check(fi_cntr_readerr(pair->write_cntr) == errors + 1);
}

static void read_fails(struct pair *pair, size_t size, uint64_t address,
		       uint64_t key)
{
	pair_retry(pair, fi_read(pair->ep, in, size, NULL, pair->peer, address,
				 key, in));
	struct fi_cq_err_entry failure = pair_wait_failure(pair, pair->send_cq);
	pair_check(failure.op_context == in && failure.err > 0);
}

static void what_is_allowed_goes_on(struct pair *pair, size_t size)
{
	pair_retry(pair, fi_read(pair->ep, in, size, NULL, pair->peer,
				 REGION - size, KEY_READ, NULL));
	pair_wait(pair, pair->send_cq, NULL);
}

static void what_may_not_be_reached_fails_and_is_as_it_was(struct pair *pair)
{
	static const size_t each[] = { 8, 3000, 100000 };

	if (!pair->is_first)
		pair_fill(here, MEMORY, 11);
	pair_meet(pair);
	for (unsigned int i = 0; i < COUNT_OF(each) && pair->is_first; i++) {
		size_t size = each[i];
		write_fails(pair, size, 0, NO_KEY);
		read_fails(pair, size, 0, NO_KEY);
		write_fails(pair, size, 0, KEY_READ);
		read_fails(pair, size, 0, KEY_WRITE);
		/* A core may have begun: by what is there already. */
		pair_fill(in, sizeof(in), 11);
		memcpy(out, in + REGION - size + 1, size - 1);
		out[size - 1] = (uint8_t)~in[REGION];
		write_fails(pair, size, REGION - size + 1, KEY);
		read_fails(pair, size, REGION - size + 1, KEY);
		read_fails(pair, size, UINT64_MAX - 1, KEY);
		what_is_allowed_goes_on(pair, size);
	}
	pair_meet(pair);
	pair_check(pair->is_first || pair_is_filled(here, MEMORY, 11));
}

static void a_region_that_is_closed_is_not_reached(struct pair *pair)
{
	struct fid_mr *short_lived;

	if (!pair->is_first)
		pair_do(fi_mr_reg(pair->domain, here, REGION, FI_REMOTE_READ, 0,
				  NO_KEY, 0, &short_lived, NULL));
	pair_meet(pair);
	if (pair->is_first) {
		pair_retry(pair, fi_read(pair->ep, in, REGION, NULL, pair->peer,
					 0, NO_KEY, NULL));
		pair_wait(pair, pair->send_cq, NULL);
	}
	pair_meet(pair);
	if (!pair->is_first)
		pair_do(fi_close(&short_lived->fid));
	pair_meet(pair);
	if (pair->is_first)
		read_fails(pair, 8, 0, NO_KEY);
}

static void memory_is_given_back(struct pair *pair)
{
	pair_meet(pair);
	pair_do(fi_close(&mr->fid));
	pair_do(fi_close(&read_mr->fid));
	pair_do(fi_close(&write_mr->fid));
}

static void a_read_is_refused(struct pair *pair)
{
	if (pair->is_first)
		read_fails(pair, 100, 0, NO_KEY);
}

static void a_write_is_refused(struct pair *pair)
{
	if (pair->is_first)
		write_fails(pair, 100, 0, KEY_READ);
	pair_meet(pair);
	for (size_t i = 0; i < 100; i++)
		pair_check(here[i] == 0);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_RMA,
	};
	static const struct pair_case cases[] = {
		pair_case(memory_is_registered),
		pair_case(what_may_not_be_reached_fails_and_is_as_it_was),
		pair_case(a_region_that_is_closed_is_not_reached),
		pair_case(memory_is_given_back),
	};
	static const struct pair_case last_read[] = {
		pair_case(memory_is_registered),
		pair_case(a_read_is_refused),
		pair_case(memory_is_given_back),
	};
	static const struct pair_case last_write[] = {
		pair_case(memory_is_registered),
		pair_case(a_write_is_refused),
		pair_case(memory_is_given_back),
	};
	const char *links = getenv("FI_FAIRLEAD_LINKS");
	int result;

	if (links == NULL || strcmp(links, "tcp;ofi_rxm") != 0)
		return pair_run(&setting, cases, COUNT_OF(cases));
	result = pair_run(&setting, last_read, COUNT_OF(last_read));
	return result != 0
		       ? result
		       : pair_run(&setting, last_write, COUNT_OF(last_write));
}
