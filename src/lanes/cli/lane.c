/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a lane: reserve, apply, release. A request is on the command
 * line, or as JSON in a file, for host lists that are longer than an argument
 * may be; an option counts more than the file. Whether the request is good is
 * for the manager to say.
 *
 * Warnings and failures of apply are for people: they go to stderr, a line
 * each, and only what the error has not said already. Scripts have --json.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"

/* --- reserve --- */

static const struct option_spec options[] = {
	{ .name = "nodes",
	  .letter = 'N',
	  .value = "HOSTLIST",
	  .help = "nodes of the job: n[0-3]" },
	OPTION_USER,
	{ .name = "group",
	  .letter = 'g',
	  .value = "GROUP",
	  .help = "group of the job (default: the owner's)" },
	{ .name = "cores",
	  .letter = 'c',
	  .value = "RUNS",
	  .help = "cores per node: 4, or 4(x3),2 (default: 1)" },
	{ .name = "tasks",
	  .letter = 'n',
	  .value = "RUNS",
	  .help = "tasks per node, in the same form (default: 1)" },
	OPTION_INTERCONNECT,
	OPTION_DRIVER_OPTION,
	{ .name = "request",
	  .value = "FILE",
	  .help = "read the request as JSON; - is stdin" },
	{ .name = "grant", .help = "print the grant, not its id" },
	OPTION_JSON,
	OPTION_SOCKET,
	OPTION_TIMEOUT,
	{ 0 },
};

static int read_request(struct cli *cli, const char *path, json_t **ret_request)
{
	json_error_t error;
	json_t *request;

	if (strcmp(path, "-") == 0) {
		request = json_loadf(stdin, JSON_REJECT_DUPLICATES, &error);
		path = "stdin";
	} else {
		request = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	}
	if (!request)
		return cli_fail(cli, EXIT_FAILED,
				"cannot read a request from '%s': %s", path,
				error.text);
	*ret_request = request;
	if (!json_is_object(request))
		return cli_fail(cli, EXIT_FAILED,
				"the request in '%s' is no JSON object", path);
	return EXIT_DONE;
}

/* A uid without a name has the group of its number, as 'fairlead run' has it. */
static json_int_t primary_group(uid_t uid)
{
	const struct passwd *entry = getpwuid(uid);

	return entry ? (json_int_t)entry->pw_gid : (json_int_t)uid;
}

static int set_owner(struct cli *cli, json_t *request)
{
	const char *user = cli_option(cli, "user");
	const char *group = cli_option(cli, "group");
	uid_t uid = getuid();
	json_int_t gid = getgid();
	const struct group *found;
	char *end;

	if (user && !output_parse_user(user, &uid))
		return cli_misuse(cli, "there is no user '%s'", user);
	if (user)
		gid = primary_group(uid);
	if (group) {
		found = getgrnam(group);
		gid = found ? (json_int_t)found->gr_gid
			    : strtoll(group, &end, 10);
		if (!found &&
		    (*end || *group < '0' || *group > '9' || gid >= UINT32_MAX))
			return cli_misuse(cli, "there is no group '%s'", group);
	}
	if (user || !json_object_get(request, "uid"))
		json_object_set_new(request, "uid", json_integer(uid));
	if (user || group || !json_object_get(request, "gid"))
		json_object_set_new(request, "gid", json_integer(gid));
	return EXIT_DONE;
}

static void set_text(struct cli *cli, json_t *request, const char *option,
		     const char *member)
{
	const char *text = cli_option(cli, option);

	if (text)
		json_object_set_new(request, member, json_string(text));
}

static int make_request(struct cli *cli, json_t *request)
{
	const char *key = cli_argument(cli, 0);
	int code = set_owner(cli, request);

	if (code != EXIT_DONE)
		return code;
	if (key)
		json_object_set_new(request, "key", json_string(key));
	set_text(cli, request, "nodes", "nodes");
	set_text(cli, request, "cores", "cores");
	set_text(cli, request, "tasks", "tasks");
	set_text(cli, request, "interconnect", "interconnect");
	set_text(cli, request, "option", "options");
	if (!json_object_get(request, "key"))
		return cli_misuse(cli, "the request needs a key: "
				       "SUBMITTER/JOB[/ATTEMPT]");
	if (!json_object_get(request, "nodes"))
		return cli_misuse(cli, "the request needs --nodes");
	return EXIT_DONE;
}

