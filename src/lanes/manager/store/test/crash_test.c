/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The store's promise, tried at every call that it makes to the disk: what was
 * acknowledged is there as a whole, what failed is not there at all.
 *
 * The workload writes numbered batches, some of which fail. A model says what
 * the tables hold for a set of batches; which batches are there is read from
 * the events, of which each batch has two that nothing removes.
 */
#include "lanes/manager/store/test/bed.h"

#include <stdio.h>

#define BATCHES   18
#define JOBS      4
#define NODES     3
#define BODY_MAX  9000
#define NAME_MAX_ 16

enum outcome {
	OUTCOME_NONE,   /* not tried: not there */
	OUTCOME_ACKED,  /* there */
	OUTCOME_FAILED, /* not there */
	OUTCOME_OPEN,   /* failed last: there as a whole, or not at all */
	OUTCOME_EITHER, /* was open when the process ended */
};

struct trial {
	struct bed bed;
	enum outcome outcomes[BATCHES + 1];
	uint64_t epoch; /* acknowledged */
};

/* The batch that last wrote a row; 0: there is none. */
struct model {
	bool events[BATCHES + 1];
	int jobs[JOBS];
	int nodes[NODES];
	int last;
};

static const char *name_of(int number, char *name)
{
	snprintf(name, NAME_MAX_, "n%d", number);
	return name;
}

/* Small ones, and some that spread over pages. */
static const char *body_of(int batch, char *body)
{
	size_t size = batch % 3 == 0 ? (size_t)(batch * 397 % 7000 + 2000)
				     : (size_t)(batch % 5 * 30 + 10);

	memset(body, 'a' + batch % 26, size);
	snprintf(body, size + 1, "batch %d ", batch);
	body[strlen(body)] = '.';
	body[size] = '\0';
	return body;
}

static struct store_batch *batch_of(int i)
{
	struct store_batch *batch = batch_new();
	char body[BODY_MAX + 1];
	char name[NAME_MAX_];

	body_of(i, body);
	row_put(batch, STORE_META, (uint64_t)i, 0, "last", NULL);
	row_put(batch, STORE_EVENT, (uint64_t)i, 1, "", body);
	row_put(batch, STORE_JOB, (uint64_t)(i % JOBS), 0, "key", body);
	row_put(batch, STORE_NODE, 0, 0, name_of(i % NODES, name), body);
	row_delete(batch, STORE_NODE, 0, 0, name_of((i + 1) % NODES, name));
	row_put(batch, STORE_EVENT, (uint64_t)i, 2, "", body);
	return batch;
}

static void model_apply(struct model *model, int i)
{
	model->last = i;
	model->events[i] = true;
	model->jobs[i % JOBS] = i;
	model->nodes[i % NODES] = i;
	model->nodes[(i + 1) % NODES] = 0;
}

static void assert_body(const struct store_row *row, int batch)
{
	char body[BODY_MAX + 1];

	body_of(batch, body);
	assert_int_equal(row->size, strlen(body));
	assert_memory_equal(row->body, body, row->size);
}

/* Which batches are there, each with both of its events. */
static void model_read(struct model *model, struct store *store)
{
	struct store_batch *rows = scan(store, STORE_EVENT);
	const struct store_row *row = store_batch_rows(rows);
	size_t count = store_batch_count(rows);

	memset(model, 0, sizeof(*model));
	assert_int_equal(count % 2, 0);
	for (size_t i = 0; i < count; i += 2) {
		assert_in_range(row[i].id, 1, BATCHES);
		assert_true(row[i].id == row[i + 1].id);
		assert_true(row[i].sub == 1 && row[i + 1].sub == 2);
		assert_body(&row[i], (int)row[i].id);
		assert_body(&row[i + 1], (int)row[i].id);
		model_apply(model, (int)row[i].id);
	}
	store_batch_destroy(rows);
}

static void assert_numbered(struct store *store, enum store_table table,
			    const int *batches, int count)
{
	struct store_batch *rows = scan(store, table);
	const struct store_row *row = store_batch_rows(rows);
	const struct store_row *end = row + store_batch_count(rows);
	char name[NAME_MAX_];

	for (int i = 0; i < count; i++) {
		if (batches[i] == 0)
			continue;
		assert_true(row < end);
		if (table == STORE_JOB)
			assert_true(row->id == (uint64_t)i);
		else
			assert_string_equal(row->key, name_of(i, name));
		assert_body(row, batches[i]);
		row++;
	}
	assert_true(row == end);
	store_batch_destroy(rows);
}

