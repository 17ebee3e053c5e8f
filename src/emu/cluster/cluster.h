/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cluster on one machine, for trying things out and for tests.
 *
 * Each emulated node is a container (own network, host name, IPC and mounts)
 * with a software NIC daemon, a `fairlead-rms` where something is set for Elan,
 * and a `fairleadd` in the node role. A bridge in a
 * container of its own joins them; there the manager runs. A bridge more for
 * each rail joins the nodes' NICs of plain Ethernet. Everything lives in one
 * directory: state file, configuration, keys, journals, logs, a copy of the
 * software NIC's library; and, where cgroup v2 is and can be written, in one
 * cgroup, with one below it for each node. What runs outlives the command that
 * started it.
 *
 * Life cycle: cluster_up, then any number of cluster_open .. cluster_close
 * from other commands, then cluster_down. One command at a time changes it
 * (the directory has a lock).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "emu/cluster/process.h"
#include "fairlead_driver.h"

#define CLUSTER_NODES_MAX    64
#define CLUSTER_NICS_MAX     8
#define CLUSTER_RAILS_MAX    4
#define CLUSTER_SETTINGS_MAX 64

/* Found beside the running program, by cluster_programs_find() in internal.h. */
struct cluster_programs {
	char fairleadd[4096];
	char softnic[4096];
	char libcxi[4096];
	char cxi_lni[4096];
	char softfm[4096];
	char rms[4096];      /* "": not built */
	char libscoll[4096]; /* "": installed */
};

struct cluster_node {
	char name[16]; /* "n0" */
	struct cluster_process holder;
	struct cluster_process softnic;
	struct cluster_process rms; /* where there is Elan */
	struct cluster_process daemon;
};

struct cluster {
	char dir[4096];
	bool is_user_mode; /* made by a user who is not root */
	uint32_t node_count;
	uint32_t nic_count;
	uint32_t rail_count;
	uint32_t elan_count; /* rails of Elan; 0: there is none */
	bool has_softfm;     /* a software fabric manager */
	char generation[8];  /* of the NIC's driver; "": its default */
	char cgroup[256];    /* its part of cgroup v2; "": none could be made */
	struct cluster_programs programs;
	struct cluster_process fabric; /* holder of the bridge's container */
	struct cluster_process softfm;
	struct cluster_process manager;
	struct cluster_node nodes[CLUSTER_NODES_MAX];
	int lock_fd; /* -1: not locked */
};

struct cluster_options {
	const char *dir;
	uint32_t node_count;
	uint32_t nic_count;
	/*
	 * NICs of plain Ethernet of a node, eth1 and on, beside the managing
	 * eth0.
	 */
	uint32_t rail_count;
	const char *generation; /* of the NIC's driver; NULL: its default */
	/*
	 * "SECTION.NAME=VALUE" lines for the configuration: manager, node,
	 * fabric, or a driver's name. And "softfm": a software fabric manager,
	 * which the manager uses.
	 */
	const char *const *settings;
	size_t setting_count;
	/* Called with a line for each step. May be NULL. */
	void (*progress)(void *arg, const char *line);
	void *progress_arg;
};

/* FAIRLEAD_CLUSTER, else a directory of this user's. Written into dir. */
void cluster_default_dir(char *dir, size_t capacity);

/* -EINVAL and -ENAMETOOLONG with a text: the options are wrong. */
int cluster_options_check(const struct cluster_options *options,
			  struct fairlead_error *ret_error);
/*
 * Make and start everything, and wait until every node has registered. When
 * a step fails what was started is taken down again. -EEXIST: it is up.
 */
int cluster_up(const struct cluster_options *options,
	       struct fairlead_error *ret_error);

/*
 * Read the state. The calling process enters the cluster's user namespace
 * when it has one. -ENOENT: none is up. The caller gives it to cluster_close.
 */
int cluster_open(const char *dir, struct cluster **ret_cluster,
		 struct fairlead_error *ret_error);
void cluster_close(struct cluster *cluster);
DEFINE_AUTO(struct cluster, cluster_close)

/* End every process, and remove the directory. Works on half a cluster too. */
int cluster_down(struct cluster *cluster, struct fairlead_error *ret_error);

/*
 * A cgroup for a job's tasks on a node, CONTAINER_CGROUP/job-GRANT inside
 * (container.h). Nothing is done where the cluster has no cgroup.
 */
int cluster_job_begin(const struct cluster *cluster,
		      const struct cluster_node *node, uint64_t grant_id,
		      struct fairlead_error *ret_error);
/* Kill what is in it, and remove it with what is below. None is no error. */
int cluster_job_end(const struct cluster *cluster,
		    const struct cluster_node *node, uint64_t grant_id,
		    struct fairlead_error *ret_error);

#define CLUSTER_RMS_DIR_MAX 64

/* The directory of a node's fairlead-rms, seen from outside. */
void cluster_rms_dir(const struct cluster_node *node,
		     char dir[CLUSTER_RMS_DIR_MAX]);

/* The manager's socket, for fairlead_open(). */
void cluster_socket(const struct cluster *cluster, char *path, size_t capacity);

/* NULL when there is no such node. */
struct cluster_node *cluster_node_find(struct cluster *cluster,
				       const char *name);

/*
 * Crash and restart a node: its container is made again, so that its processes,
 * network, mounts, cgroups and what is in /run are gone but for its key; its
 * NICs forget all and have a new incarnation. Returns when it has registered
 * again.
 */
int cluster_reboot(struct cluster *cluster, struct cluster_node *node,
		   struct fairlead_error *ret_error);

/*
 * Start, after it died or was killed, the manager (node NULL) or a node's
 * daemon; a running one is stopped first. With it a fairlead-rms that died.
 * Waits until it serves.
 */
int cluster_restart(struct cluster *cluster, struct cluster_node *node,
		    struct fairlead_error *ret_error);

/* The same of the software fabric manager. -ENOENT: there is none. */
int cluster_restart_softfm(struct cluster *cluster,
			   struct fairlead_error *ret_error);

/* Wait until the manager sees as many nodes up as there are. */
int cluster_wait_nodes(const struct cluster *cluster,
		       struct fairlead_error *ret_error);
