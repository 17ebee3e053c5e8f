/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directory of an emulated cluster:
 *
 *	cluster.json lock fairlead.conf manager.key
 *	elanhosts           where there is Elan
 *	softnic/            libcxi.so.1 and cxi-lni, for all users to run
 *	lib/                libscoll.so.0 of a build that others cannot enter
 *	manager/{run,state,log}
 *	softfm/             of a software fabric manager, and softfm.json
 *	NODE/{run,log}      run is /run/fairlead on the node
 */
#include "emu/cluster/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "lanes/proto/keyfile.h"
#include "sys/rng.h"

/* A program seen from the folder of this one: built, or installed. */
static int program_find(char *path, const char *folder, const char *built,
			const char *installed, struct fairlead_error *ret_error)
{
	const char *const places[] = { built, installed };

	for (size_t i = 0; i < 2; i++) {
		char joined[CLUSTER_PATH_MAX];

		snprintf(joined, sizeof(joined), "%s/%s", folder, places[i]);
		if (realpath(joined, path) != NULL)
			return 0;
	}
	return error_set(ret_error, -ENOENT,
			 "'%s' is neither built nor installed beside '%s'",
			 installed, folder);
}

int cluster_programs_find(struct cluster_programs *programs,
			  struct fairlead_error *ret_error)
{
	char folder[CLUSTER_PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	int result;

	if (size < 0)
		return error_set(ret_error, -errno,
				 "cannot find the running program");
	folder[size] = '\0';
	*strrchr(folder, '/') = '\0';
	result = program_find(programs->fairleadd, folder,
			      "../../lanes/daemon/fairleadd",
			      "../../../sbin/fairleadd", ret_error);
	if (result == 0)
		result = program_find(programs->softnic, folder,
				      "../cxi/daemon/fairlead-softnic",
				      "../../../bin/fairlead-softnic",
				      ret_error);
	if (result == 0)
		result = program_find(programs->libcxi, folder,
				      "../cxi/lib/libcxi.so.1",
				      "../softnic/libcxi.so.1", ret_error);
	if (result == 0)
		result = program_find(programs->cxi_lni, folder,
				      "../cxi/tool/cxi-lni",
				      "../softnic/cxi-lni", ret_error);
	if (result == 0)
		result =
			program_find(programs->softfm, folder,
				     "../fm/fairlead-softfm",
				     "../../../bin/fairlead-softfm", ret_error);
	if (result < 0)
		return result;
	/* Only nodes with Elan have it. */
	if (program_find(programs->rms, folder,
			 "../../elan/service/fairlead-rms",
			 "../../../sbin/fairlead-rms", ret_error) < 0)
		programs->rms[0] = '\0';
	/* Where it is installed, all users find it. */
	if (program_find(programs->libscoll, folder,
			 "../../scoll/api/libscoll.so.0", "libscoll.so.0",
			 ret_error) < 0)
		programs->libscoll[0] = '\0';
	return 0;
}

static int directory_create(const struct cluster *cluster, const char *name,
			    mode_t mode, struct fairlead_error *ret_error)
{
	char path[CLUSTER_PATH_MAX];

	cluster_path(cluster, path, "%s", name);
	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return error_set(ret_error, -errno, "cannot make '%s': %s",
				 path, strerror(errno));
	return 0;
}

static int file_write(const char *path, const void *bytes, size_t size,
		      mode_t mode, struct fairlead_error *ret_error)
{
	_auto_(closep) int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	ssize_t written = fd < 0 ? -1 : write(fd, bytes, size);

	if (written == (ssize_t)size)
		return 0;
	if (written >= 0) /* the disk is full */
		errno = ENOSPC;
	return error_set(ret_error, -errno, "cannot write '%s': %s", path,
			 strerror(errno));
}

static int file_copy(const char *from, const char *to,
		     struct fairlead_error *ret_error)
{
	_auto_(closep) int in = open(from, O_RDONLY | O_CLOEXEC);
	_auto_(closep) int out =
		open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat stat;
	off_t done = 0;

