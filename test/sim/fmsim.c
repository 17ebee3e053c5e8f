/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request arrives, is carried out, and is answered; the client waits for
 * CLIENT_MS. A request that was given up, or whose manager died, may still
 * arrive, late. Names are those of the shipped outside/name.c; whether they kept
 * clients apart shows in the grant id of the client that made a reservation.
 */
#include "fmsim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lanes/manager/outside/name.h"
#include "oracle.h"

#define EVERY     7 /* seeds: one of them has a fabric manager, */
#define WHICH     2 /* that with this remainder */
#define CLIENT_MS 5000
#define LATE_MS   60000
#define OTHERS    12 /* of other clients, at once */

enum mood {
	MOOD_WELL,
	MOOD_LOSSY,
	MOOD_SLOW,
	MOOD_DOWN,  /* no connection */
	MOOD_HANGS, /* no answer */
	MOOD_COUNT,
};

struct reservation {
	char name[FABRIC_MANAGER_NAME_MAX + 1];
	uint64_t grant_id; /* 0: another client has made it */
	char token[FMSIM_TOKEN_MAX + 1];
	bool is_there;
	bool is_forgotten;
	struct reservation *prev, *next;
};

struct call {
	struct fmsim *fmsim;
	struct outside_request request; /* text is not kept */
	char name[FABRIC_MANAGER_NAME_MAX + 1];
	fmsim_done_fn *done;
	void *ctx;        /* NULL: the client has given up */
	uint64_t arrival; /* event; 0: it has arrived, or will not */
	uint64_t end;     /* event; 0: it has ended */
	bool is_answered; /* by what follows */
	int result;
	const char *text;
	char token[FMSIM_TOKEN_MAX + 1];
	uint64_t *grant_ids;
	size_t count;
	struct call *prev, *next;
};

struct fmsim {
	struct world *world;
	struct sim_rng rng;
	enum mood mood;
	uint64_t mood_event;
	uint64_t token_last;
	uint64_t grant_last; /* that was asked for */
	struct reservation *list;
	struct call *calls;
};

static const char *const verb_names[] = {
	[OUTSIDE_MAKE] = "make",
	[OUTSIDE_DROP] = "drop",
	[OUTSIDE_FIND] = "find",
	[OUTSIDE_LIST] = "list",
};

bool fmsim_is_there(const struct world *world)
{
	return world->options.seed % EVERY == WHICH;
}

static bool percent(struct fmsim *fmsim, unsigned int n)
{
	return sim_rng_below(&fmsim->rng, 100) < n;
}

/* --- reservations --- */

static struct reservation *find(const struct fmsim *fmsim, const char *name)
{
	struct reservation *reservation;

	DL_FOREACH (fmsim->list, reservation)
		if (reservation->is_there &&
		    strcmp(reservation->name, name) == 0)
			return reservation;
	return NULL;
}

static struct reservation *add(struct fmsim *fmsim, const char *name,
			       uint64_t grant_id)
{
	struct reservation *reservation = world_allocate(sizeof(*reservation));

	snprintf(reservation->name, sizeof(reservation->name), "%s", name);
	snprintf(reservation->token, sizeof(reservation->token),
		 FMSIM_MARK "%" PRIu64, ++fmsim->token_last);
	reservation->grant_id = grant_id;
	reservation->is_there = true;
	DL_APPEND(fmsim->list, reservation);
	return reservation;
}

uint64_t fmsim_token_grant(const struct fmsim *fmsim, const char *token)
{
	const struct reservation *reservation;

	DL_FOREACH (fmsim->list, reservation)
		if (strcmp(reservation->token, token) == 0)
			return reservation->grant_id;
	return 0;
}

const char *fmsim_leftover(const struct fmsim *fmsim)
{
	const struct reservation *reservation;

	if (fmsim == NULL)
		return NULL;
	DL_FOREACH (fmsim->list, reservation)
		if (reservation->is_there && reservation->grant_id != 0)
			return reservation->name;
	return NULL;
}

/* --- what others do with it --- */

