/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets and epoll. Events name a slot and how often it was used: one that
 * was closed by an earlier event of the same batch gets none.
 *
 * A listener has a second one, a Unix socket in the abstract namespace of its
 * network namespace, named after its address: peers on the same host find it
 * there. Any user can take the name, so a peer of another user is not trusted:
 * TCP is used.
 *
 * Without a free descriptor accept would be asked again and again: it pauses.
 */
#include "scoll/transport/tcp/stream.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/seam.h"
#include "scoll/transport/tcp/address.h"
#include "scoll/transport/tcp/tcp.h"

#define BACKLOG     1024
#define PAUSE_NS    UINT64_C(50000000)
#define ACCEPTS_MAX 64 /* at a time */
#define EVENTS_MAX  64 /* at a time */

struct tcp_stream {
	struct stream_set *set;
	struct tcp_stream *next; /* while free */
	void *owner;
	int fd; /* -1: free */
	uint32_t slot;
	uint32_t use; /* how often the slot was used */
	bool is_listener;
	bool is_watched; /* for writing */
};

struct stream_set {
	int epoll_fd;
	const struct stream_events *events;
	void *ctx;
	struct tcp_stream **slots;
	uint32_t slot_count;
	struct tcp_stream *free;
	struct tcp_stream *listeners[2]; /* TCP, Unix; or NULL */
	uint64_t paused_until_ns;        /* DEADLINE_NONE: not */
};

/* --- slots --- */

static int slot_new(struct stream_set *set, struct tcp_stream **ret)
{
	struct tcp_stream *stream = set->free;
	struct tcp_stream **slots;

	if (stream != NULL) {
		set->free = stream->next;
		*ret = stream;
		return 0;
	}
	slots = reallocarray(set->slots, set->slot_count + 1, sizeof(*slots));
	if (slots == NULL)
		return -ENOMEM;
	set->slots = slots;
	stream = calloc(1, sizeof(*stream));
	if (stream == NULL)
		return -ENOMEM;
	stream->set = set;
	stream->fd = -1;
	stream->slot = set->slot_count;
	slots[set->slot_count++] = stream;
	*ret = stream;
	return 0;
}

static int epoll_set(struct tcp_stream *stream, int operation, bool is_writable)
{
	struct epoll_event event = {
		.events = EPOLLIN | (is_writable ? EPOLLOUT : 0),
		.data.u64 = (uint64_t)stream->use << 32 | stream->slot,
	};

	if (epoll_ctl(stream->set->epoll_fd, operation, stream->fd, &event) < 0)
		return -errno;
	stream->is_watched = is_writable;
	return 0;
}

/* It takes the descriptor, also on failure. */
static int stream_new(struct stream_set *set, int fd, bool is_writable,
		      struct tcp_stream **ret_stream)
{
	struct tcp_stream *stream;
	int result = slot_new(set, &stream);

	if (result < 0) {
		close(fd);
		return result;
	}
	stream->fd = fd;
	stream->use++;
	stream->owner = NULL;
	stream->is_listener = false;
	result = epoll_set(stream, EPOLL_CTL_ADD, is_writable);
	if (result < 0) {
		stream_close(stream);
		return result;
	}
	*ret_stream = stream;
	return 0;
}

void stream_close(struct tcp_stream *stream)
{
	close(stream->fd);
	stream->fd = -1;
	stream->next = stream->set->free;
	stream->set->free = stream;
}

void stream_own(struct tcp_stream *stream, void *owner)
{
	stream->owner = owner;
}

void stream_watch(struct tcp_stream *stream, bool is_writable)
{
	if (stream->is_watched != is_writable)
		epoll_set(stream, EPOLL_CTL_MOD, is_writable);
}

/* --- connections --- */

static void options_set(int fd)
{
	unsigned timeout_ms = TRANSPORT_TCP_SEND_NS / 1000000;
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms,
		   sizeof(timeout_ms));
}

