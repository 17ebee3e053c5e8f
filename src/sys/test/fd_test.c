/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading: to the end, to the brim, and what is no descriptor. */
#include "sys/fd.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static void read_goes_on_to_the_end(void **state)
{
	char bytes[16];
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "abcde", 5), 5);
	close(ends[1]);
	assert_int_equal(fd_read(ends[0], bytes, sizeof(bytes)), 5);
	assert_memory_equal(bytes, "abcde", 5);
	assert_int_equal(fd_read(ends[0], bytes, sizeof(bytes)), 0);
	close(ends[0]);
}

static void read_stops_when_the_bytes_are_full(void **state)
{
	char bytes[4] = "....";
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "abcde", 5), 5);
	assert_int_equal(fd_read(ends[0], bytes, 3), 3);
	assert_memory_equal(bytes, "abc.", 4);
	close(ends[0]);
	close(ends[1]);
}

static void read_of_no_descriptor_is_an_error(void **state)
{
	char byte;

	(void)state;
	assert_int_equal(fd_read(-1, &byte, 1), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_goes_on_to_the_end),
		cmocka_unit_test(read_stops_when_the_bytes_are_full),
		cmocka_unit_test(read_of_no_descriptor_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
