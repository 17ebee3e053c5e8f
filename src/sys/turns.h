/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns: the order in which a daemon serves the users of its sockets.
 *
 * Whoever can ask is an asker: a connection, a listener, a port. An asker
 * that has something to be done waits, and run() is called when its turn
 * comes; it then does one piece of work and waits again if it has more.
 * Once in each round of the loop
 *
 *	- each asker that goes first has a turn: those of root, of submitters,
 *	  and of peers that are no users;
 *	- one of the others has a turn, of the user who had none for the longest
 *	  time. All others together get one part in TURNS_SHARE of the loop's
 *	  time, and TURNS_AHEAD_MS of it in advance.
 *
 * So whoever goes first waits for one piece of work of all others, however
 * many they are and however much they ask for, and loses no more than that
 * part of the rate. What a user asks for delays that user.
 *
 * One thread: the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/cleanup.h"

#define TURNS_SHARE    5
#define TURNS_AHEAD_MS 20
/* No piece of work counts as more: it may be the machine that was busy. */
#define TURNS_DEBT_MS 20

struct turns;
struct turns_user;

struct turns_asker {
	/* Set by its owner before it joins. */
	bool goes_first;
	void (*run)(void *ctx);
	void *ctx;
	/* The rest is for turns.c only. */
	struct turns *turns;
	struct turns_user *user;
	bool is_waiting;
	struct turns_asker *prev, *next;
};

/* The loop is kept by reference. */
struct turns *turns_create(uv_loop_t *loop);
/* All askers have left. The loop frees it: run it before it is closed. */
void turns_destroy(struct turns *turns);
DEFINE_AUTO(struct turns, turns_destroy)

/* From now on it is an asker of this user: a number that its owner chooses. */
void turns_join(struct turns *turns, struct turns_asker *asker, uint64_t user);
/* It waits no more. Leaving twice, or without having joined, does nothing. */
void turns_leave(struct turns_asker *asker);
/* How many askers its user has, with itself. */
size_t turns_of_user(const struct turns_asker *asker);

/* It has something to be done. Waiting twice does nothing. */
void turns_wait(struct turns_asker *asker);
/* It has not. */
void turns_wait_end(struct turns_asker *asker);
/* Work for others was done outside a turn, which took so long. */
void turns_charge(struct turns *turns, uint64_t took_ns);
