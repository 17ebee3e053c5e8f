/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read the answers of a fabric manager. None of them is trusted: types, sizes
 * and characters are checked, since a token becomes a header and a variable,
 * and a text part of an error.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/http.h"

#define FABRIC_ANSWER_QUOTE_MAX 200 /* bytes of the server's text */
#define FABRIC_ANSWER_WORD_MAX  24  /* bytes of a word */

/* A status that is no success, as a result of struct fabric_manager_outcome. */
int fabric_answer_result(unsigned int status);

/* The JSON value, or NULL. The caller releases it. */
json_t *fabric_answer_read(const struct http_reply *reply);

/* Tokens; NULL: there is none that can be used. They are the answer's. */
const char *fabric_answer_session_token(const json_t *answer);
const char *fabric_answer_access_token(const json_t *answer);

/*
 * The names of all jobs, as far as they can be ours: the last part of each
 * link. NULL: it is no list. The caller frees the array; names are the
 * answer's.
 */
const char **fabric_answer_names(const json_t *answer, size_t *ret_count);

/*
 * ": WHY", what the server says of an error; or "". It is one line, since
 * another could pass for one of ours. Nothing is quoted when one of the secrets
 * is in it (a secret may be NULL), and no long word, which may be the token of
 * a job.
 */
void fabric_answer_quote(const struct http_reply *reply,
			 const char *const *secrets, size_t secret_count,
			 char quote[FABRIC_ANSWER_QUOTE_MAX + 8]);
