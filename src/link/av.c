/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses by number, and numbers by address. Both types are tables. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/*
 * Of each message the sender is looked up, by a number that is random already.
 */
#define HASH_FUNCTION(key, size, hash) memcpy(&(hash), key, sizeof(hash))
#include "link/av.h"
#include "base/hash.h"
#include "link/endpoint.h"
#include "link/eq.h"
#include "link/format.h"
#include "link/names.h"

struct av_number {
	uint64_t number;
	fi_addr_t address; /* of the first of them */
	size_t count;
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

int av_address(struct link_av *av, fi_addr_t at,
	       struct link_address *ret_address)
{
	const struct av_entry *entry = av_entry_of(av, at);
	int result = -FI_EADDRNOTAVAIL;

	link_lock(&av->lock);
	if (entry != NULL)
		result = link_address_decode(entry->bytes, ret_address, NULL);
	link_unlock(&av->lock);
	return result;
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

static struct av_number *number_of(struct link_av *av, uint64_t number)
{
	struct av_number *found;

	HASH_FIND(hh, av->by_number, &number, sizeof(number), found);
	return found;
}

/* Looks at each, where there is one. The lock is held. */
static fi_addr_t twin_of(struct link_av *av, uint64_t number, fi_addr_t address)
{
	const struct av_number *found = number_of(av, number);

	if (found == NULL || found->count < 2)
		return FI_ADDR_NOTAVAIL;
	for (fi_addr_t i = 0; i < av->count; i++) {
		const struct av_entry *entry = av_entry_of(av, i);
		if (entry != NULL && !entry->is_named && i != address &&
		    entry->number == number)
			return i;
	}
	return FI_ADDR_NOTAVAIL;
}

fi_addr_t av_twin(struct link_av *av, uint64_t number, fi_addr_t address)
{
	fi_addr_t twin;

	link_lock(&av->lock);
	twin = twin_of(av, number, address);
	link_unlock(&av->lock);
	return twin;
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
	struct av_number *number, *old;

	if (!entry->is_used)
		entry->uses = 1;
	entry->is_named = (address->flags & LINK_NAMED) != 0;
	if (entry->is_named) {
		memcpy(entry->bytes, bytes, sizeof(entry->bytes));
		set_seen(entry->is_used, true);
		return 0;
	}
	old = number_of(av, address->number);
	if (old != NULL) {
		old->count++; /* known by name, too: the first one names it */
	} else {
		number = malloc(sizeof(*number));
		if (number == NULL)
			return -FI_ENOMEM;
		*number = (struct av_number){ .number = address->number,
					      .address = at,
					      .count = 1 };
		HASH_ADD(hh, av->by_number, number, sizeof(number->number),
			 number);
		if (!hash_was_added(number)) {
			free(number);
			return -FI_ENOMEM;
		}
	}
	entry->number = address->number;
	memcpy(entry->bytes, bytes, sizeof(entry->bytes));
	set_seen(entry->is_used, true);
	return 0;
}

static void entry_remove(struct link_av *av, fi_addr_t address,
			 struct av_entry *entry)
{
	struct av_number *number =
		entry->is_named ? NULL : number_of(av, entry->number);

	if (number != NULL && number->address == address)
		number->address = twin_of(av, entry->number, address);
	if (number != NULL && --number->count == 0) {
		HASH_DEL(av->by_number, number);
		free(number);
	}
	set_seen(entry->is_used, false);
	av->removed++;
}

/* -FI_ENOMEM: not now, unless it `must` be. */
static int remove_one(struct link_av *av, fi_addr_t address,
		      struct av_entry *entry, bool must)
{
	struct link_ep *ep;

