/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard as a process of its own, with real files. Its driver's hardware is
 * a directory, with one file for each lane.
 */
#include "lanes/node/guard/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lanes/proto/keyfile.h"
#include "lanes/node/guard/channel.h"
#include "lanes/node/guard/test/dir_driver.h"
#include "sim/rng.h"
#include "sys/fd.h"
#include "sys/test/watchdog.h"

#define NODE "n1"

struct place {
	char path[64];
	char run[80], jobs[80], key[80], incarnation[80], hardware[80];
	struct manager_keys manager;
	struct command_key command_key;
	uint64_t sequence;
	struct log log;
	char log_text[1024];
	struct fairlead_setting setting;
	struct guard_driver_options driver;
	struct guard_options options;
	struct guard_handle guard;
};

/* --- the place --- */

static void put(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write(fd, bytes, size), 0);
	close(fd);
}

static void put_keys(struct place *place, const char *name)
{
	struct node_keys keys;
	struct writer text = { 0 };

	assert_int_equal(node_keys_make(&place->manager, name, &keys, NULL), 0);
	assert_int_equal(node_keys_format(&keys, &text), 0);
	put(place->key, text.data, text.size);
	writer_fini(&text);
	node_keys_fini(&keys);
}

static void put_boot(struct place *place, const char *text)
{
	put(place->incarnation, text, strlen(text));
}

static void keep_line(void *sink_data, enum log_level level, const char *line)
{
}

static int setup(void **state)
{
	static struct place place;
	struct sim_rng rng;
	struct rng_seam seam = sim_rng_seam(&rng);

	watchdog_start(NULL);
	place = (struct place){ .path = "/tmp/guard-process-XXXXXX" };
	sim_rng_init(&rng, 1);
	assert_true(sodium_init() >= 0);
	assert_non_null(mkdtemp(place.path));
	snprintf(place.run, sizeof(place.run), "%s/run", place.path);
	snprintf(place.jobs, sizeof(place.jobs), "%s/jobs", place.path);
	snprintf(place.key, sizeof(place.key), "%s/key", place.path);
	snprintf(place.incarnation, sizeof(place.incarnation), "%s/boot_id",
		 place.path);
	snprintf(place.hardware, sizeof(place.hardware), "%s/hw", place.path);
	assert_int_equal(mkdir(place.hardware, 0700), 0);
	manager_keys_create(&seam, &place.manager);
	manager_keys_command(&place.manager, &place.command_key);
	put_keys(&place, NODE);
	put_boot(&place, "01234567-89ab-cdef-0123-456789ABCDEF\n");
	place.log = (struct log){ .sink = keep_line };
	place.setting = (struct fairlead_setting){
		.name = "path",
		.value = place.hardware,
	};
	place.driver = (struct guard_driver_options){
		.driver = &dir_driver,
		.settings = &place.setting,
		.setting_count = 1,
	};
	place.options = (struct guard_options){
		.name = NODE,
		.run = place.run,
		.jobs = place.jobs,
		.key = place.key,
		.incarnation = place.incarnation,
		.drivers = &place.driver,
		.driver_count = 1,
		.log = &place.log,
	};
	*state = &place;
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type,
		      struct FTW *ftw)
{
	return remove(path);
}

static int teardown(void **state)
{
	struct place *place = *state;

	assert_int_equal(nftw(place->path, remove_one, 8, FTW_DEPTH | FTW_PHYS),
			 0);
	watchdog_stop();
	return 0;
}

static void start(struct place *place)
{
	struct fairlead_error error = { .text = "" };

	if (guard_start(&place->options, &place->guard, &error) < 0)
		fail_msg("the guard does not start: %s", error.text);
}

/* Without a moment for anything: kill, and reap. */
static void kill_guard(struct place *place)
{
	assert_int_equal(kill(place->guard.pid, SIGKILL), 0);
	guard_stop(&place->guard);
}

static void ask(struct place *place, const struct guard_request *request,
		struct guard_reply *reply)
{
	uint8_t head[FRAME_LENGTH_SIZE];
	struct writer message = { 0 };
	struct reader reader = reader_of(head, sizeof(head));
	uint8_t *bytes;
	size_t size;

