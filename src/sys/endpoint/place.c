/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration names an address or an interface. Else it is the address
 * that we are known by already; and when that is a wildcard, the one that our
 * name has, or the only one that there is. To guess among several would make a
 * cluster that works on some machines.
 */
#include "sys/endpoint/place.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/cleanup.h"

#define HINT "set 'listen' in the section 'fabric'"

static void addresses_free(struct ifaddrs **addresses)
{
	if (*addresses != NULL)
		freeifaddrs(*addresses);
}

static void names_free(struct addrinfo **names)
{
	if (*names != NULL)
		freeaddrinfo(*names);
}

static bool is_ip(const struct sockaddr *address)
{
	return address != NULL && (address->sa_family == AF_INET ||
				   address->sa_family == AF_INET6);
}

static const void *bytes_of(const struct sockaddr *address, size_t *ret_size)
{
	if (address->sa_family == AF_INET6) {
		*ret_size = sizeof(struct in6_addr);
		return &((const struct sockaddr_in6 *)address)->sin6_addr;
	}
	*ret_size = sizeof(struct in_addr);
	return &((const struct sockaddr_in *)address)->sin_addr;
}

static bool is_same(const struct sockaddr *one, const struct sockaddr *other)
{
	size_t size;
	const void *bytes = bytes_of(one, &size);

	return one->sa_family == other->sa_family &&
	       memcmp(bytes, bytes_of(other, &size), size) == 0;
}

/* That other machines can use without knowing an interface. */
static bool is_usable(const struct ifaddrs *entry)
{
	const struct sockaddr_in6 *v6 =
		(const struct sockaddr_in6 *)entry->ifa_addr;

	return is_ip(entry->ifa_addr) && (entry->ifa_flags & IFF_UP) != 0 &&
	       !(entry->ifa_addr->sa_family == AF_INET6 &&
		 IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr));
}

static void place_take(const struct sockaddr *address, uint16_t port,
		       struct endpoint_place *ret_place)
{
	size_t size;

	inet_ntop(address->sa_family, bytes_of(address, &size), ret_place->host,
		  sizeof(ret_place->host));
	ret_place->port = port;
}

static bool numeric_read(const char *text, struct sockaddr_storage *ret_address)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;

	memset(ret_address, 0, sizeof(*ret_address));
	v4->sin_family = AF_INET;
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
		return true;
	v6->sin6_family = AF_INET6;
	return inet_pton(AF_INET6, text, &v6->sin6_addr) == 1;
}

static bool is_wildcard(const struct sockaddr *address)
{
	static const uint8_t zeros[sizeof(struct in6_addr)];
	size_t size;
	const void *bytes = bytes_of(address, &size);

	return memcmp(bytes, zeros, size) == 0;
}

static bool is_ours(const struct ifaddrs *addresses,
		    const struct sockaddr *address)
{
	for (; addresses != NULL; addresses = addresses->ifa_next)
		if (is_ip(addresses->ifa_addr) &&
		    is_same(addresses->ifa_addr, address))
			return true;
	return false;
}

static int choose_address(const struct ifaddrs *addresses,
			  const struct sockaddr *address, uint16_t port,
			  const char *text, struct endpoint_place *ret_place,
			  struct fairlead_error *ret_error)
{
	if (is_wildcard(address))
		return error_set(ret_error, -EINVAL,
				 "listen: '%s' does not say by which address "
				 "others reach this machine; name one, or an "
				 "interface",
				 text);
	if (!is_ours(addresses, address))
		return error_set(ret_error, -EADDRNOTAVAIL,
				 "'%s' is no address of this machine: 'ip "
				 "address' lists those; " HINT,
				 text);
	place_take(address, port, ret_place);
	return 0;
}

/* The family of `near` is preferred: it is how the others are reached. */
static int choose_interface(const struct ifaddrs *addresses, const char *name,
			    int near, uint16_t port,
			    struct endpoint_place *ret_place,
			    struct fairlead_error *ret_error)
{
	const struct ifaddrs *best = NULL;
	bool is_there = false;

	for (; addresses != NULL; addresses = addresses->ifa_next) {
		if (strcmp(addresses->ifa_name, name) != 0)
			continue;
		is_there = true;
		if (is_usable(addresses) &&
		    (best == NULL || (best->ifa_addr->sa_family != near &&
				      addresses->ifa_addr->sa_family == near)))
			best = addresses;
	}
	if (!is_there)
		return error_set(ret_error, -ENODEV,
				 "this machine has no interface '%s': 'ip "
				 "link' lists those; " HINT,
				 name);
	if (best == NULL)
		return error_set(ret_error, -EADDRNOTAVAIL,
				 "interface '%s' is down or has no address but "
				 "link-local ones: give it one, or " HINT,
				 name);
	place_take(best->ifa_addr, port, ret_place);
	return 0;
}

