/* SPDX-License-Identifier: BSD-3-Clause */
#include "elan/service/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "base/address.h"
#include "base/memory.h"
#include "sys/rng.h"

#define DATAGRAMS_AT_ONCE 64

#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78
#endif

struct attached_port {
	struct attached_port *prev, *next;
	struct rms_ports *ports;
	struct adapter_port *adapter;
	uv_poll_t poll;
	int send_fd, receive_fd; /* our ends */
	struct rms_process process;
	int32_t rail, context;
	int32_t program;
	size_t size; /* of what is under way */
};

struct rms_ports {
	uv_loop_t *loop;
	uv_poll_t poll; /* of the socket */
	uv_timer_t timer;
	int fd; /* -1: none */
	struct registry *registry;
	struct clock_seam clock;
	struct adapter *adapter;
	struct attached_port *list;
	unsigned int port_count, port_max;
	uint64_t timer_ms; /* when it is to run; DEADLINE_NONE */
};

/* --- addresses --- */

static socklen_t to_sockaddr(const struct route *route,
			     struct sockaddr_storage *address)
{
	struct sockaddr_in *four = (struct sockaddr_in *)address;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;

	memset(address, 0, sizeof(*address));
	if (route->family == 4) {
		four->sin_family = AF_INET;
		four->sin_port = htons(route->port);
		memcpy(&four->sin_addr, route->address, 4);
		return sizeof(*four);
	}
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(route->port);
	memcpy(&six->sin6_addr, route->address, 16);
	return sizeof(*six);
}

static int parse_address(const char *text, struct route *ret_route,
			 struct fairlead_error *ret_error)
{
	struct route route = { .family = 4 };
	struct address address;
	int result = address_parse_listen(text, &address, ret_error);

	if (result < 0)
		return result;
	if (inet_pton(AF_INET, address.host, route.address) != 1) {
		route.family = 6;
		if (inet_pton(AF_INET6, address.host, route.address) != 1)
			return error_set(ret_error, -EINVAL,
					 "adapter '%s' is no numeric address",
					 text);
	}
	route.port = address.port != 0 ? address.port : PORTS_UDP_DEFAULT;
	*ret_route = route;
	return 0;
}

/* --- seams of the adapter --- */

static void transmit(void *ctx, const struct route *to, const void *bytes,
		     size_t size)
{
	const struct rms_ports *ports = ctx;
	struct sockaddr_storage address;
	socklen_t length = to_sockaddr(to, &address);

	/* The adapter repeats what is lost. */
	if (ports->fd >= 0)
		(void)sendto(ports->fd, bytes, size, MSG_DONTWAIT,
			     (const struct sockaddr *)&address, length);
}

