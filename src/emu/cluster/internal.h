/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the emulated cluster share. */
#pragma once

#include <stdio.h>

#include "emu/cluster/cluster.h"

#define CLUSTER_READY_MS 30000
/* A node that has a lease comes to a new manager when that has run out. */
#define CLUSTER_UP_MS    60000
#define CLUSTER_GRACE_MS 5000
#define CLUSTER_PATH_MAX 4096
/* 10.203.0.0/16 is eth0's, the next one is eth1's, ...; node I is .0.(I + 1). */
#define CLUSTER_SUBNET_FIRST    203
#define CLUSTER_MANAGER_HOST    "10.203.255.254"
#define CLUSTER_MANAGER_ADDRESS CLUSTER_MANAGER_HOST ":7171"

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
int cluster_files_create(const struct cluster *cluster,
			 const struct cluster_options *options,
			 struct fairlead_error *ret_error);
int cluster_files_remove(const struct cluster *cluster,
			 struct fairlead_error *ret_error);
/* The manager's user reads the fabric manager's credentials. */
int cluster_credentials_give(const struct cluster *cluster,
			     struct fairlead_error *ret_error);
/* What a reboot leaves of a node's /run/fairlead: its key. */
int cluster_run_clear(const struct cluster *cluster,
		      const struct cluster_node *node,
		      struct fairlead_error *ret_error);

/* drivers.c: sections of the configuration, and what drivers want besides. */
const char *cluster_default_interconnect(void);
/* SECTION.NAME=VALUE is for a section that the configuration has. */
bool cluster_has_section(const struct cluster_options *options,
			 const char *setting);
/* The settings that were given for a section. */
void cluster_section_write(FILE *file, const struct cluster_options *options,
			   const char *section);
/* The sections of all drivers. */
void cluster_drivers_write(FILE *file, const struct cluster *cluster,
			   const struct cluster_options *options);
/* How many rails of Elan the settings want; 0: there is none. */
uint32_t cluster_elan_rails(const struct cluster_options *options);
/* The settings want a software fabric manager. */
#define CLUSTER_SOFTFM         "softfm"
#define CLUSTER_SOFTFM_ADDRESS CLUSTER_MANAGER_HOST ":7443"
bool cluster_wants_softfm(const struct cluster_options *options);
/* ElanIDs, where there are such rails. */
int cluster_elanhosts_write(const struct cluster *cluster,
			    struct fairlead_error *ret_error);

/* cgroup.c: cluster->cgroup, and one for each node in it. */
#define CLUSTER_CGROUP_MAX 320
/* Set cluster->cgroup to where it can be, by a name that no other has; or "". */
void cluster_cgroup_find(struct cluster *cluster);
int cluster_cgroup_create(const struct cluster *cluster,
			  struct fairlead_error *ret_error);
/* The node's; "" when it has none. */
void cluster_cgroup_path(const struct cluster *cluster,
			 const struct cluster_node *node,
			 char path[CLUSTER_CGROUP_MAX]);
/* Kill what is in it, and make it again. */
int cluster_cgroup_renew(const struct cluster *cluster,
			 const struct cluster_node *node,
			 struct fairlead_error *ret_error);
/* Kill what is in it, and remove all. */
int cluster_cgroup_remove(const struct cluster *cluster,
			  struct fairlead_error *ret_error);

/* network.c */
int cluster_network_create(struct cluster *cluster,
			   struct fairlead_error *ret_error);
/* Give a container that is new its NICs; or take them away. */
int cluster_network_join(struct cluster *cluster, struct cluster_node *node,
			 struct fairlead_error *ret_error);
int cluster_network_leave(struct cluster *cluster,
			  const struct cluster_node *node,
			  struct fairlead_error *ret_error);

/* cluster.c */
int cluster_container_create(struct cluster *cluster, struct cluster_node *node,
			     struct fairlead_error *ret_error);
int cluster_lock_taken(struct cluster *cluster,
		       struct fairlead_error *ret_error);

/* daemons.c: start what runs in a container. */
int cluster_start_manager(struct cluster *cluster,
			  struct fairlead_error *ret_error);
int cluster_start_softnic(struct cluster *cluster, struct cluster_node *node,
			  struct fairlead_error *ret_error);
/* Nothing is done where there is none. */
int cluster_start_softfm(struct cluster *cluster,
			 struct fairlead_error *ret_error);
/* Nothing is done where there is no Elan, or it runs. */
int cluster_start_rms(struct cluster *cluster, struct cluster_node *node,
		      struct fairlead_error *ret_error);
int cluster_start_daemon(struct cluster *cluster, struct cluster_node *node,
			 struct fairlead_error *ret_error);
