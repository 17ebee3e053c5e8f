/* SPDX-License-Identifier: BSD-3-Clause */
#include "elan/test/stage.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elan/service/group.h"
#include "elan/service/proc.h"
#include "elan/test/play.h"
#include "elan/wire/wire.h"

#define EVENTUALLY_SECONDS 60
#define EXIT_EXEC_FAILED   127

static const char *program; /* argv[1] */
static const char *keeper;  /* argv[2] */

static int find_cgroups(char *mount, size_t capacity, char *place,
			size_t place_capacity)
{
	_auto_(freep) char *text = NULL;
	int result = proc_read_alloc("/proc/self/mountinfo", &text);

	if (result == 0)
		result = proc_mount_parse(text, mount, capacity);
	if (result == 0)
		result = proc_cgroup(getpid(), place, place_capacity);
	return result;
}

static int try_become(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(become(OWNER_UID) < 0);
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -EPERM;
}

int stage_init(int argc, char **argv)
{
	char mount[128];
	char place[256];

	if (argc != 3) {
		fprintf(stderr, "usage: %s FAIRLEAD-RMS group|search\n",
			argv[0]);
		return 2;
	}
	program = argv[1];
	keeper = argv[2];
	if (geteuid() != 0 || try_become() < 0) {
		fputs("skipped: being other users needs root\n", stderr);
		return EXIT_SKIPPED;
	}
	if (stage_is_group() &&
	    (find_cgroups(mount, sizeof(mount), place, sizeof(place)) < 0 ||
	     access(mount, W_OK) < 0)) {
		fputs("skipped: there are no cgroups of version 2 that can be "
		      "written\n",
		      stderr);
		return EXIT_SKIPPED;
	}
	return 0;
}

bool stage_is_group(void)
{
	return strcmp(keeper, "group") == 0;
}

bool daemon_start_with(struct stage *stage, const char *keeper_name,
		       int (*prepare)(const struct stage *stage))
{
	char ready_text[16];
	int ready[2];
	ssize_t size;
	char byte;

	assert_int_equal(stage->daemon, 0);
	assert_int_equal(pipe(ready), 0);
	fcntl(ready[0], F_SETFD, FD_CLOEXEC);
	snprintf(ready_text, sizeof(ready_text), "%d", ready[1]);
	stage->daemon = fork();
	assert_true(stage->daemon >= 0);
	if (stage->daemon == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (prepare == NULL || prepare(stage) == 0)
			execl(program, program, "--dir", stage->dir, "--keeper",
			      keeper_name, "--ready-fd", ready_text,
			      stage->rails ? "--rails" : NULL, stage->rails,
			      NULL);
		_exit(EXIT_EXEC_FAILED);
	}
	close(ready[1]);
	size = read(ready[0], &byte, 1);
	close(ready[0]);
	if (size == 1)
		return true;
	assert_int_equal(waitpid(stage->daemon, NULL, 0), stage->daemon);
	stage->daemon = 0;
	return false;
}

void daemon_start(struct stage *stage)
{
	assert_true(daemon_start_with(stage, keeper, NULL));
}

