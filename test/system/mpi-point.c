/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages from one rank to another. */
#include <stdlib.h>
#include <string.h>

#include "mpi-check.h"

#define COUNT_OF(array) (int)(sizeof(array) / sizeof((array)[0]))
#define TAG             5
#define OTHER_TAG       6

/* Sends and receives of one size, by the two that each rank is between. */
static void exchange(const struct world *world, int size, int distance)
{
	int to = (world->rank + distance) % world->size;
	int from = (world->rank + world->size - distance) % world->size;
	char *out = bytes_new(size), *in = bytes_new(size);
	MPI_Request receive;
	MPI_Status status;
	int count;

	bytes_fill(out, size, world->rank + size);
	MPI_Sendrecv(out, size, MPI_BYTE, to, TAG, in, size, MPI_BYTE, from,
		     TAG, MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, MPI_BYTE, &count);
	check(count == size && status.MPI_SOURCE == from);
	check(are_bytes(in, size, from + size));
	memset(in, 0, size);
	MPI_Irecv(in, size, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &receive);
	MPI_Ssend(out, size, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
	MPI_Wait(&receive, MPI_STATUS_IGNORE);
	check(are_bytes(in, size, from + size));
	free(out);
	free(in);
}

static void messages_of_all_sizes_arrive(const struct world *world)
{
	for (int distance = 0; distance < world->size; distance++)
		for (int i = 0; i < check_size_count; i++)
			exchange(world, check_sizes[i], distance);
}

static void many_go_both_ways_at_once(const struct world *world)
{
	enum {
		COUNT = 100,
		SIZE = 3000
	};
	int peer = world->rank ^ 1;
	char *out = bytes_new(COUNT * SIZE), *in = bytes_new(COUNT * SIZE);
	MPI_Request requests[2 * COUNT];

	if (peer >= world->size)
		return;
	for (int i = 0; i < COUNT; i++) {
		bytes_fill(out + i * SIZE, SIZE, world->rank + i);
		MPI_Isend(out + i * SIZE, SIZE, MPI_BYTE, peer, i,
			  MPI_COMM_WORLD, &requests[i]);
	}
	for (int i = 0; i < COUNT; i++) /* the last one first */
		MPI_Irecv(in + i * SIZE, SIZE, MPI_BYTE, peer, COUNT - 1 - i,
			  MPI_COMM_WORLD, &requests[COUNT + i]);
	MPI_Waitall(2 * COUNT, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < COUNT; i++)
		check(are_bytes(in + i * SIZE, SIZE, peer + COUNT - 1 - i));
	free(out);
	free(in);
}

static void any_source_has_many_senders_in_order(const struct world *world)
{
	enum {
		ROUNDS = 60
	};
	int *next = bytes_new(world->size * sizeof(int));
	char *bytes = bytes_new(CHECK_SIZE_MAX);

	for (int i = 0; i < ROUNDS && world->rank != 0; i++) {
		int size = check_sizes[i % (check_size_count - 2)];
		bytes_fill(bytes, size, i);
		MPI_Send(bytes, size, MPI_BYTE, 0, i, MPI_COMM_WORLD);
	}
	for (int i = 0; i < ROUNDS * (world->size - 1) && world->rank == 0;
	     i++) {
		MPI_Status status;
		int count;

		MPI_Recv(bytes, CHECK_SIZE_MAX, MPI_BYTE, MPI_ANY_SOURCE,
			 MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_BYTE, &count);
		check(status.MPI_TAG == next[status.MPI_SOURCE]++);
		check(count ==
		      check_sizes[status.MPI_TAG % (check_size_count - 2)]);
		check(are_bytes(bytes, count, status.MPI_TAG));
	}
	free(next);
	free(bytes);
}

enum probing {
	PROBE,
	TRY_PROBE,
	TAKE,
	TRY_TAKE,
	PROBINGS,
};

/* The size of what is there; a message that was matched is received, too. */
static int probe(enum probing how, int from, void *bytes)
{
	MPI_Message message = MPI_MESSAGE_NULL;
	MPI_Status status;
	int is_there = how == PROBE || how == TAKE, count;

	if (how == PROBE)
		MPI_Probe(from, TAG, MPI_COMM_WORLD, &status);
	else if (how == TAKE)
		MPI_Mprobe(from, TAG, MPI_COMM_WORLD, &message, &status);
	while (!is_there) {
		if (how == TRY_PROBE)
			MPI_Iprobe(from, TAG, MPI_COMM_WORLD, &is_there,
				   &status);
		else
			MPI_Improbe(from, TAG, MPI_COMM_WORLD, &is_there,
				    &message, &status);
	}
	MPI_Get_count(&status, MPI_BYTE, &count);
	check(status.MPI_TAG == TAG && status.MPI_SOURCE >= 0);
	if (message != MPI_MESSAGE_NULL)
		MPI_Mrecv(bytes, count, MPI_BYTE, &message, &status);
	else
		MPI_Recv(bytes, count, MPI_BYTE, status.MPI_SOURCE, TAG,
			 MPI_COMM_WORLD, &status);
	check(are_bytes(bytes, count, status.MPI_SOURCE + count));
	return count;
}

static void probing_tells_the_size(const struct world *world)
{
	char *bytes = bytes_new(CHECK_SIZE_MAX);
	int sender = world->size - 1;

	for (int i = 0; i < check_size_count * PROBINGS * 2; i++) {
		int size = check_sizes[i % check_size_count];
		enum probing how = i / check_size_count % PROBINGS;
		bool is_any = i >= check_size_count * PROBINGS;

		if (world->rank == sender) {
			bytes_fill(bytes, size, sender + size);
			MPI_Send(bytes, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
		}
		if (world->rank == 0)
			check(probe(how, is_any ? MPI_ANY_SOURCE : sender,
				    bytes) == size);
	}
	free(bytes);
}

static void probing_finds_nothing_where_nothing_is(const struct world *world)
{
	MPI_Message message;
	int is_there;

	for (int i = 0; i < 100; i++) {
		MPI_Iprobe(MPI_ANY_SOURCE, OTHER_TAG, MPI_COMM_WORLD, &is_there,
			   MPI_STATUS_IGNORE);
		check(!is_there);
		MPI_Improbe((world->rank + 1) % world->size, OTHER_TAG,
			    MPI_COMM_WORLD, &is_there, &message,
			    MPI_STATUS_IGNORE);
		check(!is_there);
	}
}

static void receives_can_be_cancelled(const struct world *world)
{
	int peer = world->rank ^ 1, in[2] = { -1, -1 }, is_cancelled;
	MPI_Request receives[2];
	MPI_Status status;

	if (peer >= world->size)
		return;
	for (int i = 0; i < 2; i++)
		MPI_Irecv(&in[i], 1, MPI_INT, i == 0 ? peer : MPI_ANY_SOURCE,
			  TAG, MPI_COMM_WORLD, &receives[i]);
	MPI_Cancel(&receives[0]);
	MPI_Wait(&receives[0], &status);
	MPI_Test_cancelled(&status, &is_cancelled);
	check(is_cancelled);
	MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, OTHER_TAG, NULL, 0, MPI_BYTE,
		     peer, OTHER_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send(&world->rank, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD);
	MPI_Wait(&receives[1], &status);
	MPI_Test_cancelled(&status, &is_cancelled);
	check(!is_cancelled && in[0] == -1 && in[1] == peer);
}

static void what_is_too_long_is_an_error(const struct world *world)
{
	static const int sizes[] = { 16, 5000, 20000, CHECK_SIZE_MAX };
	char *bytes = bytes_new(CHECK_SIZE_MAX);
	int class, peer = world->rank ^ 1;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (int i = 0; i < 2 * COUNT_OF(sizes) && peer < world->size; i++) {
		bool is_expected = i % 2 == 0, sends = world->rank < peer;
		int size = sizes[i / 2];
		MPI_Request receive = MPI_REQUEST_NULL;

		if (is_expected && !sends)
			MPI_Irecv(bytes, size - 1, MPI_BYTE, peer, TAG,
				  MPI_COMM_WORLD, &receive);
		MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, OTHER_TAG, NULL, 0,
			     MPI_BYTE, peer, OTHER_TAG, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		if (sends) {
			check(MPI_Send(bytes, size, MPI_BYTE, peer, TAG,
				       MPI_COMM_WORLD) == MPI_SUCCESS);
			continue;
		}
		if (!is_expected)
			MPI_Irecv(bytes, size - 1, MPI_BYTE, peer, TAG,
				  MPI_COMM_WORLD, &receive);
		MPI_Error_class(MPI_Wait(&receive, MPI_STATUS_IGNORE), &class);
		check(class == MPI_ERR_TRUNCATE);
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	free(bytes);
}

static void persistent_requests_can_be_started_again(const struct world *world)
{
	int next = (world->rank + 1) % world->size;
	int previous = (world->rank + world->size - 1) % world->size;
	char out[600] = "", in[600] = "";
	MPI_Request requests[2];

	MPI_Send_init(out, sizeof(out), MPI_BYTE, next, TAG, MPI_COMM_WORLD,
		      &requests[0]);
	MPI_Recv_init(in, sizeof(in), MPI_BYTE, previous, TAG, MPI_COMM_WORLD,
		      &requests[1]);
	for (int i = 0; i < 50; i++) {
		bytes_fill(out, sizeof(out), world->rank + i);
		MPI_Startall(2, requests);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		check(are_bytes(in, sizeof(in), previous + i));
	}
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
}

/* Each second of some numbers, so that the library packs and unpacks. */
static void scattered_data_arrives(const struct world *world)
{
	enum {
		COUNT = 30000
	};
	int next = (world->rank + 1) % world->size;
	int previous = (world->rank + world->size - 1) % world->size;
	int *out = bytes_new(COUNT * 2 * sizeof(int));
	int *in = bytes_new(COUNT * 2 * sizeof(int));
	MPI_Datatype second;

	MPI_Type_vector(COUNT, 1, 2, MPI_INT, &second);
	MPI_Type_commit(&second);
	for (int i = 0; i < 2 * COUNT; i++)
		out[i] = world->rank * i;
	MPI_Sendrecv(out, 1, second, next, TAG, in, 1, second, previous, TAG,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < 2 * COUNT; i++)
		check(in[i] == (i % 2 == 0 ? previous * i : 0));
	MPI_Type_free(&second);
	free(out);
	free(in);
}

static const struct check_case cases[] = {
	check_case(messages_of_all_sizes_arrive),
	check_case(many_go_both_ways_at_once),
	check_case(any_source_has_many_senders_in_order),
	check_case(probing_tells_the_size),
	check_case(probing_finds_nothing_where_nothing_is),
	check_case(receives_can_be_cancelled),
	check_case(what_is_too_long_is_an_error),
	check_case(persistent_requests_can_be_started_again),
	check_case(scattered_data_arrives),
};

const struct check_group point_cases = { "point", MPI_THREAD_SINGLE, cases,
					 COUNT_OF(cases) };
