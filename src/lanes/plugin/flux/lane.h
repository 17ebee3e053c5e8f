/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lanes of the job manager's jobs: one for each job that has asked for one,
 * from its prolog action to the end of its epilog action. Steps:
 *
 *   LOOKUP    known from before a restart; what its eventlog says is awaited
 *   RESERVE   the manager is asked for a grant
 *   APPLY     .. to have it made on the nodes
 *   STATUS    .. how long it has been there: nodes come back to a new one
 *   BLAME     .. which nodes are to blame for a refusal
 *   DRAIN     Flux is asked to drain these
 *   READY     the prolog action is over
 *   LINGER    the job was canceled, and its tasks are being ended
 *   RELEASE   the manager is asked to take it back
 *   OVER      nothing is to be done any more
 *
 * One request of a lane is open at a time. Of a lane that is to end in the
 * middle the answer is awaited, since only then is it known what is held. A
 * request whose answer is lost is made again: all can be made twice.
 */
#pragma once

#include <flux/core.h>
#include <flux/jobtap.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "fairlead.h"
#include "lanes/plugin/flux/link.h"
#include "lanes/plugin/flux/request.h"
#include "lanes/plugin/flux/settings.h"

enum lane_step {
	LANE_LOOKUP,
	LANE_RESERVE,
	LANE_APPLY,
	LANE_STATUS,
	LANE_BLAME,
	LANE_DRAIN,
	LANE_READY,
	LANE_LINGER,
	LANE_RELEASE,
	LANE_OVER,
};

struct lanes {
	flux_plugin_t *plugin;
	flux_t *h;
	struct flux_link *link;
	struct flux_settings settings;
	struct flux_lane *first;
	/* Those that have something to ask, in order. */
	struct flux_lane *waiting;
	struct flux_lane **waiting_end;
	bool is_ending;
};

struct flux_lane {
	struct lanes *lanes;
	struct flux_lane *next, *previous;
	struct flux_lane *next_waiting;
	flux_jobid_t id;
	char name[32]; /* the job's id as F58, with a plain f */
	uint32_t uid;
	struct lane_request request;
	char *nodes; /* NULL: known from before a restart, and running */
	char *cores;
	enum lane_step step, asked_step;
	bool is_waiting;
	bool is_asked;     /* a request is open */
	bool is_forgotten; /* the job is gone; to be freed */
	bool is_prolog_open, is_epilog_open;
	bool is_ending;    /* LOOKUP: the job ends */
	bool has_started;  /* it may have tasks .. */
	bool has_finished; /* .. and they are over */
	bool may_hold;     /* the manager may have a grant of it */
	bool has_lane;
	uint32_t attempt;
	double pause_s; /* before the last try at a young manager; 0: none */
	uint64_t grant_id;
	json_t *public;        /* of the grant */
	flux_watcher_t *timer; /* a pause, or the deadline */
	double deadline;       /* of the reactor's clock */
	bool is_pausing;
	flux_future_t *future; /* LOOKUP, DRAIN */
	json_t *blamed;        /* [{nodes, text}]: to be drained, see blame.h */
	size_t drained_count;
	json_t *members; /* BLAME: of the manager, by name: fit or not */
	char *after;
	char note[FAIRLEAD_ERROR_TEXT_MAX];    /* why it is refused */
	char trouble[FAIRLEAD_ERROR_TEXT_MAX]; /* why it still waits */
};

/* --- for the callbacks of the job manager --- */

/* NULL: memory is out. */
struct lanes *lanes_create(flux_plugin_t *plugin);
/* What is open stays open in the jobs' eventlogs: who is loaded next goes on. */
void lanes_destroy(struct lanes *lanes);
void lanes_configure(struct lanes *lanes, const struct flux_settings *settings);
/* {"JOB": {"step", "grant_id", "has_lane", "trouble"}}; the caller drops it. */
json_t *lanes_describe(const struct lanes *lanes);

/*
 * In job.state.run, of the current job: start its prolog action, and ask. An
 * error is the job's: it was refused.
 */
void lane_begin(struct lanes *lanes, flux_jobid_t id, uint32_t uid,
		const struct lane_request *request, const json_t *R);
/* In job.state.run: no lane, for this reason. */
void lane_refuse(struct lanes *lanes, flux_jobid_t id, const char *reason);
/* Its tasks are over. */
void lane_tasks_over(struct flux_lane *lane);
/* In job.state.cleanup, of the current job. */
void lane_end(struct flux_lane *lane);
/*
 * In job.new: what became of it before. is_ending: it is in CLEANUP, else in
 * RUN. R: NULL where it has none.
 */
void lane_resume(struct lanes *lanes, flux_jobid_t id, uint32_t uid,
		 const struct lane_request *request, const json_t *R,
		 bool is_ending);
/* The job is inactive; frees the lane, later. */
void lane_forget(struct flux_lane *lane);
/* The lane of an active job, or of FLUX_JOBTAP_CURRENT_JOB, or NULL. */
struct flux_lane *lane_find(const struct lanes *lanes, flux_jobid_t id);

/* --- among the files of lanes --- */

struct flux_lane *lane_create(struct lanes *lanes, flux_jobid_t id,
			      uint32_t uid, const struct lane_request *request);
/* Let it ask when it is its turn, and whoever can, now. */
void lane_wait(struct flux_lane *lane);
void lanes_pump(struct lanes *lanes);
/* Give up on a step after so long. */
void lane_set_deadline(struct flux_lane *lane, double timeout_s);
void lane_stop_deadline(struct flux_lane *lane);
/* .. and ask again after a while. */
void lane_pause(struct flux_lane *lane, double pause_s);
/* A request for the lane's step; see link_ask(). */
int lane_ask(struct flux_lane *lane);
/* Post our event, and finish the prolog action. */
void lane_start_job(struct flux_lane *lane);
/* .. with an exception: no task starts. */
void lane_deny(struct flux_lane *lane, const char *note);
/* An exception that fails no job, and that its user reads. */
void lane_warn(struct flux_lane *lane, const char *what, const char *why);
/* The job may go; result: of the release, or 0. */
void lane_finish(struct flux_lane *lane, int result, const char *text);
/* Begin to take it back, when the job's tasks are over. */
void lane_linger(struct flux_lane *lane);
/* .. now. */
void lane_release(struct flux_lane *lane);
/* Drain what is in `blamed`, one entry after the other, and deny then. */
void lane_drain(struct flux_lane *lane);
/* An answer of the manager's to BLAME. */
void lane_take_nodes(struct flux_lane *lane, const json_t *answer);
/* Read the eventlog, now. */
void lane_look_up(struct flux_lane *lane);
