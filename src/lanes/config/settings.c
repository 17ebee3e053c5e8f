/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The types of settings, and name, type, default and help of each. doc/man/settings makes
 * fairlead.conf(5) of them. Without a flag a change is taken at once, and
 * reported by the manager's core or by nobody.
 */
#include "lanes/config/settings.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/un.h>

#include "base/address.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/settings.h"
#include "lanes/config/config.h"

#define NAME_CHARACTERS                                        \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" \
	"0123456789_-"
#define NAME_MAX_BYTES      64
#define SUBMITTER_MAX_BYTES 32

static bool is_name(const char *text, const char *characters, size_t most)
{
	size_t size = strlen(text);

	return size > 0 && size <= most && strspn(text, characters) == size;
}

static int name_check(const char *text, struct fairlead_error *ret_error)
{
	if (is_name(text, NAME_CHARACTERS ".", NAME_MAX_BYTES))
		return 0;
	return error_set(ret_error, -EINVAL,
			 "'%s': use 1 to %d of letters, digits, '.', '_' and "
			 "'-'",
			 text, NAME_MAX_BYTES);
}

static int node_check(const char *text, struct fairlead_error *ret_error)
{
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;

	if (memory_check(hostlist_parse(text, &list, NULL)) == 0 &&
	    list->count == 1 && strcmp(list->names[0], text) == 0)
		return 0;
	return error_set(ret_error, -EINVAL, "'%s' is not the name of a node",
			 text);
}

static int nodes_check(const char *text, struct fairlead_error *ret_error)
{
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;
	int result = memory_check(hostlist_parse(text, &list, ret_error));

	if (result < 0)
		return result;
	result = memory_check(hostlist_duplicate(list));
	if (result < 0)
		return 0;
	return error_set(ret_error, -EINVAL, "'%s' is there twice",
			 list->names[result]);
}

static int address_check(const char *text, struct fairlead_error *ret_error)
{
	struct address address;

	return address_parse(text, &address, ret_error);
}

static int listen_check(const char *text, struct fairlead_error *ret_error)
{
	struct address address;
	struct in6_addr numeric;
	int result = address_parse(text, &address, ret_error);

	if (result < 0 || inet_pton(AF_INET, address.host, &numeric) == 1 ||
	    inet_pton(AF_INET6, address.host, &numeric) == 1)
		return result;
	return error_set(ret_error, -EINVAL,
			 "'%s' is not numeric; use 0.0.0.0 or [::] to listen "
			 "everywhere",
			 text);
}

static int endpoint_check(const char *text, struct fairlead_error *ret_error)
{
	struct address address;

	return address_parse_listen(text, &address, ret_error);
}

static int provider_check(const char *text, struct fairlead_error *ret_error)
{
	if (is_name(text, NAME_CHARACTERS ";", NAME_MAX_BYTES))
		return 0;
	return error_set(ret_error, -EINVAL,
			 "'%s' is neither tcp nor the name of a provider of "
			 "libfabric, such as verbs;ofi_rxm",
			 text);
}

int type_submitter_check(const char *name, struct fairlead_error *ret_error)
{
	if (is_name(name, NAME_CHARACTERS, SUBMITTER_MAX_BYTES))
		return 0;
	return error_set(ret_error, -EINVAL,
			 "'%s': use 1 to %d of letters, digits, '_' and '-'",
			 name, SUBMITTER_MAX_BYTES);
}

static int socket_check(const char *text, struct fairlead_error *ret_error)
{
	const size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;

	if (strlen(text) <= most)
		return settings_path.check(text, ret_error);
	return error_set(ret_error, -EINVAL,
			 "path of a socket is longer than %zu bytes", most);
}

static int manager_check(const char *text, struct fairlead_error *ret_error)
{
	if (*text == '/')
		return socket_check(text, ret_error);
	if (strncmp(text, "tcp://", 6) == 0)
		return 0;
	return error_set(ret_error, -EINVAL,
			 "'%s' is neither an absolute path nor "
			 "tcp://[USER@]HOST:PORT",
			 text);
}

static int log_level_take(const struct fairlead_setting_spec *spec,
			  const char *text, void *ret_value,
			  struct fairlead_error *ret_error)
{
	if (log_level_parse(text, ret_value) == 0)
		return 0;
	return error_set(ret_error, -EINVAL,
			 "'%s' is not error, warning, info or debug", text);
}

