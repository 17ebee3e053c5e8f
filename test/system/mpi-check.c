/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Usage: mpi-check GROUP...: point, together, windows, threads, spawn
 *
 * Ends well when all cases of these groups do; rank 0 says which they were, and
 * each rank where it is.
 */
#include "mpi-check.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

const int check_sizes[] = {
	0,    1,    8,     64,    2000,  4056,   4057,           4096,
	4097, 8192, 16384, 16385, 65536, 100000, CHECK_SIZE_MAX,
};
const int check_size_count = COUNT_OF(check_sizes);

void check_at(bool holds, const char *what, const char *file, int line)
{
	int rank;

	if (holds)
		return;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	fprintf(stderr, "%s:%d: rank %d: %s\n", file, line, rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

void bytes_fill(void *bytes, size_t size, int seed)
{
	uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)((size_t)seed * 31 + i * 7 + (i >> 8));
}

bool are_bytes(const void *bytes, size_t size, int seed)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++)
		if (at[i] != (uint8_t)((size_t)seed * 31 + i * 7 + (i >> 8)))
			return false;
	return true;
}

void *bytes_new(size_t size)
{
	void *bytes = calloc(1, size + 1);

	check(bytes != NULL);
	return bytes;
}

static const struct check_group *group_of(const char *name)
{
	static const struct check_group *const groups[] = {
		&point_cases,  &together_cases, &window_cases,
		&thread_cases, &spawn_cases,
	};

	for (size_t i = 0; i < COUNT_OF(groups); i++)
		if (strcmp(groups[i]->name, name) == 0)
			return groups[i];
	fprintf(stderr, "mpi-check: no group '%s'\n", name);
	exit(2);
}

static void group_run(const struct check_group *group,
		      const struct world *world)
{
	for (int i = 0; i < group->count; i++) {
		group->cases[i].run(world);
		MPI_Barrier(MPI_COMM_WORLD);
		if (world->rank == 0)
			printf("right: %s\n", group->cases[i].name);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	struct world world = { .program = argv[0] };
	char host[64] = "";
	int threads = MPI_THREAD_SINGLE, got;
	MPI_Comm parent;

	for (int i = 1; i < argc; i++)
		if (group_of(argv[i])->threads > threads)
			threads = group_of(argv[i])->threads;
	MPI_Init_thread(&argc, &argv, threads, &got);
	check(got >= threads);
	MPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL) {
		spawn_child();
		MPI_Finalize();
		return 0;
	}
	MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &world.size);
	gethostname(host, sizeof(host) - 1);
	printf("rank %d of %d on %s\n", world.rank, world.size, host);
	fflush(stdout);
	for (int i = 1; i < argc; i++)
		group_run(group_of(argv[i]), &world);
	MPI_Finalize();
	return 0;
}
