/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the agent, which share its state. */
#pragma once

#include <jansson.h>

#include "base/hash.h"
#include "lanes/proto/client.h"
#include "lanes/node/agent/agent.h"
#include "lanes/node/guard/channel.h"

/* --- what the guard has shown --- */

struct mirror_grant {
	uint64_t grant_id;
	uint8_t state; /* enum grant_state */
	char key[REQUEST_KEY_MAX + 1];
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	uint32_t uid;
	uint8_t id_count;
	uint32_t ids[FAIRLEAD_LANE_IDS_MAX];
	char *text; /* warnings; or why it is still there */
	/* REVOKING: */
	bool is_asked; /* a retry is at the guard */
	uint64_t retry_ms;
	uint32_t pause_ms;
	UT_hash_handle hh;
};

/* --- requests to the guard, oldest first --- */

typedef void ask_fn(struct agent *agent, void *arg,
		    const struct guard_reply *reply);

struct agent_ask {
	uint8_t type; /* enum guard_type */
	ask_fn *done;
	void *arg;
	struct agent_ask *prev, *next;
};

/* --- the link --- */

enum link_state {
	LINK_DOWN,       /* dials at dial_ms */
	LINK_IDLE,       /* closed: the lease holds, and nothing is open */
	LINK_DIALING,    /* until opened or closed */
	LINK_OPEN,       /* waits for CHALLENGE */
	LINK_CHALLENGED, /* the guard makes the REGISTER, or HELLO is awaited */
	LINK_UP,
};

struct link {
	enum link_state state;
	uint64_t peer;
	uint64_t dial_ms;
	uint32_t pause_ms;
	uint64_t greet_ms; /* by when HELLO has to be here */
	uint64_t seen_ms;
	uint64_t pinged_ms;
	uint64_t used_ms;   /* when more than a PING was sent or received */
	uint64_t epoch;     /* in which we were greeted last */
	uint64_t leased_ms; /* until when the manager holds us for up */
	bool is_refused;
	char error[FAIRLEAD_ERROR_TEXT_MAX]; /* why it is not up, or was not */
	size_t register_count; /* at the guard; of the last one counts */
	/* Send pending confirmations one by one, then all again after a pause. */
	uint64_t pending_cursor;
	bool pending_is_asked;
	uint64_t pending_ms; /* when to go on; DEADLINE_NONE: none is pending */
	uint32_t pending_pause_ms;
};

/* --- clients --- */

struct agent_client {
	uint64_t peer;
	uid_t uid;
	size_t work_count;
	UT_hash_handle hh;
};

struct agent_work; /* work.c */

struct listing; /* status.c */

/* Clients that wait for one answer of the guard: status.c. */
struct waiters {
	struct agent_waiter *list;
	size_t count;
	uint64_t answered_ms; /* when the guard has answered last; 0: never */
};

struct agent {
	struct agent_options options;
	char *name, *manager, *software;
	char *restart; /* what waits for one, a line each; NULL: nothing */
	uint64_t started_ms;
	bool is_synced;              /* the mirror has every grant */
	struct mirror_grant *grants; /* in the order of their ids */
	struct agent_ask *asks;
	size_t ask_count;
	struct link link;
	struct agent_client *clients;
	struct agent_work *works;
	size_t work_count;
	size_t others_work_count; /* of these, others than root's */
	struct agent_round *rounds;
	size_t command_count; /* at the guard */
	uint64_t warned_ms;   /* about commands that were not believed */
	/* Of the guard's last reply. */
	uint64_t epoch;
	uint32_t pending_count;
	uint8_t key_count;
	uint32_t key_ids[KEYS_MAX];
	/* What it has shown to clients. */
	struct registration_driver drivers[REGISTRATION_DRIVERS_MAX];
	size_t driver_count;
	struct waiters driver_waiters;
	struct guard_object *objects; /* owned */
	size_t object_count;
	struct waiters object_waiters;
	struct listing *listings; /* of objects, that the guard is at */
	bool endpoint_is_open;
	char endpoint[FAIRLEAD_ERROR_TEXT_MAX]; /* for people; "": not tried */
	bool is_drained;
	char drain_reason[DRAIN_REASON_MAX + 1];
};

