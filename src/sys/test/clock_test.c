/* SPDX-License-Identifier: BSD-3-Clause */
#include "sys/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <time.h>

static uint64_t system_us(clockid_t id)
{
	struct timespec now;

	assert_int_equal(clock_gettime(id, &now), 0);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void monotonic_clock_is_the_time_since_boot(void **state)
{
	struct clock_seam clock = sys_clock();
	uint64_t before = system_us(CLOCK_BOOTTIME) / 1000;
	uint64_t now = clock_monotonic_ms(&clock);
	uint64_t after = system_us(CLOCK_BOOTTIME) / 1000;

	assert_true(before <= now && now <= after);
}

static void monotonic_clock_never_goes_back(void **state)
{
	struct clock_seam clock = sys_clock();
	uint64_t last = 0;

	for (int i = 0; i < 10000; i++) {
		uint64_t now = clock_monotonic_ms(&clock);

		assert_true(now >= last);
		last = now;
	}
}

static void wall_clock_is_the_time_of_people(void **state)
{
	struct clock_seam clock = sys_clock();
	uint64_t now = clock_wall_us(&clock);
	uint64_t after = system_us(CLOCK_REALTIME);

	/* Either may be set in between, but not by a minute. */
	assert_true(now < after + 60000000 && after < now + 60000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(monotonic_clock_is_the_time_since_boot),
		cmocka_unit_test(monotonic_clock_never_goes_back),
		cmocka_unit_test(wall_clock_is_the_time_of_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
