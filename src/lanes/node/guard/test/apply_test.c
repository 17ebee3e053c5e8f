/* SPDX-License-Identifier: BSD-3-Clause */
/* APPLY: its row of node-protocol.md. */
#include "lanes/node/guard/core.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/hostlist.h"
#include "lanes/proto/seal.h"
#include "lanes/node/guard/internal.h"
#include "lanes/node/guard/test/fake.h"

static void apply_makes_the_lane_and_its_environment_file(void **state)
{
	struct world *world = *state;
	const struct fake_file *file;

	assert_int_equal(world_apply(world, 7), 0);
	assert_string_equal(world->confirm.reason, "scaled back");
	assert_int_equal(world->confirm.op, COMMAND_APPLY);
	assert_int_equal(world->confirm.sequence, world->sequence);
	assert_int_equal(world->confirm.epoch, 1);
	assert_int_equal(world->confirm.life, 77);
	assert_int_equal(world_object_count(world, 7), FAKE_DEVICES);
	assert_int_equal(world_state(world, 7), GRANT_APPLIED);
	file = world_file(world, 7);
	assert_non_null(file);
	assert_int_equal(file->uid, 1007);
	assert_int_equal(file->gid, 3007);
	assert_string_equal(file->content,
			    "FAKE_ID=2007\nFAKE_OBJECT=2\nFAKE_OLD\n");
}

static void apply_gives_the_lane_this_nodes_share(void **state)
{
	struct world *world = *state;
	const struct ledger_grant *grant;

	assert_int_equal(world_apply(world, 7), 0);
	grant = ledger_grant(&world->guard->ledger, 7);
	assert_int_equal(grant->lane.cores, 8); /* the second of n[0-1] */
	assert_int_equal(grant->lane.tasks, 2);
	assert_int_equal(grant->lane.uid, 1007);
	assert_int_equal(grant->lane.gid, 3007);
}

static int apply_changed(struct world *world, uint64_t grant_id,
			 void (*change)(struct apply_body *body))
{
	struct writer writer = { 0 };
	struct apply_body body;
	int result;

	fake_apply_body(grant_id, "n[0-1]", &body);
	change(&body);
	assert_int_equal(apply_body_encode(&body, &writer), 0);
	result = world_command(world, COMMAND_APPLY, grant_id, &writer);
	writer_fini(&writer);
	assert_true(world->has_confirm);
	return result;
}

static void with_members(struct apply_body *body)
{
	body->members = (const uint8_t *)"members";
	body->members_size = 7;
}

static void apply_gives_the_driver_the_members_and_its_index(void **state)
{
	struct world *world = *state;
	const struct fairlead_lane *lane;

	assert_int_equal(apply_changed(world, 7, with_members), 0);
	assert_int_equal(world->apply_index, 1); /* the second of n[0-1] */
	assert_string_equal(world->apply_job, "J7");
	assert_int_equal(world->apply_node_count, 2);
	assert_int_equal(world->apply_members_size, 7);
	assert_memory_equal(world->apply_members, "members", 7);
	/* They are not the grant's to keep. */
	lane = &ledger_grant(&world->guard->ledger, 7)->lane;
	assert_null(lane->members);
	assert_int_equal(lane->members_size, 0);
	assert_int_equal(lane->node_count, 0);
	/* Without any there is no pointer to nothing. */
	assert_int_equal(world_apply(world, 8), 0);
	assert_int_equal(world->apply_members_size, 0);
	assert_int_equal(world->apply_node_count, 2);
}

static void malformed_host_list(struct apply_body *body)
{
	body->nodes = "n[0-1],n[";
}

static void apply_with_a_malformed_host_list_is_refused(void **state)
{
	struct world *world = *state;

	assert_int_equal(apply_changed(world, 7, malformed_host_list), -EINVAL);
	assert_int_equal(world_state(world, 7), 0);
}