	if (in < 0 || out < 0 || fstat(in, &stat) < 0)
		return error_set(ret_error, -errno,
				 "cannot copy '%s' to '%s': %s", from, to,
				 strerror(errno));
	while (done < stat.st_size) {
		ssize_t count =
			sendfile(out, in, &done, (size_t)(stat.st_size - done));

		if (count > 0)
			continue;
		if (count == 0) /* it has become shorter */
			errno = EIO;
		return error_set(ret_error, -errno,
				 "cannot copy '%s' to '%s': %s", from, to,
				 strerror(errno));
	}
	return 0;
}

/* The user that daemons give their privileges up to. */
static const char *daemon_user(const struct cluster *cluster)
{
	if (cluster->is_user_mode)
		return "root"; /* nobody else exists */
	return getpwnam("fairlead") != NULL ? "fairlead" : "nobody";
}

static int config_write(const struct cluster *cluster,
			const struct cluster_options *options,
			struct fairlead_error *ret_error)
{
	const char *dir = cluster->dir, *user = daemon_user(cluster);
	char path[CLUSTER_PATH_MAX];
	FILE *file;

	cluster_path(cluster, path, "fairlead.conf");
	file = fopen(path, "we");
	if (file == NULL)
		return error_set(ret_error, -errno, "cannot write '%s': %s",
				 path, strerror(errno));
	fprintf(file, "# written by 'fairlead cluster up'\n");
	fprintf(file, "cluster = \"emulated\"\n\nmanager {\n");
	fprintf(file, "    listen = \"" CLUSTER_MANAGER_ADDRESS "\"\n");
	fprintf(file, "    socket = \"%s/manager/run/manager.sock\"\n", dir);
	fprintf(file, "    state = \"%s/manager/state\"\n", dir);
	fprintf(file, "    key = \"%s/manager.key\"\n", dir);
	fprintf(file, "    nodes = \"n[0-%u]\"\n", cluster->node_count - 1);
	fprintf(file, "    interconnect = \"%s\"\n",
		cluster_default_interconnect());
	fprintf(file, "    user = \"%s\"\n", user);
	fprintf(file, "    submitter \"run\" { uid = 0 }\n");
	cluster_section_write(file, options, "manager");
	fprintf(file, "}\n\nnode {\n");
	fprintf(file, "    manager = \"" CLUSTER_MANAGER_ADDRESS "\"\n");
	fprintf(file, "    key = \"/run/fairlead/node.key\"\n");
	fprintf(file, "    incarnation = \"/run/fairlead/softnic\"\n");
	fprintf(file, "    user = \"%s\"\n", user);
	cluster_section_write(file, options, "node");
	fprintf(file, "}\n\nfabric {\n");
	cluster_section_write(file, options, "fabric");
	fprintf(file, "}\n");
	cluster_drivers_write(file, cluster, options);
	if (fclose(file) != 0)
		return error_set(ret_error, -EIO, "cannot write '%s'", path);
	return 0;
}

static int node_key_write(const struct cluster *cluster,
			  const struct manager_keys *keys, const char *name,
			  struct fairlead_error *ret_error)
{
	_auto_(writer_fini) struct writer text = { 0 };
	struct node_keys node_keys;
	char path[CLUSTER_PATH_MAX];
	int result = node_keys_make(keys, name, &node_keys, ret_error);

	if (result < 0)
		return result;
	result = node_keys_format(&node_keys, &text);
	node_keys_fini(&node_keys);
	cluster_path(cluster, path, "%s/run/node.key", name);
	if (result == 0)
		result =
			file_write(path, text.data, text.size, 0600, ret_error);
	return result;
}

static int keys_write(const struct cluster *cluster,
		      struct fairlead_error *ret_error)
{
	_auto_(writer_fini) struct writer text = { 0 };
	struct rng_seam rng = sys_rng();
	struct manager_keys keys;
	char path[CLUSTER_PATH_MAX];
	int result;

	manager_keys_create(&rng, &keys);
	result = manager_keys_format(&keys, &text);
	cluster_path(cluster, path, "manager.key");
	if (result == 0)
		result =
			file_write(path, text.data, text.size, 0600, ret_error);
	for (uint32_t i = 0; i < cluster->node_count && result == 0; i++)
		result = node_key_write(cluster, &keys, cluster->nodes[i].name,
					ret_error);
	manager_keys_fini(&keys);
	return result;
}

/* The daemons' user gets it: for itself, or to make sockets in beside root. */
static int owner_set(const struct cluster *cluster, const char *name,
		     bool is_shared, struct fairlead_error *ret_error)
{
	const struct passwd *user = getpwnam(daemon_user(cluster));
	char path[CLUSTER_PATH_MAX];

	cluster_path(cluster, path, "%s", name);
	if (user == NULL ||
	    chown(path, is_shared ? 0 : user->pw_uid, user->pw_gid) < 0 ||
	    (is_shared && chmod(path, 01775) < 0))
		return error_set(ret_error, -EPERM, "cannot give '%s' to '%s'",
				 path, daemon_user(cluster));
	return 0;
}

int cluster_credentials_give(const struct cluster *cluster,
			     struct fairlead_error *ret_error)
{
	static const char *const names[] = {
		"softfm/auth",
		"softfm/auth/endpoint",
		"softfm/auth/client-id",
		"softfm/auth/client-secret",
	};
	int result = 0;

