/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks of the provider, and what is looked at without one. The order in which
 * they are taken: see endpoint.h.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* What one thread changes under a lock, and others look at without. */
#define peek_at(place)      __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
#define set_seen(place, to) __atomic_store_n(&(place), to, __ATOMIC_RELEASE)

/* A lock that is none where the program serialises by itself. */
struct link_lock {
	pthread_mutex_t mutex;
	pthread_mutex_t *held; /* this one, or another lock's */
	bool is_real;
};

static inline void link_lock_init(struct link_lock *lock, bool is_real)
{
	lock->is_real = is_real;
	lock->held = &lock->mutex;
	pthread_mutex_init(&lock->mutex, NULL);
}

/*
 * From now on both are one: that of `with`, which has to outlive it; or not any
 * more.
 */
static inline void link_lock_share(struct link_lock *lock,
				   struct link_lock *with)
{
	set_seen(lock->held, with->held);
}

static inline void link_lock_alone(struct link_lock *lock)
{
	set_seen(lock->held, &lock->mutex);
}

static inline void link_lock_fini(struct link_lock *lock)
{
	pthread_mutex_destroy(&lock->mutex);
}

static inline void link_lock(struct link_lock *lock)
{
	if (lock->is_real)
		pthread_mutex_lock(lock->held);
}

static inline bool link_trylock(struct link_lock *lock)
{
	return !lock->is_real || pthread_mutex_trylock(lock->held) == 0;
}

static inline void link_unlock(struct link_lock *lock)
{
	if (lock->is_real)
		pthread_mutex_unlock(lock->held);
}
