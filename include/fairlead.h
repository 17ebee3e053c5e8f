/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libfairlead: ask the switch manager for a job's lane, and give it back.
 *
 * For job managers, their plugins and scripts. A job manager reserves a lane
 * (fairlead_reserve), has it made on every node of the job (fairlead_apply),
 * starts the job's tasks with the environment that each node has for them
 * (fairlead_env_read), and releases it (fairlead_release). What it gets for a
 * reservation is a grant: opaque, to be kept or passed on as text or bytes;
 * its id is what later calls need.
 *
 * Two ways to call. Each operation has a blocking form, and a `_start` form
 * that returns at once and calls back. For the second, put fairlead_fd() into
 * the program's own loop, wait for fairlead_events(), call
 * fairlead_process(); answers are delivered from inside it, and only there.
 *
 * Threads: a connection is used by one thread at a time; different
 * connections are independent. The library starts no thread, installs no
 * signal handler, writes nothing to stdout or stderr, and blocks only in the
 * blocking forms.
 *
 * Errors: 0 or a count on success, a negative errno on failure. ret_error may
 * be NULL. The usual ones: -ENOENT or -ECONNREFUSED no daemon there, -EPERM
 * not permitted, -EINVAL a bad request, -EAGAIN try again later (the pool is
 * exhausted), -EEXIST the key is used by another request, -ESTALE the key's
 * grant was released, -EPROTO the other end does not speak our version,
 * -ETIMEDOUT no answer in time (it is not known whether it was done: ask
 * again with the same key, nothing is done twice).
 */
#ifndef FAIRLEAD_H
#define FAIRLEAD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fairlead/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FAIRLEAD_API_VERSION    1

#define FAIRLEAD_MANAGER_SOCKET "/run/fairlead/manager.sock"
#define FAIRLEAD_NODE_SOCKET    "/run/fairlead/node.sock"
#define FAIRLEAD_JOBS_DIR       "/run/fairlead/jobs"

/* A connection to a daemon. */
struct fairlead;

/* What a job asks for. Texts are borrowed for the call. */
struct fairlead_request {
	const char *key; /* SUBMITTER/JOB/ATTEMPT, see fairlead(1) */
	uid_t uid;       /* owner of the job */
	gid_t gid;
	const char *nodes;        /* host list: "n[0-3]" */
	const char *cores;        /* per node: "4" or "4(x3),2"; NULL: 1 */
	const char *tasks;        /* per node, likewise; NULL: 1 */
	uint32_t cpus_per_task;   /* 0: 1 */
	const char *interconnect; /* NULL: the manager's default */
	const char *options;      /* "vnis=2", "off"; NULL: none */
};

/* A grant: what the manager has given for a request. */
struct fairlead_grant;

/* --- connection --- */

/*
 * Connect to the daemon at a Unix socket. NULL: the environment variable
 * FAIRLEAD_SOCKET (not in set-uid programs), else FAIRLEAD_MANAGER_SOCKET.
 * The caller closes *ret_handle with fairlead_close().
 */
int fairlead_open(const char *socket_path, struct fairlead **ret_handle,
		  struct fairlead_error *ret_error);

/* Close and free. Callbacks of open calls are made with -ECANCELED. */
void fairlead_close(struct fairlead *handle);

/* The descriptor to poll, and the poll(2) events it waits for. */
int fairlead_fd(const struct fairlead *handle);
short fairlead_events(const struct fairlead *handle);

/*
 * Send and receive what can be without blocking, and deliver answers.
 * Returns how many were delivered. When the connection is lost every open
 * call is answered with -ECONNRESET, which is then returned.
 */
int fairlead_process(struct fairlead *handle);

/* Time that a blocking call waits for its answer. Default: 60,000 ms. */
void fairlead_set_timeout(struct fairlead *handle, uint32_t timeout_ms);

/* --- any operation --- */

/*
 * An answer. It and all that it points to is valid during the callback.
 * `json` is the whole object as text (doc/rfc/client-protocol.md).
 */
struct fairlead_answer {
	int result;        /* 0 or a negative errno */
	const char *error; /* "" when result is 0 */
	const char *hint;  /* what to do; "" when there is none */
	const char *json;
};

typedef void fairlead_answer_fn(void *arg,
				const struct fairlead_answer *answer);

