/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's answer to a program that it does not take is one errno for all
 * reasons, so what it lacks is asked of it one by one, after a failure.
 */
#include "driver/ethernet/gate_load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "gate_object.h"

static const char *const program_names[] = {
	"gate_bind4",    "gate_bind6",    "gate_connect4", "gate_connect6",
	"gate_sendmsg4", "gate_sendmsg6", "gate_egress",   "gate_ingress",
};

#define PROGRAM_COUNT (sizeof(program_names) / sizeof(program_names[0]))

static const struct {
	enum bpf_prog_type type;
	enum bpf_func_id id;
	const char *name;
} helpers[] = {
#define HELPER(type, name)                                          \
	{                                                           \
		BPF_PROG_TYPE_##type, BPF_FUNC_##name, "bpf_" #name \
	}
	HELPER(CGROUP_SOCK_ADDR, get_netns_cookie),
	HELPER(CGROUP_SOCK_ADDR, get_current_uid_gid),
	HELPER(CGROUP_SOCK_ADDR, get_current_ancestor_cgroup_id),
	HELPER(CGROUP_SKB, get_socket_uid),
	HELPER(CGROUP_SKB, skb_ancestor_cgroup_id),
#undef HELPER
};

static void object_closep(struct bpf_object **object)
{
	bpf_object__close(*object);
}

static void link_destroyp(struct bpf_link **link)
{
	bpf_link__destroy(*link);
}

void gate_maps_fini(struct gate_maps *maps)
{
	closep(&maps->lanes);
	closep(&maps->counters);
	*maps = GATE_MAPS_NONE;
}

static uint64_t fnv1a(uint64_t digest, const void *bytes, size_t size)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < size; i++)
		digest = (digest ^ byte[i]) * 0x100000001b3u;
	return digest;
}

uint64_t gate_digest(const struct gate_config *config)
{
	uint64_t digest =
		fnv1a(0xcbf29ce484222325u, gate_object, sizeof(gate_object));

	return fnv1a(digest, config, sizeof(*config));
}

static int not_permitted(struct fairlead_error *error)
{
	return error_set(error, -EPERM,
			 "bpf: not permitted: needs CAP_BPF and CAP_NET_ADMIN "
			 "(or CAP_SYS_ADMIN) in the first user namespace");
}

/*
 * May programs for packets ask for the namespace? By a program that does, since
 * libbpf takes the words of newer kernels for a yes.
 */
static int probe_netns_of_packets(bool *ret_is_known)
{
	static const struct bpf_insn program[] = {
		{ .code = BPF_JMP | BPF_CALL,
		  .imm = BPF_FUNC_get_netns_cookie },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	_auto_(closep) int fd =
		bpf_prog_load(BPF_PROG_TYPE_CGROUP_SKB, "gate_probe",
			      "BSD-3-Clause", program,
			      sizeof(program) / sizeof(program[0]), NULL);

	if (fd < 0 && errno == EPERM)
		return -EPERM;
	*ret_is_known = fd >= 0;
	return 0;
}

int gate_namespace(uint64_t *ret_cookie)
{
	_auto_(closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(*ret_cookie);

	return fd < 0 || getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, ret_cookie,
				    &size) < 0
		       ? -errno
		       : 0;
}

int gate_config_probe(struct gate_config *config,
		      struct fairlead_error *ret_error)
{
	uint64_t cookie;
	bool is_known;
	int result = gate_namespace(&cookie);

	if (result < 0 && result != -ENOPROTOOPT)
		return error_set(ret_error, result, "socket: %s",
				 strerror(-result));
	if (result < 0)
		return error_set(ret_error, -EOPNOTSUPP,
				 "the kernel does not tell network namespaces "
				 "apart (SO_NETNS_COOKIE, Linux 5.14)");
	if (probe_netns_of_packets(&is_known) < 0)
		return not_permitted(ret_error);
	config->netns_cookie = cookie;
	config->is_netns_of_packets_known = is_known;
	return 0;
}

/* What keeps the programs from being loaded. */
static int explain(int result, struct fairlead_error *error)
{
	if (result == -EPERM)
		return not_permitted(error);
	if (result == -ENOSYS)
		return error_set(error, -EOPNOTSUPP,
				 "the kernel has no bpf (CONFIG_BPF_SYSCALL)");
	if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_CGROUP_SKB, NULL) != 1 ||
	    libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, NULL) !=
		    1)
		return error_set(error, -EOPNOTSUPP,
				 "the kernel has no BPF for cgroups "
				 "(CONFIG_CGROUP_BPF)");
	if (libbpf_probe_bpf_map_type(BPF_MAP_TYPE_LPM_TRIE, NULL) != 1)
		return error_set(error, -EOPNOTSUPP,
				 "the kernel's BPF has no trie of prefixes");
	for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++) {
		if (libbpf_probe_bpf_helper(helpers[i].type, helpers[i].id,
					    NULL) != 1)
			return error_set(error, -EOPNOTSUPP,
					 "the kernel's BPF has no %s here",
					 helpers[i].name);
	}
	return error_set(error, result, "bpf: programs were not loaded: %s",
			 strerror(-result));
}

