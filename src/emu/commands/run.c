/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `fairlead run`: a small job manager for the emulated cluster. Reserve, make
 * cgroups, apply, start the tasks on the nodes (on Elan in a program
 * description of each), wait, account, end what is left of them, release. A
 * signal, or a reader of the output that went away, ends the job and not the
 * release of its lane; when it is killed, what is on the nodes is ended all the
 * same.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/memory.h"
#include "base/runs.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"
#include "emu/commands/run_inherited.h"
#include "lanes/driver/driver.h"
#include "emu/cluster/cluster.h"
#include "emu/cluster/launch.h"
#include "emu/cluster/program.h"

#define SUBMITTER         "run"
#define RECONNECT_MS      60000
#define RECONNECT_STEP_NS 100000000

struct cluster_run {
	struct cli *cli;
	struct cluster *cluster;
	struct fairlead *handle; /* NULL: the connection is lost */
	char socket[4200];
	struct fairlead_grant *grant;
	const struct fairlead_driver *driver; /* of the lane */
	struct fairlead_lane lane;            /* as far as its tasks need it */
	bool has_lane;    /* "off", or a driver without: nothing is on a node */
	uint32_t program; /* that is made for it on each node; 0: none */
	struct ending ending;
	uid_t uid;
	gid_t gid;
	char job[32];
	char key[64];
	struct cluster_node *nodes[CLUSTER_NODES_MAX];
	uint32_t tasks[CLUSTER_NODES_MAX];
	uint32_t cores[CLUSTER_NODES_MAX];
	uint32_t node_count;
	uint32_t cpus_per_task;
	char *node_list;
	bool is_talking;
	sigset_t signals; /* kept from ending us while there is a lane */
	sigset_t signal_mask;
};

static const struct option_spec options[] = {
	{ .name = "nodes",
	  .letter = 'N',
	  .value = "COUNT|HOSTLIST",
	  .help = "number of nodes, or their names (default: 1)" },
	{ .name = "tasks",
	  .letter = 'n',
	  .value = "COUNT",
	  .help = "total number of tasks (default: one per node)" },
	{ .name = "cpus-per-task",
	  .letter = 'c',
	  .value = "COUNT",
	  .help = "cores of a task (default: 1)" },
	OPTION_USER,
	OPTION_INTERCONNECT,
	OPTION_DRIVER_OPTION,
	{ .name = "inherit",
	  .help = "run here in the lane of this process; reserve none" },
	{ .name = "no-label", .help = "do not prefix output with the task" },
	{ .name = "verbose",
	  .letter = 'v',
	  .help = "print each step (default on a terminal)" },
	{ .name = "dir",
	  .value = "DIR",
	  .help = "where the cluster is (default: a directory of the user's)" },
	{ 0 },
};

static void say(const struct cluster_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct cluster_run *run, const char *format, ...)
{
	va_list args;

	if (!run->is_talking)
		return;
	fprintf(run->cli->err, "run %s: ", run->job);
	va_start(args, format);
	vfprintf(run->cli->err, format, args);
	va_end(args);
	fputc('\n', run->cli->err);
}

static double elapsed_ms(const struct timespec *since)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - since->tv_sec) * 1e3 +
	       (double)(now.tv_nsec - since->tv_nsec) / 1e6;
}

/* A number that no other job of this cluster has: the file `jobs` counts. */
static int next_job(struct cluster_run *run)
{
	char path[4200], text[32] = "";
	_auto_(closep) int fd = -1;
	uint64_t number;

	snprintf(path, sizeof(path), "%s/jobs", run->cluster->dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || flock(fd, LOCK_EX) < 0 ||
	    pread(fd, text, sizeof(text) - 1, 0) < 0) {
		int result = -errno;

		cli_fail(run->cli, cli_exit_code(result),
			 "cannot count jobs in '%s': %s", path,
			 strerror(-result));
		if (cli_exit_code(result) == EXIT_DENIED)
			cli_hint(run->cli, "jobs are run by the user who made "
					   "the cluster; --user names whose "
					   "tasks they are");
		return cli_exit_code(result);
	}
	number = strtoull(text, NULL, 10) + 1;
	snprintf(run->job, sizeof(run->job), "%" PRIu64, number);
	if (pwrite(fd, run->job, strlen(run->job), 0) < 0)
		return cli_fail(run->cli, EXIT_FAILED, "cannot write '%s': %s",
				path, strerror(errno));
	snprintf(run->key, sizeof(run->key), SUBMITTER "/%s/0", run->job);
	return EXIT_DONE;
}