static int take_number(void *arg, const struct store_row *row)
{
	*(uint64_t *)arg = row->id;
	return 0;
}

static void assert_promise(struct trial *trial)
{
	struct store *store = trial->bed.store;
	struct model model;
	uint64_t last = 0;

	model_read(&model, store);
	for (int i = 1; i <= BATCHES; i++) {
		if (trial->outcomes[i] != OUTCOME_OPEN &&
		    trial->outcomes[i] != OUTCOME_EITHER)
			assert_true(model.events[i] ==
				    (trial->outcomes[i] == OUTCOME_ACKED));
	}
	assert_int_equal(store_read(store, STORE_META, 0, "last", take_number,
				    &last, NULL),
			 0);
	assert_true(last == (uint64_t)model.last);
	assert_numbered(store, STORE_JOB, model.jobs, JOBS);
	assert_numbered(store, STORE_NODE, model.nodes, NODES);
	assert_true(store_epoch(store) >= trial->epoch);
	assert_int_equal(store_check(store, &trial->bed.error), 0);
}

static void life_ends(struct trial *trial)
{
	for (int i = 1; i <= BATCHES; i++) {
		if (trial->outcomes[i] == OUTCOME_OPEN)
			trial->outcomes[i] = OUTCOME_EITHER;
	}
}

static void write_one(struct trial *trial, int i)
{
	int result =
		write_batch(trial->bed.store, batch_of(i), &trial->bed.error);

	if (result < 0) {
		assert_true(strlen(trial->bed.error.text) > 0);
		trial->outcomes[i] = OUTCOME_OPEN;
		return;
	}
	trial->outcomes[i] = OUTCOME_ACKED;
	for (int j = 1; j < i; j++) {
		if (trial->outcomes[j] == OUTCOME_OPEN)
			trial->outcomes[j] = OUTCOME_FAILED;
	}
}

static void begin_epoch(struct trial *trial)
{
	uint64_t epoch;

	if (store_epoch_begin(trial->bed.store, 0, &epoch, &trial->bed.error) ==
	    0)
		trial->epoch = epoch;
}

static bool is_stopped(const struct trial *trial)
{
	return sim_disk_stats(trial->bed.disk)->faults[SIM_DISK_STOP] > 0;
}

/* Three lives of a process. Goes on after errors, unless it is stopped. */
static void workload(struct trial *trial)
{
	struct bed *bed = &trial->bed;

	for (int life = 0; life < 3; life++) {
		if (life == 1)
			bed_end(bed, false);
		else if (life == 2)
			bed_close(bed);
		life_ends(trial);
		/* An error may hit the opening; its repetition goes through. */
		if (bed_open(bed) < 0 && bed_open(bed) < 0)
			return;
		begin_epoch(trial);
		for (int i = 1; i <= BATCHES / 3; i++)
			write_one(trial, life * BATCHES / 3 + i);
		if (is_stopped(trial))
			return;
	}
}

static struct trial *trial_create(uint64_t seed, unsigned int checkpoint_pages)
{
	struct trial *trial = calloc(1, sizeof(*trial));

	assert_non_null(trial);
	bed_init(&trial->bed, seed);
	trial->bed.options.checkpoint_pages = checkpoint_pages;
	return trial;
}

static void trial_destroy(struct trial *trial)
{
	bed_fini(&trial->bed);
	free(trial);
}

static void reopen(struct trial *trial)
{
	if (bed_open(&trial->bed) < 0)
		fail_msg("does not open again: %s", trial->bed.error.text);
}

/* One more batch in place of the last: the store must also be usable. */
static void assert_usable(struct trial *trial)
{
	begin_epoch(trial);
	if (trial->outcomes[BATCHES] == OUTCOME_NONE) {
		write_one(trial, BATCHES);
		assert_int_equal(trial->outcomes[BATCHES], OUTCOME_ACKED);
	}
	life_ends(trial);
	bed_end(&trial->bed, true);
	reopen(trial);
	assert_promise(trial);
}

