/* SPDX-License-Identifier: BSD-3-Clause */
/* What a registration proves, and what it only says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanes/manager/core/test/fixture.h"

/* A registration of n0, and the error's text. */
static int try_register(struct fixture *f,
			const struct core_registration *registration,
			struct fairlead_error *error)
{
	memset(error, 0, sizeof(*error));
	return core_register(f->core, registration, error);
}

static void an_unknown_node_is_refused(void **state)
{
	struct fixture *f = *state;
	struct core_registration registration = { .node = "n10",
						  .version = "1" };
	struct fairlead_error error;

	assert_int_equal(try_register(f, &registration, &error), -ENOENT);
	assert_contains(error.text, "'n10'");
}

static void where_a_node_is_outlives_a_restart(void **state)
{
	static const uint8_t address[] = { 10, 0, 0, 1 };
	struct fixture *f = *state;
	struct core_registration registration = {
		.node = "n1",
		.incarnation = { 7 },
		.address = address,
		.address_size = sizeof(address),
	};
	struct core_node_endpoint endpoint;
	struct fairlead_error error;
	uint32_t cursor = 0;

	assert_int_equal(try_register(f, &registration, &error), 0);
	fixture_restart(f);
	assert_int_equal(core_node_endpoint_next(f->core, &cursor, &endpoint),
			 1);
	assert_string_equal(endpoint.name, "n1");
	assert_int_equal(endpoint.address_size, sizeof(address));
	assert_memory_equal(endpoint.address, address, sizeof(address));
	assert_int_equal(endpoint.incarnation[0], 7);
	assert_int_equal(core_node_endpoint_next(f->core, &cursor, &endpoint),
			 0);
	assert_true(core_node_endpoint(f->core, "n1", &endpoint));
	assert_false(core_node_endpoint(f->core, "n0", &endpoint));
	assert_false(core_node_endpoint(f->core, "n10", &endpoint));
}

static void a_boot_fences_what_the_node_held(void **state)
{
	struct fixture *f = *state;
	json_t *confirmed;
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	core_node_lost(f->core, "n1");
	release_id(f, id);
	answer_all(f, open_fanout(f), 0, "");
	assert_string_equal(vnis(f, "quarantined"), "1024");
	node_boot(f, "n1");
	node_up(f, "n1");
	assert_true(is_gone(f, id));
	confirmed = event(f, id, "confirm");
	assert_string_equal(
		json_string_value(json_object_get(confirmed, "how")), "fenced");
	assert_string_equal(
		json_string_value(json_object_get(confirmed, "nodes")), "n1");
	json_decref(confirmed);
	assert_int_equal(open_fanouts(f), 0);
}

static void the_same_boot_fences_nothing(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 1);
	id = active(f, "slurm/1/0", "n0", "");
	core_node_lost(f->core, "n0");
	release_id(f, id);
	/* It reports nothing, which proves nothing: it is asked again. */
	node_up(f, "n0");
	assert_string_equal(vnis(f, "quarantined"), "1024");
	assert_int_equal(open_fanout(f)->op, CORE_FANOUT_REVOKE);
	assert_int_equal(open_fanout(f)->lane.grant_id, id);
	assert_int_equal(open_fanout(f)->lane.ids[0], 1024);
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
}

static void death_and_time_free_nothing(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 1);
	id = active(f, "slurm/1/0", "n0", "");
	core_node_lost(f->core, "n0");
	release_id(f, id);
	fixture_advance(f, 1000u * 3600 * 24 * 365);
	fixture_restart(f);
	fixture_advance(f, 1000u * 3600 * 24 * 365);
	assert_string_equal(vnis(f, "quarantined"), "1024");
	assert_int_equal(job_state(f, id), JOB_RELEASED);
}

