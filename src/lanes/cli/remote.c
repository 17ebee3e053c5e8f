/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asking a daemon, and saying what went wrong. Where nobody listens the hint
 * says which daemon is meant and how to name another socket: on a cluster the
 * manager is on one machine only.
 */
#include "lanes/cli/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/output.h"
#include "lanes/client/handle.h"
#include "lanes/proto/names.h"

DEFINE_AUTO(struct fairlead_grant, fairlead_grant_destroy)

const char *remote_socket(const struct cli *cli, enum remote_daemon daemon)
{
	const char *path = cli_option(cli, "socket");

	if (path)
		return path;
	path = secure_getenv(daemon == REMOTE_NODE ? "FAIRLEAD_NODE_SOCKET"
						   : "FAIRLEAD_SOCKET");
	if (path && *path)
		return path;
	if (daemon == REMOTE_NODE)
		return cli->node ? cli->node : FAIRLEAD_NODE_SOCKET;
	return cli->manager ? cli->manager : FAIRLEAD_MANAGER_SOCKET;
}

static void hint_no_daemon(struct cli *cli, enum remote_daemon daemon)
{
	if (daemon == REMOTE_NODE)
		cli_hint(cli, "is fairleadd running on this node? --socket or "
			      "FAIRLEAD_NODE_SOCKET names another socket");
	else
		cli_hint(cli, "is this the manager's machine, and is fairleadd "
			      "running? --socket or FAIRLEAD_SOCKET names "
			      "another socket");
}

int remote_open(struct cli *cli, enum remote_daemon daemon, uint32_t timeout_ms,
		struct fairlead **ret_handle)
{
	struct fairlead_error error;
	int code = cli_timeout(cli, &timeout_ms);
	int result;

	if (code != EXIT_DONE)
		return code;
	result = fairlead_open(remote_socket(cli, daemon), ret_handle, &error);
	if (result < 0) {
		code = cli_error(cli, &error);
		if (result == -ENOENT || result == -ECONNREFUSED) {
			hint_no_daemon(cli, daemon);
			code = EXIT_LATER;
		}
		return code;
	}
	fairlead_set_timeout(*ret_handle, timeout_ms);
	return EXIT_DONE;
}

/* Once, however many answers have it. */
static void print_warning(struct cli *cli, const json_t *answer)
{
	const char *warning = output_text(answer, "warning");

	if (!*warning || cli->has_warned)
		return;
	cli->has_warned = true;
	output_lines(cli, "warning", warning);
}

/* The arrays of a page are those before, and its own. */
static void join_page(const json_t *before, json_t *page)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)before, name, value)
		if (json_is_array(value)) {
			json_array_extend(value, json_object_get(page, name));
			json_object_set(page, name, value);
		}
}

int remote_try(struct fairlead *handle, const char *op, json_t *members_owned,
	       json_t **ret_answer, struct fairlead_error *ret_error)
{
	json_auto_t *members = members_owned ? members_owned : json_object();
	json_t *answer;
	int result =
		handle_call(handle, op, members, false, &answer, ret_error);

	while (result == 0 && json_object_get(answer, "after")) {
		json_auto_t *before = answer;

		json_object_set(members, "after",
				json_object_get(before, "after"));
		result = handle_call(handle, op, members, false, &answer,
				     ret_error);
		if (result == 0)
			join_page(before, answer);
	}
	json_object_del(answer, "v");
	json_object_del(answer, "id");
	if (result == 0)
		json_object_del(answer, "result");
	*ret_answer = answer;
	return result;
}

/* Print a warning, an error, and what to do. */
static int report(struct cli *cli, int result, const json_t *answer,
		  const struct fairlead_error *error)
{
	int code;

	print_warning(cli, answer);
	if (result == 0)
		return EXIT_DONE;
	code = cli_error(cli, error);
	cli_hint(cli, output_text(answer, "hint"));
	if (result == -ECONNRESET)
		cli_hint(cli, "did fairleadd stop? see its log, and repeat the "
			      "command");
	if (answer && cli_flag(cli, "json"))
		output_json(cli, answer);
	return code;
}

int remote_call(struct cli *cli, struct fairlead *handle, const char *op,
		json_t *members_owned, json_t **ret_answer)
{
	json_auto_t *answer = NULL;
	struct fairlead_error error;
	int result = remote_try(handle, op, members_owned, &answer, &error);
	int code = report(cli, result, answer, &error);

	if (ret_answer)
		*ret_answer = take_ptr(answer);
	return code;
}

