/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided operations. */
#include <stdlib.h>
#include <string.h>

#include "mpi-check.h"

#define COUNT_OF(array) (int)(sizeof(array) / sizeof((array)[0]))
#define CELL            100000 /* bytes that each rank has for each other */

struct window {
	char *memory;
	MPI_Win win;
};

static struct window window_open(const struct world *world)
{
	struct window window;

	window.memory = bytes_new(world->size * CELL);
	MPI_Win_create(window.memory, world->size * CELL, 1, MPI_INFO_NULL,
		       MPI_COMM_WORLD, &window.win);
	return window;
}

static void window_close(struct window *window)
{
	MPI_Win_free(&window->win);
	free(window->memory);
}

static void what_is_put_is_there_after_a_fence(const struct world *world)
{
	struct window window = window_open(world);
	char *out = bytes_new(CELL), *in = bytes_new(CELL);

	for (int size = 1; size <= CELL; size = size * 9 + 7) {
		int next = (world->rank + 1) % world->size;

		MPI_Win_fence(0, window.win);
		bytes_fill(out, size, world->rank + size);
		for (int i = 0; i < world->size; i++)
			MPI_Put(out, size, MPI_BYTE, i, world->rank * CELL,
				size, MPI_BYTE, window.win);
		MPI_Win_fence(0, window.win);
		for (int i = 0; i < world->size; i++)
			check(are_bytes(window.memory + i * CELL, size,
					i + size));
		MPI_Win_fence(0, window.win);
		MPI_Get(in, size, MPI_BYTE, next, world->rank * CELL, size,
			MPI_BYTE, window.win);
		MPI_Win_fence(0, window.win);
		check(are_bytes(in, size, world->rank + size));
	}
	window_close(&window);
	free(out);
	free(in);
}

static void what_is_added_is_there_after_a_lock(const struct world *world)
{
	struct window window = window_open(world);
	int *numbers = (int *)window.memory;
	int one[64];

	for (int i = 0; i < COUNT_OF(one); i++)
		one[i] = i + 1;
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < world->size; i++) {
		int to = (world->rank + i) % world->size;

		MPI_Win_lock(MPI_LOCK_SHARED, to, 0, window.win);
		MPI_Accumulate(one, COUNT_OF(one), MPI_INT, to, 0,
			       COUNT_OF(one), MPI_INT, MPI_SUM, window.win);
		MPI_Win_unlock(to, window.win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world->rank, 0, window.win);
	for (int i = 0; i < COUNT_OF(one); i++)
		check(numbers[i] == world->size * (i + 1));
	MPI_Win_unlock(world->rank, window.win);
	MPI_Barrier(MPI_COMM_WORLD);
	window_close(&window);
}

/* Rank 0 has a number that all count up, and one that is who came last. */
static void counting_is_atomic(const struct world *world)
{
	enum {
		ROUNDS = 50
	};
	struct window window = window_open(world);
	long one = 1, before, old, mine = world->rank + 1, last = 0;
	long *numbers = (long *)window.memory;

	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, window.win);
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM,
				 window.win);
		MPI_Win_flush(0, window.win);
		check(before >= i && before < ROUNDS * world->size);
		MPI_Compare_and_swap(&mine, &last, &old, MPI_LONG, 0,
				     sizeof(long), window.win);
		MPI_Win_flush(0, window.win);
		last = old;
		check(old >= 0 && old <= world->size);
	}
	MPI_Win_unlock_all(window.win);
	MPI_Barrier(MPI_COMM_WORLD);
	if (world->rank == 0) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.win);
		check(numbers[0] == ROUNDS * world->size);
		check(numbers[1] > 0 && numbers[1] <= world->size);
		MPI_Win_unlock(0, window.win);
	}
	window_close(&window);
}

/* It exposes its window to all others, and accesses theirs; in memory from MPI. */
static void what_is_put_between_start_and_complete_is_there(
	const struct world *world)
{
	MPI_Group all, others;
	MPI_Win win;
	char *memory, *out = bytes_new(CELL);

	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_excl(all, 1, &world->rank, &others);
	MPI_Win_allocate(world->size * CELL, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
			 &memory, &win);
	bytes_fill(out, CELL, world->rank);
	for (int size = 3; size <= CELL; size = size * 30 + 11) {
		memset(memory, 0, world->size * CELL);
		MPI_Win_post(others, 0, win);
		MPI_Win_start(others, 0, win);
		for (int i = 0; i < world->size; i++)
			if (i != world->rank)
				MPI_Put(out, size, MPI_BYTE, i,
					world->rank * CELL, size, MPI_BYTE,
					win);
		MPI_Win_complete(win);
		MPI_Win_wait(win);
		for (int i = 0; i < world->size; i++)
			check(i == world->rank ||
			      are_bytes(memory + i * CELL, size, i));
	}
	MPI_Win_free(&win);
	MPI_Group_free(&others);
	MPI_Group_free(&all);
	free(out);
}

/* Each reads, adds and writes back: nobody is between. */
static void who_has_the_lock_is_alone(const struct world *world)
{
	enum {
		ROUNDS = 20
	};
	struct window window = window_open(world);
	long number = 0;
	int last = world->size - 1;

	for (int i = 0; i < ROUNDS; i++) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, window.win);
		MPI_Get(&number, 1, MPI_LONG, last, 0, 1, MPI_LONG, window.win);
		MPI_Win_flush(last, window.win);
		number++;
		MPI_Put(&number, 1, MPI_LONG, last, 0, 1, MPI_LONG, window.win);
		MPI_Win_unlock(last, window.win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, last, 0, window.win);
	MPI_Get(&number, 1, MPI_LONG, last, 0, 1, MPI_LONG, window.win);
	MPI_Win_unlock(last, window.win);
	check(number == ROUNDS * world->size);
	window_close(&window);
}

static const struct check_case cases[] = {
	check_case(what_is_put_is_there_after_a_fence),
	check_case(what_is_added_is_there_after_a_lock),
	check_case(counting_is_atomic),
	check_case(what_is_put_between_start_and_complete_is_there),
	check_case(who_has_the_lock_is_alone),
};

const struct check_group window_cases = { "windows", MPI_THREAD_SINGLE, cases,
					  COUNT_OF(cases) };
