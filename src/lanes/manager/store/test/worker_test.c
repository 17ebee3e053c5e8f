/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The worker on a loop and a thread of its own, over the simulated disk, whose
 * faults are set while the worker is idle.
 */
#include "lanes/manager/store/worker.h"

#include "lanes/manager/store/test/bed.h"

#include <stdio.h>

#include "sys/test/watchdog.h"

#define LOG_MAX 4096

/* What the worker called, in order. */
struct entry {
	int number;
	int result;
	size_t count;
	char body[32];
};

struct rig {
	struct bed bed;
	uv_loop_t loop;
	struct store_worker *worker;
	struct store_seam seam;
	struct entry log[LOG_MAX];
	int log_count;
	bool is_stopped;
	int follow_up; /* commits that each done gives in turn */
};

struct ticket {
	struct rig *rig;
	int number;
};

static struct ticket *ticket_new(struct rig *rig, int number)
{
	struct ticket *ticket = malloc(sizeof(*ticket));

	assert_non_null(ticket);
	*ticket = (struct ticket){ .rig = rig, .number = number };
	return ticket;
}

static void commit(struct rig *rig, int number);

static struct entry *log_add(struct ticket *ticket, int result)
{
	struct rig *rig = ticket->rig;
	struct entry *entry = &rig->log[rig->log_count++];

	assert_true(rig->log_count <= LOG_MAX);
	*entry = (struct entry){ .number = ticket->number, .result = result };
	free(ticket);
	return entry;
}

static void commit_done(void *arg, int result)
{
	struct rig *rig = ((struct ticket *)arg)->rig;
	int number = ((struct ticket *)arg)->number;

	log_add(arg, result);
	if (rig->follow_up > 0) {
		rig->follow_up--;
		commit(rig, number + 1);
	}
}

static void read_done(void *arg, int result, const struct store_row *rows,
		      size_t count)
{
	struct entry *entry = log_add(arg, result);

	entry->count = count;
	assert_true(result == 0 || count == 0);
	if (count > 0)
		memcpy(entry->body, rows[0].body, rows[0].size);
}

/* Job 1 gets the number as its body. */
static void commit(struct rig *rig, int number)
{
	struct store_batch *batch = batch_new();
	char body[16];

	snprintf(body, sizeof(body), "%d", number);
	row_put(batch, STORE_JOB, 1, 0, "key", body);
	row_put(batch, STORE_EVENT, 1, (uint64_t)number, "", body);
	rig->seam.ops->commit(rig->seam.ctx, batch, commit_done,
			      ticket_new(rig, number));
}

static void read_job(struct rig *rig, int number)
{
	rig->seam.ops->read(rig->seam.ctx, STORE_JOB, 1, NULL, read_done,
			    ticket_new(rig, number));
}

static void stopped(void *arg)
{
	((struct rig *)arg)->is_stopped = true;
}

static void run_until(struct rig *rig, int log_count)
{
	while (rig->log_count < log_count)
		uv_run(&rig->loop, UV_RUN_ONCE);
}

static int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	watchdog_start(NULL);
	bed_init(&rig->bed, 1);
	assert_int_equal(bed_open(&rig->bed), 0);
	assert_int_equal(uv_loop_init(&rig->loop), 0);
	assert_int_equal(store_worker_start(&rig->loop, rig->bed.store,
					    &rig->worker),
			 0);
	rig->seam = store_worker_seam(rig->worker);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	if (!rig->is_stopped) {
		store_worker_stop(rig->worker, stopped, rig);
		uv_run(&rig->loop, UV_RUN_DEFAULT);
	}
	assert_true(rig->is_stopped);
	assert_int_equal(uv_loop_close(&rig->loop), 0);
	bed_fini(&rig->bed);
	free(rig);
	watchdog_stop();
	return 0;
}

static void results_come_in_the_order_of_the_requests(void **state)
{
	struct rig *rig = *state;
	char body[16];

	for (int i = 0; i < 200; i += 2) {
		commit(rig, i);
		read_job(rig, i + 1);
	}
	assert_int_equal(rig->log_count, 0);
	run_until(rig, 200);
	assert_string_equal(store_worker_error(rig->worker), "");
	for (int i = 0; i < 200; i++) {
		assert_int_equal(rig->log[i].number, i);
		assert_int_equal(rig->log[i].result, 0);
		if (i % 2 == 0)
			continue;
		snprintf(body, sizeof(body), "%d", i - 1);
		assert_int_equal(rig->log[i].count, 1);
		assert_string_equal(rig->log[i].body, body);
	}
}

static void done_may_give_the_next_commit(void **state)
{
	struct rig *rig = *state;
	struct store_batch *rows;

	rig->follow_up = 50;
	commit(rig, 1);
	run_until(rig, 51);
	for (int i = 0; i < 51; i++)
		assert_int_equal(rig->log[i].number, i + 1);
	rows = scan(rig->bed.store, STORE_EVENT);
	assert_int_equal(store_batch_count(rows), 51);
	store_batch_destroy(rows);
}

static void failed_commit_cancels_those_that_waited_behind_it(void **state)
{
	struct rig *rig = *state;
	struct store_batch *rows;

	sim_disk_fail_at(rig->bed.disk, SIM_DISK_FULL, 1);
	for (int i = 1; i <= 100; i++)
		commit(rig, i);
	read_job(rig, 101);
	run_until(rig, 101);
	assert_int_equal(rig->log[0].result, -ENOSPC);
	for (int i = 1; i < 100; i++)
		assert_int_equal(rig->log[i].result, -ECANCELED);
	assert_int_equal(rig->log[100].result, 0);
	assert_int_equal(rig->log[100].count, 0);
	assert_non_null(strstr(store_worker_error(rig->worker), "earlier"));
	rows = scan(rig->bed.store, STORE_EVENT);
	assert_int_equal(store_batch_count(rows), 0);
	store_batch_destroy(rows);
	commit(rig, 102);
	run_until(rig, 102);
	assert_int_equal(rig->log[101].result, 0);
}

