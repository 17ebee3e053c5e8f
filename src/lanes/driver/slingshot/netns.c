/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lane that is for a job's network namespace: the launcher makes the
 * namespace and keeps it in a file that the setting job_netns names, before the
 * lane is applied. The file is opened once; another namespace that gets the
 * same name later is not admitted.
 */
#include "lanes/driver/slingshot/node.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "lanes/driver/common/job_path.h"

static bool is_namespace(int fd)
{
	struct statfs stat;

	return fstatfs(fd, &stat) == 0 && stat.f_type == NSFS_MAGIC &&
	       ioctl(fd, NS_GET_NSTYPE) == CLONE_NEWNET;
}

static int read_inode(const char *path, uint32_t *ret_netns,
		      struct fairlead_error *ret_error)
{
	_auto_(closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat found;
	struct stat own;

	if (fd < 0)
		return error_set(ret_error, -errno,
				 "cannot open the job's network namespace "
				 "'%.300s': %s",
				 path, strerror(errno));
	if (!is_namespace(fd) || fstat(fd, &found) < 0)
		return error_set(ret_error, -EINVAL,
				 "'%.300s' is no network namespace", path);
	if (stat("/proc/self/ns/net", &own) < 0 || own.st_ino == found.st_ino)
		return error_set(
			ret_error, -EINVAL,
			"'%.300s' is the node's network namespace, not "
			"a job's",
			path);
	*ret_netns = (uint32_t)found.st_ino;
	return 0;
}

int slingshot_netns_find(const struct slingshot_node *node,
			 const struct fairlead_lane *lane, uint32_t *ret_netns,
			 struct fairlead_error *ret_error)
{
	const struct job_names names = { lane->grant_id, lane->uid,
					 lane->job ? lane->job : "" };
	char path[PATH_MAX];
	int result;

	if (!node->library->svc_set_netns || !node->library->svc_enable)
		return error_set(ret_error, -EOPNOTSUPP,
				 "option 'netns': the library has no "
				 "cxil_svc_set_netns, as releases before 14.0");
	if (!node->job_netns)
		return error_set(ret_error, -EOPNOTSUPP,
				 "option 'netns': the setting job_netns does "
				 "not say where jobs' namespaces are");
	result = job_path_format(node->job_netns, &names, path, ret_error);
	return result == 0 ? read_inode(path, ret_netns, ret_error) : result;
}

int slingshot_netns_bind(const struct cxi_nic *nic, uint32_t svc_id,
			 uint32_t netns, struct fairlead_error *ret_error)
{
	const struct cxi_library *library = nic->library;
	int result = library->svc_enable(nic->dev, svc_id, false);

	if (result == 0)
		result = library->svc_set_netns(nic->dev, svc_id, netns);
	if (result == 0)
		result = library->svc_enable(nic->dev, svc_id, true);
	if (result == 0)
		return 0;
	/* What stays admits nobody; a revoke without a record finds it. */
	(void)library->destroy_svc(nic->dev, svc_id);
	return error_set(ret_error, result,
			 "%s: cannot bind service %u to network namespace %u: "
			 "%s; NIC drivers have that from 14.0 on",
			 nic->name, svc_id, netns, strerror(-result));
}
