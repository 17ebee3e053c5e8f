/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs that were there before this plugin: Flux was started again, or the
 * plugin was loaded. Events of the past are not repeated to it, and are read
 * from the job's eventlog; the KVS has it from the start, when other services
 * are not there yet.
 *
 * A job in RUN whose prolog action is open is asked for again, under the same
 * key: it gets the same grant. One in CLEANUP whose epilog action is open is
 * released. One that runs keeps what it has, and is released when it ends. One
 * that began without us stays as it is. One whose eventlog cannot be read is
 * taken for one that runs in a lane: if an action of it is open, that stays so
 * until the plugin is loaded again and can read it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "lanes/plugin/flux/eventlog.h"
#include "lanes/plugin/flux/lane.h"
#include "lanes/plugin/flux/resources.h"

#define LOOK_AGAIN_S 0.1

static bool is_posted(const struct flux_lane *lane, const char *name)
{
	return flux_jobtap_job_event_posted(lane->lanes->plugin, lane->id,
					    name) > 0;
}

/*
 * What was posted a moment ago is not in the KVS yet. It can only be so where
 * the plugin was loaded into a job manager that runs.
 */
static bool is_behind(const struct flux_lane *lane, const struct eventlog *log)
{
	return (is_posted(lane, "prolog-start") && !log->has_prolog_start) ||
	       (is_posted(lane, "prolog-finish") && !log->has_prolog_finish) ||
	       (is_posted(lane, "epilog-start") && !log->has_epilog_start);
}

/* Both actions hold the job: there is always one until the lane is gone. */
static void resume_ending(struct flux_lane *lane)
{
	flux_plugin_t *plugin = lane->lanes->plugin;
	bool is_prolog_open = lane->is_prolog_open;

	lane->is_prolog_open = false;
	if (!lane->may_hold)
		lane_finish(lane, 0, "");
	else if (is_prolog_open && !lane->is_epilog_open)
		lane->is_epilog_open =
			flux_jobtap_event_post_pack(plugin, lane->id,
						    "epilog-start", "{s:s}",
						    "description",
						    EVENTLOG_ACTION) == 0;
	if (is_prolog_open)
		flux_jobtap_prolog_finish(plugin, lane->id, EVENTLOG_ACTION, 1);
	if (lane->may_hold)
		lane_linger(lane);
}

static void resume_running(struct flux_lane *lane)
{
	if (!lane->is_prolog_open) {
		lane->step = LANE_READY;
		return;
	}
	if (!lane->nodes) {
		lane_deny(lane, "the job's resources are not understood");
		return;
	}
	lane->step = LANE_RESERVE;
	lane_set_deadline(lane, lane->lanes->settings.prolog_timeout_s);
	lane_wait(lane);
}

static void resume(struct flux_lane *lane, const struct eventlog *log)
{
	struct lanes *lanes = lane->lanes;

	lane->is_prolog_open = log->is_prolog_open;
	lane->is_epilog_open |= log->is_epilog_open;
	/* A job that never had anything to do with us ends without. */
	lane->may_hold = log->has_begun;
	lane->grant_id = log->event.grant_id;
	lane->has_lane = log->event.has_lane;
	lane->has_started = eventlog_has_started(log);
	lane->has_finished |= log->has_finished;
	if (lane->is_ending)
		resume_ending(lane);
	else
		resume_running(lane);
	lanes_pump(lanes);
}

/* Its tasks are waited for; that the last ones are over is posted. */
static void resume_unknown(struct flux_lane *lane)
{
	struct eventlog log = eventlog_unknown();

	log.has_finished = is_posted(lane, "finish");
	resume(lane, &log);
}

static void on_eventlog(flux_future_t *future, void *arg)
{
	struct flux_lane *lane = arg;
	struct eventlog log;
	const char *text;
	int result = 0;

	if (flux_kvs_lookup_get(future, &text) < 0 ||
	    eventlog_read(text, &log) < 0) {
		flux_log_error(lane->lanes->h,
			       "fairlead: %s: cannot read its eventlog",
			       lane->name);
		result = -1;
	}
	flux_future_destroy(future);
	lane->future = NULL;
	if (result < 0)
		resume_unknown(lane);
	else if (is_behind(lane, &log))
		lane_set_deadline(lane, LOOK_AGAIN_S);
	else
		resume(lane, &log);
}

void lane_look_up(struct flux_lane *lane)
{
	char key[128];

	if (flux_job_kvs_key(key, sizeof(key), lane->id, "eventlog") > 0)
		lane->future = flux_kvs_lookup(lane->lanes->h, NULL, 0, key);
	if (lane->future &&
	    flux_future_then(lane->future, -1., on_eventlog, lane) == 0)
		return;
	flux_log_error(lane->lanes->h, "fairlead: %s: kvs.lookup", lane->name);
	flux_future_destroy(lane->future);
	lane->future = NULL;
	resume_unknown(lane);
}

void lane_resume(struct lanes *lanes, flux_jobid_t id, uint32_t uid,
		 const struct lane_request *request, const json_t *R,
		 bool is_ending)
{
	struct flux_lane *lane = lane_create(lanes, id, uid, request);

	if (!lane) {
		flux_log(lanes->h, LOG_ERR, "fairlead: out of memory");
		return;
	}
	lane->step = LANE_LOOKUP;
	lane->is_ending = is_ending;
	if (R)
		resources_read(R, &lane->nodes, &lane->cores, NULL);
	lane_look_up(lane);
}