	assert_int_equal(guard_request_encode(request, &message), 0);
	frame_length(message.size, head);
	assert_int_equal(fd_write(place->guard.fd, head, sizeof(head)), 0);
	assert_int_equal(fd_write(place->guard.fd, message.data, message.size),
			 0);
	writer_fini(&message);
	assert_int_equal(fd_read(place->guard.fd, head, sizeof(head)),
			 sizeof(head));
	size = read_u32(&reader);
	bytes = malloc(size);
	assert_non_null(bytes);
	assert_int_equal(fd_read(place->guard.fd, bytes, size), size);
	assert_int_equal(guard_reply_decode(bytes, size, reply), 0);
	free(bytes);
}

static int command(struct place *place, enum command_op op, uint64_t grant_id,
		   struct writer *body)
{
	struct command command = {
		.version = 1,
		.op = (uint8_t)op,
		.epoch = 1,
		.life = 1,
		.sequence = ++place->sequence,
		.grant_id = grant_id,
		.body = body->data,
		.body_size = body->size,
	};
	struct guard_request request = { .type = GUARD_COMMAND };
	struct guard_reply reply;
	struct writer bytes = { 0 };
	int result;

	assert_int_equal(command_seal(&place->command_key, &command, &bytes),
			 0);
	request.bytes = bytes.data;
	request.size = bytes.size;
	ask(place, &request, &reply);
	result = reply.result;
	guard_reply_fini(&reply);
	writer_fini(&bytes);
	writer_fini(body);
	return result;
}

static void greet(struct place *place)
{
	struct guard_request request = { .type = GUARD_REGISTER };
	struct hello_body hello = { .node = NODE };
	struct node_master masters[KEYS_MAX];
	struct registration registration;
	struct guard_reply reply;
	struct writer body = { 0 };

	manager_keys_masters(&place->manager, masters);
	ask(place, &request, &reply);
	assert_int_equal(reply.result, 0);
	assert_int_equal(registration_open(masters, 1, request.nonce,
					   reply.bytes, reply.size,
					   &registration),
			 0);
	guard_reply_fini(&reply);
	assert_memory_equal(registration.incarnation, place->guard.incarnation,
			    INCARNATION_SIZE);
	memcpy(hello.nonce, registration.node_nonce, NONCE_SIZE);
	memcpy(hello.cluster, place->manager.cluster, CLUSTER_ID_SIZE);
	registration_fini(&registration);
	assert_int_equal(hello_body_encode(&hello, &body), 0);
	assert_int_equal(command(place, COMMAND_HELLO, 0, &body), 0);
}

static int apply(struct place *place, uint64_t grant_id)
{
	struct apply_body apply = {
		.driver = "dir",
		.uid = geteuid(),
		.gid = getegid(),
		.nodes = NODE,
		.cores = "1",
		.tasks = "1",
		.id_count = 1,
		.ids = { (uint32_t)grant_id },
	};
	struct writer body = { 0 };

	snprintf(apply.key, sizeof(apply.key), "s/j%u/0",
		 (unsigned int)grant_id);
	assert_int_equal(apply_body_encode(&apply, &body), 0);
	return command(place, COMMAND_APPLY, grant_id, &body);
}

static bool has(const struct place *place, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", place->path, name);
	return access(path, F_OK) == 0;
}

/* --- tests --- */

static void guard_obeys_and_remembers_over_a_kill(void **state)
{
	struct guard_request request = { .type = GUARD_REVOKE, .number = 7 };
	struct place *place = *state;
	struct guard_reply reply;

	start(place);
	assert_int_equal(place->guard.incarnation[0], 0x01);
	assert_int_equal(place->guard.incarnation[15], 0xef);
	greet(place);
	assert_int_equal(apply(place, 7), 0);
	assert_true(has(place, "hw/7"));
	assert_true(has(place, "jobs/s/j7/0"));
	kill_guard(place);
	start(place);
	greet(place);
	ask(place, &request, &reply);
	assert_int_equal(reply.result, 0);
	guard_reply_fini(&reply);
	assert_false(has(place, "hw/7"));
	assert_false(has(place, "jobs/s"));
	assert_int_equal(apply(place, 7), -ESTALE);
	guard_stop(&place->guard);
}

