/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asking a daemon. Every function prints its errors and returns an exit code;
 * with --json an answer that is an error is printed too.
 */
#pragma once

#include "base/cleanup.h"
#include "lanes/cli/cli.h"
#include "fairlead.h"

DEFINE_AUTO(struct fairlead, fairlead_close)

enum remote_daemon {
	REMOTE_MANAGER,
	REMOTE_NODE, /* of this node */
};

/* Waits for nodes: the daemon has its own limit, ours comes from --timeout. */
#define REMOTE_TIMEOUT_NONE 0
/* Nodes of one node-query: what they answer fits a frame. */
#define REMOTE_QUERY_NODES 16
#define REMOTE_TIMEOUT_MS  60000

/* The socket: --socket, the environment, cli->manager, or the default. */
const char *remote_socket(const struct cli *cli, enum remote_daemon daemon);

/* The caller closes *ret_handle. timeout_ms holds where --timeout is absent. */
int remote_open(struct cli *cli, enum remote_daemon daemon, uint32_t timeout_ms,
		struct fairlead **ret_handle);

/*
 * Call an operation, and print nothing: 0, or the negative errno of the answer,
 * or of no answer. members may be NULL. *ret_answer is the answer without what
 * the protocol puts around it (v, id, result), with all its pages in one; it is
 * also written when the answer is an error, and NULL when none came. The caller
 * drops it.
 */
int remote_try(struct fairlead *handle, const char *op, json_t *members_owned,
	       json_t **ret_answer, struct fairlead_error *ret_error);

/* The same, which prints errors. ret_answer may be NULL. */
int remote_call(struct cli *cli, struct fairlead *handle, const char *op,
		json_t *members_owned, json_t **ret_answer);

/* Open, call, close. */
int remote_ask(struct cli *cli, enum remote_daemon daemon, uint32_t timeout_ms,
	       const char *op, json_t *members_owned, json_t **ret_answer);

/* The run() of a subcommand that is one request: see struct subcommand. */
int remote_run(struct cli *cli);

/* --- members of requests, from the command line --- */

/* The nodes of the first argument, --reason and --force. */
int remote_node_members(struct cli *cli, json_t *members);
/*
 * What a person names: a grant id, a grant in text form, a key
 * SUBMITTER/JOB/ATTEMPT or a job SUBMITTER/JOB.
 */
int remote_selector(struct cli *cli, const char *text, json_t *members);
/* The first argument as that. */
int remote_selector_members(struct cli *cli, json_t *members);
bool remote_is_grant_text(const char *text);
/* A grant id or a grant in text form. */
int remote_grant(struct cli *cli, const char *text, uint64_t *ret_grant_id);
/* The argument, else FAIRLEAD_JOB; EXIT_USAGE when there is neither. */
int remote_job(struct cli *cli, const char *argument, const char **ret_job);
