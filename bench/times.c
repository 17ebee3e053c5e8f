/* SPDX-License-Identifier: BSD-3-Clause */
#include "times.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t times_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void times_add(struct times *times, uint64_t us)
{
	if (times->count == times->capacity) {
		times->capacity = times->capacity * 2 + 1024;
		times->us = realloc(times->us,
				    times->capacity * sizeof(*times->us));
		if (times->us == NULL) {
			fprintf(stderr, "out of memory\n");
			exit(1);
		}
	}
	times->us[times->count++] = (uint32_t)us;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

void times_report(struct times *times, const char *name)
{
	size_t count = times->count;

	if (count == 0)
		return;
	qsort(times->us, count, sizeof(*times->us), compare);
	printf("%s_count %zu\n", name, count);
	printf("%s_p50_us %u\n", name, times->us[count / 2]);
	printf("%s_p99_us %u\n", name, times->us[count * 99 / 100]);
	printf("%s_max_us %u\n", name, times->us[count - 1]);
}

void times_fini(struct times *times)
{
	free(times->us);
}
