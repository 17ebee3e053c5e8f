/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a job's eventlog (Flux RFC 18) says of its lane. Our event has the name
 * and the context of the interconnect's, and in it the member
 *
 *   "fairlead": {"grant_id":17,"key":"flux/fABC/0","interconnect":"slingshot",
 *                "has_lane":true}
 *
 * by which it is known. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define EVENTLOG_ACTION  "fairlead" /* of our prolog and our epilog action */
#define EVENTLOG_KEY_MAX 128        /* bytes of a key, with its zero */

/* The text that is this member of an entry, or of an answer; "": there is none. */
const char *entry_text(const json_t *entry, const char *name);

/* Our event. */
struct lane_event {
	uint64_t grant_id; /* 0: none; nothing was asked for */
	bool has_lane;
	char key[EVENTLOG_KEY_MAX];
};

/* False: the entry is something else. */
bool lane_event_read(const json_t *entry, struct lane_event *ret_event);

/*
 * The context of our event: the interconnect's, and ours in it. grant_public:
 * of a grant (fairlead-grant(5)). NULL: memory is out, or it is none. The
 * caller drops it.
 */
json_t *lane_event_make(const json_t *grant_public);
/* .. of a job that was not asked for, with the reason. */
json_t *lane_event_none(const char *reason);
/* The name of the event of a grant: the driver's. Lives as long as the grant. */
const char *lane_event_name(const json_t *grant_public);

/*
 * After this entry the job has no tasks any more: `finish`, or the last
 * `release` of one that has none.
 */
bool entry_ends_tasks(const json_t *entry);

struct eventlog {
	bool is_prolog_open; /* our action was started, and is not finished */
	bool is_epilog_open;
	bool has_begun;    /* our prolog action was started, once .. */
	bool was_refused;  /* .. and ended badly */
	bool has_finished; /* the job's tasks are over */
	bool has_prolog_start, has_prolog_finish; /* anybody's */
	bool has_epilog_start;
	bool has_event; /* ours; the last one is */
	struct lane_event event;
};

/* text: one entry a line. -EBADMSG: a line is none. */
int eventlog_read(const char *text, struct eventlog *ret_log);
/* What is assumed of one that cannot be read: the job has a lane, and tasks. */
struct eventlog eventlog_unknown(void);
/* The job may have had tasks, in a lane. */
bool eventlog_has_started(const struct eventlog *log);
