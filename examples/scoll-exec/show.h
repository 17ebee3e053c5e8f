/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How an answer is printed. What commands write is other people's text: it
 * cannot move the cursor of a terminal.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "results.h"

/*
 * Write text with each byte that is no printable UTF-8, and each control
 * character but the tab, as \x and two digits.
 */
void show_visible(FILE *out, const uint8_t *bytes, size_t size);
/* Each line as "LABEL: line". The last one is ended, too. */
void show_lines(FILE *out, const char *label, const uint8_t *bytes,
		size_t size);
/*
 * "exited with exit code 3", "killed by signal 9 (KILL)", "not run: " and the
 * reason, "output truncated"; "" after exit code 0.
 */
void show_remark(const struct outcome *outcome, char *text, size_t capacity);
