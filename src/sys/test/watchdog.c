/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A signal, as it comes through where no loop runs. Its handler makes no call
 * that is not safe in one.
 */
#include "sys/test/watchdog.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *volatile watched_lines;

static void say(const char *text)
{
	size_t size = strlen(text);

	while (size > 0) {
		ssize_t written = write(STDERR_FILENO, text, size);

		if (written <= 0)
			return;
		text += written;
		size -= (size_t)written;
	}
}

static void on_alarm(int number)
{
	const char *lines = watched_lines;

	say("the test hangs");
	if (lines) {
		say("; its log:\n");
		say(lines);
	}
	say("\n");
	abort();
}

void watchdog_start(const char *lines)
{
	const struct sigaction action = { .sa_handler = on_alarm };

	watched_lines = lines;
	sigaction(SIGALRM, &action, NULL);
	alarm(WATCHDOG_S);
}

void watchdog_stop(void)
{
	alarm(0);
	watched_lines = NULL;
}
