/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Journals that are not what the manager left: damaged anywhere, restored from
 * a backup, cut short. Each gives an error or the very rows that were written,
 * and an operator's recovery starts from each.
 */
#include "lanes/manager/store/test/bed.h"

#include <stdio.h>

#define JOURNAL BED_DIRECTORY "/journal.db"
#define LOG     BED_DIRECTORY "/journal.db-wal"
#define EPOCH   BED_DIRECTORY "/epoch"

struct image {
	uint8_t *bytes;
	size_t size;
};

static struct image image_load(struct bed *bed, const char *path)
{
	struct image image = { 0 };
	struct sim_file *file;

	assert_int_equal(sim_file_open(bed->disk, path, false, &file), 0);
	image.size = (size_t)sim_file_size(file);
	image.bytes = malloc(image.size + 1); /* also when it is empty */
	assert_non_null(image.bytes);
	assert_int_equal(sim_file_read(file, 0, image.bytes, image.size),
			 image.size);
	sim_file_close(file);
	return image;
}

static void image_save(struct bed *bed, const char *path,
		       const struct image *image)
{
	struct sim_file *file;

	assert_int_equal(sim_file_open(bed->disk, path, true, &file), 0);
	assert_int_equal(sim_file_truncate(file, 0), 0);
	assert_int_equal(sim_file_write(file, 0, image->bytes, image->size), 0);
	assert_int_equal(sim_file_sync(file), 0);
	sim_file_close(file);
	assert_int_equal(sim_disk_sync_directory(bed->disk), 0);
}

static void save_text(struct bed *bed, const char *path, const char *text)
{
	const struct image image = { (uint8_t *)text, strlen(text) };

	image_save(bed, path, &image);
}

static void fill_from(struct store *store, int from, int to)
{
	struct store_batch *batch = batch_new();
	char body[3000];
	char key[32];

	for (int i = from; i < to; i++) {
		snprintf(key, sizeof(key), "cluster/%d/0", i);
		memset(body, 'a' + i % 26, sizeof(body));
		body[i % 10 == 0 ? sizeof(body) - 1 : 100u + (size_t)i] = '\0';
		row_put(batch, STORE_META, (uint64_t)i + 1000, 0, "next", NULL);
		row_put(batch, STORE_JOB, (uint64_t)i, 0, key, body);
		row_put(batch, STORE_PART, (uint64_t)i, 1, "", "part");
		row_put(batch, STORE_TOMBSTONE, (uint64_t)i + 500, (uint64_t)i,
			key, "owner");
		row_put(batch, STORE_EVENT, (uint64_t)i, 1, "", body);
		row_put(batch, STORE_NODE, 0, 0, key, body);
	}
	assert_int_equal(write_batch(store, batch, NULL), 0);
}

/* All tables one after the other; NULL when a scan says -EUCLEAN. */
static struct store_batch *read_all(struct bed *bed)
{
	struct store_batch *rows = batch_new();

	for (int table = 0; table < STORE_TABLE_COUNT; table++) {
		int result = store_scan(bed->store, (enum store_table)table,
					collect, rows, &bed->error);

		if (result == 0)
			continue;
		assert_int_equal(result, -EUCLEAN);
		store_batch_destroy(rows);
		return NULL;
	}
	return rows;
}

static bool is_same_row(const struct store_row *a, const struct store_row *b)
{
	return a->table == b->table && a->id == b->id && a->sub == b->sub &&
	       strcmp(a->key, b->key) == 0 && a->size == b->size &&
	       (a->size == 0 || memcmp(a->body, b->body, a->size) == 0);
}

static bool is_same(const struct store_batch *a, const struct store_batch *b)
{
	if (store_batch_count(a) != store_batch_count(b))
		return false;
	for (size_t i = 0; i < store_batch_count(a); i++) {
		if (!is_same_row(&store_batch_rows(a)[i],
				 &store_batch_rows(b)[i]))
			return false;
	}
	return true;
}

/* Every row that was saved is one that was there, but for the recovery's. */
static void assert_no_other_rows(const struct store_batch *some,
				 const struct store_batch *all)
{
	const struct store_row *row = store_batch_rows(all);
	const struct store_row *end = row + store_batch_count(all);

	store_batch_foreach(some, one)
	{
		if (strcmp(one->key, STORE_META_RECOVERING) == 0)
			continue;
		while (row < end && !is_same_row(row, one))
			row++;
		assert_true(row < end);
	}
}

