/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that stand for numbers, in settings and options. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lanes/driver/common/options.h"

#define WORDS_MAX 4

struct words {
	const char *what;   /* "traffic class", for errors */
	const char *prefix; /* that a name may have before it, or NULL */
	size_t count;
	const char *names[WORDS_MAX]; /* by the numbers that they stand for */
	const char *all;              /* of them, for people */
};

/*
 * Slingshot's classes in the order of their numbers there, which is that of
 * priority: DEDICATED_ACCESS, LOW_LATENCY, BULK_DATA, BEST_EFFORT.
 */
extern const struct words words_traffic_classes;

/*
 * "A,B" as bits, at least one; *ret_first is the number of the first. -EINVAL
 * with a text.
 */
int words_parse(const struct words *words, const char *text, char separator,
		uint32_t *ret_bits, uint32_t *ret_first,
		struct fairlead_error *ret_error);
/* The value of a job's option, with colons; all of them have to be in ceiling. */
int words_option(const struct words *words, const struct option *option,
		 uint32_t ceiling, uint32_t *ret_bits, uint32_t *ret_first,
		 struct fairlead_error *ret_error);
