/* SPDX-License-Identifier: BSD-3-Clause */
/* Flags of operations that have none, and aliases with others than their endpoint. */
#include <string.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Queues get what asks for it, and by default nothing does. */
static void an_alias_completes_what_its_endpoint_does_not(struct pair *pair)
{
	struct fi_cq_tagged_entry entry;
	struct fid_ep *alias = NULL;
	int bytes[3] = { 0 };

	pair_do(fi_ep_alias(pair->ep, &alias, FI_RECV | FI_COMPLETION));
	pair_do(fi_recv(pair->ep, &bytes[0], sizeof(int), NULL, FI_ADDR_UNSPEC,
			&bytes[0]));
	pair_do(fi_recv(alias, &bytes[1], sizeof(int), NULL, FI_ADDR_UNSPEC,
			&bytes[1]));
	pair_do(fi_close(&alias->fid));
	pair_do(fi_ep_alias(pair->ep, &alias, FI_TRANSMIT | FI_COMPLETION));
	for (int i = 0; i < 2; i++) {
		bytes[2] = 7 + i;
		pair_retry(pair, fi_send(i == 0 ? pair->ep : alias, &bytes[2],
					 sizeof(int), NULL, pair->peer,
					 &bytes[2 * i]));
		pair_do(fi_cntr_wait(pair->send_cntr, (uint64_t)i + 1, -1));
	}
	entry = pair_wait(pair, pair->send_cq, NULL);
	pair_check(entry.op_context == &bytes[2]);
	entry = pair_wait(pair, pair->receive_cq, NULL);
	pair_check(entry.op_context == &bytes[1]);
	pair_do(fi_cntr_wait(pair->receive_cntr, 2, -1));
	pair_check(bytes[0] == 7 && bytes[1] == 8);
	pair_is_quiet(pair, pair->send_cq);
	pair_is_quiet(pair, pair->receive_cq);
	pair_do(fi_close(&alias->fid));
}

static void an_alias_has_what_its_endpoint_has(struct pair *pair)
{
	uint8_t name[64] = { 0 }, same[64] = { 0 };
	size_t size = sizeof(name), least = 100;
	uint64_t flags = FI_TRANSMIT;
	struct fid_ep *alias = NULL;
	int byte;

	pair_do(fi_ep_alias(pair->ep, &alias, FI_TRANSMIT | FI_INJECT));
	pair_do(fi_control(&alias->fid, FI_GETOPSFLAG, &flags));
	pair_check(flags == FI_INJECT);
	flags = FI_TRANSMIT;
	pair_do(fi_control(&pair->ep->fid, FI_GETOPSFLAG, &flags));
	pair_check(flags == 0);
	pair_do(fi_getname(&pair->ep->fid, name, &size));
	pair_do(fi_getname(&alias->fid, same, &size));
	pair_check(memcmp(name, same, sizeof(name)) == 0);
	pair_do(fi_setopt(&alias->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
			  &least, sizeof(least)));
	least = 0;
	size = sizeof(least);
	pair_do(fi_getopt(&pair->ep->fid, FI_OPT_ENDPOINT,
			  FI_OPT_MIN_MULTI_RECV, &least, &size));
	pair_check(least == 100);
	pair_do(fi_recv(alias, &byte, sizeof(byte), NULL, FI_ADDR_UNSPEC,
			&byte));
	pair_do((int)fi_cancel(&pair->ep->fid, &byte));
	pair_check(pair_wait_failure(pair, pair->receive_cq).err ==
		   FI_ECANCELED);
	pair_do(fi_close(&alias->fid));
}

static void an_alias_keeps_its_endpoint_open(struct pair *pair)
{
	struct fid_ep *alias = NULL, *other = NULL;

	pair_do(fi_ep_alias(pair->ep, &alias, FI_RECV));
	pair_do(fi_ep_alias(alias, &other, FI_TRANSMIT));
	pair_do(fi_close(&alias->fid));
	pair_check(fi_close(&pair->ep->fid) == -FI_EBUSY);
	pair_do(fi_close(&other->fid));
}

static void flags_are_of_one_direction(struct pair *pair)
{
	const uint64_t both = FI_TRANSMIT | FI_RECV;
	uint64_t flags = FI_RECV | FI_COMPLETION;
	struct fid_ep *alias = NULL;

	pair_do(fi_control(&pair->ep->fid, FI_SETOPSFLAG, &flags));
	flags = FI_RECV;
	pair_do(fi_control(&pair->ep->fid, FI_GETOPSFLAG, &flags));
	pair_check(flags == FI_COMPLETION);
	for (int i = 0; i < 2; i++) {
		flags = i == 0 ? 0 : both;
		pair_check(fi_ep_alias(pair->ep, &alias, flags) == -FI_EINVAL);
		pair_check(fi_control(&pair->ep->fid, FI_SETOPSFLAG, &flags) ==
			   -FI_EINVAL);
		pair_check(fi_control(&pair->ep->fid, FI_GETOPSFLAG, &flags) ==
			   -FI_EINVAL);
	}
	flags = FI_RECV;
	pair_do(fi_control(&pair->ep->fid, FI_SETOPSFLAG, &flags));
}

int main(void)
{
	const struct pair_setting setting = {
		.caps = FI_MSG,
		.bind_flags = FI_SELECTIVE_COMPLETION,
	};
	const struct pair_case cases[] = {
		pair_case(an_alias_completes_what_its_endpoint_does_not),
		pair_case(an_alias_has_what_its_endpoint_has),
		pair_case(an_alias_keeps_its_endpoint_open),
		pair_case(flags_are_of_one_direction),
	};

	return pair_run(&setting, cases, COUNT_OF(cases));
}
