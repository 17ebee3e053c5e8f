/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The conversation with clients (doc/rfc/client-protocol.md): one JSON object
 * a frame, on a stream after its length.
 *
 *	client: client_request + members -> client_encode
 *	daemon: client_parse -> client_open, client_members_check, members_x
 *	        -> client_answer_encode, or
 *	        -> client_answer + members, or client_error -> client_encode
 *	client: client_parse -> client_answer_open
 *
 * client_parse takes one frame, as a net seam delivers it. Where there is a
 * bare stream, a splitter of CLIENT_FRAME_MAX makes frames of its bytes first.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "lanes/proto/frame.h"

#define CLIENT_VERSION          1
#define CLIENT_FRAME_MAX        FRAME_SIZE_MAX /* bytes of JSON */
#define CLIENT_REQUESTS_MAX     64     /* open at a time, of one connection */
#define CLIENT_CONNECTIONS_MAX  1024   /* of one daemon */
#define CLIENT_ROOT_CONNECTIONS 64     /* of these, root's alone */
#define CLIENT_USER_CONNECTIONS 256    /* of one user other than root */
#define CLIENT_CLOG_BYTES       262144 /* unread: nothing more is served */
#define CLIENT_FRAME_TIMEOUT_MS 10000  /* a frame that began is whole by then */
#define CLIENT_ID_MAX           INT64_MAX

/*
 * Read one frame: -EBADMSG with a text when it is not JSON, or not an object
 * (a name that stands twice is not JSON here), -ENOMEM. The caller
 * json_decref's.
 */
int client_parse(const void *bytes, size_t size, json_t **ret_object,
		 struct fairlead_error *ret_error);

/*
 * Append the JSON text: the frame, without its length. -EMSGSIZE when it is
 * longer than a frame may be, -ENOMEM; the writer is then as before.
 */
int client_encode(const json_t *object, struct writer *writer);

/* For a bare stream: append length and JSON text. Errors as client_encode. */
int client_encode_stream(const json_t *object, struct writer *writer);

/* --- requests --- */

/* {"v":1,"id":id,"op":op}; id is 1..CLIENT_ID_MAX. NULL: out of memory. */
json_t *client_request(uint64_t id, const char *op);

/*
 * Read a request's id and op. -EPROTONOSUPPORT for another version, -EINVAL;
 * both with a text. *ret_op is the object's.
 */
int client_open(const json_t *object, uint64_t *ret_id, const char **ret_op,
		struct fairlead_error *ret_error);
/* The id that an answer needs, whatever else is wrong; 0: it has none. */
uint64_t client_id(const json_t *object);
/* As members_check, with the members that every request has besides. */
int client_members_check(const json_t *object, const char *const *names,
			 struct fairlead_error *ret_error);

/* --- answers --- */

/* {"v":1,"id":id,"result":0}: add members to it. NULL: out of memory. */
json_t *client_answer(uint64_t id);
/*
 * A failure: code is a negative errno; text and hint are copied and made
 * clean, hint may be NULL. NULL: out of memory.
 */
json_t *client_error(uint64_t id, int code, const char *text, const char *hint);

/*
 * Append a whole answer at once, of one that has its members as text: compact
 * JSON of an object, or NULL. text, of an error only, and hint as above.
 * warning: of any answer, or NULL. Errors as client_encode.
 */
int client_answer_encode(uint64_t id, int code, const char *text,
			 const char *hint, const char *warning,
			 const char *members, struct writer *writer);

struct client_answer {
	uint64_t id;      /* 0: to something that was no request */
	int result;       /* 0 or a negative errno */
	const char *text; /* the error, or NULL when result is 0 */
	const char *hint; /* or NULL */
};

/* Read an answer; texts are the object's. -EBADMSG with a text. */
int client_answer_open(const json_t *object, struct client_answer *ret_answer,
		       struct fairlead_error *ret_error);

/*
 * --- members of a JSON object that a client sent ---
 *
 * Readers return 0, or -EINVAL with a text that names the member.
 */

/*
 * Refuse members that are not among the names (ended by NULL); the first such
 * one is named. -EINVAL too when it is not an object.
 */
int members_check(const json_t *object, const char *const *names,
		  struct fairlead_error *ret_error);

/*
 * The readers below leave *ret_x alone when the member is absent and not
 * required, so that it can hold a default.
 */
enum members_need {
	MEMBER_OPTIONAL,
	MEMBER_REQUIRED,
};

/* *ret_text is the object's. */
int members_text(const json_t *object, const char *name, enum members_need need,
		 const char **ret_text, struct fairlead_error *ret_error);
/* An integer within [least, most]. */
int members_number(const json_t *object, const char *name,
		   enum members_need need, int64_t least, int64_t most,
		   int64_t *ret_number, struct fairlead_error *ret_error);
int members_bool(const json_t *object, const char *name, enum members_need need,
		 bool *ret_value, struct fairlead_error *ret_error);

/*
 * Append the object as JSON text. -EMSGSIZE when that is longer than size_max,
 * -ENOMEM; the writer is then as before.
 */
int members_encode(const json_t *object, size_t size_max,
		   struct writer *writer);