/* A peer of ours on this host; -1: none. */
static int local_connect(const uint8_t *address, size_t size)
{
	union socket_address name;
	socklen_t name_size = stream_local_name(address, size, &name);
	struct ucred peer;
	socklen_t peer_size = sizeof(peer);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (connect(fd, &name.any, name_size) == 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) == 0 &&
	    peer.uid == geteuid())
		return fd;
	close(fd);
	return -1;
}

int stream_connect(struct stream_set *set, const uint8_t *address, size_t size,
		   void *owner, struct tcp_stream **ret_stream)
{
	union socket_address to;
	int fd = local_connect(address, size);
	int result;

	if (fd < 0) {
		memcpy(&to, address, size);
		fd = socket(to.any.sa_family,
			    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0)
			return -errno;
		options_set(fd);
		if (connect(fd, &to.any, (socklen_t)size) < 0 &&
		    errno != EINPROGRESS) {
			result = -errno;
			close(fd);
			return result;
		}
	}
	result = stream_new(set, fd, true, ret_stream);
	if (result == 0)
		(*ret_stream)->owner = owner;
	return result;
}

int stream_error(struct tcp_stream *stream)
{
	int error = 0;
	socklen_t size = sizeof(error);

	getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &size);
	return -error;
}

ssize_t stream_read(struct tcp_stream *stream, const struct iovec *pieces,
		    int count)
{
	ssize_t result;

	do
		result = readv(stream->fd, pieces, count);
	while (result < 0 && errno == EINTR);
	return result < 0 ? -errno : result;
}

ssize_t stream_write(struct tcp_stream *stream, const struct iovec *pieces,
		     int count)
{
	struct msghdr message = {
		.msg_iov = (struct iovec *)pieces,
		.msg_iovlen = (size_t)count,
	};
	ssize_t result;

	do
		result = sendmsg(stream->fd, &message, MSG_NOSIGNAL);
	while (result < 0 && errno == EINTR);
	return result < 0 ? -errno : result;
}

/* --- the set --- */

static int listener_add(struct stream_set *set, int index, int fd)
{
	int result;

	if (listen(fd, BACKLOG) < 0) {
		result = -errno;
		close(fd);
		return result;
	}
	result = stream_new(set, fd, false, &set->listeners[index]);
	if (result == 0)
		set->listeners[index]->is_listener = true;
	return result;
}

/* Without it peers on this host use TCP. */
static void local_listen(struct stream_set *set, const uint8_t *address,
			 size_t size)
{
	union socket_address name;
	socklen_t name_size = stream_local_name(address, size, &name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && bind(fd, &name.any, name_size) == 0)
		listener_add(set, 1, fd);
	else if (fd >= 0)
		close(fd);
}

static int tcp_listen(struct stream_set *set, union socket_address *at,
		      socklen_t *size)
{
	int fd = socket(at->any.sa_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, result;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &at->any, *size) < 0 ||
	    getsockname(fd, &at->any, size) < 0) {
		result = -errno;
		close(fd);
		return result;
	}
	return listener_add(set, 0, fd);
}

static int listen_at(struct stream_set *set, const char *node,
		     const char *service, void *ret_address, size_t *ret_size,
		     struct fairlead_error *error)
{
	union socket_address at;
	struct addrinfo *info;
	socklen_t size;
	uint16_t port;
	int result = stream_find(node, service, AI_PASSIVE, &info, error);

	if (result < 0)
		return result;
	memcpy(&at, info->ai_addr, info->ai_addrlen);
	size = info->ai_addrlen;
	freeaddrinfo(info);
	if (node == NULL) {
		port = at.any.sa_family == AF_INET ? at.in.sin_port
						   : at.in6.sin6_port;
		stream_own_address(&at, &size);
		at.in.sin_port = port;
	}
	result = tcp_listen(set, &at, &size);
	if (result < 0)
		return error_set(error, result,
				 "cannot listen at '%s', '%s': %s",
				 node != NULL ? node : "",
				 service != NULL ? service : "",
				 strerror(-result));
	*ret_size = size;
	memcpy(ret_address, &at, size);
	local_listen(set, ret_address, *ret_size);
	return 0;
}