static void doubled_apply_gets_the_same_answer_and_does_nothing(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(world_apply(world, 7), 0);
	assert_string_equal(world->confirm.reason, "scaled back");
	assert_int_equal(world->applies[7], 1);
	world_restart(world);
	assert_int_equal(world_apply(world, 7), 0);
	assert_string_equal(world->confirm.reason, "scaled back");
	assert_int_equal(world->applies[7], 1);
}

static void another_owner(struct apply_body *body)
{
	body->uid++;
}

static void other_nodes(struct apply_body *body)
{
	body->nodes = "n[2-3],n10";
}

static void other_driver(struct apply_body *body)
{
	strcpy(body->driver, "elan3");
}

static void too_few_cores(struct apply_body *body)
{
	body->nodes = "n0,n2,n1";
}

static struct writer sealed; /* for with_secrets */

static void with_secrets(struct apply_body *body)
{
	body->sealed = sealed.data;
	body->sealed_size = sealed.size;
}

static void with_secrets_of_another_driver(struct apply_body *body)
{
	with_secrets(body);
	strcpy(body->driver, "elan3");
}

static void with_damaged_secrets(struct apply_body *body)
{
	body->sealed = (const uint8_t *)"secret";
	body->sealed_size = 6;
}

/* As the manager would. */
static void seal_to(struct world *world, uint64_t grant_id,
		    const char *const *nodes, size_t count, const void *secret,
		    size_t size)
{
	struct rng_seam rng = sim_rng_seam(&world->rng);

	writer_fini(&sealed);
	assert_int_equal(seal_make(&rng, &world->master, grant_id, nodes, count,
				   secret, size, &sealed),
			 0);
}

/* For a grant of two nodes. */
static void seal(struct world *world, uint64_t grant_id, const char *other)
{
	const char *nodes[] = { other, FAKE_NODE };

	seal_to(world, grant_id, nodes, 2, "capability", 10);
}

static void apply_with_another_content_is_refused(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(apply_changed(world, 7, another_owner), -EEXIST);
	assert_int_equal(world->applies[7], 1);
	assert_int_equal(world_state(world, 7), GRANT_APPLIED);
}

static void apply_below_the_floor_is_stale(void **state)
{
	struct world *world = *state;

	world->floor = 8;
	assert_int_equal(world_apply(world, 7), -ESTALE);
	assert_int_equal(world_objects_total(world), 0);
	assert_int_equal(world_apply(world, 8), 0);
	/* The floor does not fall. */
	world->floor = 0;
	assert_int_equal(world_apply(world, 7), -ESTALE);
	world_restart(world);
	assert_int_equal(world_apply(world, 7), -ESTALE);
}

static void grant_that_is_here_may_be_below_the_floor(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	world->floor = 100;
	assert_int_equal(world_apply(world, 7), 0);
}

static void apply_after_a_revoke_is_stale(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(world_revoke(world, 7), 0);
	assert_int_equal(world_apply(world, 7), -ESTALE);
	world_restart(world);
	assert_int_equal(world_apply(world, 7), -ESTALE);
	assert_int_equal(world->applies[7], 1);
}

static void apply_of_a_grant_that_is_being_revoked_is_stale(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_apply(world, 7), 0);
	world_object(world, 7)->is_busy = true;
	assert_int_equal(world_revoke(world, 7), -EBUSY);
	assert_int_equal(world_apply(world, 7), -ESTALE);
	world_restart(world);
	assert_int_equal(world_apply(world, 7), -ESTALE);
}

static void apply_that_overtook_its_revoke_stays_revoked(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_revoke(world, 7), 0);
	assert_int_equal(world_apply(world, 7), -ESTALE);
	assert_int_equal(world->applies[7], 0);
}

static void apply_for_another_node_is_refused(void **state)
{
	struct world *world = *state;

	assert_int_equal(apply_changed(world, 7, other_nodes), -EPERM);
	assert_int_equal(world_state(world, 7), 0);
	assert_int_equal(world_apply(world, 7), 0);
}

