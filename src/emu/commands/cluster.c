/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `fairlead cluster`: nodes on this machine, for trying things out and for
 * tests. What it does is in src/emu/cluster; here are its options and words.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"
#include "emu/cluster/cluster.h"
#include "emu/cluster/launch.h"
#include "emu/cluster/container.h"
#include "lanes/proto/names.h"

#define NODES_DEFAULT 4
#define NICS_DEFAULT  2
#define RAILS_DEFAULT 1

#define OPTION_DIR                                                    \
	{                                                             \
		.name = "dir", .value = "DIR",                        \
		.help = "where the cluster is (default: a directory " \
			"of the user's)"                              \
	}

static int open_cluster(struct cli *cli, struct cluster **ret_cluster)
{
	struct fairlead_error error;

	if (cluster_open(cli_option(cli, "dir"), ret_cluster, &error) < 0)
		return cli_error(cli, &error);
	return EXIT_DONE;
}

/* The cluster and the member of it that the first argument names; NULL in
 * *ret_node stands for the manager. */
static int open_member(struct cli *cli, struct cluster **ret_cluster,
		       struct cluster_node **ret_node)
{
	const char *name = cli_argument(cli, 0);
	int code = open_cluster(cli, ret_cluster);

	*ret_node = NULL;
	if (code != EXIT_DONE || strcmp(name, "manager") == 0)
		return code;
	*ret_node = cluster_node_find(*ret_cluster, name);
	if (*ret_node == NULL)
		return cli_misuse(cli, "there is no node '%s': it is n0 to n%u",
				  name, (*ret_cluster)->node_count - 1);
	return EXIT_DONE;
}

static void print_progress(void *arg, const char *line)
{
	struct cli *cli = arg;

	fprintf(cli->err, "fairlead: %s\n", line);
}

/* "a,b" into an array that points into text. */
static size_t split_settings(char *text, const char **settings)
{
	size_t count = 0;

	for (char *at = text ? strtok(text, ",") : NULL;
	     at != NULL && count < CLUSTER_SETTINGS_MAX; at = strtok(NULL, ","))
		settings[count++] = at;
	return count;
}

static const struct option_spec up_options[] = {
	{ .name = "nodes",
	  .letter = 'N',
	  .value = "COUNT",
	  .help = "how many nodes (default: 4)" },
	{ .name = "nics",
	  .value = "COUNT",
	  .help = "software NICs of a node (default: 2)" },
	{ .name = "rails",
	  .value = "COUNT",
	  .help = "NICs of plain Ethernet of a node (default: 1)" },
	{ .name = "generation",
	  .value = "GENERATION",
	  .help = "of the NIC's driver: 12, 13 or 14" },
	{ .name = "set",
	  .letter = 's',
	  .is_joined = true,
	  .value = "SECTION.NAME=VALUE",
	  .help = "a setting: slingshot.vni_pool=1024-1031; or softfm, a "
		  "software fabric manager" },
	{ .name = "quiet", .letter = 'q', .help = "print only errors" },
	OPTION_DIR,
	{ 0 },
};

static int run_up(struct cli *cli)
{
	const char *settings[CLUSTER_SETTINGS_MAX];
	const char *given = cli_option(cli, "set");
	_auto_(freep) char *text = given ? memory_text(given) : NULL;
	uint64_t nodes = NODES_DEFAULT, nics = NICS_DEFAULT;
	uint64_t rails = RAILS_DEFAULT;
	struct cluster_options options = {
		.dir = cli_option(cli, "dir"),
		.generation = cli_option(cli, "generation"),
		.settings = settings,
		.setting_count = split_settings(text, settings),
		.progress = cli_flag(cli, "quiet") ? NULL : print_progress,
		.progress_arg = cli,
	};
	struct cluster where = { 0 };
	struct fairlead_error error;
	char socket[4200];
	int code = cli_number(cli, "nodes", 1, CLUSTER_NODES_MAX, &nodes);

	if (code == EXIT_DONE)
		code = cli_number(cli, "nics", 1, CLUSTER_NICS_MAX, &nics);
	if (code == EXIT_DONE)
		code = cli_number(cli, "rails", 0, CLUSTER_RAILS_MAX, &rails);
	if (code != EXIT_DONE)
		return code;
	options.node_count = (uint32_t)nodes;
	options.nic_count = (uint32_t)nics;
	options.rail_count = (uint32_t)rails;
	if (options.dir == NULL)
		cluster_default_dir(where.dir, sizeof(where.dir));
	else
		snprintf(where.dir, sizeof(where.dir), "%s", options.dir);
	options.dir = where.dir;
	if (cluster_options_check(&options, &error) < 0)
		return cli_misuse(cli, "%s", error.text);
	if (cluster_up(&options, &error) < 0)
		return cli_error(cli, &error);
	cluster_socket(&where, socket, sizeof(socket));
	if (!cli_flag(cli, "quiet"))
		fprintf(cli->err,
			"fairlead: %" PRIu64 " nodes are up in %s; in your "
			"shell:\n",
			nodes, where.dir);
	fputs("export FAIRLEAD_CLUSTER=", cli->out);
	output_quoted(cli->out, where.dir);
	fputs(" FAIRLEAD_SOCKET=", cli->out);
	output_quoted(cli->out, socket);
	fputc('\n', cli->out);
	return EXIT_DONE;
}

