/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Containers that share /dev/shm with us, and have numbers of processes of their
 * own. One is killed: what it has left there is taken away by the next program, and
 * what others have, who live, stays. And peers that are gone before we look: their
 * shared memory is still there then.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link/address/address.h"
#include "link/test/lone.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define SKIP            77

static struct fi_info *info;

static void side_open(struct lone *side)
{
	side->info = fi_dupinfo(info);
	lone_domain_open(side);
	lone_endpoint_open(side);
}

static void side_close(struct lone *side)
{
	lone_endpoint_close(side);
	lone_domain_close(side);
}

static uint64_t number_of(const struct lone *side)
{
	struct link_address address;

	pair_do(link_address_decode(side->name, &address, NULL));
	return address.number;
}

/* Of an endpoint: its own file, and its memory. */
static unsigned int files_of(uint64_t number)
{
	static const char *const suffixes[] = { "", ".here" };
	unsigned int count = 0;
	char path[64];

	for (unsigned int i = 0; i < COUNT_OF(suffixes); i++) {
		snprintf(path, sizeof(path), "/dev/shm/fairlead-%016llx%s",
			 (unsigned long long)number, suffixes[i]);
		count += access(path, F_OK) == 0;
	}
	return count;
}

/* --- containers --- */

struct container {
	pid_t first; /* with it all of its processes end */
	uint64_t number;
};

/* With numbers of processes of its own, or a process like us. */
static struct container container_start(bool is_own)
{
	struct container container = { 0 };
	int fds[2], before = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);

	pair_check(before >= 0 &&
		   socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	if (is_own && unshare(CLONE_NEWPID) != 0)
		return container;
	container.first = fork();
	pair_check(container.first >= 0);
	if (container.first == 0) {
		struct lone side;
		uint64_t number;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		side_open(&side);
		number = number_of(&side);
		pair_check(write(fds[1], &number, sizeof(number)) ==
			   sizeof(number));
		for (;;)
			pause();
	}
	if (is_own)
		pair_check(setns(before, CLONE_NEWPID) == 0);
	pair_check(read(fds[0], &container.number, sizeof(container.number)) ==
		   sizeof(container.number));
	close(before);
	close(fds[0]);
	close(fds[1]);
	pair_check(files_of(container.number) == 2);
	return container;
}

static void container_kill(const struct container *container)
{
	int status;

	pair_check(kill(container->first, SIGKILL) == 0);
	pair_check(waitpid(container->first, &status, 0) == container->first);
}

static void another_program_starts(void)
{
	struct lone side;

	side.info = fi_dupinfo(info);
	lone_domain_open(&side);
	lone_domain_close(&side);
}

/* --- who was killed before its file was made --- */

static int file_make(const char *path, size_t size)
{
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);

	pair_check(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	return fd;
}

/* Who makes one holds it. */
static void what_is_half_made_is_taken_away(void)
{
	static const char empty[] = "/dev/shm/fairlead-00000000000000e1.here",
			  half[] = "/dev/shm/fairlead-00000000000000e2.here",
			  held[] = "/dev/shm/fairlead-00000000000000e3.here";
	int fd;

	close(file_make(empty, 0));
	close(file_make(half, 4096));
	fd = file_make(held, 4096);
	pair_check(flock(fd, LOCK_EX) == 0);
	another_program_starts();
	pair_check(access(empty, F_OK) != 0 && access(half, F_OK) != 0);
	pair_check(access(held, F_OK) == 0);
	close(fd);
	another_program_starts();
	pair_check(access(held, F_OK) != 0);
}

/* --- what is in the way --- */

#define SERVICE "27911"

/* At a service, of a node or of none. */
static void open_there(const char *node, struct lone *side)
{
	struct fi_info *hints = fi_allocinfo();

	hints->caps = FI_MSG | FI_TAGGED;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("fairlead");
	pair_do(fi_getinfo(fi_version(), node, SERVICE, FI_SOURCE, hints,
			   &side->info));
	fi_freeinfo(hints);
	lone_domain_open(side);
	lone_endpoint_make(side);
}

