/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line is one write, so that the lines of several processes on one pipe do
 * not mix. What cannot be written is lost: there is nobody left to tell.
 *
 * A program that a service starts inherits JOURNAL_STREAM also when its
 * standard error goes elsewhere, so the variable's device and inode are
 * compared with those of the descriptor (systemd.exec(5)).
 */
#include "sys/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define HEAD_MAX 256 /* bytes before the line */

static void write_all(const char *at, size_t left)
{
	while (left > 0) {
		ssize_t size = write(STDERR_FILENO, at, left);

		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			return;
		at += size;
		left -= (size_t)size;
	}
}

static void journal_sink(void *sink_data, enum log_level level,
			 const char *line)
{
	static const int priorities[] = {
		[LOG_LEVEL_ERROR] = LOG_ERR,
		[LOG_LEVEL_WARNING] = LOG_WARNING,
		[LOG_LEVEL_INFO] = LOG_INFO,
		[LOG_LEVEL_DEBUG] = LOG_DEBUG,
	};
	char text[HEAD_MAX + LOG_LINE_MAX];
	int size = snprintf(text, sizeof(text), "<%d>%s\n", priorities[level],
			    line);

	write_all(text, (size_t)size);
}

static void plain_sink(void *sink_data, enum log_level level, const char *line)
{
	const char *program = sink_data;
	char text[HEAD_MAX + LOG_LINE_MAX];
	char date[32] = "";
	char zone[8] = "";
	struct timespec now = { 0 };
	struct tm local = { 0 };
	int size;

	clock_gettime(CLOCK_REALTIME, &now);
	if (localtime_r(&now.tv_sec, &local) != NULL) {
		strftime(date, sizeof(date), "%FT%T", &local);
		strftime(zone, sizeof(zone), "%z", &local);
	}
	size = snprintf(text, sizeof(text),
			"%s.%03ld%.3s:%.2s %.64s: %s: %.*s\n", date,
			now.tv_nsec / 1000000, zone, zone + 3, program,
			log_level_format(level), LOG_LINE_MAX, line);
	write_all(text, (size_t)size);
}

static bool is_journal(void)
{
	const char *text = getenv("JOURNAL_STREAM");
	uintmax_t device, inode;
	struct stat status;

	return text != NULL &&
	       sscanf(text, "%" SCNuMAX ":%" SCNuMAX, &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device &&
	       status.st_ino == inode;
}

void sys_log_init(struct log *log, const char *program, enum log_level level)
{
	tzset();
	*log = (struct log){
		.level = level,
		.sink = is_journal() ? journal_sink : plain_sink,
		.sink_data = (void *)program,
	};
}
