/* SPDX-License-Identifier: BSD-3-Clause */
/* The fabric manager's state, and one exchange with a client. */
#pragma once

#include "emu/fm/core/softfm.h"

/* A job: {"jobID","mcastLimit","sessionToken","jobSteps":{STEP:[ID, ..]}}.
 * A tree: {"jobID","jobStepID","hwRoot","macs":[..]}. */
struct softfm {
	const struct softfm_config *config;
	const struct rng_seam *rng;
	char *basic;      /* the header of SOFTFM_USER */
	json_t *jobs;     /* by jobID */
	json_t *trees;    /* by address, as text */
	json_t *sessions; /* session token -> jobID */
	json_t *roots;    /* MAC of a root -> true */
	json_t *access;   /* access token -> end, ms */
	struct softfm_fault faults[SOFTFM_FAULTS_MAX];
	uint64_t fault_calls[SOFTFM_FAULTS_MAX];
	size_t fault_count;
};

struct softfm_exchange {
	struct softfm *softfm;
	const struct softfm_request *request;
	uint64_t now_ms;
	const char *id;      /* after the collection's path; "": none */
	const char *session; /* jobID of the caller's session token, or NULL */
	json_t *body;        /* the request's, an object; NULL: it has none */
	struct softfm_answer *answer;
};

#define SOFTFM_SECRET_BYTES 32
#define SOFTFM_SECRET_SIZE  (2 * SOFTFM_SECRET_BYTES + 1)

/* An unpredictable text. */
void softfm_secret_make(struct softfm *softfm, char secret[SOFTFM_SECRET_SIZE]);
/* The exchange is answered; body is taken. */
void exchange_answer(struct softfm_exchange *exchange, unsigned int status,
		     json_t *body);
/* code: of `message`, which clients parse in a 507. */
void exchange_refuse(struct softfm_exchange *exchange, unsigned int status,
		     unsigned int code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* A copy of the id in the log line's form. */
void exchange_name_job(struct softfm_exchange *exchange, const char *job);

/* Is it the content type of the request, perhaps with parameters? */
bool exchange_has_type(const struct softfm_exchange *exchange,
		       const char *type);
/* Find the caller. False: no administrator, and no session token. */
bool exchange_authenticate(struct softfm_exchange *exchange);
/* May a caller with a session token do it? */
bool exchange_is_permitted(const struct softfm_exchange *exchange,
			   enum softfm_op op);

/* Operations. What they need is checked: id, credentials, body. */
void softfm_token_create(struct softfm_exchange *exchange);
void softfm_job_list(struct softfm_exchange *exchange, bool is_cut);
void softfm_job_create(struct softfm_exchange *exchange);
void softfm_job_get(struct softfm_exchange *exchange);
void softfm_job_patch(struct softfm_exchange *exchange);
void softfm_job_delete(struct softfm_exchange *exchange);
void softfm_tree_create(struct softfm_exchange *exchange);
void softfm_tree_delete(struct softfm_exchange *exchange);

/* Without an answer. */
void softfm_job_remove(struct softfm *softfm, const char *job);
void softfm_tree_remove(struct softfm *softfm, const char *address);
size_t softfm_job_tree_count(const json_t *job);

/*
 * The fault of this request, or NULL. It is counted as called by all that
 * match; the oldest that is due decides.
 */
const struct softfm_fault *softfm_fault_take(struct softfm *softfm,
					     enum softfm_op op);
