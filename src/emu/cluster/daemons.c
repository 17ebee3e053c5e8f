/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemons that run in the containers. */
#include "emu/cluster/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cluster/container.h"

struct daemon_place {
	const struct cluster *cluster;
	const char *folder; /* in the cluster's directory */
	const struct cluster_process *holder;
};

/* fairleadd gives its privileges up itself, and loads libscoll then. */
static int enter(void *arg)
{
	const struct daemon_place *place = arg;
	struct fairlead_error error;
	char path[CLUSTER_PATH_MAX];
	int result;

	cluster_path(place->cluster, path, "lib");
	if (setenv("LD_LIBRARY_PATH", path, 1) < 0)
		return -errno;
	result = container_enter(place->holder, &error);
	if (result < 0)
		fprintf(stderr, "%s\n", error.text);
	return result;
}

/* Start a program that reports to PROCESS_READY_FD, and save what it is. */
static int start(struct cluster *cluster, const struct daemon_place *place,
		 const char *name, const char *const *argv,
		 struct cluster_process *ret_process,
		 struct fairlead_error *ret_error)
{
	char log[CLUSTER_PATH_MAX];
	struct process_spec spec = {
		.argv = argv,
		.log_path = log,
		.prepare = enter,
		.prepare_arg = (void *)place,
		.tells_ready = true,
		.timeout_ms = CLUSTER_READY_MS,
	};
	int result;

	cluster_path(cluster, log, "%s/log/%s.log", place->folder, name);
	result = process_start(&spec, ret_process, ret_error);
	return result == 0 ? cluster_state_save(cluster, ret_error) : result;
}

static int start_fairleadd(struct cluster *cluster, const char *role,
			   const struct daemon_place *place,
			   struct cluster_process *ret_process,
			   struct fairlead_error *ret_error)
{
	char config[CLUSTER_PATH_MAX];
	const char *const argv[] = { cluster->programs.fairleadd,
				     "--role",
				     role,
				     "--config",
				     config,
				     "--ready-fd",
				     "3",
				     NULL };

	cluster_path(cluster, config, "fairlead.conf");
	return start(cluster, place, "fairleadd", argv, ret_process, ret_error);
}

int cluster_start_manager(struct cluster *cluster,
			  struct fairlead_error *ret_error)
{
	const struct daemon_place place = { cluster, "manager",
					    &cluster->fabric };

	return start_fairleadd(cluster, "manager", &place, &cluster->manager,
			       ret_error);
}

int cluster_start_daemon(struct cluster *cluster, struct cluster_node *node,
			 struct fairlead_error *ret_error)
{
	const struct daemon_place place = { cluster, node->name,
					    &node->holder };

	return start_fairleadd(cluster, "node", &place, &node->daemon,
			       ret_error);
}

int cluster_start_softnic(struct cluster *cluster, struct cluster_node *node,
			  struct fairlead_error *ret_error)
{
	const struct daemon_place place = { cluster, node->name,
					    &node->holder };
	char nics[16];
	const char *argv[16] = { cluster->programs.softnic,
				 "--dir",
				 "/run/fairlead/softnic",
				 "--nics",
				 nics,
				 "--ready-fd",
				 "3" };
	size_t count = 7;

	snprintf(nics, sizeof(nics), "%u", cluster->nic_count);
	if (cluster->generation[0] != '\0') {
		argv[count++] = "--generation";
		argv[count++] = cluster->generation;
	}
	if (cluster->is_user_mode)
		argv[count++] = "--owner-is-root";
	return start(cluster, &place, "softnic", argv, &node->softnic,
		     ret_error);
}

int cluster_start_rms(struct cluster *cluster, struct cluster_node *node,
		      struct fairlead_error *ret_error)
{
	const struct daemon_place place = { cluster, node->name,
					    &node->holder };
	char rails[16], address[32];
	const char *const argv[] = {
		cluster->programs.rms, "--rails", rails, "--adapter", address,
		"--ready-fd",          "3",       NULL
	};

	if (cluster->elan_count == 0 || process_is_alive(&node->rms))
		return 0;
	if (argv[0][0] == '\0')
		return error_set(ret_error, -ENOENT,
				 "'fairlead-rms' is neither built nor "
				 "installed, and the nodes have Elan");
	snprintf(rails, sizeof(rails), "0-%u", cluster->elan_count - 1);
	snprintf(address, sizeof(address), "10.%u.0.%u", CLUSTER_SUBNET_FIRST,
		 (uint32_t)(node - cluster->nodes) + 1);
	return start(cluster, &place, "rms", argv, &node->rms, ret_error);
}

/* A node has the id space of processes of all. */
void cluster_rms_dir(const struct cluster_node *node,
		     char dir[CLUSTER_RMS_DIR_MAX])
{
	snprintf(dir, CLUSTER_RMS_DIR_MAX, "/proc/%d/root/run/fairlead-rms",
		 (int)node->holder.pid);
}
