/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lanes/plugin/slurm/test/bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char *plugin_path;

void bed_start(struct bed *bed, spank_context_t context)
{
	if (bed->plugin)
		dlclose(bed->plugin);
	bed->plugin = dlopen(plugin_path, RTLD_LAZY);
	if (!bed->plugin)
		fail_msg("%s", dlerror());
	fake_begin(context);
	fake->job_id = 17;
	fake->uid = getuid();
	fake->job_id_text = "17";
}

int bed_make(void **state)
{
	struct bed *bed = calloc(1, sizeof(*bed));
	char path[64];

	assert_non_null(bed);
	strcpy(bed->jobs, "/tmp/fairlead-spank-XXXXXX");
	assert_non_null(mkdtemp(bed->jobs));
	snprintf(path, sizeof(path), "%s/slurm", bed->jobs);
	assert_int_equal(mkdir(path, 0711), 0);
	snprintf(bed->argument, sizeof(bed->argument), "jobs_dir=%s",
		 bed->jobs);
	bed->arguments[0] = bed->argument;
	bed->argument_count = 1;
	*state = bed;
	return 0;
}

int bed_destroy(void **state)
{
	struct bed *bed = *state;
	char command[64];

	if (bed->plugin)
		dlclose(bed->plugin);
	snprintf(command, sizeof(command), "rm -r %s", bed->jobs);
	assert_int_equal(system(command), 0);
	free(bed);
	return 0;
}

void add_argument(struct bed *bed, const char *text)
{
	assert_true(bed->argument_count < ARGUMENTS_MAX);
	bed->arguments[bed->argument_count++] = (char *)text;
}

void write_file(const struct bed *bed, const char *job, const char *contents,
		mode_t mode)
{
	char path[80];
	FILE *file;

	snprintf(path, sizeof(path), "%s/slurm/%s", bed->jobs, job);
	assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
	strcat(path, "/0");
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(contents, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
}

int hook(struct bed *bed, const char *name)
{
	spank_f *call = (spank_f *)dlsym(bed->plugin, name);

	if (!call)
		fail_msg("%s", dlerror());
	return call(fake, bed->argument_count, bed->arguments);
}

int give_option(const char *text, int is_remote)
{
	assert_non_null(fake->option.cb);
	return fake->option.cb(fake->option.val, text, is_remote);
}

void step_begin(struct bed *bed, const char *option)
{
	assert_int_equal(hook(bed, "slurm_spank_init"), 0);
	if (option)
		assert_int_equal(give_option(option, 1), 0);
	assert_int_equal(hook(bed, "slurm_spank_init_post_opt"), 0);
	assert_int_equal(hook(bed, "slurm_spank_user_init"), 0);
}

int task(struct bed *bed, int number)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		fake->task = number;
		_exit(hook(bed, "slurm_spank_task_init") == 0 ? 42 : 43);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), 43);
	return WEXITSTATUS(status) == 42 ? TASK_RUNS : WEXITSTATUS(status);
}

void expect_said(const char *part)
{
	if (!strstr(fake->said, part))
		fail_msg("no '%s' in: %s", part, fake->said);
}

void expect_variable(const char *name, const char *value)
{
	const struct fake_variable *variable = fake_variable(name);

	assert_non_null(variable);
	assert_int_equal(variable->is_set, value != NULL);
	assert_string_equal(variable->value, value ? value : "");
}
