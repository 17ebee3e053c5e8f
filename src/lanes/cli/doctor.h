/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `fairlead doctor` looks at, a file for each place: this machine's
 * files, the manager, this node's daemon. A check says what it found in any
 * case, so that nothing is taken for checked that was not.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "lanes/cli/cli.h"
#include "lanes/config/config.h"
#include "fairlead.h"

enum doctor_level {
	DOCTOR_OK,
	DOCTOR_SKIP, /* could not be looked at; the text says why */
	DOCTOR_WARN,
	DOCTOR_FAIL,
};

struct doctor {
	struct cli *cli;
	const struct config *config; /* NULL: it cannot be read */
	json_t *findings;
	int failed_count;
	json_t *seen_nodes; /* names whose objects were looked at */
	/* "NODE DEVICE/ID" of objects that the manager knows a grant of. */
	json_t *known_objects;
	json_t *node_keys; /* ids in this node's key file; NULL: not known */
};

/* Add a finding. advice: what to do; NULL when there is nothing to do. */
void doctor_say(struct doctor *doctor, enum doctor_level level,
		const char *check, const char *advice, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* Keys, library, folders, free disk space. */
void doctor_check_files(struct doctor *doctor, unsigned int roles);
/* The manager at its socket, its pools, and its nodes. */
void doctor_check_manager(struct doctor *doctor, const char *socket_path);
/* Is MUNGE there, for clients over TCP? socket: munged's, "" its default. */
void doctor_check_munge(struct doctor *doctor, const char *munge_socket);
/* The daemon of this node, its devices, and the environment. */
void doctor_check_node(struct doctor *doctor, const char *socket_path);

/*
 * A setting of a job manager's plugin beside ours: OK, or else `level`. where:
 * its place; why: what happens if they differ.
 */
void doctor_check_setting(struct doctor *doctor, enum doctor_level level,
			  const char *check, const char *where,
			  const char *name, const char *value,
			  const char *wanted, const char *why);
/* Slurm's configuration, hooks, plugin and nodes. */
void doctor_check_slurm(struct doctor *doctor);
/* The instance of Flux, its plugins and ours, and its nodes. */
void doctor_check_flux(struct doctor *doctor);

/*
 * A node's `objects` answer: the default service, and what is not ours. Once
 * for each node: it may be asked directly and through the manager.
 */
void doctor_check_objects(struct doctor *doctor, const char *node,
			  const json_t *answer);
/* The array of node-list: drivers that cannot be used, or lack something. */
void doctor_check_levels(struct doctor *doctor, const json_t *nodes);
