/* SPDX-License-Identifier: BSD-3-Clause */
/* A lane's record as the variables of its tasks. */
#include "lanes/driver/common/variables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static const char *const names[] = { "A_LIST", "B", NULL };

static struct fairlead_record record_of(const char *bytes, size_t size)
{
	struct fairlead_record record = { .size = size };

	memcpy(record.bytes, bytes, size);
	return record;
}

#define RECORD(text) record_of(text, sizeof(text) - 1)

static const char *seen[2];

static void take(void *arg, const char *name, const char *value)
{
	assert_true(strcmp(name, "A_LIST") == 0 || strcmp(name, "B") == 0);
	seen[strcmp(name, "B") == 0] = value;
}

static void what_was_added_is_the_environment(void **state)
{
	const struct fairlead_lane lane = { .id_count = 1 };
	const struct fairlead_lane none = { .id_count = 0 };
	struct fairlead_record record = { 0 };

	variables_add(&record, "A_LIST", "x,y");
	variables_add(&record, "B", "0x0f");
	assert_int_equal(record.size, sizeof("A_LIST=x,y\0B=0x0f"));
	assert_memory_equal(record.bytes, "A_LIST=x,y\0B=0x0f", record.size);
	assert_int_equal(variables_env(names, &lane, &record, take, NULL, NULL),
			 0);
	assert_string_equal(seen[0], "x,y");
	assert_string_equal(seen[1], "0x0f");
	/* Without a lane, or anything of it on the node, all are unset. */
	assert_int_equal(variables_env(names, &none, &record, take, NULL, NULL),
			 0);
	assert_null(seen[0]);
	record.size = 0;
	assert_int_equal(variables_env(names, &lane, &record, take, NULL, NULL),
			 0);
	assert_null(seen[1]);
}

static void damaged_records_are_refused(void **state)
{
	const struct fairlead_record records[] = {
		RECORD("A_LIST=x\0B=y"),
		RECORD("A_LIST=x\0"),
		RECORD("A_LIST=x\0B=y\0C=z\0"),
		RECORD("B=y\0A_LIST=x\0"),
		RECORD("A_LIST=\0B=y\0"),
		RECORD("A_LIST=x y\0B=y\0"),
		RECORD("A_LIST=x\nLD_PRELOAD=z\0B=y\0"),
		RECORD("A_LIST\0B=y\0"),
		RECORD("\0"),
		{ .size = FAIRLEAD_RECORD_MAX + 1 },
		{ .size = SIZE_MAX },
	};
	const struct fairlead_lane lane = { .id_count = 1 };
	struct fairlead_error error = { 0 };

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		if (variables_env(names, &lane, &records[i], take, NULL,
				  &error) != -EBADMSG)
			fail_msg("record %zu was taken", i);
		assert_non_null(strstr(error.text, "damaged"));
	}
}

static void a_list_is_read_as_it_was_made(void **state)
{
	char list[16] = "", item[8];
	const char *rest = list;

	variables_append(list, sizeof(list), "cxi%d", 0);
	variables_append(list, sizeof(list), "%s", "cxi10");
	assert_string_equal(list, "cxi0,cxi10");
	assert_true(variables_next(&rest, item, sizeof(item)));
	assert_string_equal(item, "cxi0");
	assert_true(variables_next(&rest, item, sizeof(item)));
	assert_string_equal(item, "cxi10");
	assert_false(variables_next(&rest, item, sizeof(item)));
	rest = "too-long-for-it,x";
	assert_false(variables_next(&rest, item, sizeof(item)));
	assert_null(rest);
	rest = ",";
	assert_true(variables_next(&rest, item, sizeof(item)));
	assert_string_equal(item, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_added_is_the_environment),
		cmocka_unit_test(damaged_records_are_refused),
		cmocka_unit_test(a_list_is_read_as_it_was_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
