/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration, the same on all nodes:
 *
 *	key = "/etc/scoll-exec.key"      # 32 bytes, of all nodes
 *	socket = "/run/scoll-exec/socket"
 *	user = "nobody"                  # whose the part on the network is
 *	root = false                     # whether root's commands are run
 *	nodes "n[1-40]" { addresses = "10.0.0.[1-40]" }
 *
 * README.md has all settings.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <scoll.h>

#include "base/cleanup.h"
#include "base/conf.h"
#include "base/error.h"
#include "base/hostlist.h"
#include "limits.h"

struct exec_config_node {
	char name[HOSTLIST_NAME_MAX + 1];
	char address[HOSTLIST_NAME_MAX + 1];
	scoll_nid_t nid; /* of the name */
	int line;        /* in the order of the file: 0, 1, ... */
};

struct exec_config {
	struct conf conf; /* the file; texts are in it */
	const char *key_path;
	const char *socket_path;
	const char *munge_socket; /* "" is libmunge's default */
	const char *user;
	const char *provider;
	uint32_t port_number;
	char port[8]; /* as a text */
	bool is_root_allowed;
	/*
	 * For emulated nodes, which share a munged: it reports a replay for a
	 * credential that another node has decoded. A node still refuses
	 * credentials that it has seen itself.
	 */
	bool is_munged_shared;
	uint32_t timeout_max_ms;
	uint32_t output_bytes;  /* of a command */
	uint32_t commands_max;  /* that run at once */
	uint32_t commands_user; /* of one user */
	uint32_t gossip_ms;
	uint32_t rtt_ms;
	struct exec_config_node *nodes; /* by rising NID */
	int node_count;
	int self; /* our index, or -1 */
};

/* name: our node's. -EINVAL with all errors, one a line: path, line, text. */
int config_load(const char *path, const char *name,
		struct exec_config **ret_config,
		struct fairlead_error *ret_error);
void config_destroy(struct exec_config *config);
DEFINE_AUTO(struct exec_config, config_destroy)

/* Index of a node by its name or NID, or -1. */
int config_find(const struct exec_config *config, const char *name);
int config_find_nid(const struct exec_config *config, scoll_nid_t nid);