static int deliver(void *ctx, void *port_ctx, uint32_t from, const void *bytes,
		   size_t size)
{
	const struct attached_port *port = port_ctx;
	uint8_t packet[RMS_PORT_RECEIVE_HEAD + RMS_MESSAGE_MAX];

	for (int i = 0; i < 4; i++)
		packet[i] = (uint8_t)(from >> 8 * i);
	memcpy(packet + RMS_PORT_RECEIVE_HEAD, bytes, size);
	size += RMS_PORT_RECEIVE_HEAD;
	return send(port->receive_fd, packet, size,
		    MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size
		       ? 0
		       : -EAGAIN;
}

static void on_request(uv_poll_t *poll, int status, int events);

static void answer(void *ctx, void *port_ctx, int result)
{
	struct rms_ports *ports = ctx;
	struct attached_port *port = port_ctx;
	uint8_t packet[4];

	for (int i = 0; i < 4; i++)
		packet[i] = (uint8_t)((uint32_t)result >> 8 * i);
	if (result == 0)
		registry_count(ports->registry, port->program, port->size);
	/* The end of its process detaches it. */
	(void)send(port->send_fd, packet, sizeof(packet),
		   MSG_DONTWAIT | MSG_NOSIGNAL);
	uv_poll_start(&port->poll, UV_READABLE, on_request);
}

static const struct adapter_ops adapter_ops = { transmit, deliver, answer };

/* --- time --- */

static void plan(struct rms_ports *ports);

static void on_timer(uv_timer_t *timer)
{
	struct rms_ports *ports = timer->data;

	ports->timer_ms = DEADLINE_NONE;
	adapter_run(ports->adapter);
	plan(ports);
}

static void plan(struct rms_ports *ports)
{
	uint64_t deadline = adapter_deadline_ms(ports->adapter);
	uint64_t now = clock_monotonic_ms(&ports->clock);

	if (deadline == ports->timer_ms)
		return;
	ports->timer_ms = deadline;
	if (deadline == DEADLINE_NONE) {
		uv_timer_stop(&ports->timer);
		return;
	}
	/* The loop's time is when it woke. */
	uv_update_time(ports->loop);
	uv_timer_start(&ports->timer, on_timer,
		       deadline > now ? deadline - now : 0, 0);
}

/* --- ports --- */

static void free_port(uv_handle_t *handle)
{
	struct attached_port *port = handle->data;

	close(port->send_fd);
	close(port->receive_fd);
	free(port);
}

/* The process's ends are dead at once. */
static void close_port(struct attached_port *port)
{
	DL_DELETE(port->ports->list, port);
	port->ports->port_count--;
	adapter_close(port->adapter);
	uv_poll_stop(&port->poll);
	shutdown(port->send_fd, SHUT_RDWR);
	shutdown(port->receive_fd, SHUT_RDWR);
	uv_close((uv_handle_t *)&port->poll, free_port);
}

static void detached(void *ctx, const struct attachment *attachment)
{
	struct rms_ports *ports = ctx;
	struct attached_port *port, *next;

	DL_FOREACH_SAFE (ports->list, port, next) {
		if (port->rail == attachment->rail &&
		    port->context == attachment->context &&
		    process_is(&port->process, &attachment->process))
			close_port(port);
	}
}

/* The sender of a packet, as the kernel says. 0: there is none any more. */
static pid_t sender_of(struct msghdr *message)
{
	struct cmsghdr *control;
	struct ucred credentials;

	for (control = CMSG_FIRSTHDR(message); control != NULL;
	     control = CMSG_NXTHDR(message, control)) {
		if (control->cmsg_level != SOL_SOCKET ||
		    control->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&credentials, CMSG_DATA(control), sizeof(credentials));
		return credentials.pid;
	}
	return 0;
}

/*
 * A packet of a process; descriptors with it are refused, and closed by the
 * kernel: only the credentials fit.
 */
static ssize_t receive_request(const struct attached_port *port, uint8_t *bytes,
			       size_t capacity, pid_t *ret_sender)
{
	_Alignas(struct cmsghdr)
		uint8_t control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec iovec = { bytes, capacity };
	struct msghdr message = {
		.msg_iov = &iovec,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t size = recvmsg(port->send_fd, &message,
			       MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);

	*ret_sender = size >= 0 ? sender_of(&message) : 0;
	return size;
}

static void on_request(uv_poll_t *poll, int status, int events)
{
	struct attached_port *port = poll->data;
	struct rms_ports *ports = port->ports;
	uint8_t bytes[RMS_PORT_SEND_HEAD + RMS_MESSAGE_MAX];
	struct reader reader;
	uint32_t to;
	int32_t timeout;
	pid_t sender;
	ssize_t size = receive_request(port, bytes, sizeof(bytes), &sender);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	uv_poll_stop(&port->poll); /* until there is an answer */
	if (sender == 0)           /* it has closed */
		return;
	if (sender != port->process.pid) {
		answer(ports, port, -EPERM);
		return;
	}
	if (size < RMS_PORT_SEND_HEAD) {
		answer(ports, port, -EPROTO);
		return;
	}
	if ((size_t)size > sizeof(bytes)) {
		answer(ports, port, -EMSGSIZE);
		return;
	}
	reader = reader_of(bytes, (size_t)size);
	to = read_u32(&reader);
	timeout = (int32_t)read_u32(&reader);
	port->size = reader.left;
	adapter_send(port->adapter, to,
		     timeout < 0 ? ADAPTER_FOREVER : (uint64_t)timeout,
		     reader.at, reader.left);
	plan(ports);
}

static int make_pairs(int ours[RMS_PORT_DESCRIPTORS],
		      int theirs[RMS_PORT_DESCRIPTORS])
{
	const int type = SOCK_SEQPACKET | SOCK_CLOEXEC;
	int pairs[2][2];
	int on = 1;

	if (socketpair(AF_UNIX, type, 0, pairs[0]) < 0)
		return -errno;
	if (socketpair(AF_UNIX, type, 0, pairs[1]) < 0) {
		int result = -errno;

		close(pairs[0][0]);
		close(pairs[0][1]);
		return result;
	}
	for (int i = 0; i < RMS_PORT_DESCRIPTORS; i++) {
		ours[i] = pairs[i][0];
		theirs[i] = pairs[i][1];
	}
	setsockopt(ours[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	return 0;
}

static int start_port(struct rms_ports *ports, struct attached_port *port,
		      const struct attached *attached,
		      int ret_fds[RMS_PORT_DESCRIPTORS])
{
	const struct adapter_place place = {
		.program = attached->program,
		.rail = (uint8_t)port->rail,
		.context = port->context,
		.node = attached->node,
		.cap = attached->cap,
		.routes = attached->routes,
		.route_count = attached->route_count,
	};
	int ours[RMS_PORT_DESCRIPTORS] = { -1, -1 };
	int result = make_pairs(ours, ret_fds);

	if (result < 0)
		return result;
	result = adapter_open(ports->adapter, &place, port, &port->adapter);
	if (result == 0)
		result = uv_poll_init(ports->loop, &port->poll, ours[0]);
	if (result < 0) {
		adapter_close(port->adapter);
		for (int i = 0; i < RMS_PORT_DESCRIPTORS; i++) {
			close(ours[i]);
			close(ret_fds[i]);
		}
		return result;
	}
	port->send_fd = ours[0];
	port->receive_fd = ours[1];
	return 0;
}

int ports_open(struct rms_ports *ports, const struct caller *caller,
	       int32_t rail, int32_t context, int ret_fds[RMS_PORT_DESCRIPTORS])
{
	struct attached attached;
	struct attached_port *port;
	int result = registry_attached(ports->registry, caller, rail, context,
				       &attached);

	if (result < 0)
		return result;
	if (ports->port_count >= ports->port_max)
		return -ENOMEM;
	port = memory_alloc(sizeof(*port));
	port->ports = ports;
	port->process = caller->process;
	port->program = (int32_t)attached.program;
	port->rail = rail;
	port->context = context;
	result = start_port(ports, port, &attached, ret_fds);
	if (result < 0) {
		free(port);
		return result;
	}
	port->poll.data = port;
	uv_poll_start(&port->poll, UV_READABLE, on_request);
	DL_APPEND(ports->list, port);
	ports->port_count++;
	return 0;
}

void ports_look(struct rms_ports *ports)
{
	adapter_rails_set(ports->adapter, ports->registry->rails_up);
	plan(ports);
}

/* --- the socket --- */

static void on_datagram(uv_poll_t *poll, int status, int events)
{
	struct rms_ports *ports = poll->data;
	uint8_t bytes[FRAME_SIZE_MAX + 1];

	for (int i = 0; i < DATAGRAMS_AT_ONCE; i++) {
		ssize_t size =
			recv(ports->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (size < 0)
			break;
		adapter_receive(ports->adapter, bytes, (size_t)size);
	}
	plan(ports);
}

static int open_socket(struct rms_ports *ports, const char *text,
		       struct fairlead_error *ret_error)
{
	struct route *route = &ports->registry->adapter;
	struct sockaddr_storage address;
	const int on = 1;
	socklen_t length;
	int result = parse_address(text, route, ret_error);

	if (result < 0)
		return result;
	length = to_sockaddr(route, &address);
	/* The node may get the address later. */
	ports->fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (ports->fd < 0 ||
	    setsockopt(ports->fd, route->family == 4 ? SOL_IP : SOL_IPV6,
		       route->family == 4 ? IP_FREEBIND : IPV6_FREEBIND, &on,
		       sizeof(on)) < 0 ||
	    bind(ports->fd, (const struct sockaddr *)&address, length) < 0)
		return error_set(ret_error, -errno,
				 "cannot open the adapter's address '%s': %s",
				 text, strerror(errno));
	result = uv_poll_init(ports->loop, &ports->poll, ports->fd);
	if (result < 0)
		return error_set(ret_error, result, "%s", strerror(-result));
	ports->poll.data = ports;
	uv_poll_start(&ports->poll, UV_READABLE, on_datagram);
	return 0;
}

int ports_create(uv_loop_t *loop, struct registry *registry,
		 const struct clock_seam *clock, const char *address,
		 unsigned int port_max, struct rms_ports **ret_ports,
		 struct fairlead_error *ret_error)
{
	struct rms_ports *ports = memory_alloc(sizeof(*ports));
	struct adapter_seams seams = {
		.ops = &adapter_ops,
		.ctx = ports,
		.clock = *clock,
		.rng = sys_rng(),
	};

	ports->loop = loop;
	ports->registry = registry;
	ports->port_max = port_max;
	ports->clock = *clock;
	ports->fd = -1;
	ports->timer_ms = DEADLINE_NONE;
	uv_timer_init(loop, &ports->timer);
	ports->timer.data = ports;
	registry->detached = detached;
	registry->detached_ctx = ports;
	*ret_ports = ports; /* from here on it is destroyed by the caller */
	ports->adapter = adapter_create(&seams);
	ports_look(ports);
	return address == NULL ? 0 : open_socket(ports, address, ret_error);
}

static void free_ports(uv_handle_t *handle)
{
	struct rms_ports *ports = handle->data;

	closep(&ports->fd);
	free(ports);
}

void ports_destroy(struct rms_ports *ports)
{
	struct attached_port *port, *next;

	if (ports == NULL)
		return;
	ports->registry->detached = NULL;
	DL_FOREACH_SAFE (ports->list, port, next) {
		close_port(port);
	}
	adapter_destroy(ports->adapter);
	if (ports->poll.data != NULL)
		uv_close((uv_handle_t *)&ports->poll, NULL);
	uv_close((uv_handle_t *)&ports->timer, free_ports);
}
