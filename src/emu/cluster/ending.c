/* SPDX-License-Identifier: BSD-3-Clause */
/* A pipe has come to its end: nobody is there any more who could start tasks. */
#include "emu/cluster/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/cluster/program.h"

static void say(int result, const struct fairlead_error *error)
{
	if (result < 0)
		dprintf(STDERR_FILENO, "fairlead: %s\n", error->text);
}

static void run(const struct cluster *cluster,
		struct cluster_node *const *nodes, uint32_t node_count,
		uint64_t grant_id, uint32_t program, int fd)
{
	struct fairlead_error error;
	char byte;

	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
	for (uint32_t i = 0; i < node_count; i++) {
		if (program != 0)
			say(program_end(nodes[i], program, &error), &error);
		say(cluster_job_end(cluster, nodes[i], grant_id, &error),
		    &error);
	}
}

/* Of what was inherited it keeps the pipe and stderr. */
static void become_ending(int *fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (*fd != STDERR_FILENO + 1)
		*fd = dup2(*fd, STDERR_FILENO + 1);
	close_range(STDERR_FILENO + 2, ~0u, 0);
}

int ending_start(const struct cluster *cluster,
		 struct cluster_node *const *nodes, uint32_t node_count,
		 uint64_t grant_id, uint32_t program, struct ending *ret_ending,
		 struct fairlead_error *ret_error)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_set(ret_error, -errno, "cannot make a pipe: %s",
				 strerror(errno));
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		become_ending(&fds[0]);
		run(cluster, nodes, node_count, grant_id, program, fds[0]);
		_exit(0);
	}
	close(fds[0]);
	if (pid < 0) {
		close(fds[1]);
		return error_set(ret_error, -EAGAIN, "cannot fork");
	}
	*ret_ending = (struct ending){ .fd = fds[1], .pid = pid };
	return 0;
}

void ending_finish(struct ending *ending)
{
	if (ending->fd < 0)
		return;
	close(ending->fd);
	ending->fd = -1;
	while (waitpid(ending->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