static void a_boot_under_a_live_job_is_reported(void **state)
{
	struct fixture *f = *state;
	json_t *reset;
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	node_boot(f, "n1");
	node_up(f, "n1");
	assert_int_equal(job_state(f, id), JOB_ACTIVE);
	assert_int_equal(part_state(f, id, "n1"), PART_LOST);
	reset = event(f, id, "node-reset");
	assert_string_equal(json_string_value(json_object_get(reset, "node")),
			    "n1");
	assert_string_equal(
		json_string_value(json_object_get(reset, "incarnation")),
		"6e310000000000000000000000000002");
	json_decref(reset);
	verify(f);
	/* That boot is not asked for what it never had. */
	release_id(f, id);
	assert_string_equal(open_fanout(f)->nodes, "n0");
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
}

static void a_fence_needs_no_row_of_the_job(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	node_boot(f, "n1");
	node_up(f, "n1");
	assert_int_equal(rows(f, STORE_PART, id), 0);
	fixture_restart(f);
	assert_int_equal(part_state(f, id, "n0"), PART_APPLIED);
	assert_int_equal(part_state(f, id, "n1"), PART_LOST);
}

static void a_boot_that_was_left_does_not_come_back(void **state)
{
	struct fixture *f = *state;
	struct core_registration registration = { .node = "n0",
						  .version = "1" };
	struct fairlead_error error;
	uint64_t id;

	node_up(f, "n0");
	node_boot(f, "n0");
	node_up(f, "n0");
	id = active(f, "slurm/1/0", "n0", "");
	node_incarnation(f, "n0", registration.incarnation);
	registration.incarnation[15]--;
	assert_int_equal(try_register(f, &registration, &error), -EEXIST);
	assert_contains(error.text, "fairlead node fence n0");
	fixture_restart(f);
	assert_int_equal(try_register(f, &registration, &error), -EEXIST);
	/* It has fenced nothing. */
	assert_int_equal(part_state(f, id, "n0"), PART_APPLIED);
	/* An operator says that the other one is gone. */
	core_node_fence(f->core, &operator_plain, "n0", 99);
	assert_int_equal(reply_to(f, 99)->result, 0);
	assert_int_equal(try_register(f, &registration, &error), 0);
	assert_int_equal(part_state(f, id, "n0"), PART_LOST);
}

static void a_boot_that_registers_late_fences_nothing(void **state)
{
	struct fixture *f = *state;
	struct core_registration older = { .node = "n0",
					   .version = "1",
					   .challenge = 7 };
	struct core_registration newer = older;
	struct fairlead_error error;
	uint64_t id;

	/* Two boots, each challenged, and the older one registers last. */
	node_incarnation(f, "n0", older.incarnation);
	node_boot(f, "n0");
	node_incarnation(f, "n0", newer.incarnation);
	newer.challenge = 8;
	assert_int_equal(try_register(f, &newer, &error), 0);
	id = active(f, "slurm/1/0", "n0", "");
	assert_int_equal(try_register(f, &older, &error), -ESTALE);
	assert_contains(error.text, "late");
	assert_int_equal(part_state(f, id, "n0"), PART_APPLIED);
	assert_true(core_node_is_up(f->core, "n0"));
	/* It was no boot that the node has left, but none at all. */
	newer.incarnation[15]++;
	newer.challenge = 9;
	assert_int_equal(try_register(f, &newer, &error), 0);
	assert_int_equal(part_state(f, id, "n0"), PART_LOST);
}

static void a_late_list_of_the_same_boot_is_no_news(void **state)
{
	struct fixture *f = *state;
	struct core_registration registration = { .node = "n0",
						  .version = "1",
						  .challenge = 8 };
	struct fairlead_error error;
	uint64_t id;

	node_incarnation(f, "n0", registration.incarnation);
	assert_int_equal(try_register(f, &registration, &error), 0);
	id = active(f, "slurm/1/0", "n0", "");
	/* Made before the lane was. */
	registration.challenge = 7;
	assert_int_equal(try_register(f, &registration, &error), -ESTALE);
	assert_int_equal(part_state(f, id, "n0"), PART_APPLIED);
}

