/* SPDX-License-Identifier: BSD-3-Clause */
/* REVOKE by node-protocol.md, the checks before it, limits and the start. */
#include "lanes/node/guard/core.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <stdio.h>
#include <cmocka.h>

#include "lanes/proto/seal.h"
#include "lanes/node/guard/internal.h"
#include "lanes/node/guard/test/fake.h"

/* --- revoke --- */

static void revoke_takes_lane_and_file_and_leaves_a_tombstone(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(world_apply(world, 8), 0);
	assert_int_equal(world_revoke(world, 7), 0);
	assert_int_equal(world->reply.grants[0].state, 0);
	assert_int_equal(world_object_count(world, 7), 0);
	assert_null(world_file(world, 7));
	assert_int_equal(world_object_count(world, 8), FAKE_DEVICES);
	assert_non_null(world_file(world, 8));
	assert_int_equal(world_revoke(world, 7), 0);
	assert_int_equal(world->reply.pending_count, 0);
}

static void revoke_takes_what_the_record_names_only(void **state)
{
	struct world *world = *state;
	struct fake_object *twin = &world->objects[40];

	assert_int_equal(world_apply(world, 7), 0);
	*twin = *world_object(world, 7);
	twin->object.id = 42;
	assert_int_equal(world_revoke(world, 7), 0);
	assert_true(twin->is_there);
	assert_int_equal(world_objects_total(world), 1);
}

static void revoke_of_an_unknown_grant_takes_what_matches(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	world->disk_size = 0; /* the journal is lost */
	world_restart(world);
	assert_int_equal(world_object_count(world, 7), FAKE_DEVICES);
	assert_int_equal(world_revoke(world, 7), 0);
	assert_int_equal(world_objects_total(world), 0);
	assert_int_equal(world_files_total(world), 0);
	assert_int_equal(world_apply(world, 7), -ESTALE);
}

static void revoke_without_a_key_takes_the_lane_all_the_same(void **state)
{
	struct world *world = *state;
	struct revoke_body body;
	struct writer writer = { 0 };

	assert_int_equal(world_apply(world, 7), 0);
	world->disk_size = 0;
	world_restart(world);
	fake_revoke_body(7, &body);
	body.key[0] = 0;
	assert_int_equal(revoke_body_encode(&body, &writer), 0);
	assert_int_equal(world_command(world, COMMAND_REVOKE, 7, &writer), 0);
	writer_fini(&writer);
	assert_int_equal(world_objects_total(world), 0);
}

static void revoke_below_the_floor_looks_for_what_is_left_too(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	world->disk_size = 0;
	world->floor = 100;
	world_restart(world);
	assert_int_equal(world_revoke(world, 7), 0);
	assert_int_equal(world_objects_total(world), 0);
}

static void revoke_of_an_unknown_grant_spares_another_grants_lane(void **state)
{
	struct world *world = *state;
	struct revoke_body body;
	struct writer writer = { 0 };

	assert_int_equal(world_apply(world, 7), 0);
	fake_revoke_body(7, &body); /* owner and identifiers of grant 7 */
	assert_int_equal(revoke_body_encode(&body, &writer), 0);
	assert_int_equal(world_command(world, COMMAND_REVOKE, 3, &writer), 0);
	writer_fini(&writer);
	assert_int_equal(world_object_count(world, 7), FAKE_DEVICES);
	assert_int_equal(world_apply(world, 3), -ESTALE);
}

static void revoke_of_an_unknown_grant_that_is_busy_is_kept(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	world->disk_size = 0;
	world_restart(world);
	world_object(world, 7)->is_busy = true;
	assert_int_equal(world_revoke(world, 7), -EBUSY);
	world_restart(world);
	assert_int_equal(world_state(world, 7), GRANT_REVOKING);
	world_object(world, 7)->is_busy = false;
	assert_int_equal(world_revoke(world, 7), 0);
	assert_int_equal(world_objects_total(world), 0);
}

