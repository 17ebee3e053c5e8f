/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files in the daemon's directory. Programs live as long as the kernel: what is
 * of an earlier boot is of nobody.
 */
#include "elan/service/notes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "elan/service/proc.h"
#include "sys/files.h"

#define BACKLOG    512
#define PATH_SIZE  256
#define RECORD_MAX (8u << 20)
#define BOOT_ID    "/proc/sys/kernel/random/boot_id"

struct notes {
	char *dir;
	struct file_seam files;
	void *lock;
	bool has_socket;
};

static const char *const kind_names[RECORD_KIND_COUNT] = {
	[RECORD_NODE] = "node",
	[RECORD_PROGRAM] = "program-",
	[RECORD_DEPOSIT] = "deposit-",
};

static int path_of(const struct notes *notes, char path[PATH_SIZE],
		   const char *name)
{
	int size = snprintf(path, PATH_SIZE, "%s/%s", notes->dir, name);

	return size < 0 || size >= PATH_SIZE ? -ENAMETOOLONG : 0;
}

static int path_of_record(const struct notes *notes, char path[PATH_SIZE],
			  enum record_kind kind, uint64_t number)
{
	int size;

	if (kind == RECORD_NODE)
		return path_of(notes, path, "state/node");
	size = snprintf(path, PATH_SIZE, "%s/state/%s%" PRIu64, notes->dir,
			kind_names[kind], number);
	return size < 0 || size >= PATH_SIZE ? -ENAMETOOLONG : 0;
}