static void commits_that_wait_are_written_together(void **state)
{
	struct rig *rig = *state;
	struct store_batch *large = batch_new();
	struct store_batch *rows;
	char *body = malloc(12u << 20);
	int transaction_count = 0;

	/* The others have been given long before this one is written. */
	memset(body, 'x', (12u << 20) - 1);
	body[(12u << 20) - 1] = '\0';
	row_put(large, STORE_NODE, 0, 0, "large", body);
	free(body);
	rig->seam.ops->commit(rig->seam.ctx, large, commit_done,
			      ticket_new(rig, 0));
	for (int i = 1; i <= 200; i++)
		commit(rig, i);
	read_job(rig, 201);
	run_until(rig, 202);
	for (int i = 0; i <= 200; i++) {
		assert_int_equal(rig->log[i].number, i);
		assert_in_range(rig->log[i].result, 0, 1);
		transaction_count += rig->log[i].result == 0;
	}
	assert_in_range(transaction_count, 4, 100);
	assert_int_equal(rig->log[200].result, 0);
	assert_string_equal(rig->log[201].body, "200");
	rows = scan(rig->bed.store, STORE_EVENT);
	assert_int_equal(store_batch_count(rows), 200);
	store_batch_destroy(rows);
}

static void failed_commit_says_what_to_do(void **state)
{
	struct rig *rig = *state;

	sim_disk_fail_at(rig->bed.disk, SIM_DISK_FULL, 1);
	/* Given when the failure is reported: it is tried. */
	rig->follow_up = 1;
	commit(rig, 1);
	run_until(rig, 2);
	assert_int_equal(rig->log[0].result, -ENOSPC);
	assert_int_equal(rig->log[1].result, 0);
	assert_non_null(strstr(store_worker_error(rig->worker), "make room"));
}

static void requests_above_the_maximum_are_refused(void **state)
{
	struct rig *rig = *state;
	int count = STORE_WORKER_REQUESTS_MAX + 3;
	int refused_count = 0;

	for (int i = 0; i < count; i++)
		read_job(rig, i);
	run_until(rig, count);
	for (int i = 0; i < count; i++) {
		assert_int_equal(rig->log[i].number, i);
		refused_count += rig->log[i].result == -ENOBUFS;
		if (i < STORE_WORKER_REQUESTS_MAX)
			assert_int_equal(rig->log[i].result, 0);
	}
	assert_int_equal(refused_count, 3);
	read_job(rig, count);
	run_until(rig, count + 1);
	assert_int_equal(rig->log[count].result, 0);
}

static void failed_read_fails_alone(void **state)
{
	struct rig *rig = *state;
	struct store_batch *batch = batch_new();
	char *body = malloc(12u << 20);

	/* More than the page cache holds, so that it is read from disk. */
	memset(body, 'x', (12u << 20) - 1);
	body[(12u << 20) - 1] = '\0';
	row_put(batch, STORE_NODE, 0, 0, "big", body);
	free(body);
	assert_int_equal(write_batch(rig->bed.store, batch, NULL), 0);
	sim_disk_fail_at(rig->bed.disk, SIM_DISK_READ_ERROR, 1);
	rig->seam.ops->read(rig->seam.ctx, STORE_NODE, 0, "big", read_done,
			    ticket_new(rig, 1));
	commit(rig, 2);
	read_job(rig, 3);
	run_until(rig, 3);
	assert_int_equal(rig->log[0].result, -EIO);
	assert_int_equal(rig->log[1].result, 0);
	assert_int_equal(rig->log[2].result, 0);
	assert_string_equal(rig->log[2].body, "2");
	assert_non_null(strstr(store_worker_error(rig->worker), "read"));
}

static void too_much_to_read_is_an_error(void **state)
{
	struct rig *rig = *state;

	for (int part = 0; part < 5; part++) {
		struct store_batch *batch = batch_new();

		for (uint64_t i = 0; i < STORE_BATCH_ROWS_MAX / 4; i++)
			row_put(batch, STORE_EVENT, 9, (uint64_t)part << 32 | i,
				"", "e");
		assert_int_equal(write_batch(rig->bed.store, batch, NULL), 0);
	}
	rig->seam.ops->read(rig->seam.ctx, STORE_EVENT, 9, NULL, read_done,
			    ticket_new(rig, 1));
	run_until(rig, 1);
	assert_int_equal(rig->log[0].result, -ENOBUFS);
	assert_non_null(strstr(store_worker_error(rig->worker), "too much"));
}

static void stop_carries_out_what_waits(void **state)
{
	struct rig *rig = *state;

	for (int i = 0; i < 20; i++)
		commit(rig, i);
	store_worker_stop(rig->worker, stopped, rig);
	uv_run(&rig->loop, UV_RUN_DEFAULT);
	assert_true(rig->is_stopped);
	assert_int_equal(rig->log_count, 20);
	assert_int_equal(rig->log[19].result, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(results_come_in_the_order_of_the_requests),
		CASE(done_may_give_the_next_commit),
		CASE(failed_commit_cancels_those_that_waited_behind_it),
		CASE(commits_that_wait_are_written_together),
		CASE(failed_commit_says_what_to_do),
		CASE(requests_above_the_maximum_are_refused),
		CASE(failed_read_fails_alone),
		CASE(too_much_to_read_is_an_error),
		CASE(stop_carries_out_what_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
