/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What hints ask for: more than there is gets nothing, and which of them that
 * was is said; less is met.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/compat.h"
#include "link/setting.h"
#include "link/test/pair.h"
#include "link/test/said.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define QUEUE_MAX       (1 << 20)

static struct fi_info *hints_make(void)
{
	struct fi_info *hints = fi_allocinfo();

	pair_check(hints != NULL);
	hints->mode = FI_CONTEXT;
	hints->fabric_attr->prov_name = strdup("fairlead");
	return hints;
}

/* The answer, or NULL. Takes the hints. */
static struct fi_info *ask_at(uint32_t version, struct fi_info *hints)
{
	struct fi_info *info;
	int result = fi_getinfo(version, NULL, NULL, 0, hints, &info);

	fi_freeinfo(hints);
	pair_check(result == 0 || result == -FI_ENODATA);
	return result == 0 ? info : NULL;
}

static struct fi_info *ask(struct fi_info *hints)
{
	return ask_at(fi_version(), hints);
}

/* --- sizes and counts --- */

enum part {
	DOMAIN,
	ENDPOINT,
	TRANSMIT,
	RECEIVE
};

static const struct amount {
	const char *name;
	enum part part;
	size_t at;
} amounts[] = {
#define amount(part, field, structure)                          \
	{                                                       \
#field, part, offsetof(struct structure, field) \
	}
	amount(DOMAIN, cq_data_size, fi_domain_attr),
	amount(DOMAIN, cq_cnt, fi_domain_attr),
	amount(DOMAIN, ep_cnt, fi_domain_attr),
	amount(DOMAIN, tx_ctx_cnt, fi_domain_attr),
	amount(DOMAIN, rx_ctx_cnt, fi_domain_attr),
	amount(DOMAIN, max_ep_tx_ctx, fi_domain_attr),
	amount(DOMAIN, max_ep_rx_ctx, fi_domain_attr),
	amount(DOMAIN, max_ep_stx_ctx, fi_domain_attr),
	amount(DOMAIN, max_ep_srx_ctx, fi_domain_attr),
	amount(DOMAIN, cntr_cnt, fi_domain_attr),
	amount(DOMAIN, mr_iov_limit, fi_domain_attr),
	amount(DOMAIN, max_err_data, fi_domain_attr),
	amount(DOMAIN, mr_cnt, fi_domain_attr),
	amount(ENDPOINT, max_msg_size, fi_ep_attr),
	amount(ENDPOINT, max_order_raw_size, fi_ep_attr),
	amount(ENDPOINT, max_order_war_size, fi_ep_attr),
	amount(ENDPOINT, max_order_waw_size, fi_ep_attr),
	amount(ENDPOINT, tx_ctx_cnt, fi_ep_attr),
	amount(ENDPOINT, rx_ctx_cnt, fi_ep_attr),
	amount(TRANSMIT, inject_size, fi_tx_attr),
	amount(TRANSMIT, iov_limit, fi_tx_attr),
	amount(TRANSMIT, rma_iov_limit, fi_tx_attr),
	amount(RECEIVE, total_buffered_recv, fi_rx_attr),
	amount(RECEIVE, iov_limit, fi_rx_attr),
};

static size_t *amount_of(struct fi_info *info, const struct amount *amount)
{
	void *const parts[] = { info->domain_attr, info->ep_attr, info->tx_attr,
				info->rx_attr };

	return (size_t *)((char *)parts[amount->part] + amount->at);
}

/* What is offered to who asks for so much of it; false: nothing. */
static bool is_offered(const struct amount *amount, size_t asked,
		       size_t *ret_offered)
{
	struct fi_info *hints = hints_make(), *info;

	*amount_of(hints, amount) = asked;
	info = ask(hints);
	if (info != NULL)
		*ret_offered = *amount_of(info, amount);
	fi_freeinfo(info);
	return info != NULL;
}

