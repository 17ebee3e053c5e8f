/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls and their answers (doc/rfc/client-protocol.md). Each open call has a
 * slot; an answer finds it by its id, and the slot is free before the callback
 * runs, so that the callback may start the next call. An answer to an id that
 * was used but is not open is late, and is ignored; one to an id that never
 * was is a daemon that does not speak our protocol.
 *
 * A failed send does not end the connection: the last answers of the daemon are
 * read first, since they may have the reason.
 */
#include "lanes/client/handle.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

#define READ_BYTES 65536

static struct client_call *find_call(struct fairlead *handle, uint64_t id)
{
	for (size_t i = 0; i < FAIRLEAD_CALLS_MAX; i++)
		if (handle->calls[i].id == id)
			return &handle->calls[i];
	return NULL;
}

/* The request's envelope. 0, or an error that may have no text. */
static int wrap_request(struct fairlead *handle, const json_t *request,
			struct fairlead_error *ret_error)
{
	struct writer text = { 0 };
	int result = client_encode(request, &text);

	if (result == 0)
		result = tunnel_wrap(handle->tunnel, (char *)text.data,
				     text.size, &handle->out, ret_error);
	writer_fini(&text);
	return result;
}

static int write_request(struct fairlead *handle, const json_t *request,
			 struct fairlead_error *ret_error)
{
	struct writer *out = &handle->out;
	size_t size = out->size;
	int result = handle->tunnel ? wrap_request(handle, request, ret_error)
				    : client_encode_stream(request, out);

	if (result == 0)
		return 0;
	out->size = size;
	out->result = 0;
	if (result != -EMSGSIZE && result != -ENOMEM)
		return result;
	if (result == -EMSGSIZE)
		return error_set(ret_error, result,
				 "the request is longer than %d bytes",
				 FAIRLEAD_FRAME_MAX);
	return error_set(ret_error, result, "out of memory");
}

static int make_request(uint64_t id, const char *op, const json_t *members,
			json_t **ret_request, struct fairlead_error *ret_error)
{
	json_auto_t *request = client_request(id, op);
	const char *name;
	json_t *value;

	if (!request)
		return error_set(ret_error, -EINVAL,
				 "an operation's name is not UTF-8");
	json_object_foreach ((json_t *)members, name, value) {
		if (json_object_get(request, name))
			return error_set(ret_error, -EINVAL,
					 "'%s' cannot be given twice", name);
		if (json_object_set(request, name, value) < 0)
			return error_set(ret_error, -ENOMEM, "out of memory");
	}
	*ret_request = take_ptr(request);
	return 0;
}

int handle_start(struct fairlead *handle, const char *op, const json_t *members,
		 struct client_call call, uint64_t *ret_id,
		 struct fairlead_error *ret_error)
{
	json_auto_t *request = NULL;
	struct client_call *slot;
	int result;

	if (handle->lost.code < 0)
		return error_set(ret_error, handle->lost.code, "%s",
				 handle->lost.text);
	slot = find_call(handle, 0);
	if (!slot)
		return error_set(ret_error, -EAGAIN,
				 "%d calls are open on this connection",
				 FAIRLEAD_CALLS_MAX);
	call.id = handle->next_id;
	result = make_request(call.id, op, members, &request, ret_error);
	if (result == 0)
		result = write_request(handle, request, ret_error);
	if (result < 0)
		return result;
	*slot = call;
	*ret_id = handle->next_id++;
	return 0;
}

int handle_members(const char *text, json_t **ret_members,
		   struct fairlead_error *ret_error)
{
	json_auto_t *members = NULL;

	if (!text)
		return 0;
	members = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(members))
		return error_set(ret_error, -EINVAL,
				 "a call's members are no JSON object");
	*ret_members = take_ptr(members);
	return 0;
}

int fairlead_call_start(struct fairlead *handle, const char *op,
			const char *members, fairlead_answer_fn *fn, void *arg,
			struct fairlead_error *ret_error)
{
	json_auto_t *object = NULL;
	uint64_t id;
	int result = handle_members(members, &object, ret_error);

	if (result == 0)
		result = handle_start(handle, op, object,
				      (struct client_call){ .fn = fn,
							    .arg = arg },
				      &id, ret_error);
	return result;
}

int handle_error_hinted(const struct fairlead_answer *answer,
			struct fairlead_error *ret_error)
{
	return error_set(ret_error, answer->result, "%s%s%s%s", answer->error,
			 *answer->hint ? " (" : "", answer->hint,
			 *answer->hint ? ")" : "");
}

json_t *handle_answer_object(const struct fairlead_answer *answer)
{
	return ((const struct handle_answer *)answer)->object;
}

void handle_forget(struct fairlead *handle, uint64_t id)
{
	struct client_call *call;

	assert(id > 0);
	call = find_call(handle, id);
	if (call)
		*call = (struct client_call){ 0 };
}

static void deliver(struct fairlead *handle, struct client_call *slot,
		    const struct handle_answer *answer)
{
	struct client_call call = *slot;
	bool was_delivering = handle->is_delivering;

	*slot = (struct client_call){ 0 };
	handle->is_delivering = true;
	if (call.fn)
		call.fn(call.arg, &answer->given);
	handle->is_delivering = was_delivering;
}

void handle_lose(struct fairlead *handle, int code, const char *text,
		 const char *hint)
{
	const struct handle_answer answer = {
		.given = { .result = code, .error = text, .hint = hint },
	};

	assert(code < 0);
	error_set(&handle->lost, code, "%s", text);
	for (size_t i = 0; i < FAIRLEAD_CALLS_MAX; i++)
		if (handle->calls[i].id)
			deliver(handle, &handle->calls[i], &answer);
}

