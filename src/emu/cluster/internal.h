/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the emulated cluster share. */
#pragma once

#include "emu/cluster/cluster.h"

#define CLUSTER_READY_MS 30000
/* A node that has a lease comes to a new manager when that has run out. */
#define CLUSTER_UP_MS           60000
#define CLUSTER_GRACE_MS        5000
#define CLUSTER_PATH_MAX        4096
#define CLUSTER_SUBNET          "10.203"
#define CLUSTER_MANAGER_ADDRESS CLUSTER_SUBNET ".255.254:7171"

/* Path below the cluster's directory. */
void cluster_path(const struct cluster *cluster, char *path, const char *format,
		  ...) __attribute__((format(printf, 3, 4)));

/* state.c: the file `cluster.json`, and the lock. */
int cluster_state_save(const struct cluster *cluster,
		       struct fairlead_error *ret_error);
int cluster_state_load(const char *dir, struct cluster *cluster,
		       struct fairlead_error *ret_error);
int cluster_lock(struct cluster *cluster, struct fairlead_error *ret_error);

/* files.c: directories, configuration, keys, copies. */
int cluster_programs_find(struct cluster_programs *programs,
			  struct fairlead_error *ret_error);
/* SECTION.NAME=VALUE is for a section that the configuration has. */
bool cluster_has_section(const char *setting);
int cluster_files_create(const struct cluster *cluster,
			 const struct cluster_options *options,
			 struct fairlead_error *ret_error);
int cluster_files_remove(const struct cluster *cluster,
			 struct fairlead_error *ret_error);

/* daemons.c: start what runs in a place. */
int cluster_start_manager(struct cluster *cluster,
			  struct fairlead_error *ret_error);
int cluster_start_softnic(struct cluster *cluster, struct cluster_node *node,
			  struct fairlead_error *ret_error);
int cluster_start_daemon(struct cluster *cluster, struct cluster_node *node,
			 struct fairlead_error *ret_error);
int cluster_network_create(struct cluster *cluster,
			   struct fairlead_error *ret_error);
