/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole node on a bench: an agent, the guard of guard/test/fake.h behind a
 * channel that moves on request, and the ends of both nets in hand.
 */
#pragma once

#include <jansson.h>

#include "lanes/node/agent/agent.h"
#include "lanes/node/guard/test/fake.h"
#include "sim/clock.h"

#define BENCH_FRAMES_MAX 8192

struct bench_frame {
	uint64_t peer;
	uint8_t *bytes;
	size_t size;
};

struct bench_queue {
	struct bench_frame frames[BENCH_FRAMES_MAX];
	size_t first, end;
};

struct bench {
	struct world world; /* the guard and the manager's keys */
	struct sim_clock clock;
	struct sim_rng rng;
	struct agent *agent;
	struct bench_queue asked;      /* requests on their way to the guard */
	struct bench_queue to_manager; /* frames that the agent has sent */
	struct bench_queue to_clients;
	struct bench_queue parts; /* peer: the collective */
	uint64_t over;            /* collective that has ended last */
	/* Of bench_command(): the last one, and the nodes of its command. */
	uint64_t collective;
	uint32_t place_count;
	unsigned int returned_count;
	struct hop_keys hops;
	uint64_t peer; /* of the link that was dialed last */
	unsigned int dial_count;
	int dial_error;
	int ask_error;   /* of requests to the guard */
	int send_error;  /* of frames to the manager */
	uint64_t closed; /* peer that the agent closed last */
	uint64_t next_client;
	char log[4096]; /* lines at warning and above */
};

void bench_init(struct bench *bench);
void bench_fini(struct bench *bench);
/* Both processes end and begin again; what was under way is lost. */
void bench_restart(struct bench *bench);

/* The guard answers all that is asked, and what that leads to. */
void bench_pump(struct bench *bench);
/* Time goes on, from deadline to deadline; the guard answers at each. */
void bench_advance(struct bench *bench, uint64_t ms);

/* --- the manager's end --- */

/* The next frame that the agent has sent: its type, or 0 for none. */
int bench_take(struct bench *bench, struct frame *ret_frame);
/* The next CONFIRM; asserts that there is one. The caller confirm_fini's. */
void bench_take_confirm(struct bench *bench, struct confirm *ret_confirm);
void bench_drop_frames(struct bench *bench);
/* To the agent, over the link that is there. */
void bench_send(struct bench *bench, enum frame_type type, const void *payload,
		size_t size);
/*
 * By the link, or one for a job by a collective of its own; what is answered to
 * that is in to_manager too, as a CONFIRM.
 */
void bench_command(struct bench *bench, enum command_op op, uint64_t grant_id,
		   struct writer *body_owned);
/* The same by the link in any case. */
void bench_command_by_link(struct bench *bench, enum command_op op,
			   uint64_t grant_id, struct writer *body_owned);
/* From dialed to up. */
void bench_challenge(struct bench *bench);
void bench_greet(struct bench *bench);
void bench_connect(struct bench *bench);
/* These are commands; what they bring is in to_manager. */
void bench_apply(struct bench *bench, uint64_t grant_id);
void bench_revoke(struct bench *bench, uint64_t grant_id);
void bench_ack(struct bench *bench, uint64_t sequence);

/* --- clients --- */

uint64_t bench_client(struct bench *bench, uid_t uid);
/* Send a request: op and members as JSON text, or "" for none. */
void bench_request(struct bench *bench, uint64_t client, uint64_t id,
		   const char *op, const char *members);
/* The oldest answer that is there, or NULL; a new reference. */
json_t *bench_answer(struct bench *bench, uint64_t *ret_client);
/* Request, pump, answer: asserts that there is one, and its result. */
json_t *bench_call(struct bench *bench, uid_t uid, const char *op,
		   const char *members, int expected);

/* A job of bench_apply(), as a request has it. */
#define JOB7 "{\"job\": \"slurm/J7\"}"

/* Elements of an array of an answer; asserts that it is one. */
size_t answer_count(const json_t *answer, const char *name);
/*
 * A member of the i-th element of an array, as text, or as the text of a
 * number, which is there until the next call.
 */
const char *answer_at(const json_t *answer, const char *name, size_t i,
		      const char *member);
