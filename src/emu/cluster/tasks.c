/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How tasks are started: each by itself, or on Elan those of a node by a
 * process that makes their program description first.
 */
#include "emu/cluster/tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/cluster/program.h"

static void put_number(const char *name, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	setenv(name, text, 1);
}

static void put_ranks(const struct launch *launch,
		      const struct launch_task *task)
{
	const struct launch_spec *spec = launch->spec;
	setenv("FAIRLEAD_NODELIST", spec->node_list, 1);
	put_number("FAIRLEAD_RANK", task->rank);
	put_number("FAIRLEAD_NTASKS", launch->task_count);
	put_number("FAIRLEAD_LOCAL_RANK", task->local_rank);
	put_number("FAIRLEAD_NODEID", task->node_index);
	put_number("FAIRLEAD_NNODES", spec->node_count);
}

/* Who started us may be gone already, and nobody would end us then. */
static int die_with_parent(pid_t parent, struct fairlead_error *ret_error)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		return error_set(ret_error, -ECANCELED, "the job has ended");
	return 0;
}

static int take_streams(const struct launch_task *task)
{
	int in_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setpgid(0, 0);
	return in_fd < 0 || dup2(in_fd, 0) < 0 ||
			       dup2(task->streams[0].task_fd, 1) < 0 ||
			       dup2(task->streams[1].task_fd, 2) < 0
		       ? -EIO
		       : 0;
}

