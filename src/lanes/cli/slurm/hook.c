/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/slurm/hook.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "lanes/cli/child.h"
#include "lanes/cli/config_path.h"
#include "lanes/cli/output.h"
#include "lanes/cli/slurm/components.h"
#include "lanes/cli/slurm/nodes.h"

#define RECONNECT_MS 15000
#define STEP_MS      100
#define REASON_MAX   240
#define COMMANDS     "/usr/bin" /* of Slurm, where no configuration says it */
#define UPDATE_MAX   (SLURM_JOB_TEXT_MAX + 6)

/* --- what was said --- */

static void remember(struct slurm_hook *hook, const char *text)
{
	if (!*hook->said)
		snprintf(hook->said, sizeof(hook->said), "%s", text);
}

int slurm_hook_fail(struct slurm_hook *hook, const char *format, ...)
{
	_auto_(freep) char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		memory_end();
	va_end(args);
	remember(hook, text);
	return cli_fail(hook->cli, EXIT_FAILED, "%s", text);
}

/* Everything that was said, a line each, to standard error and syslog. */
static void publish(const struct slurm_hook *hook, char *text)
{
	char *line;

	openlog("fairlead", LOG_PID, LOG_DAEMON);
	while ((line = strsep(&text, "\n"))) {
		if (*line == 0)
			continue;
		fprintf(hook->cli->err, "%s\n", line);
		syslog(LOG_ERR, "slurm %s job %" PRIu32 ": %s",
		       hook->cli->command->name, hook->job.id, line);
	}
	closelog();
}

/* --- one call --- */

static int load_config(struct slurm_hook *hook)
{
	_auto_(freep) char *errors = NULL;
	struct cli *cli = hook->cli;

	if (config_read(cli, CONFIG_ROLE_CLIENT, &hook->config, &errors) < 0)
		return slurm_hook_fail(hook, "%s", errors);
	cli->manager = config_manager_of(hook->config, &hook->config->slurm);
	cli->node = hook->config->node.socket;
	/* Ours has no say where Slurm gave one: overwrite is 0. */
	if (*hook->config->slurm.conf)
		setenv("SLURM_CONF", hook->config->slurm.conf, 0);
	return EXIT_DONE;
}

static int read_job(struct slurm_hook *hook)
{
	struct fairlead_error error;

	if (slurm_job_read(getenv, &hook->job, &error) < 0)
		return slurm_hook_fail(hook, "%s", error.text);
	return EXIT_DONE;
}

/* Options that nobody could carry out promise nothing: the job is refused. */
static void read_options(struct slurm_hook *hook)
{
	struct slurm_job *job = &hook->job;
	struct fairlead_error error;

	if (slurm_job_spank_check(environ, &error) < 0) {
		hook->has_bad_options = true;
		slurm_hook_fail(hook, "%s", error.text);
	} else if (slurm_job_options(getenv("SPANK_FAIRLEAD"), job, &error) <
		   0) {
		hook->has_bad_options = true;
		slurm_hook_fail(hook, "--fairlead: %s", error.text);
	}
	hook->expectation =
		lane_expect(hook->config,
			    *job->interconnect ? job->interconnect : NULL,
			    job->options);
	snprintf(hook->name, sizeof(hook->name), "%s/%" PRIu32,
		 hook->config->slurm.submitter, job->leader);
}

static int read_and_run(struct slurm_hook *hook,
			int (*run)(struct slurm_hook *hook),
			int (*run_unconfigured)(struct slurm_hook *hook))
{
	int code = read_job(hook);

	if (code != EXIT_DONE)
		return code;
	code = load_config(hook);
	if (code != EXIT_DONE)
		return run_unconfigured ? run_unconfigured(hook) : code;
	read_options(hook);
	return run(hook);
}

