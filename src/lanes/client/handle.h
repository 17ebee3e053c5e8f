/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of libfairlead share. include/fairlead.h is its contract. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "lanes/client/tunnel.h"
#include "fairlead.h"
#include "lanes/proto/client.h"

#define HANDLE_TIMEOUT_MS 60000 /* unless it is set */

/* An answer as every callback gets it, who may be one of ours. */
struct handle_answer {
	struct fairlead_answer given; /* the first member */
	json_t *object;               /* of given.json, or NULL */
};

/* A call that waits for its answer. id 0: the slot is free. */
struct client_call {
	uint64_t id;
	fairlead_answer_fn *fn; /* NULL: nobody wants to know */
	void *arg;
};

struct fairlead {
	int fd;
	struct tunnel *tunnel; /* over TCP; NULL: a Unix socket */
	uint32_t timeout_ms;
	uint64_t next_id;
	struct client_call calls[FAIRLEAD_CALLS_MAX];
	struct writer out; /* frames to send ... */
	size_t sent_bytes; /* ... of which so much is sent */
	struct splitter in;
	struct fairlead_error lost; /* code 0: connected */
	unsigned int depth;         /* blocking forms and process, nested */
	bool is_delivering;
	bool is_closed; /* freed once depth is 0 */
};

/*
 * On a socket that is connected, or about to be, and does not block. It is the
 * handle's, and the tunnel too, which may be NULL; both also on failure.
 */
int handle_create(int fd_owned, struct tunnel *tunnel_owned,
		  struct fairlead **ret_handle);

/* From here on a close is put off; handle_leave then frees the handle. */
void handle_enter(struct fairlead *handle);
void handle_leave(struct fairlead *handle);

/*
 * As fairlead_call_start; members may be NULL, the call has all but its id,
 * which is *ret_id.
 */
int handle_start(struct fairlead *handle, const char *op, const json_t *members,
		 struct client_call call, uint64_t *ret_id,
		 struct fairlead_error *ret_error);
/* Nobody wants the answer any more; the callback is not made. */
void handle_forget(struct fairlead *handle, uint64_t id);
/*
 * Take bytes of the stream and deliver the answers that are whole; *count goes
 * up by as many. 0, or the error with which the connection is to be lost.
 */
int handle_feed(struct fairlead *handle, const void *bytes, size_t size,
		int *count);
/* Every open call is answered with the error, and the connection is lost. */
void handle_lose(struct fairlead *handle, int code, const char *text,
		 const char *hint);

/*
 * The blocking form. *ret_answer (may be NULL) is the answer, also when the
 * result is negative and an answer came, else NULL; the caller drops it.
 * is_hinted: the error's text ends with the hint.
 */
int handle_call(struct fairlead *handle, const char *op, const json_t *members,
		bool is_hinted, json_t **ret_answer,
		struct fairlead_error *ret_error);
/* A request's members from a caller's text; NULL stays NULL. -EINVAL. */
int handle_members(const char *text, json_t **ret_members,
		   struct fairlead_error *ret_error);
/* The error of an answer, with its hint in brackets where there is one. */
int handle_error_hinted(const struct fairlead_answer *answer,
			struct fairlead_error *ret_error);
/* In a callback of ours. NULL: the connection is lost or was closed. */
json_t *handle_answer_object(const struct fairlead_answer *answer);
