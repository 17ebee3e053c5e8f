/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/config/types.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/un.h>

#include "base/address.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/memory.h"

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
			 "'%s' is not the name of a provider, such as "
			 "tcp;ofi_rxm",
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

const struct fairlead_setting_type type_name = { "NAME", name_check };
const struct fairlead_setting_type type_node = { "NAME", node_check };
const struct fairlead_setting_type type_nodes = { "HOSTLIST", nodes_check };
const struct fairlead_setting_type type_address = { "HOST:PORT",
						    address_check };
const struct fairlead_setting_type type_listen = { "ADDRESS:PORT",
						   listen_check };
const struct fairlead_setting_type type_endpoint = { "ADDRESS|INTERFACE[:PORT]",
						     endpoint_check };
const struct fairlead_setting_type type_provider = { "NAME", provider_check };
const struct fairlead_setting_type type_socket = { "PATH", socket_check };
const struct fairlead_setting_type type_submitter = { "NAME",
						      type_submitter_check };
const struct fairlead_setting_type type_manager = {
	"PATH|tcp://[USER@]HOST:PORT", manager_check
};
const struct fairlead_setting_type type_log_level = {
	"error|warning|info|debug", NULL, log_level_take
};