static void busy_revoke_names_what_holds_it_and_takes_the_rest(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	world_object(world, 7)->is_busy = true;
	assert_int_equal(world_revoke(world, 7), -EBUSY);
	assert_string_equal(world->confirm.reason,
			    "object 2 on 'dev0' is used by process 77");
	assert_string_equal(world->reply.grants[0].text, world->confirm.reason);
	assert_int_equal(world->reply.grants[0].state, GRANT_REVOKING);
	assert_int_equal(world_object_count(world, 7), 1);
	assert_null(world_file(world, 7));
	assert_int_equal(world->reply.pending_count, 0);
}

static void busy_revoke_is_finished_by_another_one(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	world_object(world, 7)->is_busy = true;
	assert_int_equal(world_revoke(world, 7), -EBUSY);
	assert_int_equal(world_revoke(world, 7), -EBUSY);
	world_restart(world);
	assert_int_equal(world_revoke(world, 7), -EBUSY);
	world_object(world, 7)->is_busy = false;
	assert_int_equal(world_revoke(world, 7), 0);
	assert_int_equal(world_objects_total(world), 0);
}

static void revoke_for_another_node_is_refused(void **state)
{
	struct world *world = *state;
	struct revoke_body body;
	struct writer writer = { 0 };

	assert_int_equal(world_apply(world, 7), 0);
	fake_revoke_body(7, &body);
	body.nodes = "n[2-9]";
	assert_int_equal(revoke_body_encode(&body, &writer), 0);
	assert_int_equal(world_command(world, COMMAND_REVOKE, 7, &writer),
			 -EPERM);
	writer_fini(&writer);
	assert_int_equal(world_state(world, 7), GRANT_APPLIED);
}

static void file_that_cannot_be_removed_keeps_the_grant(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	world->file_error = -EIO;
	assert_int_equal(world_revoke(world, 7), -EIO);
	assert_int_equal(world_state(world, 7), GRANT_REVOKING);
	assert_int_equal(world_objects_total(world), 0);
	world->file_error = 0;
	assert_int_equal(world_revoke(world, 7), 0);
}

/* --- what comes before the state of the grant --- */

static void forged_signature_does_nothing(void **state)
{
	struct world *world = *state;
	struct revoke_body body;
	struct writer writer = { 0 }, bytes;

	assert_int_equal(world_apply(world, 7), 0);
	fake_revoke_body(7, &body);
	assert_int_equal(revoke_body_encode(&body, &writer), 0);
	world->epoch = 9;
	world_seal(world, COMMAND_REVOKE, 7, &writer, &bytes);
	for (size_t at = 0; at < COMMAND_HEADER_SIZE; at++) {
		bytes.data[at] ^= 1;
		assert_true(world_replay(world, bytes.data, bytes.size) < 0);
		assert_false(world->has_confirm);
		assert_int_equal(world->reply.epoch, 1);
		assert_int_equal(world->reply.op, 0);
		bytes.data[at] ^= 1;
	}
	assert_int_equal(world_object_count(world, 7), FAKE_DEVICES);
	assert_int_equal(world_replay(world, bytes.data, bytes.size), 0);
	assert_int_equal(world_objects_total(world), 0);
	writer_fini(&writer);
	writer_fini(&bytes);
}

static void changed_body_does_nothing_and_sets_no_epoch(void **state)
{
	struct world *world = *state;
	struct apply_body body;
	struct writer writer = { 0 }, bytes;

	fake_apply_body(7, "n1", &body);
	assert_int_equal(apply_body_encode(&body, &writer), 0);
	world->epoch = 9;
	world_seal(world, COMMAND_APPLY, 7, &writer, &bytes);
	bytes.data[bytes.size - 5] ^= 1;
	assert_int_equal(world_replay(world, bytes.data, bytes.size), -EBADMSG);
	assert_false(world->has_confirm);
	assert_int_equal(world->reply.epoch, 1);
	writer_fini(&writer);
	writer_fini(&bytes);
}

