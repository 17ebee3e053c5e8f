/* SPDX-License-Identifier: BSD-3-Clause */
/* A ledger that is written out and taken in again is the same. */
#include "lanes/node/guard/ledger.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/rng.h"

static const uint8_t incarnation[INCARNATION_SIZE] = { 1, 2, 3 };

static struct ledger_grant grant_of(uint64_t grant_id)
{
	struct ledger_grant grant = {
		.lane = { .grant_id = grant_id,
			  .uid = 1000,
			  .gid = 1001,
			  .cores = 3,
			  .tasks = 4,
			  .id_count = 2,
			  .ids = { 5, 6 },
			  .options = "vnis=2" },
		.digest = { 7, 8 },
		.driver = "fake",
	};

	snprintf(grant.key, sizeof(grant.key), "s/j%u/0",
		 (unsigned int)grant_id);
	return grant;
}

/* A command of COMMAND_HEADER_SIZE bytes: one without a body. */
static void seal_header(uint64_t epoch, uint64_t life, struct writer *writer)
{
	static const uint8_t seed[KEY_SIZE] = { 9 };
	struct command command = {
		.version = WIRE_VERSION,
		.op = COMMAND_ACK,
		.epoch = epoch,
		.life = life,
	};
	struct command_key key;

	command_key_derive(1, seed, &key);
	assert_int_equal(command_seal(&key, &command, writer), 0);
	assert_int_equal(writer->size, COMMAND_HEADER_SIZE);
	command_key_fini(&key);
}

static int take(struct ledger *ledger, struct writer *batch,
		struct fairlead_error *error)
{
	ssize_t taken;

	assert_int_equal(batch->result, 0);
	taken = journal_records_take(batch->data, batch->size, ledger_take,
				     ledger, error);
	if (taken >= 0)
		assert_int_equal(taken, batch->size);
	writer_fini(batch);
	return taken < 0 ? (int)taken : 0;
}

/* Through bytes, and compared by bytes. */
static void assert_survives(const struct ledger *ledger)
{
	struct writer all = { 0 }, again = { 0 };
	struct ledger copy = { 0 };

	ledger_write_all(&all, ledger);
	assert_int_equal(all.result, 0);
	assert_int_equal(journal_records_take(all.data, all.size, ledger_take,
					      &copy, NULL),
			 all.size);
	ledger_write_all(&again, &copy);
	assert_int_equal(all.size, again.size);
	assert_memory_equal(all.data, again.data, all.size);
	assert_int_equal(copy.next_sequence, ledger->next_sequence);
	assert_int_equal(copy.pending_count, ledger->pending_count);
	assert_int_equal(copy.epoch, ledger->epoch);
	assert_int_equal(copy.life, ledger->life);
	assert_int_equal(copy.floor, ledger->floor);
	assert_int_equal(HASH_COUNT(copy.grants), HASH_COUNT(ledger->grants));
	assert_int_equal(HASH_COUNT(copy.tombstones),
			 HASH_COUNT(ledger->tombstones));
	writer_fini(&all);
	writer_fini(&again);
	ledger_fini(&copy);
}