static void the_lane_that_should_be_there_is_no_news(void **state)
{
	struct fixture *f = *state;
	struct core_inventory_grant grant;
	uint64_t id;

	nodes_up(f, 1);
	id = active(f, "slurm/1/0", "n0", "vnis=2");
	grant = inventory_of(f, id);
	node_up_with(f, "n0", &grant, 1);
	assert_int_equal(part_state(f, id, "n0"), PART_APPLIED);
	assert_string_equal(vnis(f, "withheld"), "");
	assert_int_equal(open_fanouts(f), 0);
}

static void what_is_not_ours_is_withheld(void **state)
{
	struct fixture *f = *state;
	uint32_t ids[] = { 1024, 1030, 7 };
	struct core_inventory_object object = {
		.driver = "fake",
		.device = "cxi0",
		.object_id = 5,
		.uid = 77,
		.id_count = 3,
		.ids = ids,
	};
	struct core_registration registration = {
		.node = "n0",
		.version = "1",
		.objects = &object,
		.object_count = 1,
	};
	struct fairlead_error error;

	node_incarnation(f, "n0", registration.incarnation);
	assert_int_equal(try_register(f, &registration, &error), 0);
	assert_string_equal(vnis(f, "withheld"), "7,1024,1030");
	assert_string_equal(vnis(f, "free"), "1025-1029,1031-1039");
	assert_int_equal(reserve(f, "slurm/1/0", "n1", ""), 0);
	assert_string_equal(vnis(f, "held"), "1025");
	/* Two nodes report it, one no longer does; one boots: still there. */
	registration.node = "n1";
	node_incarnation(f, "n1", registration.incarnation);
	assert_int_equal(try_register(f, &registration, &error), 0);
	node_up(f, "n0");
	assert_string_equal(vnis(f, "withheld"), "7,1024,1030");
	core_node_lost(f->core, "n1");
	fixture_restart(f);
	assert_string_equal(vnis(f, "withheld"), "7,1024,1030");
	/* Until it registers without it. */
	node_up(f, "n1");
	assert_string_equal(vnis(f, "withheld"), "");
	assert_string_equal(vnis(f, "free"), "1024,1026-1039");
}

static void what_a_node_has_is_known_between_registrations(void **state)
{
	struct fixture *f = *state;
	uint32_t ids[] = { 1024, 1025 };
	struct core_inventory_object object = {
		.driver = "fake",
		.device = "cxi0",
		.object_id = 5,
		.uid = 77,
		.id_count = 1,
		.ids = ids,
	};
	struct core_inventory_grant grant = {
		.grant_id = 99,
		.state = 3,
		.driver = "fake",
		.id_count = 1,
		.ids = ids + 1,
	};
	struct core_registration seen = {
		.node = "n0",
		.version = "1",
		.objects = &object,
		.object_count = 1,
	};
	struct fairlead_error error;

	node_incarnation(f, "n0", seen.incarnation);
	assert_int_equal(core_observe(f->core, &seen, &error), -ESTALE);
	assert_int_equal(try_register(f, &seen, &error), 0);
	assert_string_equal(vnis(f, "withheld"), "1024");
	/* What was an object belongs to a grant now that nobody knows. */
	seen.object_count = 0;
	seen.grants = &grant;
	seen.grant_count = 1;
	grant.ids = ids;
	assert_int_equal(core_observe(f->core, &seen, &error), 0);
	assert_string_equal(vnis(f, "withheld"), "1024");
	seen.grant_count = 0;
	assert_int_equal(core_observe(f->core, &seen, &error), 0);
	assert_string_equal(vnis(f, "withheld"), "");
	object.ids = ids + 1;
	seen.object_count = 1;
	assert_int_equal(core_observe(f->core, &seen, &error), 0);
	assert_string_equal(vnis(f, "withheld"), "1025");
	fixture_restart(f);
	assert_string_equal(vnis(f, "withheld"), "1025");
	/* Another boot, or one that is not up, has to register. */
	assert_int_equal(core_observe(f->core, &seen, &error), -ESTALE);
	node_up(f, "n0");
	seen.incarnation[0]++;
	assert_int_equal(core_observe(f->core, &seen, &error), -ESTALE);
	assert_string_equal(vnis(f, "withheld"), "");
}