static void lower_epoch_is_refused_also_after_a_restart(void **state)
{
	struct world *world = *state;

	world->epoch = 5;
	world_greet(world);
	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(world->reply.epoch, 5);
	for (int i = 0; i < 2; i++) {
		world->epoch = 4;
		assert_int_equal(world_apply(world, 8), -ESTALE);
		assert_non_null(strstr(world->reply.text, "higher epoch"));
		assert_int_equal(world_revoke(world, 7), -ESTALE);
		assert_int_equal(world->reply.epoch, 5);
		assert_int_equal(world->confirm.epoch, 4);
		assert_int_equal(world_state(world, 7), GRANT_APPLIED);
		world->epoch = 5;
		world_restart(world);
	}
	world->epoch = 6;
	assert_int_equal(world_revoke(world, 7), 0);
	assert_int_equal(world->reply.epoch, 6);
}

static void another_life_of_the_same_epoch_is_refused(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	for (int i = 0; i < 2; i++) {
		world->life = 78;
		assert_int_equal(world_revoke(world, 7), -ESTALE);
		world->life = 77;
		assert_int_equal(world_apply(world, 7), 0);
		world_restart(world);
	}
}

/* The id of the key that verifies the proof that a registration gives. */
static uint32_t proof_key_id(const struct world *world)
{
	struct command proof = { .key_id = 0 };

	assert_int_equal(
		command_proof_verify(world->guard->ledger.header,
				     COMMAND_HEADER_SIZE, world->keys.commands,
				     world->keys.command_count, &proof),
		0);
	assert_int_equal(proof.epoch, world->epoch);
	assert_int_equal(proof.life, world->life);
	return proof.key_id;
}

static void epoch_proof_is_signed_with_the_newest_key_seen(void **state)
{
	static const uint8_t seed[KEY_SIZE] = { 6 };
	struct world *world = *state;
	struct command_key old = world->command_key;

	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(proof_key_id(world), 5);
	command_key_derive(6, seed, &world->command_key);
	command_public_derive(6, seed, &world->keys.commands[1]);
	world->keys.command_count = 2;
	assert_int_equal(world_request(world, GUARD_RELOAD, 0), 0);
	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(proof_key_id(world), 6);
	world->command_key = old;
	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(proof_key_id(world), 6);
	world_restart(world);
	assert_int_equal(proof_key_id(world), 6);
}

static void epoch_that_cannot_be_stored_is_not_obeyed(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	world->epoch = 2;
	world->write_error = -ENOSPC;
	assert_int_equal(world_revoke(world, 7), -ENOSPC);
	assert_int_equal(world->reply.epoch, 1);
	assert_int_equal(world_object_count(world, 7), FAKE_DEVICES);
	world->write_error = 0;
	assert_int_equal(world_revoke(world, 7), 0);
	assert_int_equal(world->reply.epoch, 2);
}

static void apply_from_before_the_registration_is_too_early(void **state)
{
	struct world *world = *state;
	struct apply_body body;
	struct registration registration;
	struct writer writer = { 0 }, bytes;
	struct guard_request request = { .type = GUARD_REGISTER };

	fake_apply_body(7, "n[0-1]", &body);
	assert_int_equal(apply_body_encode(&body, &writer), 0);
	world_seal(world, COMMAND_APPLY, 7, &writer, &bytes);
	world->incarnation[0]++;
	world_stop(world);
	assert_int_equal(world_start(world, NULL), 0);
	/* Before any registration, */
	assert_int_equal(world_replay(world, bytes.data, bytes.size),
			 -ENOTCONN);
	/* between it and its HELLO, */
	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(world_replay(world, bytes.data, bytes.size),
			 -ENOTCONN);
	/* and after that. */
	assert_int_equal(world_register(world, &registration), 0);
	registration_fini(&registration);
	assert_int_equal(world_replay(world, bytes.data, bytes.size),
			 -ENOTCONN);
	assert_non_null(strstr(world->reply.text, "before"));
	assert_int_equal(world_objects_total(world), 0);
	assert_int_equal(world_command(world, COMMAND_APPLY, 7, &writer), 0);
	/* Also one that is made now, when a registration is on its way. */
	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(world_command(world, COMMAND_APPLY, 7, &writer),
			 -ENOTCONN);
	writer_fini(&writer);
	writer_fini(&bytes);
}

