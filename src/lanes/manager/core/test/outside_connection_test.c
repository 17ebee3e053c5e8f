/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ends of requests say of the connection, and what is sent then. The
 * seeds of outside_test.c do not count requests.
 */
#include "lanes/manager/core/outside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/seam.h"
#include "base/text.h"

#define WAIT_MS  2000
#define SENT_MAX 256

struct bed {
	struct outside_table table;
	uint64_t now_ms;
	struct outside_request sent[SENT_MAX]; /* without texts */
	size_t sent_count;
	size_t settled_count;
	char reason[OUTSIDE_REASON_MAX + 1]; /* of the last that was refused */
};

static void on_store(void *ctx, const struct outside_item *item)
{
}

static void on_erase(void *ctx, uint64_t grant_id)
{
}

static void on_send(void *ctx, const struct outside_request *request)
{
	struct bed *bed = ctx;

	assert_true(bed->sent_count < SENT_MAX);
	bed->sent[bed->sent_count++] = *request;
}

static const char *on_prefix(void *ctx)
{
	return "cl";
}

static void on_settled(void *ctx, const struct outside_item *item)
{
	struct bed *bed = ctx;

	bed->settled_count++;
	if (item->state != OUTSIDE_HELD)
		strcpy(bed->reason, item->reason);
}

static const struct outside_ops ops = {
	.store = on_store,
	.erase = on_erase,
	.send = on_send,
	.prefix = on_prefix,
	.settled = on_settled,
};

static void end_text(struct bed *bed, size_t index, int result, bool is_reached,
		     const char *text)
{
	const struct outside_end end = {
		.result = result,
		.is_reached = is_reached,
		.text = text,
		.secret = (const uint8_t *)"token",
		.secret_size = 5,
	};

	outside_done(&bed->table, bed->sent[index].id, &end, bed->now_ms);
}

static void end(struct bed *bed, size_t index, int result)
{
	end_text(bed, index, result, true, "refused");
}

static void end_lost(struct bed *bed, size_t index)
{
	end_text(bed, index, -EAGAIN, false, "no answer");
}

static void advance(struct bed *bed, uint64_t ms)
{
	uint64_t end_ms = bed->now_ms + ms;

	while (outside_deadline_ms(&bed->table) <= end_ms) {
		bed->now_ms = outside_deadline_ms(&bed->table);
		outside_tick(&bed->table, bed->now_ms);
	}
	bed->now_ms = end_ms;
}

/* The last request; there have been so many. */
static enum outside_verb last_of(const struct bed *bed, size_t count)
{
	assert_int_equal(bed->sent_count, count);
	return bed->sent[count - 1].verb;
}

static void want(struct bed *bed, uint64_t grant_id)
{
	outside_want(&bed->table, grant_id, "8", false, bed->now_ms, WAIT_MS);
}

/* The next release, which is under way; lists are answered. */
static size_t drop_await(struct bed *bed, size_t from)
{
	for (;;) {
		for (size_t i = from; i < bed->sent_count; i++) {
			if (bed->sent[i].verb == OUTSIDE_DROP)
				return i;
			end(bed, i, 0);
		}
		from = bed->sent_count;
		advance(bed, 1000);
	}
}

/* The list has been read, and is sent[0]. */
static int setup(void **state)
{
	struct bed *bed = calloc(1, sizeof(*bed));

	assert_non_null(bed);
	bed->now_ms = 1000;
	outside_init(&bed->table, &ops, bed, 1);
	outside_start(&bed->table, bed->now_ms, WAIT_MS);
	assert_int_equal(last_of(bed, 1), OUTSIDE_LIST);
	end(bed, 0, 0);
	*state = bed;
	return 0;
}

static int teardown(void **state)
{
	struct bed *bed = *state;

	outside_fini(&bed->table);
	free(bed);
	return 0;
}

/* --- ends --- */

static void requests_that_are_lost_together_are_one_failure(void **state)
{
	struct bed *bed = *state;

	for (uint64_t id = 1; id <= OUTSIDE_IN_FLIGHT; id++)
		want(bed, id);
	for (size_t i = 1; i <= OUTSIDE_IN_FLIGHT; i++)
		end_lost(bed, i);
	assert_int_equal(outside_connection(&bed->table), OUTSIDE_DOWN);
	assert_int_equal(bed->sent_count, 1 + OUTSIDE_IN_FLIGHT);
	advance(bed, 100);
	assert_int_equal(bed->sent_count, 2 + OUTSIDE_IN_FLIGHT);
}