int slurm_hook_run(struct cli *cli, enum remote_daemon daemon,
		   int (*run)(struct slurm_hook *hook),
		   int (*run_unconfigured)(struct slurm_hook *hook))
{
	struct slurm_hook hook = { .cli = cli, .daemon = daemon };
	_auto_(freep) char *said = NULL;
	FILE *err = cli->err;
	size_t size = 0;
	int code;

	cli->err = memory_have(open_memstream(&said, &size));
	code = read_and_run(&hook, run, run_unconfigured);
	fairlead_close(hook.handle);
	cli->manager = cli->node = NULL;
	config_destroy(hook.config);
	fclose(cli->err);
	cli->err = err;
	publish(&hook, said);
	return code == EXIT_DONE ? EXIT_DONE : EXIT_FAILED;
}

bool slurm_hook_may_hold(const struct slurm_hook *hook)
{
	return hook->expectation != LANE_NONE || hook->job.is_component;
}

/* --- the daemon --- */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/*
 * Nobody listens, or nobody does any more, or has no time now. An answer of the
 * daemon's is final but for that; of a reservation, -EAGAIN says that there are
 * no identifiers.
 */
static bool may_pass(const char *op, int result, bool is_answer)
{
	if (result == -EAGAIN)
		return !is_answer || strcmp(op, "reserve") != 0;
	return !is_answer && (result == -ENOENT || result == -ECONNREFUSED ||
			      result == -ECONNRESET || result == -EPIPE);
}

/* What a daemon has time for by its own settings comes on top. */
static uint32_t answer_ms(const struct slurm_hook *hook, const char *op)
{
	const struct config *config = hook->config;
	uint32_t timeout_ms = config->slurm.answer_timeout_ms;

	if (strcmp(op, "epilog") == 0)
		timeout_ms += config->node.epilog_timeout_ms;
	/* One that has failed is undone. */
	if (strcmp(op, "apply") == 0)
		timeout_ms += config->manager.apply_timeout_ms +
			      config->manager.revoke_timeout_ms;
	return timeout_ms;
}

static int ask_once(struct slurm_hook *hook, const char *op, json_t *members,
		    json_t **ret_answer, struct fairlead_error *ret_error)
{
	int result = 0;

	if (!hook->handle)
		result = fairlead_open(remote_socket(hook->cli, hook->daemon),
				       &hook->handle, ret_error);
	if (result < 0)
		return result;
	fairlead_set_timeout(hook->handle, answer_ms(hook, op));
	result = remote_try(hook->handle, op, json_incref(members), ret_answer,
			    ret_error);
	/* An answer of the daemon's may be -ENOENT too. */
	if (result < 0 && !*ret_answer) {
		fairlead_close(hook->handle);
		hook->handle = NULL;
	}
	return result;
}

int slurm_hook_ask(struct slurm_hook *hook, const char *op,
		   json_t *members_owned, json_t **ret_answer,
		   struct fairlead_error *ret_error)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };
	json_auto_t *members = members_owned;
	int64_t end = now_ms() + RECONNECT_MS;
	int result;

	for (;;) {
		*ret_answer = NULL;
		result = ask_once(hook, op, members, ret_answer, ret_error);
		if (!may_pass(op, result, *ret_answer) || now_ms() >= end)
			return result;
		json_decref(*ret_answer);
		nanosleep(&step, NULL);
	}
}

/* --- Slurm --- */

static const char *commands_of(const struct slurm_hook *hook)
{
	return hook->config ? hook->config->slurm.commands : COMMANDS;
}

/* A failure is reported in the log; the job ends as it does. */
static void run_command(struct slurm_hook *hook, const char *const *argv)
{
	struct fairlead_error error;

	if (child_run(commands_of(hook), argv, CHILD_TIMEOUT_MS, NULL, NULL,
		      &error) < 0)
		slurm_hook_fail(hook, "%s", error.text);
}

/* One line, and not longer than Slurm shows. */
static void fit_reason(const char *reason, char fit[REASON_MAX])
{
	snprintf(fit, REASON_MAX, "%s", reason);
	text_clean(fit);
	/* scontrol takes quotes for its own. */
	for (char *end = fit; (end = strpbrk(end, "\n\""));)
		*end = *end == '"' ? '\'' : ' ';
}

