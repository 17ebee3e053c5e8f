/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fairlead.h"
#include "manager/wire/grant.h"

#define PUBLIC "{\"grant_id\":7,\"key\":\"slurm/17/0\"}"

static const struct grant a_grant = {
	.grant_id = 7,
	.epoch = 3,
	.public_text = PUBLIC,
	.sealed = (const uint8_t *)"secret",
	.sealed_size = 6,
};

static void text_and_bytes_are_the_same_grant(void **state)
{
	struct fairlead_grant *first, *second;
	const void *bytes;
	size_t size;
	char *text;

	assert_int_equal(grant_format(&a_grant, &text), 0);
	assert_int_equal(fairlead_grant_parse(text, &first, NULL), 0);
	assert_int_equal(fairlead_grant_id(first), 7);
	assert_string_equal(fairlead_grant_public(first), PUBLIC);
	assert_string_equal(fairlead_grant_text(first), text);
	bytes = fairlead_grant_bytes(first, &size);
	assert_int_equal(fairlead_grant_decode(bytes, size, &second, NULL), 0);
	assert_string_equal(fairlead_grant_text(second), text);
	assert_int_equal(fairlead_grant_id(second), 7);
	fairlead_grant_destroy(first);
	fairlead_grant_destroy(second);
	fairlead_grant_destroy(NULL);
	free(text);
}

static void what_is_no_whole_grant_is_refused(void **state)
{
	static const char *const bad[] = { "", "7", "fairlead-grant:1:",
					   "fairlead-grant:1:****" };
	struct fairlead_error error;
	struct fairlead_grant *grant = NULL;
	const uint8_t *bytes;
	uint8_t copy[512];
	size_t size;
	char *text;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		error.text[0] = 0;
		assert_int_equal(fairlead_grant_parse(bad[i], &grant, &error),
				 -EBADMSG);
		assert_int_equal(error.code, -EBADMSG);
		assert_string_not_equal(error.text, "");
	}
	assert_int_equal(grant_format(&a_grant, &text), 0);
	text[strlen(text) - 1] = 0;
	assert_int_equal(fairlead_grant_parse(text, &grant, NULL), -EBADMSG);
	assert_null(grant);
	free(text);
	assert_int_equal(grant_format(&a_grant, &text), 0);
	assert_int_equal(fairlead_grant_parse(text, &grant, NULL), 0);
	bytes = fairlead_grant_bytes(grant, &size);
	assert_in_range(size, 1, sizeof(copy));
	for (size_t i = 0; i < size; i++) {
		struct fairlead_grant *other;

		memcpy(copy, bytes, size);
		copy[i] ^= 1;
		assert_true(fairlead_grant_decode(copy, size, &other, NULL) <
			    0);
		assert_int_equal(fairlead_grant_decode(bytes, i, &other, NULL),
				 -EBADMSG);
	}
	fairlead_grant_destroy(grant);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_and_bytes_are_the_same_grant),
		cmocka_unit_test(what_is_no_whole_grant_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