static int take_node(struct cluster_run *run, const char *name)
{
	struct cluster_node *node = cluster_node_find(run->cluster, name);

	if (node == NULL)
		return cli_misuse(run->cli, "there is no node '%s'", name);
	if (run->node_count == CLUSTER_NODES_MAX)
		return cli_misuse(run->cli, "more than %d nodes",
				  CLUSTER_NODES_MAX);
	run->nodes[run->node_count++] = node;
	return EXIT_DONE;
}

/* The first `count` nodes that are up and not drained. */
static int choose_nodes(struct cluster_run *run, uint64_t count)
{
	json_auto_t *answer = NULL;
	json_t *node;
	size_t i;
	int code =
		remote_call(run->cli, run->handle, "node-list", NULL, &answer);

	json_array_foreach (json_object_get(answer, "nodes"), i, node) {
		if (code != EXIT_DONE || run->node_count == count)
			break;
		if (strcmp(output_text(node, "state"), "up") == 0 &&
		    !json_is_true(json_object_get(node, "drained")))
			code = take_node(run, output_text(node, "name"));
	}
	if (code == EXIT_DONE && run->node_count < count)
		return cli_fail(run->cli, EXIT_LATER,
				"only %u of %" PRIu64
				" nodes are up and not drained; see "
				"'fairlead node list'",
				run->node_count, count);
	return code;
}

static int find_nodes(struct cluster_run *run)
{
	const char *text = cli_option(run->cli, "nodes");
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;
	struct fairlead_error error;
	uint64_t count = 1;
	int code = EXIT_DONE;

	if (text == NULL || text[strspn(text, "0123456789")] == '\0') {
		code = cli_number(run->cli, "nodes", 1, CLUSTER_NODES_MAX,
				  &count);
		return code == EXIT_DONE ? choose_nodes(run, count) : code;
	}
	if (hostlist_parse(text, &list, &error) < 0)
		return cli_misuse(run->cli, "%s", error.text);
	for (size_t i = 0; i < list->count && code == EXIT_DONE; i++)
		code = take_node(run, list->names[i]);
	return code;
}

static int place_tasks(struct cluster_run *run)
{
	const char *names[CLUSTER_NODES_MAX];
	uint64_t tasks = run->node_count, cpus = 1;
	int code = cli_number(run->cli, "tasks", 1, LAUNCH_TASKS_MAX, &tasks);

	if (code == EXIT_DONE)
		code = cli_number(run->cli, "cpus-per-task", 1, 1024, &cpus);
	if (code != EXIT_DONE)
		return code;
	if (tasks < run->node_count)
		return cli_misuse(run->cli,
				  "%u nodes need at least as many tasks, not "
				  "%" PRIu64,
				  run->node_count, tasks);
	run->cpus_per_task = (uint32_t)cpus;
	for (uint32_t i = 0; i < run->node_count; i++) {
		run->tasks[i] = (uint32_t)(tasks / run->node_count) +
				(i < tasks % run->node_count);
		run->cores[i] = run->tasks[i] * run->cpus_per_task;
		names[i] = run->nodes[i]->name;
	}
	run->node_list = memory_have(hostlist_format(names, run->node_count));
	return EXIT_DONE;
}

