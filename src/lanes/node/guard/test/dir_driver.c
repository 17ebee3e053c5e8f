/* SPDX-License-Identifier: BSD-3-Clause */
/* Both halves of the driver for tests. */
#include "lanes/node/guard/test/dir_driver.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static const struct fairlead_setting_type path_type = { "PATH" };

/* --- the manager's half --- */

static int dir_configure(const struct fairlead_setting *settings, size_t count,
			 void **ret_state, struct fairlead_error *ret_error)
{
	*ret_state = NULL;
	return 0;
}

static void dir_destroy(void *state)
{
}

static size_t dir_pools(void *state,
			struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX])
{
	specs[0] = (struct fairlead_pool_spec){
		.name = "id",
		.limit = 4096,
		.universe = "2000-2099",
	};
	return 1;
}

static int dir_reserve(void *state,
		       const struct fairlead_driver_request *request,
		       struct fairlead_plan *ret_plan,
		       struct fairlead_error *ret_error)
{
	*ret_plan = (struct fairlead_plan){
		.counts = { 1 },
		.is_fatal = true,
		.has_lane = true,
	};
	return 0;
}

static int dir_describe(void *state, const struct fairlead_lane *lane,
			const char *reason, const char **ret_event_name,
			char **ret_context)
{
	*ret_event_name = "dir";
	*ret_context = strdup("{}");
	return *ret_context ? 0 : -ENOMEM;
}

/* --- the node's half --- */

static int dir_open(const struct fairlead_setting *settings, size_t count,
		    void **ret_state, struct fairlead_error *ret_error)
{
	if (count != 1)
		return error_set(ret_error, -EINVAL, "'path' is wanted");
	if (access(settings[0].value, F_OK) < 0)
		return error_set(ret_error, -ENOENT, "no hardware at '%s'",
				 settings[0].value);
	*ret_state = strdup(settings[0].value);
	return *ret_state ? 0 : error_set(ret_error, -ENOMEM, "no memory");
}

static void dir_close(void *state)
{
	free(state);
}

static void lane_path(const char *state, const struct fairlead_lane *lane,
		      char path[160])
{
	snprintf(path, 160, "%s/%u", state, lane->ids[0]);
}

static int dir_apply(void *state, const struct fairlead_lane *lane,
		     bool is_dry_run, struct fairlead_record *ret_record,
		     struct fairlead_warnings *warnings,
		     struct fairlead_error *ret_error)
{
	char path[160];
	int fd;

	lane_path(state, lane, path);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	if (fd < 0)
		return error_set(ret_error, -errno, "cannot make the lane");
	close(fd);
	ret_record->size = 1;
	ret_record->bytes[0] = 1;
	return 0;
}

static int dir_revoke(void *state, const struct fairlead_lane *lane,
		      const struct fairlead_record *record, bool is_dry_run,
		      struct fairlead_warnings *warnings,
		      struct fairlead_error *ret_error)
{
	struct stat status;
	char path[160];

	lane_path(state, lane, path);
	if (stat(path, &status) == 0 && status.st_size > 0)
		return error_set(ret_error, -EBUSY, "'%s' is busy", path);
	if (!is_dry_run && unlink(path) < 0 && errno != ENOENT)
		return error_set(ret_error, -errno, "cannot take the lane");
	return 0;
}

static int dir_env(void *state, const struct fairlead_lane *lane,
		   const struct fairlead_record *record,
		   void (*emit)(void *arg, const char *name, const char *value),
		   void *arg, struct fairlead_error *ret_error)
{
	emit(arg, "LANE", "open");
	return 0;
}

static int dir_list(void *state,
		    void (*emit)(void *arg,
				 const struct fairlead_object *object),
		    void *arg, struct fairlead_error *ret_error)
{
	return 0;
}

static int dir_probe(void *state,
		     void (*emit)(void *arg,
				  const struct fairlead_device *device),
		     void *arg, struct fairlead_error *ret_error)
{
	const struct fairlead_device device = {
		.name = "dir0",
		.is_usable = true,
	};

	emit(arg, &device);
	return 0;
}

static int dir_destroy_object(void *state, const struct fairlead_object *object,
			      bool is_dry_run, struct fairlead_error *ret_error)
{
	return error_set(ret_error, -ENOENT, "there are no objects");
}

static const struct fairlead_manager_ops manager_ops = {
	.configure = dir_configure,
	.destroy = dir_destroy,
	.pools = dir_pools,
	.reserve = dir_reserve,
	.describe = dir_describe,
};

static const struct fairlead_node_ops node_ops = {
	.open = dir_open,
	.close = dir_close,
	.probe = dir_probe,
	.apply = dir_apply,
	.revoke = dir_revoke,
	.env = dir_env,
	.list = dir_list,
	.destroy = dir_destroy_object,
};

static const struct fairlead_setting_spec specs[] = {
	{ "path", &path_type, 0, "/", FAIRLEAD_SETTING_RESTART_NODE },
	{ NULL },
};
static const struct fairlead_settings settings = { specs, sizeof(char *) };
static const char *const variables[] = { "LANE", NULL };

const struct fairlead_driver dir_driver = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = "dir",
	.description = "a directory, for tests",
	.settings = &settings,
	.variables = variables,
	.manager = &manager_ops,
	.node = &node_ops,
	/* Something to be kept, which it has no use for. */
	.capabilities = 1ull << CAP_SYS_ADMIN,
};
