/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that can bear more of their memory's registration than others. The
 * argument says what: "basic" virtual addresses and keys of the provider's,
 * "provider" keys of the provider's.
 */
#include <string.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define SIZE            30000
#define BASIC           1 /* FI_MR_BASIC, of which libfabric 2.x warns */

struct remote {
	uint64_t key, address;
};

static uint8_t here[2][SIZE], out[SIZE], in[SIZE];
static struct fid_mr *mrs[2];

static void the_mode_is_what_was_asked_for(struct pair *pair)
{
	int mode = pair->info->domain_attr->mr_mode;

	pair_check(mode == BASIC || (mode & FI_MR_PROV_KEY) != 0);
	pair_check((mode & FI_MR_VIRT_ADDR) == 0);
}

static void expose(struct pair *pair, unsigned int i)
{
	bool is_basic = pair->info->domain_attr->mr_mode == BASIC;
	struct remote remote;

	memset(here[i], 0, SIZE);
	pair_do(fi_mr_reg(pair->domain, here[i], SIZE,
			  FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0, &mrs[i],
			  NULL));
	remote.key = fi_mr_key(mrs[i]);
	remote.address = is_basic ? (uintptr_t)here[i] : 0;
	pair_retry(pair, fi_tsend(pair->ep, &remote, sizeof(remote), NULL,
				  pair->peer, 1, NULL));
	pair_wait(pair, pair->send_cq, NULL);
}

static struct remote receive_remote(struct pair *pair)
{
	struct remote remote;

	pair_do(fi_trecv(pair->ep, &remote, sizeof(remote), NULL, pair->peer, 1,
			 0, NULL));
	pair_wait(pair, pair->receive_cq, NULL);
	return remote;
}

static void use(struct pair *pair, const struct remote *at, unsigned int seed)
{
	const uint64_t one = 1;

	pair_fill(out, SIZE - 16, seed);
	memset(in, 0, sizeof(in));
	pair_retry(pair, fi_write(pair->ep, out, SIZE - 16, NULL, pair->peer,
				  at->address + 16, at->key, NULL));
	pair_wait(pair, pair->send_cq, NULL);
	pair_retry(pair, fi_read(pair->ep, in, SIZE - 16, NULL, pair->peer,
				 at->address + 16, at->key, NULL));
	pair_wait(pair, pair->send_cq, NULL);
	pair_check(pair_is_filled(in, SIZE - 16, seed));
	pair_retry(pair, fi_atomic(pair->ep, &one, 1, NULL, pair->peer,
				   at->address + 8, at->key, FI_UINT64, FI_SUM,
				   NULL));
	pair_wait(pair, pair->send_cq, NULL);
}

static void check_here(unsigned int i, unsigned int seed)
{
	uint64_t value;

	memcpy(&value, here[i] + 8, sizeof(value));
	pair_check(value == 1 && here[i][7] == 0);
	pair_check(pair_is_filled(here[i] + 16, SIZE - 16, seed));
}

static void each_region_has_a_key_that_no_other_had(struct pair *pair)
{
	struct remote remote[6];

	for (unsigned int i = 0; i < COUNT_OF(remote); i += 2) {
		if (!pair->is_first) {
			expose(pair, 0);
			expose(pair, 1);
			pair_meet(pair);
			check_here(0, i);
			check_here(1, i + 1);
			pair_do(fi_close(&mrs[0]->fid));
			pair_do(fi_close(&mrs[1]->fid));
			continue;
		}
		remote[i] = receive_remote(pair);
		remote[i + 1] = receive_remote(pair);
		use(pair, &remote[i], i);
		use(pair, &remote[i + 1], i + 1);
		for (unsigned int k = 0; k < i + 1; k++)
			pair_check(remote[k].key != remote[i + 1].key &&
				   (k == i || remote[k].key != remote[i].key));
		pair_meet(pair);
	}
}

int main(int argc, char **argv)
{
	bool is_basic = argc == 2 && strcmp(argv[1], "basic") == 0;
	const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC,
		.mr_mode = is_basic ? BASIC
				    : FI_MR_PROV_KEY | FI_MR_VIRT_ADDR |
					      FI_MR_ALLOCATED | FI_MR_LOCAL,
	};
	static const struct pair_case cases[] = {
		pair_case(the_mode_is_what_was_asked_for),
		pair_case(each_region_has_a_key_that_no_other_had),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
