/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment file of a job on this node (doc/rfc/journals.md):
 * JOBS/SUBMITTER/JOB/ATTEMPT, the owner's, 0600, lines NAME=value or NAME.
 *
 * The reader may be root, and the file ends up in a program's environment, so
 * nothing is taken that somebody else could have put there: no links, no
 * folder that others may write, a regular file with one name. Everything is
 * checked before the caller sees the first variable.
 */
#include "lanes/client/env.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lanes/proto/names.h"

#define FILE_BYTES_MAX   65536
#define ATTEMPT_TEXT_MAX 10

/* A folder that only root or we ourselves can change. It may not be readable:
 * the names of others' jobs are nobody's business. */
static int open_folder(int parent, const char *name, int *ret_fd,
		       struct fairlead_error *ret_error)
{
	_auto_(closep) int fd = -1;
	struct stat status;

	fd = openat(parent, name,
		    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return error_set(ret_error, -EPERM, "'%s' is no folder", name);
	if (fd < 0)
		return error_set(ret_error, -errno, "cannot open '%s': %s",
				 name, strerror(errno));
	if (fstat(fd, &status) < 0)
		return error_set(ret_error, -errno, "cannot examine '%s': %s",
				 name, strerror(errno));
	if ((status.st_uid != 0 && status.st_uid != geteuid()) ||
	    (status.st_mode & (S_IWGRP | S_IWOTH)))
		return error_set(ret_error, -EPERM,
				 "folder '%s' can be changed by others", name);
	*ret_fd = fd;
	fd = -1;
	return 0;
}

static bool parse_attempt(const char *text, int64_t *ret_attempt)
{
	size_t size = strspn(text, "0123456789");
	int64_t attempt;

	if (size == 0 || size > ATTEMPT_TEXT_MAX || text[size] ||
	    (size > 1 && *text == '0'))
		return false;
	attempt = strtoll(text, NULL, 10);
	if (attempt > UINT32_MAX)
		return false;
	*ret_attempt = attempt;
	return true;
}

static int find_attempt(int folder, int64_t *ret_attempt,
			struct fairlead_error *ret_error)
{
	_auto_(closedirp) DIR *dir = NULL;
	const struct dirent *entry;
	int64_t best = -1;
	int64_t attempt;
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		dir = fdopendir(fd);
	if (!dir) {
		int code = -errno;

		if (fd >= 0)
			close(fd);
		return error_set(ret_error, code, "cannot read a folder: %s",
				 strerror(-code));
	}
	while ((entry = readdir(dir)))
		if (parse_attempt(entry->d_name, &attempt) && attempt > best)
			best = attempt;
	if (best < 0)
		return error_set(ret_error, -ENOENT, "no attempt is there");
	*ret_attempt = best;
	return 0;
}

static int check_file(int fd, uid_t owner, struct fairlead_error *ret_error)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return error_set(ret_error, -errno,
				 "cannot examine the environment file: %s",
				 strerror(errno));
	if (!S_ISREG(status.st_mode) || status.st_nlink != 1)
		return error_set(
			ret_error, -EPERM,
			"the environment file is not a regular file with one "
			"name");
	if (status.st_uid != owner)
		return error_set(ret_error, -EACCES,
				 "the environment file is of user %u, not %u",
				 status.st_uid, owner);
	if ((status.st_mode & 07777) != 0600)
		return error_set(ret_error, -EPERM,
				 "the environment file has mode %04o, not 0600",
				 status.st_mode & 07777);
	return 0;
}

static int open_file(int folder, int64_t attempt, uid_t owner, int *ret_fd,
		     struct fairlead_error *ret_error)
{
	char name[ATTEMPT_TEXT_MAX + 1];
	_auto_(closep) int fd = -1;
	int result;

	snprintf(name, sizeof(name), "%" PRIu32, (uint32_t)attempt);
	fd = openat(folder, name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ELOOP)
		return error_set(ret_error, -EPERM,
				 "the environment file is a link");
	if (fd < 0)
		return error_set(ret_error, -errno,
				 "cannot open the environment file: %s",
				 strerror(errno));
	result = check_file(fd, owner, ret_error);
	if (result < 0)
		return result;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

/* The whole file, ended by a zero. */
static int load(int fd, char **ret_text, size_t *ret_size,
		struct fairlead_error *ret_error)
{
	_auto_(freep) char *text = malloc(FILE_BYTES_MAX + 1);
	size_t size = 0;
	ssize_t count;

