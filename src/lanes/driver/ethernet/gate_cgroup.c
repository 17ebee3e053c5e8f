/* SPDX-License-Identifier: BSD-3-Clause */
/* A cgroup's id is the file handle that the kernel gives for its directory. */
#include "lanes/driver/ethernet/gate_cgroup.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/gate.h"
#include "lanes/driver/ethernet/gate_maps.h"

static void endmntentp(FILE **file)
{
	if (*file)
		endmntent(*file);
}

int gate_cgroup_root(char path[PATH_MAX], struct fairlead_error *ret_error)
{
	_auto_(endmntentp) FILE *file = setmntent("/proc/self/mounts", "re");
	char text[2 * PATH_MAX];
	struct mntent entry;

	while (file && getmntent_r(file, &entry, text, sizeof(text))) {
		if (strcmp(entry.mnt_type, "cgroup2") == 0 &&
		    strlen(entry.mnt_dir) < PATH_MAX) {
			strcpy(path, entry.mnt_dir);
			return 0;
		}
	}
	return error_set(ret_error, -EOPNOTSUPP,
			 "cgroup v2 is not mounted (nor beside v1, at "
			 "/sys/fs/cgroup/unified)");
}

int gate_cgroup_handle(const char *path, uint64_t *ret_id,
		       struct fairlead_error *ret_error)
{
	struct {
		struct file_handle handle;
		uint64_t id;
	} found = { .handle.handle_bytes = sizeof(uint64_t) };
	struct statfs system;
	int mount;

	if (statfs(path, &system) < 0)
		return error_set(ret_error, -errno, "cgroup %s: %s", path,
				 strerror(errno));
	if (system.f_type != CGROUP2_SUPER_MAGIC)
		return error_set(ret_error, -EINVAL, "%s: not in cgroup v2",
				 path);
	if (name_to_handle_at(AT_FDCWD, path, &found.handle, &mount, 0) < 0)
		return error_set(ret_error, -errno, "id of cgroup %s: %s", path,
				 strerror(errno));
	memcpy(ret_id, found.handle.f_handle, sizeof(*ret_id));
	return 0;
}

/* The path from the root on; "": it is not below it. */
static const char *cgroup_below(const char *root, const char *path)
{
	size_t size = strlen(root);

	return strncmp(path, root, size) == 0 ? path + size : "";
}

int gate_cgroup_id(const char *path, uint64_t *ret_id,
		   struct fairlead_error *ret_error)
{
	char root[PATH_MAX];
	char real[PATH_MAX];
	int levels = 0;
	int result = gate_cgroup_root(root, ret_error);

	if (result < 0)
		return result;
	if (!realpath(path, real))
		return error_set(ret_error, -errno, "cgroup %s: %s", path,
				 strerror(errno));
	for (const char *at = cgroup_below(root, real); *at; at++)
		levels += *at == '/';
	if (levels > GATE_CGROUP_LEVELS)
		return error_set(ret_error, -EINVAL,
				 "cgroup %s is more than %d levels deep", path,
				 GATE_CGROUP_LEVELS);
	return gate_cgroup_handle(path, ret_id, ret_error);
}
