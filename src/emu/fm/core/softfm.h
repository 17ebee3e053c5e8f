/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A software fabric manager, as far as hardware collectives go: jobs, which
 * reserve a number of multicast addresses, and multicast trees of jobs. Pure:
 * it takes parsed HTTP requests and gives answers. Time is passed to each call.
 *
 * There are two kinds of clients. A job manager has the credentials of an
 * administrator (an OAuth access token, a password, or a client certificate);
 * an application has the session token of its job, and may do with it what
 * struct softfm_config allows.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/seam.h"

#define SOFTFM_ADDRESSES  8192       /* of 13 bits */
#define SOFTFM_JOB_ID_MAX 255        /* bytes */
#define SOFTFM_BODY_MAX   (4u << 20) /* bytes of a request */
#define SOFTFM_FOREVER    UINT64_MAX
#define SOFTFM_FAULTS_MAX 64

/* Users and paths that job managers expect. */
#define SOFTFM_USER           "cxi"
#define SOFTFM_TOKEN_PATH     "/oauth/token"
#define SOFTFM_JOBS_PATH      "/fabric/collectives/jobs"
#define SOFTFM_MULTICAST_PATH "/fabric/collectives/multicasts"

/* The answer to a reservation of a job that has one. */
enum softfm_duplicate {
	SOFTFM_DUPLICATE_REFUSED, /* 409 */
	SOFTFM_DUPLICATE_SAME,    /* 200 and the document that is there */
};

/* Kept by reference. */
struct softfm_config {
	const char *prefix; /* of all paths, "" or "/apis/fabric-manager" */
	const char *client_id;
	const char *client_secret;
	const char *password;
	uint32_t address_count; /* for trees; at most SOFTFM_ADDRESSES */
	uint32_t token_life_s;  /* of an access token */
	enum softfm_duplicate duplicate;
	/* What a session token may do to the document of its job. */
	bool token_may_get;
	bool token_may_patch;
};

enum softfm_op {
	SOFTFM_OP_TOKEN,
	SOFTFM_OP_LIST,
	SOFTFM_OP_CREATE,
	SOFTFM_OP_GET,
	SOFTFM_OP_PATCH,
	SOFTFM_OP_DELETE,
	SOFTFM_OP_TREE,
	SOFTFM_OP_UNTREE,
	SOFTFM_OP_COUNT,
	SOFTFM_OP_NONE = SOFTFM_OP_COUNT, /* of an unknown path */
	SOFTFM_OP_ANY,                    /* of a fault */
};

/* All but path and method may be NULL. Borrowed. */
struct softfm_request {
	const char *method;
	const char *path; /* without percent encoding, and without the query */
	const char *authorization;
	const char *content_type;
	const void *body;
	size_t size;
	bool is_certified; /* came with a client certificate that was verified */
};

struct softfm_answer {
	enum softfm_op op;
	unsigned int status;
	json_t *body; /* the caller's */
	/* The job that it is about, without control characters; "": none. */
	char job[SOFTFM_JOB_ID_MAX + 1];
	bool has_changed; /* softfm_save gives other contents than before */
	/* Faults: when it is sent, and whether the connection ends instead. */
	uint64_t delay_ms; /* or SOFTFM_FOREVER */
	bool is_lost;
};

/* A fault of the nth to (nth + count - 1)th request of an operation. */
struct softfm_fault {
	enum softfm_op op;
	uint64_t nth;
	uint64_t count;
	unsigned int status; /* and no effect; 0: not changed */
	unsigned int code;   /* of `message`, for 507 */
	uint64_t delay_ms;   /* SOFTFM_FOREVER: no answer */
	bool is_lost_before; /* the connection ends, without effect */
	bool is_lost_after;  /* the connection ends, after the effect */
	bool is_cut;         /* SOFTFM_OP_LIST: half of it */
};

struct softfm;

/* rng: as the config. Never fails. */
struct softfm *softfm_create(const struct softfm_config *config,
			     const struct rng_seam *rng);
void softfm_destroy(struct softfm *softfm);
DEFINE_AUTO(struct softfm, softfm_destroy)

void softfm_handle(struct softfm *softfm, const struct softfm_request *request,
		   uint64_t now_ms, struct softfm_answer *ret_answer);

/* Jobs and trees, without access tokens. The caller releases the object. */
json_t *softfm_save(const struct softfm *softfm);
/* In place of what is there. -EINVAL with a text. */
int softfm_load(struct softfm *softfm, json_t *state,
		struct fairlead_error *ret_error);

/* --- faults and other control, for tests --- */

/* -ENOSPC. */
int softfm_fault_add(struct softfm *softfm, const struct softfm_fault *fault);
void softfm_fault_clear(struct softfm *softfm);
/* All access tokens end. */
void softfm_expire(struct softfm *softfm);
/* A job and its trees vanish. -ENOENT. */
int softfm_vanish(struct softfm *softfm, const char *job);

const char *softfm_op_format(enum softfm_op op);
/* An operation's name, or "any". -EINVAL. */
int softfm_op_parse(const char *text, enum softfm_op *ret_op);

/* Jobs and trees as an HTML page, without tokens. */
void softfm_page(const struct softfm *softfm, struct writer *page);
