/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small MPI job: each rank sends 1 MiB around a ring and adds up the ranks,
 * then says where it is. With an argument it goes on until that file is gone.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BYTES (1 << 20)

static char out[BYTES], in[BYTES];

/* 1: what came is what the neighbour sent, and the sum is right. */
static int turn(int rank, int size)
{
	int from = (rank + size - 1) % size, sum = 0;

	memset(out, rank, BYTES);
	MPI_Sendrecv(out, BYTES, MPI_CHAR, (rank + 1) % size, 0, in, BYTES,
		     MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	return in[0] == from && in[BYTES - 1] == from &&
	       sum == size * (size - 1) / 2;
}

int main(int argc, char **argv)
{
	char host[64] = "";
	int rank, size, is_right, goes_on;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	gethostname(host, sizeof(host) - 1);
	is_right = turn(rank, size);
	printf("rank %d of %d on %s as %u: %s\n", rank, size, host, getuid(),
	       is_right ? "right" : "wrong");
	fflush(stdout);
	do {
		is_right = turn(rank, size) && is_right;
		goes_on = argc > 1 && access(argv[1], F_OK) == 0;
		MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
	} while (goes_on);
	MPI_Finalize();
	return is_right ? 0 : 1;
}
