/* SPDX-License-Identifier: BSD-3-Clause */
/* The node role as a whole: a real guard, real sockets, one loop. */
#include "lanes/node/test/role_bench.h"

#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "lanes/driver/driver.h"
#include "lanes/proto/client.h"
#include "sys/rng.h"

#define OTHER_UID 65534
#define CROWD     8 /* connections of one user */

static const char *text_at(const json_t *answer, const char *object,
			   const char *name)
{
	return json_string_value(
		json_object_get(json_object_get(answer, object), name));
}

static void node_registers_obeys_and_serves(void **state)
{
	struct bench *bench = *state;
	struct stat status;
	json_t *answer, *grant;
	char path[128];

	role_bench_start(bench);
	run_until(bench, bench->greeted);
	role_bench_apply(bench, 7);
	answer = role_bench_call(bench, "node-status", NULL);
	assert_string_equal(text_at(answer, "manager", "state"), "up");
	grant = json_array_get(json_object_get(answer, "grants"), 0);
	assert_string_equal(json_string_value(json_object_get(grant, "state")),
			    "applied");
	answer = role_bench_call(bench, "epilog", "s/j7");
	if (geteuid() == 0) {
		assert_int_equal(
			json_array_size(json_object_get(answer, "revoked")), 1);
		/* The manager hears of it. */
		bench->has_confirm = false;
		run_until(bench, bench->has_confirm);
		assert_int_equal(bench->confirm.op, 0);
		assert_int_equal(bench->confirm.grant_id, 7);
	} else {
		assert_int_equal(
			json_integer_value(json_object_get(answer, "result")),
			-EPERM);
	}
	snprintf(path, sizeof(path), "%s/node.sock", bench->folder);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0666);
}

/* Of another user, with all the requests that it may have in the pipe. */
static int crowd_connect(const struct bench *bench)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct writer frame = { 0 };
	json_t *request = client_request(1, "devices");
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/node.sock",
		 bench->folder);
	assert_int_equal(seteuid(OTHER_UID), 0);
	assert_int_equal(
		connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(client_encode(request, &frame), 0);
	json_decref(request);
	for (int i = 0; i < CLIENT_REQUESTS_MAX; i++) {
		uint32_t size = htole32((uint32_t)frame.size);

		assert_int_equal(write(fd, &size, sizeof(size)), sizeof(size));
		assert_int_equal(write(fd, frame.data, frame.size), frame.size);
	}
	writer_fini(&frame);
	return fd;
}

/* Answers that have come since the last call. */
static size_t crowd_answers(const int *fds)
{
	char bytes[65536];
	size_t count = 0;
	uint32_t size;

	for (int i = 0; i < CROWD; i++) {
		while (recv(fds[i], &size, sizeof(size), MSG_DONTWAIT) ==
		       sizeof(size)) {
			assert_in_range(le32toh(size), 1, sizeof(bytes));
			assert_int_equal(recv(fds[i], bytes, le32toh(size), 0),
					 le32toh(size));
			count++;
		}
	}
	return count;
}

static void one_user_does_not_keep_roots_hooks_waiting(void **state)
{
	struct bench *bench = *state;
	int fds[CROWD];

	if (geteuid() != 0) {
		print_message("needs root, which goes first\n");
		skip();
	}
	assert_int_equal(chmod(bench->folder, 0755), 0);
	role_bench_start(bench);
	role_bench_call(bench, "devices", NULL);
	for (int i = 0; i < CROWD; i++)
		fds[i] = crowd_connect(bench);
	run_until(bench, crowd_answers(fds) > 0);
	role_bench_call(bench, "devices", NULL);
	/* One in each round, while the request and its answer are on the way. */
	assert_in_range(crowd_answers(fds), 0, CROWD);
	for (int i = 0; i < CROWD; i++)
		close(fds[i]);
}

