/* SPDX-License-Identifier: BSD-3-Clause */
/* What a lane asks the manager, and what it makes of the answers. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "lanes/driver/driver.h"
#include "lanes/plugin/flux/blame.h"
#include "lanes/plugin/flux/eventlog.h"
#include "lanes/plugin/flux/lane.h"

/*
 * Keys that were used: by other jobs, when ids started over, or by earlier
 * tries.
 */
#define ATTEMPTS     128
#define YOUNG_S      30  /* a manager whose nodes are still coming back */
#define PAUSE_S      0.5 /* before the next try then */
#define WARNINGS_MAX 8   /* that a user reads; the log has all */

/* --- requests --- */

/*
 * Flux does not know a user's group, and asking the system's databases may
 * wait. It is the group of a file that nobody but the user can read: any does.
 */
static json_t *make_request(const struct flux_lane *lane)
{
	const struct lane_request *request = &lane->request;
	char key[EVENTLOG_KEY_MAX];

	snprintf(key, sizeof(key), "%s/%s/%" PRIu32,
		 lane->lanes->settings.submitter, lane->name, lane->attempt);
	return json_pack("{s:{s:s, s:I, s:I, s:s, s:s, s:s, s:s*, s:s*}}",
			 "request", "key", key, "uid", (json_int_t)lane->uid,
			 "gid", (json_int_t)lane->uid, "nodes", lane->nodes,
			 "cores", lane->cores, "tasks", lane->cores,
			 "interconnect",
			 *request->interconnect ? request->interconnect : NULL,
			 "options",
			 *request->options ? request->options : NULL);
}

static json_t *make_release(const struct flux_lane *lane)
{
	char job[EVENTLOG_KEY_MAX];

	snprintf(job, sizeof(job), "%s/%s", lane->lanes->settings.submitter,
		 lane->name);
	return json_pack("{s:s}", "job", job);
}

static void on_answer(void *arg, const struct fairlead_answer *answer);

int lane_ask(struct flux_lane *lane)
{
	const char *op = NULL;
	json_t *members = NULL;
	int result;

	switch (lane->step) {
	case LANE_RESERVE:
		op = "reserve";
		members = make_request(lane);
		break;
	case LANE_APPLY:
		op = "apply";
		members = json_pack("{s:I}", "grant_id",
				    (json_int_t)lane->grant_id);
		break;
	case LANE_STATUS:
		op = "status";
		members = json_object();
		break;
	case LANE_BLAME:
		op = "node-list";
		members = json_pack("{s:s*}", "after", lane->after);
		break;
	case LANE_RELEASE:
		op = "release";
		members = make_release(lane);
		break;
	default:
		return 0; /* it has changed its mind */
	}
	if (!members)
		return -ENOMEM;
	result = link_ask(lane->lanes->link, op, members, on_answer, lane);
	if (result == 0) {
		lane->is_asked = true;
		lane->asked_step = lane->step;
		lane->may_hold |= lane->step == LANE_RESERVE;
	}
	return result;
}

/* --- answers --- */

static void take_grant(struct flux_lane *lane, const json_t *root)
{
	struct fairlead_error error;

	json_decref(lane->public);
	lane->public = json_incref(json_object_get(root, "public"));
	lane->grant_id =
		(uint64_t)json_integer_value(json_object_get(root, "grant_id"));
	lane->has_lane =
		json_is_true(json_object_get(lane->public, "has_lane"));
	if (!lane->has_lane) {
		lane_start_job(lane);
		return;
	}
	if (driver_check_launch(entry_text(lane->public, "interconnect"),
				entry_text(lane->public, "options"), "Flux",
				&error) < 0) {
		lane_deny(lane, error.text);
		return;
	}
	lane->step = LANE_APPLY;
	lane_wait(lane);
}

/* A node that is drained in Fairlead, or that it does not know, fails each job. */
static bool is_nodes_fault(int result)
{
	return result == -EHOSTDOWN || result == -ENOENT;
}

static void refuse(struct flux_lane *lane, const struct fairlead_answer *answer)
{
	snprintf(lane->note, sizeof(lane->note), "%s", answer->error);
	lane->may_hold = lane->attempt > 0;
	if (is_nodes_fault(answer->result)) {
		lane->step = LANE_BLAME;
		lane_wait(lane);
		return;
	}
	lane_deny(lane, lane->note);
}

static void take_reserve(struct flux_lane *lane,
			 const struct fairlead_answer *answer,
			 const json_t *root)
{
	if ((answer->result == -ESTALE || answer->result == -EEXIST) &&
	    lane->attempt + 1 < ATTEMPTS) {
		lane->attempt++;
		lane_wait(lane);
	} else if (answer->result < 0) {
		refuse(lane, answer);
	} else {
		take_grant(lane, root);
	}
}

