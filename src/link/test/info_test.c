/* SPDX-License-Identifier: BSD-3-Clause */
/* What fi_getinfo says to what is asked. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/compat.h"
#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static struct fi_info *hints_make(void)
{
	struct fi_info *hints = fi_allocinfo();

	pair_check(hints != NULL);
	hints->mode = FI_CONTEXT;
	hints->fabric_attr->prov_name = strdup("fairlead");
	return hints;
}

static int ask_at(uint32_t version, const char *node, const char *service,
		  uint64_t flags, struct fi_info *hints, struct fi_info **info)
{
	int result = fi_getinfo(version, node, service, flags, hints, info);

	if (result != 0)
		*info = NULL;
	fi_freeinfo(hints);
	return result;
}

static int ask(struct fi_info *hints, struct fi_info **info)
{
	return ask_at(fi_version(), NULL, NULL, 0, hints, info);
}

static void what_is_asked_for_is_in_both_directions(struct pair *pair)
{
	struct fi_info *hints = hints_make(), *info;

	hints->caps = FI_RMA | FI_DIRECTED_RECV | FI_MSG;
	pair_do(ask(hints, &info));
	pair_check((info->caps & FI_RMA) != 0);
	pair_check((info->tx_attr->caps & FI_RMA) != 0);
	pair_check((info->rx_attr->caps & FI_RMA) != 0);
	pair_check((info->rx_attr->caps & FI_DIRECTED_RECV) != 0);
	fi_freeinfo(info);
}

static void progress_is_as_asked_for(struct pair *pair)
{
	/* Control is done within its calls, so it needs no thread. */
	static const struct {
		enum fi_progress control, data, ret_control, ret_data;
	} all[] = {
#define MANUAL FI_PROGRESS_MANUAL
#define AUTO   FI_PROGRESS_AUTO
		{ FI_PROGRESS_UNSPEC, FI_PROGRESS_UNSPEC, AUTO, MANUAL },
		{ FI_PROGRESS_UNSPEC, MANUAL, AUTO, MANUAL },
		{ FI_PROGRESS_UNSPEC, AUTO, AUTO, AUTO },
		{ MANUAL, FI_PROGRESS_UNSPEC, MANUAL, MANUAL },
		{ MANUAL, MANUAL, MANUAL, MANUAL },
		{ MANUAL, AUTO, MANUAL, AUTO },
		{ AUTO, FI_PROGRESS_UNSPEC, AUTO, MANUAL },
		{ AUTO, MANUAL, AUTO, MANUAL },
		{ AUTO, AUTO, AUTO, AUTO },
#if BUILD_IS_AT_LEAST(1, 22)
		/* Less than any other: what is more is as well. */
		{ FI_PROGRESS_CONTROL_UNIFIED, FI_PROGRESS_CONTROL_UNIFIED,
		  AUTO, MANUAL },
		{ FI_PROGRESS_CONTROL_UNIFIED, AUTO, AUTO, AUTO },
#endif
	};
	struct fi_info *info;

	for (unsigned int i = 0; i < COUNT_OF(all); i++) {
		struct fi_info *hints = hints_make();
		hints->domain_attr->control_progress = all[i].control;
		hints->domain_attr->data_progress = all[i].data;
		pair_do(ask(hints, &info));
		pair_check(info->domain_attr->control_progress ==
			   all[i].ret_control);
		pair_check(info->domain_attr->data_progress == all[i].ret_data);
		fi_freeinfo(info);
	}
}

/* True for all of them; what locks cost where: lock_test.c. */
static void threading_is_as_asked_for(struct pair *pair)
{
	static const enum fi_threading levels[] = {
		FI_THREAD_SAFE,
		FI_THREAD_COMPLETION,
		FI_THREAD_DOMAIN,
#if !BUILD_IS_AT_LEAST(2, 0)
		FI_THREAD_FID,
		FI_THREAD_ENDPOINT,
#endif
	};
	struct fi_info *info;

	for (unsigned int i = 0; i < COUNT_OF(levels); i++) {
		struct fi_info *hints = hints_make();
		hints->domain_attr->threading = levels[i];
		pair_do(ask(hints, &info));
		pair_check(info->domain_attr->threading == levels[i]);
		fi_freeinfo(info);
	}
	pair_do(ask(hints_make(), &info));
	pair_check(info->domain_attr->threading == FI_THREAD_SAFE);
	fi_freeinfo(info);
}

static void old_programs_get_a_mode_that_they_know(struct pair *pair)
{
	struct fi_info *info;

	pair_do(ask_at(FI_VERSION(1, 0), NULL, NULL, 0, hints_make(), &info));
	pair_check(info->domain_attr->mr_mode == FI_MR_SCALABLE);
	fi_freeinfo(info);
}

static void domains_share_no_vector(struct pair *pair)
{
	struct fi_info *hints = hints_make(), *info;

	hints->domain_attr->caps = FI_SHARED_AV;
	pair_check(ask(hints, &info) == -FI_ENODATA);
}

