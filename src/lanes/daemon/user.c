/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Directories come first, while we may make them anywhere. One that is there
 * already is left as it is. The one that sockets are made in stays root's, and
 * is sticky: the guard keeps directories of its own there, which the user must
 * not be able to replace.
 */
#include "lanes/daemon/user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SOCKETS_MODE 01775

int user_choose(const struct config *config, unsigned int roles,
		const char **ret_name, struct fairlead_error *ret_error)
{
	const char *manager = config->manager.user;
	const char *node = config->node.user;
	bool is_both = roles == (CONFIG_ROLE_MANAGER | CONFIG_ROLE_NODE);

	if (is_both && strcmp(manager, node) != 0)
		return error_set(ret_error, -EINVAL,
				 "one process cannot be user '%s' (manager) "
				 "and '%s' (node): start two, or use one user",
				 manager, node);
	*ret_name = (roles & CONFIG_ROLE_MANAGER) != 0 ? manager : node;
	return 0;
}

static int find_user(const char *name, struct passwd **ret_entry,
		     struct fairlead_error *ret_error)
{
	errno = 0;
	*ret_entry = getpwnam(name);
	if (*ret_entry == NULL)
		return error_set(ret_error, errno == 0 ? -ENOENT : -errno,
				 "there is no user '%s'; adduser --system "
				 "--group %s",
				 name, name);
	return 0;
}

/* Make it; what was made here gets this owner, if we may give it away. */
static int make_directory(const char *path, mode_t mode, uid_t uid, gid_t gid,
			  struct fairlead_error *ret_error)
{
	_auto_(closep) int fd = -1;

	if (mkdir(path, 0700) < 0)
		return errno == EEXIST
			       ? 0
			       : error_set(ret_error, -errno, "make %s: %s",
					   path, strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || (geteuid() == 0 && fchown(fd, uid, gid) < 0) ||
	    fchmod(fd, mode) < 0)
		return error_set(ret_error, -errno, "owner and mode of %s: %s",
				 path, strerror(errno));
	return 0;
}

/* The directory above a socket. */
static int make_parent(const char *path, gid_t gid,
		       struct fairlead_error *ret_error)
{
	_auto_(freep) char *copy = strdup(path);

	if (copy == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	return make_directory(dirname(copy), SOCKETS_MODE, 0, gid, ret_error);
}

/* Without privileges the user stays the one that we are. */
static int find_ids(const char *name, uid_t *ret_uid, gid_t *ret_gid,
		    struct fairlead_error *ret_error)
{
	struct passwd *user;
	int result;

	*ret_uid = geteuid();
	*ret_gid = getegid();
	if (geteuid() != 0)
		return 0;
	result = find_user(name, &user, ret_error);
	if (result < 0)
		return result;
	*ret_uid = user->pw_uid;
	*ret_gid = user->pw_gid;
	return 0;
}

int user_prepare(const struct config *config, unsigned int roles,
		 struct fairlead_error *ret_error)
{
	int result = 0;
	uid_t uid;
	gid_t gid;

	if ((roles & CONFIG_ROLE_MANAGER) != 0) {
		result = find_ids(config->manager.user, &uid, &gid, ret_error);
		if (result == 0)
			result = make_parent(config->manager.socket, gid,
					     ret_error);
		if (result == 0)
			result = make_directory(config->manager.state, 0700,
						uid, gid, ret_error);
	}
	if (result == 0 && (roles & CONFIG_ROLE_NODE) != 0) {
		result = find_ids(config->node.user, &uid, &gid, ret_error);
		if (result == 0)
			result = make_parent(config->node.socket, gid,
					     ret_error);
	}
	return result;
}

/* Of ourselves there is nothing to become, which a namespace may refuse. */
static int switch_user(const struct passwd *user)
{
	if (user->pw_uid == geteuid())
		return 0;
	if (initgroups(user->pw_name, user->pw_gid) < 0 ||
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0)
		return -errno;
	return 0;
}

int user_become(const char *name, unsigned int roles,
		struct fairlead_error *ret_error)
{
	bool may_gain = (roles & CONFIG_ROLE_MANAGER) != 0;
	struct passwd *user;
	int result;

	if (geteuid() != 0)
		return 0;
	result = find_user(name, &user, ret_error);
	if (result < 0)
		return result;
	result = switch_user(user);
	if (result == 0 && !may_gain &&
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		result = -errno;
	if (result < 0)
		return error_set(ret_error, result, "become user '%s': %s",
				 name, strerror(-result));
	return 0;
}