int remote_ask(struct cli *cli, enum remote_daemon daemon, uint32_t timeout_ms,
	       const char *op, json_t *members_owned, json_t **ret_answer)
{
	_auto_(fairlead_closep) struct fairlead *handle = NULL;
	int code = remote_open(cli, daemon, timeout_ms, &handle);

	if (code != EXIT_DONE) {
		json_decref(members_owned);
		return code;
	}
	return remote_call(cli, handle, op, members_owned, ret_answer);
}

int remote_run(struct cli *cli)
{
	const struct subcommand *command = cli->command;
	json_auto_t *members = json_object();
	json_auto_t *answer = NULL;
	int code =
		command->members ? command->members(cli, members) : EXIT_DONE;

	if (code == EXIT_DONE)
		code = remote_ask(
			cli, command->is_of_node ? REMOTE_NODE : REMOTE_MANAGER,
			command->waits_for_nodes ? REMOTE_TIMEOUT_NONE
						 : REMOTE_TIMEOUT_MS,
			command->op, json_incref(members), &answer);
	return code == EXIT_DONE ? output_answer(cli, answer, command->show)
				 : code;
}

int remote_node_members(struct cli *cli, json_t *members)
{
	json_object_update_new(
		members,
		json_pack("{s:s, s:s*, s:o*}", "nodes", cli_argument(cli, 0),
			  "reason", cli_option(cli, "reason"), "force",
			  cli_flag(cli, "force") ? json_true() : NULL));
	return EXIT_DONE;
}

static bool is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

bool remote_is_grant_text(const char *text)
{
	return strncmp(text, "fairlead-grant:", 15) == 0;
}

int remote_grant(struct cli *cli, const char *text, uint64_t *ret_grant_id)
{
	_auto_(fairlead_grant_destroyp) struct fairlead_grant *grant = NULL;
	struct fairlead_error error;

	if (remote_is_grant_text(text)) {
		if (fairlead_grant_parse(text, &grant, &error) < 0)
			return cli_misuse(cli, "%s", error.text);
		*ret_grant_id = fairlead_grant_id(grant);
		return EXIT_DONE;
	}
	errno = 0;
	*ret_grant_id = strtoull(text, NULL, 10);
	if (!is_number(text) || errno || *ret_grant_id == 0 ||
	    *ret_grant_id > INT64_MAX)
		return cli_misuse(cli, "'%s' is not the id of a grant", text);
	return EXIT_DONE;
}

/* Of a text with a slash, the error says which part is wrong. */
static int misuse_key(struct cli *cli, const char *text, const char *forms,
		      const struct fairlead_error *error)
{
	bool has_parts = strchr(text, '/');

	return cli_misuse(cli, "'%s' is not %s%s%s", text, forms,
			  has_parts ? ": " : "", has_parts ? error->text : "");
}

int remote_selector(struct cli *cli, const char *text, json_t *members)
{
	struct fairlead_error error;
	struct request_key key;
	uint64_t grant_id;
	int code;

	if (is_number(text) || remote_is_grant_text(text)) {
		code = remote_grant(cli, text, &grant_id);
		if (code == EXIT_DONE)
			json_object_set_new(members, "grant_id",
					    json_integer((json_int_t)grant_id));
		return code;
	}
	if (request_key_parse(text, &key, &error) < 0)
		return misuse_key(cli, text,
				  "a grant id, SUBMITTER/JOB or "
				  "SUBMITTER/JOB/ATTEMPT",
				  &error);
	json_object_set_new(members, key.has_attempt ? "key" : "job",
			    json_string(text));
	return EXIT_DONE;
}

int remote_selector_members(struct cli *cli, json_t *members)
{
	return remote_selector(cli, cli_argument(cli, 0), members);
}

int remote_job(struct cli *cli, const char *argument, const char **ret_job)
{
	const char *job = argument ? argument : getenv("FAIRLEAD_JOB");
	struct fairlead_error error;
	struct request_key key;

	if (!job || !*job)
		return cli_misuse(
			cli, "no job given: pass JOB, or set FAIRLEAD_JOB");
	if (request_key_parse(job, &key, &error) < 0)
		return misuse_key(cli, job, "SUBMITTER/JOB[/ATTEMPT]", &error);
	*ret_job = job;
	return EXIT_DONE;
}
