/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The journal of a manager that has been at work for long: its core decides
 * over jobs that come, are applied, and go, or stay, and its store writes what
 * the core gives out. Left as a killed manager leaves it.
 *
 * Usage: journal_make --config FILE [OPTION...]
 *   --events N        write at least so many (1000000)
 *   --jobs N          live jobs in the end (60000)
 *   --spread N        nodes of a live job, at random (64); the others have 4
 *
 * Prints a name and a number a line. The journal is where FILE says, and must
 * not be there before.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core_bed.h"
#include "lanes/manager/store/row.h"
#include "lanes/manager/store/store.h"
#include "sys/files.h"

#define RELEASED_SPREAD 4

struct maker {
	const char *config_path;
	uint64_t event_min;
	uint64_t job_count;
	uint32_t spread;
	struct store *store;
	struct store_batch *batch;
	uint64_t event_count;
	uint64_t row_count;
};

static void on_row(void *arg, const struct store_row *row)
{
	struct maker *maker = arg;

	if (maker->batch == NULL)
		maker->batch = store_batch_create();
	if (store_batch_add(maker->batch, row) < 0)
		bed_die("write", "a batch is full");
	maker->row_count++;
	if (row->table == STORE_EVENT && row->verb == STORE_PUT)
		maker->event_count++;
}

static void flush(struct maker *maker)
{
	struct fairlead_error error;

	if (maker->batch == NULL)
		return;
	if (store_write(maker->store, maker->batch, &error) < 0)
		bed_die("write", error.text);
	store_batch_destroy(take_ptr(maker->batch));
}

static void work(struct maker *maker, struct bed *bed)
{
	uint32_t released = RELEASED_SPREAD < bed_node_count(bed)
				    ? RELEASED_SPREAD
				    : bed_node_count(bed);
	uint64_t live = 0, job = 0;

	while (live < maker->job_count ||
	       maker->event_count < maker->event_min) {
		bool is_live = live < maker->job_count &&
			       live * maker->event_min <=
				       maker->event_count * maker->job_count;
		uint64_t grant_id = bed_reserve(
			bed, ++job, is_live ? maker->spread : released);

		bed_apply(bed, grant_id);
		if (is_live)
			live++;
		else
			bed_release(bed, grant_id);
		if (store_batch_is_full(maker->batch))
			flush(maker);
	}
	flush(maker);
	printf("jobs %" PRIu64 "\nreleased %" PRIu64 "\nevents %" PRIu64
	       "\nrows %" PRIu64 "\n",
	       live, job - live, maker->event_count, maker->row_count);
}

static uint64_t parse_number(const char *text)
{
	char *end;
	uint64_t number = strtoull(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || number == 0)
		bed_die(text, "a positive number is wanted");
	return number;
}

static void parse_options(struct maker *maker, int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "events", required_argument, NULL, 'e' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "spread", required_argument, NULL, 's' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			maker->config_path = optarg;
		else if (option == 'e')
			maker->event_min = parse_number(optarg);
		else if (option == 'j')
			maker->job_count = parse_number(optarg);
		else if (option == 's')
			maker->spread = (uint32_t)parse_number(optarg);
		else
			exit(2);
	}
	if (maker->config_path == NULL || optind != argc)
		bed_die("usage", "journal_make --config FILE [OPTION...]");
}

int main(int argc, char **argv)
{
	struct maker maker = {
		.event_min = 1000000,
		.job_count = 60000,
		.spread = 64,
	};
	const struct store_options options = { .files = sys_files() };
	struct fairlead_error error;
	struct bed *bed;
	const char *path;
	uint64_t epoch;

	parse_options(&maker, argc, argv);
	bed = bed_create(maker.config_path);
	path = bed_state_path(bed);
	if (store_open(path, &options, &maker.store, &error) < 0)
		bed_die(path, error.text);
	if (store_epoch(maker.store) != 0)
		bed_die(path, "a journal is there already");
	if (store_epoch_begin(maker.store, 0, &epoch, &error) < 0)
		bed_die(path, error.text);
	bed_start(bed, epoch, on_row, &maker);
	flush(&maker);
	work(&maker, bed);
	store_close_abrupt(maker.store);
	bed_destroy(bed);
	return 0;
}
