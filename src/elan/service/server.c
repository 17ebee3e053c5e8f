/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of the daemon, and what follows a request. Turns are the packet
 * server's, the meaning of requests is dispatch's.
 */
#include "elan/service/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/memory.h"
#include "elan/core/dispatch.h"
#include "elan/service/identity.h"
#include "elan/service/ports.h"
#include "sys/daemon_loop.h"
#include "sys/descriptors.h"
#include "sys/packet_server.h"

struct rms_server {
	struct daemon_loop loop;
	uv_poll_t events; /* of cgroups */
	uv_timer_t looks;
	struct keeper keeper;
	struct watches *watches;
	struct registry *registry;
	struct rms_ports *ports;
	const struct log *log;
	struct packet_server *clients;
};

static void on_look(uv_timer_t *timer)
{
	struct rms_server *server = timer->data;

	registry_look(server->registry);
	if (!registry_wants_looks(server->registry))
		uv_timer_stop(timer);
}

/* After whatever may have made a program that wants them. */
static void plan_looks(struct rms_server *server)
{
	if (!uv_is_active((uv_handle_t *)&server->looks) &&
	    registry_wants_looks(server->registry))
		uv_timer_start(&server->looks, on_look, SERVER_LOOK_MS,
			       SERVER_LOOK_MS);
}

/* --- clients --- */

/* Who has connected, and is asked for nothing more when it has ended. */
struct rms_client {
	struct caller caller;
	int pidfd;
};

static int open_client(void *ctx, int fd, const struct ucred *peer,
		       void **ret_client)
{
	struct rms_client *client = memory_alloc(sizeof(*client));
	int result = identity_of(fd, peer, &client->caller, &client->pidfd);

	if (result < 0)
		free(client);
	else
		*ret_client = client;
	return result;
}

static void close_client(void *ctx, void *owned)
{
	struct rms_client *client = owned;

	close(client->pidfd);
	free(client);
}

static void refuse(int fd, int error)
{
	struct writer packet = { 0 };

	rms_reply_encode(RMS_NONE, error, &packet);
	packet_send(fd, packet.data, packet.size, NULL);
	writer_fini(&packet);
}

/* Give an attached process its descriptors, or detach it. */
static int open_port(struct rms_server *server, const struct caller *caller,
		     const struct rms_request *request, struct writer *packet,
		     struct packet_fds *fds)
{
	int result = ports_open(server->ports, caller, request->index,
				request->cap.cap_mycontext, fds->fds);

	if (result == 0) {
		fds->count = RMS_PORT_DESCRIPTORS;
		return 0;
	}
	registry_detach_one(server->registry, caller, request->index,
			    request->cap.cap_mycontext);
	packet->size = 0;
	rms_reply_encode(RMS_OPEN, result, packet);
	return result;
}

static bool serve(void *ctx, void *owned, int fd, const void *bytes,
		  size_t size)
{
	struct rms_server *server = ctx;
	const struct rms_client *client = owned;
	struct writer packet = { .limit = RMS_REPLY_MAX };
	struct packet_fds fds = { .count = 0 };
	struct rms_request request;
	struct rms_reply reply;
	bool goes_on;

	if (proc_has_ended(client->pidfd))
		return false;
	goes_on = dispatch(server->registry, &client->caller, bytes, size,
			   &packet) == 0;
	memory_check(packet.result);
	if (goes_on &&
	    rms_reply_decode(packet.data, packet.size, &reply) == 0 &&
	    reply.op == RMS_OPEN && reply.result == 0 &&
	    rms_request_decode(bytes, size, &request) == 0) {
		open_port(server, &client->caller, &request, &packet, &fds);
		explicit_bzero(&request, sizeof(request));
	}
	if (packet_send(fd, packet.data, packet.size, &fds) < 0)
		goes_on = false;
	packet_fds_close(&fds);
	writer_fini(&packet);
	ports_look(server->ports);
	plan_looks(server);
	return goes_on;
}

