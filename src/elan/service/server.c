/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the daemon is made of, and what comes after a request; who may ask is
 * clients', what requests mean is dispatch's.
 */
#include "elan/service/server.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "elan/service/clients.h"
#include "elan/core/dispatch.h"
#include "sys/descriptors.h"
#include "sys/ready.h"

struct server {
	uv_loop_t loop;
	uv_poll_t events; /* of cgroups */
	uv_timer_t looks;
	uv_signal_t signals[2];
	struct keeper keeper;
	struct watches *watches;
	struct registry *registry;
	struct ports *ports;
	const struct log *log;
	struct clients *clients;
};

static void on_look(uv_timer_t *timer)
{
	struct server *server = timer->data;

	registry_look(server->registry);
	if (!registry_wants_looks(server->registry))
		uv_timer_stop(timer);
}

/* After whatever may have made a program that wants them. */
static void plan_looks(struct server *server)
{
	if (!uv_is_active((uv_handle_t *)&server->looks) &&
	    registry_wants_looks(server->registry))
		uv_timer_start(&server->looks, on_look, SERVER_LOOK_MS,
			       SERVER_LOOK_MS);
}

/* With so many descriptors, or none. */
static bool send_with(int fd, const struct writer *packet, const int *fds,
		      size_t count)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(
		WIRE_PORT_DESCRIPTORS * sizeof(int))] = { 0 };
	struct iovec bytes = { packet->data, packet->size };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };

	if (count > 0) {
		struct cmsghdr *head = (struct cmsghdr *)control;

		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(head), fds, count * sizeof(int));
	}
	return packet->result == 0 &&
	       sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
		       (ssize_t)packet->size;
}

static bool send_packet(int fd, const struct writer *packet)
{
	return send_with(fd, packet, NULL, 0);
}

/* Who was just attached gets its descriptors, or is not attached. */
static bool send_opened(struct server *server, int fd,
			const struct caller *caller,
			const struct wire_request *request,
			struct writer *packet)
{
	int fds[WIRE_PORT_DESCRIPTORS];
	int result = ports_open(server->ports, caller, request->index,
				request->cap.cap_mycontext, fds);
	bool was_sent;

	if (result < 0) {
		registry_detach_one(server->registry, caller, request->index,
				    request->cap.cap_mycontext);
		packet->size = 0;
		wire_reply_encode(WIRE_OPEN, result, packet);
		return send_packet(fd, packet);
	}
	was_sent = send_with(fd, packet, fds, WIRE_PORT_DESCRIPTORS);
	for (int i = 0; i < WIRE_PORT_DESCRIPTORS; i++)
		close(fds[i]);
	return was_sent;
}

/* The answer to a packet that was done. */
static bool send_answer(struct server *server, int fd,
			const struct caller *caller, const uint8_t *bytes,
			size_t size, struct writer *packet)
{
	struct wire_request request;
	struct wire_reply reply;
	bool was_sent;

	if (packet->result < 0 ||
	    wire_reply_decode(packet->data, packet->size, &reply) < 0 ||
	    reply.op != WIRE_OPEN || reply.result < 0 ||
	    wire_request_decode(bytes, size, &request) < 0)
		return send_packet(fd, packet);
	was_sent = send_opened(server, fd, caller, &request, packet);
	explicit_bzero(&request, sizeof(request));
	return was_sent;
}

static bool serve(void *ctx, int fd, const struct caller *caller,
		  const uint8_t *bytes, size_t size)
{
	struct server *server = ctx;
	struct writer packet = { .limit = WIRE_REPLY_MAX };
	bool goes_on =
		dispatch(server->registry, caller, bytes, size, &packet) == 0;

	goes_on = send_answer(server, fd, caller, bytes, size, &packet) &&
		  goes_on;
	writer_fini(&packet);
	ports_look(server->ports);
	plan_looks(server);
	return goes_on;
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct server *server = handle->data;

	log_info(server->log, "stopping signal=%d", number);
	ready_tell_stopping();
	uv_stop(&server->loop);
}

static void on_cgroup(uv_poll_t *poll, int status, int events)
{
	struct server *server = poll->data;

	keeper_take_events(&server->keeper);
	registry_look(server->registry);
}

static void process_ended(void *ctx, const struct process *process)
{
	struct server *server = ctx;

	registry_process_ended(server->registry, process);
}

static int start_poll(struct server *server, uv_poll_t *poll, int fd,
		      uv_poll_cb call)
{
	int result = uv_poll_init(&server->loop, poll, fd);

	poll->data = server;
	return result < 0 ? result : uv_poll_start(poll, UV_READABLE, call);
}

