/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libnl only makes the messages: its own sockets make one error of several of
 * the kernel's (EADDRINUSE and EEXIST are "object exists" to it), and drop the
 * kernel's words.
 *
 * Queued requests go out many in one datagram. Only the last one asks for an
 * answer; of the others the kernel answers those that failed, and first. So few
 * of them are in one datagram that the answers fit the socket's buffer, should
 * all of them fail.
 */
#include "lanes/driver/ethernet/netlink.h"

#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"

#define QUEUE_BYTES_MAX    32768
#define QUEUE_REQUESTS_MAX 64
#define BUFFER_SIZE        (1 << 18) /* of the socket */
#define ANSWER_MAX         65536     /* bytes that the kernel sends at once */
#define ANSWER_BYTES_MAX   (64u << 20)
#define READS_MAX          16 /* of a list that changes */

/* What came in answer to the requests with these sequence numbers. */
struct netlink_answer {
	uint32_t first_seq;
	uint32_t last_seq;
	size_t failed; /* which of them, when failure.code is not 0 */
	struct fairlead_error failure;
	bool is_over;
	bool is_torn;  /* the list changed while it was read */
	bool is_batch; /* whose frame is refused instead of all of it */
	uint8_t *bytes;
	size_t size;
};

static int open_protocol(int protocol, struct netlink **ret_netlink,
			 struct fairlead_error *ret_error)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	const int size = BUFFER_SIZE, on = 1;
	struct netlink *netlink;

	if (fd < 0)
		return error_set(ret_error, -errno,
				 "cannot open a netlink socket: %s",
				 strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	/* Kernels before 4.12 have no words of their own. */
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	netlink = memory_alloc(sizeof(*netlink));
	netlink->fd = fd;
	netlink->answer = memory_alloc(ANSWER_MAX);
	netlink->queue = memory_alloc(QUEUE_BYTES_MAX);
	*ret_netlink = netlink;
	return 0;
}

int netlink_open(struct netlink **ret_netlink, struct fairlead_error *ret_error)
{
	return open_protocol(NETLINK_ROUTE, ret_netlink, ret_error);
}

int netlink_open_filter(struct netlink **ret_netlink,
			struct fairlead_error *ret_error)
{
	return open_protocol(NETLINK_NETFILTER, ret_netlink, ret_error);
}

void netlink_close(struct netlink *netlink)
{
	if (!netlink)
		return;
	close(netlink->fd);
	free(netlink->answer);
	free(netlink->queue);
	free(netlink);
}

struct nl_msg *netlink_message(int type, int flags, const void *head,
			       size_t size)
{
	struct nl_msg *message = memory_have(nlmsg_alloc_simple(type, flags));

	nlmsg_append(message, (void *)head, size, NLMSG_ALIGNTO);
	return message;
}

/* The kernel's words about a request that failed, or NULL. */
static const char *find_words(const struct nlmsghdr *header)
{
	const struct nlmsgerr *error = nlmsg_data(header);
	const struct nlattr *attribute;
	size_t skipped = sizeof(*error);
	int left;

	if (!(header->nlmsg_flags & NLM_F_ACK_TLVS))
		return NULL;
	if (!(header->nlmsg_flags & NLM_F_CAPPED))
		skipped += error->msg.nlmsg_len - sizeof(error->msg);
	if (skipped > (size_t)nlmsg_datalen(header))
		return NULL;
	left = nlmsg_datalen(header) - (int)skipped;
	attribute =
		nla_find((const struct nlattr *)((const char *)error + skipped),
			 left, NLMSGERR_ATTR_MSG);
	if (!attribute || nla_len(attribute) == 0 ||
	    !memchr(nla_data(attribute), '\0', (size_t)nla_len(attribute)))
		return NULL;
	return nla_data(attribute);
}

static void take_failure(struct netlink_answer *answer,
			 const struct nlmsghdr *header, int code)
{
	const char *words = NULL;

	if (answer->failure.code != 0)
		return;
	answer->failed = header->nlmsg_seq - answer->first_seq;
	if (header->nlmsg_type == NLMSG_ERROR)
		words = find_words(header);
	if (words)
		error_set(&answer->failure, code, "%s (%s)", strerror(-code),
			  words);
	else
		error_set(&answer->failure, code, "%s", strerror(-code));
}

