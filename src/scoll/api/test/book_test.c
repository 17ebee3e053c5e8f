/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that know nobody but themselves, and a root that knows all of them:
 * what a member needs to reach its parent and its children comes with the
 * group. Members are this executable again; a member prints its address, then
 * says how many requests it has run for each line that it reads, until there
 * are no more. The provider is the program's first argument.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scoll/api/test/crowd.h"
#include "sys/test/watchdog.h"

#define MEMBERS     12 /* a tree of four levels; node 0 is the root */
#define ADDRESS_MAX 256
#define BULK        200000
#define TAGS        40 /* of each: a list that fits in no message */
#define RTT_NS      2000000000

static const char *provider;
static struct person root;
static struct member {
	pid_t pid;
	FILE *in, *out;
} members[MEMBERS];

/* --- a member --- */

static void open_person(struct person *person, int i, bool shares_addresses)
{
	static const uint8_t key[32] = "thirty-two bytes known to all..";
	struct scoll_params params = {
		.size = sizeof(params),
		.nid = crowd_nid(i),
		.provider = provider,
		.node = "127.0.0.1",
		.tree = CROWD_TREE,
		.rtt = RTT_NS,
		.share_addresses = shares_addresses,
	};

	memset(person, 0, sizeof(*person));
	person->nid = crowd_nid(i);
	if (scoll_key_authenticator_create(person->nid, key, &person->auth) < 0)
		abort();
	params.authenticator = person->auth;
	if (scoll_init(&params, &person->scoll, NULL) < 0 ||
	    scoll_service_register(person->scoll, CROWD_SERVICE, &crowd_service,
				   person) < 0)
		abort();
}

static int member_main(int i)
{
	struct person person;
	uint8_t address[ADDRESS_MAX];
	size_t size = sizeof(address);
	char line[16];

	open_person(&person, i, false);
	if (scoll_address(person.scoll, address, &size) < 0)
		abort();
	for (size_t at = 0; at < size; at++)
		printf("%02x", address[at]);
	printf("\n");
	fflush(stdout);
	for (;;) {
		scoll_duration_t wait = scoll_timeout(person.scoll);
		struct pollfd fds[] = {
			{ .fd = STDIN_FILENO, .events = POLLIN },
			{ .fd = scoll_fd(person.scoll), .events = POLLIN },
		};

		poll(fds, 2, wait < 0 ? -1 : (int)((wait + 999999) / 1000000));
		if (scoll_progress(person.scoll) < 0)
			abort();
		if (fds[0].revents == 0)
			continue;
		if (read(STDIN_FILENO, line, 1) <= 0)
			break;
		printf("%d\n", person.request_count);
		fflush(stdout);
	}
	person_close(&person);
	return 0;
}

/* --- seen from the root --- */

extern char **environ;

static void spawn(struct member *member, int i)
{
	char number[16];
	char *words[] = { "/proc/self/exe", (char *)provider, "member", number,
			  NULL };
	posix_spawn_file_actions_t actions;
	int in[2], out[2];

	snprintf(number, sizeof(number), "%d", i);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	assert_int_equal(posix_spawn(&member->pid, words[0], &actions, NULL,
				     words, environ),
			 0);
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	member->in = fdopen(in[1], "w");
	member->out = fdopen(out[0], "r");
}

/* The root's program hears where it is. */
static void meet(struct member *member, int i)
{
	char line[2 * ADDRESS_MAX + 2];
	uint8_t address[ADDRESS_MAX];
	size_t size = 0;
	unsigned byte;

	assert_non_null(fgets(line, sizeof(line), member->out));
	while (sscanf(line + 2 * size, "%2x", &byte) == 1)
		address[size++] = (uint8_t)byte;
	assert_int_equal(
		scoll_peer_address(root.scoll, crowd_nid(i), address, size), 0);
}

/* It is to end, all at once or when it has read that. */
static void end_begin(const struct member *member, bool is_violent)
{
	if (is_violent)
		kill(member->pid, SIGKILL);
	fclose(member->in);
}

