/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The capability of a job on its way to the job's nodes, which are processes of
 * this machine, until each has answered: by a collective, or by as many
 * connections at once, which are kept or made each time.
 *
 *	elan3_spread collective NODES ROUNDS open|bytes PROVIDER
 *	elan3_spread kept|made  NODES ROUNDS open|bytes
 *
 * What is sent is the manager's APPLY (elan3_word.h). open: each node verifies
 * it and opens its secrets before it answers, as a node's guard does; bytes: it
 * only answers. The collective is sealed with one key, as the daemons' is, and
 * its tree is k-nomial with K = 8; connections are plain. Prints what
 * rounds_report() does, the bytes of the command, and the CPU time of a round
 * that is the manager's.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "elan3_word.h"
#include "scoll_crew.h"

#define ANSWER_SIZE 64
#define NODES_MAX   (CREW_MAX - 1)

struct plan {
	unsigned int nodes, rounds;
	bool is_opening;
	bool is_kept;
};

static struct word word;

/* CPU time of the manager's process alone: its begin, and then so many rounds. */
struct root {
	struct rounds_usage begin;
	unsigned int round;
};

static void root_round(struct root *root)
{
	if (root->round++ == ROUNDS_WARM_UP)
		rounds_usage_add(getpid(), &root->begin);
}

static void report(struct rounds *rounds, const struct plan *plan,
		   const struct root *root)
{
	struct rounds_usage end = { 0 };

	rounds_usage_add(getpid(), &end);
	rounds_note(rounds, "root_cpu_ns",
		    (end.cpu_ns - root->begin.cpu_ns) / plan->rounds);
	rounds_note(rounds, "bytes", (double)word.command.size);
	rounds_kill(rounds);
	rounds_report(rounds);
}

/* --- by a collective --- */

static void on_request(struct crew *crew, const void *bytes, size_t size)
{
	word_open(&word, crew->index - 1, bytes, size);
}

static void by_collective(const struct plan *plan, const char *provider)
{
	const struct crew_options options = {
		.provider = provider,
		.count = plan->nodes + 1,
		.tree = "knomial:8",
		.up = ANSWER_SIZE,
		.is_sealed = true,
		.rtt = 5000000000,
		.request = plan->is_opening ? on_request : NULL,
	};
	struct rounds *rounds = rounds_create(plan->rounds);
	struct crew_call call = { .is_done = false };
	static struct crew crew;
	struct root root = { 0 };
	scoll_group_t *group;

	crew_open(&crew, &options, rounds);
	if (crew.index != 0)
		crew_run(&crew, NULL);
	group = crew_group(&crew, 0, options.count, true);
	while (rounds_next(rounds)) {
		root_round(&root);
		crew_send(&crew, group, word.command.data, word.command.size, 0,
			  &call);
		crew_run(&crew, &call.is_done);
		rounds_done(rounds, 0);
		if (call.status < 0) {
			errno = -call.status;
			rounds_die("a round");
		}
	}
	report(rounds, plan, &root);
	crew_close(&crew);
	rounds_destroy(rounds);
}

/* --- by connections: a node --- */

static int listener_make(struct sockaddr_in *ret_address)
{
	socklen_t size = sizeof(*ret_address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret_address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	if (fd < 0 || bind(fd, (void *)ret_address, size) < 0 ||
	    listen(fd, 8) < 0 ||
	    getsockname(fd, (void *)ret_address, &size) < 0)
		rounds_die("listen");
	return fd;
}

static void no_delay(int fd)
{
	int on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
		rounds_die("set up a socket");
}

/* False: the manager has closed it. */
static bool command_read(int fd, uint8_t *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t got = read(fd, bytes + done, size - done);

		if (got == 0 && done == 0)
			return false;
		if (got <= 0 && (got == 0 || errno != EINTR))
			rounds_die("read");
		if (got > 0)
			done += (size_t)got;
	}
	return true;
}

static void node_run(const struct plan *plan, unsigned int node, int listener)
{
	static const uint8_t answer[ANSWER_SIZE];
	uint8_t *bytes = malloc(word.command.size);

	if (bytes == NULL)
		rounds_die("allocate");
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			rounds_die("accept");
		no_delay(fd);
		while (command_read(fd, bytes, word.command.size)) {
			if (plan->is_opening)
				word_open(&word, node, bytes,
					  word.command.size);
			if (write(fd, answer, sizeof(answer)) != ANSWER_SIZE)
				rounds_die("answer");
		}
		close(fd);
	}
}

