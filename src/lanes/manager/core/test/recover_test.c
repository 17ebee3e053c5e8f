/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery: nothing is handed out before every node has spoken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanes/manager/core/test/fixture.h"
#include "lanes/manager/core/test/journal.h"

static void recover(struct fixture *f)
{
	struct fairlead_error error;

	core_destroy(f->core);
	f->core = NULL;
	assert_int_equal(fixture_start(f, true, &error), 0);
}

static const char *awaited(const struct fixture *f)
{
	static char text[256];
	char *names = NULL;

	if (!core_is_recovering(f->core, &names))
		return "over";
	snprintf(text, sizeof(text), "%s", names);
	free(names);
	return text;
}

static void nothing_is_handed_out_until_all_have_spoken(void **state)
{
	struct fixture *f = *state;

	recover(f);
	assert_string_equal(awaited(f), "n[0-9]");
	assert_string_equal(vnis(f, "free"), "");
	assert_string_equal(vnis(f, "withheld"), "1024-1039");
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), -EAGAIN);
	assert_string_equal(last_reply(f)->text,
			    "failed to reserve 1 VNI (0 available)");
	assert_contains(last_reply(f)->hint, "recovery");
	/* Who needs none need not wait. */
	assert_int_equal(reserve(f, "slurm/2/0", "n0", "off"), 0);
	nodes_up(f, 9);
	assert_string_equal(awaited(f), "n9");
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), -EAGAIN);
	node_up(f, "n9");
	assert_string_equal(awaited(f), "over");
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	assert_int_equal(edge_hits(f, "recovery:over"), 1);
}

static void grant_ids_jump(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	recover(f);
	nodes_up(f, 10);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	assert_true(last_grant(f) == f->epoch << 32);
	recover(f);
	nodes_up(f, 10);
	assert_int_equal(reserve(f, "slurm/3/0", "n0", ""), 0);
	assert_true(last_grant(f) == f->epoch << 32);
}

static void a_recovery_from_the_same_backup_gives_other_ids(void **state)
{
	struct fixture *f = *state;
	uint64_t grant_id;

	recover(f);
	nodes_up(f, 10);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	grant_id = last_grant(f);
	/* The backup knows of nothing, nor of the first recovery. */
	journal_clear(&f->journal);
	recover(f);
	nodes_up(f, 10);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	assert_true(last_grant(f) > grant_id);
}

static void a_recovery_that_was_cut_short_gives_other_ids(void **state)
{
	struct fixture *f = *state;
	/* The store writes this with the epoch, before the core says a word. */
	struct store_row row = { .table = STORE_META, .key = "recovering" };

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	row.id = f->epoch + 1;
	f->epoch++;
	journal_put(f, &row);
	fixture_restart(f);
	nodes_up(f, 10);
	assert_string_equal(awaited(f), "over");
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	assert_true(last_grant(f) >= row.id << 32);
}

static void what_the_journal_does_not_know_is_withheld(void **state)
{
	struct fixture *f = *state;
	uint32_t ids[] = { 1030 };
	struct core_inventory_grant grant = { .grant_id = 55,
					      .state = 2,
					      .driver = "fake",
					      .id_count = 1,
					      .ids = ids };

	/* The journal was restored from an old backup. */
	recover(f);
	nodes_up(f, 9);
	node_up_with(f, "n9", &grant, 1);
	assert_string_equal(awaited(f), "over");
	assert_string_equal(vnis(f, "withheld"), "1030");
	assert_int_equal(reserve(f, "slurm/1/0", "n0", "vnis=15"), 0);
	assert_string_equal(vnis(f, "held"), "1024-1029,1031-1039");
}

static void nodes_are_waived_by_name(void **state)
{
	struct fixture *f = *state;

	recover(f);
	nodes_up(f, 5);
	core_recover_waive(f->core, &operator_plain, "n[4-8]", 99);
	assert_string_equal(json_string_value(json_object_get(
				    reply_to(f, 99)->members, "awaited")),
			    "n9");
	core_recover_waive(f->core, &operator_plain, "nobody", 100);
	assert_int_equal(reply_to(f, 100)->result, -ENOENT);
	core_recover_waive(f->core, &operator_plain, "n9", 101);
	assert_string_equal(awaited(f), "over");
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	core_recover_waive(f->core, &operator_plain, "n9", 102);
	assert_int_equal(reply_to(f, 102)->result, 0);
	assert_true(json_is_false(
		json_object_get(reply_to(f, 102)->members, "was_recovering")));
}