static void what_cannot_be_listed_stays_withheld(void **state)
{
	static const char *const unlisted[] = { "other", "fake" };
	struct fixture *f = *state;
	uint32_t ids[][1] = { { 1024 }, { 1025 } };
	struct core_inventory_object objects[] = {
		{ .driver = "fake",
		  .device = "cxi0",
		  .object_id = 5,
		  .uid = 77,
		  .id_count = 1,
		  .ids = ids[0] },
		{ .driver = "fake",
		  .device = "cxi1",
		  .object_id = 5,
		  .uid = 77,
		  .id_count = 1,
		  .ids = ids[1] },
	};
	struct core_registration registration = {
		.node = "n0",
		.version = "1",
		.objects = objects,
		.object_count = 2,
	};
	struct fairlead_error error;

	node_incarnation(f, "n0", registration.incarnation);
	assert_int_equal(try_register(f, &registration, &error), 0);
	assert_string_equal(vnis(f, "withheld"), "1024-1025");
	/* Half of a list, and then none: what was seen before stands. */
	registration.unlisted = unlisted;
	registration.unlisted_count = 2;
	registration.object_count = 1;
	assert_int_equal(try_register(f, &registration, &error), 0);
	assert_string_equal(vnis(f, "withheld"), "1024-1025");
	assert_int_equal(nodes_find(&f->core->nodes, "n0")->report_count, 2);
	registration.object_count = 0;
	assert_int_equal(try_register(f, &registration, &error), 0);
	assert_string_equal(vnis(f, "withheld"), "1024-1025");
	fixture_restart(f);
	assert_int_equal(try_register(f, &registration, &error), 0);
	assert_string_equal(vnis(f, "withheld"), "1024-1025");
	/* Another driver that cannot says nothing about this one. */
	registration.unlisted_count = 1;
	assert_int_equal(try_register(f, &registration, &error), 0);
	assert_string_equal(vnis(f, "withheld"), "");
}

static void a_boot_forgets_what_cannot_be_listed(void **state)
{
	static const char *const unlisted[] = { "fake" };
	struct fixture *f = *state;
	uint32_t ids[] = { 1024 };
	struct core_inventory_object object = { .driver = "fake",
						.device = "cxi0",
						.object_id = 5,
						.id_count = 1,
						.ids = ids };
	struct core_registration registration = { .node = "n0",
						  .version = "1",
						  .objects = &object,
						  .object_count = 1 };
	struct fairlead_error error;

	node_incarnation(f, "n0", registration.incarnation);
	assert_int_equal(try_register(f, &registration, &error), 0);
	assert_string_equal(vnis(f, "withheld"), "1024");
	registration.incarnation[0] ^= 1;
	registration.object_count = 0;
	registration.unlisted = unlisted;
	registration.unlisted_count = 1;
	assert_int_equal(try_register(f, &registration, &error), 0);
	assert_string_equal(vnis(f, "withheld"), "");
}

