/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command is a session and process group of its own. When its first
 * process ends, what is left in the group is killed. When it is to be stopped,
 * so is whatever came of it, in other sessions too: this process is their
 * reaper, so that a child whose parent dies becomes ours, until none is left.
 */
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "results.h"
#include "sys/clock.h"

#define PATH_OF_USER "/usr/local/bin:/usr/bin:/bin"
#define PATH_OF_ROOT \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define LAST_WAIT_MS 2000 /* for what was killed, until it is reported */
#define MS_NS        UINT64_C(1000000)

struct scene {
	const struct supervision *supervision;
	pid_t pid;
	int signal_fd;
	uint64_t deadline_ns;
	uint8_t kind;
	uint32_t code;
	bool is_over; /* the first process has ended */
};

/* --- the command's side --- */

static _Noreturn void give_up(const char *what)
{
	dprintf(STDERR_FILENO, "scoll-exec: %s: %s\n", what, strerror(errno));
	_exit(126);
}

static void become(const struct passwd *user)
{
	if (geteuid() != 0) {
		if (user->pw_uid != geteuid() || user->pw_uid != getuid())
			give_up("not this user");
		return;
	}
	if (initgroups(user->pw_name, user->pw_gid) < 0)
		give_up("initgroups");
	if (setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0)
		give_up("setresgid");
	if (setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0)
		give_up("setresuid");
}

/* Dies with its supervisor. That may have happened already. */
static void tie_to_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(126);
}

static void signals_reset(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void command_run(const struct supervision *supervision,
				  pid_t parent)
{
	const struct passwd *user = supervision->user;
	const char *shell = *user->pw_shell != 0 ? user->pw_shell : "/bin/sh";
	const char *name = strrchr(shell, '/');
	char *environment[] = {
		memory_format("PATH=%s",
			      user->pw_uid == 0 ? PATH_OF_ROOT : PATH_OF_USER),
		memory_format("HOME=%s", user->pw_dir),
		memory_format("USER=%s", user->pw_name),
		memory_format("LOGNAME=%s", user->pw_name),
		memory_format("SHELL=%s", shell),
		memory_format("SCOLL_EXEC_NODE=%s", supervision->node),
		NULL,
	};
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(supervision->output_fd, STDOUT_FILENO) < 0 ||
	    dup2(supervision->output_fd, STDERR_FILENO) < 0)
		give_up("descriptors");
	close_range(3, ~0U, 0);
	setsid();
	become(user);
	tie_to_parent(parent);
	signals_reset();
	umask(022);
	if (chdir(user->pw_dir) < 0 && chdir("/") < 0)
		give_up("/");
	execle(shell, name != NULL ? name + 1 : shell, "-c",
	       supervision->command, NULL, environment);
	give_up(shell);
}

/* --- ours --- */

static void report(struct scene *scene)
{
	uint8_t bytes[REPORT_BYTES] = { scene->kind };

	for (int i = 0; i < 4; i++)
		bytes[1 + i] = (uint8_t)(scene->code >> 8 * i);
	while (write(scene->supervision->control_fd, bytes, sizeof(bytes)) <
		       0 &&
	       errno == EINTR)
		;
}

/*
 * Reap; the command's own end is noted, and its group killed while its number
 * is nobody else's. False: there is no child left.
 */
static bool reap(struct scene *scene)
{
	for (;;) {
		siginfo_t info = { 0 };
		int status;

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
			return false;
		if (info.si_pid == 0)
			return true;
		if (info.si_pid == scene->pid)
			kill(-scene->pid, SIGKILL);
		if (waitpid(info.si_pid, &status, 0) < 0)
			return false;
		if (info.si_pid != scene->pid)
			continue;
		scene->is_over = true;
		if (scene->kind != 0)
			continue;
		scene->kind =
			WIFSIGNALED(status) ? OUTCOME_KILLED : OUTCOME_EXITED;
		scene->code =
			(uint32_t)(WIFSIGNALED(status) ? WTERMSIG(status)
						       : WEXITSTATUS(status));
	}
}

/* Those who are our children now; theirs become ours when they die. */
static void children_kill(void)
{
	char path[64];
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	file = fopen(path, "re");
	if (file == NULL)
		return;
	while (fscanf(file, "%d", &pid) == 1)
		kill(pid, SIGKILL);
	fclose(file);
}

static void signals_wait(struct scene *scene, int timeout_ms)
{
	struct pollfd fd = { .fd = scene->signal_fd, .events = POLLIN };
	struct signalfd_siginfo info;

	if (poll(&fd, 1, timeout_ms) > 0 &&
	    read(scene->signal_fd, &info, sizeof(info)) < 0)
		return;
}

static void tree_kill(struct scene *scene)
{
	uint64_t end_ns = sys_monotonic_ns() + LAST_WAIT_MS * MS_NS;
	bool is_reported = false;

	for (;;) {
		if (!scene->is_over)
			kill(-scene->pid, SIGKILL);
		children_kill();
		if (!reap(scene))
			break;
		if (!is_reported && sys_monotonic_ns() > end_ns) {
			report(scene);
			is_reported = true;
		}
		signals_wait(scene, 100);
	}
	if (!is_reported)
		report(scene);
}

static int wait_ms(const struct scene *scene)
{
	uint64_t now_ns = sys_monotonic_ns();

	return now_ns >= scene->deadline_ns
		       ? 0
		       : (int)((scene->deadline_ns - now_ns) / MS_NS) + 1;
}

static void watch(struct scene *scene)
{
	struct pollfd fds[] = {
		{ .fd = scene->signal_fd, .events = POLLIN },
		{ .fd = scene->supervision->control_fd, .events = POLLIN },
	};

	while (!scene->is_over) {
		int result = poll(fds, 2, wait_ms(scene));

		if (result < 0)
			fds[0].revents = fds[1].revents = 0;
		if (fds[0].revents != 0)
			signals_wait(scene, 0);
		reap(scene);
		if (scene->is_over)
			break;
		if (fds[1].revents != 0)
			scene->kind = OUTCOME_STOPPED;
		else if (sys_monotonic_ns() >= scene->deadline_ns)
			scene->kind = OUTCOME_TIMEOUT;
		if (scene->kind != 0) {
			tree_kill(scene);
			return;
		}
	}
	report(scene);
}

_Noreturn void supervise(const struct supervision *supervision)
{
	struct scene scene = { .supervision = supervision };
	pid_t self = getpid();
	sigset_t mask;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	scene.signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	scene.deadline_ns =
		sys_monotonic_ns() + supervision->timeout_ms * MS_NS;
	scene.pid = scene.signal_fd < 0 ? -1 : fork();
	if (scene.pid == 0)
		command_run(supervision, self);
	close(supervision->output_fd);
	if (scene.pid < 0) {
		scene.kind = OUTCOME_REFUSED;
		scene.code = (uint32_t)errno;
		report(&scene);
	} else {
		watch(&scene);
	}
	_exit(0);
}