static void apply_without_this_nodes_cores_is_refused(void **state)
{
	struct world *world = *state;

	assert_int_equal(apply_changed(world, 7, too_few_cores), -EINVAL);
}

static void apply_gives_the_driver_its_secrets_and_forgets_them(void **state)
{
	struct world *world = *state;
	const struct fairlead_lane *lane;

	seal(world, 7, "n0");
	assert_int_equal(apply_changed(world, 7, with_secrets), 0);
	assert_int_equal(world->apply_secrets_size, 10);
	assert_memory_equal(world->apply_secrets, "capability", 10);
	lane = &ledger_grant(&world->guard->ledger, 7)->lane;
	assert_null(lane->secrets);
	assert_int_equal(lane->secrets_size, 0);
	assert_null(memmem(world->disk, world->disk_size, "capability", 10));
	/* Doubled it is what it was. */
	assert_int_equal(apply_changed(world, 7, with_secrets), 0);
	assert_int_equal(world->applies[7], 1);
	/* Without any there is no pointer to nothing. */
	assert_int_equal(world_apply(world, 8), 0);
	assert_int_equal(world->apply_secrets_size, 0);
	writer_fini(&sealed);
}

static void apply_with_secrets_for_others_is_refused(void **state)
{
	struct world *world = *state;

	seal(world, 8, "n0"); /* of another grant */
	assert_int_equal(apply_changed(world, 7, with_secrets), -EKEYREJECTED);
	assert_int_equal(apply_changed(world, 7, with_damaged_secrets),
			 -EBADMSG);
	assert_int_equal(world->applies[7], 0);
	assert_int_equal(world_state(world, 7), 0);
	writer_fini(&sealed);
}

static void apply_with_secrets_that_no_driver_takes_is_refused(void **state)
{
	struct world *world = *state;

	seal(world, 7, "n0");
	assert_int_equal(apply_changed(world, 7,
				       with_secrets_of_another_driver),
			 -EOPNOTSUPP);
	assert_int_equal(world_state(world, 7), 0);
	writer_fini(&sealed);
}

/* The largest job there is, in which we are the last one. */
#define LARGEST "n0,n[2-65535]," FAKE_NODE

static void of_the_largest_job(struct apply_body *body)
{
	with_secrets(body);
	body->nodes = LARGEST;
	body->cores = "4";
}

static void of_a_larger_job(struct apply_body *body)
{
	of_the_largest_job(body);
	body->nodes = LARGEST ",n65536";
}

static void seal_to_the_largest_job(struct world *world, const uint8_t *secret,
				    size_t size)
{
	struct hostlist *list;

	assert_int_equal(hostlist_parse(LARGEST, &list, NULL), 0);
	assert_int_equal(list->count, HOSTLIST_COUNT_MAX);
	seal_to(world, 7, (const char *const *)list->names, list->count, secret,
		size);
	hostlist_destroy(list);
}

static void apply_of_the_largest_job_has_its_secrets(void **state)
{
	uint8_t secret[FAIRLEAD_OUTSIDE_SECRET_MAX];
	struct world *world = *state;

	memset(secret, 's', sizeof(secret));
	seal_to_the_largest_job(world, secret, sizeof(secret));
	assert_int_equal(apply_changed(world, 7, of_a_larger_job), -EINVAL);
	assert_int_equal(world->applies[7], 0);
	assert_int_equal(apply_changed(world, 7, of_the_largest_job), 0);
	assert_int_equal(world->apply_index, HOSTLIST_COUNT_MAX - 1);
	assert_int_equal(world->apply_node_count, HOSTLIST_COUNT_MAX);
	assert_int_equal(world->apply_secrets_size, sizeof(secret));
	assert_memory_equal(world->apply_secrets, secret, sizeof(secret));
	writer_fini(&sealed);
}

