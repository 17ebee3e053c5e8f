/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files in the daemon's directory. Programs live as long as the kernel: what is
 * of an earlier boot is of nobody.
 */
#include "elan/service/notes.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "elan/service/proc.h"
#include "sys/files.h"
#include "sys/rundir.h"

#define PATH_SIZE  512 /* of the directory and a name below it */
#define RECORD_MAX (8u << 20)
#define BOOT_ID    "/proc/sys/kernel/random/boot_id"

struct notes {
	struct rundir rundir;
	struct file_seam files;
};

static const char *const kind_names[RECORD_KIND_COUNT] = {
	[RECORD_NODE] = "node",
	[RECORD_PROGRAM] = "program-",
	[RECORD_DEPOSIT] = "deposit-",
};

/* The directory's path is no longer than that of a socket. */
static void path_of(const struct notes *notes, char path[PATH_SIZE],
		    const char *name)
{
	snprintf(path, PATH_SIZE, "%s/%s", notes->rundir.path, name);
}

static void path_of_record(const struct notes *notes, char path[PATH_SIZE],
			   enum rms_record kind, uint64_t number)
{
	if (kind == RECORD_NODE)
		path_of(notes, path, "state/node");
	else
		snprintf(path, PATH_SIZE, "%s/state/%s%" PRIu64,
			 notes->rundir.path, kind_names[kind], number);
}

int notes_open(const char *dir, struct notes **ret_notes,
	       struct fairlead_error *ret_error)
{
	_auto_(notes_closep) struct notes *notes = memory_alloc(sizeof(*notes));
	const struct file_seam *files = &notes->files;
	char path[PATH_SIZE];
	int result;

	notes->files = sys_files();
	result = rundir_open(&notes->rundir, "fairlead-rms", dir, ret_error);
	if (result < 0)
		return result;
	path_of(notes, path, "state");
	result = files->ops->make_directory(files->ctx, path);
	if (result == 0)
		result = rundir_check(path);
	if (result < 0)
		return error_set(ret_error, result, "cannot make '%s': %s",
				 path, strerror(-result));
	*ret_notes = take_ptr(notes);
	return 0;
}

void notes_close(struct notes *notes)
{
	if (notes == NULL)
		return;
	rundir_close(&notes->rundir);
	free(notes);
}

const char *notes_dir(const struct notes *notes)
{
	return notes->rundir.path;
}

static int save(void *ctx, enum rms_record kind, uint64_t number,
		const void *bytes, size_t size)
{
	struct notes *notes = ctx;
	char path[PATH_SIZE];

	path_of_record(notes, path, kind, number);
	return notes->files.ops->replace(notes->files.ctx, path, bytes, size) <
			       0
		       ? -EIO
		       : 0;
}

static int remove_record(void *ctx, enum rms_record kind, uint64_t number)
{
	char path[PATH_SIZE];

	path_of_record(ctx, path, kind, number);
	return unlink(path) < 0 && errno != ENOENT ? -EIO : 0;
}

struct notes_seam notes_seam(struct notes *notes)
{
	static const struct notes_ops ops = {
		.save = save,
		.remove = remove_record,
	};

	return (struct notes_seam){ .ops = &ops, .ctx = notes };
}

/* Each file's name and path go to call; the first error ends it. */
static int each_file(struct notes *notes,
		     int (*call)(struct notes *notes, const char *name,
				 const char *path, void *arg),
		     void *arg)
{
	_auto_(closedirp) DIR *dir = NULL;
	const struct dirent *entry;
	char path[PATH_SIZE];
	int result = 0;

	path_of(notes, path, "state");
	dir = opendir(path);
	if (dir == NULL)
		return -errno;
	while (result == 0 && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/state/%s", notes->rundir.path,
			 entry->d_name);
		result = call(notes, entry->d_name, path, arg);
	}
	return result;
}

static int remove_file(struct notes *notes, const char *name, const char *path,
		       void *arg)
{
	return unlink(path) < 0 ? -errno : 0;
}

/* Is what was saved of this boot; and say that what will be is. */
static int check_boot(struct notes *notes)
{
	char path[PATH_SIZE];
	char now[64];
	char then[64] = "";
	int result = proc_read(BOOT_ID, now, sizeof(now));

	path_of(notes, path, "state/boot_id");
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

static int kind_of(const char *name, enum rms_record *ret_kind)
{
	/* What was written when it ended, and never took its place. */
	if (strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".new") == 0)
		return -ENOENT;
	for (int i = 0; i < RECORD_KIND_COUNT; i++) {
		if (strncmp(name, kind_names[i], strlen(kind_names[i])) == 0) {
			*ret_kind = (enum rms_record)i;
			return 0;
		}
	}
	return -ENOENT;
}

struct loading {
	struct registry *registry;
	struct fairlead_error *error;
};

static int load_file(struct notes *notes, const char *name, const char *path,
		     void *arg)
{
	const struct file_seam *files = &notes->files;
	struct loading *loading = arg;
	_auto_(freep) void *bytes = NULL;
	enum rms_record kind;
	struct stat status;
	int result;

	if (kind_of(name, &kind) < 0)
		return 0;
	if (stat(path, &status) < 0 || status.st_size > RECORD_MAX)
		return -EFBIG;
	bytes = memory_alloc((size_t)status.st_size + 1);
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
			  notes->rundir.path, strerror(-result));
	return result;
}