static void guard_finishes_when_its_agent_is_gone(void **state)
{
	struct place *place = *state;
	int status;

	start(place);
	close(place->guard.fd);
	assert_int_equal(waitpid(place->guard.pid, &status, 0),
			 place->guard.pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void what_was_asked_for_before_the_agent_went_is_done(void **state)
{
	struct guard_request request = { .type = GUARD_REVOKE };
	struct place *place = *state;
	struct writer all = { 0 };

	start(place);
	greet(place);
	for (uint64_t id = 7; id <= 9; id++) {
		struct writer message = { 0 };
		uint8_t head[FRAME_LENGTH_SIZE];

		assert_int_equal(apply(place, id), 0);
		request.number = id;
		assert_int_equal(guard_request_encode(&request, &message), 0);
		frame_length(message.size, head);
		write_bytes(&all, head, sizeof(head));
		write_bytes(&all, message.data, message.size);
		writer_fini(&message);
	}
	assert_int_equal(fd_write(place->guard.fd, all.data, all.size), 0);
	writer_fini(&all);
	guard_stop(&place->guard);
	assert_false(has(place, "hw/7") || has(place, "hw/8") ||
		     has(place, "hw/9"));
	assert_false(has(place, "jobs/s"));
}

static void guard_does_not_end_by_the_signals_of_a_service(void **state)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
	struct place *place = *state;

	start(place);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(kill(place->guard.pid, signals[i]), 0);
	greet(place);
	guard_stop(&place->guard);
}

static void guard_ends_by_a_message_that_is_none(void **state)
{
	static const uint8_t messages[][5] = {
		{ 0, 0, 0, 0 },
		{ 0xff, 0xff, 0xff, 0xff },
		{ 1, 0, 0, 0, 0 },
		{ 1, 0, (GUARD_MESSAGE_MAX >> 16) & 0xff, 0, 0 },
	};
	struct place *place = *state;
	int status;

	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		start(place);
		assert_int_equal(fd_write(place->guard.fd, messages[i], 5), 0);
		assert_int_equal(waitpid(place->guard.pid, &status, 0),
				 place->guard.pid);
		close(place->guard.fd);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 1);
	}
}

/* Its largest message is one that the agent may send for ever. */
static void largest_message_that_nobody_signed_does_nothing(void **state)
{
	struct guard_request request = { .type = GUARD_COMMAND,
					 .size = COMMAND_SIZE_MAX };
	uint8_t *bytes = calloc(1, COMMAND_SIZE_MAX);
	struct place *place = *state;
	struct guard_reply reply;

	assert_non_null(bytes);
	request.bytes = bytes;
	start(place);
	for (int i = 0; i < 20; i++) {
		ask(place, &request, &reply);
		assert_int_equal(reply.result, -EBADMSG);
		assert_int_equal(reply.op, 0);
		guard_reply_fini(&reply);
	}
	greet(place);
	guard_stop(&place->guard);
	free(bytes);
}

static uint64_t status_field(pid_t pid, const char *name, int base)
{
	char path[64], line[256];
	uint64_t value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtoull(line + strlen(name), NULL, base);
	}
	fclose(file);
	return value;
}

