/* SPDX-License-Identifier: BSD-3-Clause */
/* Many nodes, of which each has a long answer. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "lanes/cli/node.h"
#include "lanes/cli/remote.h"

/* The answers are appended. */
static int ask_some(struct cli *cli, struct fairlead *handle, const char *op,
		    const char *nodes, const json_t *members, json_t *answers)
{
	json_t *message = json_copy((json_t *)members);
	json_auto_t *answer = NULL;
	int code;

	json_object_set_new(message, "nodes", json_string(nodes));
	code = remote_call(cli, handle, op, message, &answer);
	if (code == EXIT_DONE)
		json_array_extend(answers, json_object_get(answer, "answers"));
	return code;
}

int node_ask_each(struct cli *cli, const char *op, json_t *members_owned,
		  json_t **ret_whole)
{
	_auto_(hostlist_destroyp) struct hostlist *nodes = NULL;
	_auto_(fairlead_closep) struct fairlead *handle = NULL;
	json_auto_t *members = members_owned;
	json_auto_t *answers = json_array();
	struct fairlead_error error;
	int code;

	if (hostlist_parse(cli_argument(cli, 0), &nodes, &error) < 0)
		return cli_misuse(cli, "%s", error.text);
	code = remote_open(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS, &handle);
	for (size_t at = 0; at < nodes->count && code == EXIT_DONE;
	     at += REMOTE_QUERY_NODES) {
		size_t left = nodes->count - at;
		_auto_(freep) char *some = hostlist_format(
			(const char *const *)nodes->names + at,
			left < REMOTE_QUERY_NODES ? left : REMOTE_QUERY_NODES);

		code = ask_some(cli, handle, op, some, members, answers);
	}
	if (code == EXIT_DONE)
		*ret_whole = json_pack("{s:O}", "answers", answers);
	return code;
}
