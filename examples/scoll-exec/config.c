/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node's NID is made of its name, so that nodes which have the same list in
 * another order still mean the same one; two names of one NID are refused.
 */
#include "config.h"

#include <confuse.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NET_TYPE      0x4558 /* "XE" */
#define NID_HASH_BITS 48

struct reason {
	char text[512];
};

/* libconfuse gives no context to this; one configuration is read at a time. */
static struct reason *current;

static void on_error(cfg_t *cfg, const char *format, va_list arguments)
{
	char text[400];

	vsnprintf(text, sizeof(text), format, arguments);
	if (current->text[0] == 0)
		snprintf(current->text, sizeof(current->text), "line %d: %s",
			 cfg->line, text);
}

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

static int add_nodes(struct config *config, cfg_t *section,
		     struct fairlead_error *ret_error)
{
	const char *title = cfg_title(section);
	const char *text = cfg_getstr(section, "addresses");
	_auto_(hostlist_destroyp) struct hostlist *names = NULL;
	_auto_(hostlist_destroyp) struct hostlist *addresses = NULL;
	struct config_node *nodes;
	int result = hostlist_parse(title, &names, ret_error);

	if (result == 0)
		result = hostlist_parse(text != NULL ? text : title, &addresses,
					ret_error);
	if (result < 0)
		return result;
	if (names->count != addresses->count)
		return error_set(ret_error, -EINVAL,
				 "nodes \"%s\": %zu names and %zu addresses",
				 title, names->count, addresses->count);
	if (names->count > EXEC_NODES_MAX - (size_t)config->node_count)
		return error_set(ret_error, -E2BIG, "more than %d nodes",
				 EXEC_NODES_MAX);
	nodes = reallocarray(config->nodes,
			     (size_t)config->node_count + names->count,
			     sizeof(*nodes));
	if (nodes == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	config->nodes = nodes;
	for (size_t i = 0; i < names->count; i++) {
		struct config_node *node = &nodes[config->node_count];

		snprintf(node->name, sizeof(node->name), "%s", names->names[i]);
		snprintf(node->address, sizeof(node->address), "%s",
			 addresses->names[i]);
		node->nid = nid_of(node->name);
		node->line = config->node_count++;
	}
	return 0;
}

static int by_nid(const void *a, const void *b)
{
	scoll_nid_t left = ((const struct config_node *)a)->nid;
	scoll_nid_t right = ((const struct config_node *)b)->nid;

	return left < right ? -1 : left > right;
}

/* Sorted by NID: the same order on all nodes, as gossip wants it. */
static int take_nodes(struct config *config, cfg_t *cfg,
		      struct fairlead_error *ret_error)
{
	for (unsigned i = 0; i < cfg_size(cfg, "nodes"); i++) {
		int result = add_nodes(config, cfg_getnsec(cfg, "nodes", i),
				       ret_error);

		if (result < 0)
			return result;
	}
	if (config->node_count == 0)
		return error_set(ret_error, -EINVAL, "there are no nodes");
	qsort(config->nodes, (size_t)config->node_count, sizeof(*config->nodes),
	      by_nid);
	for (int i = 1; i < config->node_count; i++) {
		if (config->nodes[i].nid == config->nodes[i - 1].nid)
			return error_set(ret_error, -EINVAL,
					 "'%s' and '%s' are one node, or need "
					 "another name",
					 config->nodes[i - 1].name,
					 config->nodes[i].name);
	}
	return 0;
}

static int take_number(cfg_t *cfg, const char *name, long low, long high,
		       uint32_t scale, uint32_t *ret_value,
		       struct fairlead_error *ret_error)
{
	long value = cfg_getint(cfg, name);

	if (value < low || value > high)
		return error_set(ret_error, -EINVAL,
				 "%s = %ld is not from %ld to %ld", name, value,
				 low, high);
	*ret_value = (uint32_t)value * scale;
	return 0;
}

static int take_numbers(struct config *config, cfg_t *cfg,
			struct fairlead_error *ret_error)
{
	uint32_t port = 0;
	int result = take_number(cfg, "port", 1, 65534, 1, &port, ret_error);