static void apply_of_a_manager_that_did_not_greet_is_too_early(void **state)
{
	struct world *world = *state;

	world->epoch = 2;
	world->life = 80;
	assert_int_equal(world_apply(world, 7), -ENOTCONN);
	world_greet(world);
	assert_int_equal(world_apply(world, 7), 0);
}

/* --- limits --- */

static void tombstones_have_a_limit_and_the_floor_frees_them(void **state)
{
	struct world *world = *state;
	struct ledger *ledger = &world->guard->ledger;
	struct writer batch;

	assert_int_equal(world_apply(world, 10), 0);
	batch_begin(world->guard, &batch);
	for (uint64_t id = 100; id < 100 + LEDGER_TOMBSTONES_MAX - 1; id++)
		ledger_write_tombstone(&batch, id);
	assert_int_equal(batch_commit(world->guard, &batch), 0);
	assert_false(ledger_has_capacity(ledger));
	assert_int_equal(world_apply(world, 11), -ENOSPC);
	assert_int_equal(world_revoke(world, 12), -ENOSPC);
	/* A grant that is here has its tombstone's place. */
	assert_int_equal(world_revoke(world, 10), 0);
	assert_int_equal(world_apply(world, 11), -ENOSPC);
	world->floor = 101;
	assert_int_equal(world_apply(world, 200), -ESTALE);
	assert_int_equal(world_revoke(world, 12), 0);
	assert_int_equal(world_apply(world, 100), -ESTALE);
	world_restart(world);
	assert_int_equal(world_apply(world, 100), -ESTALE);
}

/* Grants are small here: they have no lane on the hardware. */
static void fill_grants(struct world *world, uint64_t first, size_t count)
{
	struct writer batch;
	struct ledger_grant grant = { .driver = "fake" };

	batch_begin(world->guard, &batch);
	for (size_t i = 0; i < count; i++) {
		grant.lane.grant_id = first + i;
		snprintf(grant.key, sizeof(grant.key), "slurm/F%zu/0", i);
		ledger_write_applying(&batch, &grant);
		ledger_write_revoking(&batch, grant.lane.grant_id, false);
	}
	assert_int_equal(batch_commit(world->guard, &batch), 0);
}

static void grants_and_pending_confirmations_have_a_limit(void **state)
{
	struct world *world = *state;
	uint64_t sequence;

	fill_grants(world, 1000, LEDGER_GRANTS_MAX - 1);
	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(world_apply(world, 8), -ENOSPC);
	assert_int_equal(world_request(world, GUARD_REVOKE, 1000), 0);
	assert_int_equal(world->reply.pending_count, 1);
	assert_int_equal(world_apply(world, 8), -ENOSPC);
	world_request(world, GUARD_PENDING, 0);
	sequence = world->reply.sequence;
	assert_int_equal(world_ack(world, sequence), 0);
	assert_int_equal(world_apply(world, 8), 0);
}

static void grants_are_shown_in_pages(void **state)
{
	struct world *world = *state;
	uint64_t after = 0;
	size_t count = 0;

	fill_grants(world, 1000, 2 * GUARD_PAGE_MAX + 1);
	do {
		assert_int_equal(world_request(world, GUARD_GRANTS, after), 0);
		for (size_t i = 0; i < world->reply.grant_count; i++) {
			after = world->reply.grants[i].grant_id;
			assert_int_equal(after, 1000 + count++);
		}
	} while (world->reply.has_more);
	assert_int_equal(count, 2 * GUARD_PAGE_MAX + 1);
}

/* --- beginning --- */

static void journal_of_another_incarnation_is_moved_aside(void **state)
{
	struct world *world = *state;

	world->epoch = 5;
	world_greet(world);
	assert_int_equal(world_apply(world, 7), 0);
	for (size_t i = 0; i < FAKE_OBJECTS_MAX; i++)
		world->objects[i].is_there = false; /* as a boot does */
	world->incarnation[0]++;
	world_restart(world);
	assert_int_equal(world->aside_count, 1);
	assert_int_equal(world_files_total(world), 0);
	assert_int_equal(world_state(world, 7), 0);
	world_restart(world);
	assert_int_equal(world->aside_count, 1);
}