int daemon_stop(struct stage *stage, int signal)
{
	int status = 0;

	assert_int_not_equal(stage->daemon, 0);
	kill(stage->daemon, signal);
	while (waitpid(stage->daemon, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	stage->daemon = 0;
	return status;
}

void daemon_again(struct stage *stage)
{
	daemon_stop(stage, SIGKILL);
	daemon_start(stage);
}

static void make_cgroup(struct stage *stage)
{
	char place[256];

	if (find_cgroups(stage->mount, sizeof(stage->mount), place,
			 sizeof(place)) < 0)
		return;
	snprintf(stage->cgroup, sizeof(stage->cgroup), "%s%s/rms-test-%d",
		 stage->mount, strcmp(place, "/") == 0 ? "" : place, getpid());
	if (mkdir(stage->cgroup, 0755) < 0)
		stage->cgroup[0] = '\0';
}

int stage_setup(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	assert_non_null(stage);
	*state = stage;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	strcpy(stage->folder, "/tmp/rms-test-XXXXXX");
	assert_non_null(mkdtemp(stage->folder));
	assert_int_equal(chmod(stage->folder, 0755), 0);
	snprintf(stage->dir, sizeof(stage->dir), "%s/rms", stage->folder);
	setenv(RMS_DIR_VARIABLE, stage->dir, 1);
	stage->keeper = keeper;
	make_cgroup(stage);
	assert_true(!stage_is_group() || stage->cgroup[0] != '\0');
	for (int i = 0; i < PLAYERS_MAX; i++) {
		struct player *player = &stage->players[i];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC,
					    0, player->fds),
				 0);
		player->pidfd = -1;
		player->script = mmap(NULL, sizeof(*player->script),
				      PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		assert_true(player->script != MAP_FAILED);
	}
	daemon_start(stage);
	return 0;
}

static int remove_path(const char *path, const struct stat *status, int flag,
		       struct FTW *ftw)
{
	return remove(path);
}

static int remove_cgroup(const char *path, const struct stat *status, int flag,
			 struct FTW *ftw)
{
	if (flag == FTW_DP && rmdir(path) < 0)
		perror(path);
	return 0;
}

/* End all processes that are ours, but the daemon. */
static void end_all(const struct stage *stage)
{
	char path[64];
	char text[4096];
	bool has_more;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	do {
		has_more = false;
		if (proc_read(path, text, sizeof(text)) < 0)
			break;
		for (char *at = text; *at >= '0' && *at <= '9';) {
			pid_t pid = (pid_t)strtol(at, &at, 10);

			at += *at == ' ';
			if (pid == stage->daemon)
				continue;
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			has_more = true;
		}
	} while (has_more);
}

int stage_teardown(void **state)
{
	struct stage *stage = *state;
	int status = 0;

	end_all(stage);
	if (stage->daemon != 0)
		status = daemon_stop(stage, SIGTERM);
	for (int i = 0; i < PLAYERS_MAX; i++) {
		struct player *player = &stage->players[i];

		close(player->fds[0]);
		close(player->fds[1]);
		if (player->pidfd >= 0)
			close(player->pidfd);
		munmap(player->script, sizeof(*player->script));
	}
	if (stage->cgroup[0] != '\0')
		nftw(stage->cgroup, remove_cgroup, 8, FTW_DEPTH | FTW_PHYS);
	nftw(stage->folder, remove_path, 8, FTW_DEPTH | FTW_PHYS);
	free(stage);
	/* It has found no fault in itself either. */
	return status;
}

static void wait_for_answer(struct player *player)
{
	struct pollfd fds[2] = {
		{ .fd = player->fds[0], .events = POLLIN },
		{ .fd = player->pidfd, .events = POLLIN },
	};
	char byte;

	while (poll(fds, 2, -1) < 0)
		assert_int_equal(errno, EINTR);
	assert_true(fds[0].revents & POLLIN);
	assert_int_equal(read(player->fds[0], &byte, 1), 1);
}

static struct player *meet(struct stage *stage, int n)
{
	struct player *player = &stage->players[n];

	wait_for_answer(player);
	player->pid = player->script->number;
	player->pidfd = (int)syscall(SYS_pidfd_open, player->pid, 0);
	assert_true(player->pidfd >= 0);
	return player;
}

struct player *player_start(struct stage *stage, int n, uid_t uid)
{
	char path[420];
	pid_t pid;

	assert_int_equal(stage->players[n].pid, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct script script = { .act = ACT_NOTHING };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		snprintf(path, sizeof(path), "%s/cgroup.procs", stage->cgroup);
		snprintf(script.text, sizeof(script.text), "%d", getpid());
		if (stage->cgroup[0] != '\0') {
			int fd = open(path, O_WRONLY | O_CLOEXEC);

			if (fd < 0 ||
			    write(fd, script.text, strlen(script.text)) < 0)
				_exit(1);
			close(fd);
		}
		if (uid != 0 && become(uid) < 0)
			_exit(1);
		player_serve(stage->players, n);
	}
	return meet(stage, n);
}

struct player *player_fork(struct stage *stage, struct player *player, int n,
			   int flags)
{
	assert_int_equal(stage->players[n].pid, 0);
	assert_int_equal(play(player, ACT_FORK, .value = n, .flags = flags), 0);
	return meet(stage, n);
}

void play_begin(struct player *player, const struct script *script)
{
	*player->script = *script;
	assert_int_equal(write(player->fds[0], "", 1), 1);
}

bool play_is_done(struct player *player)
{
	struct pollfd fd = { .fd = player->fds[0], .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

int play_end(struct player *player)
{
	wait_for_answer(player);
	return player->script->result;
}

int play_script(struct player *player, const struct script *script)
{
	play_begin(player, script);
	return play_end(player);
}

void player_wait(struct player *player)
{
	struct pollfd fd = { .fd = player->pidfd, .events = POLLIN };

	while (poll(&fd, 1, -1) < 0)
		assert_int_equal(errno, EINTR);
}

bool player_has_ended(const struct player *player)
{
	return proc_has_ended(player->pidfd);
}

struct player *must_create(struct stage *stage, int n, int id)
{
	struct player *player = player_start(stage, n, 0);

	assert_int_equal(play(player, ACT_PRGCREATE, .id = id, .uid = OWNER_UID,
			      .value = 2),
			 0);
	return player;
}

struct elan_capability sample_cap(int n)
{
	return (struct elan_capability){
		.cap_userkey.key_values = { 1, 2, 3, 4 + (uint32_t)n },
		.cap_version = ELAN_CAP_VERSION_NUMBER,
		.cap_type = ELAN_CAP_TYPE_BLOCK,
		.cap_lowcontext = 0x400 + 16 * n,
		.cap_highcontext = 0x403 + 16 * n,
		.cap_mycontext = ELAN_CAP_UNINITIALISED,
		.cap_lownode = 0,
		.cap_highnode = 1,
		.cap_railmask = 1,
		.cap_bitmap = { 0xff },
	};
}

int members_of(int id)
{
	int count;

	return rms_prginfo(id, 0, NULL, &count) < 0 ? -errno : count;
}

bool is_member(int id, pid_t pid)
{
	int found;

	return rms_getprgid(pid, &found) == 0 && found == id;
}

void eventually(bool (*is_true)(void *arg), void *arg)
{
	time_t deadline = time(NULL) + EVENTUALLY_SECONDS;

	while (!is_true(arg)) {
		assert_true(time(NULL) < deadline);
		sched_yield();
	}
}

const char *cgroup_of(const struct stage *stage, pid_t pid)
{
	static char path[1024];

	return proc_cgroup(pid, path, sizeof(path)) < 0 ? ""
							: strrchr(path, '/');
}

int64_t cgroup_number(const char *dir, const char *file, const char *key)
{
	uint64_t number;

	return group_read_number(dir, file, key, &number) < 0 ? -1
							      : (int64_t)number;
}

char state_of(pid_t pid)
{
	struct proc_stat stat;

	return proc_stat(pid, &stat) < 0 ? '?' : stat.state;
}
