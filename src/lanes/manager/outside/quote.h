/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a fabric manager says of an error, fit for an error of ours. It is one
 * line, since another could pass for one of ours. Nothing is quoted when one of
 * the secrets is in it, and no long word, which may be the token of a job.
 */
#pragma once

#include <stddef.h>

#include "base/http.h"

#define OUTSIDE_QUOTE_MAX 200 /* bytes of the server's text */
#define OUTSIDE_WORD_MAX  24  /* bytes of a word */

/* ": WHY", or "". A secret may be NULL. */
void outside_quote(const struct http_reply *reply, const char *const *secrets,
		   size_t secret_count, char quote[OUTSIDE_QUOTE_MAX + 8]);
