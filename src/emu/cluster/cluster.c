/* SPDX-License-Identifier: BSD-3-Clause */
/* Up and down: the life of an emulated cluster. */
#include "emu/cluster/cluster.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"
#include "emu/cluster/internal.h"
#include "emu/cluster/container.h"

static void progress(const struct cluster_options *options, const char *line)
{
	if (options->progress != NULL)
		options->progress(options->progress_arg, line);
}

/* In a value of the configuration. */
static bool can_be_quoted(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || strchr("\"\\{}", *text))
			return false;
	return true;
}

static int setting_check(const struct cluster_options *options,
			 const char *setting, struct fairlead_error *ret_error)
{
	const char *value = strchr(setting, '=');

	if (strcmp(setting, CLUSTER_SOFTFM) == 0)
		return 0;
	if (!can_be_quoted(setting) || value == NULL ||
	    memchr(setting, '.', (size_t)(value - setting)) == NULL)
		return error_set(ret_error, -EINVAL,
				 "setting '%s' is not of the form "
				 "SECTION.NAME=VALUE",
				 setting);
	if (!cluster_has_section(options, setting))
		return error_set(ret_error, -EINVAL,
				 "setting '%s': the sections are manager, "
				 "node, fabric, and those of drivers that the "
				 "nodes have",
				 setting);
	return 0;
}

static int generation_check(const char *generation,
			    struct fairlead_error *ret_error)
{
	static const char *const known[] = { "12", "13", "14" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (generation == NULL || strcmp(generation, known[i]) == 0)
			return 0;
	return error_set(ret_error, -EINVAL,
			 "a NIC's driver is of generation 12, 13 or 14, not "
			 "'%s'",
			 generation);
}

/* With it the sockets of the manager and of every node have paths. */
static int dir_check(const char *dir, struct fairlead_error *ret_error)
{
	size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) -
		      sizeof("/manager/run/manager.sock");

	if (strlen(dir) <= most)
		return 0;
	return error_set(ret_error, -ENAMETOOLONG,
			 "the cluster's directory can have %zu bytes, for its "
			 "sockets: '%s'",
			 most, dir);
}

int cluster_options_check(const struct cluster_options *options,
			  struct fairlead_error *ret_error)
{
	int result = generation_check(options->generation, ret_error);

	if (result == 0)
		result = dir_check(options->dir, ret_error);
	for (size_t i = 0; i < options->setting_count && result == 0; i++)
		result =
			setting_check(options, options->settings[i], ret_error);
	return result;
}

/*
 * It has files, and none is a cluster's lock. 'down' removes all that is in
 * the directory, so files of others must not be there from the start.
 */
static bool has_files_of_others(const struct cluster *cluster)
{
	_auto_(closedirp) DIR *dir = opendir(cluster->dir);
	const struct dirent *entry;
	bool has_files = false;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, "lock") == 0)
			return false;
		has_files = has_files || (strcmp(entry->d_name, ".") != 0 &&
					  strcmp(entry->d_name, "..") != 0);
	}
	return has_files;
}

static int directory_open(struct cluster *cluster,
			  struct fairlead_error *ret_error)
{
	char path[CLUSTER_PATH_MAX];
	struct stat stat;
	int result;

