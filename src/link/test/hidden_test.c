/* SPDX-License-Identifier: BSD-3-Clause */
/* FI_PROVIDER names us alone: layers find their cores all the same. */
#include <stdlib.h>
#include <string.h>

#include "link/test/pair.h"

#define SIZE (1 << 20)

static int ask(const char *provider)
{
	struct fi_info *hints = fi_allocinfo(), *info;
	int result;

	pair_check(hints != NULL);
	hints->mode = FI_CONTEXT;
	hints->fabric_attr->prov_name = strdup(provider);
	result = fi_getinfo(fi_version(), NULL, NULL, 0, hints, &info);
	if (result == 0)
		fi_freeinfo(info);
	fi_freeinfo(hints);
	return result;
}

/* A link that is not there would be a test left out. */
static bool prepare(struct pair *pair)
{
	pair_check(ask("tcp") == -FI_ENODATA);
	pair_check(ask("tcp;ofi_rxm") == -FI_ENODATA);
	pair_check(ask("fairlead;ofi_rxm") == -FI_ENODATA);
	pair_do(ask("fairlead"));
	return true;
}

static void messages_of_all_sizes_arrive(struct pair *pair)
{
	static uint8_t here[SIZE], there[SIZE];

	for (size_t size = 1; size <= SIZE; size *= 32) {
		pair_do(fi_trecv(pair->ep, here, size, NULL, FI_ADDR_UNSPEC,
				 size, 0, NULL));
		pair_fill(there, size, 1);
		pair_retry(pair, fi_tsend(pair->ep, there, size, NULL,
					  pair->peer, size, NULL));
		pair_wait(pair, pair->send_cq, NULL);
		pair_check(pair_wait(pair, pair->receive_cq, NULL).len == size);
		pair_check(pair_is_filled(here, size, 1));
	}
}

int main(void)
{
	const struct pair_setting setting = { .caps = FI_TAGGED,
					      .prepare = prepare };
	const struct pair_case cases[] = {
		pair_case(messages_of_all_sizes_arrive),
	};

	return pair_run(&setting, cases, 1);
}
