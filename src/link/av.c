/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses by number, and numbers by address. Both types are tables. */
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#include "link/endpoint.h"

struct av_number {
	uint64_t number;
	fi_addr_t address;
	UT_hash_handle hh;
};

static struct link_av *of(struct fid_av *fid)
{
	return (struct link_av *)fid;
}

struct av_entry *av_entry_of(const struct link_av *av, fi_addr_t address)
{
	struct av_entry *entry;

	if (address >= peek_at(av->count))
		return NULL;
	entry = &av->chunks[address / AV_CHUNK][address % AV_CHUNK];
	return peek_at(entry->is_used) ? entry : NULL;
}

fi_addr_t av_find(struct link_av *av, uint64_t number)
{
	struct av_number *found;
	fi_addr_t address;

	link_lock(&av->lock);
	HASH_FIND(hh, av->by_number, &number, sizeof(number), found);
	address = found == NULL ? FI_ADDR_NOTAVAIL : found->address;
	link_unlock(&av->lock);
	return address;
}

/* A place for one more: where one was removed, or a new one. */
static int place_take(struct link_av *av, fi_addr_t *ret_address)
{
	size_t chunk = av->count / AV_CHUNK;

	if (av->removed > 0)
		for (fi_addr_t i = 0; i < av->count; i++)
			if (av_entry_of(av, i) == NULL) {
				av->removed--;
				*ret_address = i;
				return 0;
			}
	if (chunk == AV_CHUNKS)
		return -FI_ENOMEM;
	if (av->chunks[chunk] == NULL) {
		av->chunks[chunk] = calloc(AV_CHUNK, sizeof(struct av_entry));
		if (av->chunks[chunk] == NULL)
			return -FI_ENOMEM;
	}
	*ret_address = av->count;
	set_seen(av->count, av->count + 1);
	return 0;
}

static int entry_fill(struct link_av *av, fi_addr_t at, const uint8_t *bytes,
		      const struct link_address *address)
{
	struct av_entry *entry = &av->chunks[at / AV_CHUNK][at % AV_CHUNK];
	struct av_number *number = malloc(sizeof(*number)), *old;

	if (number == NULL)
		return -FI_ENOMEM;
	*number =
		(struct av_number){ .number = address->number, .address = at };
	HASH_FIND(hh, av->by_number, &number->number, sizeof(number->number),
		  old);
	if (old == NULL)
		HASH_ADD(hh, av->by_number, number, sizeof(number->number),
			 number);
	else
		free(number); /* twice the same: the first one names it */
	entry->number = address->number;
	memcpy(entry->bytes, bytes, sizeof(entry->bytes));
	set_seen(entry->is_used, true);
	return 0;
}

static int insert_one(struct link_av *av, const uint8_t *bytes,
		      fi_addr_t *ret_address)
{
	struct fairlead_error error = { 0 };
	struct link_address address;
	struct link_ep *ep;
	fi_addr_t at = FI_ADDR_NOTAVAIL;
	int result = link_address_decode(bytes, &address, &error);

	if (result == 0 && address.digest != av->domain->digest)
		result = error_set(&error, -FI_EINVAL,
				   "an address of another link: set "
				   "FI_FAIRLEAD_LINKS alike on all nodes");
	if (result != 0) {
		link_warn(AV, "%s\n", error.text);
		return result;
	}
	link_lock(&av->lock);
	result = place_take(av, &at);
	if (result == 0)
		result = entry_fill(av, at, bytes, &address);
	link_unlock(&av->lock);
	for (ep = av->endpoints; ep != NULL && result == 0; ep = ep->next_in_av)
		result = ep_peer_add(ep, at, &address);
	if (result == 0)
		*ret_address = at;
	return result;
}

static int av_insert(struct fid_av *fid, const void *addresses, size_t count,
		     fi_addr_t *ret_addresses, uint64_t flags, void *context)
{
	int inserted = 0;

	if ((flags & ~(FI_MORE | FI_SYNC_ERR)) != 0)
		return -FI_EINVAL;
	for (size_t i = 0; i < count; i++) {
		fi_addr_t address = FI_ADDR_NOTAVAIL;
		int result = insert_one(of(fid),
					(const uint8_t *)addresses +
						i * LINK_ADDRESS_SIZE,
					&address);
		if (result == 0)
			inserted++;
		if (ret_addresses != NULL)
			ret_addresses[i] = address;
		if ((flags & FI_SYNC_ERR) != 0 && context != NULL)
			((int *)context)[i] = -result;
	}
	return inserted;
}

static void entry_remove(struct link_av *av, fi_addr_t address,
			 struct av_entry *entry)
{
	struct av_number *number;

