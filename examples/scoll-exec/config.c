/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node's NID is made of its name, so that nodes which have the same list in
 * another order still mean the same one; two names of one NID are refused.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "sys/fd.h"

#define NET_TYPE      0x4558 /* "XE" */
#define NID_HASH_BITS 48

#define FILE_MAX      (1 << 20)

#define AT(member)    offsetof(struct exec_config, member)

static const struct fairlead_setting_spec specs[] = {
	{ "key", &settings_file, AT(key_path), "/etc/scoll-exec.key" },
	{ "socket", &settings_path, AT(socket_path), EXEC_SOCKET },
	{ "munge_socket", &settings_path, AT(munge_socket), "" },
	{ "user", &settings_text, AT(user), "nobody" },
	{ "provider", &settings_text, AT(provider), "tcp" },
	{ "port", &settings_number, AT(port_number), "7180", 0, NULL, 1,
	  65534 },
	{ "root", &settings_bool, AT(is_root_allowed), "false" },
	{ "munged_is_shared", &settings_bool, AT(is_munged_shared), "false" },
	{ "timeout_max", &settings_seconds, AT(timeout_max_ms), "3600", 0, NULL,
	  1, EXEC_TIMEOUT_MS_MAX / 1000 },
	{ "output_bytes", &settings_number, AT(output_bytes), "65536", 0, NULL,
	  0, EXEC_OUTPUT_MAX },
	{ "commands_max", &settings_number, AT(commands_max), "64", 0, NULL, 1,
	  4096 },
	{ "commands_of_user_max", &settings_number, AT(commands_user), "16", 0,
	  NULL, 1, 4096 },
	{ "gossip_ms", &settings_number, AT(gossip_ms), "250", 0, NULL, 10,
	  60000 },
	{ "rtt_ms", &settings_number, AT(rtt_ms), "1000", 0, NULL, 1, 60000 },
	{ NULL },
};

static const struct fairlead_settings table = { specs,
						sizeof(struct exec_config) };

struct node_values {
	const char *addresses;
};

static const struct fairlead_setting_spec node_specs[] = {
	{ "addresses", &settings_text, offsetof(struct node_values, addresses),
	  "" },
	{ NULL },
};

static const struct fairlead_settings node_table = {
	node_specs, sizeof(struct node_values)
};

static scoll_nid_t nid_of(const char *name)
{
	uint8_t digest[EXEC_ID_BYTES];
	scoll_nid_t nid = NET_TYPE;

	crypto_generichash(digest, sizeof(digest), (const uint8_t *)name,
			   strlen(name), NULL, 0);
	for (int i = 0; i < NID_HASH_BITS / 8; i++)
		nid = nid << 8 | digest[i];
	return nid;
}

static void nodes_append(struct exec_config *config,
			 const struct hostlist *names,
			 const struct hostlist *addresses)
{
	config->nodes = memory_resize(config->nodes,
				      (size_t)config->node_count + names->count,
				      sizeof(*config->nodes));
	for (size_t i = 0; i < names->count; i++) {
		struct exec_config_node *node =
			&config->nodes[config->node_count];

		*node = (struct exec_config_node){
			.line = config->node_count++
		};
		snprintf(node->name, sizeof(node->name), "%s", names->names[i]);
		snprintf(node->address, sizeof(node->address), "%s",
			 addresses->names[i]);
		node->nid = nid_of(node->name);
	}
}

static void add_nodes(struct exec_config *config,
		      const struct conf_section *section,
		      struct settings_errors *errors)
{
	const struct settings settings = conf_settings(section, errors);
	struct node_values values = { 0 };
	_auto_(hostlist_destroyp) struct hostlist *names = NULL;
	_auto_(hostlist_destroyp) struct hostlist *addresses = NULL;
	struct fairlead_error error;
	int result;