#define SLOTS     (1 + 4 + 24 + 4) /* where the wrapped keys begin */
#define SLOT_SIZE 48

static int ask_with_keys(struct world *world,
			 const struct guard_request *request, uint8_t *keys,
			 const uint8_t *first, const uint8_t *second)
{
	memcpy(keys, first, SLOT_SIZE);
	memcpy(keys + SLOT_SIZE, second, SLOT_SIZE);
	return world_ask(world, request);
}

/* A relay or the agent has no other keys to put there than the job's own. */
static void apply_with_wrapped_keys_moved_on_the_way_is_none(void **state)
{
	struct world *world = *state;
	struct writer part = { 0 }, bytes = { 0 };
	struct guard_request request = { .type = GUARD_COMMAND };
	struct command command = { .version = WIRE_VERSION,
				   .op = COMMAND_APPLY,
				   .epoch = world->epoch,
				   .life = world->life,
				   .grant_id = 7 };
	struct apply_body body;
	const uint8_t *own, *other;
	uint8_t *keys;

	command.sequence = ++world->sequence;
	seal(world, 7, "n0");
	fake_apply_body(7, "n[0-1]", &body);
	with_secrets(&body);
	assert_int_equal(apply_body_encode(&body, &part), 0);
	command.body = part.data;
	command.body_size = part.size;
	assert_int_equal(command_seal(&world->command_key, &command, &bytes),
			 0);
	keys = memmem(bytes.data, bytes.size, sealed.data, sealed.size);
	assert_non_null(keys);
	keys += SLOTS;
	own = sealed.data + SLOTS + SLOT_SIZE;
	other = sealed.data + SLOTS;
	request.bytes = bytes.data;
	request.size = bytes.size;
	/* Swapped, each of them twice, and one that is cut off. */
	assert_int_equal(ask_with_keys(world, &request, keys, own, other),
			 -EBADMSG);
	assert_int_equal(ask_with_keys(world, &request, keys, own, own),
			 -EBADMSG);
	assert_int_equal(ask_with_keys(world, &request, keys, other, other),
			 -EBADMSG);
	request.size -= SLOT_SIZE;
	assert_int_equal(ask_with_keys(world, &request, keys, other, own),
			 -EBADMSG);
	assert_false(world->has_confirm);
	assert_int_equal(world_state(world, 7), 0);
	/* As it was it is obeyed. */
	request.size = bytes.size;
	assert_int_equal(ask_with_keys(world, &request, keys, other, own), 0);
	assert_int_equal(world->applies[7], 1);
	writer_fini(&part);
	writer_fini(&bytes);
	writer_fini(&sealed);
}

static void apply_of_an_unknown_driver_leaves_a_tombstone(void **state)
{
	struct world *world = *state;

	assert_int_equal(apply_changed(world, 7, other_driver), -ENODEV);
	assert_non_null(strstr(world->confirm.reason, "'elan3'"));
	assert_int_equal(world_apply(world, 7), -ESTALE);
}

static void apply_with_a_closed_driver_says_why(void **state)
{
	struct world *world = *state;

	world->driver_is_shut = true;
	world_restart(world);
	assert_int_equal(world_apply(world, 7), -ENODEV);
	assert_non_null(strstr(world->confirm.reason, "library not found"));
	assert_int_equal(world_revoke(world, 7), 0);
}

static void failed_apply_leaves_a_tombstone_and_nothing_else(void **state)
{
	struct world *world = *state;

	world->apply_error = -ENOSPC;
	assert_int_equal(world_apply(world, 7), -ENOSPC);
	assert_string_equal(world->confirm.reason, "no room on dev0");
	world->apply_error = 0;
	assert_int_equal(world_objects_total(world), 0);
	assert_int_equal(world_files_total(world), 0);
	assert_int_equal(world_apply(world, 7), -ESTALE);
	assert_int_equal(world_revoke(world, 7), 0);
}