struct damaged {
	struct bed bed;
	struct image whole;
	struct store_batch *rows;
	int error_count;
	int harmless_count;
	uint64_t saved_count;
};

static int setup(void **state)
{
	struct damaged *damaged = calloc(1, sizeof(*damaged));
	struct bed *bed = &damaged->bed;
	uint64_t epoch;

	bed_init(bed, 1);
	assert_int_equal(bed_open(bed), 0);
	assert_int_equal(store_epoch_begin(bed->store, 6, &epoch, NULL), 0);
	fill_from(bed->store, 1, 41);
	damaged->rows = read_all(bed);
	bed_close(bed);
	damaged->whole = image_load(bed, JOURNAL);
	*state = damaged;
	return 0;
}

static int teardown(void **state)
{
	struct damaged *damaged = *state;

	store_batch_destroy(damaged->rows);
	free(damaged->whole.bytes);
	bed_fini(&damaged->bed);
	free(damaged);
	return 0;
}

/* An error with a text, or exactly what was written. */
static bool opens_unharmed(struct damaged *damaged)
{
	struct bed *bed = &damaged->bed;
	struct store_batch *rows;
	int result = bed_open(bed);

	if (result < 0) {
		assert_true(result == -EUCLEAN || result == -EINVAL ||
			    result == -EOPNOTSUPP || result == -EROFS ||
			    result == -ESTALE);
		assert_int_equal(bed->error.code, result);
		assert_non_null(strstr(bed->error.text, JOURNAL));
		assert_null(strchr(bed->error.text, '\n'));
		return false;
	}
	rows = read_all(bed);
	if (rows != NULL)
		assert_true(is_same(rows, damaged->rows));
	bed_close(bed);
	store_batch_destroy(rows);
	return rows != NULL;
}

static void assert_recovers(struct damaged *damaged)
{
	struct bed *bed = &damaged->bed;
	struct store_batch *rows;
	uint64_t recovering = 0;
	uint64_t epoch = 0;
	int result;

	bed->options.is_recovery = true;
	result = bed_open(bed);
	bed->options.is_recovery = false;
	/* Not a journal of ours any more: that one is moved by hand. */
	if (result == -EINVAL || result == -EOPNOTSUPP)
		return;
	assert_int_equal(result, 0);
	if (store_notice(bed->store) != NULL)
		assert_true(sim_disk_exists(bed->disk, JOURNAL ".damaged-7"));
	rows = read_all(bed);
	assert_non_null(rows);
	assert_no_other_rows(rows, damaged->rows);
	damaged->saved_count += store_batch_count(rows);
	store_batch_destroy(rows);
	assert_int_equal(store_epoch_begin(bed->store, 0, &epoch, NULL), 0);
	assert_true(epoch == 8);
	rows = batch_new();
	assert_int_equal(store_read(bed->store, STORE_META, 0,
				    STORE_META_RECOVERING, collect, rows, NULL),
			 0);
	assert_int_equal(store_batch_count(rows), 1);
	recovering = store_batch_rows(rows)->id;
	assert_true(recovering == epoch);
	store_batch_destroy(rows);
	bed_close(bed);
	assert_int_equal(bed_open(bed), 0);
	bed_close(bed);
	save_text(bed, EPOCH, "7\n");
}

static void try_damage(struct damaged *damaged, const struct image *image,
		       bool is_recovered)
{
	image_save(&damaged->bed, JOURNAL, image);
	if (opens_unharmed(damaged)) {
		damaged->harmless_count++;
		return;
	}
	damaged->error_count++;
	if (!is_recovered)
		return;
	image_save(&damaged->bed, JOURNAL, image);
	assert_recovers(damaged);
}

static void report(const struct damaged *damaged)
{
	print_message("%d damages: %d found, %d harmless\n",
		      damaged->error_count + damaged->harmless_count,
		      damaged->error_count, damaged->harmless_count);
	assert_true(damaged->error_count > 0);
}

static void changed_byte_is_found_or_harmless(void **state)
{
	struct damaged *damaged = *state;
	struct image image = damaged->whole;

	for (size_t at = 0; at < image.size; at += at < 100 ? 1u : 61u) {
		uint8_t byte = image.bytes[at];

		image.bytes[at] ^= (uint8_t)(1u << at % 8);
		try_damage(damaged, &image, at % 20 == 0);
		image.bytes[at] = byte;
	}
	report(damaged);
	assert_true(damaged->saved_count > 1000);
}