static const struct packet_server_ops client_ops = {
	.open = open_client,
	.serve = serve,
	.close = close_client,
	.refuse = refuse,
};

/* --- the rest --- */

static void on_cgroup(uv_poll_t *poll, int status, int events)
{
	struct rms_server *server = poll->data;

	keeper_take_events(&server->keeper);
	registry_look(server->registry);
}

static void process_ended(void *ctx, const struct rms_process *process)
{
	struct rms_server *server = ctx;

	registry_process_ended(server->registry, process);
}

static int watch_cgroups(struct rms_server *server)
{
	int result;

	if (server->keeper.events < 0)
		return 0;
	result = uv_poll_init(&server->loop.uv, &server->events,
			      server->keeper.events);
	server->events.data = server;
	return result < 0
		       ? result
		       : uv_poll_start(&server->events, UV_READABLE, on_cgroup);
}

/* A connection has two descriptors, an attached process three. */
#define DESCRIPTORS_OF_CLIENT   2
#define DESCRIPTORS_OF_ATTACHED (1 + RMS_PORT_DESCRIPTORS)

/* How many of each there may be: neither takes what is for the other. */
struct port_limits {
	unsigned int clients, ports;
};

static struct port_limits find_limits(void)
{
	const size_t reserve = SERVER_DESCRIPTOR_RESERVE;
	size_t count = descriptors_want(
		DESCRIPTORS_OF_CLIENT * PACKET_CLIENTS_MAX +
		DESCRIPTORS_OF_ATTACHED * ATTACHMENTS_MAX + reserve);
	size_t clients =
		count / 4 < PACKET_CLIENTS_MAX ? count / 4 : PACKET_CLIENTS_MAX;
	size_t left = count - DESCRIPTORS_OF_CLIENT * clients;

	return (struct port_limits){
		.clients = (unsigned int)clients,
		.ports = left < reserve
				 ? 0
				 : (unsigned int)((left - reserve) /
						  DESCRIPTORS_OF_ATTACHED),
	};
}

static int start(struct rms_server *server, const struct rms_options *options,
		 struct notes *notes, const struct clock_seam *clock,
		 struct fairlead_error *ret_error)
{
	struct notes_seam seam = notes_seam(notes);
	struct keeper_seam keeper;
	const struct port_limits limits = find_limits();
	int listen_fd;
	int result;

	server->watches =
		watches_create(&server->loop.uv, process_ended, server);
	uv_timer_init(&server->loop.uv, &server->looks);
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
	result = ports_create(&server->loop.uv, server->registry, clock,
			      options->adapter, limits.ports, &server->ports,
			      ret_error);
	if (result < 0)
		return result;
	plan_looks(server);
	listen_fd = packet_listen(notes_dir(notes));
	result = listen_fd;
	if (result >= 0)
		result = packet_server_create(&server->loop.uv, listen_fd,
					      limits.clients, RMS_REQUEST_MAX,
					      &client_ops, server, server->log,
					      &server->clients);
	if (result == 0)
		result = watch_cgroups(server);
	if (result < 0)
		return error_set(ret_error, result, "cannot listen: %s",
				 strerror(-result));
	return 0;
}

int rms_server_create(const struct rms_options *options, struct notes *notes,
		      const struct clock_seam *clock, const struct log *log,
		      struct rms_server **ret_server,
		      struct fairlead_error *ret_error)
{
	_auto_(freep) struct rms_server *allocated =
		memory_alloc(sizeof(*allocated));
	_auto_(rms_server_destroyp) struct rms_server *server = NULL;
	int result = daemon_loop_init(&allocated->loop, log);

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

int rms_server_run(struct rms_server *server, int ready_fd)
{
	return daemon_loop_run(&server->loop, ready_fd);
}

void rms_server_destroy(struct rms_server *server)
{
	if (server == NULL)
		return;
	packet_server_destroy(server->clients);
	watches_destroy(server->watches);
	ports_destroy(server->ports);
	daemon_loop_fini(&server->loop);
	keeper_fini(&server->keeper);
	registry_destroy(server->registry);
	free(server);
}
