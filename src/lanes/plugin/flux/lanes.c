/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of lanes, whose turn it is, and what begins and ends a lane. A job's
 * aux points to its lane; the list owns it.
 */
#include "lanes/plugin/flux/lane.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "lanes/plugin/flux/eventlog.h"
#include "lanes/plugin/flux/names.h"
#include "lanes/plugin/flux/resources.h"

#define AUX_NAME "fairlead::lane"
/* How long tasks may take to end: Flux has given up on them long before. */
#define LINGER_S 600
/* Of an exception that fails no job. */
#define WARNING_SEVERITY 4

/* --- whose turn it is --- */

static void pop_waiting(struct lanes *lanes)
{
	struct flux_lane *lane = lanes->waiting;

	lanes->waiting = lane->next_waiting;
	if (!lanes->waiting)
		lanes->waiting_end = &lanes->waiting;
	lane->next_waiting = NULL;
	lane->is_waiting = false;
}

void lane_wait(struct flux_lane *lane)
{
	struct lanes *lanes = lane->lanes;

	if (lane->is_waiting || lane->is_asked)
		return;
	lane->is_waiting = true;
	*lanes->waiting_end = lane;
	lanes->waiting_end = &lane->next_waiting;
}

static void stop_waiting(struct flux_lane *lane)
{
	struct lanes *lanes = lane->lanes;

	for (struct flux_lane **at = &lanes->waiting; *at;
	     at = &(*at)->next_waiting) {
		if (*at != lane)
			continue;
		*at = lane->next_waiting;
		if (!*at)
			lanes->waiting_end = at;
		break;
	}
	lane->next_waiting = NULL;
	lane->is_waiting = false;
}

void lanes_pump(struct lanes *lanes)
{
	while (lanes->waiting) {
		struct flux_lane *lane = lanes->waiting;
		int result = lane_ask(lane);

		if (result == -EAGAIN)
			break;
		pop_waiting(lanes);
		if (result == 0)
			continue;
		if (lane->step == LANE_RELEASE)
			lane_finish(lane, result, strerror(-result));
		else
			lane_deny(lane, strerror(-result));
	}
}

static void on_ready(void *arg)
{
	lanes_pump(arg);
}

/* --- a lane --- */

static void lane_destroy(struct flux_lane *lane)
{
	struct lanes *lanes = lane->lanes;

	stop_waiting(lane);
	if (lane->previous)
		lane->previous->next = lane->next;
	else if (lanes->first == lane)
		lanes->first = lane->next;
	if (lane->next)
		lane->next->previous = lane->previous;
	flux_watcher_destroy(lane->timer);
	flux_future_destroy(lane->future);
	json_decref(lane->public);
	json_decref(lane->blamed);
	json_decref(lane->members);
	free(lane->after);
	free(lane->nodes);
	free(lane->cores);
	free(lane);
}

static const char *trouble_of(const struct flux_lane *lane)
{
	const char *trouble = link_trouble(lane->lanes->link);

	if (*trouble)
		return trouble;
	return *lane->trouble ? lane->trouble : "the manager has not answered";
}

static void start_timer(struct flux_lane *lane, double timeout_s)
{
	/* One that runs cannot be reset. */
	flux_watcher_stop(lane->timer);
	flux_timer_watcher_reset(lane->timer, timeout_s, 0.);
	flux_watcher_start(lane->timer);
}

static double now(const struct flux_lane *lane)
{
	return flux_reactor_now(flux_get_reactor(lane->lanes->h));
}

static void lane_resume_deadline(struct flux_lane *lane)
{
	double rest_s = lane->deadline - now(lane);

	lane->is_pausing = false;
	start_timer(lane, rest_s > 0 ? rest_s : 0);
}

static void on_deadline(flux_reactor_t *reactor, flux_watcher_t *watcher,
			int events, void *arg)
{
	struct flux_lane *lane = arg;
	struct lanes *lanes = lane->lanes;
	char text[FAIRLEAD_ERROR_TEXT_MAX];

	if (lane->is_forgotten) {
		lane_destroy(lane);
		return;
	}
	if (lane->step == LANE_LOOKUP) {
		lane_look_up(lane);
		return;
	}
	if (lane->is_pausing && flux_reactor_now(reactor) < lane->deadline) {
		lane_resume_deadline(lane);
		lane_wait(lane);
		lanes_pump(lanes);
		return;
	}
	if (lane->step == LANE_LINGER) {
		lane_tasks_over(lane);
		return;
	}
	snprintf(text, sizeof(text), "%.900s (gave up after %g s)",
		 trouble_of(lane),
		 lane->step == LANE_RELEASE ? lanes->settings.epilog_timeout_s
					    : lanes->settings.prolog_timeout_s);
	if (lane->is_asked)
		link_reset(lanes->link, "the manager does not answer");
	stop_waiting(lane);
	if (lane->step == LANE_RELEASE)
		lane_finish(lane, -ETIMEDOUT, text);
	else
		lane_deny(lane, text);
	lanes_pump(lanes);
}

