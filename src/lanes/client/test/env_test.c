/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment files as the node's daemon makes them, and as others would. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fairlead.h"

#define FILE_BYTES_MAX 65536

/* A jobs folder with one job, "slurm/17", and its attempts. */
struct tree {
	char jobs[32];
	char job[64];  /* JOBS/slurm/17 */
	char file[96]; /* JOBS/slurm/17/0 */
};

static void write_bytes_at(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

static void write_text(const char *path, const char *text)
{
	write_bytes_at(path, text, strlen(text));
}

static int make_tree(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	char path[64];

	assert_non_null(tree);
	strcpy(tree->jobs, "/tmp/fairlead-env-XXXXXX");
	assert_non_null(mkdtemp(tree->jobs));
	snprintf(path, sizeof(path), "%s/slurm", tree->jobs);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(tree->job, sizeof(tree->job), "%s/slurm/17", tree->jobs);
	assert_int_equal(mkdir(tree->job, 0755), 0);
	snprintf(tree->file, sizeof(tree->file), "%s/0", tree->job);
	write_text(tree->file, "A=1\nB=x=y z\nC\nD=\n");
	*state = tree;
	return 0;
}

static int remove_tree(void **state)
{
	struct tree *tree = *state;
	char command[64];

	snprintf(command, sizeof(command), "rm -rf '%s'", tree->jobs);
	assert_int_equal(system(command), 0);
	free(tree);
	return 0;
}

struct found {
	char text[512]; /* "A=1;B=x=y z;C;" */
	int count;
};

static void collect(void *arg, const char *name, const char *value)
{
	struct found *found = arg;
	size_t size = strlen(found->text);

	found->count++;
	snprintf(found->text + size, sizeof(found->text) - size, "%s%s%s;",
		 name, value ? "=" : "", value ? value : "");
}

static int read_job(const struct tree *tree, int64_t attempt,
		    struct found *found, struct fairlead_error *ret_error)
{
	memset(found, 0, sizeof(*found));
	return fairlead_env_read(tree->jobs, "slurm", "17", attempt, getuid(),
				 collect, found, ret_error);
}

static void expect_refusal(const struct tree *tree, int code, const char *what)
{
	struct fairlead_error error = { 0 };
	struct found found;

	assert_int_equal(read_job(tree, 0, &found, &error), code);
	assert_int_equal(error.code, code);
	if (!strstr(error.text, what))
		fail_msg("'%s' does not say '%s'", error.text, what);
	assert_int_equal(found.count, 0);
}

static void variables_are_set_and_unset(void **state)
{
	struct found found;

	assert_int_equal(read_job(*state, 0, &found, NULL), 0);
	assert_string_equal(found.text, "A=1;B=x=y z;C;D=;");
}

static void an_empty_file_has_no_variables(void **state)
{
	struct tree *tree = *state;
	struct found found;

	write_text(tree->file, "");
	assert_int_equal(read_job(tree, 0, &found, NULL), 0);
	assert_int_equal(found.count, 0);
}

static void the_highest_attempt_is_found(void **state)
{
	static const char *const others[] = {
		"9",          "10",     "010", "11",
		"4294967296", "12.tmp", "-1",  "99999999999999999999"
	};
	struct tree *tree = *state;
	struct found found;
	char path[128];

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		snprintf(path, sizeof(path), "%s/%s", tree->job, others[i]);
		snprintf(found.text, sizeof(found.text), "N=%s\n", others[i]);
		write_text(path, found.text);
	}
	assert_int_equal(read_job(tree, -1, &found, NULL), 0);
	assert_string_equal(found.text, "N=11;");
	assert_int_equal(read_job(tree, 9, &found, NULL), 0);
	assert_string_equal(found.text, "N=9;");
}

static void a_job_that_is_not_there_has_no_lane(void **state)
{
	struct fairlead_error error;
	struct tree *tree = *state;
	struct found found;

	assert_int_equal(fairlead_env_read(tree->jobs, "slurm", "18", -1,
					   getuid(), collect, &found, &error),
			 -ENOENT);
	assert_non_null(strstr(error.text, "slurm/18"));
	assert_int_equal(fairlead_env_read("/nonexistent", "slurm", "17", -1,
					   getuid(), collect, &found, &error),
			 -ENOENT);
	assert_int_equal(read_job(tree, 5, &found, &error), -ENOENT);
	unlink(tree->file);
	assert_int_equal(read_job(tree, -1, &found, &error), -ENOENT);
}

