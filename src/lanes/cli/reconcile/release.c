/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One release waits for its nodes; where a node of many grants does not answer
 * one after the other would take hours.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/cli/output.h"
#include "lanes/cli/reconcile/reconcile.h"
#include "lanes/cli/remote.h"

struct grant_releases {
	struct cli *cli;
	struct fairlead *handle;
	size_t total, started_count, done_count;
	size_t failed_count;
	struct fairlead_error first; /* failure */
};

struct reconcile_call {
	struct grant_releases *releases;
	json_t *grant;
};

static void fail(struct grant_releases *releases, json_t *grant, int result,
		 const char *text)
{
	releases->failed_count++;
	if (releases->first.code == 0)
		error_set(&releases->first, result, "%s", text);
	json_object_set_new(grant, "done", json_string("failed"));
	json_object_set_new(grant, "error", json_string(text));
}

/* What waits for nodes, of the one grant that was released. */
static void keep_quarantined(json_t *grant, const char *text)
{
	json_auto_t *answer = text ? json_loads(text, 0, NULL) : NULL;
	const json_t *released =
		json_array_get(json_object_get(answer, "grants"), 0);
	json_t *ids = json_object_get(released, "quarantined");

	if (json_object_size(ids) == 0)
		return;
	json_object_set(grant, "quarantined", ids);
	json_object_set(grant, "waits_for", json_object_get(released, "nodes"));
}

static void answered(void *arg, const struct fairlead_answer *answer)
{
	struct reconcile_call *call = arg;
	struct grant_releases *releases = call->releases;

	if (answer->result < 0) {
		fail(releases, call->grant, answer->result, answer->error);
	} else {
		json_object_set_new(call->grant, "done",
				    json_string("released"));
		keep_quarantined(call->grant, answer->json);
	}
	releases->done_count++;
}

/* False: as many calls as there can be are open. */
static bool start(struct grant_releases *releases, struct reconcile_call *call,
		  json_t *grant)
{
	struct fairlead_error error;
	char members[64];
	int result;

	*call = (struct reconcile_call){ releases, grant };
	snprintf(members, sizeof(members), "{\"grant_id\":%lld}",
		 (long long)output_number(grant, "grant_id"));
	result = fairlead_call_start(releases->handle, "release", members,
				     answered, call, &error);
	if (result == -EAGAIN && releases->started_count > releases->done_count)
		return false;
	releases->started_count++;
	if (result < 0) {
		releases->done_count++;
		fail(releases, grant, result, error.text);
	}
	return true;
}

/* Negative: the connection cannot be used any more. */
static int wait_for_answers(struct grant_releases *releases, int timeout_ms)
{
	struct pollfd entry = { .fd = fairlead_fd(releases->handle),
				.events = fairlead_events(releases->handle) };
	int count = poll(&entry, 1, timeout_ms);

	if (count < 0 && errno != EINTR)
		return -errno;
	if (count == 0)
		return -ETIMEDOUT;
	count = fairlead_process(releases->handle);
	return count < 0 ? count : 0;
}

static void release_all(struct grant_releases *releases, json_t *grants,
			int timeout_ms)
{
	_auto_(freep) struct reconcile_call *calls =
		memory_array(releases->total, sizeof(*calls));
	size_t *next = &releases->started_count;
	int result = 0;

	while (result == 0 && releases->done_count < releases->total) {
		while (*next < releases->total &&
		       start(releases, &calls[*next],
			     json_array_get(grants, *next)))
			;
		if (releases->done_count < *next)
			result = wait_for_answers(releases, timeout_ms);
	}
	if (result == -ETIMEDOUT)
		error_set(&releases->first, result, "no answer in time");
	/* Those that are open are answered by the end of the connection. */
	fairlead_close(take_ptr(releases->handle));
	for (; *next < releases->total; (*next)++)
		fail(releases, json_array_get(grants, *next), result,
		     "the manager was not asked any more");
}

int reconcile_release(struct cli *cli, json_t *grants)
{
	struct grant_releases releases = { .cli = cli,
					   .total = json_array_size(grants) };
	uint32_t timeout_ms = 0;
	int code = cli_timeout(cli, &timeout_ms);

	if (code == EXIT_DONE)
		code = remote_open(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_NONE,
				   &releases.handle);
	if (code != EXIT_DONE)
		return code;
	release_all(&releases, grants, timeout_ms > 0 ? (int)timeout_ms : -1);
	if (releases.failed_count == 0)
		return EXIT_DONE;
	return cli_fail(cli, cli_exit_code(releases.first.code),
			"%zu of %zu grants could not be released: %s",
			releases.failed_count, releases.total,
			releases.first.text);
}
