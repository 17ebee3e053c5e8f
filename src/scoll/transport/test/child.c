/* SPDX-License-Identifier: BSD-3-Clause */
/* Pipes, and a bit of text. */
#include "scoll/transport/test/child.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLED_MAX    256
#define ARGUMENTS_MAX 16

extern char **environ;

static void fail(const char *what)
{
	perror(what);
	abort();
}

void child_start(struct child *child, const char *const *argv)
{
	char *all[ARGUMENTS_MAX + 2] = { "/proc/self/exe" };
	posix_spawn_file_actions_t actions;
	int in[2], out[2];

	for (int i = 0; i < ARGUMENTS_MAX && argv[i] != NULL; i++)
		all[i + 1] = (char *)argv[i];
	if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
		fail("pipe2");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	if (posix_spawn(&child->pid, all[0], &actions, NULL, all, environ) != 0)
		fail("posix_spawn");
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	child->in = fdopen(in[1], "w");
	child->out = fdopen(out[0], "r");
}

void child_tell(struct child *child, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(child->in, format, arguments);
	va_end(arguments);
	fputc('\n', child->in);
	fflush(child->in);
}

const char *child_hear(struct child *child, char answer[CHILD_ANSWER_MAX])
{
	if (fgets(answer, CHILD_ANSWER_MAX, child->out) == NULL ||
	    strncmp(answer, "ok", 2) != 0)
		fail("a child does not answer");
	answer[strcspn(answer, "\n")] = '\0';
	memmove(answer, answer + 2, strlen(answer) - 1);
	if (answer[0] == ' ')
		memmove(answer, answer + 1, strlen(answer));
	return answer;
}

static void leave(struct child *child)
{
	int status;

	fclose(child->in);
	waitpid(child->pid, &status, 0);
	fclose(child->out);
	child->pid = 0;
}

/*
 * What shm leaves behind of those that were killed, 16 MiB each. At the end of
 * the program only: shm of 1.17 crashes when it looks for memory that is gone.
 */
static pid_t killed[KILLED_MAX];
static size_t killed_count;

static void remains_remove(void)
{
	for (size_t i = 0; i < killed_count; i++) {
		char pattern[64];
		glob_t found;

		snprintf(pattern, sizeof(pattern), "/dev/shm/%d:*", killed[i]);
		if (glob(pattern, 0, NULL, &found) != 0)
			continue;
		for (size_t j = 0; j < found.gl_pathc; j++)
			unlink(found.gl_pathv[j]);
		globfree(&found);
	}
}

void child_kill(struct child *child)
{
	if (child->pid == 0)
		return;
	if (killed_count == 0)
		atexit(remains_remove);
	if (killed_count < KILLED_MAX)
		killed[killed_count++] = child->pid;
	kill(child->pid, SIGKILL);
	leave(child);
}

void child_stop(struct child *child)
{
	if (child->pid != 0)
		leave(child);
}

void child_prepare(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
}

size_t child_hex_read(const char *text, uint8_t *ret_bytes, size_t capacity)
{
	size_t size = strlen(text) / 2;

	for (size_t i = 0; i < size && i < capacity; i++)
		sscanf(text + 2 * i, "%2hhx", &ret_bytes[i]);
	return size;
}

void child_hex_write(FILE *file, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		fprintf(file, "%02x", bytes[i]);
}
