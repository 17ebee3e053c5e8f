/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which library may be loaded. The environment names three: LIBCXI, the
 * software NIC's; VENDOR, without its marker; LACKING, without a function.
 */
#include "lanes/driver/slingshot/nic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct place {
	char dir[64];
	char file[128];
	char link[128];
};

/* A folder of its own with a copy of a library, below `parent`. */
static void place_make(struct place *place, const char *parent,
		       const char *variable)
{
	char command[3 * PATH_MAX];

	snprintf(place->dir, sizeof(place->dir), "%s/fairlead-library-XXXXXX",
		 parent);
	assert_non_null(mkdtemp(place->dir));
	assert_int_equal(chmod(place->dir, 0755), 0);
	snprintf(place->file, sizeof(place->file), "%s/libcxi.so.1.5",
		 place->dir);
	snprintf(place->link, sizeof(place->link), "%s/libcxi.so.1",
		 place->dir);
	snprintf(command, sizeof(command), "cp '%s' '%s'", getenv(variable),
		 place->file);
	assert_int_equal(system(command), 0);
	assert_int_equal(chmod(place->file, 0755), 0);
	assert_int_equal(symlink("libcxi.so.1.5", place->link), 0);
}

static void place_remove(const struct place *place)
{
	assert_int_equal(unlink(place->link), 0);
	assert_int_equal(unlink(place->file), 0);
	assert_int_equal(rmdir(place->dir), 0);
}

static void assert_refused(const char *path, bool may_be_emulated, int code,
			   const char *part)
{
	struct cxi_library *library = NULL;
	struct fairlead_error error = { 0 };

	assert_int_equal(cxi_library_open(path, may_be_emulated, &library,
					  &error),
			 code);
	assert_null(library);
	if (!strstr(error.text, part))
		fail_msg("'%s' is not in '%s'", part, error.text);
}

static void assert_loads(const char *path, bool may_be_emulated,
			 bool is_emulated)
{
	struct cxi_library *library = NULL;
	struct fairlead_error error = { 0 };

	if (cxi_library_open(path, may_be_emulated, &library, &error) < 0)
		fail_msg("'%s' was refused: %s", path, error.text);
	assert_int_equal(library->is_emulated, is_emulated);
	assert_non_null(library->destroy_svc);
	cxi_library_close(library);
}

static void a_marker_tells_the_software_nic_s_library(void **state)
{
	struct place soft;
	struct place vendor;

	place_make(&soft, "/tmp", "LIBCXI");
	place_make(&vendor, "/tmp", "VENDOR");
	assert_loads(soft.link, true, true);
	assert_loads(vendor.link, true, false);
	place_remove(&soft);
	place_remove(&vendor);
}

static void missing_functions_are_named(void **state)
{
	struct place place;

	place_make(&place, "/tmp", "LACKING");
	assert_refused(place.file, true, -ELIBBAD,
		       "has no function 'cxil_destroy_svc'");
	place_remove(&place);
}

static void old_libraries_may_lack_what_is_not_needed(void **state)
{
	struct cxi_library *library = NULL;
	struct place place;

	place_make(&place, "/tmp", "VENDOR");
	assert_int_equal(cxi_library_open(place.file, true, &library, NULL), 0);
	assert_null(library->get_svc_rsrc_use);
	assert_null(library->svc_get_vni_range);
	assert_null(library->set_svc_lpr);
	assert_null(library->get_svc_lpr);
	cxi_library_close(library);
	place_remove(&place);
}

static void paths_that_lead_nowhere_are_refused(void **state)
{
	assert_refused("libcxi.so.1", true, -EPERM, "not an absolute path");
	assert_refused("", true, -EPERM, "not an absolute path");
	assert_refused("/nonexistent/libcxi.so.1", true, -ENOENT,
		       "'/nonexistent': No such file");
	assert_refused("/", true, -ELIBBAD, "is not a file");
	assert_refused("/etc/passwd", true, -ELIBBAD, "/etc/passwd");
}

static void what_everybody_can_write_is_never_loaded(void **state)
{
	struct place place;

	place_make(&place, "/tmp", "LIBCXI");
	assert_int_equal(chmod(place.file, 0777), 0);
	assert_refused(place.link, true, -EPERM, "can be written by others");
	assert_int_equal(chmod(place.file, 0755), 0);
	assert_int_equal(chmod(place.dir, 0777), 0);
	assert_refused(place.link, true, -EPERM, "can be written by others");
	place_remove(&place);
}

static void a_real_library_is_root_s_alone(void **state)
{
	struct place place;

	if (geteuid() != 0) {
		place_make(&place, "/tmp", "VENDOR");
		assert_refused(place.link, false, -EPERM, "library: ");
		place_remove(&place);
		return;
	}
	place_make(&place, "/run", "VENDOR");
	assert_loads(place.link, false, false);
	assert_int_equal(chmod(place.file, 0775), 0);
	assert_refused(place.link, false, -EPERM, "can be written by others");
	assert_int_equal(chmod(place.file, 0755), 0);
	assert_int_equal(chmod(place.dir, 0775), 0);
	assert_refused(place.link, false, -EPERM, "can be written by others");
	assert_int_equal(chmod(place.dir, 0755), 0);
	assert_int_equal(chown(place.file, 1, 1), 0);
	assert_refused(place.link, false, -EPERM, "belongs to uid 1, not root");
	assert_int_equal(chown(place.file, 0, 0), 0);
	assert_int_equal(chown(place.dir, 1, 1), 0);
	assert_refused(place.link, false, -EPERM, "belongs to uid 1, not root");
	assert_int_equal(chown(place.dir, 0, 0), 0);
	assert_int_equal(lchown(place.link, 1, 1), 0);
	assert_refused(place.link, false, -EPERM, "belongs to uid 1, not root");
	assert_loads(place.file, false, false);
	place_remove(&place);
}

static void the_software_nic_s_library_needs_leave(void **state)
{
	struct place place;

	if (geteuid() != 0) {
		print_message("needs root, to have a place that is root's\n");
		skip();
	}
	place_make(&place, "/run", "LIBCXI");
	assert_refused(place.link, false, -EPERM, "is the software NIC's");
	assert_loads(place.link, true, true);
	place_remove(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_marker_tells_the_software_nic_s_library),
		cmocka_unit_test(missing_functions_are_named),
		cmocka_unit_test(old_libraries_may_lack_what_is_not_needed),
		cmocka_unit_test(paths_that_lead_nowhere_are_refused),
		cmocka_unit_test(what_everybody_can_write_is_never_loaded),
		cmocka_unit_test(a_real_library_is_root_s_alone),
		cmocka_unit_test(the_software_nic_s_library_needs_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