static int find_owner(struct cluster_run *run)
{
	const char *user = cli_option(run->cli, "user");
	const struct passwd *entry;

	run->uid = getuid();
	run->gid = getgid();
	if (user == NULL)
		return EXIT_DONE;
	if (!output_parse_user(user, &run->uid))
		return cli_misuse(run->cli, "there is no user '%s'", user);
	entry = getpwuid(run->uid);
	run->gid = entry ? entry->pw_gid : (gid_t)run->uid;
	if (run->cluster->is_user_mode && run->uid != 0)
		return cli_fail(run->cli, EXIT_DENIED,
				"this cluster was made by a user who is not "
				"root, and only that user exists in it");
	return EXIT_DONE;
}

static bool is_lost(int result)
{
	return result == -ECONNRESET || result == -EPIPE ||
	       result == -ECONNREFUSED || result == -ENOENT;
}

/* The manager cannot now: its disk is full, or it reads its journal again. */
static bool is_passing(int result)
{
	return is_lost(result) || result == -EAGAIN || result == -ENOSPC ||
	       result == -EIO;
}

/* A manager that is restarted comes back. */
static int reconnect(struct cluster_run *run, struct fairlead_error *ret_error)
{
	return run->handle != NULL
		       ? 0
		       : fairlead_open(run->socket, &run->handle, ret_error);
}

static void disconnect_lost(struct cluster_run *run, int result)
{
	if (!is_lost(result))
		return;
	fairlead_close(run->handle);
	run->handle = NULL;
}

/* False when a signal came meanwhile, or the time is up. */
static bool wait_to_repeat(const struct cluster_run *run,
			   const struct timespec *start)
{
	const struct timespec step = { .tv_nsec = RECONNECT_STEP_NS };

	return elapsed_ms(start) < RECONNECT_MS &&
	       sigtimedwait(&run->signals, NULL, &step) < 0;
}

static int fail_with_lane(const struct cluster_run *run,
			  const struct fairlead_error *error, const char *how)
{
	char hint[128];

	cli_error(run->cli, error);
	snprintf(hint, sizeof(hint), "the job %s until 'fairlead release %s'",
		 how, run->key);
	cli_hint(run->cli, hint);
	return cli_exit_code(error->code);
}

/* Without an answer it is not known whether there is a lane: ask again. */
static int reserve_once(struct cluster_run *run,
			const struct fairlead_request *request, bool *is_unsure,
			struct fairlead_error *ret_error)
{
	int result = reconnect(run, ret_error);

	if (result == 0) {
		result = fairlead_reserve(run->handle, request, &run->grant,
					  ret_error);
		*is_unsure = is_lost(result) || result == -ETIMEDOUT ||
			     (*is_unsure && is_passing(result));
	}
	disconnect_lost(run, result);
	return result;
}

static int reserve(struct cluster_run *run)
{
	_auto_(freep) char *cores = runs_format(run->cores, run->node_count);
	_auto_(freep) char *tasks = runs_format(run->tasks, run->node_count);
	struct fairlead_request request = {
		.key = run->key,
		.uid = run->uid,
		.gid = run->gid,
		.nodes = run->node_list,
		.cores = cores,
		.tasks = tasks,
		.cpus_per_task = run->cpus_per_task,
		.interconnect = cli_option(run->cli, "interconnect"),
		.options = cli_option(run->cli, "option"),
	};
	struct fairlead_error error;
	struct timespec start;
	bool is_unsure = false;
	int result;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		result = reserve_once(run, &request, &is_unsure, &error);
	} while (result < 0 && is_unsure && wait_to_repeat(run, &start));
	if (result < 0)
		return is_unsure
			       ? fail_with_lane(run, &error, "may have a lane")
			       : cli_error(run->cli, &error);
	say(run, "reserved grant %" PRIu64 " in %.1f ms",
	    fairlead_grant_id(run->grant), elapsed_ms(&start));
	return EXIT_DONE;
}