static void names_cannot_leave_the_folder(void **state)
{
	static const char *const bad[][2] = {
		{ "..", "17" },     { "slurm", ".." },  { "slurm", "." },
		{ "slurm", "1/2" }, { "slurm/17", "" }, { "", "17" },
		{ "slurm", "" },    { "slurm", "a b" }, { "/etc", "17" },
	};
	struct tree *tree = *state;
	struct found found = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(fairlead_env_read(tree->jobs, bad[i][0],
						   bad[i][1], 0, getuid(),
						   collect, &found, NULL),
				 -EINVAL);
	assert_int_equal(read_job(tree, -2, &found, NULL), -EINVAL);
	assert_int_equal(read_job(tree, 4294967296, &found, NULL), -EINVAL);
}

static void a_file_that_is_open_to_others_is_refused(void **state)
{
	static const mode_t modes[] = { 0644, 0640, 0602, 0620, 0700, 04600 };
	struct tree *tree = *state;

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		assert_int_equal(chmod(tree->file, modes[i]), 0);
		expect_refusal(tree, -EPERM, "mode");
	}
}

static void another_user_s_file_is_refused(void **state)
{
	struct fairlead_error error;
	struct tree *tree = *state;
	struct found found = { 0 };

	assert_int_equal(fairlead_env_read(tree->jobs, "slurm", "17", 0,
					   getuid() + 1, collect, &found,
					   &error),
			 -EACCES);
	assert_int_equal(found.count, 0);
}

static void a_link_in_the_file_s_place_is_refused(void **state)
{
	struct tree *tree = *state;
	char other[64];

	snprintf(other, sizeof(other), "%s/elsewhere", tree->jobs);
	assert_int_equal(rename(tree->file, other), 0);
	assert_int_equal(symlink(other, tree->file), 0);
	expect_refusal(tree, -EPERM, "link");
	assert_int_equal(unlink(tree->file), 0);
	assert_int_equal(link(other, tree->file), 0);
	expect_refusal(tree, -EPERM, "one name");
}

static void what_is_no_file_is_refused(void **state)
{
	struct tree *tree = *state;

	assert_int_equal(unlink(tree->file), 0);
	assert_int_equal(mkfifo(tree->file, 0600), 0);
	expect_refusal(tree, -EPERM, "regular");
	assert_int_equal(unlink(tree->file), 0);
	assert_int_equal(mkdir(tree->file, 0600), 0);
	expect_refusal(tree, -EPERM, "regular");
}

static void a_link_in_a_folder_s_place_is_refused(void **state)
{
	struct tree *tree = *state;
	char other[64];

	snprintf(other, sizeof(other), "%s/elsewhere", tree->jobs);
	assert_int_equal(rename(tree->job, other), 0);
	assert_int_equal(symlink(other, tree->job), 0);
	expect_refusal(tree, -EPERM, "17");
	assert_int_equal(unlink(tree->job), 0);
	write_text(tree->job, "");
	expect_refusal(tree, -EPERM, "no folder");
}

static void a_folder_that_others_can_change_is_refused(void **state)
{
	struct tree *tree = *state;

	assert_int_equal(chmod(tree->job, 0775), 0);
	expect_refusal(tree, -EPERM, "changed by others");
	assert_int_equal(chmod(tree->job, 0757), 0);
	expect_refusal(tree, -EPERM, "changed by others");
	assert_int_equal(chmod(tree->job, 0755), 0);
	assert_int_equal(chmod(tree->jobs, 01777), 0);
	expect_refusal(tree, -EPERM, "changed by others");
}

static void another_user_s_folder_is_refused(void **state)
{
	struct tree *tree = *state;

	if (getuid() != 0) {
		print_message("only root can give a folder away\n");
		skip();
	}
	assert_int_equal(chown(tree->job, 1, 1), 0);
	expect_refusal(tree, -EPERM, "changed by others");
}

