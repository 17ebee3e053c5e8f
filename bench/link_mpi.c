/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPI makes of its transport: messages there and back between the first
 * two ranks, or with more ranks an alltoall.
 *
 * Usage: mpirun -n RANKS link_mpi COUNT
 *
 * Rank 0 prints one JSON object: us by what was measured.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "rounds.h"

#define SIZE_MOST (1 << 20)
#define BATCHES   11

static uint8_t *out, *in;

static int compare(const void *one, const void *other)
{
	const double *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

static double exchange(int rank, int size, int count)
{
	double start = MPI_Wtime();

	for (int i = 0; i < count; i++) {
		if (rank == 0)
			MPI_Send(out, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
		MPI_Recv(in, size, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(out, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
	}
	return (MPI_Wtime() - start) / count / 2;
}

static double alltoall(int size, int count)
{
	double start = MPI_Wtime();

	for (int i = 0; i < count; i++)
		MPI_Alltoall(out, size, MPI_BYTE, in, size, MPI_BYTE,
			     MPI_COMM_WORLD);
	return (MPI_Wtime() - start) / count;
}

/* The middle one of some batches, in us. */
static double measure(int rank, int ranks, int size, int count)
{
	double batches[BATCHES];

	count = count / BATCHES + 1;
	for (int i = 0; i < BATCHES; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		batches[i] = ranks == 2 ? exchange(rank, size, count)
					: alltoall(size, count / 10 + 1);
	}
	qsort(batches, BATCHES, sizeof(batches[0]), compare);
	return batches[BATCHES / 2] * 1e6;
}

int main(int argc, char **argv)
{
	static const int sizes[] = { 64, 4096, 65536, SIZE_MOST };
	static const int sizes_all[] = { 8, 64, 1024, 16384 };
	int rank, ranks, count;

	if (argc != 2)
		return 2;
	count = (int)rounds_number(argv[1], 1, ROUNDS_MAX);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	out = calloc((size_t)ranks, SIZE_MOST);
	in = calloc((size_t)ranks, SIZE_MOST);
	if (out == NULL || in == NULL)
		rounds_die("allocate");
	for (int i = 0; i < 4; i++) {
		int size = ranks == 2 ? sizes[i] : sizes_all[i];
		int rounds = size <= 4096 ? count : count / 100 + 1;
		double us = measure(rank, ranks, size, rounds);

		if (rank == 0)
			printf("%s\"%s, %d B\": %.4f", i == 0 ? "{" : ", ",
			       ranks == 2 ? "one way" : "alltoall, 4 ranks",
			       size, us);
	}
	if (rank == 0)
		printf("}\n");
	MPI_Finalize();
	free(out);
	free(in);
	return 0;
}