static void probes_are_rarer_and_rarer(void **state)
{
	struct bed *bed = *state;
	size_t before;

	want(bed, 1);
	end_lost(bed, 1);
	for (uint64_t delay_ms = 100; delay_ms < 60000; delay_ms *= 2) {
		before = bed->sent_count;
		advance(bed, delay_ms - 1);
		assert_int_equal(bed->sent_count, before);
		advance(bed, 1);
		assert_int_equal(bed->sent_count, before + 1);
		end_lost(bed, before);
	}
	before = bed->sent_count;
	advance(bed, 60000);
	assert_int_equal(bed->sent_count, before + 1);
}

static void new_configuration_is_tried_at_once(void **state)
{
	struct bed *bed = *state;

	want(bed, 1);
	while (bed->sent_count < 12) {
		end_lost(bed, bed->sent_count - 1);
		advance(bed, 60000);
	}
	end_lost(bed, 11);
	outside_look(&bed->table, bed->now_ms);
	advance(bed, 0);
	assert_int_equal(bed->sent_count, 13);
	end_lost(bed, 12);
	advance(bed, 100);
	assert_int_equal(bed->sent_count, 14);
	end(bed, 13, 0);
	/* And when it is up the list is read again. */
	end(bed, 14, 0);
	outside_look(&bed->table, bed->now_ms);
	advance(bed, 0);
	assert_int_equal(bed->sent[bed->sent_count - 1].verb, OUTSIDE_LIST);
}

static void one_request_that_hangs_is_no_outage(void **state)
{
	struct bed *bed = *state;

	want(bed, 1);
	want(bed, 2);
	end(bed, 2, 0);
	end_lost(bed, 1);
	assert_int_equal(outside_connection(&bed->table), OUTSIDE_UP);
	/* It is tried again, and not at once. */
	assert_int_equal(bed->sent_count, 3);
	advance(bed, WAIT_MS / 2);
	assert_true(bed->sent_count > 3);
	assert_int_equal(bed->sent[3].grant_id, 1);
}

/* The fabric manager never ends the release of grant 1. */
static void release_that_hangs_keeps_nobody_out(void **state)
{
	struct bed *bed = *state;

	size_t drop = 1;

	want(bed, 1);
	end(bed, 1, 0);
	outside_release(&bed->table, 1, bed->now_ms);
	for (int i = 0; i < 10; i++) {
		drop = drop_await(bed, drop + 1);
		bed->now_ms += 10000;
		end_lost(bed, drop);
		assert_int_equal(outside_connection(&bed->table), OUTSIDE_DOWN);
		advance(bed, 100);
		assert_int_equal(last_of(bed, drop + 2), OUTSIDE_LIST);
		end(bed, drop + 1, 0);
		assert_int_equal(outside_connection(&bed->table), OUTSIDE_UP);
	}
	/* Less and less often. */
	assert_true(bed->now_ms > 10 * UINT64_C(60000));
}

/* An outage says nothing of the release that was a probe. */
static void release_that_was_a_probe_follows_the_connection(void **state)
{
	struct bed *bed = *state;
	size_t before;

	want(bed, 1);
	end(bed, 1, 0);
	outside_release(&bed->table, 1, bed->now_ms);
	for (int i = 0; i < 100; i++) {
		end_lost(bed, bed->sent_count - 1);
		before = bed->sent_count;
		advance(bed, 60000);
		assert_int_equal(bed->sent_count, before + 1);
	}
	if (bed->sent[bed->sent_count - 1].verb == OUTSIDE_DROP) {
		end_lost(bed, bed->sent_count - 1);
		advance(bed, 60000);
	}
	assert_int_equal(last_of(bed, before + 2), OUTSIDE_LIST);
	end(bed, before + 1, 0);
	assert_int_equal(last_of(bed, before + 3), OUTSIDE_DROP);
}

static void new_configuration_repeats_all_releases(void **state)
{
	struct bed *bed = *state;

	want(bed, 1);
	end(bed, 1, 0);
	outside_release(&bed->table, 1, bed->now_ms);
	for (size_t drop = 2; bed->now_ms < 600000;
	     drop = drop_await(bed, drop + 1))
		end(bed, drop, -EACCES);
	end(bed, bed->sent_count - 1, -EACCES);
	bed->sent_count = 0;
	outside_look(&bed->table, bed->now_ms);
	advance(bed, 0);
	assert_int_equal(last_of(bed, 2), OUTSIDE_LIST);
	assert_int_equal(bed->sent[0].verb, OUTSIDE_DROP);
}