static void overwritten_page_is_found_or_harmless(void **state)
{
	struct damaged *damaged = *state;
	struct rng_seam rng = sim_rng_seam(&damaged->bed.rng);
	struct image image = damaged->whole;
	uint8_t page[4096];

	for (size_t at = 0; at < image.size; at += sizeof(page)) {
		memcpy(page, image.bytes + at, sizeof(page));
		memset(image.bytes + at, 0, sizeof(page));
		try_damage(damaged, &image, true);
		rng_fill(&rng, image.bytes + at, sizeof(page));
		try_damage(damaged, &image, true);
		memcpy(image.bytes + at, image.bytes + (at == 0 ? 4096 : 0),
		       sizeof(page));
		try_damage(damaged, &image, true);
		memcpy(image.bytes + at, page, sizeof(page));
	}
	report(damaged);
}

static void short_journal_is_found_or_harmless(void **state)
{
	struct damaged *damaged = *state;
	struct image image = damaged->whole;

	for (size_t size = 0; size < damaged->whole.size; size += 1021) {
		image.size = size;
		try_damage(damaged, &image, true);
	}
	report(damaged);
}

/* A log ends where its checksums do: what is left is a state that was. */
static void damaged_log_gives_an_error_or_an_earlier_state(void **state)
{
	struct damaged *damaged = *state;
	struct bed *bed = &damaged->bed;
	struct store_batch *states[5];
	struct image log, image;
	int seen_count = 0;

	assert_int_equal(bed_open(bed), 0);
	image = image_load(bed, JOURNAL);
	for (int i = 0; i < 5; i++) {
		fill_from(bed->store, 100 * i, 100 * i + 3);
		states[i] = read_all(bed);
	}
	log = image_load(bed, LOG);
	bed_end(bed, false);
	for (size_t at = 0; at < log.size; at += at < 32 ? 1u : 499u) {
		struct store_batch *rows;
		int match = -1;

		image_save(bed, JOURNAL, &image);
		log.bytes[at] ^= 0x10;
		image_save(bed, LOG, &log);
		log.bytes[at] ^= 0x10;
		assert_int_equal(bed_open(bed), 0);
		rows = read_all(bed);
		assert_non_null(rows);
		for (int i = 0; i < 5; i++) {
			if (is_same(rows, states[i]))
				match = i;
		}
		assert_true(match >= 0 || is_same(rows, damaged->rows));
		seen_count += match >= 0 && match < 4;
		store_batch_destroy(rows);
		bed_close(bed);
	}
	assert_true(seen_count > 0);
	for (int i = 0; i < 5; i++)
		store_batch_destroy(states[i]);
	free(log.bytes);
	free(image.bytes);
}

static void restored_backup_is_refused_until_recovered(void **state)
{
	struct damaged *damaged = *state;
	struct bed *bed = &damaged->bed;
	struct store_batch *rows;
	uint64_t epoch;

	assert_int_equal(bed_open(bed), 0);
	assert_int_equal(store_epoch_begin(bed->store, 0, &epoch, NULL), 0);
	assert_true(epoch == 8);
	fill_from(bed->store, 300, 303);
	bed_close(bed);
	image_save(bed, JOURNAL, &damaged->whole);
	assert_int_equal(bed_open(bed), -ESTALE);
	assert_non_null(strstr(bed->error.text, "fairlead manager recover"));
	assert_non_null(strstr(bed->error.text, "7"));
	assert_int_equal(bed_open(bed), -ESTALE);
	bed->options.is_recovery = true;
	assert_int_equal(bed_open(bed), 0);
	assert_null(store_notice(bed->store));
	assert_true(store_epoch(bed->store) == 8);
	rows = read_all(bed);
	assert_true(is_same(rows, damaged->rows));
	store_batch_destroy(rows);
	/* Nothing is decided before the epoch has begun. */
	bed_end(bed, true);
	bed->options.is_recovery = false;
	assert_int_equal(bed_open(bed), -ESTALE);
	bed->options.is_recovery = true;
	assert_int_equal(bed_open(bed), 0);
	assert_int_equal(store_epoch_begin(bed->store, 0, &epoch, NULL), 0);
	assert_true(epoch == 9);
	bed_end(bed, true);
	bed->options.is_recovery = false;
	assert_int_equal(bed_open(bed), 0);
}

