/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a person, or a program, sees of an answer. What commands write is other
 * people's text: on its way to a terminal nothing of it can move a cursor,
 * unless the caller wants it raw.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bytes.h"
#include "results.h"

/*
 * Write text with each byte that is no printable UTF-8, and each control
 * character but the tab, as \x and two digits.
 */
void show_visible(FILE *out, const uint8_t *bytes, size_t size);
/* Each line as "LABEL: line". The last one is ended, too. */
void show_lines(FILE *out, const char *label, const uint8_t *bytes, size_t size,
		bool is_raw);
/*
 * "exited with exit code 3", "killed by signal 9 (KILL)", "not run: " and why,
 * and that there was more output; "" when there is nothing to be said.
 */
void show_remark(const struct outcome *outcome, char *text, size_t capacity);
/* The exit code of the worst: as a shell has it, 255 where there is none. */
int show_code(const struct outcome *outcome);
/* A JSON object, without a newline. */
void show_json(struct writer *writer, const char *nodes, size_t count,
	       const struct outcome *outcome);
