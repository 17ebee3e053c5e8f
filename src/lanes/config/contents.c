/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/config/contents.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cleanup.h"

#define READ_BYTES 65536

/* names: ended by NULL, or NULL. */
static bool is_among(const char *const *names, const char *name)
{
	while (names && *names && strcmp(*names, name) != 0)
		names++;
	return names && *names;
}

/* NULL: others than root, or who runs this, have no say in it. */
static const char *owner_flaw(const struct stat *status)
{
	uid_t uid = geteuid();

	if (!S_ISREG(status->st_mode))
		return "is not a regular file";
	if (status->st_uid != 0 && (uid == 0 || status->st_uid != uid))
		return "has to be root's (chown root)";
	if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return "can be written by others (chmod go-w)";
	return NULL;
}

/* 0, or a negative errno; *ret_flaw says more of -EINVAL. */
static int file_read(const char *path, struct writer *ret_content,
		     const char **ret_flaw)
{
	_auto_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct writer content = { .limit = FAIRLEAD_FILE_MAX };
	char bytes[READ_BYTES];
	struct stat status;
	ssize_t size;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	*ret_flaw = owner_flaw(&status);
	if (*ret_flaw)
		return -EINVAL;
	while ((size = read(fd, bytes, sizeof(bytes))) > 0)
		write_bytes(&content, bytes, (size_t)size);
	if (size < 0 || content.result < 0) {
		int result = size < 0 ? -errno : content.result;

		writer_fini(&content);
		return result == -EMSGSIZE ? -EFBIG : result;
	}
	*ret_content = content;
	return 0;
}

static int setting_read(struct fairlead_setting *setting, bool is_needed,
			struct report *report)
{
	struct writer content = { 0 };
	const char *flaw = NULL;
	int result;

	if (setting->value[0] != '/') {
		report_add(report, setting->line,
			   "'%s': '%s' is no absolute path", setting->name,
			   setting->value);
		return 0;
	}
	result = file_read(setting->value, &content, &flaw);
	if (result == -ENOMEM)
		return result;
	if (result == -ENOENT && !is_needed)
		return 0;
	if (result < 0) {
		report_add(report, setting->line, "'%s': %s: %s", setting->name,
			   setting->value, flaw ? flaw : strerror(-result));
		return 0;
	}
	setting->content_size = content.size;
	setting->content = (char *)writer_take(&content, NULL);
	return setting->content ? 0 : -ENOMEM;
}

int contents_read(struct config_driver *config, enum contents_reader reader,
		  struct report *report)
{
	const struct fairlead_driver *driver = config->driver;
	int result = 0;

	for (size_t i = 0; i < config->setting_count && result == 0; i++) {
		struct fairlead_setting *setting = &config->settings[i];

		if (is_among(driver->files, setting->name) &&
		    (reader != CONTENTS_NODE ||
		     is_among(driver->node_settings, setting->name)))
			result = setting_read(
				setting, reader == CONTENTS_MANAGER, report);
	}
	return result;
}
