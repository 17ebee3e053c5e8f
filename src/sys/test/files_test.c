/* SPDX-License-Identifier: BSD-3-Clause */
#include "sys/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Every test runs in an empty directory of its own. */
static int setup(void **state)
{
	char *directory = strdup("/tmp/files_test.XXXXXX");

	assert_non_null(mkdtemp(directory));
	assert_int_equal(chdir(directory), 0);
	umask(022);
	*state = directory;
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = { "f", "g", "f.new", "lock",
					     "link" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(names[i]);
	rmdir("d/e");
	rmdir("d");
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(*state), 0);
	free(*state);
	return 0;
}

static mode_t mode_of(const char *path)
{
	struct stat status;

	assert_int_equal(lstat(path, &status), 0);
	return status.st_mode & 07777;
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void what_is_made_is_private(void **state)
{
	struct file_seam files = sys_files();
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/d/e", (const char *)*state);
	assert_int_equal(files.ops->make_directory(files.ctx, "d"), 0);
	assert_int_equal(files.ops->make_directory(files.ctx, path), 0);
	assert_int_equal(files.ops->make_directory(files.ctx, path), 0);
	assert_int_equal(files.ops->make_file(files.ctx, "f"), 0);
	assert_int_equal(files.ops->replace(files.ctx, "g", "x", 1), 0);
	assert_int_equal(mode_of("d"), 0700);
	assert_int_equal(mode_of(path), 0700);
	assert_int_equal(mode_of("f"), 0600);
	assert_int_equal(mode_of("g"), 0600);
	assert_int_equal(files.ops->make_directory(files.ctx, "no/d"), -ENOENT);
	assert_int_equal(files.ops->make_directory(files.ctx, "f"), -ENOTDIR);
	assert_int_equal(files.ops->make_file(files.ctx, "no/f"), -ENOENT);
	assert_int_equal(files.ops->make_file(files.ctx, "d"), -EISDIR);
}

static void file_that_others_could_read_becomes_private(void **state)
{
	struct file_seam files = sys_files();
	char bytes[8];

	write_file("f", "text", 0644);
	write_file("g", "text", 0666);
	assert_int_equal(files.ops->make_file(files.ctx, "f"), 0);
	assert_int_equal(files.ops->replace(files.ctx, "g", "new", 3), 0);
	assert_int_equal(mode_of("f"), 0600);
	assert_int_equal(mode_of("g"), 0600);
	assert_int_equal(files.ops->load(files.ctx, "f", bytes, 8), 4);
	assert_memory_equal(bytes, "text", 4);
}

static void load_reads_whole_files_only(void **state)
{
	struct file_seam files = sys_files();
	char bytes[8];

	write_file("f", "12345678", 0600);
	assert_int_equal(files.ops->load(files.ctx, "f", bytes, 8), 8);
	assert_memory_equal(bytes, "12345678", 8);
	assert_int_equal(files.ops->load(files.ctx, "f", bytes, 7), -EFBIG);
	assert_int_equal(files.ops->load(files.ctx, "g", bytes, 8), -ENOENT);
	assert_int_equal(mkdir("d", 0700), 0);
	assert_int_equal(files.ops->load(files.ctx, "d", bytes, 8), -EINVAL);
	write_file("f", "", 0600);
	assert_int_equal(files.ops->load(files.ctx, "f", bytes, 8), 0);
}

static void replace_leaves_no_other_file(void **state)
{
	struct file_seam files = sys_files();
	char bytes[8];

	write_file("f.new", "left over by a crash", 0644);
	assert_int_equal(files.ops->replace(files.ctx, "f", "one", 3), 0);
	assert_int_equal(access("f.new", F_OK), -1);
	assert_int_equal(files.ops->load(files.ctx, "f", bytes, 8), 3);
	assert_memory_equal(bytes, "one", 3);
	assert_int_equal(files.ops->replace(files.ctx, "f", "", 0), 0);
	assert_int_equal(files.ops->load(files.ctx, "f", bytes, 8), 0);
	assert_int_equal(files.ops->replace(files.ctx, "no/f", "x", 1),
			 -ENOENT);
	assert_int_equal(mkdir("d", 0700), 0);
	assert_int_equal(files.ops->replace(files.ctx, "d", "x", 1), -EISDIR);
	assert_int_equal(access("d.new", F_OK), -1);
}

static void rename_takes_the_place_of_a_file(void **state)
{
	struct file_seam files = sys_files();
	char bytes[8];

	write_file("f", "f", 0600);
	write_file("g", "g", 0600);
	assert_int_equal(files.ops->rename(files.ctx, "f", "g"), 0);
	assert_int_equal(files.ops->load(files.ctx, "g", bytes, 8), 1);
	assert_int_equal(bytes[0], 'f');
	assert_int_equal(files.ops->rename(files.ctx, "f", "g"), -ENOENT);
}

static void symbolic_link_is_not_followed(void **state)
{
	struct file_seam files = sys_files();
	uint64_t holder;
	void *lock;

	write_file("f", "text", 0644);
	assert_int_equal(symlink("f", "link"), 0);
	assert_int_equal(files.ops->make_file(files.ctx, "link"), -ELOOP);
	assert_int_equal(files.ops->lock(files.ctx, "link", &lock, &holder),
			 -ELOOP);
	assert_int_equal(mode_of("f"), 0644);
}

/* Another process that tries, then one that holds and is killed. */
static int try_in_child(uint64_t expected_holder)
{
	struct file_seam files = sys_files();
	pid_t child = fork();
	int status;

	if (child == 0) {
		uint64_t holder = 0;
		void *lock;
		int result = files.ops->lock(files.ctx, "lock", &lock, &holder);

		_exit(result == -EBUSY && holder == expected_holder ? 1
		      : result == 0                                 ? 0
								    : 2);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void lock_names_its_holder_and_ends_with_it(void **state)
{
	struct file_seam files = sys_files();
	uint64_t holder = 0;
	void *lock, *second;

	write_file("lock", "123456789012 some older text", 0644);
	assert_int_equal(files.ops->lock(files.ctx, "lock", &lock, &holder), 0);
	assert_int_equal(mode_of("lock"), 0600);
	assert_int_equal(files.ops->lock(files.ctx, "lock", &second, &holder),
			 -EBUSY);
	assert_true(holder == (uint64_t)getpid());
	assert_int_equal(try_in_child((uint64_t)getpid()), 1);
	files.ops->unlock(files.ctx, lock);
	assert_int_equal(try_in_child(0), 0);
	assert_int_equal(files.ops->lock(files.ctx, "lock", &lock, &holder), 0);
	files.ops->unlock(files.ctx, lock);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(what_is_made_is_private),
		CASE(file_that_others_could_read_becomes_private),
		CASE(load_reads_whole_files_only),
		CASE(replace_leaves_no_other_file),
		CASE(rename_takes_the_place_of_a_file),
		CASE(symbolic_link_is_not_followed),
		CASE(lock_names_its_holder_and_ends_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
