/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command is a process group of its own, so that all of it can be killed at
 * its timeout. When it fails, the beginning of its standard error goes into the
 * log.
 */
#include "base/memory.h"
#include "lanes/manager/site_command.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#define OUTPUT_MAX 512 /* bytes of standard error that are kept */

struct manager_command {
	struct commands *commands;
	char *path;
	char *node;
	char *reason;
	uint64_t id;
	uv_process_t process;
	uv_pipe_t output;
	uv_timer_t timer;
	unsigned int open_count; /* handles that the loop holds */
	bool is_late;
	char text[OUTPUT_MAX];
	size_t text_size;
	char scratch[OUTPUT_MAX]; /* what is read and not kept */
	struct manager_command *prev, *next;
};

struct commands {
	uv_loop_t *loop;
	const struct log *log;
	uint64_t timeout_ms;
	command_done_fn *done;
	void *done_ctx;
	struct manager_command *waiting;
	struct manager_command *running;
	size_t waiting_count;
	size_t running_count;
	bool is_destroyed;
};

static void command_free(struct manager_command *command)
{
	free(command->path);
	free(command->node);
	free(command->reason);
	free(command);
}

static void start_waiting(struct commands *commands);

static void on_closed(uv_handle_t *handle)
{
	struct manager_command *command = handle->data;
	struct commands *commands = command->commands;

	if (--command->open_count > 0)
		return;
	DL_DELETE(commands->running, command);
	commands->running_count--;
	command_free(command);
	if (!commands->is_destroyed)
		start_waiting(commands);
	else if (commands->running_count == 0)
		free(commands);
}

static void close_handle(uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, on_closed);
}

static void close_all(struct manager_command *command)
{
	close_handle((uv_handle_t *)&command->process);
	close_handle((uv_handle_t *)&command->output);
	close_handle((uv_handle_t *)&command->timer);
}

static void report_done(const struct manager_command *command, int result)
{
	const struct commands *commands = command->commands;

	if (!commands->is_destroyed)
		commands->done(commands->done_ctx, command->node, command->id,
			       result);
}

/* The loop may see the exit before the last output. */
static void read_rest(struct manager_command *command)
{
	size_t left = OUTPUT_MAX - command->text_size;
	ssize_t count;
	uv_os_fd_t fd;

	if (left == 0 || uv_fileno((uv_handle_t *)&command->output, &fd) < 0)
		return;
	count = read(fd, command->text + command->text_size, left);
	if (count > 0)
		command->text_size += (size_t)count;
}

static void on_ended(uv_process_t *process, int64_t status, int term_signal)
{
	struct manager_command *command = process->data;
	const struct log *log = command->commands->log;

	read_rest(command);
	if (command->is_late)
		log_error(log,
			  "command took too long and was killed path=%s "
			  "node=%s",
			  command->path, command->node);
	else if (status != 0 || term_signal != 0)
		log_error(log,
			  "command failed path=%s node=%s status=%d signal=%d "
			  "output=%.*s",
			  command->path, command->node, (int)status,
			  term_signal, (int)command->text_size, command->text);
	else
		log_info(log, "command done path=%s node=%s", command->path,
			 command->node);
	report_done(command, command->is_late                  ? -ETIMEDOUT
			     : status != 0 || term_signal != 0 ? -EIO
							       : 0);
	close_all(command);
}

static void on_late(uv_timer_t *timer)
{
	struct manager_command *command = timer->data;

	command->is_late = true;
	kill(-command->process.pid, SIGKILL);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct manager_command *command = handle->data;
	size_t left = OUTPUT_MAX - command->text_size;

	*buffer = left > 0 ? uv_buf_init(command->text + command->text_size,
					 (unsigned int)left)
			   : uv_buf_init(command->scratch, OUTPUT_MAX);
}

static void on_output(uv_stream_t *stream, ssize_t count,
		      const uv_buf_t *buffer)
{
	struct manager_command *command = stream->data;

	if (count < 0)
		uv_read_stop(stream);
	else if (buffer->base != command->scratch)
		command->text_size += (size_t)count;
}

static int spawn(struct manager_command *command)
{
	char *args[] = { command->path, command->node, command->reason, NULL };
	uv_stdio_container_t stdio[] = {
		{ .flags = UV_IGNORE },
		{ .flags = UV_IGNORE },
		{ .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
		  .data.stream = (uv_stream_t *)&command->output },
	};
	const uv_process_options_t options = {
		.file = command->path,
		.args = args,
		.exit_cb = on_ended,
		.flags = UV_PROCESS_DETACHED,
		.stdio = stdio,
		.stdio_count = 3,
	};

	/* Descriptors of libraries, which must not be inherited. */
	(void)close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	return uv_spawn(command->commands->loop, &command->process, &options);
}

static void start(struct manager_command *command)
{
	struct commands *commands = command->commands;
	int result;

	DL_APPEND(commands->running, command);
	commands->running_count++;
	uv_timer_init(commands->loop, &command->timer);
	uv_pipe_init(commands->loop, &command->output, 0);
	command->timer.data = command;
	command->output.data = command;
	command->process.data = command;
	command->open_count = 3;
	result = spawn(command);
	if (result < 0) {
		log_error(commands->log,
			  "command could not be started path=%s node=%s: %s",
			  command->path, command->node, uv_strerror(result));
		report_done(command, result);
		close_all(command);
		return;
	}
	uv_timer_start(&command->timer, on_late, commands->timeout_ms, 0);
	uv_read_start((uv_stream_t *)&command->output, on_alloc, on_output);
}

static void start_waiting(struct commands *commands)
{
	while (commands->waiting != NULL &&
	       commands->running_count < COMMANDS_RUNNING_MAX) {
		struct manager_command *command = commands->waiting;

		DL_DELETE(commands->waiting, command);
		commands->waiting_count--;
		start(command);
	}
}

struct commands *commands_create(uv_loop_t *loop, const struct log *log,
				 uint64_t timeout_ms, command_done_fn *done,
				 void *ctx)
{
	struct commands *commands = memory_alloc(sizeof(*commands));

	commands->loop = loop;
	commands->log = log;
	commands->timeout_ms = timeout_ms;
	commands->done = done;
	commands->done_ctx = ctx;
	return commands;
}

void commands_destroy(struct commands *commands)
{
	struct manager_command *command;
	struct manager_command *next;

	if (commands == NULL)
		return;
	commands->is_destroyed = true;
	DL_FOREACH_SAFE (commands->waiting, command, next) {
		DL_DELETE(commands->waiting, command);
		command_free(command);
	}
	if (commands->running_count == 0) {
		free(commands);
		return;
	}
	DL_FOREACH (commands->running, command)
		close_all(command);
}

void commands_run(struct commands *commands, const char *path, const char *node,
		  const char *reason, uint64_t id)
{
	struct manager_command *command;

	if (commands->waiting_count >= COMMANDS_WAITING_MAX) {
		log_error(commands->log,
			  "too many commands wait; this one is dropped path=%s "
			  "node=%s",
			  path, node);
		commands->done(commands->done_ctx, node, id, -EAGAIN);
		return;
	}
	command = memory_alloc(sizeof(*command));
	command->commands = commands;
	command->id = id;
	command->path = memory_text(path);
	command->node = memory_text(node);
	command->reason = memory_text(reason);
	DL_APPEND(commands->waiting, command);
	commands->waiting_count++;
	start_waiting(commands);
}

size_t commands_count(const struct commands *commands)
{
	return commands->waiting_count + commands->running_count;
}