void lane_set_deadline(struct flux_lane *lane, double timeout_s)
{
	lane->is_pausing = false;
	lane->deadline = now(lane) + timeout_s;
	start_timer(lane, timeout_s);
}

void lane_pause(struct flux_lane *lane, double pause_s)
{
	double rest_s = lane->deadline - now(lane);

	lane->is_pausing = true;
	start_timer(lane, pause_s < rest_s ? pause_s : rest_s);
}

void lane_stop_deadline(struct flux_lane *lane)
{
	lane->is_pausing = false;
	flux_watcher_stop(lane->timer);
}

struct flux_lane *lane_create(struct lanes *lanes, flux_jobid_t id,
			      uint32_t uid, const struct lane_request *request)
{
	struct flux_lane *lane = calloc(1, sizeof(*lane));

	if (!lane)
		return NULL;
	lane->lanes = lanes;
	lane->id = id;
	lane->uid = uid;
	lane->request = *request;
	lane->step = LANE_OVER;
	lane->timer = flux_timer_watcher_create(flux_get_reactor(lanes->h), 0.,
						0., on_deadline, lane);
	if (!lane->timer ||
	    flux_job_id_encode(id, "f58plain", lane->name, sizeof(lane->name)) <
		    0 ||
	    flux_jobtap_job_subscribe(lanes->plugin, id) < 0 ||
	    flux_jobtap_job_aux_set(lanes->plugin, FLUX_JOBTAP_CURRENT_JOB,
				    AUX_NAME, lane, NULL) < 0) {
		lane_destroy(lane);
		return NULL;
	}
	lane->next = lanes->first;
	if (lane->next)
		lane->next->previous = lane;
	lanes->first = lane;
	return lane;
}

struct flux_lane *lane_find(const struct lanes *lanes, flux_jobid_t id)
{
	return flux_jobtap_job_aux_get(lanes->plugin, id, AUX_NAME);
}

/* --- prolog --- */

static void finish_prolog(struct flux_lane *lane, int status)
{
	if (!lane->is_prolog_open)
		return;
	lane->is_prolog_open = false;
	if (flux_jobtap_prolog_finish(lane->lanes->plugin, lane->id,
				      EVENTLOG_ACTION, status) < 0)
		flux_log_error(lane->lanes->h, "fairlead: %s: prolog_finish",
			       lane->name);
}

/* What the job has, once it has it. */
static int post_event(const struct flux_lane *lane)
{
	json_t *context = lane_event_make(lane->public);
	int result = -1;

	if (context)
		result = flux_jobtap_event_post_pack(
			lane->lanes->plugin, lane->id,
			lane_event_name(lane->public), "O", context);
	json_decref(context);
	return result;
}

void lane_start_job(struct flux_lane *lane)
{
	if (post_event(lane) < 0) {
		lane_deny(lane, "error posting " NAME_CRAY " event");
		return;
	}
	lane_stop_deadline(lane);
	lane->step = LANE_READY;
	lane->has_started = true;
	finish_prolog(lane, 0);
}

static void raise_severity(struct lanes *lanes, flux_jobid_t id, int severity,
			   const char *note)
{
	if (flux_jobtap_raise_exception(lanes->plugin, id, NAME_CRAY, severity,
					"%s", note) < 0)
		flux_log_error(lanes->h, "fairlead: raise_exception");
}

static void raise_exception(struct lanes *lanes, flux_jobid_t id,
			    const char *note)
{
	raise_severity(lanes, id, 0, note);
}

/* The exception makes the job clean up, which is lane_end(), mostly inside. */
void lane_deny(struct flux_lane *lane, const char *note)
{
	lane_stop_deadline(lane);
	lane->step = LANE_READY;
	raise_exception(lane->lanes, lane->id, note);
	finish_prolog(lane, 1);
}

void lane_refuse(struct lanes *lanes, flux_jobid_t id, const char *reason)
{
	if (flux_jobtap_prolog_start(lanes->plugin, EVENTLOG_ACTION) < 0)
		flux_log_error(lanes->h, "fairlead: prolog_start");
	raise_exception(lanes, id, reason);
	flux_jobtap_prolog_finish(lanes->plugin, id, EVENTLOG_ACTION, 1);
}

void lane_begin(struct lanes *lanes, flux_jobid_t id, uint32_t uid,
		const struct lane_request *request, const json_t *R)
{
	struct fairlead_error error = { .text = "out of memory" };
	struct flux_lane *lane = lane_create(lanes, id, uid, request);

	if (!lane ||
	    resources_read(R, &lane->nodes, &lane->cores, &error) < 0) {
		lane_refuse(lanes, id, error.text);
		return;
	}
	if (flux_jobtap_prolog_start(lanes->plugin, EVENTLOG_ACTION) < 0) {
		flux_log_error(lanes->h, "fairlead: %s: prolog_start",
			       lane->name);
		raise_exception(lanes, id, "cannot hold the job back");
		return;
	}
	lane->is_prolog_open = true;
	lane->step = LANE_RESERVE;
	lane_set_deadline(lane, lanes->settings.prolog_timeout_s);
	lane_wait(lane);
	lanes_pump(lanes);
}

/* --- epilog --- */

