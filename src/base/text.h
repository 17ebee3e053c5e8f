/* SPDX-License-Identifier: BSD-3-Clause */
/* Text from outside, made fit for a terminal, a log line and JSON. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Make text valid UTF-8 without control characters, in place: each byte that
 * is neither becomes '?'. A newline stays.
 */
void text_clean(char *text);
/* Let text end in "..." within capacity bytes (>= 4), between characters. */
void text_cut(char *text, size_t capacity);
/* Copy, clean, into capacity bytes (>= 4); what is too long ends in "...". */
void text_fit(char *to, size_t capacity, const char *from);
/*
 * Take the next line off *rest, without its newline; empty lines are left
 * out. NULL: there is none. The line is not ended by a zero.
 */
const char *text_line(const char **rest, size_t *ret_size);
/*
 * The decimal number that the first size bytes of text are, digits only. False:
 * they are none, or one above UINT32_MAX; *ret_number is left alone.
 */
bool text_number(const char *text, size_t size, uint32_t *ret_number);