static bool map_fits(const struct bpf_map *map, int fd)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);

	return fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
	       info.type == bpf_map__type(map) &&
	       info.key_size == bpf_map__key_size(map) &&
	       info.value_size == bpf_map__value_size(map) &&
	       info.max_entries == bpf_map__max_entries(map);
}

static int map_prepare(struct bpf_object *object, const char *name, int old)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);

	return map_fits(map, old) ? bpf_map__reuse_fd(map, old) : 0;
}

static int object_load(const struct gate_config *config,
		       const struct gate_maps *old,
		       struct bpf_object **ret_object,
		       struct fairlead_error *error)
{
	_auto_(object_closep) struct bpf_object *object = NULL;
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "gate");
	int result;

	object = bpf_object__open_mem(gate_object, sizeof(gate_object),
				      &options);
	if (!object)
		return error_set(error, -errno, "bpf: programs: %s",
				 strerror(errno));
	result = bpf_map__set_initial_value(
		bpf_object__find_map_by_name(object, ".rodata"), config,
		sizeof(*config));
	if (result == 0)
		result = map_prepare(object, "lanes", old->lanes);
	if (result == 0)
		result = map_prepare(object, "counters", old->counters);
	if (result < 0)
		return error_set(error, result, "bpf: maps: %s",
				 strerror(-result));
	result = bpf_object__load(object);
	if (result < 0)
		return explain(result, error);
	*ret_object = take_ptr(object);
	return 0;
}

static int map_pin(struct bpf_object *object, const char *directory,
		   const char *name, int *ret_fd)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);
	char path[PATH_MAX];
	int fd = fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 3);

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (fd < 0 || bpf_obj_pin(fd, path) < 0) {
		int code = -errno;

		closep(&fd);
		return code;
	}
	*ret_fd = fd;
	return 0;
}

static int program_attach(struct bpf_object *object, const char *directory,
			  const char *name, int cgroup,
			  struct fairlead_error *error)
{
	_auto_(link_destroyp) struct bpf_link *link = NULL;
	char path[PATH_MAX];

	link = bpf_program__attach_cgroup(
		bpf_object__find_program_by_name(object, name), cgroup);
	if (!link && errno == EPERM)
		return error_set(error, -EPERM,
				 "bpf: %s: the cgroup lets no further program "
				 "in: somebody's has it alone, or "
				 "CAP_NET_ADMIN is missing",
				 name);
	if (!link && errno == EINVAL)
		return error_set(error, -EOPNOTSUPP,
				 "bpf: %s: the kernel has no links for cgroups "
				 "(Linux 5.7)",
				 name);
	if (!link)
		return error_set(error, -errno, "bpf: %s: %s", name,
				 strerror(errno));
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (bpf_obj_pin(bpf_link__fd(link), path) < 0)
		return error_set(error, -errno, "bpf: pin %s: %s", path,
				 strerror(errno));
	return 0;
}

int gate_set_make(const char *directory, const struct gate_config *config,
		  const char *cgroup, const struct gate_maps *old,
		  struct gate_maps *ret_maps, struct fairlead_error *ret_error)
{
	_auto_(gate_maps_fini) struct gate_maps maps = GATE_MAPS_NONE;
	_auto_(object_closep) struct bpf_object *object = NULL;
	_auto_(closep) int cgroup_fd =
		open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int result;

	if (cgroup_fd < 0)
		return error_set(ret_error, -errno, "cgroup %s: %s", cgroup,
				 strerror(errno));
	result = object_load(config, old, &object, ret_error);
	if (result < 0)
		return result;
	result = map_pin(object, directory, "lanes", &maps.lanes);
	if (result == 0)
		result = map_pin(object, directory, "counters", &maps.counters);
	if (result < 0)
		return error_set(ret_error, result, "bpf: pin in %s: %s",
				 directory, strerror(-result));
	for (size_t i = 0; i < PROGRAM_COUNT && result == 0; i++)
		result = program_attach(object, directory, program_names[i],
					cgroup_fd, ret_error);
	if (result < 0)
		return result;
	*ret_maps = maps;
	maps = GATE_MAPS_NONE;
	return 0;
}

bool gate_set_is_attached(const char *directory, uint64_t cgroup_id)
{
	for (size_t i = 0; i < PROGRAM_COUNT; i++) {
		struct bpf_link_info info = { 0 };
		uint32_t size = sizeof(info);
		_auto_(closep) int fd = -1;
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", directory,
			 program_names[i]);
		fd = bpf_obj_get(path);
		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0 ||
		    info.type != BPF_LINK_TYPE_CGROUP ||
		    info.cgroup.cgroup_id != cgroup_id)
			return false;
	}
	return true;
}

int gate_set_maps(const char *directory, struct gate_maps *ret_maps)
{
	struct gate_maps maps;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/lanes", directory);
	maps.lanes = bpf_obj_get(path);
	snprintf(path, sizeof(path), "%s/counters", directory);
	maps.counters = bpf_obj_get(path);
	if (maps.lanes < 0 || maps.counters < 0) {
		gate_maps_fini(&maps);
		return -ENOENT;
	}
	*ret_maps = maps;
	return 0;
}
