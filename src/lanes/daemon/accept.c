/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libfabric closes it does not tell: a place is free when its descriptor
 * is another socket's, or nobody's, by the socket's cookie. That is looked at
 * when room is needed, at a few places each time.
 */
#include "lanes/daemon/accept.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "sys/clock.h"

#define ROOM_MAX   64    /* places that are kept free */
#define LOOKS_MAX  16    /* at places, for one newcomer */
#define SAY_MS     60000 /* at most one line in so long */
#define SPARE_PATH "/dev/null"

struct daemon_place {
	int fd;
	uint64_t cookie; /* of the socket */
	struct daemon_place *prev, *next;
};

/* The process's. */
static struct {
	size_t max; /* 0: no maximum */
	size_t room;
	size_t count;
	struct daemon_place
		*fresh; /* maybe not answered; the first came first */
	struct daemon_place *settled; /* answered */
	struct daemon_place *ending;  /* shut down */
	int spare_fd; /* for who comes when there is none; or -1 */
	const struct log *log;
	uint64_t said_ms;
} places;

static const uint32_t silence_ms = ACCEPT_SILENCE_MS;

static int cookie_get(int fd, uint64_t *ret_cookie)
{
	socklen_t size = sizeof(*ret_cookie);

	return getsockopt(fd, SOL_SOCKET, SO_COOKIE, ret_cookie, &size);
}

static bool is_gone(const struct daemon_place *place)
{
	uint64_t cookie;

	return cookie_get(place->fd, &cookie) < 0 || cookie != place->cookie;
}

static void place_free(struct daemon_place **list, struct daemon_place *place)
{
	DL_DELETE(*list, place);
	places.count--;
	free(place);
}

static void place_move(struct daemon_place **from, struct daemon_place **to,
		       struct daemon_place *place)
{
	DL_DELETE(*from, place);
	DL_APPEND(*to, place);
}

static void place_end(struct daemon_place **list, struct daemon_place *place)
{
	shutdown(place->fd, SHUT_RDWR);
	place_move(list, &places.ending, place);
}

/* What cannot be known is as of one that is needed. */
static void look(const struct daemon_place *place, bool *ret_is_answered,
		 bool *ret_is_silent)
{
	struct tcp_info info = { 0 };
	socklen_t size = sizeof(info);

	*ret_is_answered = true;
	*ret_is_silent = false;
	if (getsockopt(place->fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
		return;
	*ret_is_answered = info.tcpi_data_segs_out > 0;
	*ret_is_silent = info.tcpi_last_data_recv >= silence_ms;
}

/* In one of the lists: true when there is room, or will be. */
static bool find_room(struct daemon_place **list)
{
	bool is_fresh = list == &places.fresh;

	for (int i = 0; i < LOOKS_MAX && *list != NULL; i++) {
		struct daemon_place *place = *list;
		bool is_answered, is_silent;

		if (is_gone(place)) {
			place_free(list, place);
			return true;
		}
		look(place, &is_answered, &is_silent);
		if (is_fresh ? !is_answered : is_silent) {
			place_end(list, place);
			return true;
		}
		place_move(list, &places.settled, place);
	}
	return false;
}

static void make_room(void)
{
	while (places.ending != NULL && is_gone(places.ending))
		place_free(&places.ending, places.ending);
	if (places.count + places.room < places.max)
		return;
	if (!find_room(&places.fresh))
		find_room(&places.settled);
}

static void say(const char *what)
{
	struct clock_seam clock = sys_clock();
	uint64_t now_ms = clock_monotonic_ms(&clock);

	if (places.log == NULL ||
	    (places.said_ms > 0 && now_ms - places.said_ms < SAY_MS))
		return;
	places.said_ms = now_ms;
	log_warning(places.log,
		    "a connection to the endpoint was closed: %s; look who "
		    "connects (ss -tn), or raise the limit of descriptors "
		    "connections=%zu max=%zu",
		    what, places.count, places.max);
}

static void spare_open(void)
{
	places.spare_fd = open(SPARE_PATH, O_RDONLY | O_CLOEXEC);
}

/* Nobody has a descriptor left for the next one in the queue. */
static void turn_away(int listener)
{
	int fd;

	if (places.spare_fd < 0)
		return;
	close(places.spare_fd);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	spare_open();
	say("there is no descriptor left");
}

static int place_take(int fd)
{
	_auto_(freep) struct daemon_place *place = calloc(1, sizeof(*place));

	if (place == NULL || cookie_get(fd, &place->cookie) < 0)
		return -ENOMEM;
	make_room();
	if (places.count >= places.max) {
		say("there are too many");
		return -EUSERS;
	}
	place->fd = fd;
	DL_APPEND(places.fresh, place);
	places.count++;
	(void)take_ptr(place);
	return 0;
}

__attribute__((visibility("default"))) int accept(int listener,
						  __SOCKADDR_ARG address,
						  socklen_t *restrict size)
{
	int fd = accept4(listener, address, size, SOCK_CLOEXEC);

	if (places.max == 0)
		return fd;
	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		turn_away(listener);
		errno = ECONNABORTED;
	}
	if (fd >= 0 && place_take(fd) < 0) {
		close(fd);
		errno = ECONNABORTED;
		fd = -1;
	}
	return fd;
}

int accept_limit(size_t connections_max, const struct log *log,
		 struct fairlead_error *ret_error)
{
	if (connections_max < ACCEPT_LEAST)
		return error_set(ret_error, -EINVAL,
				 "too few descriptors for connections to the "
				 "endpoint: raise the limit (ulimit -n)");
	spare_open();
	if (places.spare_fd < 0)
		return error_set(ret_error, -errno, "open %s: %s", SPARE_PATH,
				 strerror(errno));
	places.max = connections_max;
	places.room = connections_max / 4 < ROOM_MAX ? connections_max / 4 + 1
						     : ROOM_MAX;
	places.log = log;
	return 0;
}