	settings_read(&settings, &node_table, &values);
	result = hostlist_parse(section->title, &names, &error);
	if (result == 0)
		result =
			hostlist_parse(*values.addresses != 0 ? values.addresses
							      : section->title,
				       &addresses, &error);
	if (memory_check(result) < 0)
		settings_errors_add(errors, section->line, "'nodes': %s",
				    error.text);
	else if (names->count != addresses->count)
		settings_errors_add(errors, section->line,
				    "'nodes': %zu names and %zu addresses",
				    names->count, addresses->count);
	else if (names->count > EXEC_NODES_MAX - (size_t)config->node_count)
		settings_errors_add(errors, section->line,
				    "'nodes': more than %d", EXEC_NODES_MAX);
	else
		nodes_append(config, names, addresses);
}

static int by_nid(const void *a, const void *b)
{
	scoll_nid_t left = ((const struct exec_config_node *)a)->nid;
	scoll_nid_t right = ((const struct exec_config_node *)b)->nid;

	return left < right ? -1 : left > right;
}

/* Sorted by NID: the same order on all nodes, as gossip wants it. */
static void take_nodes(struct exec_config *config,
		       struct settings_errors *errors)
{
	for (size_t i = 1; i < config->conf.count; i++) {
		const struct conf_section *section = &config->conf.sections[i];

		if (section->name != NULL && section->parent == 0 &&
		    strcmp(section->name, "nodes") == 0)
			add_nodes(config, section, errors);
		else
			settings_errors_add(
				errors, section->line,
				"unknown section; only nodes is one");
	}
	if (config->node_count == 0) {
		settings_errors_add(errors, 0, "no section nodes");
		return;
	}
	qsort(config->nodes, (size_t)config->node_count, sizeof(*config->nodes),
	      by_nid);
	for (int i = 1; i < config->node_count; i++) {
		if (config->nodes[i].nid == config->nodes[i - 1].nid)
			settings_errors_add(errors, 0,
					    "'%s' and '%s' are one node, or "
					    "need another name",
					    config->nodes[i - 1].name,
					    config->nodes[i].name);
	}
}

int config_load(const char *path, const char *name,
		struct exec_config **ret_config,
		struct fairlead_error *ret_error)
{
	_auto_(config_destroyp) struct exec_config *config =
		memory_alloc(sizeof(*config));
	_auto_(freep) char *text = memory_alloc(FILE_MAX);
	struct settings_errors errors = { 0 };
	_auto_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -errno : fd_read(fd, text, FILE_MAX);
	struct settings settings;

	if (size < 0)
		return error_set(ret_error, (int)size, "%s: %s", path,
				 strerror((int)-size));
	conf_parse(text, (size_t)size, &config->conf, &errors);
	settings = conf_settings(config->conf.sections, &errors);
	settings_read(&settings, &table, config);
	snprintf(config->port, sizeof(config->port), "%u", config->port_number);
	take_nodes(config, &errors);
	if (errors.count > 0) {
		_auto_(freep) char *all = settings_errors_format(&errors, path);

		return error_set(ret_error, -EINVAL, "%s", all);
	}
	config->self = config_find(config, name);
	*ret_config = take_ptr(config);
	return 0;
}

void config_destroy(struct exec_config *config)
{
	if (config == NULL)
		return;
	conf_fini(&config->conf);
	free(config->nodes);
	free(config);
}

int config_find_nid(const struct exec_config *config, scoll_nid_t nid)
{
	struct exec_config_node wanted = { .nid = nid };
	struct exec_config_node *found =
		bsearch(&wanted, config->nodes, (size_t)config->node_count,
			sizeof(*config->nodes), by_nid);

	return found == NULL ? -1 : (int)(found - config->nodes);
}

int config_find(const struct exec_config *config, const char *name)
{
	int index = config_find_nid(config, nid_of(name));

	return index >= 0 && strcmp(config->nodes[index].name, name) == 0
		       ? index
		       : -1;
}
