/* SPDX-License-Identifier: BSD-3-Clause */
/* Drained nodes: causes, ends, and notifications. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanes/manager/core/test/fixture.h"

/* The site's commands succeed, for as long as there are any. */
static void site_obey(struct fixture *f)
{
	for (size_t i = 0; i < f->notice_count; i++)
		core_notified(f->core, f->notices[i].node, f->notices[i].id, 0);
}

/* How many DRAINs nodes have got. */
static size_t drain_count(struct fixture *f)
{
	site_obey(f);
	return f->drain_count;
}

static const struct given_drain *last_drain(struct fixture *f)
{
	site_obey(f);
	assert_true(f->drain_count > 0);
	return &f->drains[f->drain_count - 1];
}

static uint64_t quarantined(struct fixture *f, const char *key,
			    const char *nodes)
{
	uint64_t id = active(f, key, nodes, "");

	release_id(f, id);
	answer_all(f, open_fanout(f), -EBUSY, "in use");
	return id;
}

static void operator_drain(struct fixture *f, const char *nodes,
			   bool is_drained, const char *reason)
{
	core_node_drain(f->core, nodes, is_drained, reason, ++f->last_token);
	assert_int_equal(last_reply(f)->result, 0);
}

static void a_node_that_gives_up_is_drained_with_its_words(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 1);
	id = quarantined(f, "slurm/1/0", "n0");
	confirm(f, "n0", id, -EBUSY, "cxi0: service 5: VNI 1024: pid 4711");
	assert_string_equal(last_drain(f)->node, "n0");
	assert_true(last_drain(f)->is_drained);
	assert_string_equal(last_drain(f)->reason,
			    "cxi0: service 5: VNI 1024: pid 4711");
	assert_int_equal(f->ack_count, 1);
	assert_string_equal(vnis(f, "quarantined"), "1024");
	assert_string_equal(jobs_find(&f->core->jobs, id)->why,
			    "n0: cxi0: service 5: VNI 1024: pid 4711");
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), -EHOSTDOWN);
	fixture_restart(f);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), -EHOSTDOWN);
	/* A restart does not notify the node again. */
	assert_int_equal(drain_count(f), 1);
}

static void it_is_undrained_when_nothing_is_pending(void **state)
{
	struct fixture *f = *state;
	uint64_t first, second;

	nodes_up(f, 2);
	first = quarantined(f, "slurm/1/0", "n[0-1]");
	second = quarantined(f, "slurm/2/0", "n0");
	confirm(f, "n0", first, -EBUSY, "in use");
	confirm(f, "n0", first, 0, "");
	/* There is another one. */
	assert_int_equal(drain_count(f), 1);
	confirm(f, "n0", second, 0, "");
	assert_int_equal(drain_count(f), 2);
	assert_false(last_drain(f)->is_drained);
	assert_int_equal(reserve(f, "slurm/3/0", "n0", ""), 0);
	assert_int_equal(edge_hits(f, "node:undrained-when-clean"), 1);
}

static void a_boot_and_a_late_answer_undrain_too(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 1);
	id = quarantined(f, "slurm/1/0", "n0");
	confirm(f, "n0", id, -EBUSY, "in use");
	site_obey(f);
	node_boot(f, "n0");
	node_up(f, "n0");
	assert_false(last_drain(f)->is_drained);
	id = quarantined(f, "slurm/2/0", "n0");
	confirm(f, "n0", id, -EBUSY, "in use");
	site_obey(f);
	fixture_advance(f, 3600000);
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(drain_count(f), 4);
	assert_false(last_drain(f)->is_drained);
	assert_true(is_gone(f, id));
}

static void an_operators_drain_is_not_ours_to_end(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 1);
	id = quarantined(f, "slurm/1/0", "n0");
	operator_drain(f, "n0", true, "new cable");
	assert_int_equal(drain_count(f), 1);
	confirm(f, "n0", id, -EBUSY, "in use");
	assert_int_equal(drain_count(f), 1);
	assert_string_equal(nodes_find(&f->core->nodes, "n0")->reason,
			    "new cable");
	confirm(f, "n0", id, 0, "");
	assert_int_equal(drain_count(f), 1);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), -EHOSTDOWN);
	operator_drain(f, "n0", false, NULL);
	assert_false(last_drain(f)->is_drained);
	assert_string_equal(last_drain(f)->reason, "new cable");
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
}

static void an_operator_may_take_a_drain_over(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 1);
	id = quarantined(f, "slurm/1/0", "n0");
	confirm(f, "n0", id, -EBUSY, "in use");
	site_obey(f);
	operator_drain(f, "n0", true, "new cable");
	assert_string_equal(last_drain(f)->reason, "new cable");
	confirm(f, "n0", id, 0, "");
	assert_int_equal(drain_count(f), 2);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), -EHOSTDOWN);
}