static void end_finish(const struct member *member, bool is_violent)
{
	int status;

	assert_int_equal(waitpid(member->pid, &status, 0), member->pid);
	fclose(member->out);
	if (is_violent)
		assert_true(WIFSIGNALED(status));
	else
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int requests_of(const struct member *member)
{
	char line[16];

	fputc('\n', member->in);
	fflush(member->in);
	assert_non_null(fgets(line, sizeof(line), member->out));
	return atoi(line);
}

static int setup(void **state)
{
	watchdog_start(NULL);
	open_person(&root, 0, true);
	for (int i = 1; i < MEMBERS; i++)
		spawn(&members[i], i);
	for (int i = 1; i < MEMBERS; i++)
		meet(&members[i], i);
	return 0;
}

static int teardown(void **state)
{
	person_close(&root);
	for (int i = 1; i < MEMBERS; i++)
		end_begin(&members[i], false);
	for (int i = 1; i < MEMBERS; i++)
		end_finish(&members[i], false);
	watchdog_stop();
	return 0;
}

struct creation {
	bool is_done;
	int status;
	scoll_group_t *group;
};

static void created(int status, scoll_group_t *group, const void *private)
{
	*(struct creation *)private = (struct creation){ true, status, group };
}

static scoll_group_t *group_make(int tag_count, bool is_now)
{
	struct creation creation = { .is_done = false };
	scoll_target_t targets[MEMBERS];
	scoll_tag_t tags[TAGS];

	for (int i = 0; i < TAGS; i++)
		memset(&tags[i], i + 1, sizeof(tags[i]));
	for (int i = 0; i < MEMBERS; i++)
		targets[i] = (scoll_target_t){ crowd_nid(i), tags, tag_count };
	assert_int_equal(scoll_group_create(root.scoll, CROWD_SERVICE, "lane",
					    targets, MEMBERS,
					    SCOLL_TREE_DEFAULT, is_now, created,
					    &creation),
			 0);
	crowd_until(&root, 1, &creation.is_done);
	assert_int_equal(creation.status, 0);
	return creation.group;
}

/* Everybody runs it, with all of its bulk data. */
static void run(scoll_group_t *group, size_t bulk_size)
{
	static uint8_t bulk[BULK];
	struct outcome outcome;

	memset(bulk, 3, sizeof(bulk));
	assert_int_equal(crowd_send(&root, group, "go", 2, bulk, bulk_size, 0,
				    &outcome),
			 0);
	crowd_until(&root, 1, &outcome.is_done);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.failure_count, 0);
	assert_int_equal(outcome.tally.node_count, MEMBERS);
	assert_int_equal(outcome.tally.bulk_sum,
			 MEMBERS * crowd_sum(bulk, bulk_size));
}

static void delayed_group_reaches_those_who_know_nobody(void **state)
{
	scoll_group_t *group = group_make(1, false);

	run(group, 0);
	run(group, BULK);
	for (int i = 1; i < MEMBERS; i++)
		assert_int_equal(requests_of(&members[i]), 2);
	scoll_group_destroy(group);
}

static void list_and_addresses_are_read_as_bulk_data(void **state)
{
	scoll_group_t *group = group_make(TAGS, true);

	run(group, BULK);
	for (int i = 1; i < MEMBERS; i++)
		assert_int_equal(requests_of(&members[i]), 1);
	scoll_group_destroy(group);
}

/* 8 has a parent that is not the root, and children. */
static void node_that_moved_is_found(void **state)
{
	scoll_group_t *group = group_make(TAGS, true);

	run(group, 0);
	end_begin(&members[8], true);
	end_finish(&members[8], true);
	spawn(&members[8], 8);
	meet(&members[8], 8);
	scoll_group_destroy(group);
	group = group_make(TAGS, true);
	run(group, BULK);
	assert_int_equal(requests_of(&members[8]), 1);
	scoll_group_destroy(group);
}

static void sharing_needs_an_authenticator(void **state)
{
	struct scoll_params params = {
		.size = sizeof(params),
		.nid = crowd_nid(0),
		.provider = provider,
		.share_addresses = true,
	};
	struct fairlead_error error = { 0 };
	scoll_t *scoll;

	assert_int_equal(scoll_init(&params, &scoll, &error), -EINVAL);
	assert_non_null(strstr(error.text, "authenticator"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(delayed_group_reaches_those_who_know_nobody),
		TEST(list_and_addresses_are_read_as_bulk_data),
		TEST(node_that_moved_is_found),
		cmocka_unit_test(sharing_needs_an_authenticator),
	};

	provider = argc > 1 ? argv[1] : "tcp;ofi_rxm";
	if (argc == 4 && strcmp(argv[2], "member") == 0)
		return member_main(atoi(argv[3]));
	return cmocka_run_group_tests_name("scoll_book", tests, NULL, NULL);
}
