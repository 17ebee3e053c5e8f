/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemons that run in the containers. */
#include "emu/cluster/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cluster/container.h"

static int enter_container(void *arg)
{
	struct fairlead_error error;
	int result = container_enter(arg, &error);

	if (result < 0)
		fprintf(stderr, "%s\n", error.text);
	return result;
}

struct container_place {
	struct cluster_process *holder;
	const struct cluster *cluster;
};

static int enter_with_libraries(void *arg)
{
	const struct container_place *place = arg;
	char path[CLUSTER_PATH_MAX];

	cluster_path(place->cluster, path, "lib");
	if (setenv("LD_LIBRARY_PATH", path, 1) < 0)
		return -errno;
	return enter_container(place->holder);
}

/*
 * fairleadd starts as root, gives its privileges up itself, and loads libscoll
 * then.
 */
static int start_fairleadd(struct cluster *cluster, const char *role,
			   const char *folder, struct cluster_process *holder,
			   struct cluster_process *ret_process,
			   struct fairlead_error *ret_error)
{
	char config[CLUSTER_PATH_MAX], log[CLUSTER_PATH_MAX];
	const char *const argv[] = { cluster->programs.fairleadd,
				     "--role",
				     role,
				     "--config",
				     config,
				     "--ready-fd",
				     "3",
				     NULL };
	struct container_place place = { holder, cluster };
	struct process_spec spec = {
		.argv = argv,
		.log_path = log,
		.prepare = enter_with_libraries,
		.prepare_arg = &place,
		.tells_ready = true,
		.timeout_ms = CLUSTER_READY_MS,
	};
	int result;

	cluster_path(cluster, config, "fairlead.conf");
	cluster_path(cluster, log, "%s/log/fairleadd.log", folder);
	result = process_start(&spec, ret_process, ret_error);
	return result == 0 ? cluster_state_save(cluster, ret_error) : result;
}

int cluster_start_manager(struct cluster *cluster,
			  struct fairlead_error *ret_error)
{
	return start_fairleadd(cluster, "manager", "manager", &cluster->fabric,
			       &cluster->manager, ret_error);
}

int cluster_start_daemon(struct cluster *cluster, struct cluster_node *node,
			 struct fairlead_error *ret_error)
{
	return start_fairleadd(cluster, "node", node->name, &node->holder,
			       &node->daemon, ret_error);
}

int cluster_start_softnic(struct cluster *cluster, struct cluster_node *node,
			  struct fairlead_error *ret_error)
{
	char log[CLUSTER_PATH_MAX], nics[16];
	const char *argv[16] = { cluster->programs.softnic,
				 "--dir",
				 "/run/fairlead/softnic",
				 "--nics",
				 nics,
				 "--ready-fd",
				 "3" };
	struct process_spec spec = {
		.argv = argv,
		.log_path = log,
		.prepare = enter_container,
		.prepare_arg = &node->holder,
		.tells_ready = true,
		.timeout_ms = CLUSTER_READY_MS,
	};
	size_t count = 7;
	int result;

	snprintf(nics, sizeof(nics), "%u", cluster->nic_count);
	if (cluster->generation[0] != '\0') {
		argv[count++] = "--generation";
		argv[count++] = cluster->generation;
	}
	if (cluster->is_user_mode)
		argv[count++] = "--owner-is-root";
	cluster_path(cluster, log, "%s/log/softnic.log", node->name);
	result = process_start(&spec, &node->softnic, ret_error);
	return result == 0 ? cluster_state_save(cluster, ret_error) : result;
}

int cluster_start_rms(struct cluster *cluster, struct cluster_node *node,
		      struct fairlead_error *ret_error)
{
	char log[CLUSTER_PATH_MAX], rails[16], address[32];
	const char *const argv[] = {
		cluster->programs.rms, "--rails", rails, "--adapter", address,
		"--ready-fd",          "3",       NULL
	};
	struct process_spec spec = {
		.argv = argv,
		.log_path = log,
		.prepare = enter_container,
		.prepare_arg = &node->holder,
		.tells_ready = true,
		.timeout_ms = CLUSTER_READY_MS,
	};
	int result;

	if (cluster->elan_count == 0 || process_is_alive(&node->rms))
		return 0;
	if (argv[0][0] == '\0')
		return error_set(ret_error, -ENOENT,
				 "'fairlead-rms' is neither built nor "
				 "installed, and the nodes have Elan");
	snprintf(rails, sizeof(rails), "0-%u", cluster->elan_count - 1);
	snprintf(address, sizeof(address), "10.%u.0.%u", CLUSTER_SUBNET_FIRST,
		 (uint32_t)(node - cluster->nodes) + 1);
	cluster_path(cluster, log, "%s/log/rms.log", node->name);
	result = process_start(&spec, &node->rms, ret_error);
	return result == 0 ? cluster_state_save(cluster, ret_error) : result;
}

/* A node has the id space of processes of all. */
void cluster_rms_dir(const struct cluster_node *node,
		     char dir[CLUSTER_RMS_DIR_MAX])
{
	snprintf(dir, CLUSTER_RMS_DIR_MAX, "/proc/%d/root/run/fairlead-rms",
		 (int)node->holder.pid);
}
