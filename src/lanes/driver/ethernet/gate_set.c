/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whoever may use bpf can detach a link or have it run another program, and
 * whoever is root can unmount what pins are on, or unlink them: the kernel
 * notifies nobody, so it is asked.
 */
#include "lanes/driver/ethernet/gate_set.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Names of pins. */
static const char *const names[GATE_PIN_COUNT] = {
	"lanes",         "counters",      "gate_bind4",    "gate_bind6",
	"gate_connect4", "gate_connect6", "gate_sendmsg4", "gate_sendmsg6",
	"gate_egress",   "gate_ingress",
};

const char *const *const gate_programs = names + 2;

void gate_set_init(struct gate_set *set)
{
	*set = (struct gate_set){ .lanes = -1 };
	for (size_t i = 0; i < GATE_PIN_COUNT; i++)
		set->pins[i] = -1;
}

void gate_set_fini(struct gate_set *set)
{
	for (size_t i = 0; i < GATE_PIN_COUNT; i++)
		closep(&set->pins[i]);
	gate_set_init(set);
}

void gate_set_move(struct gate_set *to, struct gate_set *from)
{
	*to = *from;
	gate_set_init(from);
}

/* --- attached --- */

static bool link_ask(int fd, struct bpf_link_info *ret_info)
{
	uint32_t size = sizeof(*ret_info);

	*ret_info = (struct bpf_link_info){ 0 };
	return fd >= 0 && bpf_obj_get_info_by_fd(fd, ret_info, &size) == 0;
}

bool gate_set_is_attached(const struct gate_set *set, uint64_t cgroup_id)
{
	struct bpf_link_info info;

	for (size_t i = 0; i < GATE_PROGRAM_COUNT; i++) {
		/* One that was detached has no cgroup. */
		if (!link_ask(set->links[i], &info) ||
		    info.type != BPF_LINK_TYPE_CGROUP ||
		    info.cgroup.cgroup_id != cgroup_id ||
		    info.prog_id != set->programs[i])
			return false;
	}
	return true;
}

void gate_set_detach(const struct gate_set *set)
{
	for (size_t i = 0; i < GATE_PROGRAM_COUNT; i++) {
		if (set->links[i] >= 0)
			bpf_link_detach(set->links[i]);
	}
}

/* --- pinned --- */

/* What the kernel says of both kinds begins with their type and id. */
bool gate_pin_is_same(int a, int b)
{
	struct bpf_map_info info[2] = { 0 };
	uint32_t size[2] = { sizeof(info[0]), sizeof(info[0]) };

	return a >= 0 && b >= 0 &&
	       bpf_obj_get_info_by_fd(a, &info[0], &size[0]) == 0 &&
	       bpf_obj_get_info_by_fd(b, &info[1], &size[1]) == 0 &&
	       size[0] == size[1] && info[0].type == info[1].type &&
	       info[0].id == info[1].id;
}

static int pin_open(const char *directory, const char *name,
		    char path[PATH_MAX])
{
	int size = snprintf(path, PATH_MAX, "%s/%s", directory, name);

	return size < PATH_MAX ? bpf_obj_get(path) : -1;
}

bool gate_set_is_pinned(const struct gate_set *set, const char *directory)
{
	char path[PATH_MAX];
	bool is_whole = true;

	for (size_t i = 0; is_whole && i < GATE_PIN_COUNT; i++) {
		_auto_(closep) int found = pin_open(directory, names[i], path);

		is_whole = gate_pin_is_same(set->pins[i], found);
	}
	return is_whole;
}

int gate_set_pin(const struct gate_set *set, const char *directory)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < GATE_PIN_COUNT; i++) {
		_auto_(closep) int found = pin_open(directory, names[i], path);

		if (gate_pin_is_same(set->pins[i], found))
			continue;
		if ((unlink(path) < 0 && errno != ENOENT) ||
		    bpf_obj_pin(set->pins[i], path) < 0)
			return -errno;
	}
	return 0;
}

void gate_set_find(const char *directory, struct gate_set *ret_set)
{
	struct bpf_link_info info;
	char path[PATH_MAX];

	for (size_t i = 0; i < GATE_PIN_COUNT; i++)
		ret_set->pins[i] = pin_open(directory, names[i], path);
	for (size_t i = 0; i < GATE_PROGRAM_COUNT; i++)
		ret_set->programs[i] =
			link_ask(ret_set->links[i], &info) ? info.prog_id : 0;
}
