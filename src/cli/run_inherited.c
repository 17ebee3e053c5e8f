/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run_inherited.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/inherit.h"
#include "emu/cluster/launch.h"

static void set_number(const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	setenv(name, text, 1);
}

/* In the task. */
static void become(struct cli *cli, const json_t *variables, uint64_t rank,
		   uint64_t count)
{
	set_number("FAIRLEAD_RANK", rank);
	set_number("FAIRLEAD_LOCAL_RANK", rank);
	set_number("FAIRLEAD_NTASKS", count);
	set_number("FAIRLEAD_NODEID", 0);
	set_number("FAIRLEAD_NNODES", 1);
	_exit(environment_run(cli, variables));
}

/* The highest exit code, as a shell has those of the killed. */
static int wait_all(uint64_t count)
{
	int code = EXIT_DONE, status;

	while (count > 0) {
		int one;

		if (wait(&status) < 0) {
			if (errno == EINTR)
				continue;
			return EXIT_FAILED;
		}
		one = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
					  : WEXITSTATUS(status);
		code = one > code ? one : code;
		count--;
	}
	return code;
}

static int start_all(struct cli *cli, const json_t *variables, uint64_t count)
{
	uint64_t started = 0;
	int code = EXIT_DONE, ended;

	fflush(NULL); /* tasks are forked: nothing may be written twice */
	while (code == EXIT_DONE && started < count) {
		pid_t pid = fork();

		if (pid == 0)
			become(cli, variables, started, count);
		if (pid < 0)
			code = cli_fail(cli, EXIT_FAILED,
					"cannot start task %llu: %s",
					(unsigned long long)started,
					strerror(errno));
		else
			started++;
	}
	ended = wait_all(started);
	return code == EXIT_DONE ? ended : code;
}

int run_inherited(struct cli *cli)
{
	static const char *const others[] = {
		"nodes",        "cpus-per-task", "user",
		"interconnect", "option",        "dir",
	};
	json_auto_t *variables = environment_clear();
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
	code = cli_number(cli, "tasks", LAUNCH_TASKS_MAX, &count);
	if (code == EXIT_DONE && count == 0)
		code = cli_misuse(cli, "a job has a task");
	if (code == EXIT_DONE)
		code = environment_inherit(cli, variables, &is_inherited);
	if (code == EXIT_DONE && !is_inherited)
		code = cli_fail(cli, EXIT_FAILED,
				"this process has no lane to pass on");
	return code == EXIT_DONE ? start_all(cli, variables, count) : code;
}