static void take_message(struct netlink_answer *answer,
			 const struct nlmsghdr *header)
{
	size_t size = NLMSG_ALIGN(header->nlmsg_len);
	int code = 0;

	/* Left over from a request that was given up. */
	if (header->nlmsg_seq - answer->first_seq >
	    answer->last_seq - answer->first_seq)
		return;
	if (header->nlmsg_flags & NLM_F_DUMP_INTR)
		answer->is_torn = true;
	if (header->nlmsg_type == NLMSG_ERROR ||
	    header->nlmsg_type == NLMSG_DONE) {
		if (nlmsg_datalen(header) >= (int)sizeof(code))
			memcpy(&code, nlmsg_data(header), sizeof(code));
		if (code < 0)
			take_failure(answer, header, code);
		answer->is_over = header->nlmsg_seq == answer->last_seq ||
				  (answer->is_batch && code < 0 &&
				   header->nlmsg_seq == answer->first_seq);
		return;
	}
	if (answer->size + size > ANSWER_BYTES_MAX) {
		take_failure(answer, header, -E2BIG);
		return;
	}
	answer->bytes = memory_resize(answer->bytes, answer->size + size, 1);
	memcpy(answer->bytes + answer->size, header, header->nlmsg_len);
	answer->size += size;
}

static int fail(struct netlink_answer *answer, int code)
{
	if (answer->failure.code == 0)
		error_set(&answer->failure, code, "%s", strerror(-code));
	return code;
}

/* Read until the last request is answered. answer->bytes is the caller's. */
static void read_answer(struct netlink *netlink, struct netlink_answer *answer)
{
	while (!answer->is_over) {
		struct sockaddr_nl from = { 0 };
		socklen_t from_size = sizeof(from);
		const struct nlmsghdr *header =
			(const struct nlmsghdr *)netlink->answer;
		ssize_t size = recvfrom(netlink->fd, netlink->answer,
					ANSWER_MAX, MSG_TRUNC,
					(struct sockaddr *)&from, &from_size);
		int left = (int)size;

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0 || size > ANSWER_MAX) {
			fail(answer, size < 0 ? -errno : -EMSGSIZE);
			return;
		}
		if (from.nl_pid != 0)
			continue; /* not the kernel */
		for (; nlmsg_ok(header, left);
		     header = nlmsg_next((struct nlmsghdr *)header, &left))
			take_message(answer, header);
	}
}

