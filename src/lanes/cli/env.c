/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment of a job's tasks on this node, in one of three modes:
 *
 *   reservation  the job has a lane here: what its file says
 *   inherited    it has none, and --inherit is given: what this process was
 *                given itself, once the node's daemon has found it still true
 *   none         neither: the variables of every interconnect are cleared, so
 *                that nothing of an outer job leaks into this one
 *
 * In each mode every variable of every driver is either set or cleared.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lanes/cli/inherit.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"
#include "lanes/proto/names.h"

static const struct option_spec options[] = {
	{ .name = "job",
	  .letter = 'j',
	  .value = "JOB",
	  .help = "the job (default: FAIRLEAD_JOB)" },
	{ .name = "inherit",
	  .help = "without a lane, pass on what was inherited" },
	{ .name = "exec", .help = "run PROGRAM with it" },
	{ .name = "user",
	  .letter = 'u',
	  .value = "USER",
	  .help = "owner of the job (default: you)" },
	OPTION_JSON,
	OPTION_SOCKET,
	OPTION_TIMEOUT,
	{ 0 },
};

static void take_variable(void *arg, const char *name, const char *value)
{
	json_t *variables = arg;

	json_object_set_new(variables, name,
			    value ? json_stringn_nocheck(value, strlen(value))
				  : json_null());
}

/* 0, -ENOENT when there is no lane here, or an exit code. */
static int read_lane(struct cli *cli, const char *job, json_t *variables)
{
	const char *user = cli_option(cli, "user");
	struct fairlead_error error;
	struct request_key key;
	uid_t uid = getuid();
	int result;

	if (user && !output_parse_user(user, &uid))
		return cli_misuse(cli, "there is no user '%s'", user);
	if (request_key_parse(job, &key, &error) < 0)
		return cli_misuse(cli,
				  "'%s' is not SUBMITTER/JOB[/ATTEMPT]: %s",
				  job, error.text);
	result = fairlead_env_read(secure_getenv("FAIRLEAD_JOBS_DIR"),
				   key.submitter, key.job,
				   key.has_attempt ? (int64_t)key.attempt : -1,
				   uid, take_variable, variables, &error);
	if (result == 0 || result == -ENOENT)
		return result;
	cli_error(cli, &error);
	if (result == -EACCES)
		cli_hint(cli, "--user names the owner of the job");
	return cli_exit_code(result);
}

static void print_shell(FILE *out, const json_t *variables)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)variables, name, value) {
		if (json_is_null(value)) {
			fprintf(out, "unset %s\n", name);
			continue;
		}
		fprintf(out, "export %s=", name);
		output_quoted(out, json_string_value(value));
		putc('\n', out);
	}
}

static int print(struct cli *cli, const char *mode, const json_t *variables)
{
	json_auto_t *answer = NULL;

	if (!cli_flag(cli, "json")) {
		print_shell(cli->out, variables);
		return EXIT_DONE;
	}
	answer = json_pack("{s:s, s:O}", "mode", mode, "variables", variables);
	return output_json(cli, answer);
}

/* *ret_job: NULL when there is none, which --inherit allows. */
static int find_job(struct cli *cli, const char **ret_job)
{
	bool is_exec = cli_flag(cli, "exec");
	const char *argument = cli_argument(cli, 0);
	const char *job = cli_option(cli, "job");

	if (is_exec && !argument)
		return cli_misuse(cli, "--exec needs a PROGRAM");
	if (!is_exec && cli->argument_count > 1)
		return cli_misuse(cli,
				  "the argument '%s' is too many: a PROGRAM "
				  "needs --exec",
				  cli->arguments[1]);
	if (!job && !is_exec)
		job = argument;
	if (!job && cli_flag(cli, "inherit") && !getenv("FAIRLEAD_JOB"))
		return EXIT_DONE;
	return remote_job(cli, job, ret_job);
}

static int env_run(struct cli *cli)
{
	json_auto_t *variables = environment_clear();
	const char *mode = "none";
	const char *job = NULL;
	bool is_inherited = false;
	int result = -ENOENT;
	int code = find_job(cli, &job);

	if (code != EXIT_DONE)
		return code;
	if (job)
		result = read_lane(cli, job, variables);
	if (result > 0)
		return result;
	if (result == 0)
		mode = "reservation";
	else if (cli_flag(cli, "inherit"))
		code = environment_inherit(cli, variables, &is_inherited);
	if (is_inherited)
		mode = "inherited";
	if (code != EXIT_DONE)
		return code;
	if (cli_flag(cli, "exec"))
		return environment_run(cli, variables);
	return print(cli, mode, variables);
}

const struct subcommand command_env = {
	.name = "env",
	.summary = "Print the environment of a job's tasks on this node",
	.arguments = "[JOB | -- PROGRAM [ARGUMENT ...]]",
	.details =
		"Prints lines for a shell: eval \"$(fairlead env)\". JOB is "
		"SUBMITTER/JOB[/ATTEMPT]. A job\nwithout a lane here gets the "
		"variables of all interconnects cleared; with --inherit it\n"
		"gets those that this process has, if they are still true.",
	.options = options,
	.run = env_run,
};
