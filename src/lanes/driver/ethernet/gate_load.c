/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/ethernet/gate_load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/address.h"
#include "gate_object.h"

static void object_closep(struct bpf_object **object)
{
	bpf_object__close(*object);
}

uint64_t gate_digest(const struct gate_config *config)
{
	uint64_t digest = ethernet_digest(ETHERNET_DIGEST_START, gate_object,
					  sizeof(gate_object));

	return ethernet_digest(digest, config, sizeof(*config));
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

int gate_netns_cookie(uint64_t *ret_cookie)
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
	int result = gate_netns_cookie(&cookie);

	if (result < 0)
		return error_set(ret_error, result, "socket: %s",
				 strerror(-result));
	if (probe_netns_of_packets(&is_known) < 0)
		return not_permitted(ret_error);
	config->netns_cookie = cookie;
	config->is_netns_of_packets_known = is_known;
	return 0;
}

/* The kernel's answer is one errno for all reasons. */
static int explain(int result, struct fairlead_error *error)
{
	if (result == -EPERM)
		return not_permitted(error);
	return error_set(error, -EOPNOTSUPP,
			 "bpf: programs were not loaded: %s; the kernel needs "
			 "CONFIG_BPF_SYSCALL and CONFIG_CGROUP_BPF, of Linux "
			 "6.1 or later",
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
		       const struct gate_set *old,
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

static int program_attach(struct bpf_object *object, const char *name,
			  int cgroup, int *ret_link,
			  struct fairlead_error *error)
{
	const struct bpf_program *program =
		bpf_object__find_program_by_name(object, name);
	int link = bpf_link_create(bpf_program__fd(program), cgroup,
				   bpf_program__expected_attach_type(program),
				   NULL);

	if (link < 0 && errno == EPERM)
		return error_set(error, -EPERM,
				 "bpf: %s: the cgroup lets no further program "
				 "in: somebody's has it alone, or "
				 "CAP_NET_ADMIN is missing",
				 name);
	if (link < 0 && errno == EINVAL)
		return error_set(error, -EOPNOTSUPP,
				 "bpf: %s: the kernel has no links for cgroups "
				 "(Linux 5.7)",
				 name);
	if (link < 0)
		return error_set(error, -errno, "bpf: %s: %s", name,
				 strerror(errno));
	*ret_link = link;
	return 0;
}

static uint32_t program_id(const struct bpf_object *object, const char *name)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	int fd =
		bpf_program__fd(bpf_object__find_program_by_name(object, name));

	return bpf_obj_get_info_by_fd(fd, &info, &size) < 0 ? 0 : info.id;
}

/* A descriptor that outlives the object. */
static int map_take(struct bpf_object *object, const char *name)
{
	return fcntl(bpf_map__fd(bpf_object__find_map_by_name(object, name)),
		     F_DUPFD_CLOEXEC, 3);
}

int gate_set_make(const struct gate_config *config, const char *cgroup,
		  const struct gate_set *old, struct gate_set *ret_set,
		  struct fairlead_error *ret_error)
{
	_auto_(gate_set_fini) struct gate_set set;
	_auto_(object_closep) struct bpf_object *object = NULL;
	_auto_(closep) int cgroup_fd =
		open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int result;

	gate_set_init(&set);
	if (cgroup_fd < 0)
		return error_set(ret_error, -errno, "cgroup %s: %s", cgroup,
				 strerror(errno));
	result = object_load(config, old, &object, ret_error);
	if (result < 0)
		return result;
	set.lanes = map_take(object, "lanes");
	set.counters = map_take(object, "counters");
	if (set.lanes < 0 || set.counters < 0)
		return error_set(ret_error, -errno, "bpf: maps: %s",
				 strerror(errno));
	for (size_t i = 0; i < GATE_PROGRAM_COUNT && result == 0; i++) {
		set.programs[i] = program_id(object, gate_programs[i]);
		result = program_attach(object, gate_programs[i], cgroup_fd,
					&set.links[i], ret_error);
	}
	if (result < 0)
		return result;
	gate_set_move(ret_set, &set);
	return 0;
}
