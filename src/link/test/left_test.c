/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Containers that share /dev/shm with us, and have numbers of processes of their
 * own. One is killed: what it has left there is taken away by the next program, and
 * what others have, who live, stays. And peers that are gone before we look: their
 * shared memory is still there then.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link/address/address.h"
#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define SKIP            77

static struct fi_info *info;

struct side {
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	uint8_t name[LINK_ADDRESS_SIZE];
	uint64_t number;
};

static void domain_open(struct side *side)
{
	pair_do(fi_fabric(info->fabric_attr, &side->fabric, NULL));
	pair_do(fi_domain(side->fabric, info, &side->domain, NULL));
}

static void domain_close(struct side *side)
{
	pair_do(fi_close(&side->domain->fid));
	pair_do(fi_close(&side->fabric->fid));
}

static void endpoint_open(struct side *side)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	struct link_address address;
	size_t size = sizeof(side->name);

	domain_open(side);
	pair_do(fi_cq_open(side->domain, &cq, &side->cq, NULL));
	pair_do(fi_av_open(side->domain, &av, &side->av, NULL));
	pair_do(fi_endpoint(side->domain, info, &side->ep, NULL));
	pair_do(fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
	pair_do(fi_ep_bind(side->ep, &side->av->fid, 0));
	pair_do(fi_enable(side->ep));
	pair_do(fi_getname(&side->ep->fid, side->name, &size));
	pair_do(link_address_decode(side->name, &address, NULL));
	side->number = address.number;
}

static void endpoint_close(struct side *side)
{
	pair_do(fi_close(&side->ep->fid));
	pair_do(fi_close(&side->av->fid));
	pair_do(fi_close(&side->cq->fid));
	domain_close(side);
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
		struct side side;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		endpoint_open(&side);
		pair_check(write(fds[1], &side.number, sizeof(side.number)) ==
			   sizeof(side.number));
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
	struct side side;

	domain_open(&side);
	domain_close(&side);
}

/* --- who knocks, and is gone before anybody has looked --- */

static void knock(const struct side *us, bool is_killed, int fd)
{
	struct side side;
	fi_addr_t to;

	endpoint_open(&side);
	pair_check(fi_av_insert(side.av, us->name, 1, &to, 0, NULL) == 1);
	pair_do(fi_tinject(side.ep, "hello", 5, to, 1));
	pair_check(write(fd, &side.number, sizeof(side.number)) ==
		   sizeof(side.number));
	if (is_killed)
		kill(getpid(), SIGKILL);
	endpoint_close(&side);
	exit(0);
}

static void who_knocks_and_is_gone_does_no_harm(struct side *us, bool is_killed)
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

int main(void)
{
	struct fi_info *hints = fi_allocinfo();
	struct container killed, lives, like_us;
	struct side us;

	hints->fabric_attr->prov_name = strdup("fairlead");
	pair_do(fi_getinfo(fi_version(), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
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
	endpoint_open(&us);
	who_knocks_and_is_gone_does_no_harm(&us, false);
	who_knocks_and_is_gone_does_no_harm(&us, true);
	endpoint_close(&us);
	fi_freeinfo(info);
	return 0;
}
