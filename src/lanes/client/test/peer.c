/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "lanes/client/test/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lanes/client/handle.h"

void peer_init(struct peer *peer)
{
	int fds[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	peer->fd = fds[1];
	assert_int_equal(handle_create(fds[0], NULL, &peer->handle), 0);
}

void peer_close(struct peer *peer)
{
	if (peer->fd >= 0)
		close(peer->fd);
	peer->fd = -1;
}

void peer_fini(struct peer *peer)
{
	peer_close(peer);
	fairlead_close(peer->handle);
}

static void receive(int fd, void *bytes, size_t size)
{
	assert_int_equal(recv(fd, bytes, size, MSG_WAITALL), size);
}

json_t *peer_request(int fd)
{
	uint8_t length[4];
	size_t size;
	char *text;
	json_t *request;

	receive(fd, length, sizeof(length));
	size = length[0] | length[1] << 8 | length[2] << 16 |
	       (size_t)length[3] << 24;
	assert_in_range(size, 2, FAIRLEAD_FRAME_MAX);
	text = malloc(size);
	assert_non_null(text);
	receive(fd, text, size);
	request = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	assert_true(json_is_object(request));
	assert_int_equal(json_integer_value(json_object_get(request, "v")), 1);
	return request;
}

json_int_t peer_expect(int fd, const char *op)
{
	json_t *request = peer_request(fd);
	json_int_t id = json_integer_value(json_object_get(request, "id"));

	assert_string_equal(json_string_value(json_object_get(request, "op")),
			    op);
	assert_true(id > 0);
	json_decref(request);
	return id;
}

void peer_send(int fd, const void *bytes, size_t size)
{
	assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
}

void peer_answer(int fd, const char *format, ...)
{
	char text[8192];
	uint8_t length[4] = { 0 };
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	assert_in_range(size, 1, sizeof(text) - 1);
	length[0] = size & 0xff;
	length[1] = size >> 8;
	peer_send(fd, length, sizeof(length));
	peer_send(fd, text, size);
}

void seen_answer(void *arg, const struct fairlead_answer *answer)
{
	struct seen *seen = arg;

	seen->count++;
	seen->result = answer->result;
	snprintf(seen->error, sizeof(seen->error), "%s", answer->error);
	snprintf(seen->hint, sizeof(seen->hint), "%s", answer->hint);
	snprintf(seen->json, sizeof(seen->json), "%s",
		 answer->json ? answer->json : "");
}
