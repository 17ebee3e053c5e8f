/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A new set of programs is attached before an old one goes, so for a moment
 * both decide. The old one's lanes are taken over where the maps are of the same
 * shape; where they are not, the old set stays until the new one has been told
 * its lanes.
 */
#include "driver/ethernet/gate.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "driver/ethernet/gate_cgroup.h"
#include "driver/ethernet/gate_internal.h"

#define GATE_NAMESPACE_MAX (16 + 2)

/* A set that is there and whole; else a name for a new one. */
static int choose_set(struct gate *gate, const char *prefix, uint64_t cgroup_id,
		      bool *ret_is_there, struct fairlead_error *error)
{
	struct gate_sets sets;
	char path[PATH_MAX];
	int result = gate_pins_list(gate->pins, prefix, &sets, error);

	if (result < 0)
		return result;
	for (size_t i = 0; i < sets.count; i++) {
		snprintf(path, sizeof(path), "%s/%s", gate->pins,
			 sets.names[i]);
		if (gate_set_is_attached(path, cgroup_id) &&
		    gate_set_maps(path, &gate->maps) == 0) {
			strcpy(gate->set, sets.names[i]);
			*ret_is_there = true;
			return 0;
		}
	}
	for (int number = 0;; number++) {
		snprintf(gate->set, sizeof(gate->set), "%s%d", prefix, number);
		snprintf(path, sizeof(path), "%s/%s", gate->pins, gate->set);
		if (mkdir(path, 0700) == 0)
			break;
		if (errno != EEXIST)
			return error_set(error, -errno, "%s: %s", path,
					 strerror(errno));
	}
	*ret_is_there = false;
	return 0;
}

/* The maps of an older set of this namespace, so that its lanes are kept. */
static int find_old_maps(const struct gate *gate, const char *namespace,
			 struct gate_maps *maps, struct fairlead_error *error)
{
	struct gate_sets sets;
	char path[PATH_MAX];
	int result = gate_pins_list(gate->pins, namespace, &sets, error);

	for (size_t i = 0; result == 0 && i < sets.count; i++) {
		snprintf(path, sizeof(path), "%s/%s", gate->pins,
			 sets.names[i]);
		if (strcmp(sets.names[i], gate->set) != 0 &&
		    gate_set_maps(path, maps) == 0)
			break;
	}
	return result;
}

static bool is_same_map(int a, int b)
{
	struct bpf_map_info info[2] = { 0 };
	uint32_t size = sizeof(info[0]);

	return bpf_obj_get_info_by_fd(a, &info[0], &size) == 0 &&
	       bpf_obj_get_info_by_fd(b, &info[1], &size) == 0 &&
	       info[0].id == info[1].id;
}

static int make_set(struct gate *gate, const struct gate_config *config,
		    const char *cgroup, const char *namespace,
		    struct fairlead_error *error)
{
	_auto_(gate_maps_fini) struct gate_maps old = GATE_MAPS_NONE;
	char path[PATH_MAX];
	int result = find_old_maps(gate, namespace, &old, error);

	snprintf(path, sizeof(path), "%s/%s", gate->pins, gate->set);
	if (result == 0)
		result = gate_set_make(path, config, cgroup, &old, &gate->maps,
				       error);
	if (result < 0) {
		gate_pins_remove(gate->pins, gate->set, NULL);
		return result;
	}
	gate->is_alone =
		old.lanes < 0 || is_same_map(old.lanes, gate->maps.lanes);
	return 0;
}

/* What the names of its sets begin with. */
static void name_namespace(uint64_t cookie, char name[GATE_NAMESPACE_MAX])
{
	snprintf(name, GATE_NAMESPACE_MAX, "%016" PRIx64 "-", cookie);
}

static int open_set(struct gate *gate, const struct gate_config *config,
		    const char *cgroup, struct fairlead_error *error)
{
	char namespace[GATE_NAMESPACE_MAX];
	char prefix[2 * sizeof(namespace)];
	struct gate_sets sets;
	uint64_t cgroup_id;
	bool is_there;
	int result = gate_cgroup_handle(cgroup, &cgroup_id, error);

	if (result == 0)
		result = gate_pins_make(gate->pins, error);
	if (result < 0)
		return result;
	name_namespace(config->netns_cookie, namespace);
	snprintf(prefix, sizeof(prefix), "%s%016" PRIx64 "-", namespace,
		 gate_digest(config));
	result = choose_set(gate, prefix, cgroup_id, &is_there, error);
	if (result < 0)
		return result;
	if (!is_there) {
		result = make_set(gate, config, cgroup, namespace, error);
		if (result < 0)
			return result;
	} else {
		result = gate_pins_list(gate->pins, "", &sets, error);
		if (result < 0)
			return result;
		gate->is_alone = sets.count == 1;
	}
	return gate->is_alone ? gate_pins_keep(gate->pins, gate->set, error)
			      : 0;
}

int gate_open(const struct gate_options *options, struct gate **ret_gate,
	      struct fairlead_error *ret_error)
{
	_auto_(gate_closep) struct gate *gate = calloc(1, sizeof(*gate));
	libbpf_print_fn_t print;
	struct gate_config config = {
		.port = options->port,
		.port_count = options->port_count,
	};
	char cgroup[PATH_MAX];
	int result = 0;

	if (!gate)
		return error_set(ret_error, -ENOMEM, "out of memory");
	gate->maps = GATE_MAPS_NONE;
	gate->pins = strdup(options->pins);
	if (!gate->pins)
		return error_set(ret_error, -ENOMEM, "out of memory");
	if (!options->cgroup)
		result = gate_cgroup_root(cgroup, ret_error);
	if (result < 0)
		return result;
	/* It would write to our standard error. */
	print = libbpf_set_print(NULL);
	result = gate_config_probe(&config, ret_error);
	if (result == 0)
		result = open_set(gate, &config,
				  options->cgroup ? options->cgroup : cgroup,
				  ret_error);
	libbpf_set_print(print);
	if (result < 0)
		return result;
	*ret_gate = take_ptr(gate);
	return 0;
}

void gate_close(struct gate *gate)
{
	if (!gate)
		return;
	gate_maps_fini(&gate->maps);
	free(gate->pins);
	free(gate);
}

int gate_leave(const char *pins, struct fairlead_error *ret_error)
{
	char namespace[GATE_NAMESPACE_MAX];
	struct gate_sets sets;
	uint64_t cookie;
	int result = gate_namespace(&cookie);

	/* A kernel that does not tell them apart has never had a gate. */
	if (result == -ENOPROTOOPT)
		return 0;
	if (result < 0)
		return error_set(ret_error, result, "socket: %s",
				 strerror(-result));
	name_namespace(cookie, namespace);
	do {
		result = gate_pins_list(pins, namespace, &sets, ret_error);
		for (size_t i = 0; result == 0 && i < sets.count; i++)
			result = gate_pins_remove(pins, sets.names[i],
						  ret_error);
	} while (result == 0 && sets.count == GATE_SETS_MAX);
	return result;
}

int gate_clear(const char *pins, struct fairlead_error *ret_error)
{
	int result = gate_pins_keep(pins, NULL, ret_error);

	/* EBUSY: the file system is mounted on the directory itself. */
	if (result == 0 && rmdir(pins) < 0 && errno != ENOENT && errno != EBUSY)
		result = error_set(ret_error, -errno, "%s: %s", pins,
				   strerror(errno));
	return result;
}