static void others_act(struct fmsim *fmsim)
{
	static const char *const forms[] = {
		"%s-%llu",   "%s-g%llux", "%s-g0%llu", "%s2-g%llu",
		"x%s-g%llu", "%s-gg%llu", "%s-g+%llu", "%s-h%llu",
	};
	char name[FABRIC_MANAGER_NAME_MAX + 1];
	struct reservation *reservation, *next;
	uint64_t near = fmsim->grant_last + sim_rng_below(&fmsim->rng, 12);
	unsigned int count = 0;

	DL_FOREACH_SAFE (fmsim->list, reservation, next) {
		if (!reservation->is_there || reservation->grant_id != 0)
			continue;
		reservation->is_there = percent(fmsim, 80);
		count += reservation->is_there;
	}
	/* Slurm's are the most common. */
	for (; count < OTHERS; count++) {
		size_t form =
			percent(fmsim, 50)
				? 0
				: sim_rng_below(&fmsim->rng,
						sizeof(forms) / sizeof(*forms));

		snprintf(name, sizeof(name), forms[form], WORLD_CLUSTER,
			 (unsigned long long)(near > 8 ? near - 8 : near) +
				 count);
		if (find(fmsim, name) == NULL)
			add(fmsim, name, 0);
	}
}

void fmsim_forget(struct fmsim *fmsim)
{
	struct reservation *reservation;
	bool is_all = percent(fmsim, 30);

	coverage_hit(fmsim->world->coverage, is_all ? "fault:outside-restart"
						    : "fault:outside-forgets");
	DL_FOREACH (fmsim->list, reservation) {
		if (!reservation->is_there || (!is_all && percent(fmsim, 70)))
			continue;
		reservation->is_there = false;
		reservation->is_forgotten = true;
	}
}

unsigned int fmsim_fate(const struct fmsim *fmsim, uint64_t grant_id)
{
	const struct reservation *reservation;
	unsigned int fate = 0;

	DL_FOREACH (fmsim->list, reservation) {
		if (reservation->grant_id != grant_id)
			continue;
		fate &= ~FMSIM_IS_FORGOTTEN; /* a late request made it again */
		fate |= reservation->is_there ? 0 : FMSIM_WAS_GONE;
		fate |= reservation->is_forgotten ? FMSIM_IS_FORGOTTEN : 0;
	}
	return fate;
}

static void on_mood(void *ctx)
{
	static const char *const names[MOOD_COUNT] = { "well", "lossy", "slow",
						       "down", "hangs" };
	struct fmsim *fmsim = ctx;
	uint64_t last_ms = 500 + sim_rng_below(&fmsim->rng, 20000);

	fmsim->mood = percent(fmsim, 30) ? MOOD_LOSSY
					 : (enum mood)sim_rng_below(&fmsim->rng,
								    MOOD_COUNT);
	if (fmsim->mood >= MOOD_DOWN && percent(fmsim, 30))
		last_ms += 60000;
	coverage_hit(fmsim->world->coverage, "fault:outside-%s",
		     names[fmsim->mood]);
	world_trace(fmsim->world, "the fabric manager is %s",
		    names[fmsim->mood]);
	if (percent(fmsim, 10))
		fmsim_forget(fmsim);
	others_act(fmsim);
	fmsim->mood_event =
		sim_queue_add(fmsim->world->queue, last_ms, on_mood, fmsim);
}

/* --- what it does --- */

static void check_ours(struct fmsim *fmsim, const struct call *call,
		       const struct reservation *reservation)
{
	if (reservation->grant_id == 0)
		world_fail(fmsim->world,
			   "NOT OURS: '%s' is another client's, and grant %llu "
			   "asks to %s it",
			   reservation->name,
			   (unsigned long long)call->request.grant_id,
			   verb_names[call->request.verb]);
	if (reservation->grant_id != call->request.grant_id)
		world_fail(fmsim->world,
			   "NEVER SHARED: '%s' is grant %llu's, and grant %llu "
			   "asks to %s it",
			   reservation->name,
			   (unsigned long long)reservation->grant_id,
			   (unsigned long long)call->request.grant_id,
			   verb_names[call->request.verb]);
}

static void make(struct fmsim *fmsim, struct call *call)
{
	struct reservation *reservation = find(fmsim, call->name);

	if (reservation == NULL) {
		reservation = add(fmsim, call->name, call->request.grant_id);
	} else {
		coverage_hit(fmsim->world->coverage, "outside:taken-over");
		check_ours(fmsim, call, reservation);
	}
	strcpy(call->token, reservation->token);
}