static void what_is_withheld_and_held_is_not_free_afterwards(void **state)
{
	struct fixture *f = *state;
	uint32_t id_list[] = { 1024 };
	struct core_inventory_object object = { .driver = "fake",
						.device = "cxi0",
						.uid = UINT32_MAX,
						.id_count = 1,
						.ids = id_list };
	struct core_registration registration = { .node = "n1",
						  .version = "1",
						  .objects = &object,
						  .object_count = 1 };
	struct fairlead_error error;
	uint64_t id;

	nodes_up(f, 1);
	id = active(f, "slurm/1/0", "n0", "");
	node_incarnation(f, "n1", registration.incarnation);
	assert_int_equal(try_register(f, &registration, &error), 0);
	assert_string_equal(vnis(f, "held"), "1024");
	assert_string_equal(vnis(f, "withheld"), "1024");
	release_id(f, id);
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
	assert_string_equal(vnis(f, "free"), "1025-1039");
	assert_int_equal(edge_hits(f, "id:held->withheld"), 1);
	node_up(f, "n1");
	assert_string_equal(vnis(f, "free"), "1024-1039");
}

/* n0 registers with an object and no grant; why that is withheld. */
static char *why_of(struct fixture *f, const struct core_caller *caller,
		    struct core_inventory_object *object, bool is_reboot)
{
	struct core_registration registration = { .node = "n0",
						  .version = "1",
						  .objects = object,
						  .object_count = 1 };
	struct fairlead_error error;
	const char *why = "";
	json_t *view;
	char *copy;

	f->boots[0] += is_reboot;
	node_incarnation(f, "n0", registration.incarnation);
	assert_int_equal(try_register(f, &registration, &error), 0);
	view = core_view_nodes(f->core, caller, NULL);
	assert_int_equal(json_unpack(view, "{s:[{s:[{s:s}]}]}", "nodes",
				     "withheld", "why", &why),
			 0);
	copy = strdup(why);
	json_decref(view);
	return copy;
}

static void assert_why(struct fixture *f, const struct core_caller *caller,
		       struct core_inventory_object *object, bool is_reboot,
		       const char *expected)
{
	_auto_(freep) char *why = why_of(f, caller, object, is_reboot);

	assert_string_equal(why, expected);
}

static void what_a_journal_lost_is_of_its_grant(void **state)
{
	struct fixture *f = *state;
	uint32_t ids[] = { 1025, 1024 }, other[] = { 1024 };
	struct core_inventory_object object = { .driver = "fake",
						.device = "cxi0",
						.object_id = 3,
						.uid = alice.uid,
						.id_count = 2,
						.ids = ids };
	uint64_t id;
	json_t *view;

	nodes_up(f, 1);
	id = active(f, "slurm/1/0", "n0", "vnis=2");
	assert_why(f, &root, &object, false,
		   "object 3 on cxi0, of uid 1001, is of grant 1 (slurm/1/0), "
		   "which the node's journal lost");
	assert_why(f, &bob, &object, false,
		   "object 3 on cxi0, of uid 1001, is of grant 1, which the "
		   "node's journal lost");
	assert_int_equal(part_state(f, id, "n0"), PART_MISSING);
	assert_true(core_node_has_of(f->core, "n0", id));
	view = core_view_nodes(f->core, &root, NULL);
	assert_string_equal(
		json_string_value(json_object_get(
			json_array_get(
				json_object_get(
					json_array_get(json_object_get(view,
								       "nodes"),
						       0),
					"lost"),
				0),
			"key")),
		"slurm/1/0");
	json_decref(view);
	fixture_restart(f);
	assert_true(core_node_has_of(f->core, "n0", id));
	/* Another's, or for other identifiers. */
	object.uid = bob.uid;
	assert_why(f, &root, &object, false,
		   "object 3 on cxi0, of uid 1002, is not ours");
	object.uid = alice.uid;
	object.id_count = 1;
	object.ids = other;
	assert_why(f, &root, &object, false,
		   "object 3 on cxi0, of uid 1001, is not ours");
	assert_false(core_node_has_of(f->core, "n0", id));
	/* A boot has ended the job's, whatever looks like it. */
	object.id_count = 2;
	object.ids = ids;
	assert_why(f, &root, &object, true,
		   "object 3 on cxi0, of uid 1001, is not ours");
	assert_int_equal(part_state(f, id, "n0"), PART_LOST);
}

