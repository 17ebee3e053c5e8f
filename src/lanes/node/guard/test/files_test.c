/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that the guard writes, and what others may have put in their place. */
#include "lanes/node/guard/files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/fd.h"

#define SOMEBODY 1234

struct place {
	char path[64]; /* a directory of our own */
	int fd;
	uid_t uid; /* can be given files */
	gid_t gid;
};

static const struct request_key key = {
	.submitter = "slurm",
	.job = "77",
	.attempt = 2,
	.has_attempt = true,
};

static int setup(void **state)
{
	static struct place place;
	struct fairlead_error error;
	char path[80];

	place.uid = geteuid() == 0 ? SOMEBODY : getuid();
	place.gid = geteuid() == 0 ? SOMEBODY + 1 : getgid();
	strcpy(place.path, "/tmp/guard-files-XXXXXX");
	assert_non_null(mkdtemp(place.path));
	snprintf(path, sizeof(path), "%s/jobs", place.path);
	assert_int_equal(directory_open(path, 0711, &place.fd, &error), 0);
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

	close(place->fd);
	assert_int_equal(nftw(place->path, remove_one, 8, FTW_DEPTH | FTW_PHYS),
			 0);
	return 0;
}

/* A path below the place; valid until the next call but one. */
static const char *at(const struct place *place, const char *name)
{
	static char paths[2][160];
	static int next;

	next = !next;
	snprintf(paths[next], sizeof(paths[next]), "%s/%s", place->path, name);
	return paths[next];
}