static void everything_survives(void **state)
{
	const struct fairlead_record record = { .size = 3, .bytes = "abc" };
	struct writer batch = { 0 };
	struct ledger ledger;
	const struct ledger_grant *grant;
	struct ledger_grant applying = grant_of(4);
	struct writer sealed = { 0 };

	ledger_init(&ledger, incarnation, 100);
	assert_survives(&ledger);
	seal_header(9, 8, &sealed);
	ledger_write_epoch(&batch, sealed.data);
	writer_fini(&sealed);
	ledger_write_floor(&batch, 3);
	ledger_write_applying(&batch, &applying);
	applying = grant_of(5);
	ledger_write_applying(&batch, &applying);
	ledger_write_applied(&batch, 5, &record, "warning");
	applying = grant_of(6);
	ledger_write_applying(&batch, &applying);
	ledger_write_applied(&batch, 6, &record, "");
	ledger_write_revoking(&batch, 6, false);
	applying = grant_of(7);
	ledger_write_applying(&batch, &applying);
	ledger_write_revoking(&batch, 7, false);
	ledger_write_tombstone(&batch, 8);
	ledger_write_pending(&batch, 100, 8, 0, "");
	ledger_write_pending(&batch, 101, 7, -EBUSY, "busy");
	assert_int_equal(take(&ledger, &batch, NULL), 0);
	assert_survives(&ledger);
	assert_int_equal(ledger.epoch, 9);
	assert_int_equal(ledger.life, 8);
	grant = ledger_grant(&ledger, 5);
	assert_int_equal(grant->state, GRANT_APPLIED);
	assert_string_equal(grant->text, "warning");
	assert_int_equal(grant->record->size, 3);
	assert_memory_equal(grant->record->bytes, "abc", 3);
	assert_int_equal(grant->lane.uid, 1000);
	assert_int_equal(grant->lane.gid, 1001);
	assert_int_equal(grant->lane.cores, 3);
	assert_int_equal(grant->lane.tasks, 4);
	assert_int_equal(grant->lane.ids[1], 6);
	assert_string_equal(grant->lane.options, "vnis=2");
	assert_string_equal(grant->key, "s/j5/0");
	assert_string_equal(grant->driver, "fake");
	assert_memory_equal(grant->digest, "\7\10", 2);
	ledger_fini(&ledger);
}

static void next_sequence_survives_its_acknowledgement(void **state)
{
	struct writer batch = { 0 };
	struct ledger ledger;

	ledger_init(&ledger, incarnation, 100);
	ledger_write_pending(&batch, 100, 8, 0, "");
	ledger_write_pending(&batch, 101, 9, 0, "");
	ledger_write_acknowledged(&batch, 101);
	assert_int_equal(take(&ledger, &batch, NULL), 0);
	assert_int_equal(ledger.pending_count, 1);
	assert_int_equal(ledger.next_sequence, 102);
	assert_survives(&ledger);
	ledger_fini(&ledger);
}

static void tombstone_that_was_pruned_may_come_again(void **state)
{
	struct writer batch = { 0 };
	struct ledger ledger;

	ledger_init(&ledger, incarnation, 100);
	ledger_write_tombstone(&batch, 8);
	ledger_write_tombstone(&batch, 8);
	ledger_write_floor(&batch, 9);
	ledger_write_tombstone(&batch, 9);
	assert_int_equal(take(&ledger, &batch, NULL), 0);
	assert_true(ledger_has_tombstone(&ledger, 8));
	ledger_prune(&ledger);
	assert_false(ledger_has_tombstone(&ledger, 8));
	assert_true(ledger_has_tombstone(&ledger, 9));
	ledger_fini(&ledger);
}

static void records_that_cannot_follow_are_refused(void **state)
{
	const struct fairlead_record record = { .size = 0 };
	const struct ledger_grant grant = grant_of(4);

	for (int what = 0; what < 7; what++) {
		struct fairlead_error error = { 0 };
		struct writer batch = { 0 };
		struct ledger ledger;

		ledger_init(&ledger, incarnation, 100);
		ledger_write_applying(&batch, &grant);
		assert_int_equal(take(&ledger, &batch, NULL), 0);
		switch (what) {
		case 0:
			ledger_write_applying(&batch, &grant);
			break;
		case 1:
			ledger_write_applied(&batch, 5, &record, "");
			break;
		case 2:
			ledger_write_revoking(&batch, 5, false);
			break;
		case 3:
			ledger_write_revoking(&batch, 4, false);
			ledger_write_revoking(&batch, 4, false);
			break;
		case 4:
			ledger_write_revoking(&batch, 4, false);
			ledger_write_applied(&batch, 4, &record, "");
			break;
		case 5:
			ledger_write_acknowledged(&batch, 7);
			break;
		case 6:
			ledger_write_all(&batch, &ledger);
			break;
		}
		assert_int_equal(take(&ledger, &batch, &error), -EUCLEAN);
		assert_true(strlen(error.text) > 0);
		ledger_fini(&ledger);
	}
}

