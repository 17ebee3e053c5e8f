/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Three processes: one has a memory, whose neighbour shares memory with it and
 * whose third does not, as far as the link lets that be. Both others change the same
 * numbers, while two threads of the owner look after its rails. The owner
 * knows none of them.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fi_atomic.h>

#include "link/test/lone.h"

#define ROUNDS 1000
#define WINDOW 100 /* operations under way */
#define MANY   200
#define KEY    5
#define SKIP   77

__extension__ typedef unsigned __int128 uint128;

/* Changed by instructions, and with a lock: many, so that two meet. */
static struct {
	uint64_t small;
	_Alignas(16) uint128 large[MANY];
} numbers;

struct result {
	uint64_t fetched; /* the sum of all numbers that were there before */
	uint64_t added;   /* to each of the large ones */
	bool is_skipped;
};

static bool side_open(struct lone *side)
{
	side->info = lone_info(FI_MSG | FI_ATOMIC, FI_THREAD_SAFE);
	if (side->info == NULL)
		return false;
	lone_domain_open(side);
	lone_endpoint_open(side);
	return true;
}

static void side_close(struct lone *side)
{
	lone_endpoint_close(side);
	lone_domain_close(side);
}

#define until_taken(side, call)                                     \
	do {                                                        \
		ssize_t taken;                                      \
		while ((taken = (call)) == -FI_EAGAIN)              \
			(void)fi_cq_read((side)->cq, NULL, 0);      \
		pair_do_at((long)taken, #call, __FILE__, __LINE__); \
	} while (0)

/* --- who changes them --- */

static void add_one_by_one(struct lone *side, fi_addr_t owner,
			   struct result *result)
{
	const uint64_t one = 1;
	uint64_t before, last = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		until_taken(side, fi_fetch_atomic(side->ep, &one, 1, NULL,
						  &before, NULL, owner, 0, KEY,
						  FI_UINT64, FI_SUM, NULL));
		lone_wait(side, NULL);
		pair_check(i == 0 || before > last);
		last = before;
		result->fetched += before;
	}
}

/* Many under way, so that both rails have work at once. */
static void add_many(struct lone *side, fi_addr_t owner, struct result *result)
{
	uint128 ones[MANY];

	for (unsigned int i = 0; i < MANY; i++)
		ones[i] = 1;
	for (unsigned int i = 0; i < WINDOW; i++)
		until_taken(side,
			    fi_atomic(side->ep, ones, MANY, NULL, owner,
				      offsetof(__typeof__(numbers), large), KEY,
				      FI_UINT128, FI_SUM, NULL));
	for (unsigned int i = 0; i < WINDOW; i++)
		lone_wait(side, NULL);
	result->added += WINDOW;
}

/* The first goes on until the second, whose way is longer, is done. */
static bool is_enough(int fd, bool is_first, const struct result *result)
{
	struct pollfd other = { .fd = fd, .events = POLLIN };
	uint8_t word;

	if (!is_first)
		return result->added >= ROUNDS;
	if (poll(&other, 1, 0) == 0)
		return false;
	pair_check(read(fd, &word, 1) == 1);
	return true;
}

static int adder(int fd, bool is_first)
{
	struct lone side = { 0 };
	struct result result = { 0 };
	uint8_t owner_name[64], end;
	fi_addr_t owner;

	pair_check(read(fd, owner_name, sizeof(owner_name)) ==
		   sizeof(owner_name));
	result.is_skipped = !side_open(&side);
	if (!result.is_skipped) {
		pair_check(fi_av_insert(side.av, owner_name, 1, &owner, 0,
					NULL) == 1);
		add_one_by_one(&side, owner, &result);
		while (!is_enough(fd, is_first, &result))
			add_many(&side, owner, &result);
	}
	pair_check(write(fd, &result, sizeof(result)) == sizeof(result));
	pair_check(read(fd, &end, 1) == 1);
	if (!result.is_skipped)
		side_close(&side);
	return 0;
}

/* --- whose they are --- */

static bool is_over;

static void *look_after(void *arg)
{
	struct lone *side = arg;

	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
		pair_check(fi_cq_read(side->cq, NULL, 0) <= 0);
	return NULL;
}

static struct result wait_for(struct lone *side, int fd)
{
	struct pollfd other = { .fd = fd, .events = POLLIN };
	struct result result;

	while (poll(&other, 1, 0) == 0)
		(void)fi_cq_read(side->cq, NULL, 0);
	pair_check(read(fd, &result, sizeof(result)) == sizeof(result));
	pair_check(!result.is_skipped);
	return result;
}

static int owner(const int fds[2])
{
	const uint64_t all = 2 * ROUNDS;
	struct lone side = { 0 };
	struct fid_mr *mr;
	pthread_t thread;

	if (!side_open(&side)) {
		printf("skipped: no link \"%s\" here\n",
		       getenv("FI_FAIRLEAD_LINKS"));
		return SKIP;
	}
	pair_do(fi_mr_reg(side.domain, &numbers, sizeof(numbers),
			  FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr,
			  NULL));
	for (unsigned int i = 0; i < 2; i++)
		pair_check(write(fds[i], side.name, sizeof(side.name)) ==
			   sizeof(side.name));
	pair_check(pthread_create(&thread, NULL, look_after, &side) == 0);
	const struct result second = wait_for(&side, fds[1]);
	pair_check(write(fds[0], "x", 1) == 1);
	const struct result first = wait_for(&side, fds[0]);
	__atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	/* Each number below the last was there once. */
	pair_check(first.fetched + second.fetched == all * (all - 1) / 2);
	pair_check(numbers.small == all);
	for (unsigned int i = 0; i < MANY; i++)
		pair_check(numbers.large[i] == first.added + second.added);
	for (unsigned int i = 0; i < 2; i++)
		pair_check(write(fds[i], "x", 1) == 1);
	pair_do(fi_close(&mr->fid));
	side_close(&side);
	return 0;
}

int main(void)
{
	const char *links = getenv("FI_FAIRLEAD_LINKS");
	pid_t children[2];
	int ours[2], result;

	for (unsigned int i = 0; i < 2; i++) {
		int fds[2];
		pair_check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
		children[i] = fork();
		pair_check(children[i] >= 0);
		if (children[i] == 0) {
			close(fds[0]);
			if (i == 1)
				close(ours[0]);
			if (i == 1 && links != NULL &&
			    strchr(links, '+') != NULL)
				setenv("FI_FAIRLEAD_NODE", "elsewhere", 1);
			return adder(fds[1], i == 0);
		}
		close(fds[1]);
		ours[i] = fds[0];
	}
	result = owner(ours);
	for (unsigned int i = 0; i < 2; i++) {
		int status;
		if (result == SKIP)
			close(ours[i]);
		pair_check(waitpid(children[i], &status, 0) == children[i]);
		pair_check(result == SKIP ||
			   (WIFEXITED(status) && WEXITSTATUS(status) == 0));
	}
	return result;
}