static void drop(struct fmsim *fmsim, struct call *call)
{
	struct reservation *reservation = find(fmsim, call->name);

	if (reservation == NULL) {
		call->result = -ENOENT;
		return;
	}
	check_ours(fmsim, call, reservation);
	oracle_outside_dropped(fmsim->world->oracle, reservation->grant_id);
	reservation->is_there = false;
}

static void list(struct fmsim *fmsim, struct call *call)
{
	const struct reservation *reservation;
	bool is_cut = fmsim->mood_event != 0 && percent(fmsim, 70);
	size_t count = 0;

	DL_COUNT(fmsim->list, reservation, count);
	call->grant_ids = world_allocate(count * sizeof(*call->grant_ids));
	DL_FOREACH (fmsim->list, reservation) {
		uint64_t grant_id =
			outside_name_grant(WORLD_CLUSTER, reservation->name);

		if (reservation->is_there && grant_id != 0 &&
		    !(is_cut && percent(fmsim, 50)))
			call->grant_ids[call->count++] = grant_id;
	}
	if (is_cut)
		coverage_hit(fmsim->world->coverage, "fault:outside-list-cut");
}

/* True: it was refused, and nothing was done. */
static bool is_refused(struct fmsim *fmsim, struct call *call)
{
	static const int results[] = { -EAGAIN, -EAGAIN, -ENOSPC, -EACCES };

	if (fmsim->mood == MOOD_WELL || !percent(fmsim, 30))
		return false;
	call->result = results[sim_rng_below(&fmsim->rng, 4)];
	call->text = "it is refused";
	return true;
}

static void carry_out(struct fmsim *fmsim, struct call *call)
{
	call->is_answered = true;
	if (is_refused(fmsim, call))
		return;
	switch (call->request.verb) {
	case OUTSIDE_MAKE:
		make(fmsim, call);
		break;
	case OUTSIDE_DROP:
		drop(fmsim, call);
		break;
	case OUTSIDE_FIND:
		call->result = find(fmsim, call->name) == NULL ? -ENOENT : 0;
		break;
	default:
		list(fmsim, call);
		break;
	}
	if (fmsim->mood == MOOD_LOSSY && percent(fmsim, 20)) {
		coverage_hit(fmsim->world->coverage,
			     "fault:outside-answer-lost");
		call->is_answered = false;
	} else if (fmsim->mood == MOOD_LOSSY && percent(fmsim, 25)) {
		coverage_hit(fmsim->world->coverage,
			     "fault:outside-bad-answer");
		call->result = percent(fmsim, 50) ? -EPROTO : -EAGAIN;
		call->text = "the answer is none";
	}
}

/* --- calls --- */

static void call_free(struct call *call)
{
	DL_DELETE(call->fmsim->calls, call);
	free(call->grant_ids);
	free(call);
}

static void on_end(void *ctx)
{
	struct call *call = ctx;
	struct fmsim *fmsim = call->fmsim;
	const struct outside_end end = {
		.result = call->is_answered ? call->result : -EAGAIN,
		.is_reached = call->is_answered,
		.text = call->is_answered ? call->text : "no answer",
		.secret = (const uint8_t *)call->token,
		.secret_size = strlen(call->token),
		.grant_ids = call->grant_ids,
		.count = call->count,
	};
	void *waiting = call->ctx;

	call->end = 0;
	call->ctx = NULL;
	coverage_hit(fmsim->world->coverage, "outside:%s:%s",
		     verb_names[call->request.verb],
		     end.result == 0 ? "0" : strerrorname_np(-end.result));
	call->done(waiting, call->request.id, &end);
	if (call->arrival == 0)
		call_free(call);
}

