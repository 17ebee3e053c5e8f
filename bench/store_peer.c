/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the disk gives to a bare SQLite program: rows of so many bytes appended
 * in transactions of so many rows, with the journal's settings (WAL,
 * synchronous=FULL, exclusive; no locks of SQLite's own) and nothing else. The
 * manager's rates stand beside this one's.
 *
 * Usage: store_peer [OPTION...] DIRECTORY
 *   --rows N          rows of a transaction (1)
 *   --sizes FILE      instead: a number of rows a line, taken in turn, as a
 *                     manager's batches were observed
 *   --bytes N         body of a row (256)
 *   --seconds N       run for so long (5)
 *   --checkpoint N    pages of the log before they go into the tables (4096)
 *
 * Before the time runs the log is filled and checkpointed once, so that the
 * file system has its blocks, as it has in a daemon that has run for a while.
 *
 * Prints a name and a number a line. DIRECTORY/peer.db is made and removed.
 */
#include <getopt.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SIZES_MAX  1000000
#define PATH_SIZE  4096
#define PAGE_BYTES 4096 /* SQLite's default */

struct peer {
	const char *directory;
	uint64_t *sizes; /* rows of each transaction, taken in turn */
	size_t size_count;
	uint64_t body_bytes;
	uint64_t seconds;
	uint64_t checkpoint_pages;
	sqlite3 *db;
	sqlite3_stmt *insert;
	char *body;
	uint64_t row_count;
	uint64_t transaction_count;
};

/* SQLite's syncs pass through here on their way to the kernel. */
static uint64_t sync_count;

__attribute__((visibility("default"))) int fdatasync(int fd)
{
	sync_count++;
	return (int)syscall(SYS_fdatasync, fd);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	sync_count++;
	return (int)syscall(SYS_fsync, fd);
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "store_peer: %s: %s\n", what, why);
	exit(1);
}

static void run(struct peer *peer, const char *sql)
{
	if (sqlite3_exec(peer->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		die(sql, sqlite3_errmsg(peer->db));
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t parse_number(const char *option, const char *text)
{
	char *end;
	uint64_t number = strtoull(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || number == 0)
		die(option, "a positive number is wanted");
	return number;
}

static void read_sizes(struct peer *peer, const char *path)
{
	FILE *file = fopen(path, "r");
	uint64_t size;

	if (file == NULL)
		die(path, "cannot be opened");
	peer->size_count = 0;
	peer->sizes = realloc(peer->sizes, SIZES_MAX * sizeof(uint64_t));
	if (peer->sizes == NULL)
		die(path, "out of memory");
	while (peer->size_count < SIZES_MAX &&
	       fscanf(file, "%" SCNu64, &size) == 1 && size > 0)
		peer->sizes[peer->size_count++] = size;
	if (!feof(file) || peer->size_count == 0)
		die(path, "positive numbers are wanted, one a line");
	fclose(file);
}

static void parse_options(struct peer *peer, int argc, char **argv)
{
	static const struct option options[] = {
		{ "rows", required_argument, NULL, 'r' },
		{ "sizes", required_argument, NULL, 'z' },
		{ "bytes", required_argument, NULL, 'b' },
		{ "seconds", required_argument, NULL, 's' },
		{ "checkpoint", required_argument, NULL, 'c' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'r')
			peer->sizes[0] = parse_number("--rows", optarg);
		else if (option == 'z')
			read_sizes(peer, optarg);
		else if (option == 'b')
			peer->body_bytes = parse_number("--bytes", optarg);
		else if (option == 's')
			peer->seconds = parse_number("--seconds", optarg);
		else if (option == 'c')
			peer->checkpoint_pages =
				parse_number("--checkpoint", optarg);
		else
			exit(2);
	}
	if (optind + 1 != argc)
		die("usage", "store_peer [OPTION...] DIRECTORY");
	peer->directory = argv[optind];
}

static void files_remove(const struct peer *peer)
{
	static const char *const names[] = { "peer.db", "peer.db-wal" };
	char path[PATH_SIZE];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", peer->directory,
			 names[i]);
		unlink(path);
	}
}

static void database_open(struct peer *peer)
{
	char path[PATH_SIZE];
	char sql[64];

	snprintf(path, sizeof(path), "%s/peer.db", peer->directory);
	if (sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) != SQLITE_OK)
		die("sqlite3_config", "too late");
	if (sqlite3_open_v2(path, &peer->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
				    SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		die(path, sqlite3_errmsg(peer->db));
	run(peer, "PRAGMA locking_mode=EXCLUSIVE");
	run(peer, "PRAGMA journal_mode=WAL");
	run(peer, "PRAGMA synchronous=FULL");
	snprintf(sql, sizeof(sql), "PRAGMA wal_autocheckpoint=%" PRIu64,
		 peer->checkpoint_pages);
	run(peer, sql);
	run(peer, "CREATE TABLE peer(id INTEGER PRIMARY KEY, body BLOB)");
	if (sqlite3_prepare_v2(peer->db, "INSERT INTO peer(body) VALUES(?1)",
			       -1, &peer->insert, NULL) != SQLITE_OK)
		die(path, sqlite3_errmsg(peer->db));
	peer->body = malloc(peer->body_bytes);
	if (peer->body == NULL)
		die(path, "out of memory");
	memset(peer->body, 'x', peer->body_bytes);
}

static void write_transaction(struct peer *peer, uint64_t rows)
{
	run(peer, "BEGIN IMMEDIATE");
	for (uint64_t i = 0; i < rows; i++) {
		sqlite3_bind_blob64(peer->insert, 1, peer->body,
				    peer->body_bytes, SQLITE_STATIC);
		if (sqlite3_step(peer->insert) != SQLITE_DONE)
			die("insert", sqlite3_errmsg(peer->db));
		sqlite3_reset(peer->insert);
	}
	run(peer, "COMMIT");
	peer->row_count += rows;
	peer->transaction_count++;
}

static void fill_log(struct peer *peer)
{
	uint64_t bytes = peer->checkpoint_pages * PAGE_BYTES;

	write_transaction(peer, bytes / peer->body_bytes + 1);
	peer->row_count = 0;
	peer->transaction_count = 0;
}

int main(int argc, char **argv)
{
	struct peer peer = {
		.sizes = malloc(sizeof(uint64_t)),
		.size_count = 1,
		.body_bytes = 256,
		.seconds = 5,
		.checkpoint_pages = 4096,
	};
	double start, taken;

	if (peer.sizes == NULL)
		die("start", "out of memory");
	peer.sizes[0] = 1;
	parse_options(&peer, argc, argv);
	files_remove(&peer);
	database_open(&peer);
	fill_log(&peer);
	sync_count = 0;
	start = now_s();
	do {
		write_transaction(
			&peer,
			peer.sizes[peer.transaction_count % peer.size_count]);
		taken = now_s() - start;
	} while (taken < (double)peer.seconds);
	printf("seconds %.3f\n", taken);
	printf("transactions %" PRIu64 "\n", peer.transaction_count);
	printf("rows %" PRIu64 "\n", peer.row_count);
	printf("syncs %" PRIu64 "\n", sync_count);
	printf("transactions_per_s %.1f\n",
	       (double)peer.transaction_count / taken);
	printf("rows_per_s %.1f\n", (double)peer.row_count / taken);
	printf("syncs_per_s %.1f\n", (double)sync_count / taken);
	sqlite3_finalize(peer.insert);
	sqlite3_close(peer.db);
	files_remove(&peer);
	free(peer.body);
	free(peer.sizes);
	return 0;
}
