/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scoll-exec: has the daemon of this node run a command on others, as who
 * calls, and shows what came of it. Equal outcomes are merged once more here,
 * since they come in parts.
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
#include "base/hash.h"
#include "base/hostlist.h"
#include "show.h"
#include "talk.h"

#define REMARK 256

/* A node of the request, by its name. */
struct exec_place {
	uint32_t number;
	UT_hash_handle hh;
	char name[HOSTLIST_NAME_MAX + 1];
};

struct failed {
	struct failed *next;
	char *nodes, *reason;
};

/* Something to be said of nodes, once for all of which it is true. */
struct remark {
	struct remark *next;
	struct idset *places;
	char text[REMARK];
};

struct exec_client {
	struct exec_arguments arguments;
	int fd, signal_fd;
	bool is_stopped;
	uint8_t secret[EXEC_ID_BYTES];
	struct hostlist *names;
	struct exec_place *places;
	struct results *results;
	struct failed *failures, **failures_end;
	struct remark *remarks, **remarks_end;
	bool is_progress;
	int code; /* the largest */
	bool is_partial;
};

/* --- what it is about --- */

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

static int places_make(struct exec_client *client,
		       struct fairlead_error *ret_error)
{
	int result = hostlist_parse(client->arguments.nodes, &client->names,
				    ret_error);

	if (result < 0)
		return result;
	if (strlen(client->arguments.nodes) > EXEC_LIST_MAX ||
	    client->names->count > EXEC_NODES_MAX)
		return error_set(ret_error, -E2BIG, "too many nodes");
	for (uint32_t i = 0; i < client->names->count; i++) {
		const char *name = client->names->names[i];
		struct exec_place *place;

		HASH_FIND_STR(client->places, name, place);
		if (place != NULL)
			return error_set(ret_error, -EINVAL,
					 "'%s' is there twice", name);
		place = calloc(1, sizeof(*place));
		if (place == NULL)
			return error_set(ret_error, -ENOMEM, "out of memory");
		place->number = i;
		strcpy(place->name, name);
		HASH_ADD_STR(client->places, name, place);
		if (!hash_was_added(place)) {
			free(place);
			return error_set(ret_error, -ENOMEM, "out of memory");
		}
	}
	return results_create((uint32_t)client->names->count, &client->results);
}

/* --- what comes --- */

static void progress(const struct exec_client *client)
{
	if (client->is_progress)
		fprintf(stderr, "\rscoll-exec: %u/%zu ",
			idset_count(results_known(client->results)),
			client->names->count);
}

static void progress_clear(const struct exec_client *client)
{
	if (client->is_progress)
		fputs("\r\033[K", stderr);
}

static void note(struct exec_client *client, const struct outcome *outcome)
{
	int code = show_code(outcome);

	if (code > client->code)
		client->code = code;
	if (outcome->kind != OUTCOME_EXITED && outcome->kind != OUTCOME_KILLED)
		client->is_partial = true;
}

static void remark_add(struct exec_client *client, const char *text,
		       const uint32_t *places, uint32_t count)
{
	struct remark *remark = client->remarks;

	while (remark != NULL && strcmp(remark->text, text) != 0)
		remark = remark->next;
	if (remark == NULL) {
		remark = calloc(1, sizeof(*remark));
		if (remark == NULL ||
		    idset_create((uint32_t)client->names->count,
				 &remark->places) < 0) {
			free(remark);
			return;
		}
		strcpy(remark->text, text);
		*client->remarks_end = remark;
		client->remarks_end = &remark->next;
	}
	for (uint32_t i = 0; i < count; i++)
		idset_add(remark->places, places[i]);
}

/* What is not run says why in the place of output. */
static void print_outcome(struct exec_client *client, const char *nodes,
			  const uint32_t *places, uint32_t count,
			  const struct outcome *outcome)
{
	bool is_refused = outcome->kind == OUTCOME_REFUSED;
	char text[REMARK];

	if (!is_refused)
		show_lines(stdout, nodes, outcome->output, outcome->size,
			   client->arguments.is_raw);
	show_remark(outcome, text, sizeof(text));
	if (*text == 0 ||
	    (client->arguments.is_quiet && outcome->kind == OUTCOME_EXITED))
		return;
	remark_add(client, text, places, count);
}

static int take_result(struct exec_client *client, struct reader *reader)
{
	_auto_(freep) char *nodes = read_text_alloc(reader, TALK_FRAME_MAX);
	_auto_(hostlist_destroyp) struct hostlist *names = NULL;
	struct outcome outcome = { 0 };

	outcome.kind = read_u8(reader);
	outcome.code = read_u32(reader);
	outcome.flags = read_u8(reader);
	outcome.output = read_blob(reader, EXEC_OUTPUT_MAX, &outcome.size);
	if (!reader_is_done(reader) || hostlist_parse(nodes, &names, NULL) < 0)
		return -EBADMSG;
	progress_clear(client);
	for (size_t i = 0; i < names->count; i++) {
		struct exec_place *place;
		int result;

		HASH_FIND_STR(client->places, names->names[i], place);
		if (place == NULL)
			return -EBADMSG;
		result = results_add(client->results, place->number, &outcome);
		if (result < 0)
			return result == -ENOMEM ? result : -EBADMSG;
		if (client->arguments.is_separate && !client->arguments.is_json)
			print_outcome(client, names->names[i], &place->number,
				      1, &outcome);
	}
	note(client, &outcome);
	progress(client);
	return 0;
}

