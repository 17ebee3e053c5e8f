/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The floor of a collective: processes joined by plain TCP on the loopback
 * device, and nothing else. Each reads `down` bytes from its parent, sends
 * them to its children, and when each child has sent `up` bytes, sends `up`
 * bytes to its parent.
 *
 *	peer_tree NODES RADIX DOWN UP ROUNDS blocking|polling
 *
 * RADIX: children of a node (k-ary); NODES or more: a flat tree. Prints
 * what rounds_report() does.
 */
#include "rounds.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NODES_MAX 1024

struct plan {
	unsigned int nodes, radix, rounds;
	size_t down, up;
	bool is_polling;
};

/* Its own end of each edge: [r] is what joins node r to its parent. */
static int to_parent[NODES_MAX], to_child[NODES_MAX];
static uint64_t *reached_ns; /* shared: when each node had the message */

/* Two connected TCP sockets. */
static void edge_make(int *ret_parent_end, int *ret_child_end, bool is_polling)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(address);
	int ends[2], listener = socket(AF_INET, SOCK_STREAM, 0);

	if (listener < 0 || bind(listener, (void *)&address, size) < 0 ||
	    listen(listener, 1) < 0 ||
	    getsockname(listener, (void *)&address, &size) < 0)
		rounds_die("listen");
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (ends[0] < 0 || connect(ends[0], (void *)&address, size) < 0)
		rounds_die("connect");
	ends[1] = accept(listener, NULL, NULL);
	if (ends[1] < 0)
		rounds_die("accept");
	close(listener);
	for (int i = 0; i < 2; i++) {
		int on = 1;

		if (setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &on,
			       sizeof(on)) < 0 ||
		    (is_polling && fcntl(ends[i], F_SETFL, O_NONBLOCK) < 0))
			rounds_die("set up a socket");
	}
	*ret_child_end = ends[0];
	*ret_parent_end = ends[1];
}

/* False: the other end is gone. */
static bool read_all(int fd, uint8_t *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t got = read(fd, bytes + done, size - done);

		if (got == 0)
			return false;
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			rounds_die("read");
		if (got > 0)
			done += (size_t)got;
	}
	return true;
}

static void write_all(int fd, const uint8_t *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t put = write(fd, bytes + done, size - done);

		if (put < 0 && errno != EAGAIN && errno != EINTR)
			rounds_die("write");
		if (put > 0)
			done += (size_t)put;
	}
}

static unsigned int first_child(const struct plan *plan, unsigned int node)
{
	uint64_t first = (uint64_t)node * plan->radix + 1;

	return first < plan->nodes ? (unsigned int)first : plan->nodes;
}

static unsigned int end_child(const struct plan *plan, unsigned int node)
{
	uint64_t end = (uint64_t)node * plan->radix + plan->radix + 1;

	return end < plan->nodes ? (unsigned int)end : plan->nodes;
}

static void pass(const struct plan *plan, unsigned int node, uint8_t *bytes)
{
	unsigned int first = first_child(plan, node);
	unsigned int end = end_child(plan, node);

	for (unsigned int child = first; child < end; child++)
		write_all(to_child[child], bytes, plan->down);
	for (unsigned int child = first; child < end; child++)
		if (!read_all(to_child[child], bytes, plan->up))
			rounds_die("a child is gone");
}

static void node_run(const struct plan *plan, unsigned int node, uint8_t *bytes)
{
	for (unsigned int i = 1; i < plan->nodes; i++) {
		if (i != node)
			close(to_parent[i]);
		if (i < first_child(plan, node) || i >= end_child(plan, node))
			close(to_child[i]);
	}
	while (read_all(to_parent[node], bytes, plan->down)) {
		reached_ns[node] = rounds_now_ns();
		pass(plan, node, bytes);
		write_all(to_parent[node], bytes, plan->up);
	}
}

static void plan_read(char **argv, struct plan *ret_plan)
{
	*ret_plan = (struct plan){
		.nodes = (unsigned int)rounds_number(argv[1], 2, NODES_MAX),
		.radix = (unsigned int)rounds_number(argv[2], 1,
						     UINT32_MAX / NODES_MAX),
		.down = rounds_number(argv[3], 1, 1 << 20),
		.up = rounds_number(argv[4], 1, 1 << 20),
		.rounds = (unsigned int)rounds_number(argv[5], 1, ROUNDS_MAX),
		.is_polling = strcmp(argv[6], "polling") == 0,
	};
	if (!ret_plan->is_polling && strcmp(argv[6], "blocking") != 0) {
		fprintf(stderr,
			"peer_tree: '%s' is neither blocking nor "
			"polling\n",
			argv[6]);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct plan plan;
	struct rounds *rounds;
	uint8_t *bytes;

	if (argc != 7) {
		fprintf(stderr, "usage: peer_tree NODES RADIX DOWN UP ROUNDS "
				"blocking|polling\n");
		return 2;
	}
	plan_read(argv, &plan);
	bytes = calloc(1, plan.down > plan.up ? plan.down : plan.up);
	if (bytes == NULL)
		rounds_die("allocate");
	rounds = rounds_create(plan.rounds);
	reached_ns = rounds_shared(plan.nodes * sizeof(*reached_ns));
	for (unsigned int i = 1; i < plan.nodes; i++)
		edge_make(&to_child[i], &to_parent[i], plan.is_polling);
	for (unsigned int node = 1; node < plan.nodes; node++) {
		if (rounds_fork(rounds) == 0) {
			node_run(&plan, node, bytes);
			return 0;
		}
	}
	for (unsigned int i = 1; i < plan.nodes; i++) {
		close(to_parent[i]);
		if (i >= end_child(&plan, 0))
			close(to_child[i]);
	}
	while (rounds_next(rounds)) {
		pass(&plan, 0, bytes);
		rounds_done(rounds, rounds_last(reached_ns, plan.nodes));
	}
	for (unsigned int i = 1; i < end_child(&plan, 0); i++)
		close(to_child[i]);
	rounds_report(rounds);
	rounds_destroy(rounds);
	free(bytes);
	return 0;
}