static void run_program(const struct launch *launch)
{
	sigprocmask(SIG_SETMASK, launch->spec->signal_mask, NULL);
	execvp(launch->spec->argv[0], launch->spec->argv);
	dprintf(STDERR_FILENO, "fairlead run: cannot run '%s': %s\n",
		launch->spec->argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void run_task(const struct launch *launch,
		     const struct launch_task *task)
{
	const struct launch_spec *spec = launch->spec;
	struct fairlead_error error;
	int result = take_streams(task);

	if (result < 0)
		_exit(126);
	result = launch_enter(spec->cluster, spec->nodes[task->node_index],
			      &spec->job, &error);
	if (result == 0)
		result = die_with_parent(launch->pid, &error);
	if (result < 0) {
		dprintf(STDERR_FILENO, "fairlead run: %s\n", error.text);
		_exit(126);
	}
	put_ranks(launch, task);
	run_program(launch);
}

static void close_task_ends(struct launch_task *task)
{
	closep(&task->streams[0].task_fd);
	closep(&task->streams[1].task_fd);
	task->streams[0].task_fd = task->streams[1].task_fd = -1;
}

static int open_streams(struct launch_task *task,
			struct fairlead_error *ret_error)
{
	for (int i = 0; i < 2; i++) {
		int fds[2];

		if (pipe2(fds, O_CLOEXEC) < 0)
			return error_set(ret_error, -errno,
					 "cannot make a pipe: %s",
					 strerror(errno));
		task->streams[i].fd = fds[0];
		task->streams[i].task_fd = fds[1];
	}
	return 0;
}

static void task_started(struct launch *launch, struct launch_task *task,
			 pid_t pid)
{
	/* Both do: a signal may come before the task runs. */
	(void)setpgid(pid, pid);
	task->pid = pid;
	launch->groups[task->rank] = pid;
	launch->running_count++;
}

static int start_task(struct launch *launch, struct launch_task *task,
		      struct fairlead_error *ret_error)
{
	int result = open_streams(task, ret_error);
	pid_t pid = -1;

	if (result == 0)
		pid = fork();
	if (pid == 0)
		run_task(launch, task);
	close_task_ends(task);
	if (result < 0)
		return result;
	if (pid < 0)
		return error_set(ret_error, -errno, "cannot start a task: %s",
				 strerror(errno));
	task_started(launch, task, pid);
	return 0;
}

/* --- tasks in a program description --- */

/* A task has the rank that its driver gives it. */
static void run_member(const struct launch *launch,
		       const struct launch_task *task)
{
	const struct launch_job *job = &launch->spec->job;
	const struct fairlead_record none = { .size = 0 };
	struct fairlead_error error;
	uint32_t rank = 0;
	int result;

	if (take_streams(task) < 0)
		_exit(126);
	result = die_with_parent(launch->pid, &error);
	if (result == 0)
		result = program_rank(task->local_rank, &rank, &error);
	if (result == 0 && job->driver->node->task != NULL)
		result =
			job->driver->node->task(job->lane, &none, rank, &error);
	if (result < 0) {
		dprintf(STDERR_FILENO, "fairlead run: %s\n", error.text);
		_exit(126);
	}
	put_ranks(launch, task);
	put_number("FAIRLEAD_RANK", rank);
	run_program(launch);
}

/* What the process that starts a node's tasks says: one more, or why not. */
struct task_report {
	pid_t pid; /* 0: the error */
	struct fairlead_error error;
};

static void report_error(int fd, const struct fairlead_error *error)
{
	struct task_report report = { .error = *error };

	if (write(fd, &report, sizeof(report)) != sizeof(report))
		_exit(126);
}

/* They are members, and children of who called launch_run(). */
static void fork_members(const struct launch *launch, struct launch_task *tasks,
			 uint32_t count, int fd)
{
	for (uint32_t i = 0; i < count; i++) {
		struct task_report report = { 0 };

		report.pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD,
					    NULL, NULL, NULL, NULL);
		if (report.pid == 0)
			run_member(launch, &tasks[i]);
		if (report.pid < 0) {
			error_set(&report.error, -errno,
				  "cannot start a task: %s", strerror(errno));
			report.pid = 0;
		}
		if (write(fd, &report, sizeof(report)) != sizeof(report) ||
		    report.pid == 0)
			_exit(126);
	}
}

/* Steps 7 of a job manager, on one node. */
static void run_node(const struct launch *launch, struct launch_task *tasks,
		     uint32_t count, int fd)
{
	const struct launch_spec *spec = launch->spec;
	uint32_t index = tasks[0].node_index;
	struct fairlead_error error;
	int result = die_with_parent(launch->pid, &error);

	if (result == 0)
		result = launch_enter_as_root(spec->nodes[index], &spec->job,
					      &error);
	if (result == 0)
		result = program_make(&spec->job, spec->cores[index], &error);
	if (result == 0)
		result = launch_drop_root(spec->cluster, &spec->job, &error);
	if (result == 0) /* who changes its user is let live */
		result = die_with_parent(launch->pid, &error);
	if (result < 0)
		report_error(fd, &error);
	else
		fork_members(launch, tasks, count, fd);
	_exit(0);
}

static int read_reports(struct launch *launch, struct launch_task *tasks,
			uint32_t count, int fd,
			struct fairlead_error *ret_error)
{
	for (uint32_t i = 0; i < count; i++) {
		struct task_report report;

		if (read(fd, &report, sizeof(report)) != sizeof(report))
			return error_set(
				ret_error, -ECHILD,
				"what starts tasks on '%s' has ended",
				launch->spec->nodes[tasks->node_index]->name);
		if (report.pid == 0) {
			*ret_error = report.error;
			return report.error.code;
		}
		task_started(launch, &tasks[i], report.pid);
	}
	return 0;
}

static int start_node(struct launch *launch, struct launch_task *tasks,
		      uint32_t count, struct fairlead_error *ret_error)
{
	_auto_(closep) int read_fd = -1;
	int fds[2], result = 0;
	pid_t pid = -1;

	for (uint32_t i = 0; i < count && result == 0; i++)
		result = open_streams(&tasks[i], ret_error);
	if (result == 0 && pipe2(fds, O_CLOEXEC) < 0)
		result = error_set(ret_error, -errno, "cannot make a pipe: %s",
				   strerror(errno));
	if (result == 0) {
		read_fd = fds[0];
		pid = fork();
		if (pid == 0)
			run_node(launch, tasks, count, fds[1]);
		close(fds[1]);
		if (pid < 0)
			result = error_set(ret_error, -EAGAIN, "cannot fork");
	}
	for (uint32_t i = 0; i < count; i++)
		close_task_ends(&tasks[i]);
	if (result < 0)
		return result;
	result = read_reports(launch, tasks, count, read_fd, ret_error);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return result;
}

int tasks_start(struct launch *launch, struct fairlead_error *ret_error)
{
	const struct launch_spec *spec = launch->spec;
	struct launch_task *next = launch->tasks;
	int result = 0;

	for (uint32_t i = 0; i < spec->node_count && result == 0; i++) {
		if (spec->job.program != 0)
			result = start_node(launch, next, spec->tasks[i],
					    ret_error);
		for (uint32_t j = 0; spec->job.program == 0 &&
				     j < spec->tasks[i] && result == 0;
		     j++)
			result = start_task(launch, &next[j], ret_error);
		next += spec->tasks[i];
	}
	return result;
}