static int take_failed(struct exec_client *client, struct reader *reader)
{
	struct failed *failed = calloc(1, sizeof(*failed));

	if (failed == NULL)
		return -ENOMEM;
	failed->nodes = read_text_alloc(reader, TALK_FRAME_MAX);
	failed->reason = read_text_alloc(reader, REMARK);
	*client->failures_end = failed;
	client->failures_end = &failed->next;
	client->is_partial = true;
	client->code = CODE_NONE;
	return reader_is_done(reader) ? 0 : -EBADMSG;
}

/* --- what is printed at the end --- */

static void json_print(struct exec_client *client)
{
	_auto_(writer_fini) struct writer text = { 0 };
	const struct failed *failed;
	const uint32_t *places;
	struct outcome outcome;
	bool is_first = true;
	uint32_t count;

	write_plain(&text, "{\"results\":[");
	while (results_next(client->results, &outcome, &places, &count)) {
		_auto_(freep) const char **names =
			calloc(count, sizeof(*names));
		_auto_(freep) char *nodes = NULL;

		for (uint32_t i = 0; names != NULL && i < count; i++)
			names[i] = client->names->names[places[i]];
		nodes = names == NULL ? NULL : hostlist_format(names, count);
		write_plain(&text, is_first ? "" : ",");
		show_json(&text, nodes == NULL ? "" : nodes, count, &outcome);
		is_first = false;
	}
	write_plain(&text, "],\"failures\":[");
	for (failed = client->failures; failed != NULL; failed = failed->next) {
		write_plain(&text, failed == client->failures ? "" : ",");
		write_plain(&text, "{\"nodes\":\"");
		write_plain(&text, failed->nodes);
		write_plain(&text, "\",\"reason\":\"");
		write_plain(&text, failed->reason);
		write_plain(&text, "\"}");
	}
	write_plain(&text, "]}\n");
	if (text.result == 0)
		fwrite(text.data, 1, text.size, stdout);
}

static void merged_print(struct exec_client *client)
{
	const uint32_t *places;
	struct outcome outcome;
	uint32_t count;

	while (results_next(client->results, &outcome, &places, &count)) {
		_auto_(freep) const char **names =
			calloc(count, sizeof(*names));
		_auto_(freep) char *nodes = NULL;

		for (uint32_t i = 0; names != NULL && i < count; i++)
			names[i] = client->names->names[places[i]];
		nodes = names == NULL ? NULL : hostlist_format(names, count);
		print_outcome(client, nodes == NULL ? "?" : nodes, places,
			      count, &outcome);
	}
}

static void remarks_print(const struct exec_client *client)
{
	const struct remark *remark;

	for (remark = client->remarks; remark != NULL; remark = remark->next) {
		_auto_(freep) const char **names =
			calloc(idset_count(remark->places), sizeof(*names));
		_auto_(freep) char *nodes = NULL;
		size_t count = 0;

		idset_foreach (place, remark->places) {
			if (names != NULL)
				names[count++] = client->names->names[place];
		}
		nodes = names == NULL ? NULL : hostlist_format(names, count);
		fprintf(stderr, "scoll-exec: %s: %s\n",
			nodes == NULL ? "?" : nodes, remark->text);
	}
}

static int end(struct exec_client *client)
{
	const struct failed *failed;

	progress_clear(client);
	results_sort(client->results);
	if (client->arguments.is_json)
		json_print(client);
	else if (!client->arguments.is_separate)
		merged_print(client);
	fflush(stdout);
	remarks_print(client);
	for (failed = client->failures; failed != NULL; failed = failed->next)
		fprintf(stderr, "scoll-exec: %s: not reached: %s\n",
			failed->nodes, failed->reason);
	if (client->arguments.is_maxrc)
		return client->code;
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
	case EXEC_FRAME_RESULT:
		result = take_result(client, &reader);
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
	if (result == 0)
		return -1;
	error_set(&error, result, "the daemon's answer: %s", strerror(-result));
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
	progress_clear(client);
	fputs("scoll-exec: being stopped; once more to leave at once\n",
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

	progress(client);
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
	int result = places_make(client, ret_error);

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
	client->is_progress =
		!client->arguments.is_quiet && isatty(STDERR_FILENO);
	result = talk_send(client->fd, &frame);
	if (result < 0)
		return error_set(ret_error, result, "the daemon: %s",
				 strerror(-result));
	return follow(client);
}

/* The nodes that live, and the dead ones; the caller frees both. */
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
	if (client->arguments.is_json)
		printf("{\"alive\":\"%s\",\"dead\":\"%s\"}\n", alive, dead);
	else
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
	struct exec_place *place, *next;

	HASH_ITER (hh, client->places, place, next) {
		HASH_DEL(client->places, place);
		free(place);
	}
	while (client->failures != NULL) {
		struct failed *failed = client->failures;

		client->failures = failed->next;
		free(failed->nodes);
		free(failed->reason);
		free(failed);
	}
	while (client->remarks != NULL) {
		struct remark *remark = client->remarks;

		client->remarks = remark->next;
		idset_destroy(remark->places);
		free(remark);
	}
	results_destroy(client->results);
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

	client.failures_end = &client.failures;
	client.remarks_end = &client.remarks;
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
