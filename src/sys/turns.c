/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An idle handle keeps the loop going round as long as somebody can have a
 * turn; when only others wait and have used up their time, a timer ends the
 * pause.
 *
 * Users stand in a list while they have an asker that waits; who had a turn
 * goes to its end, and so do a user's askers.
 */
#include "sys/turns.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/hash.h"
#include "base/memory.h"

#define NS_PER_MS 1000000

struct turns_user {
	uint64_t id;
	size_t count;                /* of its askers: never 0 */
	struct turns_asker *waiting; /* of those that do not go first */
	struct turns_user *prev, *next;
	UT_hash_handle hh;
};

struct turns {
	struct turns_user *users;   /* by id */
	struct turns_asker *first;  /* that go first, and wait */
	struct turns_user *waiting; /* with an asker that waits */
	int64_t credit_ns;          /* of the others; negative: they pause */
	uint64_t credited_ns;       /* when it was looked at last */
	uv_idle_t idle;
	uv_timer_t timer;
	unsigned int open_count; /* of the two */
};

static void credit(struct turns *turns)
{
	const int64_t most = (int64_t)TURNS_AHEAD_MS * NS_PER_MS;
	uint64_t now_ns = uv_hrtime();

	turns->credit_ns +=
		(int64_t)((now_ns - turns->credited_ns) / TURNS_SHARE);
	if (turns->credit_ns > most)
		turns->credit_ns = most;
	turns->credited_ns = now_ns;
}

void turns_charge(struct turns *turns, uint64_t took_ns)
{
	const int64_t least = -(int64_t)TURNS_DEBT_MS * NS_PER_MS;

	turns->credit_ns -= (int64_t)took_ns;
	if (turns->credit_ns < least)
		turns->credit_ns = least;
}

static void run_first(struct turns *turns)
{
	const struct turns_asker *one;
	size_t count;

	/* Who waits again waits for the next round. */
	DL_COUNT(turns->first, one, count);
	for (; count > 0 && turns->first != NULL; count--) {
		struct turns_asker *asker = turns->first;

		turns_wait_end(asker);
		asker->run(asker->ctx);
	}
}

static void run_other(struct turns *turns)
{
	struct turns_asker *asker = turns->waiting->waiting;
	uint64_t begun_ns = uv_hrtime();

	/* Its user stands at the end when it waits again. */
	turns_wait_end(asker);
	if (asker->user->waiting != NULL) {
		DL_DELETE(turns->waiting, asker->user);
		DL_APPEND(turns->waiting, asker->user);
	}
	asker->run(asker->ctx);
	turns_charge(turns, uv_hrtime() - begun_ns);
}

static void on_round(uv_idle_t *idle);

static void on_pause_over(uv_timer_t *timer)
{
	struct turns *turns = timer->data;

	uv_idle_start(&turns->idle, on_round);
}

static void on_round(uv_idle_t *idle)
{
	struct turns *turns = idle->data;

	run_first(turns);
	credit(turns);
	if (turns->waiting != NULL && turns->credit_ns >= 0)
		run_other(turns);
	if (turns->first != NULL ||
	    (turns->waiting != NULL && turns->credit_ns >= 0))
		return;
	uv_idle_stop(idle);
	if (turns->waiting != NULL)
		uv_timer_start(&turns->timer, on_pause_over,
			       (uint64_t)-turns->credit_ns * TURNS_SHARE /
					       NS_PER_MS +
				       1,
			       0);
}

struct turns *turns_create(uv_loop_t *loop)
{
	struct turns *turns = memory_alloc(sizeof(*turns));

	uv_idle_init(loop, &turns->idle);
	uv_timer_init(loop, &turns->timer);
	turns->idle.data = turns;
	turns->timer.data = turns;
	turns->open_count = 2;
	turns->credit_ns = (int64_t)TURNS_AHEAD_MS * NS_PER_MS;
	turns->credited_ns = uv_hrtime();
	return turns;
}

static void on_closed(uv_handle_t *handle)
{
	struct turns *turns = handle->data;

	if (--turns->open_count == 0)
		free(turns);
}

void turns_destroy(struct turns *turns)
{
	if (turns == NULL)
		return;
	assert(turns->users == NULL);
	uv_close((uv_handle_t *)&turns->idle, on_closed);
	uv_close((uv_handle_t *)&turns->timer, on_closed);
}

void turns_join(struct turns *turns, struct turns_asker *asker, uint64_t id)
{
	struct turns_user *user;

	HASH_FIND(hh, turns->users, &id, sizeof(id), user);
	if (user == NULL) {
		user = memory_alloc(sizeof(*user));
		user->id = id;
		HASH_ADD(hh, turns->users, id, sizeof(id), user);
		if (!hash_was_added(user))
			memory_end();
	}
	user->count++;
	asker->turns = turns;
	asker->user = user;
}

void turns_leave(struct turns_asker *asker)
{
	struct turns_user *user = asker->user;

	if (user == NULL)
		return;
	turns_wait_end(asker);
	asker->user = NULL;
	if (--user->count > 0)
		return;
	HASH_DEL(asker->turns->users, user);
	free(user);
}

size_t turns_of_user(const struct turns_asker *asker)
{
	return asker->user->count;
}

void turns_wait(struct turns_asker *asker)
{
	struct turns *turns = asker->turns;
	struct turns_user *user = asker->user;

	if (asker->is_waiting)
		return;
	asker->is_waiting = true;
	if (asker->goes_first) {
		DL_APPEND(turns->first, asker);
	} else {
		if (user->waiting == NULL)
			DL_APPEND(turns->waiting, user);
		DL_APPEND(user->waiting, asker);
	}
	/* In a pause of the others, those who go first do not wait for it. */
	if (asker->goes_first || !uv_is_active((uv_handle_t *)&turns->timer))
		uv_idle_start(&turns->idle, on_round);
}

void turns_wait_end(struct turns_asker *asker)
{
	struct turns *turns = asker->turns;
	struct turns_user *user = asker->user;

	if (!asker->is_waiting)
		return;
	asker->is_waiting = false;
	if (asker->goes_first) {
		DL_DELETE(turns->first, asker);
		return;
	}
	DL_DELETE(user->waiting, asker);
	if (user->waiting == NULL)
		DL_DELETE(turns->waiting, user);
}
