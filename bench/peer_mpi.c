/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same round with MPI: a broadcast of `down` bytes, a reduction of `up`.
 *
 *	mpirun -n NODES peer_mpi DOWN UP ROUNDS
 *
 * Rank 0 prints what rounds_report() does; CPU time and switches are its own,
 * and those of the other ranks are like them.
 */
#include "rounds.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct rounds *rounds;
	uint8_t *bytes, *sum;
	int down, up, rank;

	if (argc != 4) {
		fprintf(stderr, "usage: peer_mpi DOWN UP ROUNDS\n");
		return 2;
	}
	down = (int)rounds_number(argv[1], 1, 1 << 20);
	up = (int)rounds_number(argv[2], 1, 1 << 20);
	rounds = rounds_create(
		(unsigned int)rounds_number(argv[3], 1, ROUNDS_MAX));
	bytes = calloc(1, (size_t)(down > up ? down : up));
	sum = calloc(1, (size_t)up);
	if (bytes == NULL || sum == NULL)
		rounds_die("allocate");
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	while (rounds_next(rounds)) {
		MPI_Bcast(bytes, down, MPI_BYTE, 0, MPI_COMM_WORLD);
		MPI_Reduce(bytes, sum, up, MPI_BYTE, MPI_BOR, 0,
			   MPI_COMM_WORLD);
		rounds_done(rounds, 0);
	}
	MPI_Finalize();
	if (rank == 0)
		rounds_report(rounds);
	free(sum);
	free(bytes);
	rounds_destroy(rounds);
	return 0;
}