/* Send requests and read the answer. */
static int converse(struct netlink *netlink, const void *request, size_t size,
		    struct netlink_answer *answer)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	if (sendto(netlink->fd, request, size, 0,
		   (const struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return fail(answer, -errno);
	read_answer(netlink, answer);
	return answer->failure.code;
}

static void emit_all(const struct netlink_answer *answer,
		     void (*emit)(void *arg, const struct nlmsghdr *header),
		     void *arg)
{
	size_t place = 0;

	while (emit && place < answer->size) {
		const struct nlmsghdr *header =
			(const struct nlmsghdr *)(answer->bytes + place);

		emit(arg, header);
		place += NLMSG_ALIGN(header->nlmsg_len);
	}
}

static int request(struct netlink *netlink, struct nl_msg *message,
		   void (*emit)(void *arg, const struct nlmsghdr *header),
		   void *arg, struct fairlead_error *ret_failure)
{
	struct nlmsghdr *header = nlmsg_hdr(message);
	int result;

	header->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	for (int i = 0; i < READS_MAX; i++) {
		struct netlink_answer answer = { 0 };

		header->nlmsg_seq = ++netlink->seq;
		answer.first_seq = header->nlmsg_seq;
		answer.last_seq = header->nlmsg_seq;
		result = converse(netlink, header, header->nlmsg_len, &answer);
		if (result == 0 && !answer.is_torn)
			emit_all(&answer, emit, arg);
		free(answer.bytes);
		if (result < 0)
			*ret_failure = answer.failure;
		if (result < 0 || !answer.is_torn)
			return result;
	}
	return error_set(ret_failure, -EAGAIN,
			 "it changes while it is read, each time");
}

int netlink_get(struct netlink *netlink, struct nl_msg *message,
		void (*emit)(void *arg, const struct nlmsghdr *header),
		void *arg, struct fairlead_error *ret_error, const char *what,
		...)
{
	struct fairlead_error failure = { 0 };
	char text[256];
	va_list args;

	if (request(netlink, message, emit, arg, &failure) < 0) {
		va_start(args, what);
		vsnprintf(text, sizeof(text), what, args);
		va_end(args);
		error_set(ret_error, failure.code, "%s: %s", text,
			  failure.text);
	}
	nlmsg_free(message);
	return failure.code;
}

int netlink_batch(struct netlink *netlink, void *requests, size_t size,
		  struct fairlead_error *ret_error, const char *what)
{
	struct nlmsghdr *header = requests;
	struct nlmsghdr *request = NULL; /* the last one before the frame */
	struct netlink_answer answer = { .is_batch = true };
	int left = (int)size;
	int buffer = 2 * (int)size; /* a datagram and what the kernel adds */

	for (; nlmsg_ok(header, left); header = nlmsg_next(header, &left)) {
		header->nlmsg_seq = ++netlink->seq;
		if (header->nlmsg_type != NFNL_MSG_BATCH_END)
			request = header;
	}
	request->nlmsg_flags |= NLM_F_ACK;
	answer.first_seq = ((struct nlmsghdr *)requests)->nlmsg_seq;
	answer.last_seq = request->nlmsg_seq;
	if (size > BUFFER_SIZE / 2)
		setsockopt(netlink->fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer,
			   sizeof(buffer));
	if (converse(netlink, requests, size, &answer) < 0)
		error_set(ret_error, answer.failure.code, "%s: %s", what,
			  answer.failure.text);
	free(answer.bytes);
	return answer.failure.code;
}

static void send_queue(struct netlink *netlink)
{
	struct nlmsghdr *header = (struct nlmsghdr *)netlink->queue;
	struct netlink_answer answer = { .first_seq = header->nlmsg_seq };
	int left = (int)netlink->queue_size;

	if (netlink->queued == 0)
		return;
	for (size_t i = 1; i < netlink->queued; i++)
		header = nlmsg_next(header, &left);
	header->nlmsg_flags |= NLM_F_ACK;
	answer.last_seq = header->nlmsg_seq;
	if (converse(netlink, netlink->queue, netlink->queue_size, &answer) <
	    0) {
		netlink->failure = answer.failure;
		netlink->failed = netlink->sent + answer.failed;
	}
	free(answer.bytes);
	netlink->sent += netlink->queued;
	netlink->queued = 0;
	netlink->queue_size = 0;
}

static void enqueue(struct netlink *netlink, struct nlmsghdr *header)
{
	size_t size = NLMSG_ALIGN(header->nlmsg_len);

	if (netlink->queued == QUEUE_REQUESTS_MAX ||
	    netlink->queue_size + size > QUEUE_BYTES_MAX)
		send_queue(netlink);
	if (netlink->failure.code < 0)
		return;
	header->nlmsg_seq = ++netlink->seq;
	header->nlmsg_flags |= NLM_F_REQUEST;
	memset(netlink->queue + netlink->queue_size, 0, size);
	memcpy(netlink->queue + netlink->queue_size, header, header->nlmsg_len);
	netlink->queue_size += size;
	netlink->queued++;
}

void netlink_queue(struct netlink *netlink, struct nl_msg *message)
{
	if (netlink->failure.code == 0)
		enqueue(netlink, nlmsg_hdr(message));
	nlmsg_free(message);
}

int netlink_flush(struct netlink *netlink, size_t *ret_failed,
		  struct fairlead_error *ret_error)
{
	int result;

	if (netlink->failure.code == 0)
		send_queue(netlink);
	result = netlink->failure.code;
	if (result < 0) {
		if (ret_error)
			*ret_error = netlink->failure;
		*ret_failed = netlink->failed;
	}
	netlink->failure = (struct fairlead_error){ 0 };
	netlink->queued = 0;
	netlink->queue_size = 0;
	netlink->sent = 0;
	return result;
}
