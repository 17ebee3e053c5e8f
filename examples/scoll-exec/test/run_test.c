/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a command is started, and when it is stopped. The launcher is the test's
 * own: it notes what is asked, and answers when the test says so.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "order.h"
#include "run.h"

static const uint8_t secret[EXEC_ID_BYTES] = "the secret";
static const uint8_t other[EXEC_ID_BYTES] = "of another one";

static struct bed {
	struct exec_config config;
	struct log log;
	uv_loop_t loop;
	struct runs *runs;
	int launcher_fd; /* a byte in it: there is an answer */
	int asked_count; /* questions */
	uint64_t asked_tag;
	char asked[16]; /* the last one's credential */
	struct launcher_answer answer;
	int control_fd; /* the supervisor's end */
	struct exec_waiter waiters[3];
	int done_count;
} bed;

/* --- in the place of launcher_ask.c --- */

int launcher_ask(int fd, enum launcher_op op, uint64_t tag, uid_t uid,
		 const char *credential, size_t size)
{
	assert_int_equal(op, LAUNCHER_START);
	assert_in_range(size, 1, sizeof(bed.asked) - 1);
	bed.asked_count++;
	bed.asked_tag = tag;
	memcpy(bed.asked, credential, size);
	bed.asked[size] = 0;
	return 0;
}

int launcher_receive(int fd, struct launcher_answer *ret_answer)
{
	char byte;

	assert_int_equal(read(fd, &byte, 1), 1);
	*ret_answer = bed.answer;
	return 0;
}

/* --- */

static void lost(void *ctx)
{
	fail_msg("the launcher is taken for lost");
}

static void done(struct exec_waiter *waiter, const struct outcome *outcome)
{
	bed.done_count++;
}

static int setup(void **state)
{
	struct runs_options options = { .loop = &bed.loop,
					.config = &bed.config,
					.log = &bed.log,
					.lost = lost };
	int ends[2];

	bed = (struct bed){ .config = { .output_bytes = 4096 },
			    .control_fd = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return -1;
	bed.launcher_fd = ends[0];
	options.launcher_fd = ends[1];
	if (uv_loop_init(&bed.loop) < 0)
		return -1;
	bed.runs = runs_create(&options);
	return 0;
}

static int teardown(void **state)
{
	runs_destroy(bed.runs);
	uv_run(&bed.loop, UV_RUN_DEFAULT);
	close(bed.launcher_fd);
	closep(&bed.control_fd);
	return uv_loop_close(&bed.loop);
}

static void join(int i, const char *credential)
{
	bed.waiters[i] = (struct exec_waiter){ .done = done };
	runs_join(bed.runs, credential, strlen(credential), 1, &bed.waiters[i]);
}

static void stop(const char *credential, const uint8_t *with)
{
	uint8_t key[EXEC_ID_BYTES];

	exec_digest(credential, strlen(credential), key);
	runs_stop(bed.runs, key, with);
}

/* The launcher has started what it was asked for last. */
static void answer_started(void)
{
	int output[2], control[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, output), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, control), 0);
	close(output[1]);
	closep(&bed.control_fd);
	bed.control_fd = control[1];
	bed.answer = (struct launcher_answer){ .tag = bed.asked_tag,
					       .timeout_ms = 1000,
					       .output_fd = output[0],
					       .control_fd = control[0] };
	exec_digest(secret, EXEC_ID_BYTES, bed.answer.stop_digest);
	assert_int_equal(write(bed.launcher_fd, "", 1), 1);
	uv_run(&bed.loop, UV_RUN_ONCE);
}

/* As its supervisor sees it. */
static bool is_stopped(void)
{
	char byte;

	return recv(bed.control_fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static void stop_ends_a_command_that_goes(void **state)
{
	join(0, "A");
	answer_started();
	stop("A", other);
	assert_false(is_stopped());
	stop("A", secret);
	assert_true(is_stopped());
}

static void stop_before_the_launcher_answers_is_kept(void **state)
{
	join(0, "A");
	stop("A", secret);
	runs_leave(&bed.waiters[0]);
	answer_started();
	assert_true(is_stopped());
}

static void stop_with_another_secret_is_none(void **state)
{
	join(0, "A");
	stop("A", other);
	answer_started();
	assert_false(is_stopped());
}

static void what_nobody_waits_for_is_not_started(void **state)
{
	join(0, "A");
	join(1, "B");
	join(2, "C");
	runs_leave(&bed.waiters[1]);
	answer_started();
	assert_int_equal(bed.asked_count, 2);
	assert_string_equal(bed.asked, "C");
	/* Who asks again has it run. */
	join(1, "B");
	answer_started();
	assert_int_equal(bed.asked_count, 3);
	assert_string_equal(bed.asked, "B");
}

static void one_of_two_that_leaves_takes_nothing_away(void **state)
{
	join(0, "A");
	join(1, "B");
	join(2, "B");
	runs_leave(&bed.waiters[1]);
	answer_started();
	assert_string_equal(bed.asked, "B");
	assert_ptr_not_equal(bed.waiters[2].run, NULL);
}

/* Its relay has died: it is asked again, and has to find the same command. */
static void what_the_launcher_has_outlives_who_asked(void **state)
{
	join(0, "A");
	runs_leave(&bed.waiters[0]);
	answer_started();
	assert_false(is_stopped());
	join(0, "A");
	assert_int_equal(bed.asked_count, 1);
	assert_int_equal(bed.done_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stop_ends_a_command_that_goes,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			stop_before_the_launcher_answers_is_kept, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			stop_with_another_secret_is_none, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_nobody_waits_for_is_not_started, setup, teardown),
		cmocka_unit_test_setup_teardown(
			one_of_two_that_leaves_takes_nothing_away, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			what_the_launcher_has_outlives_who_asked, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