/* Those that are ours to drain; where Slurm does not say, all of them. */
static char *drainable_nodes(struct slurm_hook *hook, const char *nodes)
{
	_auto_(freep) char *listing = NULL;
	struct fairlead_error error;
	char *free_nodes;
	const char *const argv[] = { "scontrol", "--oneliner", "show",
				     "node",     nodes,        NULL };

	if (child_run(commands_of(hook), argv, CHILD_TIMEOUT_MS, &listing, NULL,
		      &error) == 0 &&
	    slurm_nodes_free(listing, &free_nodes, &error) == 0)
		return free_nodes;
	slurm_hook_fail(hook, "%s", error.text);
	return memory_text(nodes);
}

void slurm_drain(struct slurm_hook *hook, const char *nodes, const char *reason)
{
	_auto_(freep) char *ours = drainable_nodes(hook, nodes);
	_auto_(freep) char *names = NULL;
	_auto_(freep) char *text = NULL;
	char fit[REASON_MAX];

	if (!ours)
		return;
	fit_reason(reason, fit);
	names = memory_format("NodeName=%s", ours);
	text = memory_format("Reason=fairlead: %s (job %" PRIu32 ")", fit,
			     hook->job.id);
	run_command(hook, (const char *const[]){ "scontrol", "update", names,
						 "State=DRAIN", text, NULL });
}

/* Which job scontrol is to update. */
static void format_update(const struct slurm_hook *hook, char ret[UPDATE_MAX])
{
	char job[SLURM_JOB_TEXT_MAX];

	slurm_job_format(&hook->job, job);
	snprintf(ret, UPDATE_MAX, "JobId=%s", job);
}

void slurm_comment(struct slurm_hook *hook, const char *reason)
{
	_auto_(freep) char *text = NULL;
	char fit[REASON_MAX], id[UPDATE_MAX];

	fit_reason(reason, fit);
	format_update(hook, id);
	text = memory_format("AdminComment=fairlead: %s", fit);
	run_command(hook, (const char *const[]){ "scontrol", "update", id, text,
						 NULL });
}

/*
 * scancel would have Slurm end this hook by SIGKILL, and perhaps the next one,
 * EpilogSlurmctld; where this one had failed just before, the job was requeued.
 */
void slurm_refuse(struct slurm_hook *hook)
{
	char id[UPDATE_MAX];

	format_update(hook, id);
	run_command(hook, (const char *const[]){ "scontrol", "update", id,
						 "Requeue=0", NULL });
	if (!hook->job.is_component)
		return;
	/* That is for one component. */
	snprintf(id, sizeof(id), "%" PRIu32, hook->job.leader);
	run_command(hook, (const char *const[]){ "scancel", id, NULL });
}

bool slurm_is_over(struct slurm_hook *hook)
{
	_auto_(freep) char *text = NULL;
	char id[SLURM_JOB_TEXT_MAX];
	const char *const argv[] = COMPONENTS_SQUEUE_STATE(id);

	slurm_job_format(&hook->job, id);
	return child_run(hook->config->slurm.commands, argv, CHILD_TIMEOUT_MS,
			 &text, NULL, NULL) == 0 &&
	       components_is_over(text, hook->job.id);
}

int slurm_components(struct slurm_hook *hook, struct components **ret_found)
{
	_auto_(freep) char *text = NULL;
	struct fairlead_error error;
	char id[32];
	const char *const argv[] = COMPONENTS_SQUEUE(id);

	snprintf(id, sizeof(id), "%" PRIu32, hook->job.leader);
	if (child_run(commands_of(hook), argv, CHILD_TIMEOUT_MS, &text, NULL,
		      &error) < 0 ||
	    components_parse(text, ret_found, &error) < 0)
		return slurm_hook_fail(hook, "%s", error.text);
	return EXIT_DONE;
}

int slurm_has_others(struct slurm_hook *hook, const char *node,
		     bool *ret_has_others)
{
	_auto_(components_destroyp) struct components *components = NULL;
	int code = EXIT_DONE;

	*ret_has_others = false;
	if (hook->job.is_component)
		code = slurm_components(hook, &components);
	if (components)
		*ret_has_others =
			components_has_other(components, hook->job.id, node);
	return code;
}
