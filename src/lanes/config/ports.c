/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two listeners clash when they have one port and an address in common: the
 * same, or a wildcard's. [::] takes the addresses of IPv4 too.
 */
#include "lanes/config/ports.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/address.h"

#define PORTS_MAX 5

struct port {
	const char *section;
	const char *key;
	struct address address;
};

struct ports {
	struct port ports[PORTS_MAX];
	size_t count;
};

static void add(struct ports *ports, const char *section, const char *key,
		const char *text)
{
	struct port *port = &ports->ports[ports->count];

	*port = (struct port){ .section = section, .key = key };
	if (*text != 0 &&
	    address_parse_listen(text, &port->address, NULL) == 0 &&
	    port->address.port != 0)
		ports->count++;
}

/* AF_UNSPEC: it is an interface. */
static int family_of(const char *host, struct in6_addr *ret_bytes)
{
	*ret_bytes = (struct in6_addr){ 0 };
	if (inet_pton(AF_INET, host, ret_bytes) == 1)
		return AF_INET;
	return inet_pton(AF_INET6, host, ret_bytes) == 1 ? AF_INET6 : AF_UNSPEC;
}

static bool is_clash(const struct address *one, const struct address *other)
{
	static const struct in6_addr wildcard;
	struct in6_addr ours, theirs;
	int our_family = family_of(one->host, &ours);
	int their_family = family_of(other->host, &theirs);
	bool is_ours_any = memcmp(&ours, &wildcard, sizeof(ours)) == 0;
	bool is_theirs_any = memcmp(&theirs, &wildcard, sizeof(theirs)) == 0;

	if (one->port != other->port)
		return false;
	if (our_family == AF_UNSPEC && their_family == AF_UNSPEC)
		return strcmp(one->host, other->host) == 0;
	if (our_family == AF_UNSPEC || their_family == AF_UNSPEC)
		return true;
	if (our_family != their_family)
		return our_family == AF_INET6 ? is_ours_any : is_theirs_any;
	return is_ours_any || is_theirs_any ||
	       memcmp(&ours, &theirs, sizeof(ours)) == 0;
}

static unsigned int line_of(const struct parse *parse, const struct port *port)
{
	const struct parse_entry *entry =
		parse_find(parse, port->section, "", port->key);

	return entry == NULL ? 0 : entry->line;
}

static void report_clash(const struct parse *parse, const struct port *first,
			 const struct port *second, struct report *report)
{
	unsigned int line = line_of(parse, second);

	report_add(report, line > 0 ? line : line_of(parse, first),
		   "%s: port %u is that of '%s' in the section '%s': give it "
		   "another one",
		   second->key, second->address.port, first->key,
		   first->section);
}

/* Two endpoints of one daemon are two listeners. */
static void check_both(const struct parse *parse, const struct config *config,
		       struct report *report)
{
	const struct config_fabric *fabric = &config->fabric;
	const char *manager = config_fabric_of_manager(fabric);
	const struct parse_entry *entry =
		parse_find(parse, "fabric", "", "listen");
	struct address ours, nodes;

	if (entry == NULL ||
	    address_parse_listen(fabric->listen, &nodes, NULL) < 0 ||
	    address_parse_listen(manager, &ours, NULL) < 0)
		return;
	if (nodes.port != 0 && nodes.port == ours.port &&
	    strcmp(nodes.host, ours.host) == 0)
		report_add(report, entry->line,
			   "listen: a daemon of both roles has two endpoints, "
			   "and both are to have port %u; give the manager's "
			   "another one with 'listen_manager'",
			   nodes.port);
}

void ports_check(const struct parse *parse, const struct config *config,
		 unsigned int roles, struct report *report)
{
	const struct config_manager *manager = &config->manager;
	const struct config_fabric *fabric = &config->fabric;
	struct ports ports = { 0 };
	size_t listener_count;

	if ((roles & CONFIG_ROLE_MANAGER) == 0)
		return;
	add(&ports, "manager", "listen", manager->listen);
	add(&ports, "manager", "listen_clients", manager->listen_clients);
	add(&ports, "manager", "metrics", manager->metrics);
	listener_count = ports.count;
	add(&ports, "fabric", "listen_manager", fabric->listen_manager);
	if (*fabric->listen_manager == 0 || (roles & CONFIG_ROLE_NODE) != 0)
		add(&ports, "fabric", "listen", fabric->listen);
	for (size_t i = 0; i < listener_count; i++) {
		for (size_t j = i + 1; j < ports.count; j++) {
			if (is_clash(&ports.ports[i].address,
				     &ports.ports[j].address))
				report_clash(parse, &ports.ports[i],
					     &ports.ports[j], report);
		}
	}
	if ((roles & CONFIG_ROLE_NODE) != 0)
		check_both(parse, config, report);
}
