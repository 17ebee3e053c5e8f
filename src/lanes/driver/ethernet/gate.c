/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A new set of programs is attached before an old one goes, so for a moment
 * both decide. The old one's lanes are taken over where the maps are of the
 * same shape; where they are not, lanes are nobody's until the new set has
 * them. What others take away is put back in the same way.
 */
#include "lanes/driver/ethernet/gate.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/driver/ethernet/gate_cgroup.h"
#include "lanes/driver/ethernet/gate_internal.h"

#define GATE_NAMESPACE_MAX (16 + 2)
#define GATE_PREFIX_MAX    (2 * GATE_NAMESPACE_MAX)

static void set_path(const struct ethernet_gate *gate, const char *name,
		     char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", gate->pins, name);
}

/* What the names of its sets begin with. */
static void name_namespace(uint64_t cookie, char name[GATE_NAMESPACE_MAX])
{
	snprintf(name, GATE_NAMESPACE_MAX, "%016" PRIx64 "-", cookie);
}

/* And those of this version with these options. */
static void name_prefix(const struct ethernet_gate *gate,
			char name[GATE_PREFIX_MAX])
{
	char namespace[GATE_NAMESPACE_MAX];

	name_namespace(gate->config.netns_cookie, namespace);
	snprintf(name, GATE_PREFIX_MAX, "%s%016" PRIx64 "-", namespace,
		 gate_digest(&gate->config));
}

/* One that nothing in the directory has. */
static void name_set(struct ethernet_gate *gate)
{
	char prefix[GATE_PREFIX_MAX];
	char path[PATH_MAX];
	int number = 0;

	name_prefix(gate, prefix);
	do {
		snprintf(gate->name, sizeof(gate->name), "%s%d", prefix,
			 number++);
		set_path(gate, gate->name, path);
	} while (access(path, F_OK) == 0);
}

/*
 * 1: a set that is there and whole is ours now. Else *old is another set of
 * this namespace, whose lanes are to be kept, or none.
 */
static int find_set(struct ethernet_gate *gate, struct gate_set *old,
		    struct fairlead_error *error)
{
	char namespace[GATE_NAMESPACE_MAX], prefix[GATE_PREFIX_MAX];
	struct gate_sets sets;
	char path[PATH_MAX];
	int result;

	name_namespace(gate->config.netns_cookie, namespace);
	name_prefix(gate, prefix);
	result = gate_pins_list(gate->pins, namespace, &sets, error);
	for (size_t i = 0; result == 0 && i < sets.count; i++) {
		_auto_(gate_set_fini) struct gate_set set;

		set_path(gate, sets.names[i], path);
		gate_set_find(path, &set);
		if (strncmp(sets.names[i], prefix, strlen(prefix)) == 0 &&
		    gate_set_is_attached(&set, gate->cgroup_id) &&
		    gate_set_is_pinned(&set, path)) {
			gate_set_move(&gate->set, &set);
			strcpy(gate->name, sets.names[i]);
			return 1;
		}
		if (old->lanes < 0 && set.lanes >= 0 && set.counters >= 0)
			gate_set_move(old, &set);
	}
	return result;
}

static int pin_set(const struct ethernet_gate *gate,
		   struct fairlead_error *error)
{
	char path[PATH_MAX];
	int result;

	set_path(gate, gate->name, path);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		result = -errno;
	else
		result = gate_set_pin(&gate->set, path);
	if (result < 0)
		return error_set(error, result, "bpf: pin in %s: %s", path,
				 strerror(-result));
	return 0;
}

static int make_set(struct ethernet_gate *gate, const struct gate_set *old,
		    struct fairlead_error *error)
{
	int result;

	name_set(gate);
	result = gate_set_make(&gate->config, gate->cgroup, old, &gate->set,
			       error);
	if (result == 0)
		result = pin_set(gate, error);
	if (result < 0)
		gate_pins_remove(gate->pins, gate->name, NULL);
	return result;
}

static int open_set(struct ethernet_gate *gate, struct fairlead_error *error)
{
	_auto_(gate_set_fini) struct gate_set old;
	int result = gate_config_probe(&gate->config, error);

	gate_set_init(&old);
	if (result == 0)
		result = gate_cgroup_handle(gate->cgroup, &gate->cgroup_id,
					    error);
	if (result == 0)
		result = gate_pins_make(gate->pins, error);
	if (result == 0)
		result = find_set(gate, &old, error);
	if (result == 0)
		result = make_set(gate, &old, error);
	return result < 0 ? result
			  : gate_pins_keep(gate->pins, "", gate->name, error);
}

static void ports_set(struct ethernet_gate *gate, uint16_t first)
{
	_Static_assert(GATE_PORTS_MAX == ETHERNET_RAILS_MAX, "one a rail");
	for (uint32_t rail = 0; rail < ETHERNET_RAILS_MAX; rail++)
		gate->config.ports[rail] = ethernet_port(first, rail);
}

