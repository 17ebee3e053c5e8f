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
 * signal handler, raises no SIGPIPE, writes nothing to stdout or stderr, and
 * blocks only in the blocking forms. Its descriptors are not inherited by
 * programs that are executed.
 *
 * Callbacks may start calls and may close the connection; they must not wait
 * in a blocking form or in fairlead_process (-EDEADLK). While a blocking form
 * waits, the answers of other open calls are delivered from inside it.
 *
 * Over TCP (fairlead_open) MUNGE vouches for both sides: each start of a call,
 * and each answer in fairlead_process, waits for munged on this machine, which
 * mostly is less than a millisecond, and some seconds when munged hangs. The
 * calls are the process's effective uid's; a connection stays with one.
 *
 * Errors: 0 or a count on success, a negative errno on failure. ret_error may
 * be NULL. The usual ones: -ENOENT or -ECONNREFUSED no daemon there, -EPERM
 * not permitted, -EINVAL a bad request, -EAGAIN try again later (the pool is
 * exhausted, or the daemon has too much to do), -EEXIST the key is used by
 * another request, -ESTALE the key's grant was released, -EPROTO the other end
 * does not speak our protocol, -ECONNRESET the connection is lost,
 * -ETIMEDOUT no answer in time, -ENOMEM. After the last three it is not known
 * whether it was done: ask again with the same key, nothing is done twice.
 *
 * Manual: fairlead(3).
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

#pragma GCC visibility push(default)

#define FAIRLEAD_API_VERSION    1

#define FAIRLEAD_CALLS_MAX      64      /* open on one connection */
#define FAIRLEAD_FRAME_MAX      1048576 /* bytes of a request or an answer */
#define FAIRLEAD_VARIABLES_MAX  256     /* of a job's environment */

#define FAIRLEAD_MANAGER_SOCKET "/run/fairlead/manager.sock"
#define FAIRLEAD_NODE_SOCKET    "/run/fairlead/node.sock"
#define FAIRLEAD_JOBS_DIR       "/run/fairlead/jobs"
#define FAIRLEAD_NODE_KEY       "/etc/fairlead/node.key"

/* Version of the library that is used: "0.1.0". */
const char *fairlead_version(void);

/* A connection to a daemon. */
struct fairlead;

/*
 * What a job asks for. Texts are borrowed for the call. The struct will not
 * grow: members that a later protocol adds go through fairlead_call().
 */
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
 * Connect to the daemon at a Unix socket, or to a manager at
 * "tcp://[USER@]HOST:PORT". NULL: the environment variable FAIRLEAD_SOCKET
 * (not in set-uid programs), else FAIRLEAD_MANAGER_SOCKET. The caller closes
 * *ret_handle with fairlead_close(). Does not wait: -EAGAIN when too many
 * others are waiting to be let in; -EACCES when the socket's mode forbids it;
 * -ENAMETOOLONG.
 *
 * USER, a name or a number, is the manager's user (default: fairlead); answers
 * of other users are refused. munged is asked at its default socket, or at the
 * one that FAIRLEAD_MUNGE_SOCKET names. Names of hosts and users are looked up,
 * which may wait; numbers are not. Whether there is a manager shows when the
 * first call is processed. -EINVAL: no such address or user; -ENXIO: no such
 * host; -ENOPKG: libmunge is not installed. Calls then also fail with
 * -EHOSTDOWN: munged does not answer, or -EKEYREJECTED: it refuses; and after
 * -EPROTO, too, it is not known whether they were done.
 */
int fairlead_open(const char *socket_path, struct fairlead **ret_handle,
		  struct fairlead_error *ret_error);

/*
 * Close and free; NULL is allowed. Callbacks of open calls are made with
 * -ECANCELED; what they asked for is done or not.
 */
void fairlead_close(struct fairlead *handle);

/*
 * The descriptor to poll, and the poll(2) events it waits for. The same
 * descriptor until fairlead_close.
 */
int fairlead_fd(const struct fairlead *handle);
short fairlead_events(const struct fairlead *handle);

/*
 * Send and receive what can be without blocking, and deliver answers.
 * Returns how many were delivered; 0 also when a callback has closed the
 * connection. When the connection is lost every open call is answered with
 * the reason (-ECONNRESET, -EPROTO, or what the daemon gave as its reason),
 * which is then returned, also by all later calls: close it, and open
 * another one.
 */
int fairlead_process(struct fairlead *handle);

/*
 * Time that a blocking form waits for its answer. Default: 60,000 ms; 0: as
 * long as it takes. The operations that wait for nodes (apply, release,
 * prolog, epilog, housekeeping) have their own limits at the daemon.
 */
void fairlead_set_timeout(struct fairlead *handle, uint32_t timeout_ms);

/* --- any operation --- */

/*
 * An answer. It and all that it points to is valid during the callback. It
 * may get more members at its end.
 * `json` is the whole object as text (doc/rfc/client-protocol.md).
 */
struct fairlead_answer {
	int result;        /* 0 or a negative errno */
	const char *error; /* "" when result is 0 */
	const char *hint;  /* what to do; "" when there is none */
	const char *json;  /* NULL: the connection is lost or was closed */
};

typedef void fairlead_answer_fn(void *arg,
				const struct fairlead_answer *answer);

/*
 * Start any operation of the client protocol. `members`: the text of a JSON
 * object with its further members, or NULL. fn is called exactly once if and
 * only if 0 is returned; NULL: nobody wants to know. -EAGAIN: as many calls as
 * there can be are open; -EMSGSIZE: over FAIRLEAD_FRAME_MAX; -EINVAL: not an
 * object.
 */
int fairlead_call_start(struct fairlead *handle, const char *op,
			const char *members, fairlead_answer_fn *fn, void *arg,
			struct fairlead_error *ret_error);