/* Stop at the n-th change; false when there are fewer. */
static bool stopped_at(uint64_t n, uint64_t seed, bool is_crash,
		       unsigned int checkpoint_pages)
{
	struct trial *trial = trial_create(seed, checkpoint_pages);
	struct sim_disk *disk = trial->bed.disk;
	bool is_hit;

	sim_disk_fail_at(disk, SIM_DISK_STOP, n);
	workload(trial);
	is_hit = is_stopped(trial);
	life_ends(trial);
	bed_end(&trial->bed, is_crash);
	/* Once more, while the start repairs what the first one left. */
	sim_disk_fail_at(disk, SIM_DISK_STOP, n % 11 + 1);
	if (bed_open(&trial->bed) == 0)
		begin_epoch(trial);
	sim_disk_fail_at(disk, SIM_DISK_STOP, 0);
	bed_end(&trial->bed, is_crash);
	reopen(trial);
	assert_promise(trial);
	assert_usable(trial);
	trial_destroy(trial);
	return is_hit;
}

/* With and without checkpoints; in a long run with other losses once more. */
static void batches_are_whole_after_a_power_cut_at_any_call(void **state)
{
	const char *mode = getenv("FAIRLEAD_TEST");
	bool is_long = mode != NULL && strcmp(mode, "long") == 0;
	uint64_t n = 1;

	for (uint64_t round = 0; round < (is_long ? 4 : 2); round++) {
		n = 1;
		while (stopped_at(n, round * 100000 + n, true,
				  round % 2 == 0 ? 8 : 0))
			n++;
		assert_true(n > 100);
	}
	print_message("power was cut at each of %d calls\n", (int)n - 1);
}

static void batches_are_whole_after_a_kill_at_any_call(void **state)
{
	uint64_t n = 1;

	while (stopped_at(n, n, false, 8))
		n++;
	assert_true(n > 100);
	print_message("the process ended at each of %d calls\n", (int)n - 1);
}

/* One fault at the n-th call that it can hit; false when there are fewer. */
static bool fault_at(enum sim_disk_fault fault, uint64_t n, bool is_crash)
{
	struct trial *trial = trial_create(n, 8);
	struct sim_disk *disk = trial->bed.disk;
	bool is_hit;

	sim_disk_fail_at(disk, fault, n);
	workload(trial);
	is_hit = sim_disk_stats(disk)->faults[fault] > 0;
	sim_disk_fail_at(disk, fault, 0);
	assert_non_null(trial->bed.store);
	assert_promise(trial);
	life_ends(trial);
	bed_end(&trial->bed, is_crash);
	reopen(trial);
	assert_promise(trial);
	assert_usable(trial);
	trial_destroy(trial);
	return is_hit;
}

static void try_fault(enum sim_disk_fault fault, const char *name)
{
	uint64_t n;

	for (n = 1; fault_at(fault, n, n % 2 == 0); n++)
		;
	print_message("%s: at each of %d calls\n", name, (int)n - 1);
	assert_true(n > 1);
}

static void failed_write_leaves_nothing(void **state)
{
	try_fault(SIM_DISK_WRITE_ERROR, "write error");
}

static void failed_sync_leaves_nothing(void **state)
{
	try_fault(SIM_DISK_SYNC_ERROR, "sync error");
}

static void failed_read_leaves_nothing(void **state)
{
	try_fault(SIM_DISK_READ_ERROR, "read error");
}

static void failed_name_change_leaves_nothing(void **state)
{
	try_fault(SIM_DISK_NAME_ERROR, "name error");
}

static void full_disk_at_any_write_leaves_nothing(void **state)
{
	try_fault(SIM_DISK_FULL, "disk full");
}

/* The disk stays full from some size on, until somebody makes room. */
static void full_disk_is_an_error_until_there_is_room(void **state)
{
	int refused_count = 0;

	for (uint64_t kib = 0; kib < 320; kib += 4) {
		struct trial *trial = trial_create(kib + 1, 8);
		struct sim_disk *disk = trial->bed.disk;

		assert_int_equal(bed_open(&trial->bed), 0);
		bed_close(&trial->bed);
		sim_disk_set_capacity(disk, (44 + kib) << 10);
		workload(trial);
		for (int i = 1; i <= BATCHES; i++)
			refused_count += trial->outcomes[i] != OUTCOME_ACKED;
		life_ends(trial);
		bed_end(&trial->bed, true);
		sim_disk_set_capacity(disk, 0);
		reopen(trial);
		assert_promise(trial);
		assert_usable(trial);
		trial_destroy(trial);
	}
	assert_true(refused_count > 0);
}