uint64_t agent_now_ms(const struct agent *agent);
static inline uint64_t deadline_min(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

/* Ask the guard; done may be NULL. -ENOBUFS, or the seam's error. */
int agent_ask(struct agent *agent, const struct guard_request *request,
	      ask_fn *done, void *arg);

/* --- link.c --- */

void link_begin(struct agent *agent);
uint64_t link_deadline_ms(const struct agent *agent);
void link_tick(struct agent *agent);
/* The number of pending confirmations has changed from `before`. */
void link_pending(struct agent *agent, uint32_t before);
/* The guard has obeyed a HELLO. */
void link_greeted(struct agent *agent);
/* And a LEASE of so many seconds. */
void link_leased(struct agent *agent, uint32_t lease_s);
/* What we registered is out of date. */
void link_moved(struct agent *agent);

/* --- round.c: commands, and the rounds of collectives that bring them --- */

struct agent_round;

/*
 * Hand a command to the guard. round: the collective that has brought it, which
 * gets the reply; NULL: it was the link. -EAGAIN: there are too many, and the
 * errors of agent_ask().
 */
int commands_take(struct agent *agent, const void *bytes, size_t size,
		  struct agent_round *round);
/* Have the guard make the answer to a QUERY or CLEAN, and send that up. */
void commands_answer(struct agent *agent, const struct guard_request *request);

uint64_t agent_rounds_deadline_ms(const struct agent *agent);
void agent_rounds_tick(struct agent *agent);
void agent_rounds_fini(struct agent *agent);

/* --- work.c: what takes a while --- */

enum agent_work_kind {
	WORK_PROLOG,
	WORK_EPILOG,
	WORK_HOUSEKEEPING,
	WORK_CLEAN,
	WORK_ENVIRONMENT,
};

/* The request, and its client. */
struct work_order {
	enum agent_work_kind kind;
	uint64_t peer, id; /* a client's; peer 0: the manager's command `id` */
	uid_t uid;
	bool has_job;
	struct request_key job;
	/* A prolog that was given a grant; else the lane's grant id is 0. */
	bool has_lane; /* false: nothing is made for it on any node */
	struct fairlead_lane lane;
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	bool is_dry_run;
	bool is_followed; /* an epilog: by housekeeping, where it is busy */
	bool is_alone;    /* nobody waits for the answer */
	bool is_all;
	bool is_forced;  /* a clean of all: live lanes, too */
	bool has_object; /* a clean of one object */
	char device[32];
	uint32_t object_id;
	uint32_t timeout_ms;
};

/* -EAGAIN at AGENT_WORKS_MAX, or that of others. */
int work_begin(struct agent *agent, const struct work_order *order);
/* The mirror has changed. */
void works_wake(struct agent *agent);
uint64_t works_deadline_ms(const struct agent *agent);
void works_tick(struct agent *agent);
void works_fini(struct agent *agent);
/* Whether one waits for a DRAIN, which comes by the link. */
bool works_await_drain(const struct agent *agent);

/* Read this node's part from a grant in text form. */
int order_read_grant(const struct agent *agent, const char *text,
		     struct work_order *order,
		     struct fairlead_error *ret_error);
/* Describe, in lines, what an apply would make here; changes nothing. */
int order_preview(const struct agent *agent, const struct work_order *order,
		  json_t *lines, struct fairlead_error *ret_error);

/* --- clients.c --- */

/* An answer whose members are those of the view; takes the reference. */
void client_reply_view(struct agent *agent, uint64_t peer, uint64_t id,
		       json_t *view);
/* Answer a client's request; takes the reference. NULL: memory is out. */
void client_reply(struct agent *agent, uint64_t peer, uint64_t id,
		  json_t *answer);
void client_refuse(struct agent *agent, uint64_t peer, uint64_t id, int code,
		   const char *text, const char *hint);
/* One of its works is over. */
void client_work_done(struct agent *agent, uint64_t peer);
void agent_clients_fini(struct agent *agent);

/* --- status.c: what only the guard knows, for clients --- */

/* Ask for its drivers, when the guard has begun. As agent_ask(). */
int status_begin(struct agent *agent);
/*
 * Answer a client's node-status or objects, at once or when the guard has been
 * asked: for others than root it is asked once a second at most.
 */
void status_answer(struct agent *agent, uint64_t peer, uint64_t id, uid_t uid);
void objects_answer(struct agent *agent, uint64_t peer, uint64_t id, uid_t uid);
void status_fini(struct agent *agent);

/* list: borrowed for the call; NULL with an error, which has a text. */
typedef void objects_fn(struct agent *agent, void *arg, uint64_t number,
			const struct guard_object *list, size_t count,
			const struct fairlead_error *error);

/*
 * Ask for all objects. arg and number are handed on to `done`, which is called
 * later, or never when this fails, as agent_ask() does.
 */
int objects_ask(struct agent *agent, objects_fn *done, void *arg,
		uint64_t number);

/* --- view.c: as members of an answer; NULL when memory is out --- */

/* uid: the reader; without keys and reasons of others, unless it is root. */
json_t *view_status(const struct agent *agent, uid_t uid);
/* Append each line of a text, which may be NULL. */
void view_lines(json_t *array, const char *text);
json_t *view_grant(const struct mirror_grant *grant, bool is_whole);
/* This also fails with a driver's error. */
int view_devices(const struct agent *agent, json_t **ret_view,
		 struct fairlead_error *ret_error);
json_t *view_objects(const struct agent *agent, const struct guard_object *list,
		     size_t count);
/* The grant that an object belongs to, or NULL. */
const struct mirror_grant *view_owner(const struct agent *agent,
				      const struct registration_object *object);
