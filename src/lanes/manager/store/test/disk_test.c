/* SPDX-License-Identifier: BSD-3-Clause */
/* The store on the system's own disk, by SQLite's own VFS. */
#include "lanes/manager/store/test/bed.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/files.h"

struct rig {
	char parent[64];
	char directory[80];
	struct store_options options;
};

static int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	strcpy(rig->parent, "/tmp/store_disk_test.XXXXXX");
	assert_non_null(mkdtemp(rig->parent));
	snprintf(rig->directory, sizeof(rig->directory), "%s/journal",
		 rig->parent);
	rig->options.files = sys_files();
	umask(0);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = { "journal.db", "journal.db-wal",
					     "epoch", "lock" };
	struct rig *rig = *state;

	assert_int_equal(chdir(rig->directory), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(names[i]);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(rig->directory), 0);
	assert_int_equal(rmdir(rig->parent), 0);
	free(rig);
	return 0;
}

static mode_t mode_of(const struct rig *rig, const char *name)
{
	struct stat status;
	char path[160];

	snprintf(path, sizeof(path), "%s%s", rig->directory, name);
	assert_int_equal(stat(path, &status), 0);
	return status.st_mode & 07777;
}

static struct store *store_new(const struct rig *rig)
{
	struct store *store = NULL;
	struct fairlead_error error;

	if (store_open(rig->directory, &rig->options, &store, &error) < 0)
		fail_msg("%s", error.text);
	return store;
}

static void write_number(struct store *store, uint64_t number)
{
	struct store_batch *batch = batch_new();

	row_put(batch, STORE_EVENT, number, 1, "", "{}");
	assert_int_equal(write_batch(store, batch, NULL), 0);
}

static size_t count_events(struct store *store)
{
	struct store_batch *rows = scan(store, STORE_EVENT);
	size_t count = store_batch_count(rows);

	store_batch_destroy(rows);
	return count;
}

static void files_are_private_whatever_the_umask(void **state)
{
	struct rig *rig = *state;
	struct store *store = store_new(rig);
	uint64_t epoch;

	assert_int_equal(store_epoch_begin(store, 0, &epoch, NULL), 0);
	assert_int_equal(mode_of(rig, ""), 0700);
	assert_int_equal(mode_of(rig, "/journal.db"), 0600);
	assert_int_equal(mode_of(rig, "/journal.db-wal"), 0600);
	assert_int_equal(mode_of(rig, "/epoch"), 0600);
	assert_int_equal(mode_of(rig, "/lock"), 0600);
	store_close(store);
}

static void close_leaves_one_file_with_everything(void **state)
{
	struct rig *rig = *state;
	struct store *store = store_new(rig);
	char path[160];

	write_number(store, 1);
	snprintf(path, sizeof(path), "%s/journal.db-wal", rig->directory);
	assert_int_equal(access(path, F_OK), 0);
	store_close(store);
	assert_int_equal(access(path, F_OK), -1);
	store = store_new(rig);
	assert_int_equal(count_events(store), 1);
	store_close(store);
}

static void second_process_is_refused_by_name(void **state)
{
	struct rig *rig = *state;
	struct store *store = store_new(rig);
	char expected[64];
	pid_t child;
	int status;

	snprintf(expected, sizeof(expected), "process %ld", (long)getpid());
	child = fork();
	if (child == 0) {
		struct fairlead_error error = { 0 };
		struct store *second;
		int result = store_open(rig->directory, &rig->options, &second,
					&error);

		_exit(result == -EBUSY && strstr(error.text, expected) != NULL
			      ? 0
			      : 1);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	store_close(store);
}

/* A process that is killed at some write; what it has acknowledged is there. */
static void killed_process_loses_nothing_acknowledged(void **state)
{
	struct rig *rig = *state;
	struct store *store;
	uint64_t acknowledged = 0;
	int pipe_fds[2];
	pid_t child;

	assert_int_equal(pipe(pipe_fds), 0);
	child = fork();
	if (child == 0) {
		store = store_new(rig);
		for (uint64_t i = 1;; i++) {
			write_number(store, i);
			if (write(pipe_fds[1], &i, sizeof(i)) != sizeof(i))
				_exit(1);
		}
	}
	assert_true(child > 0);
	close(pipe_fds[1]);
	while (acknowledged < 25)
		assert_int_equal(read(pipe_fds[0], &acknowledged,
				      sizeof(acknowledged)),
				 sizeof(acknowledged));
	assert_int_equal(kill(child, SIGKILL), 0);
	while (read(pipe_fds[0], &acknowledged, sizeof(acknowledged)) ==
	       sizeof(acknowledged))
		;
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(pipe_fds[0]);
	store = store_new(rig);
	assert_in_range(count_events(store), acknowledged, acknowledged + 1);
	assert_int_equal(store_check(store, NULL), 0);
	store_close(store);
}

static void directory_that_cannot_be_made_is_an_error(void **state)
{
	struct rig *rig = *state;
	struct fairlead_error error;
	struct store *store;

	assert_int_equal(store_open("/proc/no/such/place", &rig->options,
				    &store, &error),
			 -ENOENT);
	assert_non_null(strstr(error.text, "/proc/no/such/place"));
	store_close(store_new(rig));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(files_are_private_whatever_the_umask),
		CASE(close_leaves_one_file_with_everything),
		CASE(second_process_is_refused_by_name),
		CASE(killed_process_loses_nothing_acknowledged),
		CASE(directory_that_cannot_be_made_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