static int apply(struct cluster_run *run)
{
	_auto_(freep) char *warnings = NULL;
	struct fairlead_error error;
	struct timespec start;

	clock_gettime(CLOCK_MONOTONIC, &start);
	if (fairlead_apply(run->handle, fairlead_grant_id(run->grant),
			   &warnings, &error) < 0)
		return cli_error(run->cli, &error);
	if (warnings != NULL)
		output_lines(run->cli, "warning", warnings);
	say(run, "applied on %s in %.1f ms", run->node_list,
	    elapsed_ms(&start));
	return EXIT_DONE;
}

static int release_once(struct cluster_run *run, char **ret_warnings,
			struct fairlead_error *ret_error)
{
	int result = reconnect(run, ret_error);

	if (result == 0)
		result = fairlead_release(run->handle,
					  fairlead_grant_id(run->grant),
					  ret_warnings, ret_error);
	disconnect_lost(run, result);
	return result;
}

static int release(struct cluster_run *run)
{
	_auto_(freep) char *warnings = NULL;
	struct fairlead_error error;
	struct timespec start;
	int result;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		result = release_once(run, &warnings, &error);
	} while (is_passing(result) && wait_to_repeat(run, &start));
	if (result < 0)
		return fail_with_lane(run, &error, "keeps its lane");
	if (warnings != NULL)
		output_lines(run->cli, "warning", warnings);
	say(run, "released in %.1f ms", elapsed_ms(&start));
	return EXIT_DONE;
}

/* What the grant says in the open of what is made on the nodes. */
static int read_grant(struct cluster_run *run)
{
	json_auto_t *public =
		json_loads(fairlead_grant_public(run->grant), 0, NULL);
	const json_t *ids = json_object_get(public, "ids");
	struct fairlead_lane *lane = &run->lane;
	json_int_t program = 0;
	json_t *id;
	size_t i;

	run->has_lane = json_is_true(json_object_get(public, "has_lane"));
	if (!run->has_lane)
		return EXIT_DONE;
	run->driver = driver_find(output_text(public, "interconnect"));
	lane->grant_id = fairlead_grant_id(run->grant);
	lane->uid = run->uid;
	lane->gid = run->gid;
	snprintf(lane->options, sizeof(lane->options), "%s",
		 output_text(public, "options"));
	json_array_foreach (ids, i, id) {
		if (i == FAIRLEAD_LANE_IDS_MAX)
			return cli_fail(run->cli, EXIT_FAILED,
					"the grant has too many identifiers");
		lane->ids[lane->id_count++] = (uint32_t)json_integer_value(id);
	}
	json_unpack(public, "{s:{s:{s:I}}}", "context", "reservation",
		    "program", &program);
	run->program = (uint32_t)program;
	return EXIT_DONE;
}

/* They are there before the apply: a driver may know the job by them. */
static int begin_job(struct cluster_run *run)
{
	struct fairlead_error error;

	for (uint32_t i = 0; i < run->node_count; i++)
		if (cluster_job_begin(run->cluster, run->nodes[i],
				      fairlead_grant_id(run->grant),
				      &error) < 0)
			return cli_error(run->cli, &error);
	return EXIT_DONE;
}

static void account(const struct cluster_run *run)
{
	struct program_usage usage = { 0 };

	for (uint32_t i = 0; i < run->node_count && run->program != 0; i++)
		program_account(run->nodes[i], run->program, &usage);
	if (run->program != 0)
		say(run,
		    "program %u has used %" PRIu64 " ms, %" PRIu64
		    " ms in the kernel, and has sent %" PRIu64
		    " messages of %" PRIu64 " bytes",
		    run->program, usage.user_ms, usage.system_ms,
		    usage.transfers, usage.bytes);
}

