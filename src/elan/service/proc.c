/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of /proc into numbers; and processes by descriptor, for good. */
#include "elan/service/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "sys/fd.h"

#define STAT_TEXT_MAX 1024
#define FIELD_FIRST   3 /* the one after the name */
#define FIELD_LAST    24
#define TEXT_MAX      (16u << 20)

static bool is_number_end(char c)
{
	return c == ' ' || c == '\n' || c == '\0';
}

/* Fields from the third on; those that are no numbers, or below 0, are 0. */
static int parse_fields(const char *at, uint64_t *fields)
{
	for (int i = FIELD_FIRST + 1; i <= FIELD_LAST; i++) {
		char *end;

		if (*at != ' ')
			return -EPROTO;
		at++;
		if (*at != '-' && (*at < '0' || *at > '9'))
			return -EPROTO;
		fields[i] = *at == '-' ? 0 : strtoull(at, &end, 10);
		if (*at == '-')
			strtoll(at, &end, 10);
		if (!is_number_end(*end))
			return -EPROTO;
		at = end;
	}
	return 0;
}

int proc_stat_parse(const char *text, struct proc_stat *ret_stat)
{
	/* The name may have any byte, ')' too. */
	const char *name_end = strrchr(text, ')');
	uint64_t fields[FIELD_LAST + 1] = { 0 };
	long pid;
	char *end;

	pid = strtol(text, &end, 10);
	if (end == text || *end != ' ' || pid <= 0 || pid > INT32_MAX ||
	    name_end == NULL || name_end[1] != ' ' || name_end[2] == '\0' ||
	    parse_fields(name_end + 3, fields) < 0)
		return -EPROTO;
	*ret_stat = (struct proc_stat){
		.pid = (int32_t)pid,
		.state = name_end[2],
		.parent = (int32_t)fields[4],
		.session = (int32_t)fields[6],
		.faults = fields[10] + fields[12],
		.waited_faults = fields[11] + fields[13],
		.user = fields[14],
		.system = fields[15],
		.waited_user = fields[16],
		.waited_system = fields[17],
		.threads = fields[20],
		.start = fields[22],
		.pages = fields[24],
	};
	return 0;
}

int proc_cgroup_parse(const char *text, char *ret_path, size_t capacity)
{
	const char *at = text;
	size_t size;

	while (strncmp(at, "0::", 3) != 0) {
		at = strchr(at, '\n');
		if (at == NULL)
			return -ENOENT;
		at++;
	}
	at += 3;
	size = strcspn(at, "\n");
	if (size == 0 || size >= capacity || at[0] != '/')
		return -EPROTO;
	memcpy(ret_path, at, size);
	ret_path[size] = '\0';
	/* Outside of what this daemon can see. */
	if (strncmp(ret_path, "/..", 3) == 0)
		return -EPROTO;
	return 0;
}

bool proc_is_users(const char *text, uint32_t uid)
{
	const char *at = strstr(text, "\nUid:");
	unsigned long ids[4];

	if (at == NULL || sscanf(at, "\nUid: %lu %lu %lu %lu", &ids[0], &ids[1],
				 &ids[2], &ids[3]) != 4)
		return false;
	for (size_t i = 0; i < 4; i++) {
		if (ids[i] != uid)
			return false;
	}
	return true;
}

/* A line: ID PARENT DEVICE ROOT PATH OPTIONS ... - TYPE SOURCE OPTIONS */
static bool is_mount(const char *line, char *ret_path, size_t capacity)
{
	const char *type = strstr(line, " - ");
	const char *line_end = line + strcspn(line, "\n");
	const char *at = line;
	size_t size;

	if (type == NULL || type > line_end ||
	    strncmp(type, " - cgroup2 ", 11) != 0)
		return false;
	for (int i = 0; i < 3; i++) {
		at = memchr(at, ' ', (size_t)(line_end - at));
		if (at == NULL)
			return false;
		at++;
	}
	if (strncmp(at, "/ ", 2) != 0)
		return false;
	at += 2;
	size = strcspn(at, " \n");
	if (size == 0 || size >= capacity)
		return false;
	memcpy(ret_path, at, size);
	ret_path[size] = '\0';
	return true;
}

int proc_mount_parse(const char *text, char *ret_path, size_t capacity)
{
	for (const char *at = text; at != NULL && *at != '\0';) {
		if (is_mount(at, ret_path, capacity))
			return 0;
		at = strchr(at, '\n');
		at = at != NULL ? at + 1 : NULL;
	}
	return -ENOENT;
}

int proc_read(const char *path, char *text, size_t capacity)
{
	_auto_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size;

	if (fd < 0)
		return -errno;
	size = fd_read(fd, text, capacity - 1);
	if (size < 0)
		return (int)size;
	text[size] = '\0';
	return (int)size;
}

int proc_read_alloc(const char *path, char **ret_text)
{
	_auto_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	_auto_(freep) char *text = NULL;
	size_t capacity = 4096;
	size_t size = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t count;

		text = memory_resize(text, capacity, 1);
		count = fd_read(fd, text + size, capacity - 1 - size);
		if (count < 0)
			return (int)count;
		size += (size_t)count;
		if (size < capacity - 1)
			break;
		if (capacity >= TEXT_MAX)
			return -EFBIG;
		capacity *= 2;
	}
	text[size] = '\0';
	*ret_text = take_ptr(text);
	return 0;
}

static int gone(int result)
{
	return result == -ENOENT ? -ESRCH : result;
}

int proc_stat(int32_t pid, struct proc_stat *ret_stat)
{
	char path[32];
	char text[STAT_TEXT_MAX];
	int result;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	result = proc_read(path, text, sizeof(text));
	if (result >= 0)
		result = proc_stat_parse(text, ret_stat);
	return gone(result);
}

int proc_cgroup(int32_t pid, char *ret_path, size_t capacity)
{
	_auto_(freep) char *text = NULL;
	char path[32];
	int result;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	result = gone(proc_read_alloc(path, &text));
	if (result == 0)
		result = proc_cgroup_parse(text, ret_path, capacity);
	return result;
}

int proc_stat_all(struct proc_stat **ret_stats, size_t *ret_count)
{
	_auto_(freep) struct proc_stat *stats = NULL;
	_auto_(closedirp) DIR *dir = opendir("/proc");
	const struct dirent *entry;
	size_t capacity = 0;
	size_t count = 0;

	if (dir == NULL)
		return -errno;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		if (count == capacity) {
			capacity = capacity > 0 ? 2 * capacity : 256;
			stats = memory_resize(stats, capacity, sizeof(*stats));
		}
		if (proc_stat((int32_t)strtol(entry->d_name, NULL, 10),
			      &stats[count]) == 0)
			count++;
	}
	*ret_stats = take_ptr(stats);
	*ret_count = count;
	return 0;
}

int proc_open(const struct rms_process *process)
{
	int pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	struct proc_stat stat;

	if (pidfd < 0)
		return -errno;
	/* While it has not ended its pid is nobody else's. */
	if (proc_stat(process->pid, &stat) < 0 || proc_has_ended(pidfd) ||
	    stat.start != process->start) {
		close(pidfd);
		return -ESRCH;
	}
	return pidfd;
}

bool proc_has_ended(int pidfd)
{
	struct pollfd poll_fd = { .fd = pidfd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) != 0;
}

int proc_signal(int pidfd, int number)
{
	if (syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0) < 0)
		return -errno;
	return 0;
}