static void guard_has_few_privileges_and_files(void **state)
{
	const uint64_t kept = 1ull << CAP_CHOWN | dir_driver.capabilities;
	struct place *place = *state;
	char path[64];
	struct dirent *entry;
	size_t count = 0;
	uint64_t now;
	pid_t pid;
	DIR *dir;

	start(place);
	pid = place->guard.pid;
	assert_int_equal(status_field(pid, "NoNewPrivs:", 10), 1);
	now = status_field(getpid(), "CapPrm:", 16);
	assert_int_equal(status_field(pid, "CapPrm:", 16), now & kept);
	assert_int_equal(status_field(pid, "CapEff:", 16), now & kept);
	assert_int_equal(status_field(pid, "CapInh:", 16), 0);
	assert_int_equal(status_field(pid, "CapAmb:", 16), 0);
	if (geteuid() != 0) {
		/* Nobody but root may look at its files. */
		guard_stop(&place->guard);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	closedir(dir);
	/* Standard streams, channel, two directories, journal. */
	assert_int_equal(count, 3 + 1 + 2 + 1);
	guard_stop(&place->guard);
}

static void assert_no_start(struct place *place, int code, const char *text)
{
	struct fairlead_error error = { .text = "" };
	struct guard_handle guard;

	assert_int_equal(guard_start(&place->options, &guard, &error), code);
	if (!strstr(error.text, text))
		fail_msg("'%s' is not in '%s'", text, error.text);
}

static void start_says_what_is_wrong(void **state)
{
	struct place *place = *state;

	assert_int_equal(chmod(place->key, 0644), 0);
	assert_no_start(place, -EPERM, "chmod 600");
	assert_int_equal(unlink(place->key), 0);
	assert_no_start(place, -ENOENT, place->key);
	put(place->key, "nonsense", 8);
	assert_no_start(place, -EINVAL, place->key);
	put_keys(place, "n2");
	assert_no_start(place, -EINVAL, "'n2'");
	put_keys(place, NODE);
	put_boot(place, "no uuid");
	assert_no_start(place, -EINVAL, "incarnation");
	put_boot(place, "0123456789abcdef0123456789abcdef");
	start(place);
	assert_no_start(place, -EBUSY, place->run);
	guard_stop(&place->guard);
	assert_int_equal(chmod(place->run, 0777), 0);
	assert_no_start(place, -EPERM, place->run);
	assert_int_equal(chmod(place->run, 0700), 0);
	start(place);
	guard_stop(&place->guard);
}

static void incarnation_may_be_in_a_directory(void **state)
{
	struct place *place = *state;

	place->options.incarnation = place->path;
	start(place);
	assert_int_equal(place->guard.incarnation[1], 0x23);
	guard_stop(&place->guard);
}

static void another_boot_begins_a_journal(void **state)
{
	struct place *place = *state;

	start(place);
	greet(place);
	assert_int_equal(apply(place, 7), 0);
	guard_stop(&place->guard);
	put_boot(place, "ffffffffffffffffffffffffffffffff");
	start(place);
	assert_false(has(place, "jobs/s"));
	assert_true(has(place, "run/journal.old"));
	guard_stop(&place->guard);
}

static void driver_that_cannot_be_opened_is_no_obstacle(void **state)
{
	struct place *place = *state;

	assert_int_equal(rmdir(place->hardware), 0);
	start(place);
	greet(place);
	assert_int_equal(apply(place, 7), -ENODEV);
	guard_stop(&place->guard);
}

static void reload_takes_the_new_key_file(void **state)
{
	struct guard_request request = { .type = GUARD_RELOAD };
	struct place *place = *state;
	struct guard_reply reply;
	struct sim_rng rng;
	struct rng_seam seam = sim_rng_seam(&rng);

	start(place);
	sim_rng_init(&rng, 2);
	assert_int_equal(manager_keys_rotate(&place->manager, &seam, NULL), 0);
	put_keys(place, NODE);
	ask(place, &request, &reply);
	assert_int_equal(reply.result, 0);
	assert_int_equal(reply.key_count, 2);
	guard_reply_fini(&reply);
	assert_int_equal(chmod(place->key, 0644), 0);
	ask(place, &request, &reply);
	assert_int_equal(reply.result, -EPERM);
	assert_int_equal(reply.key_count, 2);
	guard_reply_fini(&reply);
	guard_stop(&place->guard);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(guard_obeys_and_remembers_over_a_kill),
		TEST(guard_finishes_when_its_agent_is_gone),
		TEST(what_was_asked_for_before_the_agent_went_is_done),
		TEST(guard_does_not_end_by_the_signals_of_a_service),
		TEST(guard_ends_by_a_message_that_is_none),
		TEST(largest_message_that_nobody_signed_does_nothing),
		TEST(guard_has_few_privileges_and_files),
		TEST(start_says_what_is_wrong),
		TEST(incarnation_may_be_in_a_directory),
		TEST(another_boot_begins_a_journal),
		TEST(driver_that_cannot_be_opened_is_no_obstacle),
		TEST(reload_takes_the_new_key_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