/*
 * The blocking form. *ret_json is the answer as text, also when the result
 * is negative and an answer came, else NULL; the caller frees it. ret_json may
 * be NULL. The hint is in the answer, the error has the text only.
 */
int fairlead_call(struct fairlead *handle, const char *op, const char *members,
		  char **ret_json, struct fairlead_error *ret_error);

/* --- the life of a lane; errors end with the hint, in brackets --- */

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

/* As fairlead_reserve; fn is called exactly once if 0 is returned. */
int fairlead_reserve_start(struct fairlead *handle,
			   const struct fairlead_request *request,
			   fairlead_reserve_fn *fn, void *arg,
			   struct fairlead_error *ret_error);

/*
 * Make the lane on every node of the job, or on none: the error names each
 * node that failed and why, and the grant is released. *ret_warnings, where
 * asked for: one line each, NULL when there are none; the caller frees it.
 */
int fairlead_apply(struct fairlead *handle, uint64_t grant_id,
		   char **ret_warnings, struct fairlead_error *ret_error);
int fairlead_apply_start(struct fairlead *handle, uint64_t grant_id,
			 fairlead_answer_fn *fn, void *arg,
			 struct fairlead_error *ret_error);

/*
 * Give the lane back. Returns when the quick tries have answered: the job is
 * over; identifiers that a node may still hold stay in quarantine. Releasing
 * what is released is no error. *ret_warnings, where asked for: why a node may
 * still hold some, such as a service that is in use, one line each; NULL when
 * there are none; the caller frees it.
 */
int fairlead_release(struct fairlead *handle, uint64_t grant_id,
		     char **ret_warnings, struct fairlead_error *ret_error);
int fairlead_release_start(struct fairlead *handle, uint64_t grant_id,
			   fairlead_answer_fn *fn, void *arg,
			   struct fairlead_error *ret_error);
/*
 * Every grant of SUBMITTER/JOB that was issued before the call; none is no
 * error.
 */
int fairlead_release_job(struct fairlead *handle, const char *job,
			 char **ret_warnings, struct fairlead_error *ret_error);
int fairlead_release_job_start(struct fairlead *handle, const char *job,
			       fairlead_answer_fn *fn, void *arg,
			       struct fairlead_error *ret_error);

/* --- grants --- */

/* What apply and release want; never 0. */
uint64_t fairlead_grant_id(const struct fairlead_grant *grant);
/* The public part, the text of a JSON object. Valid as long as the grant. */
const char *fairlead_grant_public(const struct fairlead_grant *grant);
/* Text form, one word, for scripts and environments. Valid as long. */
const char *fairlead_grant_text(const struct fairlead_grant *grant);
/* Opaque bytes, for job managers' own messages. Valid as long. */
const void *fairlead_grant_bytes(const struct fairlead_grant *grant,
				 size_t *ret_size);

/*
 * From text or bytes. -EBADMSG: it is not a whole grant; -EPROTONOSUPPORT: its
 * version is another one.
 */
int fairlead_grant_parse(const char *text, struct fairlead_grant **ret_grant,
			 struct fairlead_error *ret_error);
int fairlead_grant_decode(const void *bytes, size_t size,
			  struct fairlead_grant **ret_grant,
			  struct fairlead_error *ret_error);
/* NULL is allowed. */
void fairlead_grant_destroy(struct fairlead_grant *grant);

/* --- on a node: what a grant has sealed to it --- */

/* The secrets of a lane, in the clear. */
struct fairlead_secret;

/*
 * Open the sealed part of a grant with the node's key file, as root: for who
 * gives a job its secrets without the node's daemon, which mostly does that.
 * key_path NULL: FAIRLEAD_NODE_KEY. The caller wipes and frees *ret_secret with
 * fairlead_secret_destroy(). What is inside is the interconnect's: of elan3,
 * the opaque reply (fairlead-elan3(7)).
 *
 * -ENODATA: the grant has no sealed part (its interconnect has no secrets, or
 * the job no lane); -ENXIO: the node is none of the job's; -ENOKEY: sealed
 * under a key that the file does not have; -EKEYREJECTED: sealed by another
 * cluster, or changed; -EBADMSG: damaged. Of the file: -EPERM: it is not
 * root's or ours, others can use it, or it is no regular file; -ELOOP: a
 * symbolic link; -EINVAL: it is no node's key; -ENOENT, -EACCES.
 */
int fairlead_grant_open(const struct fairlead_grant *grant,
			const char *key_path,
			struct fairlead_secret **ret_secret,
			struct fairlead_error *ret_error);
/* Valid as long as the secret; whoever copies them wipes the copy. */
const void *fairlead_secret_bytes(const struct fairlead_secret *secret,
				  size_t *ret_size);
/* Wipes it. NULL is allowed. */
void fairlead_secret_destroy(struct fairlead_secret *secret);

/* --- on a node: environment of a job's tasks --- */

/*
 * Call fn for each variable that the job's lane wants set (value) or unset
 * (value NULL) in its tasks on this node; not at all on an error. Reads the
 * file that the node's daemon wrote for the owner; needs no daemon. jobs_dir
 * NULL: FAIRLEAD_JOBS_DIR. attempt -1: the highest one that is there. -ENOENT:
 * the job has no lane here; -EACCES: it is another user's; -EPERM: the file
 * or a folder on the way to it is not what the daemon makes (a link, another
 * owner, open to others), so that somebody else may have put it there;
 * -EBADMSG: its contents are damaged.
 */
int fairlead_env_read(const char *jobs_dir, const char *submitter,
		      const char *job, int64_t attempt, uid_t owner,
		      void (*fn)(void *arg, const char *name,
				 const char *value),
		      void *arg, struct fairlead_error *ret_error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
