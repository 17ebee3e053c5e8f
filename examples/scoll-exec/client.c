/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scoll-exec: has the daemon of this node run a command on others as its caller,
 * and prints the outcomes. The client is one more level of the tree: it merges
 * the parts that the daemon sends.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "arguments.h"
#include "base/hostlist.h"
#include "base/memory.h"
#include "show.h"
#include "talk.h"

#define REMARK_MAX 256

struct exec_client {
	struct exec_arguments arguments;
	int fd, signal_fd;
	bool is_stopped;
	uint8_t secret[EXEC_ID_BYTES];
	struct hostlist *names;
	struct results *results;
	struct results *remarks; /* texts for stderr, as outputs */
	bool is_partial;
};

static int fail(const struct fairlead_error *error)
{
	fprintf(stderr, "scoll-exec: %s\n", error->text);
	switch (error->code) {
	case -EPERM:
	case -EACCES:
	case -EKEYREJECTED:
		return CODE_NOT_PERMITTED;
	case -EINVAL:
	case -E2BIG:
		return CODE_USAGE;
	case -EAGAIN:
	case -EBUSY:
	case -ENOENT:
	case -ECONNREFUSED:
	case -EHOSTDOWN:
	case -ESHUTDOWN:
		return CODE_LATER;
	default:
		return CODE_FAILED;
	}
}

static int names_take(struct exec_client *client,
		      struct fairlead_error *ret_error)
{
	int result = hostlist_parse(client->arguments.nodes, &client->names,
				    ret_error);
	int duplicate;

	if (memory_check(result) < 0)
		return result;
	if (strlen(client->arguments.nodes) > EXEC_LIST_MAX ||
	    client->names->count > EXEC_NODES_MAX)
		return error_set(ret_error, -E2BIG, "too many nodes");
	duplicate = memory_check(hostlist_duplicate(client->names));
	if (duplicate >= 0)
		return error_set(ret_error, -EINVAL, "'%s' is there twice",
				 client->names->names[duplicate]);
	client->results = results_create((uint32_t)client->names->count);
	client->remarks = results_create((uint32_t)client->names->count);
	return 0;
}

/* --- outcomes --- */

/* The caller frees it. */
static char *nodes_format(const struct exec_client *client,
			  const struct idset *nodes)
{
	_auto_(freep) const char **names =
		memory_array(idset_count(nodes), sizeof(*names));
	size_t count = 0;

	idset_foreach (node, nodes)
		names[count++] = client->names->names[node];
	return memory_have(hostlist_format(names, count));
}

static void remark_add(struct exec_client *client, uint32_t node,
		       const char *text)
{
	const struct outcome remark = {
		.kind = OUTCOME_EXITED,
		.output = (const uint8_t *)text,
		.size = strlen(text),
	};

	results_add(client->remarks, node, &remark);
}

static void outcome_print(const struct exec_client *client,
			  const struct outcome *outcome,
			  const struct idset *nodes)
{
	_auto_(freep) char *label = nodes_format(client, nodes);

	show_lines(stdout, label, outcome->output, outcome->size);
}

static void outcomes_print(struct exec_client *client)
{
	const struct idset *nodes;
	struct outcome outcome;

	while (results_next(client->results, &outcome, &nodes)) {
		char text[REMARK_MAX];

		if (outcome.kind != OUTCOME_EXITED &&
		    outcome.kind != OUTCOME_KILLED)
			client->is_partial = true;
		/* The output of a refused one is the reason: a remark. */
		if (outcome.kind != OUTCOME_REFUSED)
			outcome_print(client, &outcome, nodes);
		show_remark(&outcome, text, sizeof(text));
		idset_foreach (node, nodes) {
			if (*text != 0)
				remark_add(client, node, text);
		}
	}
}

static void remarks_print(struct exec_client *client)
{
	const struct idset *nodes;
	struct outcome remark;

	results_sort(client->remarks);
	while (results_next(client->remarks, &remark, &nodes)) {
		_auto_(freep) char *label = nodes_format(client, nodes);

		fprintf(stderr, "scoll-exec: %s: %.*s\n", label,
			(int)remark.size, (const char *)remark.output);
	}
}

/* --- frames --- */

static int take_failed(struct exec_client *client, struct reader *reader)
{
	char reason[REMARK_MAX / 2], text[REMARK_MAX];

	read_text(reader, reason, sizeof(reason));
	snprintf(text, sizeof(text), "not reached: %s", reason);
	while (reader->left > 0 && !reader->failed) {
		uint32_t node = read_u32(reader);

		if (node >= client->names->count)
			return -EBADMSG;
		remark_add(client, node, text);
	}
	client->is_partial = true;
	return reader->failed ? -EBADMSG : 0;
}

static int end(struct exec_client *client)
{
	results_sort(client->results);
	outcomes_print(client);
	fflush(stdout);
	remarks_print(client);
	return client->is_partial ? CODE_FAILED : CODE_DONE;
}

/* -1: go on; else the exit code. */
static int take_frame(struct exec_client *client, const uint8_t *frame,
		      size_t size)
{
	struct reader reader = reader_of(frame, size);
	struct fairlead_error error = { 0 };
	int result;

	switch (read_u8(&reader)) {
	case EXEC_FRAME_RESULTS:
		result = results_merge(client->results, reader.at, reader.left);
		break;
	case EXEC_FRAME_FAILED:
		result = take_failed(client, &reader);
		break;
	case EXEC_FRAME_END:
		error.code = -(int)read_u32(&reader);
		read_text(&reader, error.text, sizeof(error.text));
		if (error.code < 0)
			return fail(&error);
		return end(client);
	default:
		result = -EBADMSG;
	}
	if (result >= 0)
		return -1;
	error_set(&error, result, "malformed answer of the daemon");
	return fail(&error);
}