/* The disk fails to read once: that says nothing about what is on it. */
static void failed_read_is_no_damage(void **state)
{
	unsigned int failed_count = 0;
	struct bed bed;
	uint64_t n = 1;

	bed_init(&bed, 17);
	assert_int_equal(bed_open(&bed), 0);
	fill_from(bed.store, 0, 40);
	for (bool is_hit = true; is_hit; n++) {
		uint64_t before;
		int result;

		bed_close(&bed);
		before = sim_disk_stats(bed.disk)->faults[SIM_DISK_READ_ERROR];
		sim_disk_fail_at(bed.disk, SIM_DISK_READ_ERROR, n);
		result = bed_open(&bed);
		is_hit = sim_disk_stats(bed.disk)->faults[SIM_DISK_READ_ERROR] >
			 before;
		sim_disk_fail_at(bed.disk, SIM_DISK_READ_ERROR, 0);
		if (result == -EUCLEAN)
			fail_msg("read %d: %s", (int)n, bed.error.text);
		failed_count += result < 0;
		if (result < 0)
			assert_int_equal(bed_open(&bed), 0);
	}
	assert_true(failed_count > 10);
	bed_fini(&bed);
}

static void lost_journal_is_refused(void **state)
{
	struct damaged *damaged = *state;
	struct bed *bed = &damaged->bed;

	assert_int_equal(sim_disk_unlink(bed->disk, JOURNAL), 0);
	assert_int_equal(bed_open(bed), -ESTALE);
	assert_non_null(strstr(bed->error.text, "new or lost"));
}

static void damaged_epoch_file_is_refused_until_recovered(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		"7",
		"0\n",
		"-1\n",
		"7 \n",
		"seven\n",
		"7\n\n",
		"18446744073709551616\n",
		"111111111111111111111111111111111111\n",
	};
	struct damaged *damaged = *state;
	struct bed *bed = &damaged->bed;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint64_t epoch;

		save_text(bed, EPOCH, texts[i]);
		assert_int_equal(bed_open(bed), -EUCLEAN);
		assert_non_null(strstr(bed->error.text, EPOCH));
		bed->options.is_recovery = true;
		assert_int_equal(bed_open(bed), 0);
		bed->options.is_recovery = false;
		assert_int_equal(store_epoch_begin(bed->store, 0, &epoch, NULL),
				 0);
		assert_true(epoch == 8 + i);
		bed_close(bed);
	}
}

/* The power goes at each change of a recovery; what starts then is one. */
static void recovery_cut_short_stays_a_recovery(void **state)
{
	struct damaged *damaged = *state;
	struct bed *bed = &damaged->bed;
	struct image image = damaged->whole;
	uint64_t stop_count;
	uint64_t n = 1;

	memset(image.bytes + image.size / 2, 0xff, 9000);
	do {
		struct store_batch *rows = batch_new();

		sim_disk_unlink(bed->disk, LOG);
		image_save(bed, JOURNAL, &image);
		save_text(bed, EPOCH, "7\n");
		stop_count = sim_disk_stats(bed->disk)->faults[SIM_DISK_STOP];
		sim_disk_fail_at(bed->disk, SIM_DISK_STOP, n);
		bed->options.is_recovery = true;
		bed_open(bed);
		bed->options.is_recovery = false;
		sim_disk_fail_at(bed->disk, SIM_DISK_STOP, 0);
		bed_end(bed, true);
		if (bed_open(bed) == 0)
			assert_int_equal(store_read(bed->store, STORE_META, 0,
						    STORE_META_RECOVERING,
						    collect, rows, NULL),
					 0);
		else
			assert_true(bed->error.code == -EUCLEAN ||
				    bed->error.code == -ESTALE);
		if (bed->store != NULL)
			assert_int_equal(store_batch_count(rows), 1);
		bed_close(bed);
		store_batch_destroy(rows);
		n++;
	} while (sim_disk_stats(bed->disk)->faults[SIM_DISK_STOP] > stop_count);
	assert_true(n > 50);
}

