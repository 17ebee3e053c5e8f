/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages. What is sent is answered on the same descriptor, one at a time;
 * what comes has one of its own. So neither call sees what is the other's.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fairlead/rms.h"
#include "elan/client.h"
#include "elan/wire/peer.h"

struct rms_port {
	int send_fd, receive_fd;
	pid_t pid; /* who attached: the answers are its */
	int rail;
	struct elan_capability cap; /* without its key */
	pthread_mutex_t lock;       /* of send_fd */
};

static int fail(int result)
{
	errno = -result;
	return -1;
}

static int detach(int rail, const struct elan_capability *cap)
{
	const struct rms_request request = {
		.op = RMS_DETACH,
		.index = rail,
		.cap = *cap, /* of which the key does not count */
	};

	return rms_client_call(NULL, &request);
}

int rms_attach(const struct elan_capability *cap, int rail,
	       struct rms_port **ret_port)
{
	struct rms_request request = { .op = RMS_OPEN, .index = rail };
	_auto_(rms_answer_fini) struct rms_answer reply = { 0 };
	_auto_(freep) struct rms_port *port = NULL;
	struct packet_fds fds = { .count = 0 };
	int result;

	if (cap == NULL || ret_port == NULL)
		return fail(-EFAULT);
	port = calloc(1, sizeof(*port));
	if (port == NULL)
		return fail(-ENOMEM);
	request.cap = *cap;
	result = rms_call_fds(NULL, &request, &reply, &fds);
	explicit_bzero(&request, sizeof(request));
	port->cap = *cap;
	explicit_bzero(&port->cap.cap_userkey, sizeof(port->cap.cap_userkey));
	/* It is attached, and the descriptors did not fit. */
	if (result == 0 && fds.count < RMS_PORT_DESCRIPTORS) {
		detach(rail, &port->cap);
		result = -EMFILE;
	}
	if (result < 0) {
		packet_fds_close(&fds);
		return fail(result);
	}
	port->send_fd = fds.fds[0];
	port->receive_fd = fds.fds[1];
	port->rail = rail;
	port->pid = getpid();
	pthread_mutex_init(&port->lock, NULL);
	*ret_port = take_ptr(port);
	return 0;
}

int rms_detach(struct rms_port *port)
{
	int result;

	if (port == NULL)
		return fail(-EFAULT);
	result = detach(port->rail, &port->cap);
	close(port->send_fd);
	close(port->receive_fd);
	pthread_mutex_destroy(&port->lock);
	free(port);
	return result < 0 ? fail(result) : 0;
}

int rms_port_fd(const struct rms_port *port)
{
	return port == NULL ? fail(-EFAULT) : port->receive_fd;
}

static void put_u32(uint8_t *bytes, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get_u32(const uint8_t *bytes)
{
	struct reader reader = reader_of(bytes, 4);

	return read_u32(&reader);
}

static ssize_t receive(int fd, void *bytes, size_t size, int flags)
{
	ssize_t count;

	do
		count = recv(fd, bytes, size, flags);
	while (count < 0 && errno == EINTR);
	return count;
}

/* Its answer, or that nobody is there any more to give one. */
static int exchange(int fd, const uint8_t *packet, size_t size)
{
	uint8_t bytes[4];
	ssize_t count;

	do
		count = send(fd, packet, size, MSG_NOSIGNAL);
	while (count < 0 && errno == EINTR);
	if (count < 0)
		return errno == EPIPE ? -ECONNRESET : -errno;
	if (receive(fd, bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -ECONNRESET;
	return (int)get_u32(bytes);
}

int rms_send(struct rms_port *port, int rank, const void *bytes, size_t size,
	     int timeout_ms)
{
	uint8_t packet[RMS_PORT_SEND_HEAD + RMS_MESSAGE_MAX];
	int result;

	if (port == NULL || (bytes == NULL && size > 0))
		return fail(-EFAULT);
	if (port->pid != getpid())
		return fail(-EPERM);
	if (rank < 0)
		return fail(-EINVAL);
	if (size > RMS_MESSAGE_MAX)
		return fail(-EMSGSIZE);
	put_u32(packet, (uint32_t)rank);
	put_u32(packet + 4, (uint32_t)timeout_ms);
	if (size > 0)
		memcpy(packet + RMS_PORT_SEND_HEAD, bytes, size);
	pthread_mutex_lock(&port->lock);
	result = exchange(port->send_fd, packet, RMS_PORT_SEND_HEAD + size);
	pthread_mutex_unlock(&port->lock);
	return result < 0 ? fail(result) : 0;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int wait_message(int fd, int timeout_ms)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	int64_t end = now_ms() + timeout_ms;
	int count;

	for (;;) {
		int64_t left = end - now_ms();

		left = left > 0 ? left : 0;
		count = poll(&pollfd, 1, timeout_ms < 0 ? -1 : (int)left);
		if (count > 0)
			return 0;
		if (count == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

int rms_recv(struct rms_port *port, int *rank, void *bytes, size_t size,
	     int timeout_ms)
{
	uint8_t packet[RMS_PORT_RECEIVE_HEAD + RMS_MESSAGE_MAX];
	ssize_t count;
	int result;

	if (port == NULL || (bytes == NULL && size > 0))
		return fail(-EFAULT);
	do {
		result = wait_message(port->receive_fd, timeout_ms);
		if (result < 0)
			return fail(result);
		/* Another thread may have had it. */
		count = receive(port->receive_fd, packet, sizeof(packet),
				MSG_DONTWAIT);
	} while (count < 0 && errno == EAGAIN);
	if (count < RMS_PORT_RECEIVE_HEAD)
		return fail(-ECONNRESET);
	count -= RMS_PORT_RECEIVE_HEAD;
	if ((size_t)count > size)
		return fail(-EMSGSIZE);
	if (rank != NULL)
		*rank = (int)get_u32(packet);
	if (count > 0)
		memcpy(bytes, packet + RMS_PORT_RECEIVE_HEAD, (size_t)count);
	return (int)count;
}