static const struct subcommand command_up = {
	.name = "up",
	.summary =
		"Start emulated nodes, their NICs and daemons, and a manager",
	.details = "Prints the variables by which other commands find it.",
	.options = up_options,
	.run = run_up,
};

static const struct option_spec dir_options[] = { OPTION_DIR, { 0 } };

static int run_down(struct cli *cli)
{
	_auto_(cluster_closep) struct cluster *cluster = NULL;
	struct fairlead_error error;
	int code = open_cluster(cli, &cluster);

	if (code == EXIT_DONE && cluster_down(cluster, &error) < 0)
		code = cli_error(cli, &error);
	return code;
}

static const struct subcommand command_down = {
	.name = "down",
	.summary = "End all processes of the cluster, and remove its directory",
	.options = dir_options,
	.run = run_down,
};

static const struct option_spec exec_options[] = {
	{ .name = "user",
	  .letter = 'u',
	  .value = "USER",
	  .help = "run the program as this user" },
	{ .name = "job",
	  .letter = 'j',
	  .value = "KEY|GRANT",
	  .help = "run it as a task of this job: in its lane, as its owner" },
	OPTION_DIR,
	{ 0 },
};

/* The job that is active, as the manager knows it. */
static int find_job(struct cli *cli, const struct cluster *cluster,
		    const char *selector, json_t **ret_grant)
{
	_auto_(fairlead_closep) struct fairlead *handle = NULL;
	json_auto_t *answer = NULL;
	json_auto_t *members = json_object();
	json_t *grant;
	struct fairlead_error error;
	char socket[4200];
	size_t i;
	int code = remote_selector(cli, selector, members);

	if (code != EXIT_DONE)
		return code;
	cluster_socket(cluster, socket, sizeof(socket));
	if (fairlead_open(socket, &handle, &error) < 0)
		return cli_error(cli, &error);
	code = remote_call(cli, handle, "explain", json_incref(members),
			   &answer);
	if (code != EXIT_DONE)
		return code;
	json_array_foreach (json_object_get(answer, "grants"), i, grant) {
		if (strcmp(output_text(grant, "state"), "active") != 0)
			continue;
		*ret_grant = json_incref(grant);
		return EXIT_DONE;
	}
	return cli_fail(cli, EXIT_FAILED, "job '%s' is not active", selector);
}

static int enter_job(struct cli *cli, const struct cluster *cluster,
		     const struct cluster_node *node, const char *selector)
{
	json_auto_t *grant = NULL;
	struct request_key key;
	struct fairlead_error error;
	struct launch_job job;
	int code = find_job(cli, cluster, selector, &grant);

	if (code != EXIT_DONE)
		return code;
	if (request_key_parse(output_text(grant, "key"), &key, &error) < 0)
		return cli_error(cli, &error);
	job = (struct launch_job){
		.grant_id = (uint64_t)output_number(grant, "grant_id"),
		.submitter = key.submitter,
		.job = key.job,
		.attempt = key.attempt,
		.has_lane = !json_is_false(json_object_get(grant, "has_lane")),
		.uid = (uid_t)output_number(grant, "uid"),
		.gid = (gid_t)output_number(grant, "gid"),
	};
	return launch_enter(cluster, node, &job, &error) < 0
		       ? cli_error(cli, &error)
		       : EXIT_DONE;
}

static int enter_member(struct cli *cli, const struct cluster *cluster,
			const struct cluster_node *node)
{
	const char *user = cli_option(cli, "user");
	const char *job = cli_option(cli, "job");
	struct fairlead_error error;
	uid_t uid = geteuid();

	if (job != NULL && (user != NULL || node == NULL))
		return cli_misuse(cli, "--job is for a node, without --user: a "
				       "job has an owner");
	if (job != NULL)
		return enter_job(cli, cluster, node, job);
	if (user != NULL && !output_parse_user(user, &uid))
		return cli_misuse(cli, "there is no user '%s'", user);
	if (container_enter(node ? &node->holder : &cluster->fabric, &error) <
		    0 ||
	    (user != NULL && launch_become_owner(cluster, uid, &error) < 0))
		return cli_error(cli, &error);
	launch_put_path(cluster);
	return EXIT_DONE;
}

static int run_exec(struct cli *cli)
{
	_auto_(cluster_closep) struct cluster *cluster = NULL;
	struct cluster_node *node = NULL;
	char **program = cli->arguments + 1;
	int code;

	if (strcmp(*program, "--") == 0 && *++program == NULL)
		return cli_misuse(cli, "there is no program after --");
	code = open_member(cli, &cluster, &node);
	if (code == EXIT_DONE)
		code = enter_member(cli, cluster, node);
	if (code != EXIT_DONE)
		return code;
	setenv("FAIRLEAD_CLUSTER", cluster->dir, 1);
	unsetenv("FAIRLEAD_SOCKET"); /* the node's own are at their places */
	execvp(*program, program);
	return cli_fail(cli, errno == ENOENT ? 127 : 126, "cannot run '%s': %s",
			*program, strerror(errno));
}

