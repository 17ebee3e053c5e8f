/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libfabric does not report what it closes: a slot is free when its descriptor
 * is another socket's, or closed, by the socket's cookie. A few slots are
 * checked each time one is needed.
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

#define SPARE_MAX  64    /* slots that are kept free */
#define CHECKS_MAX 16    /* of slots, for one newcomer */
#define LOG_MS     60000 /* at most one line in so long */
#define SPARE_PATH "/dev/null"

struct daemon_slot {
	int fd;
	uint64_t cookie; /* of the socket */
	struct daemon_slot *prev, *next;
};

/* The process's. */
static struct {
	size_t max;         /* 0: no maximum */
	size_t spare_count; /* kept free */
	size_t count;
	struct daemon_slot
		*fresh; /* maybe not answered; the first came first */
	struct daemon_slot *settled; /* answered */
	struct daemon_slot *ending;  /* shut down */
	int spare_fd; /* for a connection without a descriptor; or -1 */
	const struct log *log;
	uint64_t logged_ms;
} slots;

static const uint32_t silence_ms = ACCEPT_SILENCE_MS;

static int cookie_get(int fd, uint64_t *ret_cookie)
{
	socklen_t size = sizeof(*ret_cookie);

	return getsockopt(fd, SOL_SOCKET, SO_COOKIE, ret_cookie, &size);
}

static bool is_gone(const struct daemon_slot *slot)
{
	uint64_t cookie;

	return cookie_get(slot->fd, &cookie) < 0 || cookie != slot->cookie;
}

static void slot_free(struct daemon_slot **list, struct daemon_slot *slot)
{
	DL_DELETE(*list, slot);
	slots.count--;
	free(slot);
}

static void slot_move(struct daemon_slot **from, struct daemon_slot **to,
		      struct daemon_slot *slot)
{
	DL_DELETE(*from, slot);
	DL_APPEND(*to, slot);
}

static void slot_end(struct daemon_slot **list, struct daemon_slot *slot)
{
	shutdown(slot->fd, SHUT_RDWR);
	slot_move(list, &slots.ending, slot);
}

/* Without TCP_INFO it counts as needed. */
static void check_activity(const struct daemon_slot *slot,
			   bool *ret_is_answered, bool *ret_is_silent)
{
	struct tcp_info info = { 0 };
	socklen_t size = sizeof(info);

	*ret_is_answered = true;
	*ret_is_silent = false;
	if (getsockopt(slot->fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
		return;
	*ret_is_answered = info.tcpi_data_segs_out > 0;
	*ret_is_silent = info.tcpi_last_data_recv >= silence_ms;
}

/* In one of the lists: true when a slot is free, or will be. */
static bool free_one(struct daemon_slot **list)
{
	bool is_fresh = list == &slots.fresh;

	for (int i = 0; i < CHECKS_MAX && *list != NULL; i++) {
		struct daemon_slot *slot = *list;
		bool is_answered, is_silent;

		if (is_gone(slot)) {
			slot_free(list, slot);
			return true;
		}
		check_activity(slot, &is_answered, &is_silent);
		if (is_fresh ? !is_answered : is_silent) {
			slot_end(list, slot);
			return true;
		}
		slot_move(list, &slots.settled, slot);
	}
	return false;
}

static void free_slots(void)
{
	while (slots.ending != NULL && is_gone(slots.ending))
		slot_free(&slots.ending, slots.ending);
	if (slots.count + slots.spare_count < slots.max)
		return;
	if (!free_one(&slots.fresh))
		free_one(&slots.settled);
}

static void warn_closed(const char *what)
{
	struct clock_seam clock = sys_clock();
	uint64_t now_ms = clock_monotonic_ms(&clock);

	if (slots.log == NULL ||
	    (slots.logged_ms > 0 && now_ms - slots.logged_ms < LOG_MS))
		return;
	slots.logged_ms = now_ms;
	log_warning(slots.log,
		    "closed a connection to the endpoint reason=\"%s\" "
		    "connections=%zu max=%zu hint=\"see who connects (ss "
		    "-tn), or raise the limit of descriptors\"",
		    what, slots.count, slots.max);
}

static void spare_open(void)
{
	slots.spare_fd = open(SPARE_PATH, O_RDONLY | O_CLOEXEC);
}

/* Close the next one in the queue: there is no descriptor left for it. */
static void refuse_next(int listener)
{
	int fd;

	if (slots.spare_fd < 0)
		return;
	close(slots.spare_fd);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	spare_open();
	warn_closed("no descriptor is left");
}

static int slot_take(int fd)
{
	_auto_(freep) struct daemon_slot *slot = calloc(1, sizeof(*slot));

	if (slot == NULL || cookie_get(fd, &slot->cookie) < 0)
		return -ENOMEM;
	free_slots();
	if (slots.count >= slots.max) {
		warn_closed("too many are open");
		return -EUSERS;
	}
	slot->fd = fd;
	DL_APPEND(slots.fresh, slot);
	slots.count++;
	(void)take_ptr(slot);
	return 0;
}

__attribute__((visibility("default"))) int accept(int listener,
						  __SOCKADDR_ARG address,
						  socklen_t *restrict size)
{
	int fd = accept4(listener, address, size, SOCK_CLOEXEC);

	if (slots.max == 0)
		return fd;
	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		refuse_next(listener);
		errno = ECONNABORTED;
	}
	if (fd >= 0 && slot_take(fd) < 0) {
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
	if (slots.spare_fd < 0)
		return error_set(ret_error, -errno, "open %s: %s", SPARE_PATH,
				 strerror(errno));
	slots.max = connections_max;
	slots.spare_count = connections_max / 4 < SPARE_MAX
				    ? connections_max / 4 + 1
				    : SPARE_MAX;
	slots.log = log;
	return 0;
}