static int start_tasks(struct cluster_run *run)
{
	struct launch_spec spec = {
		.cluster = run->cluster,
		.job = {
			.grant_id = fairlead_grant_id(run->grant),
			.submitter = SUBMITTER,
			.job = run->job,
			.has_lane = run->has_lane,
			.uid = run->uid,
			.gid = run->gid,
			.driver = run->driver,
			.lane = &run->lane,
			.program = run->program,
		},
		.signal_mask = &run->signal_mask,
		.nodes = run->nodes,
		.tasks = run->tasks,
		.cores = run->cores,
		.node_count = run->node_count,
		.node_list = run->node_list,
		.is_labelled = !cli_flag(run->cli, "no-label"),
		.argv = run->cli->arguments,
	};
	struct fairlead_error error;
	int result;

	fflush(NULL); /* tasks are forked: nothing may be written twice */
	result = launch_run(&spec, &error);
	if (result < 0)
		return cli_error(run->cli, &error);
	say(run, "tasks ended with %d", result);
	return result;
}

/* From here on there is a lane, which is released whatever comes. */
static int run_reserved(struct cluster_run *run)
{
	struct fairlead_error error;
	int code = read_grant(run);

	launch_pass("reserved");
	/* What is left behind is killed: nothing of it is busy then. */
	if (code == EXIT_DONE &&
	    ending_start(run->cluster, run->nodes, run->node_count,
			 fairlead_grant_id(run->grant), run->program,
			 &run->ending, &error) < 0)
		code = cli_error(run->cli, &error);
	if (code == EXIT_DONE)
		code = begin_job(run);
	launch_pass("begun");
	if (code == EXIT_DONE)
		code = apply(run); /* when it fails the manager has undone it */
	launch_pass("applied");
	if (code == EXIT_DONE) {
		code = start_tasks(run);
		account(run);
	}
	launch_pass("waited");
	ending_finish(&run->ending);
	launch_pass("ended");
	return code;
}

static int run_job(struct cluster_run *run)
{
	int code = find_owner(run), released;

	if (code == EXIT_DONE)
		code = find_nodes(run);
	if (code == EXIT_DONE)
		code = place_tasks(run);
	if (code == EXIT_DONE)
		code = next_job(run);
	if (code == EXIT_DONE) {
		launch_signals(&run->signals);
		sigprocmask(SIG_BLOCK, &run->signals, &run->signal_mask);
		sigdelset(&run->signals, SIGPIPE); /* the write says it */
		code = reserve(run);
	}
	if (code != EXIT_DONE)
		return code;
	code = run_reserved(run);
	released = release(run);
	return code != EXIT_DONE ? code : released;
}

static int run_run(struct cli *cli)
{
	struct cluster_run run = { .cli = cli, .ending.fd = -1 };
	struct fairlead_error error;
	int code;

	if (cli_flag(cli, "inherit"))
		return run_inherited(cli);
	run.is_talking = cli_flag(cli, "verbose") || isatty(STDERR_FILENO);
	if (cluster_open(cli_option(cli, "dir"), &run.cluster, &error) < 0)
		return cli_error(cli, &error);
	cluster_socket(run.cluster, run.socket, sizeof(run.socket));
	if (fairlead_open(run.socket, &run.handle, &error) < 0)
		code = cli_error(cli, &error);
	else
		code = run_job(&run);
	free(run.node_list);
	fairlead_grant_destroy(run.grant);
	fairlead_close(run.handle);
	cluster_close(run.cluster);
	return code;
}

const struct subcommand command_run = {
	.name = "run",
	.summary = "Run a job with its lane on the emulated cluster",
	.arguments = "-- PROGRAM [ARGUMENT...]",
	.details = "Reserves, applies, starts the tasks, waits, releases. The "
		   "exit code is the\nhighest one of a task, 128 + N for one "
		   "that signal N killed. A job whose\n'fairlead run' was "
		   "killed keeps its lane until 'fairlead release run/JOB'.\n"
		   "With --inherit it is a job within a job: its tasks run on "
		   "this machine, once the\nnode's daemon has verified "
		   "the lane.",
	.options = options,
	.is_prefix = true,
	.run = run_run,
};