static void an_operator_may_undrain_a_node_with_pending_parts(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 1);
	id = quarantined(f, "slurm/1/0", "n0");
	confirm(f, "n0", id, -EBUSY, "in use");
	site_obey(f);
	operator_drain(f, "n0", false, NULL);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	confirm(f, "n0", id, 0, "");
	assert_int_equal(drain_count(f), 2);
	/* Undraining what is not drained tells nobody. */
	operator_drain(f, "n[0-3]", false, NULL);
	assert_int_equal(drain_count(f), 2);
}

static void a_node_that_gives_up_again_is_notified_again(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 1);
	id = quarantined(f, "slurm/1/0", "n0");
	confirm(f, "n0", id, -EBUSY, "in use");
	site_obey(f);
	confirm(f, "n0", id, -EBUSY, "still in use");
	assert_int_equal(drain_count(f), 2);
	assert_string_equal(last_drain(f)->reason, "still in use");
	assert_int_equal(edge_hits(f, "node:drained"), 1);
}

static void a_released_grant_that_lingers_keeps_the_drain(void **state)
{
	struct fixture *f = *state;
	struct core_inventory_grant grant;
	uint32_t ids[1] = { 1024 };
	uint64_t id;

	nodes_up(f, 1);
	id = active(f, "slurm/1/0", "n0", "");
	release_id(f, id);
	answer_all(f, open_fanout(f), 0, "");
	grant = (struct core_inventory_grant){ .grant_id = id,
					       .state = 3,
					       .driver = "fake",
					       .id_count = 1,
					       .ids = ids };
	node_up_with(f, "n0", &grant, 1);
	answer_all(f, open_fanout(f), -EBUSY, "in use");
	confirm(f, "n0", id, -EBUSY, "in use");
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), -EHOSTDOWN);
	confirm(f, "n0", id, 0, "");
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
}

static void an_epilog_that_gives_up_before_the_release_drains(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	confirm(f, "n0", id, -EBUSY, "in use");
	assert_int_equal(part_state(f, id, "n0"), PART_REVOKING);
	/* Something else that is settled there does not end the drain. */
	confirm(f, "n0", 12345, 0, "");
	node_up(f, "n0");
	assert_int_equal(drain_count(f), 1);
	answer_all(f, open_fanout(f), -EBUSY, "in use");
	fixture_restart(f);
	nodes_up(f, 2);
	answer_all(f, open_fanout(f), -EBUSY, "in use");
	release_id(f, id);
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(drain_count(f), 2);
	assert_false(last_drain(f)->is_drained);
	assert_true(is_gone(f, id));
}

static void what_we_know_nothing_of_is_for_an_operator(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 1);
	confirm(f, "n0", 12345, -EBUSY, "in use");
	assert_int_equal(drain_count(f), 1);
	confirm(f, "n0", 12345, 0, "");
	node_up(f, "n0");
	assert_int_equal(drain_count(f), 1);
	operator_drain(f, "n0", false, NULL);
	assert_int_equal(drain_count(f), 2);
}

/* --- the site's tools --- */

/* The last call; it was the n-th. */
static const struct given_notice *last_notice(const struct fixture *f,
					      size_t count)
{
	assert_int_equal(f->notice_count, count);
	return &f->notices[count - 1];
}

static void notified(struct fixture *f, uint64_t id, int result)
{
	core_notified(f->core, "n0", id, result);
}

static void pass_to_deadline(struct fixture *f)
{
	uint64_t now_ms = clock_monotonic_ms(&f->clock_seam);
	uint64_t deadline_ms = core_deadline_ms(f->core);

	assert_true(deadline_ms != DEADLINE_NONE);
	fixture_advance(f, deadline_ms > now_ms ? deadline_ms - now_ms : 0);
}

static void the_site_is_notified_of_a_drain_and_its_end(void **state)
{
	struct fixture *f = *state;

	operator_drain(f, "n0", true, "new cable");
	assert_string_equal(last_notice(f, 1)->node, "n0");
	assert_string_equal(last_notice(f, 1)->reason, "new cable");
	assert_true(last_notice(f, 1)->is_drained);
	notified(f, last_notice(f, 1)->id, 0);
	operator_drain(f, "n0", false, NULL);
	assert_false(last_notice(f, 2)->is_drained);
	assert_string_equal(last_notice(f, 2)->reason, "new cable");
	notified(f, last_notice(f, 2)->id, 0);
	fixture_restart(f);
	fixture_advance(f, 3600000);
	assert_int_equal(f->notice_count, 2);
}

static void a_node_learns_of_its_drain_when_the_site_has_obeyed(void **state)
{
	struct fixture *f = *state;

	operator_drain(f, "n0", true, "new cable");
	assert_null(core_node_drained(f->core, "n0"));
	notified(f, last_notice(f, 1)->id, -EIO);
	assert_int_equal(f->drain_count, 0);
	fixture_restart(f);
	pass_to_deadline(f);
	notified(f, last_notice(f, 2)->id, 0);
	assert_int_equal(f->drain_count, 1);
	assert_string_equal(f->drains[0].node, "n0");
	assert_true(f->drains[0].is_drained);
	assert_string_equal(f->drains[0].reason, "new cable");
	assert_string_equal(core_node_drained(f->core, "n0"), "new cable");
	/* Of its end it learns at once. */
	operator_drain(f, "n0", false, NULL);
	assert_int_equal(f->drain_count, 2);
	notified(f, last_notice(f, 3)->id, 0);
	assert_int_equal(f->drain_count, 2);
}

