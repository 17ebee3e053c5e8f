/* SPDX-License-Identifier: BSD-3-Clause */
/* The side of the half without privileges: requests, and answers. */
#include "launcher.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "sys/packet.h"

#define ANSWER_MAX (EXEC_LIST_MAX + 1024)

int launcher_ask(int fd, enum launcher_op op, uint64_t tag, uid_t uid,
		 const char *credential, size_t size)
{
	_auto_(writer_fini) struct writer writer = { 0 };

	if (size == 0 || size > EXEC_CREDENTIAL_MAX)
		return -EMSGSIZE;
	write_u8(&writer, (uint8_t)op);
	write_u64(&writer, tag);
	write_u32(&writer, uid);
	write_blob(&writer, credential, size);
	memory_check(writer.result);
	return packet_send(fd, writer.data, writer.size, NULL);
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
		return reader_is_done(&reader) ? 0 : -EBADMSG;
	answer->index = read_u32(&reader);
	answer->timeout_ms = read_u32(&reader);
	digest = read_bytes(&reader, EXEC_ID_BYTES);
	answer->nodes = read_text_alloc(&reader, EXEC_LIST_MAX);
	if (!reader_is_done(&reader))
		return -EBADMSG;
	memcpy(answer->stop_digest, digest, EXEC_ID_BYTES);
	return 0;
}

int launcher_receive(int fd, struct launcher_answer *ret_answer)
{
	_auto_(freep) uint8_t *packet = memory_alloc(ANSWER_MAX);
	struct packet_fds fds = { .count = 0 };
	ssize_t size = packet_receive(fd, packet, ANSWER_MAX, &fds);
	struct launcher_answer answer = { .output_fd = -1, .control_fd = -1 };
	int result;

	if (size < 0)
		return (int)size;
	result = answer_read(packet, (size_t)size, &answer);
	if (result < 0 || fds.count != 2)
		packet_fds_close(&fds);
	if (result < 0) {
		free(answer.nodes);
		return result;
	}
	if (fds.count == 2) {
		answer.output_fd = fds.fds[0];
		answer.control_fd = fds.fds[1];
	}
	*ret_answer = answer;
	return 0;
}
