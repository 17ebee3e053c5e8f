/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration's own file, and those that it names. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct folder {
	char path[32];
	char file[64];
	char key[64];
};

static int make_folder(void **state)
{
	struct folder *folder = calloc(1, sizeof(*folder));

	strcpy(folder->path, "/tmp/fairlead-config-XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	snprintf(folder->file, sizeof(folder->file), "%s/f", folder->path);
	snprintf(folder->key, sizeof(folder->key), "%s/key", folder->path);
	*state = folder;
	return 0;
}

static int remove_folder(void **state)
{
	struct folder *folder = *state;

	unlink(folder->file);
	unlink(folder->key);
	assert_int_equal(rmdir(folder->path), 0);
	free(folder);
	return 0;
}

static void write_file(const char *path, mode_t mode, const char *text)
{
	_auto_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
}

static int load(const struct folder *folder, struct config **ret_config,
		char **ret_errors)
{
	return config_load(folder->file, 0, config_test_drivers, 3, ret_config,
			   ret_errors);
}

static void a_missing_file_is_said(void **state)
{
	const struct folder *folder = *state;
	_auto_(freep) char *errors = NULL;
	struct config *config;

	assert_int_equal(load(folder, &config, &errors), -ENOENT);
	assert_non_null(strstr(errors, folder->file));
	assert_non_null(strstr(errors, "No such file"));
}

static void a_huge_file_is_refused(void **state)
{
	const struct folder *folder = *state;
	_auto_(freep) char *errors = NULL;
	struct config *config;

	write_file(folder->file, 0600, "");
	assert_int_equal(truncate(folder->file, FAIRLEAD_FILE_MAX + 1), 0);
	assert_int_equal(load(folder, &config, &errors), -EFBIG);
	assert_non_null(strstr(errors, "over 1 MiB"));
}

static void a_file_that_others_can_write_is_refused_to_root(void **state)
{
	const struct folder *folder = *state;
	_auto_(freep) char *errors = NULL;
	_auto_(freep) char *owner_errors = NULL;
	struct config *config;

	if (geteuid() != 0) {
		print_message("needs root, to give a file away\n");
		skip();
	}
	write_file(folder->file, 0664, "cluster = a\n");
	assert_int_equal(load(folder, &config, &errors), -EINVAL);
	assert_non_null(strstr(errors, "can be written by others"));
	write_file(folder->file, 0644, "cluster = a\n");
	assert_int_equal(load(folder, &config, &owner_errors), 0);
	config_destroy(config);
	assert_int_equal(chown(folder->file, 65534, 65534), 0);
	assert_int_equal(load(folder, &config, &owner_errors), -EINVAL);
	assert_non_null(strstr(owner_errors, "uid 65534"));
}

/* A manager reads it again when it has given its privileges up. */
static void a_file_that_others_can_write_is_refused_to_its_reader(void **state)
{
	const struct folder *folder = *state;
	static const struct {
		mode_t mode;
		uid_t owner;
		const char *error; /* NULL: none */
	} cases[] = {
		{ 0644, 0, NULL },
		{ 0664, 0, "can be written by others" },
		{ 0646, 0, "can be written by others" },
		{ 0644, 1, "uid 1" },
		{ 0664, 65534, NULL },
	};

	if (geteuid() != 0) {
		print_message("needs root, to be somebody else\n");
		skip();
	}
	assert_int_equal(chmod(folder->path, 0711), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_auto_(freep) char *errors = NULL;
		struct config *config = NULL;
		int result;

		write_file(folder->file, cases[i].mode, "cluster = a\n");
		assert_int_equal(chown(folder->file, cases[i].owner, 0), 0);
		assert_int_equal(seteuid(65534), 0);
		result = load(folder, &config, &errors);
		assert_int_equal(seteuid(0), 0);
		if (cases[i].error == NULL) {
			assert_int_equal(result, 0);
			config_destroy(config);
		} else {
			assert_int_equal(result, -EINVAL);
			assert_non_null(strstr(errors, cases[i].error));
		}
	}
}

static void files_of_a_role_are_checked(void **state)
{
	const struct folder *folder = *state;
	_auto_(freep) char *errors = NULL;
	_auto_(freep) char *more_errors = NULL;
	char text[512];
	_auto_(config_destroyp) struct config *config = NULL;

	snprintf(text, sizeof(text),
		 "manager { key = \"%s\" user = root drain_command = \"%s\" }\n"
		 "node { manager = \"m:1\" key = \"%s\" user = root }\n",
		 folder->key, folder->file, folder->path);
	config = config_test_parsed(text);
	assert_int_equal(config_check_files(
				 config, CONFIG_ROLE_MANAGER | CONFIG_ROLE_NODE,
				 &errors),
			 -EINVAL);
	assert_non_null(strstr(errors, "/key: No such file"));
	assert_non_null(strstr(errors, "drain_command: "));
	assert_non_null(strstr(errors, "is not a regular file"));
	write_file(folder->file, 0755, "#!/bin/sh\n");
	write_file(folder->key, 0640, "");
	assert_int_equal(config_check_files(config, CONFIG_ROLE_MANAGER,
					    &more_errors),
			 -EINVAL);
	assert_non_null(strstr(more_errors, "mode 0640"));
	write_file(folder->key, 0600, "");
	assert_int_equal(config_check_files(config, CONFIG_ROLE_MANAGER, NULL),
			 0);
}

/* The manager runs as its user; a node's key is read by the guard only. */
static void a_nodes_key_is_roots(void **state)
{
	const struct folder *folder = *state;
	_auto_(freep) char *errors = NULL;
	_auto_(config_destroyp) struct config *config = NULL;
	char text[512];

	if (geteuid() != 0) {
		print_message("needs root, whose key it is\n");
		skip();
	}
	snprintf(text, sizeof(text),
		 "manager { key = \"%s\" user = nobody }\n"
		 "node { manager = \"m:1\" key = \"%s\" user = nobody }\n",
		 folder->key, folder->key);
	config = config_test_parsed(text);
	write_file(folder->key, 0600, "");
	assert_int_equal(config_check_files(
				 config, CONFIG_ROLE_MANAGER | CONFIG_ROLE_NODE,
				 NULL),
			 0);
	assert_int_equal(chown(folder->key, 65534, 65534), 0);
	assert_int_equal(config_check_files(config, CONFIG_ROLE_MANAGER, NULL),
			 0);
	assert_int_equal(config_check_files(config, CONFIG_ROLE_NODE, &errors),
			 -EINVAL);
	assert_non_null(strstr(errors, "belongs to uid 65534"));
}

/* --- files that settings of drivers name --- */

static void what_a_setting_names_is_read_for_the_manager(void **state)
{
	struct folder *folder = *state;
	const struct config_driver *driver;
	struct config *config = NULL;
	char *errors = NULL;
	char text[512];

	write_file(folder->file, 0644, "n0 elanid=0\n");
	snprintf(text, sizeof(text), "driver \"wide\" { map = \"%s\" }",
		 folder->file);
	config = config_test_parsed(text);
	driver = config_driver_find(config, "wide");
	assert_int_equal(driver->settings[0].content_size, 12);
	assert_memory_equal(driver->settings[0].content, "n0 elanid=0\n", 12);
	config_destroy(config);
	snprintf(
		text, sizeof(text),
		"node { manager = \"m:1\" }\ndriver \"wide\" { map = \"/x\" }");
	assert_int_equal(
		config_test_parse(text, CONFIG_ROLE_NODE, &config, &errors), 0);
	driver = config_driver_find(config, "wide");
	assert_null(driver->settings[0].content);
	config_destroy(config);
	/* Where it is not known which role this is it may be elsewhere. */
	config = config_test_parsed(text);
	config_destroy(config);
	assert_int_equal(config_test_parse(text, CONFIG_ROLE_MANAGER, &config,
					   &errors),
			 -EINVAL);
	assert_non_null(strstr(errors, "'map': /x: No such file"));
	free(errors);
}

static void a_node_does_without_what_it_does_not_have(void **state)
{
	struct folder *folder = *state;
	const struct config_driver *driver;
	struct config *config = NULL;
	char *errors = NULL;
	char text[1024];

	write_file(folder->file, 0644, "n0 elanid=0\n");
	snprintf(text, sizeof(text),
		 "node { manager = \"m:1\" }\n"
		 "driver \"wide\" { map = \"%s\" }",
		 folder->file);
	assert_int_equal(
		config_test_parse(text, CONFIG_ROLE_NODE, &config, &errors), 0);
	driver = config_driver_find(config, "wide");
	assert_int_equal(driver->settings[0].content_size, 12);
	config_destroy(config);
	/* It serves other drivers without; what others can write is refused. */
	assert_int_equal(config_test_parse("node { manager = \"m:1\" }\n"
					   "driver \"wide\" { map = \"/x\" }",
					   CONFIG_ROLE_NODE, &config, &errors),
			 0);
	driver = config_driver_find(config, "wide");
	assert_null(driver->settings[0].content);
	config_destroy(config);
	if (geteuid() != 0)
		return;
	assert_int_equal(chmod(folder->file, 0646), 0);
	assert_int_equal(config_test_parse(text, CONFIG_ROLE_NODE, &config,
					   &errors),
			 -EINVAL);
	assert_non_null(strstr(errors, "'map'"));
	free(errors);
}

static void refuse_map(const char *path, const char *what)
{
	char text[512], expected[600];

	snprintf(text, sizeof(text), "\ndriver \"wide\" { map = \"%s\" }",
		 path);
	snprintf(expected, sizeof(expected), "f:2: 'map': %s", what);
	config_test_refused(text, expected);
}

static void a_file_that_cannot_be_believed_is_refused(void **state)
{
	struct folder *folder = *state;
	char expected[512];

	refuse_map("etc/genders", "'etc/genders' is not an absolute path");
	refuse_map("/", "/: is not a regular file");
	write_file(folder->file, 0646, "n0 elanid=0\n");
	snprintf(expected, sizeof(expected),
		 "%s: can be written by others than root (chmod go-w)",
		 folder->file);
	if (geteuid() == 0)
		refuse_map(folder->file, expected);
	assert_int_equal(chmod(folder->file, 0644), 0);
	assert_int_equal(truncate(folder->file, FAIRLEAD_FILE_MAX + 1), 0);
	snprintf(expected, sizeof(expected), "%s: is over 1 MiB", folder->file);
	refuse_map(folder->file, expected);
	if (geteuid() != 0)
		return;
	assert_int_equal(truncate(folder->file, 5), 0);
	assert_int_equal(chown(folder->file, 65534, 65534), 0);
	snprintf(expected, sizeof(expected),
		 "%s: belongs to uid 65534; it has to be root's (chown root)",
		 folder->file);
	refuse_map(folder->file, expected);
}

int main(void)
{
#define WITH_FOLDER(test) \
	cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(what_a_setting_names_is_read_for_the_manager),
		WITH_FOLDER(a_node_does_without_what_it_does_not_have),
		WITH_FOLDER(a_file_that_cannot_be_believed_is_refused),
		WITH_FOLDER(a_missing_file_is_said),
		WITH_FOLDER(a_huge_file_is_refused),
		WITH_FOLDER(a_file_that_others_can_write_is_refused_to_root),
		WITH_FOLDER(
			a_file_that_others_can_write_is_refused_to_its_reader),
		WITH_FOLDER(files_of_a_role_are_checked),
		WITH_FOLDER(a_nodes_key_is_roots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
