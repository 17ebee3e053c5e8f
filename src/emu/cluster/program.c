/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/cluster/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "elan/capability.h"
#include "elan/client.h"

#define END_STEP_NS 2000000 /* 2 ms */
#define END_STEPS   15000   /* 30 s */

int program_make(const struct launch_job *job, uint32_t cpus,
		 struct fairlead_error *ret_error)
{
	const int id = (int)job->program;
	const struct rms_request create = {
		.op = RMS_PRGCREATE,
		.id = id,
		.uid = job->uid,
		.value = (int32_t)cpus,
	};
	const struct rms_request claim = { .op = RMS_PRGCLAIM, .id = id };
	int result;

	/* Where members are looked for, its session is what they have. */
	setsid();
	result = rms_client_call(NULL, &create);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot make program description %d: %s", id,
				 strerror(-result));
	launch_pass("created");
	result = rms_client_call(NULL, &claim);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot give program %d the lane's "
				 "capabilities: %s",
				 id, strerror(-result));
	launch_pass("claimed");
	return 0;
}

/* Which of the capability's nodes is the one of RMS_NODEID, from its low end. */
static int node_find(const struct elan_capability *cap, uint32_t *ret_node)
{
	const char *text = getenv("RMS_NODEID");
	uint32_t left = text ? (uint32_t)strtoul(text, NULL, 10) : UINT32_MAX;

	for (uint32_t node = 0; node < capability_node_count(cap); node++) {
		bool has_any = false;
		uint32_t contexts = capability_context_count(cap);

		for (uint32_t i = 0; i < contexts && !has_any; i++)
			has_any = capability_has_process(cap, node, i);
		if (!has_any || left-- > 0)
			continue;
		*ret_node = node;
		return 0;
	}
	return -ENOENT;
}

int program_rank(uint32_t local, uint32_t *ret_rank,
		 struct fairlead_error *ret_error)
{
	struct elan_capability cap;
	uint32_t node = 0;
	int rank = rms_client_cap_get(NULL, 0, &cap);

	if (rank == 0)
		rank = node_find(&cap, &node);
	if (rank == 0 && local >= capability_context_count(&cap))
		rank = -ENOENT;
	if (rank == 0)
		rank = capability_rank_of(&cap, node, local);
	explicit_bzero(&cap, sizeof(cap));
	if (rank < 0)
		return error_set(ret_error, rank,
				 "the lane has no rank for task %u of this "
				 "node: %s",
				 local, strerror(-rank));
	*ret_rank = (uint32_t)rank;
	return 0;
}

static int signal_all(const char *dir, uint32_t program, int number)
{
	const struct rms_request request = {
		.op = RMS_PRGSIGNAL,
		.id = (int32_t)program,
		.value = number,
	};

	return rms_client_call(dir, &request);
}

void program_signal(const struct cluster_node *node, uint32_t program,
		    int signal)
{
	char dir[CLUSTER_RMS_DIR_MAX];

	cluster_rms_dir(node, dir);
	signal_all(dir, program, signal);
}

void program_account(const struct cluster_node *node, uint32_t program,
		     struct program_usage *usage)
{
	char dir[CLUSTER_RMS_DIR_MAX];
	struct rms_prgstats stats;

	cluster_rms_dir(node, dir);
	if (rms_client_stats(dir, (int)program, &stats) < 0)
		return;
	usage->user_ms += stats.utime;
	usage->system_ms += stats.stime;
	usage->bytes += stats.ebytes;
	usage->transfers += stats.exfers;
}

/* A daemon that is away has nothing that could be ended. */
static bool is_none(int result)
{
	return result == -ESRCH || result == -ENOENT || result == -ECONNREFUSED;
}

int program_end(const struct cluster_node *node, uint32_t program,
		struct fairlead_error *ret_error)
{
	const struct timespec step = { .tv_nsec = END_STEP_NS };
	const struct rms_request destroy = {
		.op = RMS_PRGDESTROY,
		.id = (int32_t)program,
	};
	char dir[CLUSTER_RMS_DIR_MAX];
	int result;

	cluster_rms_dir(node, dir);
	result = signal_all(dir, program, SIGKILL);
	if (is_none(result))
		return 0;
	for (uint32_t i = 0; i < END_STEPS; i++) {
		result = rms_client_members(dir, (int)program, NULL, 0);
		if (result <= 0)
			break;
		nanosleep(&step, NULL);
	}
	result = rms_client_call(dir, &destroy);
	if (result < 0 && !is_none(result))
		return error_set(ret_error, result,
				 "%s: cannot end program description %u: %s",
				 node->name, program, strerror(-result));
	return 0;
}

/* --- the end of a job --- */

static void say(int result, const struct fairlead_error *error)
{
	if (result < 0)
		dprintf(STDERR_FILENO, "fairlead: %s\n", error->text);
}

/* A pipe comes to its end: nobody is there any more who could start tasks. */
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
