/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemons that run in the containers: their start, and how a node crashes
 * and comes back. What the kernel had for it was in its container, which is
 * left to nobody, and made again.
 */
#include "emu/cluster/internal.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emu/cluster/container.h"
#include "fairlead.h"

#define WAIT_STEP_NS 10000000 /* 10 ms */

DEFINE_AUTO(struct fairlead, fairlead_close)

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

int cluster_start_softfm(struct cluster *cluster,
			 struct fairlead_error *ret_error)
{
	const struct daemon_place place = { cluster, "manager",
					    &cluster->fabric };
	char dir[CLUSTER_PATH_MAX], state[CLUSTER_PATH_MAX];
	const char *const argv[] = { cluster->programs.softfm,
				     "--dir",
				     dir,
				     "--state",
				     state,
				     "--listen",
				     CLUSTER_SOFTFM_ADDRESS,
				     "--ready-fd",
				     "3",
				     NULL };
	int result;

	if (!cluster->has_softfm)
		return 0;
	cluster_path(cluster, dir, CLUSTER_SOFTFM);
	cluster_path(cluster, state, CLUSTER_SOFTFM ".json");
	result = start(cluster, &place, CLUSTER_SOFTFM, argv, &cluster->softfm,
		       ret_error);
	return result == 0 ? cluster_credentials_give(cluster, ret_error)
			   : result;
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

/* --- waiting --- */

/* The answer to an op without members. */
static int ask(const char *socket, const char *op, json_t **ret_answer,
	       struct fairlead_error *ret_error)
{
	_auto_(fairlead_closep) struct fairlead *handle = NULL;
	_auto_(freep) char *text = NULL;
	int result = fairlead_open(socket, &handle, ret_error);

	if (result == 0)
		result = fairlead_call(handle, op, NULL, &text, ret_error);
	if (result < 0)
		return result;
	*ret_answer = json_loads(text, 0, NULL);
	return 0;
}

/* Number of nodes that the manager sees up, or -errno. */
static int nodes_up(const char *socket, struct fairlead_error *ret_error)
{
	json_auto_t *status = NULL;
	json_int_t up = 0;
	int result = ask(socket, "status", &status, ret_error);

	if (result < 0)
		return result;
	json_unpack(status, "{s:{s:I}}", "nodes", "up", &up);
	return (int)up;
}

static bool has_registered(const char *socket, struct fairlead_error *ret_error)
{
	json_auto_t *status = NULL;
	const char *state = "";

	if (ask(socket, "node-status", &status, ret_error) < 0)
		return false;
	json_unpack(status, "{s:{s:s}}", "manager", "state", &state);
	return strcmp(state, "up") == 0;
}

/*
 * The node itself is asked: to the manager a node that has a lease is up, whether its
 * daemon runs or not.
 */
static int wait_node(const struct cluster *cluster,
		     const struct cluster_node *node,
		     struct fairlead_error *ret_error)
{
	const struct timespec step = { .tv_nsec = WAIT_STEP_NS };
	char socket[CLUSTER_PATH_MAX], manager[CLUSTER_PATH_MAX];

	cluster_path(cluster, socket, "%s/run/node.sock", node->name);
	cluster_socket(cluster, manager, sizeof(manager));
	for (uint32_t i = 0; i < CLUSTER_UP_MS / 10; i++) {
		int result = nodes_up(manager, ret_error);

		if (result < 0) /* nobody is there to register with */
			return result;
		if (has_registered(socket, ret_error))
			return 0;
		nanosleep(&step, NULL);
	}
	return error_set(ret_error, -ETIMEDOUT,
			 "node '%s' has not registered; see the logs in "
			 "'%s/%s/log'",
			 node->name, cluster->dir, node->name);
}

int cluster_wait_nodes(const struct cluster *cluster,
		       struct fairlead_error *ret_error)
{
	const struct timespec step = { .tv_nsec = WAIT_STEP_NS };
	char socket[CLUSTER_PATH_MAX];
	int up = 0;

	cluster_socket(cluster, socket, sizeof(socket));
	for (uint32_t i = 0; i < CLUSTER_UP_MS / 10; i++) {
		up = nodes_up(socket, ret_error);
		if (up < 0 || up >= (int)cluster->node_count)
			return up < 0 ? up : 0;
		nanosleep(&step, NULL);
	}
	return error_set(ret_error, -ETIMEDOUT,
			 "only %d of %u nodes have registered; see the logs "
			 "in '%s/n*/log'",
			 up, cluster->node_count, cluster->dir);
}

/* --- restart, reboot --- */

int cluster_restart(struct cluster *cluster, struct cluster_node *node,
		    struct fairlead_error *ret_error)
{
	int result = cluster_lock_taken(cluster, ret_error);

	if (result < 0)
		return result;
	process_stop(node ? &node->daemon : &cluster->manager,
		     CLUSTER_GRACE_MS);
	result = node ? cluster_start_rms(cluster, node, ret_error) : 0;
	if (result == 0)
		result = node ? cluster_start_daemon(cluster, node, ret_error)
			      : cluster_start_manager(cluster, ret_error);
	/* A manager is ready when it serves; a node when it has registered. */
	if (result == 0 && node)
		result = wait_node(cluster, node, ret_error);
	return result;
}

/* Nothing may say goodbye. */
static int crash(struct cluster *cluster, struct cluster_node *node,
		 struct fairlead_error *ret_error)
{
	struct fairlead_error ignored;
	int result;

	process_stop(&node->daemon, 0);
	process_stop(&node->rms, 0);
	container_sweep(&node->holder, &node->softnic, 1, 0);
	process_stop(&node->softnic, 0);
	/* At once: the kernel takes its time with a network that is left. */
	if (process_is_alive(&node->holder))
		cluster_network_leave(cluster, node, &ignored);
	process_stop(&node->holder, 0);
	result = cluster_cgroup_renew(cluster, node, ret_error);
	return result == 0 ? cluster_run_clear(cluster, node, ret_error)
			   : result;
}

int cluster_reboot(struct cluster *cluster, struct cluster_node *node,
		   struct fairlead_error *ret_error)
{
	int result = cluster_lock_taken(cluster, ret_error);

	if (result == 0)
		result = crash(cluster, node, ret_error);
	if (result == 0)
		result = cluster_container_create(cluster, node, ret_error);
	if (result == 0)
		result = cluster_network_join(cluster, node, ret_error);
	if (result == 0)
		result = cluster_start_softnic(cluster, node, ret_error);
	if (result == 0)
		result = cluster_start_rms(cluster, node, ret_error);
	if (result == 0)
		result = cluster_start_daemon(cluster, node, ret_error);
	return result == 0 ? wait_node(cluster, node, ret_error) : result;
}

int cluster_restart_softfm(struct cluster *cluster,
			   struct fairlead_error *ret_error)
{
	int result = cluster_lock_taken(cluster, ret_error);

	if (result < 0)
		return result;
	if (!cluster->has_softfm)
		return error_set(ret_error, -ENOENT,
				 "the cluster has no software fabric manager; "
				 "use 'fairlead cluster up -s softfm'");
	process_stop(&cluster->softfm, CLUSTER_GRACE_MS);
	return cluster_start_softfm(cluster, ret_error);
}