static void what_a_journal_lost_ends_with_its_grant(void **state)
{
	struct fixture *f = *state;
	uint32_t ids[] = { 1024 };
	struct core_inventory_object object = { .driver = "fake",
						.device = "cxi0",
						.object_id = 3,
						.uid = alice.uid,
						.id_count = 1,
						.ids = ids };
	struct core_registration seen = { .node = "n0" };
	struct fairlead_error error;
	uint64_t id;

	nodes_up(f, 1);
	id = active(f, "slurm/1/0", "n0", "");
	free(why_of(f, &root, &object, false));
	release_id(f, id);
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
	/* The node has to say that it is gone; it is asked at once. */
	assert_true(core_node_has_of(f->core, "n0", id));
	assert_string_equal(vnis(f, "withheld"), "1024");
	assert_why(f, &root, &object, false,
		   "object 3 on cxi0, of uid 1001, is not ours");
	node_incarnation(f, "n0", seen.incarnation);
	assert_int_equal(core_observe(f->core, &seen, &error), 0);
	assert_string_equal(vnis(f, "free"), "1024-1039");
}

static void an_unknown_grant_is_withheld_and_not_destroyed(void **state)
{
	struct fixture *f = *state;
	uint32_t ids[] = { 1033 };
	struct core_inventory_grant grant = { .grant_id = 4242,
					      .state = 2,
					      .driver = "fake",
					      .id_count = 1,
					      .ids = ids };

	node_up_with(f, "n0", &grant, 1);
	assert_string_equal(vnis(f, "withheld"), "1033");
	assert_int_equal(open_fanouts(f), 0);
	assert_int_equal(edge_hits(f, "report:unknown-grant"), 1);
	fixture_restart(f);
	assert_string_equal(vnis(f, "withheld"), "1033");
	/* An operator cleans the node, which says so. */
	node_up_with(f, "n0", &grant, 1);
	confirm(f, "n0", 4242, 0, "");
	assert_string_equal(vnis(f, "withheld"), "");
}

static void a_released_grant_is_revoked_again(void **state)
{
	struct fixture *f = *state;
	struct core_inventory_grant grant;
	uint32_t ids[4];
	uint64_t id;

	nodes_up(f, 1);
	id = active(f, "slurm/1/0", "n0", "");
	grant = inventory_of(f, id);
	memcpy(ids, grant.ids, sizeof(ids));
	grant.ids = ids;
	release_id(f, id);
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
	/* It said that it was gone, and now says that it is there. */
	node_up_with(f, "n0", &grant, 1);
	assert_string_equal(vnis(f, "withheld"), "1024");
	assert_int_equal(open_fanout(f)->op, CORE_FANOUT_REVOKE);
	assert_int_equal(open_fanout(f)->lane.grant_id, id);
	assert_int_equal(open_fanout(f)->lane.uid, 1001);
	assert_int_equal(open_fanout(f)->lane.gid, 100);
	assert_int_equal(open_fanout(f)->lane.ids[0], 1024);
	assert_string_equal(open_fanout(f)->key, "slurm/1/0");
	answer_all(f, open_fanout(f), -EBUSY, "busy");
	assert_string_equal(vnis(f, "withheld"), "1024");
	confirm(f, "n0", id, 0, "");
	assert_string_equal(vnis(f, "withheld"), "");
	/* Also by the answer itself. */
	node_up_with(f, "n0", &grant, 1);
	answer_all(f, open_fanout(f), 0, "");
	assert_string_equal(vnis(f, "withheld"), "");
	assert_int_equal(edge_hits(f, "report:released-grant"), 2);
}

