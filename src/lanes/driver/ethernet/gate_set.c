/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whoever may use bpf can detach a link or have it run another program, and
 * whoever is root can unmount what pins are on, or unlink them: the kernel tells
 * nobody, so it is asked.
 */
#include "lanes/driver/ethernet/gate_set.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

const char *const gate_programs[GATE_PROGRAM_COUNT] = {
	"gate_bind4",    "gate_bind6",    "gate_connect4", "gate_connect6",
	"gate_sendmsg4", "gate_sendmsg6", "gate_egress",   "gate_ingress",
};

void gate_set_init(struct gate_set *set)
{
	*set = (struct gate_set){ .lanes = -1, .counters = -1 };
	for (size_t i = 0; i < GATE_PROGRAM_COUNT; i++)
		set->links[i] = -1;
}

void gate_set_fini(struct gate_set *set)
{
	closep(&set->lanes);
	closep(&set->counters);
	for (size_t i = 0; i < GATE_PROGRAM_COUNT; i++)
		closep(&set->links[i]);
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

bool gate_map_is_same(int a, int b)
{
	struct bpf_map_info info[2] = { 0 };
	uint32_t size = sizeof(info[0]);

	return a >= 0 && b >= 0 &&
	       bpf_obj_get_info_by_fd(a, &info[0], &size) == 0 &&
	       bpf_obj_get_info_by_fd(b, &info[1], &size) == 0 &&
	       info[0].id == info[1].id;
}

static bool link_is_same(int a, int b)
{
	struct bpf_link_info info[2];

	return link_ask(a, &info[0]) && link_ask(b, &info[1]) &&
	       info[0].id == info[1].id;
}

static int pin_open(const char *directory, const char *name,
		    char path[PATH_MAX])
{
	int size = snprintf(path, PATH_MAX, "%s/%s", directory, name);

	return size < PATH_MAX ? bpf_obj_get(path) : -1;
}

typedef bool is_same_fn(int a, int b);

static bool is_pinned(int fd, const char *directory, const char *name,
		      is_same_fn *is_same)
{
	char path[PATH_MAX];
	_auto_(closep) int found = pin_open(directory, name, path);

	return is_same(fd, found);
}

bool gate_set_is_pinned(const struct gate_set *set, const char *directory)
{
	bool is_whole =
		is_pinned(set->lanes, directory, "lanes", gate_map_is_same) &&
		is_pinned(set->counters, directory, "counters",
			  gate_map_is_same);

	for (size_t i = 0; is_whole && i < GATE_PROGRAM_COUNT; i++)
		is_whole = is_pinned(set->links[i], directory, gate_programs[i],
				     link_is_same);
	return is_whole;
}

static int pin(int fd, const char *directory, const char *name,
	       is_same_fn *is_same)
{
	char path[PATH_MAX];
	_auto_(closep) int found = pin_open(directory, name, path);

	if (is_same(fd, found))
		return 0;
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	return bpf_obj_pin(fd, path) < 0 ? -errno : 0;
}

int gate_set_pin(const struct gate_set *set, const char *directory)
{
	int result = pin(set->lanes, directory, "lanes", gate_map_is_same);

	if (result == 0)
		result = pin(set->counters, directory, "counters",
			     gate_map_is_same);
	for (size_t i = 0; result == 0 && i < GATE_PROGRAM_COUNT; i++)
		result = pin(set->links[i], directory, gate_programs[i],
			     link_is_same);
	return result;
}

void gate_set_find(const char *directory, struct gate_set *ret_set)
{
	struct bpf_link_info info;
	char path[PATH_MAX];

	gate_set_init(ret_set);
	ret_set->lanes = pin_open(directory, "lanes", path);
	ret_set->counters = pin_open(directory, "counters", path);
	for (size_t i = 0; i < GATE_PROGRAM_COUNT; i++) {
		ret_set->links[i] = pin_open(directory, gate_programs[i], path);
		if (link_ask(ret_set->links[i], &info))
			ret_set->programs[i] = info.prog_id;
	}
}