	if (cluster->dir[0] != '/' || !can_be_quoted(cluster->dir))
		return error_set(ret_error, -EINVAL,
				 "'%s' is not an absolute path without quotes, "
				 "backslashes, braces and control characters",
				 cluster->dir);
	if (mkdir(cluster->dir, 0755) < 0 && errno != EEXIST)
		return error_set(ret_error, -errno, "cannot make '%s': %s",
				 cluster->dir, strerror(errno));
	if (lstat(cluster->dir, &stat) < 0 || !S_ISDIR(stat.st_mode) ||
	    stat.st_uid != geteuid() || (stat.st_mode & 022) != 0)
		return error_set(ret_error, -EPERM,
				 "'%s' is not a directory that only you can "
				 "write; use --dir",
				 cluster->dir);
	if (has_files_of_others(cluster))
		return error_set(ret_error, -ENOTEMPTY,
				 "'%s' has files in it, which 'fairlead "
				 "cluster down' would remove; use --dir with "
				 "a new or empty directory",
				 cluster->dir);
	result = cluster_lock(cluster, ret_error);
	cluster_path(cluster, path, "cluster.json");
	if (result == 0 && access(path, F_OK) == 0)
		return error_set(ret_error, -EEXIST,
				 "a cluster is up in '%s'; take it down with "
				 "'fairlead cluster down'",
				 cluster->dir);
	return result;
}

static int record(void *arg, struct fairlead_error *ret_error)
{
	return cluster_state_save(arg, ret_error);
}

int cluster_container_create(struct cluster *cluster, struct cluster_node *node,
			     struct fairlead_error *ret_error)
{
	char run[CLUSTER_PATH_MAX], cgroup[CLUSTER_CGROUP_MAX];
	const struct container_spec spec = {
		.name = node->name,
		.run_dir = run,
		.cgroup = cluster->cgroup[0] != '\0' ? cgroup : NULL,
		.nic_count = cluster->nic_count,
		.record = record,
		.record_arg = cluster,
	};

	cluster_path(cluster, run, "%s/run", node->name);
	cluster_cgroup_path(cluster, node, cgroup);
	return container_create(&spec, &node->holder, ret_error);
}

static int containers_create(struct cluster *cluster,
			     struct fairlead_error *ret_error)
{
	char run[CLUSTER_PATH_MAX];
	const struct container_spec spec = { .name = "fabric",
					     .run_dir = run,
					     .record = record,
					     .record_arg = cluster };
	int result;

	cluster_path(cluster, run, "manager/run");
	result = container_create(&spec, &cluster->fabric, ret_error);
	if (result == 0)
		result = cluster_cgroup_create(cluster, ret_error);
	for (uint32_t i = 0; i < cluster->node_count && result == 0; i++)
		result = cluster_container_create(cluster, &cluster->nodes[i],
						  ret_error);
	return result;
}

static int nodes_start(struct cluster *cluster,
		       struct fairlead_error *ret_error)
{
	int result = 0;

	for (uint32_t i = 0; i < cluster->node_count && result == 0; i++) {
		struct cluster_node *node = &cluster->nodes[i];

		result = cluster_start_softnic(cluster, node, ret_error);
		if (result == 0)
			result = cluster_start_rms(cluster, node, ret_error);
		if (result == 0)
			result = cluster_start_daemon(cluster, node, ret_error);
	}
	return result;
}

static int steps_run(struct cluster *cluster,
		     const struct cluster_options *options,
		     struct fairlead_error *ret_error)
{
	int result;

	progress(options, "writing configuration and keys");
	cluster_cgroup_find(cluster);
	/* From here on `down` knows that there is something. */
	result = cluster_state_save(cluster, ret_error);
	if (result == 0)
		result = cluster_files_create(cluster, options, ret_error);
	if (result == 0)
		progress(options, "making the nodes and their network");
	if (result == 0)
		result = containers_create(cluster, ret_error);
	if (result == 0)
		result = cluster_network_create(cluster, ret_error);
	if (result == 0)
		progress(options, "starting the manager");
	if (result == 0)
		result = cluster_start_softfm(cluster, ret_error);
	if (result == 0)
		result = cluster_start_manager(cluster, ret_error);
	if (result == 0)
		progress(options, "starting software NICs and node daemons");
	if (result == 0)
		result = nodes_start(cluster, ret_error);
	if (result == 0)
		progress(options, "waiting for the nodes to register");
	if (result == 0)
		result = cluster_wait_nodes(cluster, ret_error);
	return result;
}