static void so_much_is_met_and_more_is_not(void)
{
	for (size_t i = 0; i < COUNT_OF(amounts); i++) {
		size_t most = 0, offered = 0;
		char because[64];
		const char *said;
		printf("  %s\n", amounts[i].name);
		fflush(stdout);
		pair_check(is_offered(&amounts[i], 0, &most));
		if (most > 0) {
			pair_check(is_offered(&amounts[i], most, &offered));
			pair_check(offered == most);
			pair_check(is_offered(&amounts[i], 1, &offered));
			pair_check(offered >= 1 && offered <= most);
		}
		if (most == SIZE_MAX)
			continue;
		said_begin();
		pair_check(!is_offered(&amounts[i], most + 1, &offered));
		pair_check(!is_offered(&amounts[i], SIZE_MAX, &offered));
		said = said_end();
		snprintf(because, sizeof(because), "attr->%s\n",
			 amounts[i].name);
		pair_check(strstr(said, because) != NULL);
	}
}

/* Queues are as long as somebody asks for. */
static void queues_have_the_size_that_is_asked_for(void)
{
	static const struct amount sizes[] = {
		amount(TRANSMIT, size, fi_tx_attr),
		amount(RECEIVE, size, fi_rx_attr),
	};
	size_t offered;

	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		pair_check(is_offered(&sizes[i], 1, &offered) && offered == 1);
		pair_check(is_offered(&sizes[i], QUEUE_MAX, &offered) &&
			   offered == QUEUE_MAX);
		pair_check(!is_offered(&sizes[i], QUEUE_MAX + 1, &offered));
	}
}

/* Nobody is promised an order of more than he asks for. */
static void less_order_is_enough_for_who_asks_for_less(void)
{
	struct fi_info *hints = hints_make(), *info;

	hints->ep_attr->max_order_raw_size = 8;
	hints->ep_attr->max_order_war_size = 16;
	hints->ep_attr->max_order_waw_size = 24;
	info = ask(hints);
	pair_check(info != NULL);
	pair_check(info->ep_attr->max_order_raw_size == 8);
	pair_check(info->ep_attr->max_order_war_size == 16);
	pair_check(info->ep_attr->max_order_waw_size == 24);
	fi_freeinfo(info);
}

/* Without accesses there is nothing to be in order. */
static void the_order_of_accesses_is_for_who_has_any(void)
{
	struct fi_info *info = ask(hints_make()), *hints;
	size_t most = info->ep_attr->max_order_war_size;

	fi_freeinfo(info);
	if (most == SIZE_MAX)
		return;
	for (unsigned int i = 0; i < 2; i++) {
		hints = hints_make();
		hints->caps = i == 0 ? FI_MSG : FI_MSG | FI_ATOMIC;
		hints->ep_attr->max_order_war_size = SIZE_MAX;
		info = ask(hints);
		pair_check((info != NULL) == (i == 0));
		fi_freeinfo(info);
	}
}

static void a_later_protocol_is_not_spoken(void)
{
	for (uint32_t i = 1; i <= LINK_PROTOCOL + 1; i++) {
		struct fi_info *hints = hints_make(), *info;
		hints->ep_attr->protocol_version = i;
		info = ask(hints);
		pair_check((info != NULL) == (i <= LINK_PROTOCOL));
		pair_check(info == NULL ||
			   info->ep_attr->protocol_version == LINK_PROTOCOL);
		fi_freeinfo(info);
	}
}

/* --- what there is not --- */

static void is_answered_at(uint32_t version, struct fi_info *hints, bool is_met,
			   const char *what)
{
	struct fi_info *info = ask_at(version, hints);

	if ((info != NULL) != is_met)
		fprintf(stderr, "%s\n", what);
	pair_check((info != NULL) == is_met);
	fi_freeinfo(info);
}