static void node_and_service_are_an_address(struct pair *pair)
{
	struct fi_info *source, *info, *hints;

	pair_do(ask_at(fi_version(), "127.0.0.1", "7471", FI_SOURCE,
		       hints_make(), &source));
	pair_check(source->src_addrlen == 64 && source->dest_addr == NULL);
	pair_do(ask_at(fi_version(), "127.0.0.1", "7471", 0, hints_make(),
		       &info));
	pair_check(info->dest_addrlen == 64);
	pair_check(memcmp(info->dest_addr, source->src_addr, 64) == 0);
	/* What the program has already comes back. */
	hints = hints_make();
	hints->src_addr = malloc(64);
	memcpy(hints->src_addr, source->src_addr, 64);
	hints->src_addrlen = 64;
	fi_freeinfo(info);
	pair_do(ask_at(fi_version(), "127.0.0.1", "7472", 0, hints, &info));
	pair_check(info->src_addrlen == 64 && info->dest_addrlen == 64);
	pair_check(memcmp(info->src_addr, source->src_addr, 64) == 0);
	pair_check(memcmp(info->dest_addr, source->src_addr, 64) != 0);
	fi_freeinfo(info);
	fi_freeinfo(source);
}

/* fabtests' fi_rdm_multi_domain takes its hints' addresses away, not their sizes. */
static void no_address_has_no_size(struct pair *pair)
{
	static const uint32_t formats[] = { FI_FORMAT_UNSPEC, FI_SOCKADDR_IN };

	for (unsigned int i = 0; i < COUNT_OF(formats); i++) {
		struct fi_info *hints = hints_make(), *info;
		hints->addr_format = formats[i];
		hints->src_addrlen = hints->dest_addrlen = 64;
		if (ask(hints, &info) == 0)
			fi_freeinfo(info);
		else
			pair_check(formats[i] != FI_FORMAT_UNSPEC);
	}
}

/* Only a fabric rail is at a place that has one. */
static void addresses_are_those_of_sockets_where_asked(struct pair *pair)
{
	struct fi_info *hints = hints_make(), *info;
	const struct sockaddr_in *source, *dest;
	bool is_fabric = strcmp(getenv("FI_FAIRLEAD_LINKS"), "shm") != 0;
	int result;

	hints->addr_format = FI_SOCKADDR;
	hints->src_addrlen = sizeof(struct sockaddr_in);
	hints->src_addr = calloc(1, hints->src_addrlen);
	*(struct sockaddr_in *)hints->src_addr = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(7473),
		.sin_addr = { htonl(INADDR_LOOPBACK) },
	};
	result = ask_at(fi_version(), "127.0.0.1", "7474", 0, hints, &info);
	if (!is_fabric) {
		pair_check(result == -FI_ENODATA);
		return;
	}
	pair_do(result);
	pair_check(info->addr_format == FI_SOCKADDR_IN);
	pair_check(info->src_addrlen == sizeof(*source));
	pair_check(info->dest_addrlen == sizeof(*dest));
	source = info->src_addr;
	dest = info->dest_addr;
	pair_check(ntohs(source->sin_port) == 7473);
	pair_check(ntohs(dest->sin_port) == 7474);
	fi_freeinfo(info);
}

static void what_is_no_address_is_refused(struct pair *pair)
{
	struct fi_info *hints = hints_make(), *info;

	hints->dest_addr = calloc(1, 64);
	hints->dest_addrlen = 64;
	pair_check(ask(hints, &info) == -FI_ENODATA);
}

static void a_node_that_there_is_not_is_refused(struct pair *pair)
{
	struct fi_info *info;

	pair_check(ask_at(fi_version(), "256.256.256.256", "7471",
			  FI_NUMERICHOST, hints_make(), &info) == -FI_ENODATA);
}

int main(void)
{
	static const struct pair_case cases[] = {
		pair_case(what_is_asked_for_is_in_both_directions),
		pair_case(progress_is_as_asked_for),
		pair_case(threading_is_as_asked_for),
		pair_case(old_programs_get_a_mode_that_they_know),
		pair_case(domains_share_no_vector),
		pair_case(node_and_service_are_an_address),
		pair_case(no_address_has_no_size),
		pair_case(addresses_are_those_of_sockets_where_asked),
		pair_case(what_is_no_address_is_refused),
		pair_case(a_node_that_there_is_not_is_refused),
	};
	struct fi_info *info;

	if (ask(hints_make(), &info) != 0) {
		printf("skipped: no link \"%s\" here\n",
		       getenv("FI_FAIRLEAD_LINKS"));
		return 77;
	}
	fi_freeinfo(info);
	for (unsigned int i = 0; i < COUNT_OF(cases); i++) {
		printf("%s\n", cases[i].name);
		cases[i].run(NULL);
	}
	return 0;
}