void lane_warn(struct flux_lane *lane, const char *what, const char *why)
{
	char note[FAIRLEAD_ERROR_TEXT_MAX];

	snprintf(note, sizeof(note), "%.100s: %.900s", what, why);
	raise_severity(lane->lanes, lane->id, WARNING_SEVERITY, note);
}

void lane_release(struct flux_lane *lane)
{
	lane->step = LANE_RELEASE;
	lane_set_deadline(lane, lane->lanes->settings.epilog_timeout_s);
	lane_wait(lane);
}

/*
 * A job that is canceled cleans up while its tasks are being killed. A lane
 * that is in use would not go, so it is not touched until they are over.
 */
void lane_linger(struct flux_lane *lane)
{
	if (!lane->has_started || lane->has_finished) {
		lane_release(lane);
		return;
	}
	lane->step = LANE_LINGER;
	lane_set_deadline(lane, LINGER_S);
}

void lane_tasks_over(struct flux_lane *lane)
{
	lane->has_finished = true;
	if (lane->step != LANE_LINGER)
		return;
	lane_release(lane);
	lanes_pump(lane->lanes);
}

void lane_finish(struct flux_lane *lane, int result, const char *text)
{
	struct lanes *lanes = lane->lanes;

	lane_stop_deadline(lane);
	lane->step = LANE_OVER;
	if (result < 0)
		flux_log(lanes->h, LOG_ERR,
			 "fairlead: %s: the lane was not given back: %s; "
			 "'fairlead reconcile --flux' does it later",
			 lane->name, text);
	if (!lane->is_epilog_open)
		return;
	lane->is_epilog_open = false;
	if (flux_jobtap_epilog_finish(lanes->plugin, lane->id, EVENTLOG_ACTION,
				      result < 0 ? 1 : 0) < 0)
		flux_log_error(lanes->h, "fairlead: %s: epilog_finish",
			       lane->name);
}

static void start_epilog(struct flux_lane *lane)
{
	if (lane->is_epilog_open)
		return;
	if (flux_jobtap_epilog_start(lane->lanes->plugin, EVENTLOG_ACTION) < 0)
		flux_log_error(lane->lanes->h, "fairlead: %s: epilog_start",
			       lane->name);
	else
		lane->is_epilog_open = true;
}

void lane_end(struct flux_lane *lane)
{
	if (lane->step == LANE_LOOKUP) {
		start_epilog(lane);
		lane->is_ending = true;
		return;
	}
	if (lane->step >= LANE_LINGER)
		return;
	lane_stop_deadline(lane);
	/* Started first: else the job could be gone with the prolog action. */
	if (lane->may_hold || lane->is_asked) {
		start_epilog(lane);
		lane_linger(lane);
	} else {
		stop_waiting(lane);
		lane->step = LANE_OVER;
	}
	finish_prolog(lane, 1);
	lanes_pump(lane->lanes);
}

/* Whoever ended the job may be one of us: it is freed from the reactor. */
void lane_forget(struct flux_lane *lane)
{
	stop_waiting(lane);
	lane->step = LANE_OVER;
	lane->is_forgotten = true;
	lane_stop_deadline(lane);
	if (!lane->is_asked)
		lane_set_deadline(lane, 0.);
}

/* --- all of them --- */

static const char *const step_names[] = {
	[LANE_LOOKUP] = "lookup",   [LANE_RESERVE] = "reserve",
	[LANE_APPLY] = "apply",     [LANE_STATUS] = "status",
	[LANE_BLAME] = "blame",     [LANE_LINGER] = "linger",
	[LANE_DRAIN] = "drain",     [LANE_READY] = "ready",
	[LANE_RELEASE] = "release", [LANE_OVER] = "over",
};

json_t *lanes_describe(const struct lanes *lanes)
{
	json_t *jobs = json_object();

	for (const struct flux_lane *lane = lanes->first; lane;
	     lane = lane->next)
		json_object_set_new(
			jobs, lane->name,
			json_pack("{s:s, s:I, s:b, s:s}", "step",
				  step_names[lane->step], "grant_id",
				  (json_int_t)lane->grant_id, "has_lane",
				  lane->has_lane, "trouble", lane->trouble));
	return jobs;
}

struct lanes *lanes_create(flux_plugin_t *plugin)
{
	struct lanes *lanes = calloc(1, sizeof(*lanes));

	if (!lanes)
		return NULL;
	lanes->plugin = plugin;
	lanes->h = flux_jobtap_get_flux(plugin);
	lanes->waiting_end = &lanes->waiting;
	settings_init(&lanes->settings);
	lanes->link = link_create(lanes->h, on_ready, lanes);
	if (!lanes->link) {
		free(lanes);
		return NULL;
	}
	return lanes;
}

void lanes_configure(struct lanes *lanes, const struct flux_settings *settings)
{
	lanes->settings = *settings;
	link_set_manager(lanes->link, settings->manager);
}

void lanes_destroy(struct lanes *lanes)
{
	if (!lanes)
		return;
	lanes->is_ending = true;
	link_destroy(lanes->link);
	while (lanes->first)
		lane_destroy(lanes->first);
	free(lanes);
}