static void damaged_journal_of_this_incarnation_stops_the_start(void **state)
{
	struct world *world = *state;
	struct fairlead_error error;

	assert_int_equal(world_apply(world, 7), 0);
	world->disk[40] ^= 1;
	world_stop(world);
	assert_int_equal(world_start(world, &error), -EUCLEAN);
	assert_non_null(strstr(error.text, "'/run/fake/journal': the journal "
					   "was damaged"));
	world->disk[40] ^= 1;
	world_restart(world);
	assert_int_equal(world_state(world, 7), GRANT_APPLIED);
}

static void key_file_of_another_node_stops_the_start(void **state)
{
	struct world *world = *state;
	struct fairlead_error error;

	strcpy(world->keys.name, "n2");
	world_stop(world);
	assert_int_equal(world_start(world, &error), -EINVAL);
	assert_non_null(strstr(error.text, "'n2'"));
}

static void reload_takes_new_keys_or_keeps_the_old(void **state)
{
	struct world *world = *state;
	uint8_t seed[KEY_SIZE] = { 1 };

	world->keys_error = -EACCES;
	assert_int_equal(world_request(world, GUARD_RELOAD, 0), -EACCES);
	assert_string_equal(world->reply.text, "the key file cannot be read");
	assert_int_equal(world_apply(world, 7), 0);
	world->keys_error = 0;
	command_key_derive(6, seed, &world->command_key);
	assert_int_equal(world_request(world, GUARD_RELOAD, 0), 0);
	command_public_derive(6, seed, &world->keys.commands[1]);
	world->keys.command_count = 2;
	assert_int_equal(world_request(world, GUARD_RELOAD, 0), 0);
	assert_int_equal(world->reply.key_count, 2);
	assert_int_equal(world->reply.key_ids[1], 6);
	assert_int_equal(world_revoke(world, 7), 0);
}

static void reload_of_another_nodes_keys_keeps_the_old(void **state)
{
	struct world *world = *state;

	strcpy(world->keys.name, "n2");
	assert_int_equal(world_request(world, GUARD_RELOAD, 0), -EINVAL);
	strcpy(world->keys.name, FAKE_NODE);
	assert_int_equal(world_apply(world, 7), 0);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(revoke_takes_lane_and_file_and_leaves_a_tombstone),
		TEST(revoke_takes_what_the_record_names_only),
		TEST(revoke_of_an_unknown_grant_takes_what_matches),
		TEST(revoke_without_a_key_takes_the_lane_all_the_same),
		TEST(revoke_below_the_floor_looks_for_what_is_left_too),
		TEST(revoke_of_an_unknown_grant_spares_another_grants_lane),
		TEST(revoke_of_an_unknown_grant_that_is_busy_is_kept),
		TEST(busy_revoke_names_what_holds_it_and_takes_the_rest),
		TEST(busy_revoke_is_finished_by_another_one),
		TEST(revoke_for_another_node_is_refused),
		TEST(file_that_cannot_be_removed_keeps_the_grant),
		TEST(forged_signature_does_nothing),
		TEST(changed_body_does_nothing_and_sets_no_epoch),
		TEST(lower_epoch_is_refused_also_after_a_restart),
		TEST(another_life_of_the_same_epoch_is_refused),
		TEST(epoch_proof_is_signed_with_the_newest_key_seen),
		TEST(epoch_that_cannot_be_stored_is_not_obeyed),
		TEST(apply_from_before_the_registration_is_too_early),
		TEST(apply_of_a_manager_that_did_not_greet_is_too_early),
		TEST(tombstones_have_a_limit_and_the_floor_frees_them),
		TEST(grants_and_pending_confirmations_have_a_limit),
		TEST(grants_are_shown_in_pages),
		TEST(journal_of_another_incarnation_is_moved_aside),
		TEST(damaged_journal_of_this_incarnation_stops_the_start),
		TEST(key_file_of_another_node_stops_the_start),
		TEST(reload_takes_new_keys_or_keeps_the_old),
		TEST(reload_of_another_nodes_keys_keeps_the_old),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