static int start_handles(struct server *server)
{
	static const int numbers[] = { SIGTERM, SIGINT };
	int result = 0;

	for (size_t i = 0; result == 0 && i < 2; i++) {
		result = uv_signal_init(&server->loop, &server->signals[i]);
		server->signals[i].data = server;
		if (result == 0)
			result = uv_signal_start(&server->signals[i], on_signal,
						 numbers[i]);
	}
	if (result == 0 && server->keeper.events >= 0)
		result = start_poll(server, &server->events,
				    server->keeper.events, on_cgroup);
	return result;
}

/* Of descriptors connections have two, who is attached has three. */
#define DESCRIPTORS_OF_CLIENT   2
#define DESCRIPTORS_OF_ATTACHED (1 + WIRE_PORT_DESCRIPTORS)

/* How many of each there may be: neither takes what is for the other. */
struct room {
	unsigned int clients, ports;
};

static struct room find_room(void)
{
	const size_t reserve = SERVER_DESCRIPTOR_RESERVE;
	size_t count = descriptors_want(
		DESCRIPTORS_OF_CLIENT * CLIENTS_MAX +
		DESCRIPTORS_OF_ATTACHED * ATTACHMENTS_MAX + reserve);
	size_t clients = count / 4 < CLIENTS_MAX ? count / 4 : CLIENTS_MAX;
	size_t left = count - DESCRIPTORS_OF_CLIENT * clients;

	return (struct room){
		.clients = (unsigned int)clients,
		.ports = left < reserve
				 ? 0
				 : (unsigned int)((left - reserve) /
						  DESCRIPTORS_OF_ATTACHED),
	};
}

static int start(struct server *server, const struct server_options *options,
		 struct notes *notes, const struct clock_seam *clock,
		 struct fairlead_error *ret_error)
{
	struct notes_seam seam = notes_seam(notes);
	struct keeper_seam keeper;
	const struct room room = find_room();
	int listen_fd;
	int result;

	server->watches = watches_create(&server->loop, process_ended, server);
	uv_timer_init(&server->loop, &server->looks);
	server->looks.data = server;
	result = keeper_init(&server->keeper, options->mode, server->watches,
			     notes_dir(notes), server->log, &keeper, ret_error);
	if (result < 0)
		return result;
	server->registry = registry_create(&keeper, &seam, clock);
	result = notes_load(notes, server->registry, ret_error);
	if (result == 0)
		result = keeper_check(&server->keeper, server->registry,
				      ret_error);
	if (result < 0)
		return result;
	result = registry_reconcile(server->registry);
	if (result == 0 && options->has_rails)
		result = registry_rails_set(server->registry, options->rails);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot take up what was saved: %s",
				 strerror(-result));
	keeper_sweep(&server->keeper, server->registry);
	result = ports_create(&server->loop, server->registry, clock,
			      options->adapter, room.ports, &server->ports,
			      ret_error);
	if (result < 0)
		return result;
	plan_looks(server);
	listen_fd = notes_listen(notes);
	result = listen_fd;
	if (result >= 0)
		result = clients_create(&server->loop, listen_fd, room.clients,
					serve, server, server->log,
					&server->clients);
	if (result == 0)
		result = start_handles(server);
	if (result < 0)
		return error_set(ret_error, result, "cannot listen: %s",
				 strerror(-result));
	ready_tell(options->ready_fd);
	return 0;
}

int server_create(const struct server_options *options, struct notes *notes,
		  const struct clock_seam *clock, const struct log *log,
		  struct server **ret_server, struct fairlead_error *ret_error)
{
	_auto_(freep) struct server *allocated = calloc(1, sizeof(*allocated));
	_auto_(server_destroyp) struct server *server = NULL;
	int result;

	if (allocated == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	result = uv_loop_init(&allocated->loop);
	if (result < 0)
		return error_set(ret_error, result, "%s", strerror(-result));
	server = take_ptr(allocated);
	server->keeper.events = -1;
	server->log = log;
	result = start(server, options, notes, clock, ret_error);
	if (result < 0)
		return result;
	*ret_server = take_ptr(server);
	return 0;
}

int server_run(struct server *server)
{
	return uv_run(&server->loop, UV_RUN_DEFAULT) < 0 ? -EIO : 0;
}

static void close_handle(uv_handle_t *handle, void *arg)
{
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

void server_destroy(struct server *server)
{
	if (server == NULL)
		return;
	clients_destroy(server->clients);
	watches_destroy(server->watches);
	ports_destroy(server->ports);
	uv_walk(&server->loop, close_handle, NULL);
	uv_run(&server->loop, UV_RUN_DEFAULT);
	uv_loop_close(&server->loop);
	keeper_fini(&server->keeper);
	registry_destroy(server->registry);
	free(server);
}
