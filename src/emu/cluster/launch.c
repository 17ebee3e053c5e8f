/* SPDX-License-Identifier: BSD-3-Clause */
/* Start tasks on emulated nodes, pass on output and signals, collect codes. */
#include "emu/cluster/launch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "emu/cluster/program.h"
#include "emu/cluster/tasks.h"

static void put_line(const struct launch *launch,
		     const struct launch_task *task, struct stream *stream)
{
	char text[LAUNCH_LINE_MAX + 64];
	int size;

	size = snprintf(text, sizeof(text), "%s%.*s\n",
			launch->spec->is_labelled ? task->label : "",
			(int)stream->size, stream->line);
	for (int sent = 0; sent < size;) {
		ssize_t count = write(stream->out_fd, text + sent,
				      (size_t)(size - sent));

		if (count < 0 && errno != EINTR)
			break; /* nobody reads any more; tasks go on */
		sent += count > 0 ? (int)count : 0;
	}
	stream->size = 0;
}

static void read_stream(const struct launch *launch,
			const struct launch_task *task, struct stream *stream)
{
	char bytes[LAUNCH_LINE_MAX];
	ssize_t count = read(stream->fd, bytes, sizeof(bytes));

	if (count < 0 && errno == EINTR)
		return;
	for (ssize_t i = 0; i < count; i++) {
		if (bytes[i] != '\n')
			stream->line[stream->size++] = bytes[i];
		if (bytes[i] == '\n' || stream->size == LAUNCH_LINE_MAX)
			put_line(launch, task, stream);
	}
	if (count <= 0) {
		if (stream->size > 0)
			put_line(launch, task, stream);
		close(stream->fd);
		stream->fd = -1;
	}
}

static void signal_tasks(const struct launch *launch, int signal)
{
	const struct launch_spec *spec = launch->spec;

	if (spec->job.program != 0) {
		for (uint32_t i = 0; i < spec->node_count; i++)
			program_signal(spec->nodes[i], spec->job.program,
				       signal);
		return;
	}
	for (uint32_t i = 0; i < launch->task_count; i++)
		if (launch->tasks[i].pid > 0)
			kill(-launch->tasks[i].pid, signal);
}

static void reap_tasks(struct launch *launch)
{
	for (uint32_t i = 0; i < launch->task_count; i++) {
		struct launch_task *task = &launch->tasks[i];

		if (task->pid > 0 &&
		    waitpid(task->pid, &task->status, WNOHANG) > 0) {
			task->pid = 0;
			launch->running_count--;
		}
	}
}