static int enable_there(const char *node, uint64_t *ret_number)
{
	struct lone side;
	size_t size = sizeof(side.name);
	int result;

	open_there(node, &side);
	result = fi_enable(side.ep);
	if (result == 0) {
		pair_do(fi_getname(&side.ep->fid, side.name, &size));
		*ret_number = number_of(&side);
	}
	side_close(&side);
	return result;
}

/* The core would take it for the memory of somebody, and read what is not there. */
static void what_is_not_ours_is_in_the_way(void)
{
	uint64_t number, other;
	char path[64];

	pair_do(enable_there("localhost", &number));
	snprintf(path, sizeof(path), "/dev/shm/fairlead-%016llx",
		 (unsigned long long)number);
	close(file_make(path, 0));
	pair_do(enable_there("localhost", &other));
	pair_check(other == number && access(path, F_OK) != 0);
	pair_check(mkdir(path, 0700) == 0);
	pair_check(enable_there("localhost", &other) == -FI_EADDRINUSE);
	pair_do(enable_there(NULL, &other));
	pair_check(other != number);
	pair_check(rmdir(path) == 0);
}

/* Its own file has the last descriptor, and its memory none. */
static void what_cannot_be_opened_may_be_tried_again(void)
{
	struct rlimit limit, few;
	struct lone side;
	int next = dup(STDOUT_FILENO);

	open_there(NULL, &side);
	close(next);
	next = dup(STDOUT_FILENO);
	pair_check(next >= 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0);
	few = limit;
	few.rlim_cur = (rlim_t)next + 1;
	close(next);
	pair_check(setrlimit(RLIMIT_NOFILE, &few) == 0);
	pair_check(fi_enable(side.ep) < 0);
	pair_check(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	pair_do(fi_enable(side.ep));
	side_close(&side);
}

/* --- who knocks, and is gone before anybody has looked --- */

static void knock(const struct lone *us, bool is_killed, int fd)
{
	struct lone side;
	uint64_t number;
	fi_addr_t to;

	side_open(&side);
	pair_check(fi_av_insert(side.av, us->name, 1, &to, 0, NULL) == 1);
	pair_do(fi_tinject(side.ep, "hello", 5, to, 1));
	number = number_of(&side);
	pair_check(write(fd, &number, sizeof(number)) == sizeof(number));
	if (is_killed)
		kill(getpid(), SIGKILL);
	side_close(&side);
	exit(0);
}

static void who_knocks_and_is_gone_does_no_harm(struct lone *us, bool is_killed)
{
	struct fi_cq_tagged_entry entry;
	uint64_t number;
	int fds[2], status;
	pid_t child;

	pair_check(pipe(fds) == 0);
	child = fork();
	pair_check(child >= 0);
	if (child == 0)
		knock(us, is_killed, fds[1]);
	close(fds[1]);
	pair_check(read(fds[0], &number, sizeof(number)) == sizeof(number));
	pair_check(waitpid(child, &status, 0) == child);
	pair_check(WIFSIGNALED(status) == is_killed);
	another_program_starts();
	for (unsigned int i = 0; i < 1000; i++)
		pair_check(fi_cq_read(us->cq, &entry, 1) == -FI_EAGAIN);
	another_program_starts();
	pair_check(files_of(number) == 0);
	close(fds[0]);
}

/* --- who has sent more than there is room for, and is gone --- */

#define SENT 4

static void word_from(int fd, const struct lone *side)
{
	struct pollfd other = { .fd = fd, .events = POLLIN };
	char word;

	while (poll(&other, 1, 0) == 0)
		pair_check(fi_cq_read(side->cq, NULL, 0) <= 0);
	pair_check(read(fd, &word, 1) == 1);
}

static void word_to(int fd)
{
	pair_check(write(fd, "x", 1) == 1);
}

static void progress(const struct lone *side)
{
	for (unsigned int i = 0; i < 1000; i++)
		pair_check(fi_cq_read(side->cq, NULL, 0) <= 0);
}

/* Without frames, from when it is known. */
static void send_and_go(const struct lone *us, int fd)
{
	struct lone side;
	fi_addr_t to;

	side_open(&side);
	pair_check(write(fd, side.name, sizeof(side.name)) ==
		   sizeof(side.name));
	pair_check(fi_av_insert(side.av, us->name, 1, &to, 0, NULL) == 1);
	pair_do(fi_tinject(side.ep, "hello", 5, to, 0));
	word_from(fd, &side);
	progress(&side);
	for (unsigned int i = 1; i <= SENT; i++)
		pair_do(fi_tinject(side.ep, &i, sizeof(i), to, i));
	side_close(&side);
	exit(0);
}

/* It is not taken for what another one has sent, who has its place in the core. */
static void what_was_left_in_the_core_comes(struct lone *us)
{
	uint8_t name[sizeof(us->name)];
	struct lone other;
	int fds[2], status;
	fi_addr_t from, at;
	pid_t child;
	char hello[5];

	pair_check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	child = fork();
	pair_check(child >= 0);
	if (child == 0)
		send_and_go(us, fds[1]);
	pair_check(read(fds[0], name, sizeof(name)) == sizeof(name));
	pair_check(fi_av_insert(us->av, name, 1, &from, 0, NULL) == 1);
	pair_do(fi_trecv(us->ep, hello, 5, NULL, from, 0, 0, NULL));
	lone_wait(us, NULL);
	word_to(fds[0]);
	pair_check(waitpid(child, &status, 0) == child && status == 0);
	progress(us);
	pair_do(fi_av_remove(us->av, &from, 1, 0));
	progress(us);
	side_open(&other);
	pair_check(fi_av_insert(us->av, other.name, 1, &at, 0, NULL) == 1);
	for (unsigned int i = 1; i <= SENT; i++) {
		unsigned int got = 0;
		fi_addr_t source;
		pair_do(fi_trecv(us->ep, &got, sizeof(got), NULL,
				 FI_ADDR_UNSPEC, i, 0, NULL));
		lone_wait(us, &source);
		pair_check(got == i);
		/* The first one came before its sender was removed. */
		pair_check(i == 1 || source == FI_ADDR_NOTAVAIL);
	}
	side_close(&other);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	struct container killed, lives, like_us;
	struct lone us;

	info = lone_info(0, FI_THREAD_UNSPEC);
	pair_check(info != NULL);
	killed = container_start(true);
	if (killed.first == 0) {
		printf("skipped: no pid namespace: %s\n", strerror(errno));
		return SKIP;
	}
	lives = container_start(true);
	like_us = container_start(false);
	another_program_starts();
	pair_check(files_of(killed.number) == 2);
	container_kill(&killed);
	pair_check(files_of(killed.number) == 2);
	another_program_starts();
	pair_check(files_of(killed.number) == 0);
	pair_check(files_of(lives.number) == 2);
	pair_check(files_of(like_us.number) == 2);
	/* It is stopped, and lives. */
	pair_check(kill(lives.first, SIGSTOP) == 0);
	container_kill(&like_us);
	another_program_starts();
	pair_check(files_of(lives.number) == 2);
	pair_check(files_of(like_us.number) == 0);
	container_kill(&lives);
	another_program_starts();
	pair_check(files_of(lives.number) == 0);
	what_is_half_made_is_taken_away();
	what_is_not_ours_is_in_the_way();
	what_cannot_be_opened_may_be_tried_again();
	side_open(&us);
	who_knocks_and_is_gone_does_no_harm(&us, false);
	who_knocks_and_is_gone_does_no_harm(&us, true);
	side_close(&us);
	setenv("FI_FAIRLEAD_UNEXPECTED_MAX", "1", 1);
	side_open(&us);
	what_was_left_in_the_core_comes(&us);
	side_close(&us);
	fi_freeinfo(info);
	return 0;
}
