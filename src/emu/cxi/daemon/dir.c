/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * boot_id is replaced by rename, so that a reader never sees half of one.
 * Device files and socket are for everyone, whatever the umask: who may do what
 * is decided by the peer's identity, as with the real device.
 */
#include "emu/cxi/daemon/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"

static void remove_file(const struct softnic_dir *dir, const char *name)
{
	_auto_(freep) char *path =
		memory_format("%s/%s", dir->rundir.path, name);

	remove(path);
}

/* What an earlier daemon left, or this one does. */
static void remove_files(struct softnic_dir *dir)
{
	remove_file(dir, "boot_id");
	for (uint32_t i = 0; i < SOFTNIC_NIC_MAX; i++)
		softnic_dir_set_device(dir, i, false);
}

int softnic_dir_open(const char *path, struct softnic_dir **ret_dir,
		     struct fairlead_error *ret_error)
{
	_auto_(softnic_dir_closep) struct softnic_dir *dir =
		memory_alloc(sizeof(*dir));
	_auto_(freep) char *dev = memory_format("%s/dev", path);
	int result =
		rundir_open(&dir->rundir, "fairlead-softnic", path, ret_error);

	if (result < 0)
		return result;
	if (mkdir(dev, 0755) < 0 && errno != EEXIST)
		return error_set(ret_error, -errno, "cannot make '%s': %s", dev,
				 strerror(errno));
	remove_files(dir);
	*ret_dir = take_ptr(dir);
	return 0;
}

void softnic_dir_close(struct softnic_dir *dir)
{
	if (dir == NULL)
		return;
	if (dir->rundir.lock >= 0) {
		remove_files(dir);
		remove_file(dir, "dev");
		remove_file(dir, "pid");
	}
	rundir_close(&dir->rundir);
	free(dir);
}

static int make_uuid(char text[BOOT_ID_SIZE])
{
	uint8_t b[16];

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return -EIO;
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	snprintf(text, BOOT_ID_SIZE,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		 "%02x%02x%02x%02x%02x%02x",
		 b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9],
		 b[10], b[11], b[12], b[13], b[14], b[15]);
	return 0;
}

int softnic_dir_new_boot_id(struct softnic_dir *dir)
{
	_auto_(freep) char *path =
		memory_format("%s/boot_id", dir->rundir.path);
	_auto_(freep) char *path_new = memory_format("%s.new", path);
	_auto_(closep) int fd = -1;
	int result = make_uuid(dir->boot_id);

	if (result < 0)
		return result;
	fd = open(path_new,
		  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0 || fchmod(fd, 0644) < 0)
		return -errno;
	if (dprintf(fd, "%s\n", dir->boot_id) != BOOT_ID_SIZE)
		return -EIO;
	return rename(path_new, path) < 0 ? -errno : 0;
}

int softnic_dir_set_device(struct softnic_dir *dir, uint32_t nic,
			   bool is_present)
{
	_auto_(freep) char *path =
		memory_format("%s/dev/cxi%u", dir->rundir.path, nic);
	_auto_(closep) int fd = -1;

	if (!is_present)
		return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	return fd < 0 || fchmod(fd, 0666) < 0 ? -errno : 0;
}