static int reserve_run(struct cli *cli)
{
	const char *path = cli_option(cli, "request");
	json_auto_t *request = NULL;
	json_auto_t *answer = NULL;
	int code = EXIT_DONE;

	if (path)
		code = read_request(cli, path, &request);
	else
		request = json_object();
	if (code == EXIT_DONE)
		code = make_request(cli, request);
	if (code == EXIT_DONE)
		code = remote_ask(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS,
				  "reserve",
				  json_pack("{s:O}", "request", request),
				  &answer);
	if (code != EXIT_DONE)
		return code;
	if (cli_flag(cli, "json"))
		return output_json(cli, answer);
	if (cli_flag(cli, "grant"))
		fprintf(cli->out, "%s\n", output_text(answer, "grant"));
	else
		fprintf(cli->out, "%lld\n",
			(long long)output_number(answer, "grant_id"));
	return EXIT_DONE;
}

const struct subcommand command_reserve = {
	.name = "reserve",
	.summary = "Reserve a lane for a job, and print the id of its grant",
	.arguments = "[SUBMITTER/JOB[/ATTEMPT]]",
	.details =
		"The same request again prints the same grant; nothing is done "
		"twice. The key may\nstand in the file of --request instead.",
	.options = options,
	.run = reserve_run,
};

/* --- apply --- */

/* Nodes and text of each element on stderr, unless `said` has them. */
static void print_nodes(struct cli *cli, const json_t *array, const char *said)
{
	const json_t *element;
	size_t i;

	json_array_foreach (array, i, element) {
		const char *nodes = output_text(element, "nodes");
		const char *text = output_text(element, "text");
		_auto_(freep) char *whole =
			memory_format("%s: %s", nodes, text);

		if (!strstr(said, whole))
			output_lines(cli, nodes, text);
	}
}

static int apply_run(struct cli *cli)
{
	json_auto_t *answer = NULL;
	uint64_t grant_id = 0;
	int code = remote_grant(cli, cli_argument(cli, 0), &grant_id);

	if (code == EXIT_DONE)
		code = remote_ask(
			cli, REMOTE_MANAGER, REMOTE_TIMEOUT_NONE, "apply",
			json_pack("{s:I}", "grant_id", (json_int_t)grant_id),
			&answer);
	print_nodes(cli, json_object_get(answer, "failures"),
		    output_text(answer, "error"));
	if (output_number(answer, "more") > 0)
		cli_fail(cli, EXIT_FAILED, "%lld more nodes failed",
			 (long long)output_number(answer, "more"));
	print_nodes(cli, json_object_get(answer, "warnings"), "");
	if (code == EXIT_DONE && cli_flag(cli, "json"))
		return output_json(cli, answer);
	return code;
}

const struct subcommand command_apply = {
	.name = "apply",
	.summary = "Create a lane on every node of its job, or on none",
	.arguments = "GRANT",
	.details =
		"GRANT is what 'fairlead reserve' printed. If a node fails, "
		"its "
		"reason is printed, the\nlane is removed everywhere, and the "
		"grant is released.",
	.options = cli_options_ask,
	.run = apply_run,
};

/* --- release --- */

static void print_quarantined(struct cli *cli, const json_t *answer)
{
	const json_t *grant;
	size_t i;

	json_array_foreach (json_object_get(answer, "grants"), i, grant) {
		const json_t *ids = json_object_get(grant, "quarantined");
		_auto_(freep) char *nodes =
			output_join(json_object_get(grant, "nodes"));
		_auto_(freep) char *text = output_ids(ids);

		if (json_object_size(ids) == 0)
			continue;
		fprintf(cli->out,
			"grant %lld is released; %s stays in quarantine until "
			"%s has confirmed\n",
			(long long)output_number(grant, "grant_id"), text,
			nodes);
		output_lines(cli, "warning", output_text(grant, "why"));
	}
}

const struct subcommand command_release = {
	.name = "release",
	.summary = "Release the lanes of a grant, an attempt or a job",
	.arguments = "GRANT|KEY|JOB",
	.details =
		"Returns when all nodes have answered or timed out; the job is "
		"over then. Identifiers\nthat a node may still hold stay in "
		"quarantine. Releasing twice is no error.",
	.options = cli_options_ask,
	.run = remote_run,
	.op = "release",
	.waits_for_nodes = true,
	.members = remote_selector_members,
	.show = print_quarantined,
};