/* A damaged journal, as it was found first. */
static void damaged_save(struct damaged *damaged, const struct image *image)
{
	static const char *const leftovers[] = { LOG, JOURNAL ".damaged-7",
						 JOURNAL ".damaged-7-wal",
						 JOURNAL ".unfinished",
						 JOURNAL ".unfinished-wal" };
	struct bed *bed = &damaged->bed;

	for (size_t i = 0; i < sizeof(leftovers) / sizeof(*leftovers); i++)
		if (sim_disk_exists(bed->disk, leftovers[i]))
			assert_int_equal(
				sim_disk_unlink(bed->disk, leftovers[i]), 0);
	image_save(bed, JOURNAL, image);
	save_text(bed, EPOCH, "7\n");
}

/* All that there is after a start, but for the note of the recovery. */
static struct store_batch *start_rows(struct damaged *damaged, bool is_recovery)
{
	struct bed *bed = &damaged->bed;
	struct store_batch *rows;
	int result;

	bed->options.is_recovery = is_recovery;
	result = bed_open(bed);
	bed->options.is_recovery = false;
	if (result < 0)
		return NULL;
	rows = read_all(bed);
	assert_non_null(rows);
	bed_end(bed, false);
	return rows;
}

enum cut {
	CUT_POWER,
	CUT_FULL, /* the disk is full: an error, and not the end */
	CUT_READ, /* and then the half made one cannot be read at first */
};

static void recovery_begin(struct damaged *damaged, enum cut cut, uint64_t n)
{
	struct bed *bed = &damaged->bed;
	enum sim_disk_fault fault =
		cut == CUT_FULL ? SIM_DISK_FULL : SIM_DISK_STOP;

	sim_disk_fail_at(bed->disk, fault, n);
	bed->options.is_recovery = true;
	bed_open(bed);
	sim_disk_fail_at(bed->disk, fault, 0);
	bed_end(bed, cut != CUT_FULL);
	if (cut == CUT_READ) {
		sim_disk_fail_at(bed->disk, SIM_DISK_READ_ERROR, 1 + n % 13);
		bed_open(bed);
		sim_disk_fail_at(bed->disk, SIM_DISK_READ_ERROR, 0);
		bed_end(bed, false);
	}
	bed->options.is_recovery = false;
}

static bool is_hit(const struct bed *bed, enum cut cut, uint64_t *count)
{
	uint64_t before = *count;

	*count = sim_disk_stats(bed->disk)
			 ->faults[cut == CUT_FULL ? SIM_DISK_FULL
						  : SIM_DISK_STOP];
	return *count > before;
}

static void cut_short(struct damaged *damaged, const struct image *image,
		      const struct store_batch *saved, enum cut cut)
{
	uint64_t count = 0;
	uint64_t n = 0;

	is_hit(&damaged->bed, cut, &count);
	do {
		struct store_batch *rows;

		damaged_save(damaged, image);
		recovery_begin(damaged, cut, ++n);
		/* A start that is no recovery may be refused, or has all. */
		rows = n % 2 == 0 ? start_rows(damaged, false) : NULL;
		if (rows == NULL)
			rows = start_rows(damaged, true);
		assert_non_null(rows);
		assert_true(is_same(rows, saved));
		store_batch_destroy(rows);
	} while (is_hit(&damaged->bed, cut, &count));
	assert_true(n > 30);
}

/* What the first try did not take over, the next one does. */
static void recovery_cut_short_loses_nothing(void **state)
{
	struct damaged *damaged = *state;
	struct image image = damaged->whole;
	struct store_batch *saved;

	memset(image.bytes + image.size / 2, 0xff, 9000);
	damaged_save(damaged, &image);
	saved = start_rows(damaged, true);
	assert_non_null(saved);
	cut_short(damaged, &image, saved, CUT_POWER);
	cut_short(damaged, &image, saved, CUT_FULL);
	cut_short(damaged, &image, saved, CUT_READ);
	store_batch_destroy(saved);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(changed_byte_is_found_or_harmless),
		CASE(overwritten_page_is_found_or_harmless),
		CASE(short_journal_is_found_or_harmless),
		CASE(damaged_log_gives_an_error_or_an_earlier_state),
		CASE(restored_backup_is_refused_until_recovered),
		CASE(failed_read_is_no_damage),
		CASE(lost_journal_is_refused),
		CASE(damaged_epoch_file_is_refused_until_recovered),
		CASE(recovery_cut_short_stays_a_recovery),
		CASE(recovery_cut_short_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
