/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directory is root's alone: who can unlink a pin can detach a program, and
 * who can open one can write the map.
 */
#include "lanes/driver/ethernet/gate_pins.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

#define BPF_MOUNT "/sys/fs/bpf"

static bool is_on_bpffs(const char *path)
{
	struct statfs found;

	return statfs(path, &found) == 0 && found.f_type == BPF_FS_MAGIC;
}

static int mount_bpffs(const char *at, struct fairlead_error *error)
{
	if (mount("bpf", at, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "mode=0700") == 0)
		return 0;
	if (errno == ENODEV)
		return error_set(error, -EOPNOTSUPP,
				 "the kernel has no BPF file system "
				 "(CONFIG_BPF_SYSCALL)");
	return error_set(error, -errno,
			 "mount of the BPF file system on %s: %s", at,
			 strerror(errno));
}

static int make_directories(const char *path, struct fairlead_error *error)
{
	char part[PATH_MAX];

	if (path[0] != '/' || strlen(path) >= sizeof(part))
		return error_set(error, -EINVAL,
				 "directory of pins %s: not an absolute path",
				 path);
	strcpy(part, path);
	for (char *end = part + 1;; end++) {
		char saved = *end;

		if (saved != '/' && saved != '\0')
			continue;
		*end = '\0';
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return error_set(error, -errno, "%s: %s", part,
					 strerror(errno));
		if (!saved)
			return 0;
		*end = saved;
	}
}

int gate_pins_make(const char *pins, struct fairlead_error *ret_error)
{
	bool is_usual = strncmp(pins, BPF_MOUNT "/", sizeof(BPF_MOUNT)) == 0;
	struct stat found;
	int result;

	if (is_usual && access(BPF_MOUNT, F_OK) < 0)
		return error_set(ret_error, -EOPNOTSUPP,
				 "the kernel has no " BPF_MOUNT
				 " (CONFIG_BPF_SYSCALL)");
	result = is_usual && !is_on_bpffs(BPF_MOUNT)
			 ? mount_bpffs(BPF_MOUNT, ret_error)
			 : 0;
	if (result == 0)
		result = make_directories(pins, ret_error);
	if (result == 0 && !is_on_bpffs(pins))
		result = mount_bpffs(pins, ret_error);
	if (result < 0)
		return result;
	if (stat(pins, &found) < 0 || !S_ISDIR(found.st_mode))
		return error_set(ret_error, -EEXIST, "%s is not a directory",
				 pins);
	if (found.st_uid != geteuid() || (found.st_mode & 0022))
		return error_set(ret_error, -EPERM,
				 "%s: others than its user can write", pins);
	return 0;
}

/* COOKIE-DIGEST-N: what others have in the directory is theirs. */
static bool is_set(const char *name)
{
	static const char digits[] = "0123456789abcdef";

	for (int part = 0; part < 2; part++) {
		if (strspn(name, digits) != 16 || name[16] != '-')
			return false;
		name += 17;
	}
	return name[0] != '\0' && name[strspn(name, "0123456789")] == '\0';
}

int gate_pins_list(const char *pins, const char *prefix,
		   struct gate_sets *ret_sets, struct fairlead_error *ret_error)
{
	_auto_(closedirp) DIR *dir = opendir(pins);
	struct gate_sets sets = { 0 };
	const struct dirent *entry;

	if (!dir && errno != ENOENT)
		return error_set(ret_error, -errno, "%s: %s", pins,
				 strerror(errno));
	while (dir && (entry = readdir(dir))) {
		if (is_set(entry->d_name) && entry->d_type == DT_DIR &&
		    strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
		    strlen(entry->d_name) < GATE_SET_NAME_MAX &&
		    sets.count < GATE_SETS_MAX)
			strcpy(sets.names[sets.count++], entry->d_name);
	}
	*ret_sets = sets;
	return 0;
}

/*
 * An unlinked program is detached some time later, when the kernel frees the
 * pin; so it is detached first, if this is one.
 */
static int remove_pin(int dir, const char *directory, const char *name)
{
	_auto_(closep) int fd = -1;
	char path[PATH_MAX + 1 + NAME_MAX + 1];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = bpf_obj_get(path);
	if (fd >= 0)
		bpf_link_detach(fd);
	return unlinkat(dir, name, 0) < 0 ? -errno : 0;
}

int gate_pins_remove(const char *pins, const char *set,
		     struct fairlead_error *ret_error)
{
	_auto_(closedirp) DIR *dir = NULL;
	const struct dirent *entry;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", pins, set);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		int result;

		if (entry->d_name[0] == '.')
			continue;
		result = remove_pin(dirfd(dir), path, entry->d_name);
		if (result < 0)
			return error_set(ret_error, result, "%s/%s: %s", path,
					 entry->d_name, strerror(-result));
	}
	if (rmdir(path) < 0 && errno != ENOENT)
		return error_set(ret_error, -errno, "%s: %s", path,
				 strerror(errno));
	return 0;
}

int gate_pins_keep(const char *pins, const char *prefix, const char *kept,
		   struct fairlead_error *ret_error)
{
	struct gate_sets sets;
	int result;

	do {
		result = gate_pins_list(pins, prefix, &sets, ret_error);
		for (size_t i = 0; result == 0 && i < sets.count; i++) {
			if (!kept || strcmp(sets.names[i], kept) != 0)
				result = gate_pins_remove(pins, sets.names[i],
							  ret_error);
		}
	} while (result == 0 && sets.count == GATE_SETS_MAX);
	return result;
}
