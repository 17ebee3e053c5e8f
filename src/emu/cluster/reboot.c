/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node crashes and comes back. What the kernel had for it was in its
 * container, which is left to nobody, and made again.
 */
#include "emu/cluster/internal.h"

#include "emu/cluster/container.h"

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
	return result == 0 ? cluster_wait_node(cluster, node, ret_error)
			   : result;
}