static void node_comes_back_when_its_link_breaks(void **state)
{
	struct bench *bench = *state;
	struct net_seam seam = net_seam(bench->nodes);

	role_bench_start(bench);
	run_until(bench, bench->greeted);
	seam.ops->close(seam.ctx, bench->peer);
	run_until(bench, bench->greeted == 2);
	role_bench_apply(bench, 7);
	assert_int_equal(bench->links, 2);
}

static void node_ends_with_its_guard(void **state)
{
	struct bench *bench = *state;

	role_bench_start(bench);
	run_until(bench, bench->greeted);
	assert_int_equal(kill(bench->guard.pid, SIGKILL), 0);
	run_until(bench, *bench->ended);
	assert_string_equal(bench->ended, "the guard has ended");
}

static void reload_takes_keys_and_timeouts_and_keeps_what_is_wrong(void **state)
{
	struct bench *bench = *state;
	struct rng_seam rng = sys_rng();
	json_t *answer;

	role_bench_start(bench);
	run_until(bench, bench->greeted);
	assert_int_equal(manager_keys_rotate(&bench->keys, &rng, NULL), 0);
	role_bench_put_keys(bench);
	role_bench_configure(bench, 7);
	node_reload(bench->node);
	run_until(bench, strstr(bench->lines, "the key file was read again"));
	answer = role_bench_call(bench, "node-status", NULL);
	assert_int_equal(json_array_size(json_object_get(answer, "keys")), 2);
	role_bench_put(bench, "fairlead.conf", "nonsense", 8);
	node_reload(bench->node);
	assert_non_null(strstr(bench->lines, "stays as it was"));
	role_bench_call(bench, "node-status", NULL);
}

static size_t waits_for_restart(struct bench *bench)
{
	const json_t *answer = role_bench_call(bench, "node-status", NULL);

	return json_array_size(json_object_get(answer, "restart"));
}

static void reload_names_what_waits_for_a_restart(void **state)
{
	struct bench *bench = *state;
	size_t size;

	role_bench_start(bench);
	run_until(bench, bench->greeted);
	assert_int_equal(waits_for_restart(bench), 0);
	role_bench_configure_with(
		bench, 7, "elsewhere",
		"driver \"slingshot\" { library = \"/lib/x\" }\n");
	for (int i = 0; i < 2; i++) {
		size = strlen(bench->lines);
		node_reload(bench->node);
		assert_non_null(strstr(
			bench->lines + size,
			"ignored until a restart setting=\"node jobs: "));
		assert_non_null(
			strstr(bench->lines + size,
			       "ignored until a restart setting=\"driver "
			       "'slingshot': on instead of off"));
		assert_int_equal(waits_for_restart(bench), 2);
	}
	role_bench_configure(bench, 7);
	node_reload(bench->node);
	assert_int_equal(waits_for_restart(bench), 0);
}

static void start_says_what_is_wrong(void **state)
{
	struct bench *bench = *state;
	struct fairlead_error error;
	struct node_role *first;

	role_bench_start(bench);
	first = bench->node;
	assert_int_equal(role_bench_start_node(bench, &error), -EADDRINUSE);
	assert_non_null(strstr(error.text, "node.sock"));
	bench->node = first;
	run_until(bench, bench->greeted);
}

static int start_launcher(void **state)
{
	static struct launcher launcher;

	launcher_start(CONFIG_ROLE_NODE, driver_table, &launcher);
	*state = &launcher;
	return 0;
}

static int stop_launcher(void **state)
{
	launcher_stop(*state);
	return 0;
}

int main(void)
{
#define TEST(name)                                              \
	cmocka_unit_test_setup_teardown(name, role_bench_setup, \
					role_bench_teardown)
	const struct CMUnitTest tests[] = {
		TEST(node_registers_obeys_and_serves),
		TEST(one_user_does_not_keep_roots_hooks_waiting),
		TEST(node_comes_back_when_its_link_breaks),
		TEST(node_ends_with_its_guard),
		TEST(reload_takes_keys_and_timeouts_and_keeps_what_is_wrong),
		TEST(reload_names_what_waits_for_a_restart),
		TEST(start_says_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, start_launcher, stop_launcher);
}