	if (result == 0)
		result = take_number(cfg, "timeout_max", 1,
				     EXEC_TIMEOUT_MS_MAX / 1000, 1000,
				     &config->timeout_max_ms, ret_error);
	if (result == 0)
		result = take_number(cfg, "output_bytes", 0, EXEC_OUTPUT_MAX, 1,
				     &config->output_bytes, ret_error);
	if (result == 0)
		result = take_number(cfg, "commands_max", 1, 4096, 1,
				     &config->commands_max, ret_error);
	if (result == 0)
		result = take_number(cfg, "commands_of_user_max", 1, 4096, 1,
				     &config->commands_user, ret_error);
	if (result == 0)
		result = take_number(cfg, "gossip_ms", 10, 60000, 1,
				     &config->gossip_ms, ret_error);
	if (result == 0)
		result = take_number(cfg, "rtt_ms", 1, 60000, 1,
				     &config->rtt_ms, ret_error);
	if (result == 0)
		snprintf(config->port, sizeof(config->port), "%u", port);
	return result;
}

static int take_text(cfg_t *cfg, const char *name, char **ret_text)
{
	*ret_text = strdup(cfg_getstr(cfg, name));
	return *ret_text == NULL ? -ENOMEM : 0;
}

static int take(struct config *config, cfg_t *cfg,
		struct fairlead_error *ret_error)
{
	int result = take_numbers(config, cfg, ret_error);

	if (result < 0)
		return result;
	if (take_text(cfg, "key", &config->key_path) < 0 ||
	    take_text(cfg, "socket", &config->socket_path) < 0 ||
	    take_text(cfg, "munge_socket", &config->munge_socket) < 0 ||
	    take_text(cfg, "user", &config->user) < 0 ||
	    take_text(cfg, "provider", &config->provider) < 0)
		return error_set(ret_error, -ENOMEM, "out of memory");
	config->is_root_allowed = cfg_getbool(cfg, "root");
	config->is_munged_shared = cfg_getbool(cfg, "munged_is_shared");
	return take_nodes(config, cfg, ret_error);
}

int config_load(const char *path, const char *name, struct config **ret_config,
		struct fairlead_error *ret_error)
{
	cfg_opt_t node_options[] = {
		CFG_STR("addresses", NULL, CFGF_NONE),
		CFG_END(),
	};
	cfg_opt_t options[] = {
		CFG_STR("key", "/etc/scoll-exec.key", CFGF_NONE),
		CFG_STR("socket", EXEC_SOCKET, CFGF_NONE),
		CFG_STR("munge_socket", "", CFGF_NONE),
		CFG_STR("user", "nobody", CFGF_NONE),
		CFG_STR("provider", "tcp;ofi_rxm", CFGF_NONE),
		CFG_INT("port", 7180, CFGF_NONE),
		CFG_BOOL("root", cfg_false, CFGF_NONE),
		CFG_BOOL("munged_is_shared", cfg_false, CFGF_NONE),
		CFG_INT("timeout_max", 3600, CFGF_NONE),
		CFG_INT("output_bytes", EXEC_OUTPUT_MAX, CFGF_NONE),
		CFG_INT("commands_max", 64, CFGF_NONE),
		CFG_INT("commands_of_user_max", 16, CFGF_NONE),
		CFG_INT("gossip_ms", 250, CFGF_NONE),
		CFG_INT("rtt_ms", 1000, CFGF_NONE),
		CFG_SEC("nodes", node_options, CFGF_TITLE | CFGF_MULTI),
		CFG_END(),
	};
	_auto_(config_destroyp) struct config *config = NULL;
	struct reason reason = { 0 };
	cfg_t *cfg = cfg_init(options, CFGF_NONE);
	int result;

	config = calloc(1, sizeof(*config));
	if (cfg == NULL || config == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	current = &reason;
	cfg_set_error_function(cfg, on_error);
	switch (cfg_parse(cfg, path)) {
	case CFG_SUCCESS:
		result = take(config, cfg, ret_error);
		break;
	case CFG_FILE_ERROR:
		result = error_set(ret_error, -errno, "%s", strerror(errno));
		break;
	default:
		result = error_set(ret_error, -EINVAL, "%s", reason.text);
	}
	cfg_free(cfg);
	if (result < 0 && ret_error != NULL)
		return error_prefix(ret_error, "%s", path);
	if (result < 0)
		return result;
	config->self = config_find(config, name);
	*ret_config = take_ptr(config);
	return 0;
}

void config_destroy(struct config *config)
{
	if (config == NULL)
		return;
	free(config->key_path);
	free(config->socket_path);
	free(config->munge_socket);
	free(config->user);
	free(config->provider);
	free(config->nodes);
	free(config);
}

int config_find_nid(const struct config *config, scoll_nid_t nid)
{
	struct config_node wanted = { .nid = nid };
	struct config_node *found =
		bsearch(&wanted, config->nodes, (size_t)config->node_count,
			sizeof(*config->nodes), by_nid);

	return found == NULL ? -1 : (int)(found - config->nodes);
}

int config_find(const struct config *config, const char *name)
{
	int index = config_find_nid(config, nid_of(name));

	return index >= 0 && strcmp(config->nodes[index].name, name) == 0
		       ? index
		       : -1;
}