static void read_signal(struct launch *launch)
{
	struct signalfd_siginfo info;

	if (read(launch->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD) {
		reap_tasks(launch);
		return;
	}
	if (info.ssi_signo == SIGINT && launch->interrupts++ > 0)
		info.ssi_signo = SIGKILL;
	signal_tasks(launch, (int)info.ssi_signo);
}

/* One turn of the loop: signals, then what the tasks say. */
static void wait_once(struct launch *launch, struct pollfd *fds,
		      struct stream **streams, struct launch_task **owners)
{
	nfds_t count = 1;

	fds[0] = (struct pollfd){ .fd = launch->signal_fd, .events = POLLIN };
	for (uint32_t i = 0; i < launch->task_count * 2; i++) {
		struct launch_task *task = &launch->tasks[i / 2];

		if (task->streams[i % 2].fd < 0)
			continue;
		streams[count] = &task->streams[i % 2];
		owners[count] = task;
		fds[count++] = (struct pollfd){ .fd = task->streams[i % 2].fd,
						.events = POLLIN };
	}
	if (poll(fds, count, -1) < 0)
		return;
	for (nfds_t i = 1; i < count; i++)
		if (fds[i].revents != 0)
			read_stream(launch, owners[i], streams[i]);
	if (fds[0].revents != 0)
		read_signal(launch);
}

/*
 * What is there by now: who is in a session of its own may have it open still,
 * and is ended with the job.
 */
static void drain(const struct launch *launch, const struct launch_task *task,
		  struct stream *stream)
{
	struct pollfd pollfd = { .fd = stream->fd, .events = POLLIN };

	while (stream->fd >= 0 && poll(&pollfd, 1, 0) > 0)
		read_stream(launch, task, stream);
	if (stream->fd < 0)
		return;
	if (stream->size > 0)
		put_line(launch, task, stream);
	close(stream->fd);
	stream->fd = -1;
}

static int wait_all(struct launch *launch)
{
	size_t slots = (size_t)launch->task_count * 2 + 1;
	_auto_(freep) struct pollfd *fds = memory_array(slots, sizeof(*fds));
	_auto_(freep) struct stream **streams =
		memory_array(slots, sizeof(*streams));
	_auto_(freep) struct launch_task **owners =
		memory_array(slots, sizeof(*owners));
	int code = 0;

	/*
	 * A task may leave children behind that keep its output open: they
	 * are ended with it, as a job's end does.
	 */
	while (launch->running_count > 0)
		wait_once(launch, fds, streams, owners);
	for (uint32_t i = 0; i < launch->task_count; i++) {
		int status = launch->tasks[i].status;
		int own = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
					      : WEXITSTATUS(status);

		code = own > code ? own : code;
	}
	return code;
}

static void end_all(struct launch *launch)
{
	for (uint32_t i = 0; i < launch->task_count; i++)
		if (launch->groups[i] > 0)
			kill(-launch->groups[i], SIGKILL);
	while (launch->running_count > 0) {
		reap_tasks(launch);
		if (launch->running_count > 0)
			waitid(P_ALL, 0, NULL, WEXITED | WNOWAIT);
	}
	for (uint32_t i = 0; i < launch->task_count * 2; i++)
		drain(launch, &launch->tasks[i / 2],
		      &launch->tasks[i / 2].streams[i % 2]);
}

void launch_signals(sigset_t *ret_signals)
{
	static const int signals[] = { SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
				       SIGUSR1, SIGUSR2, SIGPIPE };

	sigemptyset(ret_signals);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(ret_signals, signals[i]);
}

static void signals_open(struct launch *launch)
{
	sigset_t mask;

	launch_signals(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, &launch->old_mask);
	sigdelset(&mask, SIGPIPE); /* the write says it */
	launch->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC);
}

static int tasks_create(struct launch *launch, struct fairlead_error *ret_error)
{
	const struct launch_spec *spec = launch->spec;
	uint32_t rank = 0;

	for (uint32_t i = 0; i < spec->node_count; i++)
		launch->task_count += spec->tasks[i];
	if (launch->task_count < 1 || launch->task_count > LAUNCH_TASKS_MAX)
		return error_set(ret_error, -EINVAL,
				 "a job here has 1 to %d tasks, not %u",
				 LAUNCH_TASKS_MAX, launch->task_count);
	launch->tasks =
		memory_array(launch->task_count, sizeof(*launch->tasks));
	launch->groups =
		memory_array(launch->task_count, sizeof(*launch->groups));
	for (uint32_t i = 0; i < spec->node_count; i++)
		for (uint32_t local = 0; local < spec->tasks[i]; local++) {
			struct launch_task *task = &launch->tasks[rank];

			task->rank = rank++;
			task->local_rank = local;
			task->node_index = i;
			for (int j = 0; j < 2; j++)
				task->streams[j] = (struct stream){
					.fd = -1,
					.task_fd = -1,
					.out_fd = j + 1,
				};
			snprintf(task->label, sizeof(task->label),
				 "%s.%u: ", spec->nodes[i]->name, local);
		}
	return 0;
}

int launch_run(const struct launch_spec *spec, struct fairlead_error *ret_error)
{
	struct launch launch = {
		.spec = spec,
		.signal_fd = -1,
		.pid = getpid(),
	};
	int result = tasks_create(&launch, ret_error);

	if (result < 0)
		return result;
	signals_open(&launch);
	if (launch.signal_fd < 0)
		result = error_set(ret_error, -errno, "cannot take signals");
	if (result == 0)
		result = tasks_start(&launch, ret_error);
	if (result == 0)
		launch_pass("started");
	if (result == 0)
		result = wait_all(&launch);
	end_all(&launch);
	if (launch.signal_fd >= 0)
		close(launch.signal_fd);
	sigprocmask(SIG_SETMASK, &launch.old_mask, NULL);
	free(launch.groups);
	free(launch.tasks);
	return result;
}
