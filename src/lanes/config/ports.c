/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two listeners clash when they have one port, and one address or one of them
 * has every address. An interface counts as having every address. Values that
 * are no addresses are errors already.
 */
#include "lanes/config/ports.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/address.h"

#define PORTS_MAX 5

struct config_port {
	const char *section;
	const char *key;
	struct address address;
};

struct config_ports {
	struct config_port ports[PORTS_MAX];
	size_t count;
};

static void add(struct config_ports *ports, const char *section,
		const char *key, const char *text)
{
	struct config_port *port = &ports->ports[ports->count];

	*port = (struct config_port){ .section = section, .key = key };
	if (*text != 0 &&
	    address_parse_listen(text, &port->address, NULL) == 0 &&
	    port->address.port != 0)
		ports->count++;
}

static bool is_everywhere(const char *host)
{
	struct in6_addr numeric;

	return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0 ||
	       (inet_pton(AF_INET, host, &numeric) != 1 &&
		inet_pton(AF_INET6, host, &numeric) != 1);
}

static bool is_clash(const struct address *one, const struct address *other)
{
	return one->port == other->port &&
	       (strcmp(one->host, other->host) == 0 ||
		is_everywhere(one->host) || is_everywhere(other->host));
}

static void report(const struct config *config, const struct config_port *first,
		   const struct config_port *second,
		   struct settings_errors *errors)
{
	const struct settings settings = conf_settings(
		conf_find(&config->conf, 0, second->section, ""), errors);

	settings_fail(&settings, second->key,
		      "port %u is that of '%s' in the section '%s': give it "
		      "another one",
		      second->address.port, first->key, first->section);
}

void ports_check(const struct config *config, unsigned int roles,
		 struct settings_errors *errors)
{
	const struct config_manager *manager = &config->manager;
	const struct config_fabric *fabric = &config->fabric;
	bool is_node = (roles & CONFIG_ROLE_NODE) != 0;
	struct config_ports ports = { 0 };

	/* Without a role, such as in a check, the file says who it is for. */
	if (roles == 0 ? conf_find(&config->conf, 0, "manager", "") == NULL
		       : (roles & CONFIG_ROLE_MANAGER) == 0)
		return;
	add(&ports, "manager", "listen", manager->listen);
	add(&ports, "manager", "listen_clients", manager->listen_clients);
	add(&ports, "manager", "metrics", manager->metrics);
	add(&ports, "fabric",
	    is_node || *fabric->listen_manager != 0 ? "listen_manager"
						    : "listen",
	    config_fabric_of_manager(fabric));
	if (is_node)
		add(&ports, "fabric", "listen", fabric->listen);
	for (size_t i = 0; i < ports.count; i++)
		for (size_t j = i + 1; j < ports.count; j++)
			if (is_clash(&ports.ports[i].address,
				     &ports.ports[j].address))
				report(config, &ports.ports[i], &ports.ports[j],
				       errors);
}