/*
 * Start any operation of the client protocol. `members`: the text of a JSON
 * object with its further members, or NULL. -EAGAIN: 64 calls are open.
 */
int fairlead_call_start(struct fairlead *handle, const char *op,
			const char *members, fairlead_answer_fn *fn, void *arg,
			struct fairlead_error *ret_error);

/*
 * The blocking form. *ret_json is the answer as text, also when the result
 * is negative and an answer came; the caller frees it. ret_json may be NULL.
 */
int fairlead_call(struct fairlead *handle, const char *op, const char *members,
		  char **ret_json, struct fairlead_error *ret_error);

/* --- the life of a lane --- */

/*
 * Reserve a lane. It is on the manager's disk when this returns. The same
 * request again gets the same grant. The caller frees *ret_grant with
 * fairlead_grant_destroy().
 */
int fairlead_reserve(struct fairlead *handle,
		     const struct fairlead_request *request,
		     struct fairlead_grant **ret_grant,
		     struct fairlead_error *ret_error);

/* grant is the callee's to keep until the callback returns; NULL on error. */
typedef void fairlead_reserve_fn(void *arg, int result,
				 const struct fairlead_grant *grant,
				 const struct fairlead_error *error);

int fairlead_reserve_start(struct fairlead *handle,
			   const struct fairlead_request *request,
			   fairlead_reserve_fn *fn, void *arg,
			   struct fairlead_error *ret_error);

/*
 * Make the lane on every node of the job, or on none: the error names each
 * node that failed and why, and the grant is released. *ret_warnings, where
 * asked for and there are any: one line each, the caller frees it.
 */
int fairlead_apply(struct fairlead *handle, uint64_t grant_id,
		   char **ret_warnings, struct fairlead_error *ret_error);
int fairlead_apply_start(struct fairlead *handle, uint64_t grant_id,
			 fairlead_answer_fn *fn, void *arg,
			 struct fairlead_error *ret_error);

/*
 * Give the lane back. Returns when the quick tries have answered: the job is
 * over; identifiers that a node may still hold stay in quarantine. Releasing
 * what is released is no error.
 */
int fairlead_release(struct fairlead *handle, uint64_t grant_id,
		     struct fairlead_error *ret_error);
int fairlead_release_start(struct fairlead *handle, uint64_t grant_id,
			   fairlead_answer_fn *fn, void *arg,
			   struct fairlead_error *ret_error);
/* Every grant of SUBMITTER/JOB that was issued before the call. */
int fairlead_release_job(struct fairlead *handle, const char *job,
			 struct fairlead_error *ret_error);

/* --- grants --- */

uint64_t fairlead_grant_id(const struct fairlead_grant *grant);
/* The public part, the text of a JSON object. Valid as long as the grant. */
const char *fairlead_grant_public(const struct fairlead_grant *grant);
/* Text form, one word, for scripts and environments. Valid as long. */
const char *fairlead_grant_text(const struct fairlead_grant *grant);
/* Opaque bytes, for job managers' own messages. Valid as long. */
const void *fairlead_grant_bytes(const struct fairlead_grant *grant,
				 size_t *ret_size);

/* From text or bytes; -EBADMSG when it is not a whole grant. */
int fairlead_grant_parse(const char *text, struct fairlead_grant **ret_grant,
			 struct fairlead_error *ret_error);
int fairlead_grant_decode(const void *bytes, size_t size,
			  struct fairlead_grant **ret_grant,
			  struct fairlead_error *ret_error);
void fairlead_grant_destroy(struct fairlead_grant *grant);

/* --- on a node: environment of a job's tasks --- */

/*
 * Call fn for each variable that the job's lane wants set (value) or unset
 * (value NULL) in its tasks on this node. Reads the file that the node's
 * daemon wrote for the owner; needs no daemon. jobs_dir NULL: the default.
 * attempt -1: the highest one that is there. -ENOENT: the job has no lane
 * here; -EPERM: not the owner's file, or its mode is wrong.
 */
int fairlead_env_read(const char *jobs_dir, const char *submitter,
		      const char *job, int64_t attempt, uid_t owner,
		      void (*fn)(void *arg, const char *name,
				 const char *value),
		      void *arg, struct fairlead_error *ret_error);

#ifdef __cplusplus
}
#endif

#endif
