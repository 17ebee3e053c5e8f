/* SPDX-License-Identifier: BSD-3-Clause */
/* Start tasks on emulated nodes, pass on output and signals, collect codes. */
#include "emu/cluster/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

struct stream {
	int fd; /* -1: ended */
	int out_fd;
	size_t size;
	char line[LAUNCH_LINE_MAX];
};

struct task {
	pid_t pid; /* 0: has ended */
	int status;
	uint32_t rank;
	uint32_t local_rank;
	uint32_t node_index;
	char label[32];
	struct stream streams[2]; /* stdout, stderr */
};

struct launch {
	const struct launch_spec *spec;
	struct task *tasks;
	uint32_t task_count;
	uint32_t running_count;
	int signal_fd;
	uint32_t interrupts;
	sigset_t old_mask;
};

static void put_number(const char *name, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	setenv(name, text, 1);
}

static void put_ranks(const struct launch *launch, const struct task *task)
{
	const struct launch_spec *spec = launch->spec;
	setenv("FAIRLEAD_NODELIST", spec->node_list, 1);
	put_number("FAIRLEAD_RANK", task->rank);
	put_number("FAIRLEAD_NTASKS", launch->task_count);
	put_number("FAIRLEAD_LOCAL_RANK", task->local_rank);
	put_number("FAIRLEAD_NODEID", task->node_index);
	put_number("FAIRLEAD_NNODES", spec->node_count);
}

static int become_task(const struct launch *launch, const struct task *task,
		       struct fairlead_error *ret_error)
{
	const struct launch_spec *spec = launch->spec;
	int result = launch_enter(spec->cluster, spec->nodes[task->node_index],
				  &spec->job, ret_error);

	if (result < 0)
		return result;
	put_ranks(launch, task);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_SETMASK, spec->signal_mask, NULL);
	return 0;
}

static void run_task(const struct launch *launch, const struct task *task,
		     int out_fd, int err_fd)
{
	struct fairlead_error error;
	int in_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setpgid(0, 0);
	if (dup2(in_fd, 0) < 0 || dup2(out_fd, 1) < 0 || dup2(err_fd, 2) < 0)
		_exit(126);
	if (become_task(launch, task, &error) < 0) {
		dprintf(STDERR_FILENO, "fairlead run: %s\n", error.text);
		_exit(126);
	}
	execvp(launch->spec->argv[0], launch->spec->argv);
	dprintf(STDERR_FILENO, "fairlead run: cannot run '%s': %s\n",
		launch->spec->argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static int start_task(struct launch *launch, struct task *task,
		      struct fairlead_error *ret_error)
{
	int out[2] = { -1, -1 }, err[2] = { -1, -1 };
	pid_t pid = -1;

	if (pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0)
		pid = fork();
	if (pid == 0)
		run_task(launch, task, out[1], err[1]);
	closep(&out[1]);
	closep(&err[1]);
	if (pid < 0) {
		error_set(ret_error, -errno, "cannot start a task: %s",
			  strerror(errno));
		closep(&out[0]);
		closep(&err[0]);
		return ret_error->code;
	}
	/* Both do: a signal may come before the task runs. */
	(void)setpgid(pid, pid);
	task->pid = pid;
	task->streams[0] = (struct stream){ .fd = out[0], .out_fd = 1 };
	task->streams[1] = (struct stream){ .fd = err[0], .out_fd = 2 };
	launch->running_count++;
	return 0;
}

static void put_line(const struct launch *launch, const struct task *task,
		     struct stream *stream)
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

static void read_stream(const struct launch *launch, const struct task *task,
			struct stream *stream)
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
	for (uint32_t i = 0; i < launch->task_count; i++)
		if (launch->tasks[i].pid > 0)
			kill(-launch->tasks[i].pid, signal);
}

static void reap_tasks(struct launch *launch)
{
	for (uint32_t i = 0; i < launch->task_count; i++) {
		struct task *task = &launch->tasks[i];

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
		      struct stream **streams, struct task **owners)
{
	nfds_t count = 1;

	fds[0] = (struct pollfd){ .fd = launch->signal_fd, .events = POLLIN };
	for (uint32_t i = 0; i < launch->task_count * 2; i++) {
		struct task *task = &launch->tasks[i / 2];

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

static bool has_output(const struct launch *launch)
{
	for (uint32_t i = 0; i < launch->task_count; i++)
		if (launch->tasks[i].streams[0].fd >= 0 ||
		    launch->tasks[i].streams[1].fd >= 0)
			return true;
	return false;
}

static int wait_all(struct launch *launch, struct fairlead_error *ret_error)
{
	size_t slots = (size_t)launch->task_count * 2 + 1;
	_auto_(freep) struct pollfd *fds = calloc(slots, sizeof(*fds));
	_auto_(freep) struct stream **streams = calloc(slots, sizeof(*streams));
	_auto_(freep) struct task **owners = calloc(slots, sizeof(*owners));
	int code = 0;

	if (fds == NULL || streams == NULL || owners == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
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

static void end_all(struct launch *launch, const pid_t *groups)
{
	for (uint32_t i = 0; i < launch->task_count; i++)
		if (groups[i] > 0)
			kill(-groups[i], SIGKILL);
	while (launch->running_count > 0) {
		reap_tasks(launch);
		if (launch->running_count > 0)
			waitid(P_ALL, 0, NULL, WEXITED | WNOWAIT);
	}
	while (has_output(launch))
		for (uint32_t i = 0; i < launch->task_count * 2; i++) {
			struct task *task = &launch->tasks[i / 2];

			if (task->streams[i % 2].fd >= 0)
				read_stream(launch, task,
					    &task->streams[i % 2]);
		}
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
	launch->tasks = calloc(launch->task_count, sizeof(*launch->tasks));
	if (launch->tasks == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < spec->node_count; i++)
		for (uint32_t local = 0; local < spec->tasks[i]; local++) {
			struct task *task = &launch->tasks[rank];

			task->rank = rank++;
			task->local_rank = local;
			task->node_index = i;
			task->streams[0].fd = task->streams[1].fd = -1;
			snprintf(task->label, sizeof(task->label),
				 "%s.%u: ", spec->nodes[i]->name, local);
		}
	return 0;
}

int launch_run(const struct launch_spec *spec, struct fairlead_error *ret_error)
{
	struct launch launch = { .spec = spec, .signal_fd = -1 };
	_auto_(freep) pid_t *groups = NULL;
	int result = tasks_create(&launch, ret_error);

	if (result < 0)
		return result;
	groups = calloc(launch.task_count, sizeof(*groups));
	signals_open(&launch);
	if (launch.signal_fd < 0 || groups == NULL)
		result = error_set(ret_error, -ENOMEM, "cannot take signals");
	for (uint32_t i = 0; i < launch.task_count && result == 0; i++) {
		result = start_task(&launch, &launch.tasks[i], ret_error);
		groups[i] = launch.tasks[i].pid;
	}
	if (result == 0)
		result = wait_all(&launch, ret_error);
	if (groups != NULL)
		end_all(&launch, groups);
	if (launch.signal_fd >= 0)
		close(launch.signal_fd);
	sigprocmask(SIG_SETMASK, &launch.old_mask, NULL);
	free(launch.tasks);
	return result;
}
