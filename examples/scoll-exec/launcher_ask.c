/* SPDX-License-Identifier: BSD-3-Clause */
/* The questions of the half without privileges, and what it hears. */
#include "launcher.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"

#define ANSWER_MAX (EXEC_LIST_MAX + 1024)

int launcher_ask(int fd, enum launcher_op op, uint64_t tag, uid_t uid,
		 const char *credential, size_t size)
{
	_auto_(writer_fini) struct writer writer = { 0 };
	ssize_t sent;

	if (size == 0 || size > EXEC_CREDENTIAL_MAX)
		return -EMSGSIZE;
	write_u8(&writer, (uint8_t)op);
	write_u64(&writer, tag);
	write_u32(&writer, uid);
	write_blob(&writer, credential, size);
	if (writer.result < 0)
		return writer.result;
	do
		sent = send(fd, writer.data, writer.size, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

static void take_fds(struct msghdr *message, struct launcher_answer *answer)
{
	for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head != NULL;
	     head = CMSG_NXTHDR(message, head)) {
		int fds[2];

		if (head->cmsg_level != SOL_SOCKET ||
		    head->cmsg_type != SCM_RIGHTS ||
		    head->cmsg_len != CMSG_LEN(sizeof(fds)))
			continue;
		memcpy(fds, CMSG_DATA(head), sizeof(fds));
		answer->output_fd = fds[0];
		answer->control_fd = fds[1];
	}
}

static int answer_read(const void *bytes, size_t size,
		       struct launcher_answer *answer)
{
	struct reader reader = reader_of(bytes, size);
	const uint8_t *digest;

	answer->tag = read_u64(&reader);
	answer->result = -(int)read_u32(&reader);
	read_text(&reader, answer->text, sizeof(answer->text));
	if (answer->result < 0)
		return reader_is_done(&reader) ? 1 : -EBADMSG;
	answer->place = read_u32(&reader);
	answer->timeout_ms = read_u32(&reader);
	digest = read_bytes(&reader, EXEC_ID_BYTES);
	answer->nodes = read_text_alloc(&reader, EXEC_LIST_MAX);
	if (!reader_is_done(&reader))
		return -EBADMSG;
	memcpy(answer->stop_digest, digest, EXEC_ID_BYTES);
	return 1;
}

int launcher_hear(int fd, struct launcher_answer *ret_answer)
{
	char control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	_auto_(freep) uint8_t *packet = malloc(ANSWER_MAX);
	struct iovec iov = { packet, ANSWER_MAX };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct launcher_answer answer = { .output_fd = -1, .control_fd = -1 };
	ssize_t size;
	int result;

	if (packet == NULL)
		return -ENOMEM;
	size = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (size < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (size == 0)
		return -EPIPE;
	take_fds(&message, &answer);
	result = answer_read(packet, (size_t)size, &answer);
	if (result < 0) {
		closep(&answer.output_fd);
		closep(&answer.control_fd);
		free(answer.nodes);
		return result;
	}
	*ret_answer = answer;
	return 1;
}