static void apply_that_cannot_be_undone_is_being_revoked(void **state)
{
	struct world *world = *state;

	world->apply_error = -ENOSPC;
	world->apply_leaves = FAKE_LEAVES_BUSY;
	assert_int_equal(world_apply(world, 7), -ENOSPC);
	assert_int_equal(world->reply.grants[0].state, GRANT_REVOKING);
	world->apply_error = 0;
	assert_int_equal(world_apply(world, 7), -ESTALE);
	world_object(world, 7)->is_busy = false;
	assert_int_equal(world_request(world, GUARD_REVOKE, 7), 0);
	assert_int_equal(world_objects_total(world), 0);
	assert_int_equal(world->reply.pending_count, 1);
}

static void what_a_failed_apply_has_left_is_taken(void **state)
{
	struct world *world = *state;

	world->apply_error = -ENOSPC;
	world->apply_leaves = FAKE_LEAVES;
	assert_int_equal(world_apply(world, 7), -ENOSPC);
	assert_int_equal(world_objects_total(world), 0);
	assert_int_equal(world_state(world, 7), 0);
}

static void apply_whose_file_cannot_be_written_is_undone(void **state)
{
	struct world *world = *state;

	world->file_error = -ENOSPC;
	assert_int_equal(world_apply(world, 7), -ENOSPC);
	assert_non_null(strstr(world->confirm.reason, "environment file"));
	assert_int_equal(world_objects_total(world), 0);
	world->file_error = 0;
	assert_int_equal(world_request(world, GUARD_REVOKE, 7), 0);
	assert_int_equal(world_apply(world, 7), -ESTALE);
}

static void epoch_comes_before_the_name_and_the_name_before_the_state(
	void **state)
{
	struct world *world = *state;

	world->epoch = 5;
	world_greet(world);
	assert_int_equal(world_apply(world, 7), 0);
	world->epoch = 4;
	assert_int_equal(apply_changed(world, 7, other_nodes), -ESTALE);
	world->epoch = 5;
	assert_int_equal(world_revoke(world, 7), 0);
	assert_int_equal(apply_changed(world, 7, other_nodes), -EPERM);
	assert_int_equal(world_apply(world, 7), -ESTALE);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(apply_makes_the_lane_and_its_environment_file),
		TEST(apply_gives_the_lane_this_nodes_share),
		TEST(apply_gives_the_driver_the_members_and_its_index),
		TEST(apply_with_a_malformed_host_list_is_refused),
		TEST(doubled_apply_gets_the_same_answer_and_does_nothing),
		TEST(apply_with_another_content_is_refused),
		TEST(apply_below_the_floor_is_stale),
		TEST(grant_that_is_here_may_be_below_the_floor),
		TEST(apply_after_a_revoke_is_stale),
		TEST(apply_of_a_grant_that_is_being_revoked_is_stale),
		TEST(apply_that_overtook_its_revoke_stays_revoked),
		TEST(apply_for_another_node_is_refused),
		TEST(apply_without_this_nodes_cores_is_refused),
		TEST(apply_gives_the_driver_its_secrets_and_forgets_them),
		TEST(apply_with_secrets_for_others_is_refused),
		TEST(apply_with_secrets_that_no_driver_takes_is_refused),
		TEST(apply_of_the_largest_job_has_its_secrets),
		TEST(apply_with_wrapped_keys_moved_on_the_way_is_none),
		TEST(apply_of_an_unknown_driver_leaves_a_tombstone),
		TEST(apply_with_a_closed_driver_says_why),
		TEST(failed_apply_leaves_a_tombstone_and_nothing_else),
		TEST(apply_that_cannot_be_undone_is_being_revoked),
		TEST(what_a_failed_apply_has_left_is_taken),
		TEST(apply_whose_file_cannot_be_written_is_undone),
		TEST(epoch_comes_before_the_name_and_the_name_before_the_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