static int make_parents(const char *path)
{
	_auto_(freep) char *copy = strdup(path);

	if (copy == NULL)
		return -ENOMEM;
	for (char *at = copy + 1; *at != '\0'; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

static int check_dir(const char *path)
{
	struct stat status;

	if (lstat(path, &status) < 0)
		return -errno;
	if (!S_ISDIR(status.st_mode))
		return -ENOTDIR;
	if (status.st_uid != geteuid() || status.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	return 0;
}

static int init(struct notes *notes, struct fairlead_error *ret_error)
{
	const struct file_seam *files = &notes->files;
	char path[PATH_SIZE];
	uint64_t holder = 0;
	int result = make_parents(notes->dir);

	if (result == 0)
		result = check_dir(notes->dir);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot use '%s', which has to be a directory "
				 "that only its owner, who runs this, can "
				 "write to: %s",
				 notes->dir, strerror(-result));
	result = path_of(notes, path, "pid");
	if (result == 0)
		result = files->ops->lock(files->ctx, path, &notes->lock,
					  &holder);
	if (result == -EBUSY)
		return error_set(ret_error, result,
				 "another fairlead-rms runs in '%s'",
				 notes->dir);
	if (result == 0)
		result = path_of(notes, path, "state");
	if (result == 0)
		result = files->ops->make_directory(files->ctx, path);
	if (result == 0)
		result = check_dir(path);
	if (result < 0)
		return error_set(ret_error, result, "cannot make '%s': %s",
				 path, strerror(-result));
	return 0;
}

int notes_open(const char *dir, struct notes **ret_notes,
	       struct fairlead_error *ret_error)
{
	_auto_(notes_closep) struct notes *notes = calloc(1, sizeof(*notes));
	int result;

	if (notes == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	notes->files = sys_files();
	notes->dir = strdup(dir);
	if (notes->dir == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	result = init(notes, ret_error);
	if (result < 0)
		return result;
	*ret_notes = take_ptr(notes);
	return 0;
}

void notes_close(struct notes *notes)
{
	char path[PATH_SIZE];

	if (notes == NULL)
		return;
	if (notes->has_socket && path_of(notes, path, "socket") == 0)
		unlink(path);
	if (notes->lock != NULL)
		notes->files.ops->unlock(notes->files.ctx, notes->lock);
	free(notes->dir);
	free(notes);
}

const char *notes_dir(const struct notes *notes)
{
	return notes->dir;
}

static int save(void *ctx, enum record_kind kind, uint64_t number,
		const void *bytes, size_t size)
{
	struct notes *notes = ctx;
	char path[PATH_SIZE];
	int result = path_of_record(notes, path, kind, number);

	if (result == 0)
		result = notes->files.ops->replace(notes->files.ctx, path,
						   bytes, size);
	return result < 0 ? -EIO : 0;
}

static int remove_record(void *ctx, enum record_kind kind, uint64_t number)
{
	char path[PATH_SIZE];
	int result = path_of_record(ctx, path, kind, number);

	if (result == 0 && unlink(path) < 0 && errno != ENOENT)
		result = -EIO;
	return result;
}

struct notes_seam notes_seam(struct notes *notes)
{
	static const struct notes_ops ops = {
		.save = save,
		.remove = remove_record,
	};

	return (struct notes_seam){ .ops = &ops, .ctx = notes };
}

/* The directory's names, each given to call; the first error ends it. */
static int each_file(struct notes *notes,
		     int (*call)(struct notes *notes, const char *name,
				 void *arg),
		     void *arg)
{
	_auto_(closedirp) DIR *dir = NULL;
	const struct dirent *entry;
	char path[PATH_SIZE];
	int result = path_of(notes, path, "state");

	if (result < 0)
		return result;
	dir = opendir(path);
	if (dir == NULL)
		return -errno;
	while (result == 0 && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] != '.')
			result = call(notes, entry->d_name, arg);
	}
	return result;
}

static int remove_file(struct notes *notes, const char *name, void *arg)
{
	char path[PATH_SIZE];
	int size =
		snprintf(path, sizeof(path), "%s/state/%s", notes->dir, name);

	if (size < 0 || (size_t)size >= sizeof(path))
		return -ENAMETOOLONG;
	return unlink(path) < 0 ? -errno : 0;
}

/* Is what was saved of this boot; and say that what will be is. */
static int check_boot(struct notes *notes)
{
	char path[PATH_SIZE];
	char now[64];
	char then[64] = "";
	int result = path_of(notes, path, "state/boot_id");

	if (result == 0)
		result = proc_read(BOOT_ID, now, sizeof(now));
	if (result < 0)
		return result;
	if (proc_read(path, then, sizeof(then)) >= 0 && strcmp(now, then) == 0)
		return 0;
	result = each_file(notes, remove_file, NULL);
	if (result == 0)
		result = notes->files.ops->replace(notes->files.ctx, path, now,
						   strlen(now));
	return result;
}

static int kind_of(const char *name, enum record_kind *ret_kind)
{
	/* What was written when it ended, and never took its place. */
	if (strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".new") == 0)
		return -ENOENT;
	for (int i = 0; i < RECORD_KIND_COUNT; i++) {
		if (strncmp(name, kind_names[i], strlen(kind_names[i])) == 0) {
			*ret_kind = (enum record_kind)i;
			return 0;
		}
	}
	return -ENOENT;
}

struct loading {
	struct registry *registry;
	struct fairlead_error *error;
};

static int load_file(struct notes *notes, const char *name, void *arg)
{
	const struct file_seam *files = &notes->files;
	struct loading *loading = arg;
	_auto_(freep) void *bytes = NULL;
	enum record_kind kind;
	struct stat status;
	char path[PATH_SIZE];
	int size =
		snprintf(path, sizeof(path), "%s/state/%s", notes->dir, name);
	int result;

	if (size < 0 || (size_t)size >= sizeof(path))
		return -ENAMETOOLONG;
	if (kind_of(name, &kind) < 0)
		return 0;
	if (stat(path, &status) < 0 || status.st_size > RECORD_MAX)
		return -EFBIG;
	bytes = malloc((size_t)status.st_size + 1);
	if (bytes == NULL)
		return -ENOMEM;
	result = files->ops->load(files->ctx, path, bytes,
				  (size_t)status.st_size + 1);
	if (result >= 0)
		result = registry_load(loading->registry, kind, bytes,
				       (size_t)result);
	if (result < 0)
		return error_set(loading->error, result,
				 "cannot read '%s', without which what it says "
				 "is lost: %s",
				 path, strerror(-result));
	return 0;
}

int notes_load(struct notes *notes, struct registry *registry,
	       struct fairlead_error *ret_error)
{
	struct loading loading = { .registry = registry, .error = ret_error };
	int result = check_boot(notes);

	if (ret_error != NULL)
		ret_error->code = 0;
	if (result == 0)
		result = each_file(notes, load_file, &loading);
	if (result < 0 && ret_error != NULL && ret_error->code == 0)
		error_set(ret_error, result, "cannot read '%s/state': %s",
			  notes->dir, strerror(-result));
	return result;
}

int notes_listen(struct notes *notes)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_auto_(closep) int fd = -1;
	int listening;
	int size;

	size = snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket",
			notes->dir);
	if (size < 0 || (size_t)size >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	/* We have the lock: whose it was is gone. */
	if (unlink(address.sun_path) < 0 && errno != ENOENT)
		return -errno;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(address.sun_path, 0666) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	notes->has_socket = true;
	listening = fd;
	fd = -1;
	return listening;
}
