/* SPDX-License-Identifier: BSD-3-Clause */
/* A table by name, and one by id for each kind. */
#include "lanes/driver/elan3/hosts.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

struct host {
	uint32_t id;
	UT_hash_handle hh;
	char name[]; /* the key */
};

struct elan_hosts {
	struct host *by_name;
	const struct host *by_id[ELAN_HOST_KINDS][ELAN_ID_MAX + 1];
};

struct elan_hosts *elan_hosts_create(void)
{
	return memory_alloc(sizeof(struct elan_hosts));
}

void elan_hosts_destroy(struct elan_hosts *hosts)
{
	struct host *host, *next;

	if (!hosts)
		return;
	HASH_ITER (hh, hosts->by_name, host, next) {
		HASH_DEL(hosts->by_name, host);
		free(host);
	}
	free(hosts);
}

static struct host *find(const struct elan_hosts *hosts, const char *name)
{
	struct host *host;

	HASH_FIND_STR(hosts->by_name, name, host);
	return host;
}

static int check(const struct elan_hosts *hosts, const char *name,
		 enum elan_host_kind kind, uint32_t id,
		 struct fairlead_error *ret_error)
{
	const struct host *other;

	if (id > ELAN_ID_MAX)
		return error_set(ret_error, -EINVAL,
				 "'%s' has ElanID %u, and the highest is %d",
				 name, id, ELAN_ID_MAX);
	other = find(hosts, name);
	if (other)
		return error_set(ret_error, -EINVAL,
				 "'%s' is there twice, with ElanIDs %u and %u",
				 name, other->id, id);
	other = hosts->by_id[kind][id];
	if (other)
		return error_set(ret_error, -EINVAL,
				 "'%s' and '%s' both have ElanID %u",
				 other->name, name, id);
	if (HASH_COUNT(hosts->by_name) >= ELAN_HOSTS_MAX)
		return error_set(ret_error, -E2BIG, "more than %d names",
				 ELAN_HOSTS_MAX);
	return 0;
}

int elan_hosts_add(struct elan_hosts *hosts, const char *name,
		   enum elan_host_kind kind, uint32_t id,
		   struct fairlead_error *ret_error)
{
	size_t size = strlen(name);
	struct host *host;
	int result = check(hosts, name, kind, id, ret_error);

	if (result < 0)
		return result;
	host = memory_alloc(sizeof(*host) + size + 1);
	host->id = id;
	memcpy(host->name, name, size + 1);
	HASH_ADD_KEYPTR(hh, hosts->by_name, host->name, size, host);
	if (!hash_was_added(host))
		memory_end();
	hosts->by_id[kind][id] = host;
	return 0;
}

int elan_hosts_find(const struct elan_hosts *hosts, const char *name)
{
	const struct host *host = find(hosts, name);

	return host ? (int)host->id : -ENOENT;
}

const char *elan_hosts_name(const struct elan_hosts *hosts,
			    enum elan_host_kind kind, uint32_t id)
{
	const struct host *host =
		id <= ELAN_ID_MAX ? hosts->by_id[kind][id] : NULL;

	return host ? host->name : NULL;
}

size_t elan_hosts_count(const struct elan_hosts *hosts)
{
	return HASH_COUNT(hosts->by_name);
}
