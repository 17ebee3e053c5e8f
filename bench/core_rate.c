/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the core alone can do in a second of a CPU: rounds of reserve and
 * release, with and without an apply in between, when rows cost nothing and
 * nodes answer at once.
 *
 * Usage: core_rate --config FILE [--rounds N] [--spread N] [--live N] [--apply]
 *   --rounds N        (100000)
 *   --spread N        nodes of a job, at random (4)
 *   --live N          jobs that are there already (0)
 *   --apply           apply each lane before it is released
 *
 * Prints a name and a number a line.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core_bed.h"

struct rows {
	uint64_t count;
	uint64_t byte_count;
};

static void on_row(void *arg, const struct store_row *row)
{
	struct rows *rows = arg;

	rows->count++;
	rows->byte_count += row->size;
}

/* Nothing is waited for, so that what others do to the machine is left out. */
static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t parse_number(const char *text)
{
	char *end;
	uint64_t number = strtoull(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0')
		bed_die(text, "a number is wanted");
	return number;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "spread", required_argument, NULL, 's' },
		{ "live", required_argument, NULL, 'l' },
		{ "apply", no_argument, NULL, 'a' },
		{ 0 },
	};
	const char *config_path = NULL;
	uint64_t round_count = 100000, live_count = 0, job = 0;
	uint32_t spread = 4;
	bool is_applying = false;
	struct rows rows = { 0 };
	struct bed *bed;
	double seconds;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			config_path = optarg;
		else if (option == 'r')
			round_count = parse_number(optarg);
		else if (option == 's')
			spread = (uint32_t)parse_number(optarg);
		else if (option == 'l')
			live_count = parse_number(optarg);
		else if (option == 'a')
			is_applying = true;
		else
			exit(2);
	}
	if (config_path == NULL || optind != argc)
		bed_die("usage", "core_rate --config FILE [OPTION...]");
	bed = bed_create(config_path);
	bed_start(bed, 1, on_row, &rows);
	while (job < live_count)
		bed_reserve(bed, ++job, spread);
	rows = (struct rows){ 0 };
	seconds = cpu_s();
	for (uint64_t i = 0; i < round_count; i++) {
		uint64_t grant_id = bed_reserve(bed, ++job, spread);

		if (is_applying)
			bed_apply(bed, grant_id);
		bed_release(bed, grant_id);
	}
	seconds = cpu_s() - seconds;
	printf("rounds_per_s %.1f\n", (double)round_count / seconds);
	printf("us_per_round %.3f\n", seconds * 1e6 / (double)round_count);
	printf("rows_per_round %.2f\n",
	       (double)rows.count / (double)round_count);
	printf("bytes_per_round %.1f\n",
	       (double)rows.byte_count / (double)round_count);
	bed_destroy(bed);
	return 0;
}