#define asks_at(version, is_met, assignment)                         \
	do {                                                         \
		struct fi_info *hints = hints_make();                \
		hints->assignment;                                   \
		is_answered_at(version, hints, is_met, #assignment); \
	} while (0)
#define is_met(assignment)     asks_at(fi_version(), true, assignment)
#define is_refused(assignment) asks_at(fi_version(), false, assignment)

/* Where nothing is asked for, nothing is in order. */
static void completions_come_in_no_order(void)
{
	is_met(tx_attr->comp_order = FI_ORDER_NONE);
	is_refused(tx_attr->comp_order = FI_ORDER_STRICT);
	is_refused(rx_attr->comp_order = FI_ORDER_STRICT);
	is_refused(rx_attr->comp_order = UINT64_C(1) << 16); /* of data */
}

static void messages_have_the_order_that_is_offered(void)
{
	struct fi_info *info = ask(hints_make());
	uint64_t order = info->tx_attr->msg_order;

	fi_freeinfo(info);
	is_met(tx_attr->msg_order = order);
	is_met(rx_attr->msg_order = order);
	is_refused(tx_attr->msg_order = order | FI_ORDER_RAS);
	is_refused(rx_attr->msg_order = order | FI_ORDER_RAS);
}

/* All of an endpoint's traffic has the class of who has none. */
static void there_is_one_class_of_traffic(void)
{
	is_met(tx_attr->tclass = FI_TC_BEST_EFFORT);
	is_met(domain_attr->tclass = FI_TC_BEST_EFFORT);
	is_refused(tx_attr->tclass = FI_TC_LOW_LATENCY);
	is_refused(tx_attr->tclass = fi_tc_dscp_set(8));
	is_refused(domain_attr->tclass = FI_TC_BULK_DATA);
}

static void with_key(uint32_t version, bool is_of_domain, size_t size,
		     bool is_met)
{
	struct fi_info *hints = hints_make();
	uint8_t *key = calloc(1, 8);

	if (is_of_domain) {
		hints->domain_attr->auth_key = key;
		hints->domain_attr->auth_key_size = size;
	} else {
		hints->ep_attr->auth_key = key;
		hints->ep_attr->auth_key_size = size;
	}
	is_answered_at(version, hints, is_met, "a key");
}

/* A key that nobody looks at would keep nobody out. */
static void there_are_no_authorization_keys(void)
{
	with_key(fi_version(), true, 0, true);
	with_key(fi_version(), false, 0, true);
	with_key(fi_version(), true, 8, false);
	with_key(fi_version(), false, 8, false);
}

static void flags_of_operations_are_those_that_there_are(void)
{
	is_met(tx_attr->op_flags = FI_COMPLETION | FI_DELIVERY_COMPLETE);
	is_met(rx_attr->op_flags = FI_COMPLETION | FI_MULTI_RECV);
	is_refused(tx_attr->op_flags = FI_FENCE);
	is_refused(rx_attr->op_flags = FI_COMPLETION | FI_TRIGGER);
}

/* A program that does not know these fields, or nothing. */
static void what_an_old_program_does_not_know_is_not_looked_at(void)
{
	const uint32_t old = FI_VERSION(1, 4);

	asks_at(old, true, domain_attr->mr_cnt = SIZE_MAX);
	asks_at(old, true, domain_attr->cntr_cnt = SIZE_MAX);
	asks_at(old, true, domain_attr->tclass = FI_TC_BULK_DATA);
	asks_at(old, true, tx_attr->tclass = FI_TC_BULK_DATA);
	with_key(old, true, 8, true);
	with_key(old, false, 8, true);
	asks_at(old, false, tx_attr->inject_size = SIZE_MAX);
}

/* Programs ask again with the answer. */
static void an_answer_is_met_as_hints(void)
{
	struct fi_info *info = ask(hints_make()), *again;

	pair_check(info != NULL);
	again = ask(fi_dupinfo(info));
	pair_check(again != NULL);
	pair_check(strcmp(again->domain_attr->name, info->domain_attr->name) ==
		   0);
	fi_freeinfo(again);
	fi_freeinfo(info);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		pair_case(so_much_is_met_and_more_is_not),
		pair_case(queues_have_the_size_that_is_asked_for),
		pair_case(less_order_is_enough_for_who_asks_for_less),
		pair_case(the_order_of_accesses_is_for_who_has_any),
		pair_case(a_later_protocol_is_not_spoken),
		pair_case(completions_come_in_no_order),
		pair_case(messages_have_the_order_that_is_offered),
		pair_case(there_is_one_class_of_traffic),
		pair_case(there_are_no_authorization_keys),
		pair_case(flags_of_operations_are_those_that_there_are),
		pair_case(what_an_old_program_does_not_know_is_not_looked_at),
		pair_case(an_answer_is_met_as_hints),
	};
	struct fi_info *info = ask(hints_make());

	if (info == NULL) {
		printf("skipped: no link \"%s\" here\n",
		       getenv("FI_FAIRLEAD_LINKS"));
		return 77;
	}
	fi_freeinfo(info);
	for (unsigned int i = 0; i < COUNT_OF(cases); i++) {
		printf("%s\n", cases[i].name);
		fflush(stdout);
		cases[i].run();
	}
	return 0;
}
