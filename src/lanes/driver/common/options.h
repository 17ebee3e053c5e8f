/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job's options for its driver: "vnis=2,tcs=LOW_LATENCY" or "off". Only the
 * form is read here; which names exist and what they mean is the driver's.
 *
 * Pure. The text comes from users and is not trusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fairlead_driver.h"

#define OPTIONS_COUNT_MAX 32 /* options in one text */

struct option {
	const char *name;  /* not empty */
	const char *value; /* NULL: no '='; may be "" */
};

/* Items point into the buffer: a struct options is not to be copied. */
struct options {
	size_t count;
	struct option items[OPTIONS_COUNT_MAX];
	char buffer[FAIRLEAD_OPTIONS_MAX + 1];
};

/*
 * Split text at its commas. "" has no options. -EINVAL, with the part that is
 * wrong: a byte that is not printable ASCII or is a space, an empty item or
 * name, a name that stands twice; -E2BIG: too long or too many. After a
 * failure nothing can be said of *options.
 */
int options_parse(struct options *options, const char *text,
		  struct fairlead_error *ret_error);

/*
 * The option's value as a decimal number from min to max. -EINVAL, with a text
 * that names the option and the range, for anything else.
 */
int option_number(const struct option *option, uint32_t min, uint32_t max,
		  uint32_t *ret_number, struct fairlead_error *ret_error);

/*
 * An option without a value, such as "off". -EINVAL with a text. And what is
 * with "off" says nothing: also -EINVAL.
 */
int option_flag(const struct option *option, bool *ret_flag,
		struct fairlead_error *ret_error);
int options_check_off(const struct options *options, bool is_off,
		      struct fairlead_error *ret_error);

/* Add to a text of completed options; a driver's own fit by far. */
void options_append(char text[FAIRLEAD_OPTIONS_MAX + 1], const char *format,
		    ...) __attribute__((format(printf, 2, 3)));

/*
 * Digits only, no sign, blank or leading zero, from min to max. False, and
 * nothing written, for any other text.
 */
bool number_parse(const char *text, uint32_t min, uint32_t max,
		  uint32_t *ret_number);

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
