/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients of a manager, each with a connection of its own and one request open
 * at a time: it reserves a lane, has it applied if asked to, releases it, and
 * begins again. They speak the client protocol directly
 * (doc/rfc/client-protocol.md) and read of an answer only what they need, so
 * that the machine's cores are the manager's.
 *
 * Usage: load --socket PATH [OPTION...]
 *   --clients N       connections (1)
 *   --seconds N       run for so long (5), or
 *   --count N         so many rounds of all clients together
 *   --nodes N         the manager's nodes are n0 to n(N-1) (1024)
 *   --spread N        nodes of a job, at random among them (4)
 *   --hold            do not release
 *   --apply           apply before the release
 *   --together        reserve and apply, and release, all at once, and begin
 *                     again when no external reservation is left; there may
 *                     be no nodes: an apply ends when it would ask them
 *   --options TEXT    of the jobs, for the interconnect's driver
 *   --owner UID       of the jobs (1000)
 *   --name TEXT       of the jobs, so that runs do not meet (load)
 *
 * Prints a name and a number a line: rounds, seconds, rounds_per_s, and for
 * each op, and for `start`, which is a reserve and the apply after it, its count
 * and p50, p99 and longest time in microseconds.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "times.h"

#define FRAME_BYTES_MAX 1048576
#define CLIENTS_MAX     1000
#define SPREAD_MAX      4096
#define NODES_MAX       131072

enum op {
	OP_RESERVE,
	OP_APPLY,
	OP_RELEASE,
	OP_STATUS,
	OP_START, /* for its times */
	OP_COUNT,
};

static const char *const op_names[OP_COUNT] = { "reserve", "apply", "release",
						"status", "start" };

struct client {
	int fd;
	unsigned int number;
	enum op op; /* that is open */
	uint64_t job;
	uint64_t grant_id;
	uint64_t sent_us;
	uint64_t begun_us; /* its round */
	char *bytes;       /* of an answer */
	size_t size;
	size_t capacity;
};

struct load {
	const char *socket_path;
	const char *name;
	const char *options;
	uint64_t client_count;
	uint64_t seconds;
	uint64_t round_max; /* 0: no such limit */
	uint64_t node_count;
	uint64_t spread;
	uint64_t owner;
	bool is_holding;
	bool is_applying;
	bool is_together;
	uint64_t applied_count;
	struct client *clients;
	struct times times[OP_COUNT];
	uint64_t begun_count;
	uint64_t round_count;
	uint64_t open_count;
	uint64_t start_us;
	uint64_t end_us; /* no round begins after it */
	uint64_t random;
	uint32_t *picked; /* by node: the round that picked it last */
	int epoll_fd;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "load: %s: %s\n", what, why);
	exit(1);
}

static void *grown(void *old, size_t size)
{
	void *new = realloc(old, size);

	if (new == NULL)
		die("start", "out of memory");
	return new;
}

/* The same nodes in each run: xorshift, from a constant. */
static uint64_t random_next(struct load *load)
{
	load->random ^= load->random << 13;
	load->random ^= load->random >> 7;
	load->random ^= load->random << 17;
	return load->random;
}

/* --- requests --- */

/* The job's nodes as a host list of single numbers. */
static size_t nodes_format(struct load *load, char *text, size_t capacity)
{
	size_t used = (size_t)snprintf(text, capacity, "n[");
	uint32_t mark = (uint32_t)load->begun_count;

	for (uint64_t i = 0; i < load->spread; i++) {
		uint64_t node;

		do
			node = random_next(load) % load->node_count;
		while (load->picked[node] == mark);
		load->picked[node] = mark;
		used += (size_t)snprintf(text + used, capacity - used,
					 "%s%" PRIu64, i == 0 ? "" : ",", node);
	}
	return used + (size_t)snprintf(text + used, capacity - used, "]");
}

static void send_request(struct client *client, enum op op, const char *text,
			 size_t size)
{
	uint32_t length = (uint32_t)size;
	char frame[SPREAD_MAX * 8 + 512];

	memcpy(frame, &length, sizeof(length));
	memcpy(frame + sizeof(length), text, size);
	size += sizeof(length);
	client->op = op;
	client->size = 0;
	client->sent_us = times_now_us();
	if (send(client->fd, frame, size, MSG_NOSIGNAL) != (ssize_t)size)
		die("send", strerror(errno));
}

