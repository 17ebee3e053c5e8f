/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files: the configuration's own, and those that it names. Who can write the
 * configuration of a daemon with privileges has them; who can read its keys
 * can command the nodes. So both are checked on the open file or as the
 * process that uses them, and refused rather than warned about.
 */
#include "lanes/config/file.h"

#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "lanes/config/config.h"

/* Who is not root may try a file of its own; a daemon reads root's. */
static int owner_check(const struct stat *status,
		       struct fairlead_error *ret_error)
{
	uid_t uid = geteuid();

	if (!S_ISREG(status->st_mode))
		return error_set(ret_error, -EINVAL, "is not a regular file");
	if (uid != 0 && status->st_uid == uid)
		return 0;
	if (status->st_uid != 0)
		return error_set(ret_error, -EINVAL,
				 "belongs to uid %u; it has to be root's "
				 "(chown root)",
				 status->st_uid);
	if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return error_set(ret_error, -EINVAL,
				 "can be written by others than root (chmod "
				 "go-w)");
	return 0;
}

int file_read(const char *path, const char **ret_text, size_t *ret_size,
	      struct fairlead_error *ret_error)
{
	_auto_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_auto_(freep) char *text = NULL;
	struct stat status;
	size_t size = 0;
	ssize_t part = 1;
	int result;

	if (fd < 0 || fstat(fd, &status) < 0)
		return error_set(ret_error, -errno, "%s", strerror(errno));
	result = owner_check(&status, ret_error);
	if (result < 0)
		return result;
	text = memory_alloc(FAIRLEAD_FILE_MAX + 1);
	while (size <= FAIRLEAD_FILE_MAX && part > 0) {
		part = read(fd, text + size, FAIRLEAD_FILE_MAX + 1 - size);
		if (part > 0)
			size += (size_t)part;
	}
	if (part < 0)
		return error_set(ret_error, -errno, "%s", strerror(errno));
	if (size > FAIRLEAD_FILE_MAX)
		return error_set(ret_error, -EFBIG, "is over 1 MiB");
	text[size] = 0;
	*ret_text = memory_resize(take_ptr(text), size + 1, 1);
	*ret_size = size;
	return 0;
}

int config_load(const char *path, unsigned int roles,
		const struct fairlead_driver *const *drivers,
		size_t driver_count, struct config **ret_config,
		char **ret_errors)
{
	const char *text = NULL;
	struct fairlead_error error;
	size_t size;
	int result = file_read(path, &text, &size, &error);

	if (result < 0) {
		*ret_errors = memory_format("%s: %s", path, error.text);
		return result;
	}
	result = config_parse(text, size, path, roles, drivers, driver_count,
			      ret_config, ret_errors);
	free((char *)text);
	return result;
}

/*
 * The manager's user may own its key, to read it again later. user NULL: there
 * is no such user, a node's key is read with privileges.
 */
static bool may_own_key(uid_t uid, const char *user)
{
	const struct passwd *entry;

	if (uid == 0 || uid == geteuid())
		return true;
	if (user == NULL)
		return false;
	entry = getpwnam(user);
	return entry != NULL && entry->pw_uid == uid;
}

/* Of a key: a regular file that nobody else can read or write. */
static void check_key(const char *path, const char *user,
		      struct settings_errors *errors)
{
	struct stat status;

	if (stat(path, &status) < 0) {
		settings_errors_add(errors, 0, "key: %s: %s", path,
				    strerror(errno));
		return;
	}
	if (!S_ISREG(status.st_mode))
		settings_errors_add(errors, 0, "key: %s: is not a regular file",
				    path);
	if (!may_own_key(status.st_uid, user))
		settings_errors_add(errors, 0, "key: %s: belongs to uid %u",
				    path, status.st_uid);
	if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		settings_errors_add(
			errors, 0,
			"key: %s: others can use it (mode %04o); chmod 600",
			path, status.st_mode & 07777);
}

static void check_command(const char *key, const char *path,
			  struct settings_errors *errors)
{
	if (*path != 0 && access(path, X_OK) < 0)
		settings_errors_add(errors, 0, "%s: %s: %s", key, path,
				    strerror(errno));
}

/* Only with privileges does a process change to another user. */
static void check_user(const char *name, struct settings_errors *errors)
{
	if (geteuid() == 0 && getpwnam(name) == NULL)
		settings_errors_add(errors, 0, "user: there is no user '%s'",
				    name);
}

int config_check_files(const struct config *config, unsigned int roles,
		       char **ret_errors)
{
	struct settings_errors errors = { 0 };

	if ((roles & CONFIG_ROLE_MANAGER) != 0) {
		check_key(config->manager.key, config->manager.user, &errors);
		check_user(config->manager.user, &errors);
		check_command("drain_command", config->manager.drain_command,
			      &errors);
		check_command("undrain_command",
			      config->manager.undrain_command, &errors);
	}
	if ((roles & CONFIG_ROLE_NODE) != 0) {
		check_key(config->node.key, NULL, &errors);
		check_user(config->node.user, &errors);
	}
	if (errors.count == 0)
		return 0;
	*ret_errors = settings_errors_format(&errors, config->file);
	return -EINVAL;
}