	for (size_t i = 0; i < 4 && result == 0; i++)
		result = owner_set(cluster, names[i], false, ret_error);
	return result;
}

static int owners_set(const struct cluster *cluster,
		      struct fairlead_error *ret_error)
{
	char name[32];
	int result;

	result = owner_set(cluster, "manager.key", false, ret_error);
	if (result == 0)
		result = owner_set(cluster, "manager/state", false, ret_error);
	if (result == 0)
		result = owner_set(cluster, "manager/run", true, ret_error);
	for (uint32_t i = 0; i < cluster->node_count && result == 0; i++) {
		snprintf(name, sizeof(name), "%s/run", cluster->nodes[i].name);
		result = owner_set(cluster, name, true, ret_error);
	}
	return result;
}

static int directories_create(const struct cluster *cluster,
			      struct fairlead_error *ret_error)
{
	static const char *const names[] = { "softnic",       "lib",
					     "manager",       "manager/run",
					     "manager/state", "manager/log" };
	int result = 0;

	for (size_t i = 0; i < 6 && result == 0; i++)
		result = directory_create(cluster, names[i],
					  i == 4 ? 0700 : 0755, ret_error);
	for (uint32_t i = 0; i < cluster->node_count && result == 0; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s", cluster->nodes[i].name);
		result = directory_create(cluster, name, 0755, ret_error);
		strcat(name, "/run");
		if (result == 0)
			result = directory_create(cluster, name, 0755,
						  ret_error);
		strcpy(strrchr(name, '/'), "/log");
		if (result == 0)
			result = directory_create(cluster, name, 0755,
						  ret_error);
	}
	return result;
}

int cluster_files_create(const struct cluster *cluster,
			 const struct cluster_options *options,
			 struct fairlead_error *ret_error)
{
	char path[CLUSTER_PATH_MAX];
	int result = directories_create(cluster, ret_error);

	if (result == 0)
		result = config_write(cluster, options, ret_error);
	if (result == 0)
		result = cluster_elanhosts_write(cluster, ret_error);
	if (result == 0)
		result = keys_write(cluster, ret_error);
	if (result == 0)
		result = owners_set(cluster, ret_error);
	cluster_path(cluster, path, "softnic/libcxi.so.1");
	if (result == 0)
		result = file_copy(cluster->programs.libcxi, path, ret_error);
	cluster_path(cluster, path, "softnic/cxi-lni");
	if (result == 0)
		result = file_copy(cluster->programs.cxi_lni, path, ret_error);
	cluster_path(cluster, path, "lib/libscoll.so.0");
	if (result == 0 && cluster->programs.libscoll[0] != '\0')
		result = file_copy(cluster->programs.libscoll, path, ret_error);
	return result;
}

static int remove_one(const char *path, const struct stat *stat, int type,
		      struct FTW *ftw)
{
	return remove(path);
}

static int remove_all_but_key(const char *path, const struct stat *stat,
			      int type, struct FTW *ftw)
{
	if (ftw->level == 0 || strcmp(path + ftw->base, "node.key") == 0)
		return 0;
	return remove(path);
}

int cluster_run_clear(const struct cluster *cluster,
		      const struct cluster_node *node,
		      struct fairlead_error *ret_error)
{
	char path[CLUSTER_PATH_MAX];

	cluster_path(cluster, path, "%s/run", node->name);
	if (nftw(path, remove_all_but_key, 16,
		 FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0)
		return error_set(ret_error, -errno, "cannot clear '%s': %s",
				 path, strerror(errno));
	return 0;
}

int cluster_files_remove(const struct cluster *cluster,
			 struct fairlead_error *ret_error)
{
	if (nftw(cluster->dir, remove_one, 16,
		 FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0 &&
	    errno != ENOENT)
		return error_set(ret_error, -errno, "cannot remove '%s': %s",
				 cluster->dir, strerror(errno));
	return 0;
}