	HASH_FIND(hh, av->by_number, &entry->number, sizeof(entry->number),
		  number);
	if (number != NULL && number->address == address) {
		HASH_DEL(av->by_number, number);
		free(number);
	}
	set_seen(entry->is_used, false);
	av->removed++;
}

static int av_remove(struct fid_av *fid, fi_addr_t *addresses, size_t count,
		     uint64_t flags)
{
	struct link_av *av = of(fid);

	if (flags != 0)
		return -FI_EINVAL;
	for (size_t i = 0; i < count; i++) {
		struct av_entry *entry = av_entry_of(av, addresses[i]);
		if (entry == NULL)
			return -FI_EINVAL;
		for (struct link_ep *ep = av->endpoints; ep != NULL;
		     ep = ep->next_in_av)
			ep_peer_remove(ep, addresses[i]);
		link_lock(&av->lock);
		entry_remove(av, addresses[i], entry);
		link_unlock(&av->lock);
	}
	return 0;
}

static int av_lookup(struct fid_av *fid, fi_addr_t address, void *bytes,
		     size_t *size)
{
	struct av_entry *entry = av_entry_of(of(fid), address);
	size_t room = *size;

	if (entry == NULL)
		return -FI_EINVAL;
	memcpy(bytes, entry->bytes,
	       room < LINK_ADDRESS_SIZE ? room : LINK_ADDRESS_SIZE);
	*size = LINK_ADDRESS_SIZE;
	return room < LINK_ADDRESS_SIZE ? -FI_ETOOSMALL : 0;
}

static const char *av_straddr(struct fid_av *fid, const void *bytes, char *buf,
			      size_t *size)
{
	struct link_address address;
	char text[128];
	int written;

	if (link_address_decode(bytes, &address, NULL) != 0)
		written = snprintf(text, sizeof(text), "no address");
	else
		written = snprintf(text, sizeof(text),
				   "fi_fairlead://%016llx@%016llx/%u",
				   (unsigned long long)address.number,
				   (unsigned long long)address.node,
				   address.rail_count);
	if (buf != NULL && *size > 0)
		snprintf(buf, *size, "%s", text);
	*size = (size_t)written + 1;
	return buf;
}

static int no_service(struct fid_av *av, const char *node, const char *service,
		      fi_addr_t *address, uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

static int no_symbols(struct fid_av *av, const char *node, size_t nodes,
		      const char *service, size_t services,
		      fi_addr_t *addresses, uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

static struct fi_ops_av av_ops = {
	.size = sizeof(av_ops),
	.insert = av_insert,
	.insertsvc = no_service,
	.insertsym = no_symbols,
	.remove = av_remove,
	.lookup = av_lookup,
	.straddr = av_straddr,
};

static int av_close(struct fid *fid)
{
	struct link_av *av = (struct link_av *)fid;
	struct av_number *number, *next;

	if (av->endpoints != NULL)
		return -FI_EBUSY;
	HASH_ITER (hh, av->by_number, number, next) {
		HASH_DEL(av->by_number, number);
		free(number);
	}
	for (size_t i = 0; i < AV_CHUNKS && av->chunks[i] != NULL; i++)
		free(av->chunks[i]);
	free(av->chunks);
	domain_hold(av->domain, -1);
	link_lock_fini(&av->lock);
	free(av);
	return 0;
}

static struct fi_ops av_fid_ops = {
	.size = sizeof(av_fid_ops),
	.close = av_close,
	.bind = no_bind,
	.control = no_control,
	.ops_open = no_ops_open,
};

int link_av_open(struct fid_domain *domain_fid, struct fi_av_attr *attr,
		 struct fid_av **ret_av, void *context)
{
	struct link_domain *domain = (struct link_domain *)domain_fid;
	struct link_av *av;

	if (attr->name != NULL || (attr->flags & ~FI_SYMMETRIC) != 0)
		return -FI_ENOSYS;
	av = calloc(1, sizeof(*av));
	if (av == NULL)
		return -FI_ENOMEM;
	av->chunks = calloc(AV_CHUNKS, sizeof(*av->chunks));
	if (av->chunks == NULL) {
		free(av);
		return -FI_ENOMEM;
	}
	av->fid.fid.fclass = FI_CLASS_AV;
	av->fid.fid.context = context;
	av->fid.fid.ops = &av_fid_ops;
	av->fid.ops = &av_ops;
	av->domain = domain;
	av->type = attr->type;
	link_lock_init(&av->lock, domain->is_threaded);
	domain_hold(domain, 1);
	*ret_av = &av->fid;
	return 0;
}
