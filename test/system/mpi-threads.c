/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads of each rank in MPI at once; ranks that are started later. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-check.h"

#define COUNT_OF(array) (int)(sizeof(array) / sizeof((array)[0]))
#define THREADS         3
#define ROUNDS          60
#define SPAWNED         2
#define TAG             5

struct thread {
	const struct world *world;
	int number;
	pthread_t id;
	MPI_Comm comm;
};

static void *exchange(void *arg)
{
	const struct thread *thread = arg;
	const struct world *world = thread->world;
	int next = (world->rank + 1) % world->size;
	int previous = (world->rank + world->size - 1) % world->size;
	char *out = bytes_new(CHECK_SIZE_MAX), *in = bytes_new(CHECK_SIZE_MAX);

	for (int i = 0; i < ROUNDS; i++) {
		int size = check_sizes[(i + thread->number) %
				       (check_size_count - 1)];
		int seed = size + thread->number;
		MPI_Request send;
		MPI_Status status;
		int count;

		bytes_fill(out, size, world->rank + seed);
		MPI_Isend(out, size, MPI_BYTE, next, thread->number,
			  MPI_COMM_WORLD, &send);
		MPI_Recv(in, size, MPI_BYTE,
			 i % 2 == 0 ? MPI_ANY_SOURCE : previous, thread->number,
			 MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_BYTE, &count);
		check(count == size && status.MPI_SOURCE == previous);
		check(are_bytes(in, size, previous + seed));
		MPI_Wait(&send, MPI_STATUS_IGNORE);
	}
	free(out);
	free(in);
	return NULL;
}

static void *together(void *arg)
{
	const struct thread *thread = arg;
	const struct world *world = thread->world;

	for (int i = 0; i < ROUNDS; i++) {
		int sum;

		MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, thread->comm);
		check(sum == i * world->size);
	}
	return NULL;
}

static void run_all(const struct world *world, void *(*what)(void *))
{
	struct thread threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){ .world = world, .number = i };
		MPI_Comm_dup(MPI_COMM_WORLD, &threads[i].comm);
	}
	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i].id, NULL, what, &threads[i]) ==
		      0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i].id, NULL);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&threads[i].comm);
}

static void threads_get_what_is_theirs(const struct world *world)
{
	run_all(world, exchange);
}

static void threads_have_collectives_of_their_own(const struct world *world)
{
	run_all(world, together);
}

static const struct check_case cases[] = {
	check_case(threads_get_what_is_theirs),
	check_case(threads_have_collectives_of_their_own),
};

const struct check_group thread_cases = { "threads", MPI_THREAD_MULTIPLE, cases,
					  COUNT_OF(cases) };

/* --- ranks that are started later --- */

/* Each one sends its rank to each one of the others, and gets theirs. */
static void meet(MPI_Comm others, int count)
{
	int mine, sum = 0, in;

	MPI_Comm_rank(others, &mine);
	for (int i = 0; i < count; i++) {
		MPI_Sendrecv(&mine, 1, MPI_INT, i, TAG, &in, 1, MPI_INT, i, TAG,
			     others, MPI_STATUS_IGNORE);
		check(in == i);
	}
	MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, others);
	check(sum == count * (count - 1) / 2);
	MPI_Comm_disconnect(&others);
}

void spawn_child(void)
{
	MPI_Comm parents;
	int count;

	MPI_Comm_get_parent(&parents);
	MPI_Comm_remote_size(parents, &count);
	meet(parents, count);
}

static void ranks_can_be_started_later(const struct world *world)
{
	MPI_Comm children;

	for (int i = 0; i < 2; i++) {
		MPI_Comm_spawn(world->program, MPI_ARGV_NULL, SPAWNED,
			       MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
			       MPI_ERRCODES_IGNORE);
		meet(children, SPAWNED);
	}
}

static const struct check_case later_cases[] = {
	check_case(ranks_can_be_started_later),
};

const struct check_group spawn_cases = { "spawn", MPI_THREAD_SINGLE,
					 later_cases, COUNT_OF(later_cases) };