/* Nor does a list that is too long for the time that it has. */
static void list_that_hangs_keeps_nobody_out(void **state)
{
	struct bed *bed = *state;

	want(bed, 1);
	end_lost(bed, 1);
	advance(bed, 100);
	assert_int_equal(last_of(bed, 3), OUTSIDE_LIST);
	end_lost(bed, 2);
	advance(bed, 200);
	assert_int_equal(last_of(bed, 4), OUTSIDE_MAKE);
	end(bed, 3, 0);
	assert_int_equal(bed->settled_count, 1);
	assert_int_equal(outside_connection(&bed->table), OUTSIDE_UP);
}

/* Each time all that wait are looked through. */
static void releases_of_a_second_are_repeated_together(void **state)
{
	struct bed *bed = *state;

	for (uint64_t id = 1; id <= 10; id++) {
		want(bed, id);
		end(bed, bed->sent_count - 1, 0);
	}
	for (uint64_t id = 1; id <= 10; id++) {
		outside_release(&bed->table, id, bed->now_ms);
		end(bed, bed->sent_count - 1, -EACCES);
		advance(bed, 10);
	}
	bed->sent_count = 0;
	advance(bed, outside_deadline_ms(&bed->table) - bed->now_ms);
	assert_int_equal(bed->sent_count, 10);
}

static void debt_keeps_no_secret(void **state)
{
	struct bed *bed = *state;

	want(bed, 1);
	end(bed, 1, 0);
	assert_non_null(outside_find(&bed->table, 1)->secret);
	outside_release(&bed->table, 1, bed->now_ms);
	assert_null(outside_find(&bed->table, 1)->secret);
}

static void list_is_read_every_few_minutes(void **state)
{
	struct bed *bed = *state;

	advance(bed, 299999);
	assert_int_equal(bed->sent_count, 1);
	advance(bed, 1);
	assert_int_equal(last_of(bed, 2), OUTSIDE_LIST);
}

static void refusal_says_what_went_wrong_last(void **state)
{
	struct bed *bed = *state;

	want(bed, 1);
	end_text(bed, 1, -EAGAIN, true, "it answers 503");
	advance(bed, WAIT_MS);
	assert_int_equal(bed->settled_count, 1);
	assert_non_null(strstr(bed->reason, "2000 ms"));
	assert_non_null(strstr(bed->reason, "it answers 503"));
}

/* A reason is shown as JSON, which has no half characters. */
static void long_reason_is_cut_between_characters(void **state)
{
	struct bed *bed = *state;
	char text[1000] = "x";
	char clean[1000];

	while (strlen(text) < sizeof(text) - 2)
		strcat(text, "\xc3\xa4");
	want(bed, 1);
	end_text(bed, 1, -ENOSPC, true, text);
	text_fit(clean, sizeof(clean), bed->reason);
	assert_string_equal(bed->reason, clean);
	want(bed, 2);
	end_text(bed, 2, -EAGAIN, false, text);
	text_fit(clean, sizeof(clean), bed->table.why);
	assert_string_equal(bed->table.why, clean);
	advance(bed, WAIT_MS);
	text_fit(clean, sizeof(clean), bed->reason);
	assert_string_equal(bed->reason, clean);
	want(bed, 3);
	text_fit(clean, sizeof(clean), bed->reason);
	assert_string_equal(bed->reason, clean);
}

/* What answers, and refuses each release, would fill the journal. */
static void debts_are_bounded(void **state)
{
	struct bed *bed = *state;
	uint64_t id = 0;

	while (bed->table.debt_count < OUTSIDE_DEBTS_MAX) {
		bed->sent_count = 0;
		want(bed, ++id);
		end(bed, 0, -EACCES);
		assert_int_equal(last_of(bed, 2), OUTSIDE_DROP);
		end(bed, 1, -EACCES);
	}
	bed->settled_count = 0;
	want(bed, ++id);
	assert_int_equal(bed->settled_count, 1);
	assert_non_null(strstr(bed->reason, "released"));
	assert_int_equal(bed->table.debt_count, OUTSIDE_DEBTS_MAX);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(requests_that_are_lost_together_are_one_failure),
		TEST(probes_are_rarer_and_rarer),
		TEST(new_configuration_is_tried_at_once),
		TEST(one_request_that_hangs_is_no_outage),
		TEST(release_that_hangs_keeps_nobody_out),
		TEST(release_that_was_a_probe_follows_the_connection),
		TEST(new_configuration_repeats_all_releases),
		TEST(list_that_hangs_keeps_nobody_out),
		TEST(releases_of_a_second_are_repeated_together),
		TEST(debt_keeps_no_secret),
		TEST(list_is_read_every_few_minutes),
		TEST(refusal_says_what_went_wrong_last),
		TEST(long_reason_is_cut_between_characters),
		TEST(debts_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
