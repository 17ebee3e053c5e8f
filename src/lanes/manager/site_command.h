/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The site's own programs: drain_command and undrain_command, run with NODE and
 * REASON as arguments, never by a shell. Some run at a time, the others wait;
 * failures and timeouts are logged.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/log.h"

#define COMMANDS_RUNNING_MAX 8
#define COMMANDS_WAITING_MAX 4096  /* more are dropped, and logged */
#define COMMAND_TIMEOUT_MS   60000 /* then it is killed */

struct commands;

/*
 * How a command has ended: 0 when it exited with 0, else a negative errno. It
 * must not call the commands. May be called from within commands_run().
 */
typedef void command_done_fn(void *ctx, const char *node, uint64_t id,
			     int result);

/*
 * loop and log are kept by reference. timeout_ms: of one command;
 * COMMAND_TIMEOUT_MS but in tests.
 */
struct commands *commands_create(uv_loop_t *loop, const struct log *log,
				 uint64_t timeout_ms, command_done_fn *done,
				 void *ctx);
/*
 * Forget those that wait, and leave those that run to themselves: `done` is
 * called for none. The loop frees the rest: run it before it is closed.
 */
void commands_destroy(struct commands *commands);
DEFINE_AUTO(struct commands, commands_destroy)

/* Texts are copied. */
void commands_run(struct commands *commands, const char *path, const char *node,
		  const char *reason, uint64_t id);
/* Running and waiting; for tests, which wait for none. */
size_t commands_count(const struct commands *commands);
