/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading the members of a JSON object that a client sent, and writing one.
 * Readers return 0, or -EINVAL with a text that names the member.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

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
