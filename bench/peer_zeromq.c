/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fan-out as it is written with ZeroMQ: a request socket for each node; send
 * to all, then receive from all.
 *
 *	peer_zeromq NODES DOWN UP ROUNDS
 *
 * Prints what rounds_report() does.
 */
#include "rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#define NODES_MAX    1024
#define ENDPOINT_MAX 64

static void node_run(int pipe_fd, size_t down, size_t up,
		     uint64_t *ret_reached_ns)
{
	void *context = zmq_ctx_new();
	void *socket = zmq_socket(context, ZMQ_REP);
	char endpoint[ENDPOINT_MAX] = { 0 };
	size_t size = sizeof(endpoint);
	uint8_t *bytes = calloc(1, down > up ? down : up);

	if (bytes == NULL || socket == NULL ||
	    zmq_bind(socket, "tcp://127.0.0.1:*") < 0 ||
	    zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size) < 0 ||
	    write(pipe_fd, endpoint, sizeof(endpoint)) != sizeof(endpoint))
		rounds_die("bind");
	/* An empty message is the end. */
	while (zmq_recv(socket, bytes, down, 0) > 0) {
		*ret_reached_ns = rounds_now_ns();
		zmq_send(socket, bytes, up, 0);
	}
	zmq_send(socket, NULL, 0, 0);
	zmq_close(socket);
	zmq_ctx_term(context);
	free(bytes);
}

static void node_start(struct rounds *rounds, char *ret_endpoint, size_t down,
		       size_t up, uint64_t *ret_reached_ns)
{
	int ends[2];

	if (pipe(ends) < 0)
		rounds_die("make a pipe");
	if (rounds_fork(rounds) == 0) {
		close(ends[0]);
		node_run(ends[1], down, up, ret_reached_ns);
		exit(0);
	}
	close(ends[1]);
	if (read(ends[0], ret_endpoint, ENDPOINT_MAX) != ENDPOINT_MAX)
		rounds_die("start a node");
	close(ends[0]);
}

static void round_run(void **sockets, unsigned int count, uint8_t *bytes,
		      size_t down, size_t up)
{
	for (unsigned int i = 0; i < count; i++)
		if (zmq_send(sockets[i], bytes, down, 0) < 0)
			rounds_die("send");
	for (unsigned int i = 0; i < count; i++)
		if (zmq_recv(sockets[i], bytes, up, 0) < 0)
			rounds_die("receive");
}

int main(int argc, char **argv)
{
	static char endpoints[NODES_MAX][ENDPOINT_MAX];
	static void *sockets[NODES_MAX];
	struct rounds *rounds;
	uint64_t *reached_ns;
	unsigned int count;
	uint8_t *bytes;
	size_t down, up;
	void *context;

	if (argc != 5) {
		fprintf(stderr, "usage: peer_zeromq NODES DOWN UP ROUNDS\n");
		return 2;
	}
	count = (unsigned int)rounds_number(argv[1], 2, NODES_MAX) - 1;
	down = rounds_number(argv[2], 1, 1 << 20);
	up = rounds_number(argv[3], 1, 1 << 20);
	rounds = rounds_create(
		(unsigned int)rounds_number(argv[4], 1, ROUNDS_MAX));
	reached_ns = rounds_shared(count * sizeof(*reached_ns));
	bytes = calloc(1, down > up ? down : up);
	if (bytes == NULL)
		rounds_die("allocate");
	/* Before there is a context, whose threads no child would have. */
	for (unsigned int i = 0; i < count; i++)
		node_start(rounds, endpoints[i], down, up, &reached_ns[i]);
	context = zmq_ctx_new();
	for (unsigned int i = 0; i < count; i++) {
		sockets[i] = zmq_socket(context, ZMQ_REQ);
		if (sockets[i] == NULL ||
		    zmq_connect(sockets[i], endpoints[i]) < 0)
			rounds_die("connect");
	}
	while (rounds_next(rounds)) {
		round_run(sockets, count, bytes, down, up);
		rounds_done(rounds, rounds_last(reached_ns, count));
	}
	round_run(sockets, count, bytes, 0, up);
	for (unsigned int i = 0; i < count; i++)
		zmq_close(sockets[i]);
	zmq_ctx_term(context);
	rounds_report(rounds);
	rounds_destroy(rounds);
	free(bytes);
	return 0;
}
