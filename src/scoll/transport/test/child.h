/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that executes commands: this executable again, so that nothing
 * of libfabric is forked. It gets a line and answers with one that begins with
 * "ok". It ends with the test, however that does.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define CHILD_ANSWER_MAX 4096

struct child {
	pid_t pid; /* 0: it is gone */
	FILE *in;  /* commands to it */
	FILE *out; /* what it says */
};

/* argv is all but the program; it ends with NULL. */
void child_start(struct child *child, const char *const *argv);
void child_tell(struct child *child, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The answer without "ok ". The test ends when it is another one. */
const char *child_hear(struct child *child, char answer[CHILD_ANSWER_MAX]);
/* kill -9. */
void child_kill(struct child *child);
/* Let it end by itself. */
void child_stop(struct child *child);

/* In the child: lines come unbuffered, and it ends with who started it. */
void child_prepare(void);

/* Bytes as text. Returns how many there are. */
size_t child_hex_read(const char *text, uint8_t *ret_bytes, size_t capacity);
void child_hex_write(FILE *file, const uint8_t *bytes, size_t size);