/* --- by connections: the manager --- */

static int connection_open(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 ||
	    (connect(fd, (const void *)address, sizeof(*address)) < 0 &&
	     errno != EINPROGRESS))
		rounds_die("connect");
	no_delay(fd);
	return fd;
}

/* What can be done now; true: the node has answered. */
static bool connection_go_on(struct pollfd *connection, size_t *done)
{
	uint8_t answer[ANSWER_SIZE];
	ssize_t moved;

	if (connection->events == POLLOUT) {
		moved = write(connection->fd, word.command.data + *done,
			      word.command.size - *done);
		if (moved < 0 && errno != EAGAIN)
			rounds_die("write");
		*done += moved > 0 ? (size_t)moved : 0;
		if (*done == word.command.size) {
			connection->events = POLLIN;
			*done = 0;
		}
		return false;
	}
	moved = read(connection->fd, answer, sizeof(answer) - *done);
	if (moved == 0 || (moved < 0 && errno != EAGAIN))
		rounds_die("read an answer");
	*done += moved > 0 ? (size_t)moved : 0;
	return *done == ANSWER_SIZE;
}

static void round_run(const struct plan *plan,
		      const struct sockaddr_in *addresses,
		      struct pollfd *connections)
{
	size_t done[NODES_MAX] = { 0 };
	unsigned int left = plan->nodes;
	int kept[NODES_MAX];

	for (unsigned int i = 0; i < plan->nodes; i++) {
		if (connections[i].fd < 0)
			connections[i].fd = connection_open(&addresses[i]);
		connections[i].events = POLLOUT;
		kept[i] = connections[i].fd;
	}
	while (left > 0) {
		if (poll(connections, plan->nodes, -1) < 0 && errno != EINTR)
			rounds_die("poll");
		for (unsigned int i = 0; i < plan->nodes; i++) {
			if (connections[i].fd < 0 ||
			    connections[i].revents == 0 ||
			    !connection_go_on(&connections[i], &done[i]))
				continue;
			connections[i].fd = -1; /* poll passes over it */
			left--;
			if (!plan->is_kept)
				close(kept[i]);
		}
	}
	for (unsigned int i = 0; plan->is_kept && i < plan->nodes; i++)
		connections[i].fd = kept[i];
}

static void by_connections(const struct plan *plan)
{
	struct rounds *rounds = rounds_create(plan->rounds);
	struct sockaddr_in addresses[NODES_MAX];
	struct pollfd connections[NODES_MAX];
	struct root root = { 0 };

	for (unsigned int i = 0; i < plan->nodes; i++) {
		int listener = listener_make(&addresses[i]);

		if (rounds_fork(rounds) == 0)
			node_run(plan, i, listener);
		close(listener);
		connections[i] = (struct pollfd){ .fd = -1 };
	}
	while (rounds_next(rounds)) {
		root_round(&root);
		round_run(plan, addresses, connections);
		rounds_done(rounds, 0);
	}
	report(rounds, plan, &root);
	rounds_destroy(rounds);
}

/* --- the command line --- */

static bool is_word(const char *text, const char *yes, const char *no)
{
	if (strcmp(text, yes) != 0 && strcmp(text, no) != 0) {
		fprintf(stderr, "elan3_spread: '%s' is neither %s nor %s\n",
			text, yes, no);
		exit(2);
	}
	return strcmp(text, yes) == 0;
}

int main(int argc, char **argv)
{
	struct plan plan;

	if (argc < 5 || argc != (strcmp(argv[1], "collective") == 0 ? 6 : 5)) {
		fprintf(stderr, "usage: elan3_spread collective NODES ROUNDS "
				"open|bytes PROVIDER\n"
				"       elan3_spread kept|made NODES ROUNDS "
				"open|bytes\n");
		return 2;
	}
	plan = (struct plan){
		.nodes = (unsigned int)rounds_number(argv[2], 1, NODES_MAX),
		.rounds = (unsigned int)rounds_number(argv[3], 1, ROUNDS_MAX),
		.is_opening = is_word(argv[4], "open", "bytes"),
	};
	word_make(plan.nodes, &word);
	if (argc == 6) {
		by_collective(&plan, argv[5]);
	} else {
		plan.is_kept = is_word(argv[1], "kept", "made");
		by_connections(&plan);
	}
	word_fini(&word);
	return 0;
}