/* A job's on Ethernet, fl4242 or fl4242r1: nobody else reaches us there. */
static bool is_lane(const char *name)
{
	size_t digits;

	if (strncmp(name, "fl", 2) != 0)
		return false;
	digits = strspn(name + 2, "0123456789");
	name += 2 + digits;
	return digits > 0 &&
	       (*name == '\0' ||
		(*name == 'r' && name[1] >= '0' && name[1] <= '9'));
}

static bool is_external(const struct ifaddrs *entry, int family)
{
	return is_usable(entry) && (entry->ifa_flags & IFF_LOOPBACK) == 0 &&
	       !is_lane(entry->ifa_name) &&
	       (family == AF_UNSPEC || entry->ifa_addr->sa_family == family);
}

/* Our address that has this name. */
static const struct sockaddr *named(const struct ifaddrs *addresses,
				    const char *name, int family)
{
	_auto_(names_free) struct addrinfo *names = NULL;
	const struct addrinfo hints = {
		.ai_family = family,
		.ai_socktype = SOCK_STREAM,
	};

	if (*name == '\0' || getaddrinfo(name, NULL, &hints, &names) != 0)
		return NULL;
	for (const struct addrinfo *each = names; each != NULL;
	     each = each->ai_next)
		for (const struct ifaddrs *entry = addresses; entry != NULL;
		     entry = entry->ifa_next)
			if (is_external(entry, family) &&
			    is_same(entry->ifa_addr, each->ai_addr))
				return entry->ifa_addr;
	return NULL;
}

static int choose_any(const struct ifaddrs *addresses, const char *name,
		      int family, struct endpoint_place *ret_place,
		      struct fairlead_error *ret_error)
{
	const struct sockaddr *found = named(addresses, name, family);
	bool is_named = found != NULL;
	struct endpoint_place one, other;

	for (; addresses != NULL && !is_named;
	     addresses = addresses->ifa_next) {
		if (!is_external(addresses, family))
			continue;
		if (found != NULL) {
			place_take(found, 0, &one);
			place_take(addresses->ifa_addr, 0, &other);
			return error_set(ret_error, -ENOTUNIQ,
					 "nodes may reach this machine at %s, "
					 "%s, ...: " HINT
					 " to the address or interface of "
					 "their network",
					 one.host, other.host);
		}
		found = addresses->ifa_addr;
	}
	*ret_place = (struct endpoint_place){ 0 };
	if (found != NULL)
		place_take(found, 0, ret_place);
	else /* nobody but us */
		strcpy(ret_place->host,
		       family == AF_INET6 ? "::1" : "127.0.0.1");
	return 0;
}

int place_choose(const struct place_terms *terms,
		 struct endpoint_place *ret_place,
		 struct fairlead_error *ret_error)
{
	_auto_(addresses_free) struct ifaddrs *addresses = NULL;
	struct sockaddr_storage bound, address;
	struct address listen;
	int family = AF_UNSPEC;

	if (getifaddrs(&addresses) < 0)
		return error_set(ret_error, -errno,
				 "cannot read the addresses of this machine: "
				 "%s",
				 strerror(errno));
	if (!numeric_read(terms->bound, &bound)) {
		if (*terms->listen == '\0')
			return error_set(ret_error, -EINVAL,
					 "'%s' is not numeric; " HINT,
					 terms->bound);
		bound.ss_family = AF_UNSPEC;
	}
	if (*terms->listen == '\0' && is_wildcard((struct sockaddr *)&bound)) {
		/* [::] takes both. */
		if (bound.ss_family == AF_INET)
			family = AF_INET;
		return choose_any(addresses, terms->name, family, ret_place,
				  ret_error);
	}
	if (*terms->listen == '\0')
		return choose_address(addresses, (struct sockaddr *)&bound, 0,
				      terms->bound, ret_place, ret_error);
	if (address_parse_listen(terms->listen, &listen, ret_error) < 0)
		return -EINVAL;
	if (numeric_read(listen.host, &address))
		return choose_address(addresses, (struct sockaddr *)&address,
				      listen.port, listen.host, ret_place,
				      ret_error);
	return choose_interface(addresses, listen.host, bound.ss_family,
				listen.port, ret_place, ret_error);
}

bool place_is_here(const char *host)
{
	_auto_(addresses_free) struct ifaddrs *addresses = NULL;
	struct sockaddr_storage address;

	/* If it cannot be known, assume no change. */
	return getifaddrs(&addresses) < 0 || !numeric_read(host, &address) ||
	       is_ours(addresses, (struct sockaddr *)&address);
}
