/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the fuzz targets share. A target is a file fuzz_<name>.c with
 * LLVMFuzzerTestOneInput(): it feeds the bytes to one decoder or parser, and
 * aborts when what was accepted does not come out the same again. It returns 0
 * always.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As assert(), but in every build. */
#define fuzz_check(condition)                                              \
	((condition) ? (void)0                                             \
		     : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				#condition),                               \
			abort()))

/* The bytes as text, ended by a zero; the caller frees it. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	fuzz_check(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = 0;
	return text;
}