static void reserve(struct load *load, struct client *client)
{
	char text[SPREAD_MAX * 8 + 256];
	size_t size;

	load->begun_count++;
	load->open_count++;
	client->job++;
	size = (size_t)snprintf(
		text, sizeof(text),
		"{\"v\":1,\"id\":1,\"op\":\"reserve\",\"request\":{\"key\":"
		"\"bench/%s-%u-%" PRIu64 "/0\",\"uid\":%" PRIu64
		",\"gid\":%" PRIu64 ","
		"\"cores\":\"8\",\"nodes\":\"",
		load->name, client->number, client->job, load->owner,
		load->owner);
	size += nodes_format(load, text + size, sizeof(text) - size);
	size += (size_t)snprintf(text + size, sizeof(text) - size,
				 "\",\"options\":\"%s\"}}", load->options);
	send_request(client, OP_RESERVE, text, size);
	client->begun_us = client->sent_us;
}

static void ask_for_grant(struct client *client, enum op op)
{
	char text[128];
	int size = snprintf(text, sizeof(text),
			    "{\"v\":1,\"id\":1,\"op\":\"%s\",\"grant_id\":"
			    "%" PRIu64 "}",
			    op_names[op], client->grant_id);

	send_request(client, op, text, (size_t)size);
}

static void ask_for_status(struct client *client)
{
	static const char text[] = "{\"v\":1,\"id\":1,\"op\":\"status\"}";

	send_request(client, OP_STATUS, text, strlen(text));
}

/* --- answers --- */

/* The number behind a member's name, in the answer as it came. */
static uint64_t member_of(const char *text, const char *member)
{
	const char *found = strstr(text, member);

	if (found == NULL)
		die(member, text);
	return strtoull(found + strlen(member), NULL, 10);
}

static bool has_more(const struct load *load)
{
	return load->round_max > 0 ? load->begun_count < load->round_max
				   : times_now_us() < load->end_us;
}

/* Together: once all have applied, all release. */
static void applied(struct load *load)
{
	if (++load->applied_count % load->client_count > 0)
		return;
	for (uint64_t i = 0; i < load->client_count; i++)
		ask_for_grant(&load->clients[i], OP_RELEASE);
}

/* Together: once no reservation is left, all begin again. */
static void looked(struct load *load, struct client *client, const char *text)
{
	const char *debts = strstr(text, "\"debts\":");

	if (debts != NULL && member_of(debts, "\"debts\":") > 0) {
		ask_for_status(client);
		return;
	}
	load->open_count--;
	for (uint64_t i = 0; i < load->client_count; i++)
		reserve(load, &load->clients[i]);
}

static void round_end(struct load *load, struct client *client)
{
	load->round_count++;
	load->open_count--;
	if (!has_more(load))
		return;
	if (!load->is_together) {
		reserve(load, client);
	} else if (load->open_count == 0) {
		ask_for_status(client);
		load->open_count++;
	}
}

static bool is_good(const struct load *load, const struct client *client,
		    const char *text)
{
	return strstr(text, "\"result\":0") != NULL ||
	       (load->is_together && client->op == OP_APPLY &&
		strstr(text, "not connected") != NULL);
}

static void answered(struct load *load, struct client *client, const char *text)
{
	uint64_t end_us = times_now_us();

	if (!is_good(load, client, text))
		die(op_names[client->op], text);
	times_add(&load->times[client->op], end_us - client->sent_us);
	if (client->op == OP_STATUS) {
		looked(load, client, text);
		return;
	}
	if (client->op == OP_APPLY)
		times_add(&load->times[OP_START], end_us - client->begun_us);
	if (client->op == OP_RELEASE || load->is_holding) {
		round_end(load, client);
		return;
	}
	if (client->op == OP_RESERVE)
		client->grant_id = member_of(text, "\"grant_id\":");
	if (client->op == OP_RESERVE && load->is_applying)
		ask_for_grant(client, OP_APPLY);
	else if (load->is_together)
		applied(load);
	else
		ask_for_grant(client, OP_RELEASE);
}

/* True when the answer is whole. */
static bool read_answer(struct client *client)
{
	uint32_t length = 0;
	size_t wanted = sizeof(length);
	ssize_t count;

	if (client->capacity == 0) {
		client->capacity = 4096;
		client->bytes = grown(NULL, client->capacity + 1);
	}
	count = recv(client->fd, client->bytes + client->size,
		     client->capacity - client->size, MSG_DONTWAIT);
	if (count < 0 && errno == EAGAIN)
		return false;
	if (count <= 0)
		die("receive",
		    count == 0 ? "the manager has closed" : strerror(errno));
	client->size += (size_t)count;
	if (client->size < wanted)
		return false;
	memcpy(&length, client->bytes, sizeof(length));
	if (length > FRAME_BYTES_MAX)
		die("receive", "a frame is too long");
	wanted += length;
	if (client->capacity < wanted) {
		client->capacity = wanted;
		client->bytes = grown(client->bytes, wanted + 1);
	}
	client->bytes[client->size] = '\0';
	return client->size == wanted;
}

/* --- the run --- */

