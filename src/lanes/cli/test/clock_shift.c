/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a munged of the tests: its clock is CLOCK_SHIFT_S seconds off,
 * so that its credentials are old, or of the future, without a wait.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) time_t time(time_t *ret_now)
{
	const char *shift = getenv("CLOCK_SHIFT_S");
	time_t now = syscall(SYS_time, NULL) + (shift ? atol(shift) : 0);

	if (ret_now)
		*ret_now = now;
	return now;
}
