/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/commands/run_inherited.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/inherit.h"
#include "emu/cluster/launch.h"
#include "lanes/driver/driver.h"
#include "lanes/plugin/common/step_id.h"
#include "lanes/plugin/common/step_watch.h"

struct tasks {
	struct cli *cli;
	const json_t *variables;
	uint64_t count;
	pid_t *pids; /* 0: not started, or over */
	uint64_t running_count;
	/*
	 * Each is a process group, so that what it starts gets its signals. On
	 * a terminal, from which only one group may read, they are in ours.
	 */
	bool is_grouped;
	unsigned int interrupts;
	pid_t parent;
	sigset_t old_mask;
	int code; /* the highest, as a shell has those of the killed */
};

static void set_number(const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	setenv(name, text, 1);
}

static const char *variable_get(void *arg, const char *name)
{
	return json_string_value(json_object_get(arg, name));
}

static bool is_set(void *arg, const char *name)
{
	return variable_get(arg, name) != NULL;
}

/*
 * The step of this run: that of the outer job, and what no other run in it has.
 * Nothing where the lane has none.
 */
static void step_begin(struct cli *cli, json_t *variables)
{
	const struct fairlead_driver *driver =
		driver_of_steps(is_set, variables);
	char runner[24], step[STEP_ID_MAX];
	const char *outer;
	int result;

	if (!driver)
		return;
	outer = getenv(driver->step_variable);
	snprintf(runner, sizeof(runner), "%ld", (long)getpid());
	step_id_make(outer != NULL ? outer : "0", runner, step);
	memory_check(json_object_set_new(variables, driver->step_variable,
					 memory_have(json_string(step))));
	result = step_watch(driver, variable_get, variables);
	if (result < 0)
		fprintf(cli->err,
			"fairlead: warning: multicast trees of these tasks "
			"stay until the job ends: cannot start "
			"fairlead-step-clean: %s\n",
			strerror(-result));
}

/* In the task. It does not outlive who waits for it. */
static void become(const struct tasks *tasks, uint64_t rank)
{
	if (tasks->is_grouped)
		(void)setpgid(0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != tasks->parent)
		_exit(EXIT_CANNOT_RUN);
	sigprocmask(SIG_SETMASK, &tasks->old_mask, NULL);
	set_number("FAIRLEAD_RANK", rank);
	set_number("FAIRLEAD_LOCAL_RANK", rank);
	set_number("FAIRLEAD_NTASKS", tasks->count);
	set_number("FAIRLEAD_NODEID", 0);
	set_number("FAIRLEAD_NNODES", 1);
	_exit(environment_run(tasks->cli, tasks->variables));
}

static void signal_all(const struct tasks *tasks, int signal)
{
	for (uint64_t i = 0; i < tasks->count; i++)
		if (tasks->pids[i] > 0)
			kill(tasks->is_grouped ? -tasks->pids[i]
					       : tasks->pids[i],
			     signal);
}

static void reap(struct tasks *tasks)
{
	for (uint64_t i = 0; i < tasks->count; i++) {
		int status, code;

		if (tasks->pids[i] == 0 ||
		    waitpid(tasks->pids[i], &status, WNOHANG) <= 0)
			continue;
		tasks->pids[i] = 0;
		tasks->running_count--;
		code = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
					   : WEXITSTATUS(status);
		tasks->code = code > tasks->code ? code : tasks->code;
	}
}

static void pass_on(struct tasks *tasks, const siginfo_t *info)
{
	if (info->si_signo == SIGINT && tasks->interrupts++ > 0)
		signal_all(tasks, SIGKILL);
	/* What the terminal sends has reached our whole group. */
	else if (tasks->is_grouped || info->si_code != SI_KERNEL)
		signal_all(tasks, info->si_signo);
}

static void wait_all(struct tasks *tasks, const sigset_t *signals)
{
	while (tasks->running_count > 0) {
		siginfo_t info;

		if (sigwaitinfo(signals, &info) < 0)
			continue;
		if (info.si_signo == SIGCHLD)
			reap(tasks);
		else
			pass_on(tasks, &info);
	}
}

static int start_all(struct tasks *tasks)
{
	fflush(NULL); /* tasks are forked: nothing may be written twice */
	for (uint64_t i = 0; i < tasks->count; i++) {
		pid_t pid = fork();

		if (pid == 0)
			become(tasks, i);
		if (pid < 0)
			return cli_fail(tasks->cli, EXIT_FAILED,
					"cannot start task %llu: %s",
					(unsigned long long)i, strerror(errno));
		/* Both do: a signal may come before the task runs. */
		if (tasks->is_grouped)
			(void)setpgid(pid, pid);
		tasks->pids[i] = pid;
		tasks->running_count++;
	}
	return EXIT_DONE;
}

static int run_all(struct tasks *tasks)
{
	sigset_t signals;
	int code;

	launch_signals(&signals);
	sigdelset(&signals, SIGPIPE); /* nothing here writes to a pipe */
	sigaddset(&signals, SIGCHLD);
	signal(SIGCHLD,
	       SIG_DFL); /* where it is ignored nobody can be waited for */
	sigprocmask(SIG_BLOCK, &signals, &tasks->old_mask);
	code = start_all(tasks);
	if (code != EXIT_DONE)
		signal_all(tasks, SIGKILL);
	wait_all(tasks, &signals);
	sigprocmask(SIG_SETMASK, &tasks->old_mask, NULL);
	return code == EXIT_DONE ? tasks->code : code;
}

/*
 * Of Fairlead, Slurm or Flux. In one without a lane, since it wanted none or
 * there was none, the tasks run with the variables cleared.
 */
static bool is_in_job(void)
{
	return getenv("FAIRLEAD_JOB") || getenv("SLURM_JOB_ID") ||
	       getenv("FLUX_JOB_ID");
}

int run_inherited(struct cli *cli)
{
	static const char *const others[] = {
		"nodes",        "cpus-per-task", "user",
		"interconnect", "option",        "dir",
	};
	json_auto_t *variables = environment_clear();
	_auto_(freep) pid_t *pids = NULL;
	struct tasks tasks = {
		.cli = cli,
		.variables = variables,
		.is_grouped = !isatty(STDIN_FILENO),
		.parent = getpid(),
	};
	bool is_inherited;
	uint64_t count = 1;
	int code;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (cli_option(cli, others[i]))
			return cli_misuse(cli,
					  "--%s and --inherit exclude each "
					  "other: the lane is there, and the "
					  "tasks run here",
					  others[i]);
	code = cli_number(cli, "tasks", 1, LAUNCH_TASKS_MAX, &count);
	if (code == EXIT_DONE)
		code = environment_inherit(cli, variables, &is_inherited);
	if (code == EXIT_DONE && !is_inherited && !is_in_job())
		code = cli_fail(cli, EXIT_FAILED,
				"this process is in no job and has no lane to "
				"pass on");
	if (code != EXIT_DONE)
		return code;
	step_begin(cli, variables);
	pids = memory_array(count, sizeof(*pids));
	tasks.pids = pids;
	tasks.count = count;
	return run_all(&tasks);
}
