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

int remote_try(struct fairlead *handle, const char *op, json_t *members_owned,
	       json_t **ret_answer, struct fairlead_error *ret_error)
{
	json_auto_t *members = members_owned;
	int result =
		handle_call(handle, op, members, false, ret_answer, ret_error);

	json_object_del(*ret_answer, "v");
	json_object_del(*ret_answer, "id");
	if (result == 0)
		json_object_del(*ret_answer, "result");
	return result;
}

int remote_try_all(struct fairlead *handle, const char *op,
		   json_t *members_owned, const char *list, json_t **ret_answer,
		   struct fairlead_error *ret_error)
{
	json_auto_t *members = members_owned ? members_owned : json_object();
	json_auto_t *all = json_array();
	json_auto_t *answer = NULL;
	int result;

	do {
		json_decref(take_ptr(answer));
		result = remote_try(handle, op, json_incref(members), &answer,
				    ret_error);
		json_array_extend(all, json_object_get(answer, list));
	} while (result == 0 &&
		 json_object_set(members, "after",
				 json_object_get(answer, "after")) == 0);
	if (result == 0)
		json_object_set(answer, list, all);
	json_object_del(answer, "more");
	*ret_answer = take_ptr(answer);
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

int remote_show(struct cli *cli, enum remote_daemon daemon, uint32_t timeout_ms,
		const char *op, json_t *members_owned,
		void (*show)(struct cli *cli, const json_t *answer))
{
	json_auto_t *answer = NULL;
	int code =
		remote_ask(cli, daemon, timeout_ms, op, members_owned, &answer);

	return code == EXIT_DONE ? output_answer(cli, answer, show) : code;
}

int remote_call_all(struct cli *cli, struct fairlead *handle, const char *op,
		    json_t *members_owned, const char *list,
		    json_t **ret_answer)
{
	json_auto_t *answer = NULL;
	struct fairlead_error error;
	int result = remote_try_all(handle, op, members_owned, list, &answer,
				    &error);
	int code = report(cli, result, answer, &error);

	if (code == EXIT_DONE)
		*ret_answer = take_ptr(answer);
	return code;
}

int remote_ask_all(struct cli *cli, const char *op, json_t *members_owned,
		   const char *list, json_t **ret_answer)
{
	_auto_(fairlead_closep) struct fairlead *handle = NULL;
	int code = remote_open(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS, &handle);

	if (code != EXIT_DONE) {
		json_decref(members_owned);
		return code;
	}
	return remote_call_all(cli, handle, op, members_owned, list,
			       ret_answer);
}

int remote_show_all(struct cli *cli, const char *op, json_t *members_owned,
		    const char *list,
		    void (*show)(struct cli *cli, const json_t *answer))
{
	json_auto_t *answer = NULL;
	int code = remote_ask_all(cli, op, members_owned, list, &answer);

	return code == EXIT_DONE ? output_answer(cli, answer, show) : code;
}

int remote_run(struct cli *cli)
{
	const struct subcommand *command = cli->command;

	return command->list ? remote_show_all(cli, command->op, NULL,
					       command->list, command->show)
			     : remote_show(cli,
					   command->is_of_node ? REMOTE_NODE
							       : REMOTE_MANAGER,
					   REMOTE_TIMEOUT_MS, command->op, NULL,
					   command->show);
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

int remote_selector(struct cli *cli, const char *text, json_t **ret_members)
{
	struct fairlead_error error;
	struct request_key key;
	uint64_t grant_id;
	int code;

	if (is_number(text) || remote_is_grant_text(text)) {
		code = remote_grant(cli, text, &grant_id);
		if (code == EXIT_DONE)
			*ret_members = json_pack("{s:I}", "grant_id",
						 (json_int_t)grant_id);
		return code;
	}
	if (request_key_parse(text, &key, &error) < 0)
		return misuse_key(cli, text,
				  "a grant id, SUBMITTER/JOB or "
				  "SUBMITTER/JOB/ATTEMPT",
				  &error);
	*ret_members =
		json_pack("{s:s}", key.has_attempt ? "key" : "job", text);
	return EXIT_DONE;
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
