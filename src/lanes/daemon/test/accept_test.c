/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * accept() as libfabric gets it. The maximum is a process's, so each test has a
 * child; a failed check ends it. Built a second time, everybody who has been
 * answered counts as silent for long.
 */
#include "lanes/daemon/accept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX       8
#define KEPT_FREE 3 /* of these */
#define CROWD     40

#define check(condition)                                                   \
	do {                                                               \
		if (!(condition)) {                                        \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				#condition);                               \
			_exit(1);                                          \
		}                                                          \
	} while (0)

struct pair {
	int ours;   /* accepted; -1: was not */
	int theirs; /* has connected */
};

static struct sockaddr_in address;
static int listener;

static void begin(void)
{
	socklen_t size = sizeof(address);
	struct fairlead_error error;

	address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	check(bind(listener, (struct sockaddr *)&address, size) == 0);
	check(listen(listener, CROWD) == 0);
	check(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
	check(accept_limit(MAX, NULL, &error) == 0);
}

static int dial(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	check(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	return fd;
}

static struct pair meet(void)
{
	struct pair pair = { .theirs = dial() };

	pair.ours = accept(listener, NULL, NULL);
	if (pair.ours < 0)
		check(errno == ECONNABORTED);
	return pair;
}

/* A word from us, and it has arrived. */
static struct pair meet_and_answer(void)
{
	struct pair pair = meet();
	char byte = 0;

	check(pair.ours >= 0);
	check(write(pair.ours, &byte, 1) == 1);
	check(read(pair.theirs, &byte, 1) == 1);
	return pair;
}

static bool is_closed(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

/* Ours close who has been shut down, as libfabric does. */
static void settle(struct pair *pairs, int count)
{
	for (int i = 0; i < count; i++)
		if (pairs[i].ours >= 0 && is_closed(pairs[i].ours)) {
			close(pairs[i].ours);
			pairs[i].ours = -1;
		}
}

/* How many of them are still open; the first is that from which on all are. */
static int open_count(const struct pair *pairs, int count, int *ret_first)
{
	int open = 0;

	*ret_first = count;
	for (int i = count - 1; i >= 0; i--) {
		if (is_closed(pairs[i].theirs))
			continue;
		open++;
		if (*ret_first == i + 1)
			*ret_first = i;
	}
	return open;
}

static void crowd_comes(struct pair crowd[CROWD])
{
	for (int i = 0; i < CROWD; i++) {
		crowd[i] = meet();
		settle(crowd, i);
	}
}

/* --- stories, each in a child --- */

static void silent_peers(void)
{
	struct pair crowd[CROWD];
	int first;

	crowd_comes(crowd);
	check(open_count(crowd, CROWD, &first) == MAX - KEPT_FREE);
	check(first == CROWD - (MAX - KEPT_FREE));
}

static void silent_peers_and_members(void)
{
	struct pair members[MAX - KEPT_FREE];
	struct pair crowd[CROWD];
	int first;

	for (int i = 0; i < MAX - KEPT_FREE; i++)
		members[i] = meet_and_answer();
	crowd_comes(crowd);
	check(open_count(members, MAX - KEPT_FREE, &first) == MAX - KEPT_FREE);
	/* The last one, and the slots that are kept for newcomers. */
	check(open_count(crowd, CROWD, &first) == 1);
	check(first == CROWD - 1);
}

static void members_only(void)
{
	struct pair members[MAX];
	struct pair late;
	int first;

	for (int i = 0; i < MAX; i++)
		members[i] = meet_and_answer();
	late = meet();
	check(late.ours < 0);
	check(is_closed(late.theirs));
	check(open_count(members, MAX, &first) == MAX);
	close(members[3].ours);
	late = meet();
	check(late.ours >= 0);
}

static void silent_members(void)
{
	struct pair members[CROWD];
	int first;

	for (int i = 0; i < CROWD; i++) {
		members[i] = meet_and_answer();
		settle(members, i);
	}
	check(open_count(members, CROWD, &first) == MAX - KEPT_FREE);
	check(first == CROWD - (MAX - KEPT_FREE));
}

static void short_visits(void)
{
	for (int i = 0; i < CROWD; i++) {
		struct pair pair = meet_and_answer();

		close(pair.ours);
		check(is_closed(pair.theirs));
		close(pair.theirs);
	}
}

static void no_descriptor(void)
{
	int theirs = dial();
	const struct rlimit limit = { .rlim_cur = (rlim_t)theirs + 1,
				      .rlim_max = (rlim_t)theirs + 1 };
	struct pollfd queue = { .fd = listener, .events = POLLIN };
	int other = theirs;

	check(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	while (other >= 0)
		other = open("/dev/null", O_RDONLY | O_CLOEXEC);
	check(errno == EMFILE);
	check(poll(&queue, 1, 0) == 1);
	check(accept(listener, NULL, NULL) < 0);
	check(errno == ECONNABORTED);
	check(is_closed(theirs));
	/* Nobody waits any more, and the spare one is back. */
	check(poll(&queue, 1, 0) == 0);
	check(open("/dev/null", O_RDONLY | O_CLOEXEC) < 0);
}

/* --- the sentences --- */

static void holds(void (*story)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		begin();
		story();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_silent_connection_makes_way_for_a_newcomer(void **state)
{
	holds(silent_peers);
}

static void an_answered_connection_keeps_its_slot(void **state)
{
	holds(silent_peers_and_members);
}

static void at_the_maximum_the_newcomer_is_closed(void **state)
{
	holds(members_only);
}

static void an_answered_connection_that_is_silent_makes_way(void **state)
{
	holds(silent_members);
}

static void what_libfabric_has_closed_takes_no_slot(void **state)
{
	holds(short_visits);
}

static void without_a_descriptor_nobody_is_left_in_the_queue(void **state)
{
	holds(no_descriptor);
}

int main(void)
{
	const struct CMUnitTest silent[] = {
		cmocka_unit_test(
			an_answered_connection_that_is_silent_makes_way),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_connection_makes_way_for_a_newcomer),
		cmocka_unit_test(an_answered_connection_keeps_its_slot),
		cmocka_unit_test(at_the_maximum_the_newcomer_is_closed),
		cmocka_unit_test(what_libfabric_has_closed_takes_no_slot),
		cmocka_unit_test(
			without_a_descriptor_nobody_is_left_in_the_queue),
	};

	if (ACCEPT_SILENCE_MS == 0)
		return cmocka_run_group_tests(silent, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
