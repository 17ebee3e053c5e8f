/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files: the configuration's own, and those that it names. Who can write the
 * configuration of a daemon with privileges has them; who can read its keys
 * can command the nodes. So both are checked on the open file or as the
 * process that uses them, and refused rather than warned about.
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "lanes/config/config.h"
#include "lanes/config/report.h"

#define READ_BYTES 65536

static int format_errors(const struct report *report, const char *name,
			 int result, char **ret_errors)
{
	*ret_errors = report_format(report, name);
	return result;
}

static int read_all(int fd, struct writer *ret_text)
{
	struct writer text = { .limit = CONFIG_BYTES_MAX };
	char bytes[READ_BYTES];
	ssize_t size;

	while ((size = read(fd, bytes, sizeof(bytes))) > 0)
		write_bytes(&text, bytes, (size_t)size);
	if (size < 0 || text.result < 0) {
		int result = size < 0 ? -errno : text.result;

		writer_fini(&text);
		return result == -EMSGSIZE ? -EFBIG : result;
	}
	*ret_text = text;
	return 0;
}

/* Who is not root may try a file of its own; a daemon reads root's. */
static int check_owner(int fd, struct report *report)
{
	struct stat status;
	uid_t uid = geteuid();

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		report_add(report, 0, "is not a regular file");
	if (uid != 0 && status.st_uid == uid)
		return report->count > 0 ? -EINVAL : 0;
	if (status.st_uid != 0)
		report_add(report, 0,
			   "belongs to uid %u; it has to be root's (chown "
			   "root)",
			   status.st_uid);
	if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		report_add(report, 0,
			   "can be written by others than root (chmod go-w)");
	return report->count > 0 ? -EINVAL : 0;
}

int config_load(const char *path, unsigned int roles,
		const struct fairlead_driver *const *drivers,
		size_t driver_count, struct config **ret_config,
		char **ret_errors)
{
	_auto_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct report report = { 0 };
	struct writer text = { 0 };
	int result = fd < 0 ? -errno : check_owner(fd, &report);

	if (result == 0)
		result = read_all(fd, &text);
	if (result < 0) {
		if (report.count == 0)
			report_add(&report, 0, "%s",
				   result == -EFBIG ? "is over 1 MiB"
						    : strerror(-result));
		result = format_errors(&report, path, result, ret_errors);
		report_fini(&report);
		return result;
	}
	result = config_parse((const char *)text.data, text.size, path, roles,
			      drivers, driver_count, ret_config, ret_errors);
	writer_fini(&text);
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
static void check_key(const char *path, const char *user, struct report *report)
{
	struct stat status;

	if (stat(path, &status) < 0) {
		report_add(report, 0, "key: %s: %s", path, strerror(errno));
		return;
	}
	if (!S_ISREG(status.st_mode))
		report_add(report, 0, "key: %s: is not a regular file", path);
	if (!may_own_key(status.st_uid, user))
		report_add(report, 0, "key: %s: belongs to uid %u", path,
			   status.st_uid);
	if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		report_add(report, 0,
			   "key: %s: others can use it (mode %04o); chmod 600",
			   path, status.st_mode & 07777);
}

static void check_command(const char *key, const char *path,
			  struct report *report)
{
	if (*path != 0 && access(path, X_OK) < 0)
		report_add(report, 0, "%s: %s: %s", key, path, strerror(errno));
}

/* Only with privileges does a process change to another user. */
static void check_user(const char *name, struct report *report)
{
	if (geteuid() == 0 && getpwnam(name) == NULL)
		report_add(report, 0, "user: there is no user '%s'", name);
}

int config_check_files(const struct config *config, unsigned int roles,
		       char **ret_errors)
{
	struct report report = { 0 };
	int result = 0;

	if ((roles & CONFIG_ROLE_MANAGER) != 0) {
		check_key(config->manager.key, config->manager.user, &report);
		check_user(config->manager.user, &report);
		check_command("drain_command", config->manager.drain_command,
			      &report);
		check_command("undrain_command",
			      config->manager.undrain_command, &report);
	}
	if ((roles & CONFIG_ROLE_NODE) != 0) {
		check_key(config->node.key, NULL, &report);
		check_user(config->node.user, &report);
	}
	if (report.count > 0)
		result = format_errors(&report, config->file, -EINVAL,
				       ret_errors);
	report_fini(&report);
	return result;
}