static void notifications_that_a_crash_prevented_are_sent(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	operator_drain(f, "n0", true, "new cable");
	id = last_notice(f, 1)->id;
	fixture_restart(f);
	pass_to_deadline(f);
	assert_true(last_notice(f, 2)->is_drained);
	assert_string_equal(last_notice(f, 2)->reason, "new cable");
	/* The end of an earlier core's call says nothing here. */
	notified(f, id, 0);
	operator_drain(f, "n0", false, NULL);
	assert_int_equal(f->notice_count, 2);
	fixture_restart(f);
	pass_to_deadline(f);
	assert_false(last_notice(f, 3)->is_drained);
	assert_string_equal(last_notice(f, 3)->reason, "new cable");
	notified(f, last_notice(f, 3)->id, 0);
	fixture_restart(f);
	fixture_advance(f, 3600000);
	assert_int_equal(f->notice_count, 3);
}

static void a_call_that_failed_is_made_again_later(void **state)
{
	struct fixture *f = *state;

	operator_drain(f, "n0", true, "new cable");
	notified(f, last_notice(f, 1)->id, -EIO);
	fixture_advance(f, 29999);
	assert_int_equal(f->notice_count, 1);
	fixture_advance(f, 1);
	notified(f, last_notice(f, 2)->id, -ETIMEDOUT);
	fixture_advance(f, 59999);
	assert_int_equal(f->notice_count, 2);
	fixture_advance(f, 1);
	notified(f, last_notice(f, 3)->id, 0);
	fixture_advance(f, 3600000);
	assert_int_equal(f->notice_count, 3);
}

static void one_call_of_a_node_is_under_way_at_a_time(void **state)
{
	struct fixture *f = *state;
	uint64_t first;

	operator_drain(f, "n0", true, "new cable");
	first = last_notice(f, 1)->id;
	operator_drain(f, "n0", false, NULL);
	operator_drain(f, "n0", true, "newer cable");
	operator_drain(f, "n1", true, "dust");
	assert_string_equal(last_notice(f, 2)->node, "n1");
	/* The last change counts, whatever became of the call before. */
	notified(f, first, -EIO);
	assert_true(last_notice(f, 3)->is_drained);
	assert_string_equal(last_notice(f, 3)->reason, "newer cable");
	notified(f, first, 0);
	notified(f, last_notice(f, 3)->id, 0);
	fixture_advance(f, 3600000);
	assert_int_equal(f->notice_count, 3);
}

static void a_node_that_leaves_stays_until_the_site_is_notified(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error;
	char *changes;

	operator_drain(f, "n0", true, "new cable");
	f->config.nodes = "n[1-9]";
	assert_int_equal(fixture_configure(f, &changes, &error), 0);
	assert_string_equal(changes, "nodes leaving: n0");
	free(changes);
	fixture_restart(f);
	pass_to_deadline(f);
	notified(f, last_notice(f, 2)->id, 0);
	assert_null(nodes_find(&f->core->nodes, "n0"));
	notified(f, f->notices[1].id, 0);
}

static void a_long_reason_is_cut_between_characters(void **state)
{
	struct fixture *f = *state;
	char reason[3000];
	const char *kept;

	for (size_t i = 0; i + 2 < sizeof(reason); i += 2)
		memcpy(reason + i, "\xc3\xa4", 2);
	reason[sizeof(reason) - 2] = 0;
	operator_drain(f, "n0", true, reason);
	kept = nodes_find(&f->core->nodes, "n0")->reason;
	assert_true(strlen(kept) <= NODE_REASON_MAX);
	assert_string_equal(kept + strlen(kept) - 3, "...");
	assert_null(strchr(kept, '?'));
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_node_that_gives_up_is_drained_with_its_words),
		T(it_is_undrained_when_nothing_is_pending),
		T(a_boot_and_a_late_answer_undrain_too),
		T(an_operators_drain_is_not_ours_to_end),
		T(an_operator_may_take_a_drain_over),
		T(an_operator_may_undrain_a_node_with_pending_parts),
		T(a_node_that_gives_up_again_is_notified_again),
		T(a_released_grant_that_lingers_keeps_the_drain),
		T(an_epilog_that_gives_up_before_the_release_drains),
		T(what_we_know_nothing_of_is_for_an_operator),
		T(the_site_is_notified_of_a_drain_and_its_end),
		T(a_node_learns_of_its_drain_when_the_site_has_obeyed),
		T(notifications_that_a_crash_prevented_are_sent),
		T(a_call_that_failed_is_made_again_later),
		T(one_call_of_a_node_is_under_way_at_a_time),
		T(a_node_that_leaves_stays_until_the_site_is_notified),
		T(a_long_reason_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
