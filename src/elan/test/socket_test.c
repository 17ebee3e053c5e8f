/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon against clients that do not behave, and against those that are not
 * who they seem. Usage: socket_test FAIRLEAD-RMS KEEPER.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sys/packet_server.h"
#include "elan/test/play.h"
#include "elan/wire/wire.h"

static int try_connect(const struct stage *stage)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket",
		 stage->dir);
	if (fd >= 0 &&
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int must_connect(const struct stage *stage)
{
	int fd = try_connect(stage);

	assert_true(fd >= 0);
	return fd;
}

/* The result in the next packet, and of which operation; or -ECONNRESET. */
static int receive(int fd, enum rms_op *ret_op)
{
	uint8_t packet[4096];
	struct rms_reply reply;
	ssize_t size;

	do
		size = recv(fd, packet, sizeof(packet), 0);
	while (size < 0 && errno == EINTR);
	if (size <= 0)
		return -ECONNRESET;
	if (rms_reply_decode(packet, (size_t)size, &reply) < 0)
		return -EPROTO;
	*ret_op = reply.op;
	return reply.result;
}

/* A refusal with this error, and then the end. */
static void assert_refused(int fd, int expected)
{
	enum rms_op op = RMS_OP_COUNT;

	assert_int_equal(receive(fd, &op), expected);
	assert_int_equal(op, RMS_NONE);
	assert_int_equal(receive(fd, &op), -ECONNRESET);
}

static void garbage_ends_the_connection(void **state)
{
	static const uint8_t packets[][8] = {
		{ 1, 250, 0, 0 },
		{ 1, RMS_NONE, 0, 0 },
		{ 1, RMS_NCAPS, 0, 1 },
		{ 1, RMS_NCAPS, 0, 0, 0 },
		{ 1, RMS_PRGINFO, 0, 0, 1 },
	};
	static const size_t sizes[] = { 4, 4, 4, 5, 7 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		_auto_(closep) int fd = must_connect(*state);

		assert_int_equal(send(fd, packets[i], sizes[i], 0), sizes[i]);
		assert_refused(fd, -EPROTO);
	}
	assert_int_equal(rmsmod_init(), 0);
}

static void another_version_ends_the_connection(void **state)
{
	static const uint8_t version[] = { 9, RMS_NCAPS, 0, 0 };
	_auto_(closep) int fd = must_connect(*state);

	assert_int_equal(send(fd, version, sizeof(version), 0), 4);
	assert_refused(fd, -EPROTONOSUPPORT);
	assert_int_equal(rmsmod_init(), 0);
}

static void too_large_a_request_ends_the_connection(void **state)
{
	static const uint8_t large[RMS_REQUEST_MAX + 1] = { 1, RMS_NCAPS };
	_auto_(closep) int fd = must_connect(*state);

	assert_int_equal(send(fd, large, sizeof(large), 0), sizeof(large));
	assert_refused(fd, -EMSGSIZE);
	assert_int_equal(rmsmod_init(), 0);
}

static void silence_holds_up_nobody(void **state)
{
	int fd = must_connect(*state);

	assert_int_equal(rmsmod_init(), 0);
	close(fd);
	assert_int_equal(rmsmod_init(), 0);
}

static void a_client_that_does_not_read_is_let_go(void **state)
{
	static const uint8_t request[] = { 1, RMS_VERSION_GET, 0, 0 };
	_auto_(closep) int fd = must_connect(*state);

	/* Answers fill its socket; then it is closed, and others are served. */
	while (send(fd, request, sizeof(request), MSG_NOSIGNAL) > 0)
		continue;
	assert_true(errno == EPIPE || errno == ECONNRESET);
	assert_int_equal(rmsmod_init(), 0);
}

/*
 * As this user, in a process of its own: connect so often, have call do
 * something with that, and stay. When this returns that was done.
 */
static pid_t crowd_start(const struct stage *stage, uid_t uid, int count,
			 bool (*call)(const int *fds, int count))
{
	_auto_(freep) int *fds = calloc((size_t)count, sizeof(*fds));
	int says[2];
	char byte;
	pid_t pid;

	assert_non_null(fds);
	assert_int_equal(pipe2(says, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (become(uid) < 0)
			_exit(1);
		for (int i = 0; i < count; i++) {
			fds[i] = try_connect(stage);
			if (fds[i] < 0)
				_exit(2);
		}
		if (!call(fds, count) || write(says[1], "", 1) != 1)
			_exit(3);
		for (;;)
			pause();
	}
	close(says[1]);
	assert_int_equal(read(says[0], &byte, 1), 1);
	close(says[0]);
	return pid;
}

static void crowd_end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool last_is_refused(const int *fds, int count)
{
	enum rms_op op;

	return receive(fds[count - 1], &op) == -EUSERS;
}

static bool last_is_served(const int *fds, int count)
{
	static const uint8_t request[] = { 1, RMS_PRGIDS, 0, 0 };
	enum rms_op op;

	return send(fds[count - 1], request, sizeof(request), 0) > 0 &&
	       receive(fds[count - 1], &op) == 0;
}

static void one_user_cannot_take_all_connections(void **state)
{
	struct stage *stage = *state;
	struct player *other = player_start(stage, 0, OTHER_UID);
	struct player *owner = player_start(stage, 1, OWNER_UID);
	pid_t crowd = crowd_start(stage, OWNER_UID, PACKET_CLIENTS_UID_MAX + 1,
				  last_is_refused);

	assert_int_equal(play(owner, ACT_PRGIDS, .value = 1), -EUSERS);
	assert_int_equal(play(other, ACT_PRGIDS, .value = 1), 0);
	assert_int_equal(rmsmod_init(), 0);
	crowd_end(crowd);
}

/* Who has the most of them has one less when somebody else comes. */
static void several_users_cannot_take_all_connections(void **state)
{
	struct stage *stage = *state;
	struct player *third = player_start(stage, 0, OTHER_UID + 1);
	pid_t crowds[2];

	crowds[0] = crowd_start(stage, OWNER_UID, PACKET_CLIENTS_UID_MAX,
				last_is_served);
	crowds[1] = crowd_start(stage, OTHER_UID, PACKET_CLIENTS_UID_MAX,
				last_is_served);
	assert_int_equal(rmsmod_init(), 0);
	assert_int_equal(play(third, ACT_PRGIDS, .value = 1), 0);
	crowd_end(crowds[0]);
	crowd_end(crowds[1]);
}

#define CALLS 100 /* of one user at once */

/* Each with another figure; how many were done is seen by it. */
static bool set_figures(const int *fds, int count)
{
	struct rms_request request = { .op = RMS_SETELANSTATS, .id = 1 };

	for (int i = 0; i < count; i++) {
		struct writer packet = { 0 };
		bool was_sent;

		request.stats.exfers = (uint64_t)i + 1;
		rms_request_encode(&request, &packet);
		was_sent = send(fds[i], packet.data, packet.size, 0) ==
			   (ssize_t)packet.size;
		writer_fini(&packet);
		if (!was_sent)
			return false;
	}
	return true;
}

/* Others wait for the calls that come while they connect, and not for all. */
static void one_users_calls_hold_up_nobody_elses(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct player *root = player_start(stage, 1, 0);
	struct script script = { .act = ACT_PRGGETSTATS, .id = 1 };
	pid_t crowd;
	int status;

	assert_int_equal(play(member, ACT_BECOME, .uid = OTHER_UID), 0);
	assert_int_equal(kill(stage->daemon, SIGSTOP), 0);
	assert_int_equal(waitpid(stage->daemon, &status, WUNTRACED),
			 stage->daemon);
	crowd = crowd_start(stage, OWNER_UID, CALLS, set_figures);
	play_begin(root, &script);
	script.id = -1;
	play_begin(member, &script);
	/* They wait for their answers. */
	while (state_of(root->pid) != 'S' || state_of(member->pid) != 'S')
		sched_yield();
	assert_int_equal(kill(stage->daemon, SIGCONT), 0);
	assert_int_equal(play_end(root), 0);
	assert_int_equal(play_end(member), 0);
	assert_in_range(root->script->stats.exfers, 0, CALLS / 10);
	assert_in_range(member->script->stats.exfers, 0, CALLS / 10);
	crowd_end(crowd);
}

static const uint8_t ncaps[] = { 1, RMS_NCAPS, 0, 0 };

/* The maker's child: when the maker has ended, what is its connection for? */
static int use_connection(int fd, int ready_fd)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getppid(), 0);
	struct pollfd poll_fd = { .fd = pidfd, .events = POLLIN };
	enum rms_op op;

	if (pidfd < 0 || write(ready_fd, "", 1) != 1 ||
	    poll(&poll_fd, 1, -1) != 1)
		return -EIO;
	if (send(fd, ncaps, sizeof(ncaps), MSG_NOSIGNAL) != sizeof(ncaps))
		return -errno;
	return receive(fd, &op);
}