	for (ep = av->endpoints; ep != NULL; ep = ep->next_in_av)
		if (ep_peer_prepare(ep, address) != 0 && !must)
			return -FI_ENOMEM;
	for (ep = av->endpoints; ep != NULL; ep = ep->next_in_av) {
		ep_peer_remove(ep, address);
		name_forget(ep, address);
	}
	link_lock(&av->lock);
	entry_remove(av, address, entry);
	link_unlock(&av->lock);
	return 0;
}

/*
 * The place of an endpoint that is there already, which counts; NOTAVAIL: it is
 * not. Open MPI inserts again the peers of a new communicator, and receives
 * by what it is given then: a message has one source.
 */
static fi_addr_t insert_again(struct link_av *av, uint64_t number)
{
	struct av_number *found = number_of(av, number);

	if (found == NULL)
		return FI_ADDR_NOTAVAIL;
	av_entry_of(av, found->address)->uses++;
	return found->address;
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
	*ret_address = insert_again(av, address.number);
	if (*ret_address != FI_ADDR_NOTAVAIL) {
		link_unlock(&av->lock);
		return 0;
	}
	result = place_take(av, &at);
	if (result == 0) {
		result = entry_fill(av, at, bytes, &address);
		av->removed += result != 0;
	}
	link_unlock(&av->lock);
	if (result != 0)
		return result;
	for (ep = av->endpoints; ep != NULL && result == 0; ep = ep->next_in_av)
		if (!ep->is_enabled)
			continue; /* it will look by itself */
		else if ((address.flags & LINK_NAMED) != 0)
			result = name_ask(ep, at, &address);
		else
			result = ep_peer_add(ep, at, &address);
	if (result != 0) {
		link_warn(AV, "an address that no rail leads to: %s\n",
			  fi_strerror(-result));
		(void)remove_one(av, at, av_entry_of(av, at), true);
		return result;
	}
	*ret_address = at;
	return 0;
}

int av_settle(struct link_av *av, fi_addr_t at, const uint8_t *bytes,
	      struct link_address *address)
{
	struct av_entry *entry = av_entry_of(av, at);
	int result = entry == NULL ? -FI_EADDRNOTAVAIL : 0;