/* Nodes that were not reached are to blame where any other one is connected. */
static void blame(struct flux_lane *lane)
{
	if (!blame_has_unreached(lane->blamed)) {
		lane_drain(lane);
		return;
	}
	lane->step = LANE_BLAME;
	lane_wait(lane);
}

static void take_apply(struct flux_lane *lane,
		       const struct fairlead_answer *answer, const json_t *root)
{
	const json_t *failures = json_object_get(root, "failures");
	const json_t *warning;
	size_t i;

	json_array_foreach (json_object_get(root, "warnings"), i, warning) {
		flux_log(lane->lanes->h, LOG_WARNING, "fairlead: %s: %s: %s",
			 lane->name, entry_text(warning, "nodes"),
			 entry_text(warning, "text"));
		if (i < WARNINGS_MAX)
			lane_warn(lane, entry_text(warning, "nodes"),
				  entry_text(warning, "text"));
	}
	if (answer->result == 0) {
		lane_start_job(lane);
		return;
	}
	snprintf(lane->note, sizeof(lane->note), "%s", answer->error);
	/* The manager was started again meanwhile, and undoes it. */
	if (answer->result == -ESTALE && json_array_size(failures) == 0) {
		lane->step = LANE_RESERVE;
		lane_pause(lane, PAUSE_S);
		return;
	}
	lane->blamed = blame_create(failures);
	/* They may only not have come back to a manager that is young. */
	if (!blame_is_unreached(lane->blamed)) {
		blame(lane);
		return;
	}
	lane->step = LANE_STATUS;
	lane_wait(lane);
}

/* A lane that came too early was undone; the next one is a new grant. */
static void take_status(struct flux_lane *lane, const json_t *root)
{
	const json_t *uptime = json_object_get(root, "uptime_s");

	if (!uptime || json_integer_value(uptime) >= YOUNG_S) {
		blame(lane);
		return;
	}
	json_decref(lane->blamed);
	lane->blamed = NULL;
	lane->step = LANE_RESERVE;
	/* Each try keeps identifiers until the node confirms that it is gone. */
	lane->pause_s = lane->pause_s > 0. ? lane->pause_s * 2 : PAUSE_S;
	lane_pause(lane, lane->pause_s);
}

static void take_release(struct flux_lane *lane,
			 const struct fairlead_answer *answer,
			 const json_t *root)
{
	const json_t *grant;
	size_t i;

	json_array_foreach (json_object_get(root, "grants"), i, grant)
		if (json_object_get(grant, "why"))
			lane_warn(lane,
				  "the lane is not gone from all nodes, which "
				  "try again",
				  entry_text(grant, "why"));
	lane_finish(lane, answer->result, answer->error);
}

/* An answer to a request from before the job's end. */
static void take_late(struct flux_lane *lane,
		      const struct fairlead_answer *answer)
{
	if (lane->asked_step == LANE_RESERVE && answer->result < 0 &&
	    lane->attempt == 0)
		lane->may_hold = false;
	if (lane->step != LANE_RELEASE)
		return;
	if (lane->may_hold)
		lane_wait(lane);
	else
		lane_finish(lane, 0, "");
}

/* A grant that was being applied may be undone: it is looked for again. */
static void take_loss(struct flux_lane *lane,
		      const struct fairlead_answer *answer)
{
	snprintf(lane->trouble, sizeof(lane->trouble), "%s", answer->error);
	if (lane->step == LANE_APPLY)
		lane->step = LANE_RESERVE;
	lane_wait(lane);
}

static void on_answer(void *arg, const struct fairlead_answer *answer)
{
	struct flux_lane *lane = arg;
	json_t *root;

	lane->is_asked = false;
	if (lane->lanes->is_ending)
		return;
	if (lane->is_forgotten) {
		lane_set_deadline(lane, 0.);
		return;
	}
	if (!answer->json) {
		take_loss(lane, answer);
		return;
	}
	root = json_loads(answer->json, 0, NULL);
	lane->trouble[0] = '\0';
	if (lane->step != lane->asked_step)
		take_late(lane, answer);
	else if (lane->step == LANE_RESERVE)
		take_reserve(lane, answer, root);
	else if (lane->step == LANE_APPLY)
		take_apply(lane, answer, root);
	else if (lane->step == LANE_STATUS)
		take_status(lane, answer->result < 0 ? NULL : root);
	else if (lane->step == LANE_BLAME)
		lane_take_nodes(lane, answer->result < 0 ? NULL : root);
	else
		take_release(lane, answer, root);
	json_decref(root);
}