static void full_disk_says_what_to_do(void **state)
{
	struct trial *trial = trial_create(1, 0);
	struct bed *bed = &trial->bed;

	assert_int_equal(bed_open(bed), 0);
	sim_disk_fail_at(bed->disk, SIM_DISK_FULL, 1);
	assert_int_equal(write_batch(bed->store, batch_of(1), &bed->error),
			 -ENOSPC);
	assert_non_null(strstr(bed->error.text, "make room"));
	assert_non_null(strstr(bed->error.text, BED_DIRECTORY "/journal.db"));
	sim_disk_fail_at(bed->disk, SIM_DISK_SYNC_ERROR, 1);
	assert_int_equal(write_batch(bed->store, batch_of(1), &bed->error),
			 -EIO);
	assert_non_null(strstr(bed->error.text, "check the disk"));
	write_one(trial, 1);
	assert_promise(trial);
	trial_destroy(trial);
}

/* The write that failed is buried at once, without a further one. */
static void failed_sync_is_buried_before_the_process_ends(void **state)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct trial *trial = trial_create(seed, 0);
		struct bed *bed = &trial->bed;

		assert_int_equal(bed_open(bed), 0);
		write_one(trial, 1);
		sim_disk_fail_at(bed->disk, SIM_DISK_SYNC_ERROR, 1);
		write_one(trial, 2);
		assert_int_equal(trial->outcomes[2], OUTCOME_OPEN);
		trial->outcomes[2] = OUTCOME_FAILED;
		bed_end(bed, seed % 2 == 0);
		reopen(trial);
		assert_promise(trial);
		trial_destroy(trial);
	}
}

/*
 * The sync fails, and the process ends before it can do anything about it: the
 * next one may find the batch in the page cache and build on it.
 */
static void batch_found_after_a_failed_sync_is_durable(void **state)
{
	int found_count = 0;

	for (uint64_t n = 1; n <= 200; n++) {
		struct trial *trial = trial_create(n, 0);
		struct bed *bed = &trial->bed;
		struct model model;

		assert_int_equal(bed_open(bed), 0);
		write_one(trial, 1);
		sim_disk_fail_at(bed->disk, SIM_DISK_SYNC_ERROR, 1);
		sim_disk_fail_at(bed->disk, SIM_DISK_STOP, n % 20 + 1);
		write_one(trial, 2);
		life_ends(trial);
		sim_disk_fail_at(bed->disk, SIM_DISK_STOP, 0);
		sim_disk_fail_at(bed->disk, SIM_DISK_SYNC_ERROR, 0);
		bed_end(bed, false);
		reopen(trial);
		model_read(&model, bed->store);
		if (model.events[2]) {
			trial->outcomes[2] = OUTCOME_ACKED;
			found_count++;
		}
		write_one(trial, 3);
		assert_int_equal(trial->outcomes[3], OUTCOME_ACKED);
		bed_end(bed, true);
		reopen(trial);
		assert_promise(trial);
		trial_destroy(trial);
	}
	assert_true(found_count > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			batches_are_whole_after_a_power_cut_at_any_call),
		cmocka_unit_test(batches_are_whole_after_a_kill_at_any_call),
		cmocka_unit_test(failed_write_leaves_nothing),
		cmocka_unit_test(failed_sync_leaves_nothing),
		cmocka_unit_test(failed_read_leaves_nothing),
		cmocka_unit_test(failed_name_change_leaves_nothing),
		cmocka_unit_test(full_disk_at_any_write_leaves_nothing),
		cmocka_unit_test(full_disk_is_an_error_until_there_is_room),
		cmocka_unit_test(full_disk_says_what_to_do),
		cmocka_unit_test(failed_sync_is_buried_before_the_process_ends),
		cmocka_unit_test(batch_found_after_a_failed_sync_is_durable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