static const struct fairlead_setting_type type_name = { "NAME", name_check };
static const struct fairlead_setting_type type_node = { "NAME", node_check };
static const struct fairlead_setting_type type_nodes = { "HOSTLIST",
							 nodes_check };
static const struct fairlead_setting_type type_address = { "HOST:PORT",
							   address_check };
static const struct fairlead_setting_type type_listen = { "ADDRESS:PORT",
							  listen_check };
static const struct fairlead_setting_type type_endpoint = {
	"ADDRESS|INTERFACE[:PORT]", endpoint_check
};
static const struct fairlead_setting_type type_provider = { "NAME",
							    provider_check };
static const struct fairlead_setting_type type_socket = { "PATH",
							  socket_check };
static const struct fairlead_setting_type type_submitter = {
	"NAME", type_submitter_check
};
static const struct fairlead_setting_type type_manager = {
	"PATH|tcp://[USER@]HOST:PORT", manager_check
};
static const struct fairlead_setting_type type_log_level = {
	"error|warning|info|debug", NULL, log_level_take
};

/* --- tables --- */

#define AT(member) offsetof(struct config, member)

#define LIVE       FAIRLEAD_SETTING_LIVE
#define MANAGER    FAIRLEAD_SETTING_RESTART_MANAGER
#define NODE       FAIRLEAD_SETTING_RESTART_NODE
#define BOTH       (MANAGER | NODE)

static const struct fairlead_setting_spec outside[] = {
	{ "cluster", &type_name, AT(cluster), "cluster", LIVE,
	  "Name of the cluster, for people." },
	{ NULL },
};

static const struct fairlead_setting_spec manager[] = {
	{ "listen", &type_listen, AT(manager.listen), "0.0.0.0:7171", MANAGER,
	  "Where nodes connect to; numeric." },
	{ "socket", &type_socket, AT(manager.socket),
	  "/run/fairlead/manager.sock", MANAGER, "Where clients connect to." },
	{ "listen_clients", &type_listen, AT(manager.listen_clients), "",
	  MANAGER, "Where clients connect to by TCP; numeric. Default: off." },
	{ "munge_socket", &type_socket, AT(manager.munge_socket), "", MANAGER,
	  "Where munged listens. Default: that of libmunge." },
	{ "state", &settings_folder, AT(manager.state), "/var/lib/fairlead",
	  MANAGER, "The journal." },
	{ "key", &settings_file, AT(manager.key), "/etc/fairlead/manager.key",
	  LIVE, "The manager's keys, made by *fairlead key create*." },
	{ "nodes", &type_nodes, AT(manager.nodes), "", 0,
	  "The nodes. Default: none." },
	{ "interconnect", &settings_text, AT(manager.interconnect), "none", 0,
	  "The driver of a request that names none." },
	{ "user", &settings_text, AT(manager.user), "fairlead", MANAGER,
	  "The user that the manager runs as." },
	{ "apply_timeout", &settings_seconds, AT(manager.apply_timeout_ms),
	  "30", 0, "How long nodes have to make a lane.", 1,
	  CONFIG_TIMEOUT_MAX_S },
	{ "revoke_timeout", &settings_seconds, AT(manager.revoke_timeout_ms),
	  "10", 0, "How long a release waits for nodes.", 1,
	  CONFIG_TIMEOUT_MAX_S },
	{ "drain_command", &settings_path, AT(manager.drain_command), "", LIVE,
	  "Run with a node's name and the reason when the node is drained. "
	  "Default: none." },
	{ "undrain_command", &settings_path, AT(manager.undrain_command), "",
	  LIVE,
	  "Run likewise when the node is no longer drained. Default: none." },
	{ "metrics", &type_listen, AT(manager.metrics), "", MANAGER,
	  "Where */metrics* is served for Prometheus; numeric. Default: "
	  "off." },
	{ NULL },
};