static void journal_without_an_incarnation_is_refused(void **state)
{
	struct writer batch = { 0 };
	struct ledger ledger = { 0 };

	ledger_write_floor(&batch, 1);
	assert_int_equal(take(&ledger, &batch, NULL), -EUCLEAN);
	ledger_fini(&ledger);
}

static void journal_of_a_later_version_says_so(void **state)
{
	struct fairlead_error error = { 0 };
	struct writer batch = { 0 };
	struct ledger ledger = { 0 };
	size_t at = journal_record_begin(&batch, LEDGER_INCARNATION);

	write_u16(&batch, LEDGER_VERSION + 1);
	write_text(&batch, "something else");
	journal_record_end(&batch, at);
	assert_int_equal(take(&ledger, &batch, &error), -EPROTONOSUPPORT);
	assert_non_null(strstr(error.text, "later version"));
	ledger_fini(&ledger);
}

static void unknown_kind_says_that_it_is_of_a_later_version(void **state)
{
	const uint8_t kinds[] = { 0, LEDGER_FLOOR + 1, 255 };

	for (size_t i = 0; i < sizeof(kinds); i++) {
		struct fairlead_error error = { 0 };
		struct writer batch = { 0 };
		struct ledger ledger;

		ledger_init(&ledger, incarnation, 100);
		journal_record_end(&batch,
				   journal_record_begin(&batch, kinds[i]));
		assert_int_equal(take(&ledger, &batch, &error),
				 -EPROTONOSUPPORT);
		assert_non_null(strstr(error.text, "later version"));
		ledger_fini(&ledger);
	}
}

/* Bodies of random bytes and of cut records: refused or taken, no harm. */
static void malformed_bodies_are_refused(void **state)
{
	const struct ledger_grant grant = grant_of(4);
	struct writer good = { 0 };
	struct sim_rng rng;

	ledger_write_applying(&good, &grant);
	for (size_t size = 0; size < good.size - 4 - 1 - 16; size++) {
		struct reader body = reader_of(good.data + 5, size);
		struct ledger ledger;

		ledger_init(&ledger, incarnation, 100);
		assert_int_equal(ledger_take(&ledger, LEDGER_APPLYING, &body,
					     NULL),
				 -EUCLEAN);
		ledger_fini(&ledger);
	}
	writer_fini(&good);
	sim_rng_init(&rng, 1);
	for (int i = 0; i < 20000; i++) {
		struct ledger ledger;
		uint8_t bytes[200];
		struct reader body =
			reader_of(bytes, sim_rng_below(&rng, sizeof(bytes)));

		for (size_t j = 0; j < sizeof(bytes); j++)
			bytes[j] = (uint8_t)(sim_rng_chance(&rng, 500000)
						     ? 0
						     : sim_rng_u64(&rng));
		ledger_init(&ledger, incarnation, 100);
		(void)ledger_take(&ledger, (uint8_t)sim_rng_below(&rng, 12),
				  &body, NULL);
		ledger_fini(&ledger);
	}
}

static void epoch_of_what_is_no_header_is_refused(void **state)
{
	static const uint8_t header[COMMAND_HEADER_SIZE] = { [12] = 9 };
	struct writer batch = { 0 };
	struct ledger ledger;

	ledger_init(&ledger, incarnation, 100);
	ledger_write_epoch(&batch, header);
	assert_int_equal(take(&ledger, &batch, NULL), -EUCLEAN);
	assert_false(ledger.has_epoch);
	ledger_fini(&ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_survives),
		cmocka_unit_test(next_sequence_survives_its_acknowledgement),
		cmocka_unit_test(tombstone_that_was_pruned_may_come_again),
		cmocka_unit_test(records_that_cannot_follow_are_refused),
		cmocka_unit_test(journal_without_an_incarnation_is_refused),
		cmocka_unit_test(journal_of_a_later_version_says_so),
		cmocka_unit_test(
			unknown_kind_says_that_it_is_of_a_later_version),
		cmocka_unit_test(malformed_bodies_are_refused),
		cmocka_unit_test(epoch_of_what_is_no_header_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
