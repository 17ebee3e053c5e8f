/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives, over all ranks and over communicators that are made of them. */
#include <stdlib.h>
#include <string.h>

#include "mpi-check.h"

#define COUNT_OF(array) (int)(sizeof(array) / sizeof((array)[0]))
#define TAG             5

/* Of what each rank sends to each other: eager, and not. */
static const int sizes[] = { 1, 1000, 5000, 40000 };

static void everybody_waits_at_a_barrier(const struct world *world)
{
	for (int i = 0; i < 50; i++)
		MPI_Barrier(MPI_COMM_WORLD);
}

static void all_get_what_one_has(const struct world *world)
{
	char *bytes = bytes_new(CHECK_SIZE_MAX);

	for (int i = 0; i < check_size_count; i++) {
		int root = i % world->size, size = check_sizes[i];

		memset(bytes, 0, size);
		if (world->rank == root)
			bytes_fill(bytes, size, i);
		MPI_Bcast(bytes, size, MPI_BYTE, root, MPI_COMM_WORLD);
		check(are_bytes(bytes, size, i));
	}
	free(bytes);
}

static void sums_are_right(const struct world *world)
{
	enum {
		MAX = 50000
	};
	int *out = bytes_new(MAX * sizeof(int));
	int *in = bytes_new(MAX * sizeof(int));
	int all = world->size * (world->size - 1) / 2, before = -1;

	for (int count = 1; count <= MAX; count = count * 7 + 1) {
		for (int i = 0; i < count; i++)
			out[i] = world->rank + i;
		MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < count; i++)
			check(in[i] == all + i * world->size);
		memset(in, 0, count * sizeof(int));
		MPI_Reduce(out, in, count, MPI_INT, MPI_MAX, world->size - 1,
			   MPI_COMM_WORLD);
		for (int i = 0; i < count && world->rank == world->size - 1;
		     i++)
			check(in[i] == world->size - 1 + i);
	}
	MPI_Scan(&world->rank, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	check(before == world->rank * (world->rank + 1) / 2);
	free(out);
	free(in);
}

static void all_send_to_all(const struct world *world)
{
	for (int k = 0; k < COUNT_OF(sizes); k++) {
		int size = sizes[k];
		char *out = bytes_new(world->size * size);
		char *in = bytes_new(world->size * size);
		MPI_Request request;

		for (int i = 0; i < world->size; i++)
			bytes_fill(out + i * size, size, world->rank * 10 + i);
		for (int is_late = 0; is_late < 2; is_late++) {
			memset(in, 0, world->size * size);
			if (is_late) {
				MPI_Ialltoall(out, size, MPI_BYTE, in, size,
					      MPI_BYTE, MPI_COMM_WORLD,
					      &request);
				MPI_Wait(&request, MPI_STATUS_IGNORE);
			} else {
				MPI_Alltoall(out, size, MPI_BYTE, in, size,
					     MPI_BYTE, MPI_COMM_WORLD);
			}
			for (int i = 0; i < world->size; i++)
				check(are_bytes(in + i * size, size,
						i * 10 + world->rank));
		}
		free(out);
		free(in);
	}
}

/* Nothing to oneself, and the more the further on. */
static int part(int from, int to, int size)
{
	return (to + 5 * size - from) % size * 3000;
}

static void all_send_to_all_as_much_as_they_like(const struct world *world)
{
	int all = world->size * world->size * 3000;
	char *out = bytes_new(all), *in = bytes_new(all);
	int *counts = bytes_new(4 * world->size * sizeof(int));
	int *starts = counts + world->size, *in_counts = starts + world->size;
	int *in_starts = in_counts + world->size;
	int end = 0, in_end = 0;

	for (int i = 0; i < world->size; i++) {
		counts[i] = part(world->rank, i, world->size);
		in_counts[i] = part(i, world->rank, world->size);
		starts[i] = end;
		in_starts[i] = in_end;
		end += counts[i];
		in_end += in_counts[i];
		bytes_fill(out + starts[i], counts[i], world->rank * 10 + i);
	}
	MPI_Alltoallv(out, counts, starts, MPI_BYTE, in, in_counts, in_starts,
		      MPI_BYTE, MPI_COMM_WORLD);
	for (int i = 0; i < world->size; i++)
		check(are_bytes(in + in_starts[i], in_counts[i],
				i * 10 + world->rank));
	free(out);
	free(in);
	free(counts);
}