	if (!text)
		return error_set(ret_error, -ENOMEM, "out of memory");
	while (size <= FILE_BYTES_MAX) {
		count = read(fd, text + size, FILE_BYTES_MAX + 1 - size);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return error_set(ret_error, -errno,
					 "cannot read the environment file: %s",
					 strerror(errno));
		if (count == 0)
			break;
		size += count;
	}
	if (size > FILE_BYTES_MAX)
		return error_set(ret_error, -EBADMSG,
				 "the environment file is longer than %d bytes",
				 FILE_BYTES_MAX);
	text[size] = 0;
	*ret_text = take_ptr(text);
	*ret_size = size;
	return 0;
}

static bool is_variable(const char *name)
{
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz_";
	static const char digits[] = "0123456789";

	if (!*name || !strchr(first, *name))
		return false;
	for (; *name; name++)
		if (!strchr(first, *name) && !strchr(digits, *name))
			return false;
	return true;
}

int env_parse(char *text, size_t size,
	      struct env_variable ret_variables[FAIRLEAD_VARIABLES_MAX],
	      struct fairlead_error *ret_error)
{
	char *line = text;
	char *end;
	int count = 0;

	if (strlen(text) != size || (size > 0 && text[size - 1] != '\n'))
		return error_set(ret_error, -EBADMSG,
				 "the environment file is damaged");
	for (; *line; line = end + 1) {
		if (count == FAIRLEAD_VARIABLES_MAX)
			return error_set(ret_error, -EBADMSG,
					 "the environment file has more than "
					 "%d variables",
					 FAIRLEAD_VARIABLES_MAX);
		end = strchr(line, '\n');
		*end = 0;
		ret_variables[count].name = line;
		ret_variables[count].value = strchr(line, '=');
		if (ret_variables[count].value)
			*ret_variables[count].value++ = 0;
		if (!is_variable(line))
			return error_set(ret_error, -EBADMSG,
					 "line %d of the environment file is "
					 "damaged",
					 count + 1);
		count++;
	}
	return count;
}

/* Names that are fit for a path. */
static int parse_job(const char *submitter, const char *job, int64_t attempt,
		     struct request_key *ret_key,
		     struct fairlead_error *ret_error)
{
	char text[REQUEST_KEY_MAX + 2];
	struct request_key key;
	int size = snprintf(text, sizeof(text), "%s/%s", submitter, job);

	if (size >= (int)sizeof(text) || attempt < -1 || attempt > UINT32_MAX ||
	    request_key_parse(text, &key, NULL) < 0 || key.has_attempt)
		return error_set(ret_error, -EINVAL,
				 "'%s/%s' is not the name of a job", submitter,
				 job);
	*ret_key = key;
	return 0;
}

static int open_job(const char *jobs_dir, const struct request_key *key,
		    int64_t attempt, uid_t owner, int *ret_fd,
		    struct fairlead_error *ret_error)
{
	_auto_(closep) int jobs = -1, of_submitter = -1, of_job = -1;
	int result;

	result = open_folder(AT_FDCWD, jobs_dir, &jobs, ret_error);
	if (result == 0)
		result = open_folder(jobs, key->submitter, &of_submitter,
				     ret_error);
	if (result == 0)
		result =
			open_folder(of_submitter, key->job, &of_job, ret_error);
	if (result == 0 && attempt < 0)
		result = find_attempt(of_job, &attempt, ret_error);
	if (result == 0)
		result = open_file(of_job, attempt, owner, ret_fd, ret_error);
	if (result == -ENOENT)
		error_set(ret_error, result,
			  "job '%s/%s' has no lane on this node",
			  key->submitter, key->job);
	return result;
}

int fairlead_env_read(const char *jobs_dir, const char *submitter,
		      const char *job, int64_t attempt, uid_t owner,
		      void (*fn)(void *arg, const char *name,
				 const char *value),
		      void *arg, struct fairlead_error *ret_error)
{
	struct env_variable variables[FAIRLEAD_VARIABLES_MAX];
	_auto_(freep) char *text = NULL;
	_auto_(closep) int fd = -1;
	struct request_key key;
	size_t size = 0;
	int result;

	result = parse_job(submitter, job, attempt, &key, ret_error);
	if (result == 0)
		result = open_job(jobs_dir ? jobs_dir : FAIRLEAD_JOBS_DIR, &key,
				  attempt, owner, &fd, ret_error);
	if (result == 0)
		result = load(fd, &text, &size, ret_error);
	if (result < 0)
		return result;
	result = env_parse(text, size, variables, ret_error);
	for (int i = 0; i < result; i++)
		fn(arg, variables[i].name, variables[i].value);
	return result < 0 ? result : 0;
}