	link_lock(&av->lock);
	if (result == 0 && entry->is_named)
		result = entry_fill(av, at, bytes, address);
	else if (result == 0) /* another endpoint has asked, too */
		result = link_address_decode(entry->bytes, address, NULL);
	link_unlock(&av->lock);
	return result;
}

int av_insert_as(struct link_av *av, uint32_t format, const void *addresses,
		 size_t count, fi_addr_t *ret_addresses, uint64_t flags,
		 void *context)
{
	size_t size = format_size(format);
	int inserted = 0;

	if ((flags & ~(FI_MORE | FI_SYNC_ERR)) != 0)
		return -FI_EINVAL;
	for (size_t i = 0; i < count; i++) {
		fi_addr_t address = FI_ADDR_NOTAVAIL;
		uint8_t bytes[LINK_ADDRESS_SIZE];
		int result = format_read(format, av->domain->digest,
					 (const uint8_t *)addresses + i * size,
					 size, bytes);
		link_lock(&av->changing);
		if (result == 0)
			result = insert_one(av, bytes, &address);
		link_unlock(&av->changing);
		if (result == 0)
			inserted++;
		if (ret_addresses != NULL)
			ret_addresses[i] = address;
		if ((flags & FI_SYNC_ERR) != 0 && context != NULL)
			((int *)context)[i] = -result;
	}
	return inserted;
}

static int av_insert(struct fid_av *fid, const void *addresses, size_t count,
		     fi_addr_t *ret_addresses, uint64_t flags, void *context)
{
	return av_insert_as(of(fid), of(fid)->domain->format, addresses, count,
			    ret_addresses, flags, context);
}

static int av_remove(struct fid_av *fid, fi_addr_t *addresses, size_t count,
		     uint64_t flags)
{
	struct link_av *av = of(fid);

	if (flags != 0)
		return -FI_EINVAL;
	for (size_t i = 0; i < count; i++) {
		struct av_entry *entry;
		int result = -FI_EINVAL;

		link_lock(&av->changing);
		entry = av_entry_of(av, addresses[i]);
		if (entry != NULL)
			result = entry->uses > 1 ? 0
						 : remove_one(av, addresses[i],
							      entry, false);
		if (result == 0)
			entry->uses--;
		link_unlock(&av->changing);
		if (result != 0)
			return result;
	}
	return 0;
}

static int av_lookup(struct fid_av *fid, fi_addr_t address, void *bytes,
		     size_t *size)
{
	struct av_entry *entry = av_entry_of(of(fid), address);
	uint32_t format = of(fid)->domain->format;
	uint8_t whole[LINK_ADDRESS_SIZE];
	size_t capacity = *size;

	if (entry == NULL)
		return -FI_EINVAL;
	*size = format_size(format);
	link_lock(&of(fid)->lock);
	format_write(format, entry->bytes, whole);
	link_unlock(&of(fid)->lock);
	memcpy(bytes, whole, capacity < *size ? capacity : *size);
	return capacity < *size ? -FI_ETOOSMALL : 0;
}

/* As libfabric writes socket addresses. */
static const char *place_format(const struct rail_address *place, char *text,
				size_t size)
{
	char host[INET6_ADDRSTRLEN] = "";
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	if (place->size == sizeof(in)) {
		memcpy(&in, place->bytes, sizeof(in));
		inet_ntop(AF_INET, &in.sin_addr, host, sizeof(host));
		snprintf(text, size, "fi_sockaddr_in://%s:%u", host,
			 ntohs(in.sin_port));
	} else {
		memcpy(&in6, place->bytes, sizeof(in6));
		inet_ntop(AF_INET6, &in6.sin6_addr, host, sizeof(host));
		snprintf(text, size, "fi_sockaddr_in6://[%s]:%u", host,
			 ntohs(in6.sin6_port));
	}
	return text;
}

static const char *av_straddr(struct fid_av *fid, const void *bytes, char *buf,
			      size_t *size)
{
	uint32_t format = of(fid)->domain->format;
	uint8_t ours[LINK_ADDRESS_SIZE];
	struct link_address address;
	char text[128];

	if (format_read(format, 0, bytes, format_size(format), ours) != 0 ||
	    link_address_decode(ours, &address, NULL) != 0)
		snprintf(text, sizeof(text), "no address");
	else if (format_is_socket(format))
		place_format(&address.rails[0], text, sizeof(text));
	else
		snprintf(text, sizeof(text), "fi_fairlead://%016llx@%016llx/%u",
			 (unsigned long long)address.number,
			 (unsigned long long)address.node, address.rail_count);
	if (buf != NULL && *size > 0)
		snprintf(buf, *size, "%s", text);
	*size = strlen(text) + 1;
	return buf;
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
	.insertsvc = link_av_insertsvc,
	.insertsym = no_symbols,
	.remove = av_remove,
	.lookup = av_lookup,
	.straddr = av_straddr,
};

static int av_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct link_av *av = (struct link_av *)fid;

	if (other->fclass != FI_CLASS_EQ || flags != 0 || av->eq != NULL)
		return -FI_EINVAL;
	av->eq = (struct fid_eq *)other;
	eq_hold(av->eq, 1);
	return 0;
}

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
	if (av->eq != NULL)
		eq_hold(av->eq, -1);
	domain_hold(av->domain, -1);
	link_lock_fini(&av->lock);
	link_lock_fini(&av->changing);
	free(av);
	return 0;
}

static struct fi_ops av_fid_ops = {
	.size = sizeof(av_fid_ops),
	.close = av_close,
	.bind = av_bind,
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
	link_lock_init(&av->changing, domain->is_threaded);
	link_lock_init(&av->lock, domain->is_threaded);
	domain_hold(domain, 1);
	*ret_av = &av->fid;
	return 0;
}