static void put(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void assert_content(const char *path, const char *expected)
{
	char text[256] = "";
	int fd = open(path, O_RDONLY | O_NOFOLLOW);

	assert_true(fd >= 0);
	assert_int_equal(fd_read(fd, text, sizeof(text) - 1), strlen(expected));
	assert_string_equal(text, expected);
	close(fd);
}

static int write_text_file(struct place *place, const char *text)
{
	return environment_file_write(place->fd, &key, place->uid, place->gid,
				      text, strlen(text));
}

/* --- environment files --- */

static void environment_file_is_its_owners_only(void **state)
{
	struct place *place = *state;
	struct stat status;

	assert_int_equal(write_text_file(place, "A=1\n"), 0);
	assert_int_equal(lstat(at(place, "jobs/slurm/77/2"), &status), 0);
	assert_int_equal(status.st_mode, S_IFREG | 0600);
	assert_int_equal(status.st_uid, place->uid);
	assert_int_equal(status.st_gid, place->gid);
	assert_content(at(place, "jobs/slurm/77/2"), "A=1\n");
	assert_int_equal(lstat(at(place, "jobs/slurm/77"), &status), 0);
	assert_int_equal(status.st_mode, S_IFDIR | 0755);
	assert_int_equal(status.st_uid, geteuid());
	assert_int_equal(lstat(at(place, "jobs/slurm"), &status), 0);
	assert_int_equal(status.st_mode, S_IFDIR | 0711);
	assert_int_equal(access(at(place, "jobs/slurm/77/.2.new"), F_OK), -1);
}

static void environment_file_is_replaced_as_a_whole(void **state)
{
	struct place *place = *state;

	assert_int_equal(write_text_file(place, "A=long text\n"), 0);
	assert_int_equal(write_text_file(place, "B\n"), 0);
	assert_content(at(place, "jobs/slurm/77/2"), "B\n");
}

static void link_in_the_place_of_a_directory_is_not_followed(void **state)
{
	static const char *const names[] = { "jobs/slurm", "jobs/slurm/77" };
	struct place *place = *state;

	assert_int_equal(mkdir(at(place, "elsewhere"), 0755), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(symlink(at(place, "elsewhere"),
					 at(place, names[i])),
				 0);
		assert_true(write_text_file(place, "A=1\n") < 0);
		assert_true(environment_file_remove(place->fd, &key) < 0);
		/* Nothing came to be there. */
		assert_int_equal(rmdir(at(place, "elsewhere")), 0);
		assert_int_equal(mkdir(at(place, "elsewhere"), 0755), 0);
		assert_int_equal(unlink(at(place, names[i])), 0);
		if (i == 0)
			assert_int_equal(mkdir(at(place, "jobs/slurm"), 0711),
					 0);
	}
}

static void link_in_the_place_of_a_file_is_not_followed(void **state)
{
	static const char *const names[] = { "jobs/slurm/77/2",
					     "jobs/slurm/77/.2.new" };
	struct place *place = *state;
	struct stat status;

	assert_int_equal(write_text_file(place, "A=1\n"), 0);
	put(at(place, "victim"), "precious", 0644);
	for (size_t i = 0; i < 2; i++) {
		unlink(at(place, names[i]));
		assert_int_equal(
			symlink(at(place, "victim"), at(place, names[i])), 0);
		assert_int_equal(write_text_file(place, "B=2\n"), 0);
		assert_content(at(place, "victim"), "precious");
		assert_content(at(place, "jobs/slurm/77/2"), "B=2\n");
		assert_int_equal(stat(at(place, "victim"), &status), 0);
		assert_int_equal(status.st_mode & 0777, 0644);
		assert_int_equal(status.st_uid, geteuid());
	}
	/* A hard link is not written through either. */
	unlink(at(place, names[0]));
	assert_int_equal(link(at(place, "victim"), at(place, names[0])), 0);
	assert_int_equal(write_text_file(place, "C=3\n"), 0);
	assert_content(at(place, "victim"), "precious");
}

static void directory_that_others_can_write_is_refused(void **state)
{
	struct place *place = *state;

	assert_int_equal(mkdir(at(place, "jobs/slurm"), 0700), 0);
	assert_int_equal(chmod(at(place, "jobs/slurm"), 0733), 0);
	assert_int_equal(write_text_file(place, "A=1\n"), -EPERM);
	assert_int_equal(environment_file_remove(place->fd, &key), -EPERM);
	assert_int_equal(chmod(at(place, "jobs/slurm"), 0700), 0);
	assert_int_equal(write_text_file(place, "A=1\n"), 0);
}

static void directory_of_somebody_else_is_refused(void **state)
{
	struct place *place = *state;

	if (geteuid() != 0) {
		print_message("needs root, to have somebody else's files\n");
		skip();
	}
	assert_int_equal(mkdir(at(place, "jobs/slurm"), 0700), 0);
	assert_int_equal(chown(at(place, "jobs/slurm"), SOMEBODY, 0), 0);
	assert_int_equal(write_text_file(place, "A=1\n"), -EPERM);
}

static void remove_takes_the_file_and_empty_directories(void **state)
{
	struct place *place = *state;
	struct request_key other = key;

	other.attempt = 3;
	assert_int_equal(write_text_file(place, "A=1\n"), 0);
	assert_int_equal(environment_file_write(place->fd, &other, place->uid,
						place->gid, "", 0),
			 0);
	put(at(place, "jobs/slurm/77/.2.new"), "of a crash", 0600);
	assert_int_equal(environment_file_remove(place->fd, &key), 0);
	assert_int_equal(access(at(place, "jobs/slurm/77/2"), F_OK), -1);
	assert_int_equal(access(at(place, "jobs/slurm/77/.2.new"), F_OK), -1);
	assert_int_equal(access(at(place, "jobs/slurm/77/3"), F_OK), 0);
	assert_int_equal(environment_file_remove(place->fd, &other), 0);
	assert_int_equal(access(at(place, "jobs/slurm"), F_OK), -1);
	assert_int_equal(environment_file_remove(place->fd, &other), 0);
}

/* --- directories and secrets --- */

static void open_refuses_directories_that_others_can_change(void **state)
{
	struct place *place = *state;
	struct fairlead_error error;
	int fd;

	assert_int_equal(mkdir(at(place, "run"), 0700), 0);
	assert_int_equal(chmod(at(place, "run"), 0770), 0);
	assert_int_equal(directory_open(at(place, "run"), 0700, &fd, &error),
			 -EPERM);
	assert_non_null(strstr(error.text, "/run'"));
	assert_int_equal(chmod(at(place, "run"), 0700), 0);
	assert_int_equal(chmod(place->path, 0777), 0);
	assert_int_equal(directory_open(at(place, "run"), 0700, &fd, &error),
			 -EPERM);
	assert_non_null(strstr(error.text, "above"));
	assert_int_equal(chmod(place->path, 0700), 0);
	assert_int_equal(directory_open(at(place, "run"), 0700, &fd, &error),
			 0);
	close(fd);
}

static void open_does_not_follow_a_link(void **state)
{
	struct place *place = *state;
	struct fairlead_error error;
	int fd;

	assert_int_equal(mkdir(at(place, "real"), 0700), 0);
	assert_int_equal(symlink("real", at(place, "run")), 0);
	assert_true(directory_open(at(place, "run"), 0700, &fd, &error) < 0);
}

/* --- the journal's file --- */

static void assert_journal(const struct journal_file *file,
			   const char *expected)
{
	uint8_t *bytes;
	size_t size;

	assert_int_equal(file->ops->read(file->ctx, &bytes, &size), 0);
	assert_int_equal(size, strlen(expected));
	assert_memory_equal(bytes, expected, size);
	free(bytes);
}

static void journal_is_read_back_by_another_process(void **state)
{
	struct place *place = *state;
	struct journal_store store;
	struct journal_file file = journal_store_begin(&store, place->fd);
	struct stat status;

	assert_journal(&file, "");
	assert_int_equal(file.ops->replace(file.ctx, "first", 5), 0);
	assert_int_equal(file.ops->write(file.ctx, 5, "torn", 4), 0);
	assert_int_equal(file.ops->write(file.ctx, 5, "second", 6), 0);
	journal_store_end(&store);
	put(at(place, "jobs/journal.new"), "of a crash", 0600);
	file = journal_store_begin(&store, place->fd);
	assert_journal(&file, "firstsecond");
	assert_int_equal(lstat(at(place, "jobs/journal"), &status), 0);
	assert_int_equal(status.st_mode, S_IFREG | 0600);
	assert_int_equal(file.ops->replace(file.ctx, "new", 3), 0);
	assert_int_equal(file.ops->write(file.ctx, 3, "er", 2), 0);
	journal_store_end(&store);
	file = journal_store_begin(&store, place->fd);
	assert_journal(&file, "newer");
	assert_int_equal(file.ops->set_aside(file.ctx), 0);
	assert_int_equal(file.ops->set_aside(file.ctx), 0);
	journal_store_end(&store);
	assert_content(at(place, "jobs/journal.old"), "newer");
	file = journal_store_begin(&store, place->fd);
	assert_journal(&file, "");
	journal_store_end(&store);
}

static void journal_that_is_a_link_is_refused(void **state)
{
	struct place *place = *state;
	struct journal_store store;
	struct journal_file file = journal_store_begin(&store, place->fd);
	uint8_t *bytes;
	size_t size;

	put(at(place, "victim"), "precious", 0600);
	assert_int_equal(
		symlink(at(place, "victim"), at(place, "jobs/journal")), 0);
	assert_int_equal(file.ops->read(file.ctx, &bytes, &size), -ELOOP);
	assert_int_equal(
		symlink(at(place, "victim"), at(place, "jobs/journal.new")), 0);
	assert_int_equal(file.ops->replace(file.ctx, "x", 1), -ELOOP);
	assert_content(at(place, "victim"), "precious");
	journal_store_end(&store);
}

static void journal_without_room_keeps_what_was_there(void **state)
{
	struct place *place = *state;
	struct journal_store store;
	struct journal_file file = journal_store_begin(&store, place->fd);

	assert_journal(&file, "");
	assert_int_equal(file.ops->replace(file.ctx, "first", 5), 0);
	assert_int_equal(mkdir(at(place, "jobs/journal.new"), 0700), 0);
	assert_true(file.ops->replace(file.ctx, "other", 5) < 0);
	assert_int_equal(rmdir(at(place, "jobs/journal.new")), 0);
	assert_int_equal(file.ops->write(file.ctx, 5, "+", 1), 0);
	journal_store_end(&store);
	file = journal_store_begin(&store, place->fd);
	assert_journal(&file, "first+");
	journal_store_end(&store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(environment_file_is_its_owners_only),
		TEST(environment_file_is_replaced_as_a_whole),
		TEST(link_in_the_place_of_a_directory_is_not_followed),
		TEST(link_in_the_place_of_a_file_is_not_followed),
		TEST(directory_that_others_can_write_is_refused),
		TEST(directory_of_somebody_else_is_refused),
		TEST(remove_takes_the_file_and_empty_directories),
		TEST(open_refuses_directories_that_others_can_change),
		TEST(open_does_not_follow_a_link),
		TEST(journal_is_read_back_by_another_process),
		TEST(journal_that_is_a_link_is_refused),
		TEST(journal_without_room_keeps_what_was_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