int stream_set_open(const char *node, const char *service,
		    const struct stream_events *events, void *ctx,
		    struct stream_set **ret_set, void *ret_address,
		    size_t *ret_size, struct fairlead_error *ret_error)
{
	struct stream_set *set = calloc(1, sizeof(*set));
	int result;

	if (set == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	set->events = events;
	set->ctx = ctx;
	set->paused_until_ns = DEADLINE_NONE;
	set->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (set->epoll_fd < 0)
		result = error_set(ret_error, -errno,
				   "cannot make an epoll set: %s",
				   strerror(errno));
	else
		result = listen_at(set, node, service, ret_address, ret_size,
				   ret_error);
	if (result < 0) {
		stream_set_close(set);
		return result;
	}
	*ret_set = set;
	return 0;
}

void stream_set_stop(struct stream_set *set)
{
	for (int i = 0; i < 2; i++) {
		if (set->listeners[i] != NULL)
			stream_close(set->listeners[i]);
		set->listeners[i] = NULL;
	}
	set->paused_until_ns = DEADLINE_NONE;
}

void stream_set_close(struct stream_set *set)
{
	if (set == NULL)
		return;
	stream_set_stop(set);
	if (set->epoll_fd >= 0)
		close(set->epoll_fd);
	for (uint32_t i = 0; i < set->slot_count; i++)
		free(set->slots[i]);
	free(set->slots);
	free(set);
}

int stream_set_fd(const struct stream_set *set)
{
	return set->epoll_fd;
}

/* --- events --- */

static void pause_accepting(struct stream_set *set, uint64_t now_ns)
{
	set->paused_until_ns = now_ns + PAUSE_NS;
	for (int i = 0; i < 2; i++) {
		if (set->listeners[i] != NULL)
			epoll_ctl(set->epoll_fd, EPOLL_CTL_DEL,
				  set->listeners[i]->fd, NULL);
	}
}

static void resume_accepting(struct stream_set *set)
{
	set->paused_until_ns = DEADLINE_NONE;
	for (int i = 0; i < 2; i++) {
		if (set->listeners[i] != NULL)
			epoll_set(set->listeners[i], EPOLL_CTL_ADD, false);
	}
}

static void accept_all(struct stream_set *set,
		       const struct tcp_stream *listener, uint64_t now_ns)
{
	struct tcp_stream *stream;

	for (int i = 0; i < ACCEPTS_MAX; i++) {
		int fd = accept4(listener->fd, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE ||
			       errno == ENOBUFS || errno == ENOMEM))
			pause_accepting(set, now_ns);
		if (fd < 0)
			return;
		options_set(fd);
		if (stream_new(set, fd, false, &stream) == 0)
			set->events->accepted(set->ctx, stream);
	}
}

static void event_handle(struct stream_set *set, uint64_t now_ns,
			 const struct epoll_event *event)
{
	uint32_t slot = (uint32_t)event->data.u64;
	struct tcp_stream *stream;

	stream = set->slots[slot];
	if (stream->fd < 0 || stream->use != event->data.u64 >> 32)
		return;
	if (stream->is_listener)
		accept_all(set, stream, now_ns);
	else if (stream->owner != NULL)
		set->events->ready(set->ctx, stream->owner,
				   event->events & ~(uint32_t)EPOLLOUT,
				   event->events &
					   (EPOLLOUT | EPOLLERR | EPOLLHUP));
}

void stream_set_run(struct stream_set *set, uint64_t now_ns)
{
	struct epoll_event events[EVENTS_MAX];
	int count;

	if (set->paused_until_ns <= now_ns)
		resume_accepting(set);
	count = epoll_wait(set->epoll_fd, events, EVENTS_MAX, 0);
	for (int i = 0; i < count; i++)
		event_handle(set, now_ns, &events[i]);
}

uint64_t stream_set_deadline_ns(const struct stream_set *set)
{
	return set->paused_until_ns;
}