static const struct fairlead_setting_spec node[] = {
	{ "name", &type_node, AT(node.name), "", NODE,
	  "The node's name. Default: the host name up to the first dot." },
	{ "manager", &type_address, AT(node.manager), "", NODE,
	  "The manager's address. Required." },
	{ "socket", &type_socket, AT(node.socket), "/run/fairlead/node.sock",
	  NODE, "Where clients of this node connect to." },
	{ "run", &settings_folder, AT(node.run), "/run/fairlead/node", NODE,
	  "The node's journal; a file system that a reboot empties." },
	{ "jobs", &settings_folder, AT(node.jobs), "/run/fairlead/jobs", NODE,
	  "Folder for the jobs' environment files." },
	{ "key", &settings_file, AT(node.key), "/etc/fairlead/node.key", NODE,
	  "The node's keys, made by *fairlead key node*." },
	{ "user", &settings_text, AT(node.user), "fairlead", NODE,
	  "The user that the unprivileged half runs as." },
	{ "incarnation", &settings_path, AT(node.incarnation),
	  "/proc/sys/kernel/random/boot_id", NODE,
	  "File that identifies the current boot." },
	{ "epilog_timeout", &settings_seconds, AT(node.epilog_timeout_ms), "5",
	  0, "How long *fairlead epilog* tries.", 1, CONFIG_TIMEOUT_MAX_S },
	{ "housekeeping_timeout", &settings_seconds,
	  AT(node.housekeeping_timeout_ms), "300", 0,
	  "How long *fairlead housekeeping* tries.", 1,
	  CONFIG_HOUSEKEEPING_MAX_S },
	{ NULL },
};

static const struct fairlead_setting_spec fabric[] = {
	{ "provider", &type_provider, AT(fabric.provider), "tcp", BOTH,
	  "*tcp*, or a provider of libfabric, the same on all machines of the "
	  "cluster." },
	{ "listen", &type_endpoint, AT(fabric.listen), "", BOTH,
	  "Address or interface of the endpoint, and its port." },
	{ "listen_manager", &type_endpoint, AT(fabric.listen_manager), "",
	  MANAGER,
	  "The same for the manager's endpoint. Default: as *listen*." },
	{ NULL },
};

/* The first three are those of each job manager. */
#define JOB_MANAGER(section)                                                   \
	{ "submitter",                                                         \
	  &type_submitter,                                                     \
	  AT(section.submitter),                                               \
	  #section,                                                            \
	  0,                                                                   \
	  "The first part of its jobs' keys." },                               \
		{ "manager",                                                   \
		  &type_manager,                                               \
		  AT(section.manager),                                         \
		  "",                                                          \
		  0,                                                           \
		  "Where the manager is. Default: *socket* of the section "    \
		  "*manager*." },                                              \
	{                                                                      \
		"commands", &settings_folder, AT(section.commands),            \
			"/usr/bin", 0, "Where the job manager's commands are." \
	}

static const struct fairlead_setting_spec slurm[] = {
	JOB_MANAGER(slurm),
	{ "conf", &settings_file, AT(slurm.conf), "", 0,
	  "The _slurm.conf_ that these commands read. Default: their own." },
	{ "grace", &settings_seconds, AT(slurm.grace_ms), "60", 0,
	  "How long nodes may take to revoke an ended job's lane in Epilog "
	  "before the manager does.",
	  1, CONFIG_TIMEOUT_MAX_S },
	{ "answer_timeout", &settings_seconds, AT(slurm.answer_timeout_ms),
	  "60", 0, "How long a hook waits for a daemon that does not answer.",
	  1, CONFIG_TIMEOUT_MAX_S },
	{ NULL },
};

static const struct fairlead_setting_spec flux[] = {
	JOB_MANAGER(flux),
	{ NULL },
};

static const struct fairlead_setting_spec log_[] = {
	{ "level", &type_log_level, AT(log_level), "info", LIVE,
	  "What is written to standard error." },
	{ NULL },
};

#define TABLE(specs)                         \
	{                                    \
		specs, sizeof(struct config) \
	}

const struct config_section config_sections[] = {
	{ "", TABLE(outside) },    { "manager", TABLE(manager) },
	{ "node", TABLE(node) },   { "fabric", TABLE(fabric) },
	{ "slurm", TABLE(slurm) }, { "flux", TABLE(flux) },
	{ "log", TABLE(log_) },    { NULL },
};

static const struct fairlead_setting_spec submitter[] = {
	{ "uid", &settings_number, offsetof(struct config_submitter, uid), NULL,
	  0, "The user.", 0, UINT32_MAX - 1 },
	{ NULL },
};

const struct fairlead_settings config_submitter_settings = {
	submitter, sizeof(struct config_submitter)
};
