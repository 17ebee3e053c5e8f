/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration file (doc/rfc/configuration.md), for every role.
 *
 * A file is read and checked as a whole: either there is a complete struct
 * config, with the defaults filled in, or there is a text with all its errors,
 * one a line, each beginning with `file:line:`. Texts are the config's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/conf.h"
#include "base/log.h"
#include "fairlead_driver.h"

#define CONFIG_FILE_DEFAULT       "/etc/fairlead/fairlead.conf"

#define CONFIG_SUBMITTERS_MAX     64
#define CONFIG_TIMEOUT_MAX_S      3600 /* of what clients wait for */
#define CONFIG_HOUSEKEEPING_MAX_S 86400

enum config_role {
	CONFIG_ROLE_MANAGER = 1u << 0,
	CONFIG_ROLE_NODE = 1u << 1,
	/* Asks daemons, who know what their drivers make of the settings. */
	CONFIG_ROLE_CLIENT = 1u << 2,
};

struct config_submitter {
	const char *name;
	uid_t uid;
};

struct config_manager {
	const char *listen; /* numeric ADDRESS:PORT */
	const char *socket;
	const char *listen_clients; /* numeric ADDRESS:PORT, or "" */
	const char *munge_socket; /* absolute path, or "" for libmunge's own */
	const char *state;        /* a directory */
	const char *key;
	const char *nodes; /* host list, or "" */
	const char *interconnect;
	const char *user;
	uint32_t apply_timeout_ms;
	uint32_t revoke_timeout_ms;
	const char *drain_command;   /* absolute path, or "" */
	const char *undrain_command; /* likewise */
	const char *metrics;         /* numeric ADDRESS:PORT, or "" */
	struct config_submitter *submitters;
	size_t submitter_count;
};

struct config_node {
	const char *name;    /* "" stands for the host's, up to the first dot */
	const char *manager; /* HOST:PORT; "" when the file does not say */
	const char *socket;
	const char *run;  /* a directory */
	const char *jobs; /* a directory */
	const char *key;
	const char *user;
	const char
		*incarnation; /* a file, or a directory of the software NIC */
	uint32_t epilog_timeout_ms;
	uint32_t housekeeping_timeout_ms;
};

/* How manager and nodes reach each other with commands and answers. */
struct config_fabric {
	const char *provider; /* "tcp", or one of libfabric */
	const char *listen;   /* see address_parse_listen(), or "" */
	const char
		*listen_manager; /* the same, of the manager; "": as listen */
};

/*
 * How the hooks of a job manager, Slurm or Flux, and `fairlead reconcile` find
 * Fairlead and the job manager.
 */
struct config_job_manager {
	const char *submitter; /* SUBMITTER of its jobs' keys */
	const char *manager;   /* absolute path of a socket, tcp://.., or "" */
	const char *commands;  /* directory of scontrol, squeue and the like */
	/* Slurm only: */
	const char *conf; /* slurm.conf for these, or "": their own */
	/* For the tasks of a job that ends, before its lane is taken back. */
	uint32_t grace_ms;
	/* A hook waits so much longer for an answer than the daemon may take. */
	uint32_t answer_timeout_ms;
};

/* One driver's section. A driver without one, but `none`, is off. */
struct config_driver {
	const struct fairlead_driver *driver;
	const struct fairlead_setting *settings;
	size_t setting_count;
	unsigned int line; /* where the section begins; 0: it has none */
};

struct config {
	struct conf conf; /* the file as it stands */
	char *file;
	const char *cluster;
	struct config_manager manager;
	struct config_node node;
	struct config_fabric fabric;
	struct config_job_manager slurm;
	struct config_job_manager flux;
	struct config_driver *drivers;
	size_t driver_count;
	enum log_level log_level;
};

/*
 * Read and check a file for these roles (flags; 0: syntax and values only).
 * drivers: those that are built in. With privileges the file itself has to be
 * root's and may not be written by others.
 *
 * -EINVAL: the file is wrong, -ENOENT, -EACCES, -EFBIG, -EIO: it cannot be
 * read. *ret_errors (the caller frees it) is written on failure only and has
 * all errors, one a line.
 */
int config_load(const char *path, unsigned int roles,
		const struct fairlead_driver *const *drivers,
		size_t driver_count, struct config **ret_config,
		char **ret_errors);
/* The same for a text, which `name` stands for in errors. */
int config_parse(const char *text, size_t size, const char *name,
		 unsigned int roles,
		 const struct fairlead_driver *const *drivers,
		 size_t driver_count, struct config **ret_config,
		 char **ret_errors);
void config_destroy(struct config *config);
DEFINE_AUTO(struct config, config_destroy)

/*
 * Check the files that a role needs, as the process that would use them: key
 * files are 0600 and root's (the manager's: or its user's), commands can be
 * run, users exist. Errors as above. Call it before privileges are given up.
 */
int config_check_files(const struct config *config, unsigned int roles,
		       char **ret_errors);

/* The driver's section, or NULL when it is off. */
const struct config_driver *config_driver_find(const struct config *config,
					       const char *name);

/* Where calls of, or about, a job manager find the manager; borrowed. */
const char *config_manager_of(const struct config *config,
			      const struct config_job_manager *section);

/* Where the manager's endpoint is to be; borrowed. */
const char *config_fabric_of_manager(const struct config_fabric *fabric);

/*
 * What the manager takes live of another configuration, besides what its core
 * reports (nodes, interconnects, timeouts): a text, one line a change (""
 * when there is none); the caller frees it.
 */
char *config_changes(const struct config *running, const struct config *wanted);

/*
 * Which settings of a role differ that only a restart changes: a text, one a
 * line ("" when there are none); the caller frees it.
 */
char *config_restart_needed(const struct config *running,
			    const struct config *wanted, enum config_role role);
