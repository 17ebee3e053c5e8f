/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections are the packet server's, the meaning of requests is dispatch's. A
 * client is who it was when it connected (SO_PEERCRED: effective ids). When its
 * last descriptor closes, by whatever death, the model lets go of its device
 * and LNIs. A reboot cuts everybody off except the one who asked for it.
 */
#include "emu/cxi/daemon/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "sys/daemon_loop.h"
#include "sys/descriptors.h"
#include "sys/packet_server.h"

struct softnic_server {
	struct daemon_loop loop;
	struct packet_server *clients;
	bool owner_is_root;
	struct softnic *softnic;
	struct softnic_dir *dir;
	const struct clock_seam *clock;
	const struct log *log;
};

static void advance(struct softnic_server *server)
{
	softnic_advance(server->softnic, clock_monotonic_ms(server->clock));
}

/* --- control --- */

static int nic_changed(void *ctx, uint32_t nic)
{
	struct softnic_server *server = ctx;
	bool is_present = softnic_nic_is_present(server->softnic, nic);

	log_info(server->log, "device changed nic=%u present=%d", nic,
		 is_present);
	return softnic_dir_set_device(server->dir, nic, is_present);
}

static int boot(struct softnic_server *server)
{
	int result = softnic_dir_new_boot_id(server->dir);

	for (uint32_t i = 0; result == 0 && i < SOFTNIC_NIC_MAX; i++)
		result = softnic_dir_set_device(
			server->dir, i,
			softnic_nic_is_present(server->softnic, i));
	if (result == 0)
		log_info(server->log, "node booted boot_id=%s",
			 server->dir->boot_id);
	return result;
}

static int reboot_node(void *ctx, char ret_boot_id[BOOT_ID_SIZE])
{
	struct softnic_server *server = ctx;
	int result;

	packet_server_cut(server->clients);
	result = softnic_reboot(server->softnic);
	if (result == 0)
		result = boot(server);
	if (result == 0)
		memcpy(ret_boot_id, server->dir->boot_id, BOOT_ID_SIZE);
	return result;
}

static const char *boot_id(void *ctx)
{
	const struct softnic_server *server = ctx;

	return server->dir->boot_id;
}

static const struct control_ops control_ops = {
	.nic_changed = nic_changed,
	.reboot = reboot_node,
	.boot_id = boot_id,
};

/* --- clients --- */

static uint32_t netns_of(pid_t pid)
{
	char path[40];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%ld/ns/net", (long)pid);
	return stat(path, &status) == 0 ? (uint32_t)status.st_ino : 0;
}

static int open_client(void *ctx, int fd, const struct ucred *peer,
		       void **ret_client)
{
	struct softnic_server *server = ctx;
	struct softnic_session *session = memory_alloc(sizeof(*session));

	*session = (struct softnic_session){
		.softnic = server->softnic,
		.is_owner = peer->uid == 0 || peer->uid == geteuid(),
		.caller = {
			.uid = peer->uid,
			.gid = peer->gid,
			.pid = peer->pid,
			.netns = netns_of(peer->pid),
			.is_privileged = peer->uid == 0 ||
					 (server->owner_is_root &&
					  peer->uid == geteuid()),
		},
		.control = &control_ops,
		.control_ctx = server,
	};
	*ret_client = session;
	return 0;
}

static void close_client(void *ctx, void *session)
{
	advance(ctx);
	session_fini(session);
	free(session);
}

static bool send_answer(int fd, struct softnic_answer *answer)
{
	struct packet_fds fds = { .count = 0 };
	struct writer packet = { 0 };
	bool was_sent;

	if (answer_is_text(answer)) {
		fds.fds[0] =
			packet_file_make(answer->body.data, answer->body.size);
		fds.count = fds.fds[0] >= 0;
		if (fds.count == 0)
			answer->result = fds.fds[0];
	}
	answer_encode(answer, &packet);
	memory_check(packet.result);
	was_sent = packet_send(fd, packet.data, packet.size, &fds) == 0;
	packet_fds_close(&fds);
	writer_fini(&packet);
	return was_sent;
}

static bool serve(void *ctx, void *session, int fd, const void *bytes,
		  size_t size)
{
	struct softnic_answer answer = { 0 };
	bool goes_on;

	advance(ctx);
	goes_on = dispatch(session, bytes, size, &answer) == 0;
	goes_on = send_answer(fd, &answer) && goes_on;
	answer_fini(&answer);
	return goes_on;
}

static void refuse(int fd, int error)
{
	struct softnic_answer answer = { .op = WIRE_NONE, .result = error };

	send_answer(fd, &answer);
}

static const struct packet_server_ops client_ops = {
	.open = open_client,
	.serve = serve,
	.close = close_client,
	.refuse = refuse,
};

static unsigned int find_client_max(void)
{
	const size_t wanted = PACKET_CLIENTS_MAX + SERVER_DESCRIPTOR_RESERVE;
	size_t count = descriptors_want(wanted);

	if (count >= wanted)
		return PACKET_CLIENTS_MAX;
	return count <= SERVER_DESCRIPTOR_RESERVE
		       ? 0
		       : (unsigned int)(count - SERVER_DESCRIPTOR_RESERVE);
}

/* --- the daemon --- */

static int start(struct softnic_server *server,
		 const struct softnic_options *options)
{
	int result = softnic_create(&options->config, &server->softnic);
	int listen_fd;

	if (result == 0)
		result = boot(server);
	if (result < 0)
		return result;
	listen_fd = packet_listen(server->dir->rundir.path);
	return listen_fd < 0
		       ? listen_fd
		       : packet_server_create(&server->loop.uv, listen_fd,
					      find_client_max(),
					      WIRE_REQUEST_MAX, &client_ops,
					      server, server->log,
					      &server->clients);
}

int softnic_server_create(const struct softnic_options *options,
			  struct softnic_dir *dir,
			  const struct clock_seam *clock, const struct log *log,
			  struct softnic_server **ret_server)
{
	_auto_(freep) struct softnic_server *allocated =
		memory_alloc(sizeof(*allocated));
	_auto_(softnic_server_destroyp) struct softnic_server *server = NULL;
	int result = daemon_loop_init(&allocated->loop, log);

	if (result < 0)
		return result;
	server = take_ptr(allocated);
	server->owner_is_root = options->owner_is_root;
	server->dir = dir;
	server->clock = clock;
	server->log = log;
	result = start(server, options);
	if (result < 0)
		return result;
	*ret_server = take_ptr(server);
	return 0;
}

int softnic_server_run(struct softnic_server *server, int ready_fd)
{
	return daemon_loop_run(&server->loop, ready_fd);
}

void softnic_server_destroy(struct softnic_server *server)
{
	if (server == NULL)
		return;
	packet_server_destroy(server->clients);
	daemon_loop_fini(&server->loop);
	softnic_destroy(server->softnic);
	free(server);
}
