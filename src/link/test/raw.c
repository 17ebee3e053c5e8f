/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/test/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/address/address.h"
#include "link/compat.h"

static struct fi_info *raw_find(const char *provider)
{
	struct fi_info *hints = fi_allocinfo(), *list = NULL, *info;

	hints->caps = FI_MSG | FI_TAGGED;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup(provider);
	pair_do(fi_getinfo(fi_version(), NULL, NULL, GETINFO_HIDDEN, hints,
			   &list));
	fi_freeinfo(hints);
	info = list;
	while (strcmp(info->fabric_attr->prov_name, provider) != 0)
		info = info->next;
	info = fi_dupinfo(info);
	fi_freeinfo(list);
	return info;
}

/* Where the core of the victim's first fabric rail is, by the victim's address. */
static void raw_insert(struct raw *raw, const struct pair *pair)
{
	struct link_address address;
	char name[64];
	const void *bytes = name;

	pair_do(link_address_decode(pair->peer_name, &address, NULL));
	snprintf(name, sizeof(name), "fairlead-%016llx",
		 (unsigned long long)address.number);
	if (address.known_count > 0)
		bytes = address.rails[0].bytes;
	pair_check(fi_av_insert(raw->av, bytes, 1, &raw->to, 0, NULL) == 1);
}

/* The first provider that the link names, but for shared memory. */
void raw_open(struct raw *raw, const struct pair *pair)
{
	const char *text = getenv("FI_FAIRLEAD_LINKS");
	char provider[64];
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av = { .type = FI_AV_TABLE };

	if (strncmp(text, "shm+", 4) == 0)
		text += 4;
	raw->has_several = strpbrk(text, "+,") != NULL;
	snprintf(provider, sizeof(provider), "%.*s", (int)strcspn(text, "+:"),
		 text);
	raw->info = raw_find(compat_core_name(provider));
	pair_do(fi_fabric(raw->info->fabric_attr, &raw->fabric, NULL));
	pair_do(fi_domain(raw->fabric, raw->info, &raw->domain, NULL));
	pair_do(fi_cq_open(raw->domain, &cq, &raw->cq, NULL));
	pair_do(fi_av_open(raw->domain, &av, &raw->av, NULL));
	pair_do(fi_endpoint(raw->domain, raw->info, &raw->ep, NULL));
	pair_do(fi_ep_bind(raw->ep, &raw->cq->fid, FI_TRANSMIT | FI_RECV));
	pair_do(fi_ep_bind(raw->ep, &raw->av->fid, 0));
	pair_do(fi_enable(raw->ep));
	raw_insert(raw, pair);
}

void raw_close(struct raw *raw)
{
	pair_do(fi_close(&raw->ep->fid));
	pair_do(fi_close(&raw->av->fid));
	pair_do(fi_close(&raw->cq->fid));
	/* Not with a message that was too large to be taken. */
	if (fi_close(&raw->domain->fid) == 0)
		pair_do(fi_close(&raw->fabric->fid));
	fi_freeinfo(raw->info);
}

void raw_progress(struct pair *pair, struct raw *raw)
{
	struct fi_cq_err_entry failure = { 0 };
	struct fi_cq_tagged_entry entry;

	if (fi_cq_read(raw->cq, &entry, 1) == -FI_EAVAIL)
		fi_cq_readerr(raw->cq, &failure, 0);
	pair_progress(pair);
}

void raw_send(struct pair *pair, struct raw *raw, const void *bytes,
	      size_t size)
{
	static struct fi_context2 context;

	while (fi_send(raw->ep, bytes, size, NULL, raw->to, &context) ==
	       -FI_EAGAIN)
		raw_progress(pair, raw);
	raw_progress(pair, raw);
}

void raw_send_direct(struct pair *pair, struct raw *raw, const void *bytes,
		     size_t size, uint64_t tag)
{
	static struct fi_context2 context;

	while (fi_senddata(raw->ep, bytes, size, NULL, tag, raw->to,
			   &context) == -FI_EAGAIN)
		raw_progress(pair, raw);
	raw_progress(pair, raw);
}

bool raw_is_direct(void)
{
	const char *text = getenv("FI_FAIRLEAD_LINKS");

	if (strncmp(text, "shm+", 4) == 0)
		text += 4;
	return getenv("FI_FAIRLEAD_OFFLOAD") == NULL &&
	       strcmp(text, "shm") != 0 && strpbrk(text, "+,") == NULL;
}