static const struct subcommand command_exec = {
	.name = "exec",
	.summary = "Run a program on a node, or where the manager runs",
	.arguments = "NODE|manager -- PROGRAM [ARGUMENT...]",
	.options = exec_options,
	.is_prefix = true,
	.run = run_exec,
};

static int run_reboot(struct cli *cli)
{
	_auto_(cluster_closep) struct cluster *cluster = NULL;
	struct cluster_node *node = NULL;
	struct fairlead_error error;
	int code = open_member(cli, &cluster, &node);

	if (code != EXIT_DONE)
		return code;
	if (node == NULL)
		return cli_misuse(cli, "the manager is not a node; use "
				       "'fairlead cluster restart manager'");
	if (cluster_reboot(cluster, node, &error) < 0)
		return cli_error(cli, &error);
	return EXIT_DONE;
}

static const struct subcommand command_reboot = {
	.name = "reboot",
	.summary = "Crash a node and start it again with another incarnation",
	.arguments = "NODE",
	.options = dir_options,
	.run = run_reboot,
};

static int run_restart(struct cli *cli)
{
	_auto_(cluster_closep) struct cluster *cluster = NULL;
	struct cluster_node *node = NULL;
	struct fairlead_error error;
	bool is_softfm = strcmp(cli_argument(cli, 0), "softfm") == 0;
	int code = is_softfm ? open_cluster(cli, &cluster)
			     : open_member(cli, &cluster, &node);

	if (code == EXIT_DONE && is_softfm &&
	    cluster_restart_softfm(cluster, &error) < 0)
		return cli_error(cli, &error);
	if (code == EXIT_DONE && !is_softfm &&
	    cluster_restart(cluster, node, &error) < 0)
		code = cli_error(cli, &error);
	return code;
}

static const struct subcommand command_restart = {
	.name = "restart",
	.summary = "Restart a daemon, whether it runs or has died",
	.arguments = "NODE|manager|softfm",
	.options = dir_options,
	.run = run_restart,
};

static const struct option_spec show_options[] = {
	OPTION_JSON,
	OPTION_NO_HEADER,
	OPTION_DIR,
	{ 0 },
};

static json_t *pid_json(const struct cluster_process *process)
{
	return json_integer(process_is_alive(process) ? process->pid : 0);
}

static json_t *members_json(const struct cluster *cluster)
{
	json_t *nodes = json_array();

	for (uint32_t i = 0; i < cluster->node_count; i++) {
		const struct cluster_node *node = &cluster->nodes[i];

		json_array_append_new(
			nodes,
			json_pack("{s:s, s:o, s:o, s:o, s:o}", "name",
				  node->name, "holder", pid_json(&node->holder),
				  "softnic", pid_json(&node->softnic), "rms",
				  pid_json(&node->rms), "daemon",
				  pid_json(&node->daemon)));
	}
	return json_pack("{s:s, s:s, s:I, s:I, s:b, s:o, s:o, s:o, s:o}", "dir",
			 cluster->dir, "cgroup", cluster->cgroup, "nics",
			 (json_int_t)cluster->nic_count, "rails",
			 (json_int_t)cluster->rail_count, "user_mode",
			 cluster->is_user_mode, "fabric",
			 pid_json(&cluster->fabric), "manager",
			 pid_json(&cluster->manager), "softfm",
			 pid_json(&cluster->softfm), "nodes", nodes);
}

static void print_members(struct cli *cli, const json_t *members)
{
	static const struct column columns[] = {
		{ "MEMBER", 0, "name" },
		{ "HOLDER", COLUMN_RIGHT, "holder" },
		{ "SOFTNIC", COLUMN_RIGHT, "softnic" },
		{ "DAEMON", COLUMN_RIGHT, "daemon" },
		{ 0 },
	};
	json_auto_t *rows =
		json_pack("[{s:s, s:O, s:O}]", "name", "manager", "holder",
			  json_object_get(members, "fabric"), "daemon",
			  json_object_get(members, "manager"));

	json_array_extend(rows, json_object_get(members, "nodes"));
	output_table(cli, columns, rows);
}

static int run_show(struct cli *cli)
{
	_auto_(cluster_closep) struct cluster *cluster = NULL;
	json_auto_t *members = NULL;
	int code = open_cluster(cli, &cluster);

	if (code != EXIT_DONE)
		return code;
	members = members_json(cluster);
	return output_answer(cli, members, print_members);
}

static const struct subcommand command_show = {
	.name = "show",
	.summary =
		"Show the process ids of the cluster; 0: the process is gone",
	.options = show_options,
	.run = run_show,
};

static const struct subcommand *const commands[] = {
	&command_up,     &command_down,    &command_show, &command_exec,
	&command_reboot, &command_restart, NULL,
};

const struct subcommand command_cluster = {
	.name = "cluster",
	.summary = "Emulate a cluster on this machine",
	.commands = commands,
};
