/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An error that a person reads.
 *
 * Every function returns 0 (or a count) on success and a negative errno on
 * failure. Where the reason has to reach a person as well, the function takes
 * a `struct fairlead_error *ret_error`, which may be NULL. It is the caller's,
 * it needs no clean-up, and it is written only on failure.
 */
#ifndef FAIRLEAD_ERROR_H
#define FAIRLEAD_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a text, with its terminating zero. A longer one is cut with "...". */
#define FAIRLEAD_ERROR_TEXT_MAX 1024

struct fairlead_error {
	int code;                           /* negative errno, as returned */
	char text[FAIRLEAD_ERROR_TEXT_MAX]; /* lower case, no full stop */
};

#ifdef __cplusplus
}
#endif

#endif