/* 0 when all was sent or the socket is full. */
static int flush(struct fairlead *handle)
{
	struct writer *out = &handle->out;
	ssize_t count;

	while (handle->sent_bytes < out->size) {
		count = send(handle->fd, out->data + handle->sent_bytes,
			     out->size - handle->sent_bytes,
			     MSG_NOSIGNAL | MSG_DONTWAIT);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			break;
		handle->sent_bytes += count;
	}
	if (handle->sent_bytes == out->size) {
		writer_fini(out);
		handle->sent_bytes = 0;
		return 0;
	}
	count = errno == EAGAIN ? 0 : -errno;
	if (handle->sent_bytes > out->size / 2) {
		out->size -= handle->sent_bytes;
		memmove(out->data, out->data + handle->sent_bytes, out->size);
		handle->sent_bytes = 0;
	}
	return count;
}

/* 1: an answer was delivered; 0: it was late; -EPROTO: it is none of ours. */
static int take_answer(struct fairlead *handle, uint64_t id,
		       const struct handle_answer *answer)
{
	const struct fairlead_answer *given = &answer->given;
	struct client_call *call;

	if (id >= handle->next_id || (id == 0 && given->result == 0))
		return -EPROTO;
	if (id == 0) {
		handle_lose(handle, given->result, given->error, given->hint);
		return 0;
	}
	call = find_call(handle, id);
	if (!call)
		return 0;
	deliver(handle, call, answer);
	return 1;
}

static int take_text(struct fairlead *handle, const uint8_t *bytes, size_t size)
{
	_auto_(freep) char *json = NULL;
	json_auto_t *object = NULL;
	struct client_answer head;
	int result = client_parse(bytes, size, &object, NULL);

	if (result == 0)
		result = client_answer_open(object, &head, NULL);
	if (result < 0)
		return result == -ENOMEM ? result : -EPROTO;
	json = strndup((const char *)bytes, size);
	if (!json)
		return -ENOMEM;
	return take_answer(
		handle, head.id,
		&(struct handle_answer){
			.given = { .result = head.result,
				   .error = head.result < 0 ? head.text : "",
				   .hint = head.hint ? head.hint : "",
				   .json = json },
			.object = object,
		});
}

static int take_frame(struct fairlead *handle, const uint8_t *bytes,
		      size_t size)
{
	struct envelope answer;
	struct fairlead_error error;
	int result;

	if (!handle->tunnel)
		return take_text(handle, bytes, size);
	result = tunnel_unwrap(handle->tunnel, bytes, size, &answer, &error);
	if (result < 0) {
		handle_lose(handle, result, error.text, "");
		return 0;
	}
	result = take_text(handle, (uint8_t *)answer.text, answer.size);
	envelope_fini(&answer);
	return result;
}

/* Deliver what is whole. 0, or the error that ends the connection. */
static int take_frames(struct fairlead *handle, int *count)
{
	const uint8_t *bytes;
	size_t size;
	int result;

	for (;;) {
		if (handle->lost.code < 0)
			return 0;
		result = splitter_next(&handle->in, &bytes, &size);
		if (result <= 0)
			return result == 0 || result == -ENOMEM ? result
								: -EPROTO;
		result = take_frame(handle, bytes, size);
		if (result < 0)
			return result;
		*count += result;
	}
}

int handle_feed(struct fairlead *handle, const void *bytes, size_t size,
		int *count)
{
	int result = splitter_feed(&handle->in, bytes, size);

	if (result < 0)
		return result == -ENOMEM ? result : -EPROTO;
	return take_frames(handle, count);
}

/* Errors of a socket that never was connected. */
static bool is_connect_error(int error)
{
	return error == ECONNREFUSED || error == EHOSTUNREACH ||
	       error == ENETUNREACH || error == ETIMEDOUT;
}

/* 0: the socket is empty for now; -ECONNRESET: its end. */
static int receive(struct fairlead *handle, int *count)
{
	uint8_t bytes[READ_BYTES];
	ssize_t size;
	int result;

	while (handle->lost.code == 0) {
		size = recv(handle->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0 && errno == EAGAIN)
			return 0;
		if (size < 0 && is_connect_error(errno))
			return -errno;
		if (size <= 0)
			return -ECONNRESET;
		result = handle_feed(handle, bytes, size, count);
		if (result < 0)
			return result;
	}
	return 0;
}

static const char *lost_text(int code)
{
	switch (code) {
	case -EPROTO:
		return "the daemon does not speak our protocol";
	case -ENOMEM:
		return "out of memory";
	case -ECONNREFUSED:
		return "no manager listens there";
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -ETIMEDOUT:
		return "the manager's machine cannot be reached";
	default:
		return "the daemon has closed the connection";
	}
}

int fairlead_process(struct fairlead *handle)
{
	int count = 0;
	int result, sent;

	if (handle->is_delivering)
		return -EDEADLK;
	if (handle->lost.code < 0)
		return handle->lost.code;
	handle_enter(handle);
	sent = flush(handle);
	result = receive(handle, &count);
	if (result == 0 && sent < 0)
		result = -ECONNRESET;
	if (result == -ECONNRESET && is_connect_error(-sent))
		result = sent;
	if (result < 0 && handle->lost.code == 0)
		handle_lose(handle, result, lost_text(result), "");
	result = handle->lost.code;
	if (handle->is_closed)
		count = result = 0;
	handle_leave(handle);
	return result < 0 ? result : count;
}
