/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job on Elan whose ranks send to each other, for stories. Run as a task of
 * the lane, it attaches on each rail of each of its capabilities and
 *
 *	elan3-talk all ROUNDS       sends to all ranks, itself too, and receives
 *				    as much from each: in order, and whole
 *	elan3-talk stay FILE        does so once, then until FILE is gone; then
 *				    once more
 *	elan3-talk tries RANK MS    sends to that rank, and exits with the error
 *
 * Says "rank R had N messages" at the end of each.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fairlead/rms.h"

#define PORTS_MAX 8
#define RANKS_MAX 64

struct message {
	uint32_t from, to, rail, sequence;
	uint8_t filling[RMS_MESSAGE_MAX - 16];
};

struct place {
	struct rms_port *port;
	uint32_t rail;
	uint32_t received[RANKS_MAX]; /* of each rank */
	uint32_t sent;                /* to each rank */
};

static struct place places[PORTS_MAX];
static size_t place_count;
static uint32_t rank, rank_count;

static void must(int result, const char *what)
{
	if (result >= 0)
		return;
	fprintf(stderr, "rank %u: %s: %s\n", rank, what, strerror(errno));
	exit(1);
}

static uint32_t number_of(const char *name)
{
	const char *text = getenv(name);

	return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

static void attach_all(void)
{
	struct elan_capability cap;
	int count;

	must(rms_ncaps(&count), "rms_ncaps");
	for (int i = 0; i < count; i++) {
		memset(&cap, 0, sizeof(cap));
		must(rms_getcap(i, &cap), "rms_getcap");
		for (int rail = 0; rail < ELAN_MAX_RAILS; rail++) {
			struct place *place = &places[place_count];

			if (!(cap.cap_railmask >> rail & 1) ||
			    place_count == PORTS_MAX)
				continue;
			must(rms_attach(&cap, rail, &place->port),
			     "rms_attach");
			place->rail = (uint32_t)rail;
			place_count++;
		}
	}
}

static size_t size_of(uint32_t sequence)
{
	return 16 + sequence * 1021 % (RMS_MESSAGE_MAX - 15);
}

static void receive(struct place *place)
{
	struct message message;
	int from = -1;
	int size = rms_recv(place->port, &from, &message, sizeof(message), -1);
	uint32_t *count;

	must(size, "rms_recv");
	count = &place->received[from];
	if (size < 16 || message.from != (uint32_t)from || message.to != rank ||
	    message.rail != place->rail || message.sequence != *count ||
	    (size_t)size != size_of(*count)) {
		fprintf(stderr, "rank %u: a wrong message from %d\n", rank,
			from);
		exit(1);
	}
	for (int i = 0; i < size - 16; i++)
		if (message.filling[i] != (uint8_t)(*count + (uint32_t)i))
			exit(1);
	(*count)++;
}

/* One to each rank, and one from each. */
static void round_of(struct place *place)
{
	struct message message = {
		.from = rank,
		.rail = place->rail,
		.sequence = place->sent,
	};
	size_t size = size_of(place->sent);

	for (size_t i = 0; i < sizeof(message.filling); i++)
		message.filling[i] = (uint8_t)(place->sent + i);
	for (uint32_t i = 0; i < rank_count; i++) {
		message.to = (rank + i) % rank_count;
		must(rms_send(place->port, (int)message.to, &message, size, -1),
		     "rms_send");
	}
	place->sent++;
	for (uint32_t i = 0; i < rank_count; i++)
		while (place->received[i] < place->sent)
			receive(place);
}

static void rounds(uint32_t count)
{
	uint32_t total = 0;

	for (uint32_t i = 0; i < count; i++)
		for (size_t j = 0; j < place_count; j++)
			round_of(&places[j]);
	for (size_t i = 0; i < place_count; i++)
		total += places[i].sent * rank_count;
	printf("rank %u had %u messages on %zu rails\n", rank, total,
	       place_count);
	fflush(stdout);
}

static int try_once(int to, int timeout_ms)
{
	int result = rms_send(places[0].port, to, "x", 1, timeout_ms) < 0
			     ? errno
			     : 0;

	fprintf(stderr, "rank %d: %s\n", to, strerror(result));
	return result;
}

int main(int argc, char **argv)
{
	rank = number_of("RMS_RANK");
	rank_count = number_of("RMS_NPROCS");
	if (argc < 3 || rank_count == 0 || rank_count > RANKS_MAX)
		return 2;
	attach_all();
	if (strcmp(argv[1], "tries") == 0 && argc == 4)
		return try_once(atoi(argv[2]), atoi(argv[3]));
	if (strcmp(argv[1], "stay") != 0) {
		rounds((uint32_t)atoi(argv[2]));
		return 0;
	}
	rounds(1);
	while (access(argv[2], F_OK) == 0)
		usleep(20000);
	rounds(1);
	return 0;
}