/* --- talking --- */

static int interrupted(struct exec_client *client)
{
	_auto_(writer_fini) struct writer frame = { 0 };
	struct signalfd_siginfo info;

	if (read(client->signal_fd, &info, sizeof(info)) != sizeof(info))
		return -1;
	if (client->is_stopped)
		return 128 + (int)info.ssi_signo;
	client->is_stopped = true;
	write_u8(&frame, EXEC_FRAME_STOP);
	talk_send(client->fd, &frame);
	fputs("scoll-exec: stopping; interrupt again to leave at once\n",
	      stderr);
	return -1;
}

static int follow(struct exec_client *client)
{
	struct pollfd fds[] = {
		{ .fd = client->fd, .events = POLLIN },
		{ .fd = client->signal_fd, .events = POLLIN },
	};
	int code = -1;

	while (code < 0) {
		_auto_(freep) uint8_t *frame = NULL;
		struct fairlead_error error;
		size_t size;
		int result;

		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents != 0)
			code = interrupted(client);
		if (code >= 0 || fds[0].revents == 0)
			continue;
		result = talk_receive(client->fd, &frame, &size);
		if (result < 0) {
			error_set(&error, -ESHUTDOWN, "the daemon is gone");
			return fail(&error);
		}
		code = take_frame(client, frame, size);
	}
	return code;
}

static int signals_catch(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	return signalfd(-1, &mask, SFD_CLOEXEC);
}

static int run(struct exec_client *client, uid_t daemon,
	       struct fairlead_error *ret_error)
{
	struct exec_order order = { .timeout_ms = client->arguments.timeout_ms,
				    .nodes = client->arguments.nodes,
				    .command = client->arguments.command };
	_auto_(writer_fini) struct writer frame = { 0 };
	_auto_(freep) char *credential = NULL;
	int result = names_take(client, ret_error);

	if (result < 0)
		return result;
	randombytes_buf(order.id, sizeof(order.id));
	randombytes_buf(client->secret, sizeof(client->secret));
	exec_digest(client->secret, sizeof(client->secret), order.stop_digest);
	result = talk_seal(&order, client->arguments.munge_socket, daemon,
			   &credential, ret_error);
	if (result < 0)
		return result;
	write_u8(&frame, EXEC_FRAME_RUN);
	write_bytes(&frame, client->secret, sizeof(client->secret));
	write_blob(&frame, credential, strlen(credential));
	client->signal_fd = signals_catch();
	result = talk_send(client->fd, &frame);
	if (result < 0)
		return error_set(ret_error, result, "the daemon: %s",
				 strerror(-result));
	return follow(client);
}

/* The live nodes and the dead ones; the caller frees both. */
static int list(const struct exec_client *client, char **ret_alive,
		char **ret_dead, struct fairlead_error *ret_error)
{
	_auto_(writer_fini) struct writer frame = { 0 };
	_auto_(freep) uint8_t *answer = NULL;
	struct reader reader;
	size_t size = 0;
	bool is_stealthy;

	write_u8(&frame, EXEC_FRAME_LIST);
	if (talk_send(client->fd, &frame) < 0 ||
	    talk_receive(client->fd, &answer, &size) < 0)
		return error_set(ret_error, -ESHUTDOWN, "the daemon is gone");
	reader = reader_of(answer, size);
	if (read_u8(&reader) != EXEC_FRAME_NODES)
		return error_set(ret_error, -EBADMSG, "the daemon's answer");
	is_stealthy = read_u8(&reader) != 0;
	*ret_alive = read_text_alloc(&reader, TALK_FRAME_MAX);
	*ret_dead = read_text_alloc(&reader, TALK_FRAME_MAX);
	if (*ret_alive == NULL || *ret_dead == NULL)
		return error_set(ret_error, -EBADMSG, "the daemon's answer");
	if (is_stealthy)
		return error_set(ret_error, -EAGAIN,
				 "the daemon of this node has just started, "
				 "and does not know the others yet");
	return 0;
}

static int list_print(const struct exec_client *client,
		      struct fairlead_error *ret_error)
{
	_auto_(freep) char *alive = NULL;
	_auto_(freep) char *dead = NULL;
	int result = list(client, &alive, &dead, ret_error);

	if (result < 0)
		return result;
	printf("alive %s\ndead  %s\n", alive, dead);
	return CODE_DONE;
}

static int serve(struct exec_client *client, struct fairlead_error *ret_error)
{
	struct exec_arguments *arguments = &client->arguments;
	_auto_(freep) char *dead = NULL;
	uid_t daemon;
	int result = talk_connect(arguments->socket, &client->fd, &daemon,
				  ret_error);

	if (result == 0 && arguments->is_list)
		return list_print(client, ret_error);
	if (result == 0 && arguments->is_all)
		result = list(client, &arguments->nodes, &dead, ret_error);
	return result < 0 ? result : run(client, daemon, ret_error);
}

static void client_fini(struct exec_client *client)
{
	results_destroy(client->results);
	results_destroy(client->remarks);
	hostlist_destroy(client->names);
	free(client->arguments.nodes);
	free(client->arguments.command);
	closep(&client->fd);
	closep(&client->signal_fd);
}

int main(int argc, char **argv)
{
	struct exec_client client = { .fd = -1, .signal_fd = -1 };
	struct fairlead_error error;
	int code;

	if (sodium_init() < 0)
		return CODE_FAILED;
	code = arguments_read(argc, argv, &client.arguments);
	if (code < 0) {
		code = serve(&client, &error);
		if (code < 0)
			code = fail(&error);
	}
	client_fini(&client);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "scoll-exec: cannot write to stdout\n");
		return CODE_FAILED;
	}
	return code;
}