static void connect_client(struct load *load, struct client *client)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = client };

	if (strlen(load->socket_path) >= sizeof(address.sun_path))
		die(load->socket_path, "the path is too long");
	strcpy(address.sun_path, load->socket_path);
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd < 0 ||
	    connect(client->fd, (struct sockaddr *)&address, sizeof(address)) <
		    0 ||
	    epoll_ctl(load->epoll_fd, EPOLL_CTL_ADD, client->fd, &event) < 0)
		die(load->socket_path, strerror(errno));
}

static void run(struct load *load)
{
	struct epoll_event events[64];

	for (uint64_t i = 0; i < load->client_count; i++) {
		load->clients[i].number = (unsigned int)i;
		connect_client(load, &load->clients[i]);
	}
	load->start_us = times_now_us();
	load->end_us = load->start_us + load->seconds * 1000000;
	for (uint64_t i = 0; i < load->client_count; i++)
		reserve(load, &load->clients[i]);
	while (load->open_count > 0) {
		int count = epoll_wait(load->epoll_fd, events, 64, -1);

		for (int i = 0; i < count; i++) {
			struct client *client = events[i].data.ptr;

			if (read_answer(client))
				answered(load, client,
					 client->bytes + sizeof(uint32_t));
		}
	}
}

static void report(struct load *load)
{
	double seconds = (double)(times_now_us() - load->start_us) / 1e6;

	printf("rounds %" PRIu64 "\n", load->round_count);
	printf("seconds %.3f\n", seconds);
	printf("rounds_per_s %.1f\n", (double)load->round_count / seconds);
	for (int op = 0; op < OP_COUNT; op++)
		times_report(&load->times[op], op_names[op]);
}

static uint64_t parse_number(const char *text, uint64_t most)
{
	char *end;
	uint64_t number = strtoull(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || number == 0 ||
	    number > most)
		die(text, "a positive number is wanted, and not above a limit");
	return number;
}

static void parse_options(struct load *load, int argc, char **argv)
{
	static const struct option options[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "clients", required_argument, NULL, 'c' },
		{ "seconds", required_argument, NULL, 't' },
		{ "count", required_argument, NULL, 'n' },
		{ "nodes", required_argument, NULL, 'N' },
		{ "spread", required_argument, NULL, 'S' },
		{ "name", required_argument, NULL, 'k' },
		{ "owner", required_argument, NULL, 'o' },
		{ "hold", no_argument, NULL, 'h' },
		{ "apply", no_argument, NULL, 'a' },
		{ "together", no_argument, NULL, 'T' },
		{ "options", required_argument, NULL, 'O' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			load->socket_path = optarg;
		else if (option == 'c')
			load->client_count = parse_number(optarg, CLIENTS_MAX);
		else if (option == 't')
			load->seconds = parse_number(optarg, 1000000);
		else if (option == 'n')
			load->round_max = parse_number(optarg, UINT32_MAX);
		else if (option == 'N')
			load->node_count = parse_number(optarg, NODES_MAX);
		else if (option == 'S')
			load->spread = parse_number(optarg, SPREAD_MAX);
		else if (option == 'k')
			load->name = optarg;
		else if (option == 'o')
			load->owner = strcmp(optarg, "0") == 0
					      ? 0
					      : parse_number(optarg, INT32_MAX);
		else if (option == 'h')
			load->is_holding = true;
		else if (option == 'a')
			load->is_applying = true;
		else if (option == 'T')
			load->is_applying = load->is_together = true;
		else if (option == 'O')
			load->options = optarg;
		else
			exit(2);
	}
	if (load->socket_path == NULL || optind != argc)
		die("usage", "load --socket PATH [OPTION...]");
	if (load->spread > load->node_count)
		die("usage", "--spread is above --nodes");
	if (load->round_max > 0 && load->round_max < load->client_count)
		load->client_count = load->round_max;
}

int main(int argc, char **argv)
{
	struct load load = {
		.name = "load",
		.options = "",
		.client_count = 1,
		.seconds = 5,
		.node_count = 1024,
		.spread = 4,
		.owner = 1000,
		.random = 0x9e3779b97f4a7c15,
		.epoll_fd = epoll_create1(EPOLL_CLOEXEC),
	};

	parse_options(&load, argc, argv);
	load.clients = calloc(load.client_count, sizeof(*load.clients));
	load.picked = calloc(load.node_count, sizeof(*load.picked));
	if (load.epoll_fd < 0 || load.clients == NULL || load.picked == NULL)
		die("start", strerror(errno));
	run(&load);
	report(&load);
	for (uint64_t i = 0; i < load.client_count; i++) {
		close(load.clients[i].fd);
		free(load.clients[i].bytes);
	}
	for (int op = 0; op < OP_COUNT; op++)
		times_fini(&load.times[op]);
	free(load.clients);
	free(load.picked);
	close(load.epoll_fd);
	return 0;
}
