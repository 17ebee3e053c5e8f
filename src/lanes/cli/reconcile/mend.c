/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One release waits for its nodes; where a node of many grants does not answer
 * one after the other would take hours.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lanes/cli/output.h"
#include "lanes/cli/reconcile/reconcile.h"
#include "lanes/cli/remote.h"

#define OPEN_MAX_CALLS 32
#define PROGRESS_S     5

struct mend {
	struct cli *cli;
	struct fairlead *handle;
	size_t total, done_count;
	unsigned int open_count;
	size_t failed_count;
	struct fairlead_error first; /* failure */
	time_t said_s;
	struct reconcile_call {
		struct mend *mend;
		json_t *grant; /* NULL: free */
	} calls[OPEN_MAX_CALLS];
};

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static void say_progress(struct mend *mend)
{
	if (!isatty(fileno(mend->cli->err)) ||
	    now_s() < mend->said_s + PROGRESS_S)
		return;
	mend->said_s = now_s();
	fprintf(mend->cli->err, "%zu of %zu are done\n", mend->done_count,
		mend->total);
}

static void fail(struct mend *mend, json_t *grant, int result, const char *text)
{
	mend->failed_count++;
	if (mend->first.code == 0)
		error_set(&mend->first, result, "%s", text);
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
	struct mend *mend = call->mend;

	if (answer->result < 0) {
		fail(mend, call->grant, answer->result, answer->error);
	} else {
		json_object_set_new(call->grant, "done",
				    json_string("released"));
		keep_quarantined(call->grant, answer->json);
	}
	call->grant = NULL;
	mend->open_count--;
	mend->done_count++;
	say_progress(mend);
}

static struct reconcile_call *free_call(struct mend *mend)
{
	for (size_t i = 0; i < OPEN_MAX_CALLS; i++)
		if (!mend->calls[i].grant)
			return &mend->calls[i];
	return NULL;
}

static void start(struct mend *mend, json_t *grant)
{
	struct reconcile_call *call = free_call(mend);
	struct fairlead_error error;
	char members[64];
	int result;

	snprintf(members, sizeof(members), "{\"grant_id\":%lld}",
		 (long long)output_number(grant, "grant_id"));
	call->grant = grant;
	call->mend = mend;
	mend->open_count++;
	result = fairlead_call_start(mend->handle, "release", members, answered,
				     call, &error);
	if (result == 0)
		return;
	call->grant = NULL;
	mend->open_count--;
	mend->done_count++;
	fail(mend, grant, result, error.text);
}

/* Negative: the connection is of no use any more. */
static int wait_for_answers(struct mend *mend, int timeout_ms)
{
	struct pollfd entry = { .fd = fairlead_fd(mend->handle),
				.events = fairlead_events(mend->handle) };
	int count = poll(&entry, 1, timeout_ms);

	if (count < 0 && errno != EINTR)
		return -errno;
	if (count == 0)
		return -ETIMEDOUT;
	count = fairlead_process(mend->handle);
	return count < 0 ? count : 0;
}

static void release_all(struct mend *mend, json_t *grants, int timeout_ms)
{
	size_t next = 0;
	int result = 0;

	while (result == 0 && mend->done_count < mend->total) {
		while (next < mend->total && mend->open_count < OPEN_MAX_CALLS)
			start(mend, json_array_get(grants, next++));
		if (mend->open_count > 0)
			result = wait_for_answers(mend, timeout_ms);
	}
	if (result == -ETIMEDOUT)
		error_set(&mend->first, result, "no answer in time");
	/* Those that are open are answered by the end of the connection. */
	fairlead_close(take_ptr(mend->handle));
	while (next < mend->total)
		fail(mend, json_array_get(grants, next++), result,
		     "the manager was not asked any more");
}

int reconcile_release(struct cli *cli, json_t *grants)
{
	struct mend mend = { .cli = cli,
			     .total = json_array_size(grants),
			     .said_s = now_s() };
	uint32_t timeout_ms = 0;
	int code = cli_timeout(cli, &timeout_ms);

	if (code == EXIT_DONE)
		code = remote_open(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_NONE,
				   &mend.handle);
	if (code != EXIT_DONE)
		return code;
	release_all(&mend, grants, timeout_ms > 0 ? (int)timeout_ms : -1);
	if (mend.failed_count == 0)
		return EXIT_DONE;
	return cli_fail(cli, cli_exit_code(mend.first.code),
			"%zu of %zu grants could not be released: %s",
			mend.failed_count, mend.total, mend.first.text);
}