static void a_released_grant_is_revoked_until_it_is_gone(void **state)
{
	struct fixture *f = *state;
	uint32_t ids[] = { 1024 };
	struct core_inventory_grant grant = { .grant_id = 1,
					      .state = 2,
					      .driver = "fake",
					      .id_count = 1,
					      .ids = ids };

	nodes_up(f, 1);
	active(f, "slurm/1/0", "n0", "");
	release_id(f, 1);
	answer_all(f, open_fanout(f), 0, "");
	node_up_with(f, "n0", &grant, 1);
	/* That REVOKE is lost, and the next one too. */
	for (int i = 0; i < 2; i++) {
		answer_all(f, open_fanout(f), -ETIMEDOUT, "");
		fixture_advance(f, core_deadline_ms(f->core) -
					   f->clock.monotonic_ms);
		assert_int_equal(open_fanout(f)->lane.grant_id, 1);
	}
	answer_all(f, open_fanout(f), 0, "");
	assert_string_equal(vnis(f, "withheld"), "");
	fixture_advance(f, 3600000);
	assert_int_equal(open_fanouts(f), 0);
	assert_int_equal(core_deadline_ms(f->core), DEADLINE_NONE);
}

static void a_grant_that_was_never_applied_there_is_withheld(void **state)
{
	struct fixture *f = *state;
	struct core_inventory_grant grant;
	uint64_t id;

	nodes_up(f, 2);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	grant = inventory_of(f, 1);
	node_up_with(f, "n0", &grant, 1);
	assert_string_equal(vnis(f, "withheld"), "1024");
	assert_int_equal(open_fanouts(f), 0);
	assert_int_equal(release_id(f, 1), 0);
	/* Free for nobody while n0 has it. */
	assert_string_equal(vnis(f, "free"), "1025-1039");
	node_up(f, "n0");
	/* A node that is not the job's. */
	id = active(f, "slurm/2/0", "n0", "");
	grant = inventory_of(f, id);
	node_up_with(f, "n1", &grant, 1);
	assert_string_equal(vnis(f, "withheld"), "1025");
	assert_int_equal(edge_hits(f, "report:grant-never-applied-there"), 2);
}

static void a_part_that_was_confirmed_and_is_there_is_revoked(void **state)
{
	struct fixture *f = *state;
	struct core_inventory_grant grant;
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	grant = inventory_of(f, id);
	confirm(f, "n1", id, 0, "");
	assert_int_equal(part_state(f, id, "n1"), PART_REVOKED);
	node_up_with(f, "n1", &grant, 1);
	assert_string_equal(vnis(f, "withheld"), "1024");
	assert_string_equal(open_fanout(f)->nodes, "n1");
	answer_all(f, open_fanout(f), 0, "");
	assert_string_equal(vnis(f, "withheld"), "");
	assert_int_equal(job_state(f, id), JOB_ACTIVE);
}

static void other_identifiers_than_ours_are_withheld(void **state)
{
	struct fixture *f = *state;
	uint32_t ids[] = { 1024, 1036 };
	struct core_inventory_grant grant;
	uint64_t id;

	nodes_up(f, 1);
	id = active(f, "slurm/1/0", "n0", "");
	grant = inventory_of(f, id);
	grant.id_count = 2;
	grant.ids = ids;
	node_up_with(f, "n0", &grant, 1);
	assert_string_equal(vnis(f, "withheld"), "1024,1036");
	assert_int_equal(edge_hits(f, "report:grant-with-other-identifiers"),
			 1);
	assert_int_equal(part_state(f, id, "n0"), PART_APPLIED);
}

static void a_grant_in_another_boot_is_its_to_confirm(void **state)
{
	struct fixture *f = *state;
	struct core_inventory_grant grant;
	uint64_t id;

	nodes_up(f, 1);
	id = active(f, "slurm/1/0", "n0", "");
	grant = inventory_of(f, id);
	core_node_lost(f->core, "n0");
	release_id(f, id);
	node_boot(f, "n0");
	node_up_with(f, "n0", &grant, 1);
	/* It reports the grant all the same: nothing is fenced. */
	assert_int_equal(job_state(f, id), JOB_RELEASED);
	assert_string_equal(vnis(f, "quarantined"), "1024");
	fixture_restart(f);
	assert_string_equal(vnis(f, "quarantined"), "1024");
	node_up(f, "n0");
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
}