/* Connects, is known, has a child with the connection, and ends. */
static int make_connection(const struct stage *stage, int say_fd)
{
	int fd = try_connect(stage);
	enum rms_op op;
	int ready[2];
	char byte;

	if (fd < 0 || pipe2(ready, O_CLOEXEC) < 0 ||
	    send(fd, ncaps, sizeof(ncaps), 0) != sizeof(ncaps) ||
	    receive(fd, &op) != -ESRCH)
		return 1;
	if (fork() == 0) {
		int result = use_connection(fd, ready[1]);

		_exit(write(say_fd, &result, sizeof(result)) != sizeof(result));
	}
	return read(ready[0], &byte, 1) != 1;
}

/*
 * A connection that outlives who made it: nothing is done for it any more,
 * whoever may have that pid by then.
 */
static void a_connection_of_a_dead_process_is_nobodys(void **state)
{
	int result = 0;
	int says[2];
	int status;
	pid_t pid;

	assert_int_equal(pipe2(says, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(make_connection(*state, says[1]));
	close(says[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(says[0], &result, sizeof(result)),
			 sizeof(result));
	assert_int_equal(result, -ECONNRESET);
	close(says[0]);
}

static void vanishing_clients_are_forgotten(void **state)
{
	static const uint8_t request[] = { 1, RMS_PRGIDS, 0, 0 };

	for (int i = 0; i < 50; i++) {
		int fd = must_connect(*state);

		assert_int_equal(send(fd, request, sizeof(request), 0), 4);
		close(fd);
	}
	assert_int_equal(rmsmod_init(), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		stage_test(garbage_ends_the_connection),
		stage_test(another_version_ends_the_connection),
		stage_test(too_large_a_request_ends_the_connection),
		stage_test(silence_holds_up_nobody),
		stage_test(a_client_that_does_not_read_is_let_go),
		stage_test(one_user_cannot_take_all_connections),
		stage_test(several_users_cannot_take_all_connections),
		stage_test(one_users_calls_hold_up_nobody_elses),
		stage_test(a_connection_of_a_dead_process_is_nobodys),
		stage_test(vanishing_clients_are_forgotten),
	};
	int result = stage_init(argc, argv);

	if (result != 0)
		return result;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