static void cluster_prepare(struct cluster *cluster,
			    const struct cluster_options *options)
{
	cluster->lock_fd = -1;
	cluster->node_count = options->node_count;
	cluster->nic_count = options->nic_count;
	cluster->rail_count = options->rail_count;
	cluster->elan_count = cluster_elan_rails(options);
	cluster->has_softfm = cluster_wants_softfm(options);
	if (options->generation != NULL)
		snprintf(cluster->generation, sizeof(cluster->generation), "%s",
			 options->generation);
	snprintf(cluster->dir, sizeof(cluster->dir), "%s", options->dir);
	for (uint32_t i = 0; i < cluster->node_count; i++)
		snprintf(cluster->nodes[i].name, sizeof(cluster->nodes[i].name),
			 "n%u", i);
}

int cluster_up(const struct cluster_options *options,
	       struct fairlead_error *ret_error)
{
	_auto_(cluster_closep) struct cluster *cluster =
		memory_alloc(sizeof(*cluster));
	struct fairlead_error ignored;
	int result;

	cluster_prepare(cluster, options);
	result = cluster_programs_find(&cluster->programs, ret_error);
	if (result == 0)
		result = directory_open(cluster, ret_error);
	if (result == 0 && geteuid() != 0) {
		cluster->is_user_mode = true;
		result = container_become_root(ret_error);
	}
	if (result < 0)
		return result;
	result = steps_run(cluster, options, ret_error);
	if (result < 0)
		cluster_down(cluster, &ignored);
	return result;
}

int cluster_open(const char *dir, struct cluster **ret_cluster,
		 struct fairlead_error *ret_error)
{
	_auto_(cluster_closep) struct cluster *cluster =
		memory_alloc(sizeof(*cluster));
	char path[CLUSTER_PATH_MAX];
	int result;

	cluster->lock_fd = -1;
	if (dir == NULL)
		cluster_default_dir(path, sizeof(path));
	else
		snprintf(path, sizeof(path), "%s", dir);
	result = cluster_state_load(path, cluster, ret_error);
	if (result == 0)
		result = cluster_programs_find(&cluster->programs, ret_error);
	if (result == 0 && cluster->is_user_mode && geteuid() != 0 &&
	    process_is_alive(&cluster->fabric))
		result = container_enter_user(&cluster->fabric, ret_error);
	if (result < 0)
		return result;
	*ret_cluster = take_ptr(cluster);
	return 0;
}

void cluster_close(struct cluster *cluster)
{
	if (cluster == NULL)
		return;
	if (cluster->lock_fd >= 0)
		close(cluster->lock_fd);
	free(cluster);
}

int cluster_lock_taken(struct cluster *cluster,
		       struct fairlead_error *ret_error)
{
	return cluster->lock_fd >= 0 ? 0 : cluster_lock(cluster, ret_error);
}

int cluster_down(struct cluster *cluster, struct fairlead_error *ret_error)
{
	int result = cluster_lock_taken(cluster, ret_error);

	if (result < 0)
		return result;
	process_stop(&cluster->manager, CLUSTER_GRACE_MS);
	process_stop(&cluster->softfm, CLUSTER_GRACE_MS);
	for (uint32_t i = 0; i < cluster->node_count; i++) {
		struct cluster_node *node = &cluster->nodes[i];

		process_stop(&node->daemon, CLUSTER_GRACE_MS);
		process_stop(&node->rms, CLUSTER_GRACE_MS);
		process_stop(&node->softnic, CLUSTER_GRACE_MS);
		container_sweep(&node->holder, NULL, 0, CLUSTER_GRACE_MS);
		process_stop(&node->holder, 0);
	}
	container_sweep(&cluster->fabric, NULL, 0, CLUSTER_GRACE_MS);
	process_stop(&cluster->fabric, 0);
	result = cluster_cgroup_remove(cluster, ret_error);
	return result == 0 ? cluster_files_remove(cluster, ret_error) : result;
}