static void a_restart_awaits_only_the_others(void **state)
{
	struct fixture *f = *state;

	recover(f);
	nodes_up(f, 3);
	core_recover_waive(f->core, &operator_plain, "n3", 99);
	fixture_restart(f);
	assert_string_equal(awaited(f), "n[4-9]");
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), -EAGAIN);
	/* Another recovery starts over. */
	recover(f);
	assert_string_equal(awaited(f), "n[0-9]");
	nodes_up(f, 10);
	assert_string_equal(awaited(f), "over");
	fixture_restart(f);
	assert_string_equal(awaited(f), "over");
}

static void a_node_that_leaves_is_not_awaited(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error;
	char *changes;

	recover(f);
	nodes_up(f, 8);
	f->config.nodes = "n[0-8]";
	assert_int_equal(fixture_configure(f, &changes, &error), 0);
	free(changes);
	assert_string_equal(awaited(f), "n8");
	f->config.nodes = "n[0-7]";
	assert_int_equal(fixture_configure(f, &changes, &error), 0);
	free(changes);
	assert_string_equal(awaited(f), "over");
}

static void a_leaving_node_has_spoken_too(void **state)
{
	struct fixture *f = *state;
	struct core_inventory_grant grant;
	struct fairlead_error error;
	char *changes;
	uint64_t id;

	nodes_up(f, 10);
	id = active(f, "slurm/1/0", "n9", "");
	f->config.nodes = "n[0-8]";
	recover(f);
	grant = inventory_of(f, id);
	node_up_with(f, "n9", &grant, 1);
	/* It comes back while it is up: it need not say it again. */
	f->config.nodes = "n[0-9]";
	assert_int_equal(fixture_configure(f, &changes, &error), 0);
	free(changes);
	assert_string_equal(awaited(f), "n[0-8]");
	nodes_up(f, 9);
	assert_string_equal(awaited(f), "over");
}

static void a_node_that_comes_is_awaited(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error;
	char *changes;

	recover(f);
	nodes_up(f, 9);
	f->config.nodes = "n[0-9],m0";
	assert_int_equal(fixture_configure(f, &changes, &error), 0);
	free(changes);
	assert_string_equal(awaited(f), "n9,m0");
}

static void without_nodes_it_is_over_at_once(void **state)
{
	struct fixture *f = *state;

	f->config.nodes = "";
	recover(f);
	assert_string_equal(awaited(f), "over");
}

static void live_grants_go_on(void **state)
{
	struct fixture *f = *state;
	struct core_inventory_grant grant;
	uint64_t id;

	nodes_up(f, 10);
	id = active(f, "slurm/1/0", "n0", "");
	recover(f);
	grant = inventory_of(f, id);
	nodes_up(f, 10);
	assert_int_equal(part_state(f, id, "n0"), PART_MISSING);
	node_up_with(f, "n0", &grant, 1);
	assert_int_equal(part_state(f, id, "n0"), PART_APPLIED);
	assert_int_equal(release_id(f, id), -EINPROGRESS);
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
}

static void a_recovery_without_many_nodes_is_to_be_said_again(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error;
	char *awaited;

	core_destroy(f->core);
	f->core = NULL;
	assert_int_equal(fixture_start(f, true, &error), 0);
	core_recover_waive(f->core, &operator_plain, "n[0-8]", 99);
	assert_int_equal(reply_to(f, 99)->result, -E2BIG);
	assert_contains(reply_to(f, 99)->text, "9 of 10 nodes");
	assert_true(core_is_recovering(f->core, &awaited));
	assert_string_equal(awaited, "n[0-9]");
	free(awaited);
	core_recover_waive(f->core, &operator_forced, "n[0-8]", 100);
	assert_int_equal(reply_to(f, 100)->result, 0);
	assert_true(core_is_recovering(f->core, &awaited));
	assert_string_equal(awaited, "n9");
	free(awaited);
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_is_handed_out_until_all_have_spoken),
		T(grant_ids_jump),
		T(a_recovery_from_the_same_backup_gives_other_ids),
		T(a_recovery_that_was_cut_short_gives_other_ids),
		T(what_the_journal_does_not_know_is_withheld),
		T(nodes_are_waived_by_name),
		T(a_restart_awaits_only_the_others),
		T(a_node_that_leaves_is_not_awaited),
		T(a_leaving_node_has_spoken_too),
		T(a_node_that_comes_is_awaited),
		T(without_nodes_it_is_over_at_once),
		T(live_grants_go_on),
		T(a_recovery_without_many_nodes_is_to_be_said_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