static void parts_are_gathered_and_scattered(const struct world *world)
{
	for (int k = 0; k < COUNT_OF(sizes); k++) {
		int size = sizes[k], root = k % world->size;
		char *all = bytes_new(world->size * size);
		char *mine = bytes_new(size);

		bytes_fill(mine, size, world->rank);
		MPI_Gather(mine, size, MPI_BYTE, all, size, MPI_BYTE, root,
			   MPI_COMM_WORLD);
		for (int i = 0; i < world->size && world->rank == root; i++)
			check(are_bytes(all + i * size, size, i));
		memset(mine, 0, size);
		MPI_Scatter(all, size, MPI_BYTE, mine, size, MPI_BYTE, root,
			    MPI_COMM_WORLD);
		check(are_bytes(mine, size, world->rank));
		memset(all, 0, world->size * size);
		MPI_Allgather(mine, size, MPI_BYTE, all, size, MPI_BYTE,
			      MPI_COMM_WORLD);
		for (int i = 0; i < world->size; i++)
			check(are_bytes(all + i * size, size, i));
		free(all);
		free(mine);
	}
}

/* Messages of one are not those of another, with the same tags. */
static void communicators_keep_apart(const struct world *world)
{
	int next = (world->rank + 1) % world->size;
	int previous = (world->rank + world->size - 1) % world->size;
	int out[3], in[3], sum, half = 0;
	MPI_Comm comms[3];
	MPI_Request receives[3];

	comms[0] = MPI_COMM_WORLD;
	MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
	MPI_Comm_dup(comms[1], &comms[2]);
	for (int i = 2; i >= 0; i--)
		MPI_Irecv(&in[i], 1, MPI_INT, previous, TAG, comms[i],
			  &receives[i]);
	for (int i = 0; i < 3; i++) {
		out[i] = world->rank * 10 + i;
		MPI_Send(&out[i], 1, MPI_INT, next, TAG, comms[i]);
	}
	MPI_Waitall(3, receives, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 3; i++)
		check(in[i] == previous * 10 + i);
	MPI_Comm_free(&comms[1]);
	MPI_Comm_free(&comms[2]);
	MPI_Comm_split(MPI_COMM_WORLD, world->rank % 2, -world->rank,
		       &comms[1]);
	MPI_Allreduce(&world->rank, &sum, 1, MPI_INT, MPI_SUM, comms[1]);
	for (int i = world->rank % 2; i < world->size; i += 2)
		half += i;
	check(sum == half);
	MPI_Comm_free(&comms[1]);
}

static void groups_talk_over_an_intercommunicator(const struct world *world)
{
	int is_upper = world->rank >= world->size / 2, sum, wanted = 0, all;
	int other_leader = is_upper ? 0 : world->size / 2;
	int first = is_upper ? 0 : world->size / 2;
	int end = is_upper ? world->size / 2 : world->size;
	MPI_Comm mine, between, merged;

	if (world->size < 2)
		return;
	MPI_Comm_split(MPI_COMM_WORLD, is_upper, world->rank, &mine);
	MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, other_leader, TAG,
			     &between);
	MPI_Allreduce(&world->rank, &sum, 1, MPI_INT, MPI_SUM, between);
	for (int i = first; i < end; i++)
		wanted += i;
	check(sum == wanted); /* of the others */
	MPI_Intercomm_merge(between, is_upper, &merged);
	MPI_Allreduce(&world->rank, &all, 1, MPI_INT, MPI_SUM, merged);
	check(all == world->size * (world->size - 1) / 2);
	MPI_Comm_free(&merged);
	MPI_Comm_free(&between);
	MPI_Comm_free(&mine);
}

static const struct check_case cases[] = {
	check_case(everybody_waits_at_a_barrier),
	check_case(all_get_what_one_has),
	check_case(sums_are_right),
	check_case(all_send_to_all),
	check_case(all_send_to_all_as_much_as_they_like),
	check_case(parts_are_gathered_and_scattered),
	check_case(communicators_keep_apart),
	check_case(groups_talk_over_an_intercommunicator),
};

const struct check_group together_cases = { "together", MPI_THREAD_SINGLE,
					    cases, COUNT_OF(cases) };