int gate_open(const struct ethernet_gate_options *options,
	      struct ethernet_gate **ret_gate, struct fairlead_error *ret_error)
{
	_auto_(gate_closep) struct ethernet_gate *gate =
		memory_alloc(sizeof(*gate));
	libbpf_print_fn_t print;
	char cgroup[PATH_MAX];
	int result = 0;

	gate_set_init(&gate->set);
	ports_set(gate, options->port);
	if (!options->cgroup)
		result = gate_cgroup_root(cgroup, ret_error);
	if (result < 0)
		return result;
	gate->pins = memory_text(options->pins);
	gate->cgroup = memory_text(options->cgroup ? options->cgroup : cgroup);
	/* It would write to our standard error. */
	print = libbpf_set_print(NULL);
	result = open_set(gate, ret_error);
	libbpf_set_print(print);
	if (result < 0)
		return result;
	*ret_gate = take_ptr(gate);
	return 0;
}

void gate_close(struct ethernet_gate *gate)
{
	if (!gate)
		return;
	gate_set_fini(&gate->set);
	free(gate->pins);
	free(gate->cgroup);
	free(gate);
}

/* --- what others take away --- */

int gate_check(const struct ethernet_gate *gate,
	       struct fairlead_error *ret_error)
{
	char path[PATH_MAX];

	if (!gate_set_is_attached(&gate->set, gate->cgroup_id))
		return error_set(ret_error, -ENOLINK,
				 "somebody has detached its programs");
	set_path(gate, gate->name, path);
	if (!gate_set_is_pinned(&gate->set, path))
		return error_set(ret_error, -ENOENT,
				 "its pins in %s are gone, so that it ends "
				 "with the daemon",
				 gate->pins);
	return 0;
}

/*
 * With the map that is there, so that lanes are closed from the first program
 * on. The old set is in force until the caller detaches it.
 */
static int attach_again(struct ethernet_gate *gate, struct gate_set *ret_old,
			struct fairlead_error *error)
{
	_auto_(gate_set_fini) struct gate_set made;
	uint64_t cgroup_id;
	int result = gate_cgroup_handle(gate->cgroup, &cgroup_id, error);

	gate_set_init(&made);
	if (result == 0)
		result = gate_set_make(&gate->config, gate->cgroup, &gate->set,
				       &made, error);
	if (result < 0)
		return result;
	gate_set_move(ret_old, &gate->set);
	gate_set_move(&gate->set, &made);
	gate->cgroup_id = cgroup_id;
	name_set(gate);
	return 0;
}

static int pin_again(struct ethernet_gate *gate, struct fairlead_error *error)
{
	int result = gate_pins_make(gate->pins, error);

	if (result == 0)
		result = pin_set(gate, error);
	if (result == 0)
		result = gate_pins_keep(gate->pins, "", gate->name, error);
	return result;
}

/*
 * Whenever we are killed there are pins of one set or the other: the old one
 * goes when the new one is pinned, and where that cannot be it stays by its
 * own.
 */
static int put_back(struct ethernet_gate *gate, int flaw,
		    const char **ret_missing, struct fairlead_error *error)
{
	_auto_(gate_set_fini) struct gate_set old;
	libbpf_print_fn_t print = libbpf_set_print(NULL);
	int result = 0;

	gate_set_init(&old);
	*ret_missing = "attached";
	if (flaw != -ENOENT)
		result = attach_again(gate, &old, error);
	if (result == 0) {
		*ret_missing = "pinned";
		result = pin_again(gate, error);
	}
	if (result == 0)
		gate_set_detach(&old);
	libbpf_set_print(print);
	return result;
}

int gate_tend(struct ethernet_gate *gate, struct fairlead_error *ret_error)
{
	const char *missing;
	struct fairlead_error flaw;
	struct fairlead_error why;
	int result = gate_check(gate, &flaw);

	if (result == 0)
		return 0;
	result = put_back(gate, result, &missing, &why);
	if (result < 0)
		return error_set(ret_error, result,
				 "the gate: %s; it cannot be %s: %s", flaw.text,
				 missing, why.text);
	error_set(ret_error, 0, "the gate: %s; it is put back", flaw.text);
	return 1;
}

int gate_leave(const char *pins, struct fairlead_error *ret_error)
{
	char namespace[GATE_NAMESPACE_MAX];
	uint64_t cookie;
	int result = gate_netns_cookie(&cookie);

	if (result < 0)
		return error_set(ret_error, result, "socket: %s",
				 strerror(-result));
	name_namespace(cookie, namespace);
	return gate_pins_keep(pins, namespace, NULL, ret_error);
}