static void a_report_of_an_interconnect_that_is_off_is_kept(void **state)
{
	struct fixture *f = *state;
	uint32_t ids[] = { 1031 };
	struct core_inventory_grant grant = { .grant_id = 4242,
					      .state = 2,
					      .driver = "elan3",
					      .id_count = 1,
					      .ids = ids };

	node_up_with(f, "n0", &grant, 1);
	assert_string_equal(vnis(f, "withheld"), "");
	assert_int_equal(nodes_find(&f->core->nodes, "n0")->report_count, 1);
}

static void what_a_node_says_is_made_to_fit(void **state)
{
	struct fixture *f = *state;
	uint32_t ids[32];
	char text[300];
	struct core_inventory_object object = {
		.driver = text, .device = text, .id_count = 32, .ids = ids
	};
	struct core_registration registration = { .node = "n0",
						  .version = text,
						  .objects = &object,
						  .object_count = 1 };
	struct fairlead_error error;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	for (uint32_t i = 0; i < 32; i++)
		ids[i] = UINT32_MAX - i;
	node_incarnation(f, "n0", registration.incarnation);
	assert_int_equal(try_register(f, &registration, &error), 0);
	registration.object_count = CORE_REPORTS_MAX + 1;
	assert_int_equal(try_register(f, &registration, &error), -E2BIG);
	node_up(f, "n0");
}

static void nodes_come_up_in_three_ways(void **state)
{
	struct fixture *f = *state;

	core_node_lost(f->core, "n0");
	core_node_lost(f->core, "nobody");
	assert_int_equal(edge_hits(f, "node:up->down"), 0);
	node_up(f, "n0");
	node_up(f, "n0");
	core_node_lost(f->core, "n0");
	core_node_lost(f->core, "n0");
	node_up(f, "n0");
	assert_int_equal(edge_hits(f, "node:unknown->up"), 1);
	assert_int_equal(edge_hits(f, "node:up->up"), 1);
	assert_int_equal(edge_hits(f, "node:down->up"), 1);
	assert_int_equal(edge_hits(f, "node:up->down"), 1);
	assert_int_equal(edge_hits(f, "node:rebooted"), 0);
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_unknown_node_is_refused),
		T(where_a_node_is_outlives_a_restart),
		T(a_boot_fences_what_the_node_held),
		T(the_same_boot_fences_nothing),
		T(death_and_time_free_nothing),
		T(a_boot_under_a_live_job_is_reported),
		T(a_fence_needs_no_row_of_the_job),
		T(a_boot_that_was_left_does_not_come_back),
		T(a_boot_that_registers_late_fences_nothing),
		T(a_late_list_of_the_same_boot_is_no_news),
		T(the_lane_that_should_be_there_is_no_news),
		T(what_is_not_ours_is_withheld),
		T(what_a_node_has_is_known_between_registrations),
		T(what_cannot_be_listed_stays_withheld),
		T(a_boot_forgets_what_cannot_be_listed),
		T(what_is_withheld_and_held_is_not_free_afterwards),
		T(what_a_journal_lost_is_of_its_grant),
		T(what_a_journal_lost_ends_with_its_grant),
		T(an_unknown_grant_is_withheld_and_not_destroyed),
		T(a_released_grant_is_revoked_again),
		T(a_released_grant_is_revoked_until_it_is_gone),
		T(a_grant_that_was_never_applied_there_is_withheld),
		T(a_part_that_was_confirmed_and_is_there_is_revoked),
		T(other_identifiers_than_ours_are_withheld),
		T(a_grant_in_another_boot_is_its_to_confirm),
		T(a_report_of_an_interconnect_that_is_off_is_kept),
		T(what_a_node_says_is_made_to_fit),
		T(nodes_come_up_in_three_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
