/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long the store takes to start: a journal with many events and jobs is
 * written, left as a killed manager leaves it, and opened again with all that
 * a start reads.
 *
 * Usage: store_start [OPTION...] DIRECTORY
 *   --jobs N          live jobs (60000)
 *   --events N        (1000000)
 *   --tombstones N    (65000)
 *   --nodes N         (10000)
 *   --job-bytes N     a job's record (512)
 *   --event-bytes N   one event (200)
 *   --cold            drop the files from the page cache before
 *   --keep            leave the journal for the next run, or take the one
 *                     that is there
 *
 * Prints a name and a number a line. DIRECTORY/journal is made and, unless
 * --keep, removed.
 */
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lanes/manager/store/row.h"
#include "lanes/manager/store/store.h"
#include "sys/files.h"

#define PATH_SIZE       4096
#define NODE_BYTES      100
#define TOMBSTONE_BYTES 16

struct start {
	char directory[PATH_SIZE];
	uint64_t counts[STORE_TABLE_COUNT];
	uint64_t bytes[STORE_TABLE_COUNT];
	bool is_cold;
	bool is_kept;
	struct store_options options;
	struct store *store;
	struct fairlead_error error;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "store_start: %s: %s\n", what, why);
	exit(1);
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static uint64_t parse_number(const char *text)
{
	char *end;
	uint64_t number = strtoull(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0')
		die(text, "a number is wanted");
	return number;
}

static void parse_options(struct start *start, int argc, char **argv)
{
	static const struct option options[] = {
		{ "jobs", required_argument, NULL, 'j' },
		{ "events", required_argument, NULL, 'e' },
		{ "tombstones", required_argument, NULL, 't' },
		{ "nodes", required_argument, NULL, 'n' },
		{ "job-bytes", required_argument, NULL, 'J' },
		{ "event-bytes", required_argument, NULL, 'E' },
		{ "cold", no_argument, NULL, 'c' },
		{ "keep", no_argument, NULL, 'k' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'j')
			start->counts[STORE_JOB] = parse_number(optarg);
		else if (option == 'e')
			start->counts[STORE_EVENT] = parse_number(optarg);
		else if (option == 't')
			start->counts[STORE_TOMBSTONE] = parse_number(optarg);
		else if (option == 'n')
			start->counts[STORE_NODE] = parse_number(optarg);
		else if (option == 'J')
			start->bytes[STORE_JOB] = parse_number(optarg);
		else if (option == 'E')
			start->bytes[STORE_EVENT] = parse_number(optarg);
		else if (option == 'c')
			start->is_cold = true;
		else if (option == 'k')
			start->is_kept = true;
		else
			exit(2);
	}
	if (optind + 1 != argc)
		die("usage", "store_start [OPTION...] DIRECTORY");
	snprintf(start->directory, sizeof(start->directory), "%s/journal",
		 argv[optind]);
}

static void journal_open(struct start *start)
{
	if (store_open(start->directory, &start->options, &start->store,
		       &start->error) < 0)
		die("open", start->error.text);
}

static void flush(struct start *start, struct store_batch **batch)
{
	if (store_write(start->store, *batch, &start->error) < 0)
		die("write", start->error.text);
	store_batch_destroy(*batch);
	*batch = store_batch_create();
}

/* Grants are numbered so that the live ones are the newest. */
static void fill_row(const struct start *start, enum store_table table,
		     uint64_t i, struct store_row *row, char *key)
{
	uint64_t released = start->counts[STORE_TOMBSTONE];
	uint64_t grants = released + start->counts[STORE_JOB];

	row->table = table;
	row->id = table == STORE_EVENT ? i % grants + 1
		  : table == STORE_JOB ? released + i + 1
				       : i + 1;
	row->sub = table == STORE_EVENT       ? i / grants + 1
		   : table == STORE_TOMBSTONE ? i + 1
					      : 0;
	row->size = start->bytes[table];
	snprintf(key, 64,
		 table == STORE_NODE ? "node%06" PRIu64
				     : "cluster/%" PRIu64 "/0",
		 i);
	row->key = key;
}

static void fill(struct start *start)
{
	static const enum store_table tables[] = { STORE_NODE, STORE_TOMBSTONE,
						   STORE_EVENT, STORE_JOB };
	struct store_row row = { .verb = STORE_PUT };
	struct store_batch *batch = NULL;
	char body[65536];
	char key[64];

	memset(body, 'x', sizeof(body));
	row.body = body;
	batch = store_batch_create();
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		for (uint64_t i = 0; i < start->counts[tables[t]]; i++) {
			fill_row(start, tables[t], i, &row, key);
			if (store_batch_add(batch, &row) < 0)
				die("write", "out of memory");
			if (store_batch_is_full(batch))
				flush(start, &batch);
		}
	}
	flush(start, &batch);
	store_batch_destroy(batch);
}