static void on_arrival(void *ctx)
{
	struct call *call = ctx;
	struct fmsim *fmsim = call->fmsim;
	struct sim_queue *queue = fmsim->world->queue;
	uint64_t delay_ms = 1 + sim_rng_below(&fmsim->rng, 20);

	call->arrival = 0;
	if (fmsim->mood == MOOD_SLOW)
		delay_ms += sim_rng_below(&fmsim->rng, 4000);
	if (fmsim->mood < MOOD_DOWN) {
		world_trace(fmsim->world, "the fabric manager: %s %s%s",
			    verb_names[call->request.verb], call->name,
			    call->ctx == NULL ? ", late" : "");
		carry_out(fmsim, call);
	}
	if (call->ctx == NULL) {
		coverage_hit(fmsim->world->coverage, "fault:outside-late");
		call_free(call);
		return;
	}
	/* A connection that is refused ends at once. */
	if (call->is_answered || fmsim->mood == MOOD_DOWN) {
		sim_queue_cancel(queue, call->end);
		call->end = sim_queue_add(queue, delay_ms, on_end, call);
	}
}

void fmsim_ask(struct fmsim *fmsim, const struct outside_request *request,
	       fmsim_done_fn *done, void *ctx)
{
	struct sim_queue *queue = fmsim->world->queue;
	struct call *call = world_allocate(sizeof(*call));
	uint64_t delay_ms = 1 + sim_rng_below(&fmsim->rng, 20);
	bool is_lossy = fmsim->mood == MOOD_LOSSY || fmsim->mood == MOOD_SLOW;

	call->fmsim = fmsim;
	call->request = *request;
	call->request.text = NULL;
	call->request.prefix = NULL;
	call->done = done;
	call->ctx = ctx;
	call->text = "";
	if (request->verb != OUTSIDE_LIST)
		outside_name_format(request->prefix, request->grant_id,
				    call->name);
	if (request->verb == OUTSIDE_MAKE)
		fmsim->grant_last = request->grant_id;
	DL_APPEND(fmsim->calls, call);
	call->end = sim_queue_add(queue, CLIENT_MS, on_end, call);
	if (is_lossy && percent(fmsim, 15)) {
		coverage_hit(fmsim->world->coverage, "fault:outside-lost");
		return;
	}
	if (is_lossy && percent(fmsim, 20))
		delay_ms += sim_rng_below(&fmsim->rng, LATE_MS);
	call->arrival = sim_queue_add(queue, delay_ms, on_arrival, call);
}

void fmsim_hang_up(struct fmsim *fmsim, const void *ctx)
{
	struct call *call, *next;

	if (fmsim == NULL)
		return;
	DL_FOREACH_SAFE (fmsim->calls, call, next) {
		if (call->ctx != ctx)
			continue;
		call->ctx = NULL;
		sim_queue_cancel(fmsim->world->queue, call->end);
		call->end = 0;
		if (call->arrival != 0 && percent(fmsim, 50))
			continue;
		sim_queue_cancel(fmsim->world->queue, call->arrival);
		call_free(call);
	}
}

/* --- life --- */

void fmsim_heal(struct fmsim *fmsim)
{
	if (fmsim == NULL)
		return;
	sim_queue_cancel(fmsim->world->queue, fmsim->mood_event);
	fmsim->mood_event = 0;
	fmsim->mood = MOOD_WELL;
}

void fmsim_break(struct fmsim *fmsim)
{
	fmsim->mood = percent(fmsim, 50) ? MOOD_DOWN : MOOD_HANGS;
}

struct fmsim *fmsim_create(struct world *world)
{
	struct fmsim *fmsim;

	if (!fmsim_is_there(world))
		return NULL;
	fmsim = world_allocate(sizeof(*fmsim));
	fmsim->world = world;
	sim_rng_init(&fmsim->rng, ~world->options.seed);
	others_act(fmsim);
	if (world_has_fault(world, FAULT_OUTSIDE))
		fmsim->mood_event =
			sim_queue_add(world->queue, 5000, on_mood, fmsim);
	return fmsim;
}

void fmsim_destroy(struct fmsim *fmsim)
{
	struct reservation *reservation, *next;

	if (fmsim == NULL)
		return;
	sim_queue_cancel(fmsim->world->queue, fmsim->mood_event);
	while (fmsim->calls != NULL) {
		sim_queue_cancel(fmsim->world->queue, fmsim->calls->end);
		sim_queue_cancel(fmsim->world->queue, fmsim->calls->arrival);
		call_free(fmsim->calls);
	}
	DL_FOREACH_SAFE (fmsim->list, reservation, next)
		free(reservation);
	free(fmsim);
}