static void a_damaged_file_is_refused(void **state)
{
	static const char *const bad[] = {
		"A=1",        "A=1\nB=2", "=1\n",   "\n",  "A=1\n\nB=2\n",
		"1A=1\n",     "A-B=1\n",  "A =1\n", " \n", "A=1\n\xc3\xa4=1\n",
		"A=1\r\n=\n",
	};
	struct tree *tree = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		write_text(tree->file, bad[i]);
		expect_refusal(tree, -EBADMSG, "damaged");
	}
	write_bytes_at(tree->file, "A=1\0\nB=2\n", 9);
	expect_refusal(tree, -EBADMSG, "damaged");
}

static void the_limits_are_kept(void **state)
{
	struct tree *tree = *state;
	char *text = malloc(FILE_BYTES_MAX + 1);
	struct found found;

	assert_non_null(text);
	memset(text, 'x', FILE_BYTES_MAX + 1);
	memcpy(text, "A=", 2);
	text[FILE_BYTES_MAX - 1] = '\n';
	write_bytes_at(tree->file, text, FILE_BYTES_MAX);
	assert_int_equal(read_job(tree, 0, &found, NULL), 0);
	assert_int_equal(found.count, 1);
	text[FILE_BYTES_MAX - 1] = 'x';
	text[FILE_BYTES_MAX] = '\n';
	write_bytes_at(tree->file, text, FILE_BYTES_MAX + 1);
	expect_refusal(tree, -EBADMSG, "longer");
	for (size_t i = 0; i <= FAIRLEAD_VARIABLES_MAX; i++)
		memcpy(text + 4 * i, "A=1\n", 4);
	write_bytes_at(tree->file, text, 4 * FAIRLEAD_VARIABLES_MAX);
	assert_int_equal(read_job(tree, 0, &found, NULL), 0);
	assert_int_equal(found.count, FAIRLEAD_VARIABLES_MAX);
	write_bytes_at(tree->file, text, 4 * (FAIRLEAD_VARIABLES_MAX + 1));
	expect_refusal(tree, -EBADMSG, "variables");
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_tree, remove_tree)

/* Root reads every folder: become somebody else, who has the same tree. */
static int read_as_owner(const struct tree *tree, int64_t attempt)
{
	const uid_t owner = getuid() == 0 ? 65534 : getuid();
	char command[128];
	struct found found;
	int status;
	pid_t pid;

	if (getuid() == 0) {
		snprintf(command, sizeof(command), "chown -R %u '%s'", owner,
			 tree->jobs);
		assert_int_equal(system(command), 0);
	}
	pid = fork();
	if (pid == 0) {
		if (getuid() != owner && setuid(owner) < 0)
			_exit(1);
		_exit(-read_job(tree, attempt, &found, NULL));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void folders_above_the_job_need_not_be_readable(void **state)
{
	struct tree *tree = *state;
	char path[64];
	int named, highest;

	snprintf(path, sizeof(path), "%s/slurm", tree->jobs);
	assert_int_equal(chmod(path, 0311), 0);
	assert_int_equal(chmod(tree->jobs, 0311), 0);
	named = read_as_owner(tree, 0);
	highest = read_as_owner(tree, -1);
	assert_int_equal(chmod(tree->jobs, 0700), 0); /* to be removed */
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(named, 0);
	assert_int_equal(highest, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(variables_are_set_and_unset),
		TEST(an_empty_file_has_no_variables),
		TEST(the_highest_attempt_is_found),
		TEST(folders_above_the_job_need_not_be_readable),
		TEST(a_job_that_is_not_there_has_no_lane),
		TEST(names_cannot_leave_the_folder),
		TEST(a_file_that_is_open_to_others_is_refused),
		TEST(another_user_s_file_is_refused),
		TEST(a_link_in_the_file_s_place_is_refused),
		TEST(what_is_no_file_is_refused),
		TEST(a_link_in_a_folder_s_place_is_refused),
		TEST(a_folder_that_others_can_change_is_refused),
		TEST(another_user_s_folder_is_refused),
		TEST(a_damaged_file_is_refused),
		TEST(the_limits_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