static void drop_cache(const struct start *start, const char *name)
{
	char path[PATH_SIZE + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", start->directory, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return;
	if (fdatasync(fd) < 0 ||
	    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		die(path, "cannot be dropped from the page cache");
	close(fd);
}

static double file_mib(const struct start *start, const char *name)
{
	char path[PATH_SIZE + 32];
	struct stat status;

	snprintf(path, sizeof(path), "%s/%s", start->directory, name);
	return stat(path, &status) < 0 ? 0 : (double)status.st_size / 1048576.0;
}

static int count_row(void *arg, const struct store_row *row)
{
	++*(uint64_t *)arg;
	return 0;
}

static void measure(struct start *start)
{
	double began = now_ms(), at = began;
	uint64_t epoch;
	uint64_t rows = 0;

	journal_open(start);
	printf("open_ms %.1f\n", now_ms() - at);
	at = now_ms();
	for (int table = 0; table < STORE_TABLE_COUNT; table++) {
		if (table != STORE_EVENT &&
		    store_scan(start->store, (enum store_table)table, count_row,
			       &rows, &start->error) < 0)
			die("scan", start->error.text);
	}
	printf("scan_ms %.1f\n", now_ms() - at);
	printf("scan_rows %" PRIu64 "\n", rows);
	at = now_ms();
	if (store_epoch_begin(start->store, 0, &epoch, &start->error) < 0)
		die("epoch", start->error.text);
	printf("epoch_ms %.1f\n", now_ms() - at);
	printf("start_ms %.1f\n", now_ms() - began);
	at = now_ms();
	if (store_check(start->store, &start->error) < 0)
		die("check", start->error.text);
	printf("check_all_ms %.1f\n", now_ms() - at);
}

static void files_remove(const struct start *start)
{
	static const char *const names[] = { "journal.db", "journal.db-wal",
					     "epoch", "lock" };
	char path[PATH_SIZE + 32];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", start->directory,
			 names[i]);
		unlink(path);
	}
	rmdir(start->directory);
}

int main(int argc, char **argv)
{
	struct start start = {
		.counts = { [STORE_JOB] = 60000,
			    [STORE_EVENT] = 1000000,
			    [STORE_TOMBSTONE] = 65000,
			    [STORE_NODE] = 10000 },
		.bytes = { [STORE_JOB] = 512,
			   [STORE_EVENT] = 200,
			   [STORE_TOMBSTONE] = TOMBSTONE_BYTES,
			   [STORE_NODE] = NODE_BYTES },
		.options = { .files = sys_files() },
	};
	double at;

	parse_options(&start, argc, argv);
	if (!start.is_kept)
		files_remove(&start);
	if (file_mib(&start, "journal.db") == 0) {
		at = now_ms();
		journal_open(&start);
		fill(&start);
		printf("fill_ms %.1f\n", now_ms() - at);
		store_close_abrupt(start.store);
	}
	printf("journal_mib %.1f\n", file_mib(&start, "journal.db"));
	printf("log_mib %.1f\n", file_mib(&start, "journal.db-wal"));
	if (start.is_cold) {
		drop_cache(&start, "journal.db");
		drop_cache(&start, "journal.db-wal");
	}
	measure(&start);
	store_close(start.store);
	if (!start.is_kept)
		files_remove(&start);
	return 0;
}
