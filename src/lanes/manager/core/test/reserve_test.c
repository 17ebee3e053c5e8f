/* SPDX-License-Identifier: BSD-3-Clause */
/* Reservations: what is given, what is refused, and what is left of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "lanes/manager/core/test/fixture.h"
#include "lanes/proto/grant.h"

static void a_reservation_takes_the_next_identifiers(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n[0-3]", "vnis=2"), 0);
	assert_string_equal(vnis(f, "held"), "1024-1025");
	assert_string_equal(vnis(f, "free"), "1026-1039");
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	assert_string_equal(vnis(f, "held"), "1024-1026");
	assert_int_equal(job_state(f, 1), JOB_RESERVED);
	assert_int_equal(job_state(f, 2), JOB_RESERVED);
	assert_string_equal(events(f, 1), "request fake-net");
	assert_int_equal(open_fanouts(f), 0);
}

static void a_grant_is_opaque_text_and_public_json(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error;
	const char *text, *key, *nodes, *interconnect;
	struct grant grant;
	json_t *public;
	int id, uid, vni;

	assert_int_equal(reserve(f, "slurm/1/3", "n[0-1,5]", ""), 0);
	assert_int_equal(json_unpack(last_reply(f)->members, "{s:s, s:i, s:o}",
				     "grant", &text, "grant_id", &id, "public",
				     &public),
			 0);
	assert_int_equal(
		json_unpack(public, "{s:i, s:s, s:s, s:s, s:i, s:{s:[i]}}",
			    "grant_id", &id, "key", &key, "interconnect",
			    &interconnect, "nodes", &nodes, "uid", &uid,
			    "context", "ids", &vni),
		0);
	assert_int_equal(id, 1);
	assert_string_equal(key, "slurm/1/3");
	assert_string_equal(interconnect, "fake");
	assert_string_equal(nodes, "n[0-1,5]");
	assert_int_equal(uid, 1001);
	assert_int_equal(vni, 1024);
	assert_int_equal(grant_parse(text, &grant, &error), 0);
	assert_int_equal(grant.grant_id, 1);
	assert_int_equal(grant.epoch, 1);
	grant_fini(&grant);
}

static void round_robin_goes_on_behind_what_was_taken(void **state)
{
	struct fixture *f = *state;
	char key[32];

	for (int i = 0; i < 20; i++) {
		snprintf(key, sizeof(key), "slurm/%d/0", i);
		assert_int_equal(reserve(f, key, "n0", ""), 0);
		assert_int_equal(release_key(f, key), 0);
	}
	/* 16 in the pool: the twentieth had 1027. */
	assert_int_equal(reserve(f, "slurm/x/0", "n0", ""), 0);
	assert_string_equal(vnis(f, "held"), "1028");
	fixture_restart(f);
	assert_int_equal(reserve(f, "slurm/y/0", "n0", ""), 0);
	assert_string_equal(vnis(f, "held"), "1028-1029");
}

static void two_pools_give_in_the_order_of_the_pools(void **state)
{
	struct fixture *f = *state;
	const struct job *job;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", "vnis=2,ctxs=3"), 0);
	job = jobs_find(&f->core->jobs, 1);
	assert_int_equal(job->id_count, 5);
	assert_int_equal(job->ids[1], 1025);
	assert_int_equal(job->ids[2], 0);
	assert_int_equal(job->ids[4], 2);
}

static void the_same_request_again_gets_the_same_grant(void **state)
{
	struct fixture *f = *state;
	const struct given_reply *first, *second;

	assert_int_equal(reserve(f, "slurm/1/0", "n[0-1]", "vnis=2"), 0);
	assert_int_equal(reserve(f, "slurm/1/0", "n[0-1]", "vnis=2"), 0);
	first = &f->replies[0];
	second = &f->replies[1];
	assert_true(json_equal(first->members, second->members));
	assert_string_equal(vnis(f, "held"), "1024-1025");
	assert_int_equal(f->core->jobs.count, 1);
	/* Also by another core. */
	fixture_restart(f);
	assert_int_equal(reserve(f, "slurm/1/0", "n[0-1]", "vnis=2"), 0);
	assert_true(json_equal(f->replies[0].members, f->replies[2].members));
	assert_int_equal(edge_hits(f, "reserve:repeated"), 2);
}

static void another_request_under_the_key_is_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n[0-1]", ""), 0);
	assert_int_equal(reserve(f, "slurm/1/0", "n[0-2]", ""), -EEXIST);
	assert_int_equal(reserve(f, "slurm/1/1", "n[0-2]", ""), 0);
	assert_int_equal(rows(f, STORE_TOMBSTONE, 0), 0);
}

static void a_released_key_gives_no_grant(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	assert_int_equal(release_id(f, 1), 0);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), -ESTALE);
	assert_int_equal(reserve(f, "slurm/1/0", "n1", ""), -ESTALE);
	fixture_restart(f);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), -ESTALE);
	assert_int_equal(reserve(f, "slurm/1/1", "n0", ""), 0);
}

static void a_key_that_is_being_released_gives_no_grant(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 1);
	active(f, "slurm/1/0", "n0", "");
	assert_int_equal(release_id(f, 1), -EINPROGRESS);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), -ESTALE);
	answer_all(f, open_fanout(f), -EBUSY, "busy");
	assert_int_equal(job_state(f, 1), JOB_RELEASED);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), -ESTALE);
}

static void an_exhausted_pool_says_how_many_are_left(void **state)
{
	struct fixture *f = *state;
	json_t *exception;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", "vnis=14"), 0);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", "vnis=3"), -EAGAIN);
	assert_string_equal(last_reply(f)->text,
			    "failed to reserve 3 VNIs (2 available)");
	assert_string_equal(events(f, 2), "request exception release");
	exception = event(f, 2, "exception");
	assert_string_equal(
		json_string_value(json_object_get(exception, "note")),
		"failed to reserve 3 VNIs (2 available)");
	assert_string_equal(
		json_string_value(json_object_get(exception, "type")),
		"fake-net");
	assert_int_equal(
		json_integer_value(json_object_get(exception, "severity")), 0);
	json_decref(exception);
	assert_string_equal(vnis(f, "held"), "1024-1037");
	/* One is no plural. */
	assert_int_equal(reserve(f, "slurm/3/0", "n0", "vnis=2"), 0);
	assert_int_equal(reserve(f, "slurm/4/0", "n0", "vnis=1"), -EAGAIN);
	assert_string_equal(last_reply(f)->text,
			    "failed to reserve 1 VNI (0 available)");
}

static void a_second_pool_that_is_short_takes_nothing_of_the_first(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", "vnis=2,ctxs=9"),
			 -EAGAIN);
	assert_string_equal(last_reply(f)->text,
			    "failed to reserve 9 CTXs (8 available)");
	assert_string_equal(vnis(f, "held"), "");
}

static void a_failed_reservation_leaves_the_key_to_use(void **state)
{
	struct fixture *f = *state;
	struct core_selector selector = { .key = "slurm/2/0" };
	uint64_t ids[8];

	assert_int_equal(reserve(f, "slurm/1/0", "n0", "vnis=16"), 0);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), -EAGAIN);
	assert_int_equal(core_select(f->core, &alice, &selector, ids, 8, NULL),
			 1);
	assert_int_equal(ids[0], 2);
	/* The next failure replaces the trace. */
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), -EAGAIN);
	assert_int_equal(core_select(f->core, &alice, &selector, ids, 8, NULL),
			 1);
	assert_int_equal(ids[0], 3);
	assert_int_equal(rows(f, STORE_EVENT, 2), 0);
	/* Another request under it, which succeeds at last. */
	assert_int_equal(release_id(f, 1), 0);
	fixture_restart(f);
	assert_int_equal(reserve(f, "slurm/2/0", "n1", "vnis=2"), 0);
	assert_int_equal(last_grant(f), 4);
	assert_int_equal(core_select(f->core, &alice, &selector, ids, 8, NULL),
			 2);
	assert_int_equal(ids[0], 3);
	assert_int_equal(ids[1], 4);
}

static void a_job_may_go_on_without_identifiers(void **state)
{
	struct fixture *f = *state;
	json_t *reserved;

	fixture_setting(f, "fatal", "no");
	fixture_restart(f);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", "vnis=16"), 0);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", "vnis=2"), 0);
	reserved = event(f, 2, "fake-net");
	assert_string_equal(
		json_string_value(json_object_get(reserved, "empty-reason")),
		"failed to reserve 2 VNIs (0 available)");
	json_decref(reserved);
	/* It has no lane: nothing to ask the nodes, which are not up. */
	assert_int_equal(apply(f, 2), 0);
	assert_int_equal(job_state(f, 2), JOB_ACTIVE);
	assert_int_equal(release_id(f, 2), 0);
	assert_true(is_gone(f, 2));
	assert_string_equal(events(f, 2), "request fake-net applied release");
	assert_int_equal(edge_hits(f, "reserve:goes-on-without"), 1);
}

static void a_job_that_is_off_reserves_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", "off"), 0);
	assert_string_equal(vnis(f, "held"), "");
	assert_int_equal(reserve_as(f, &root, "bare", "slurm/2/0", "n0", ""),
			 0);
	assert_int_equal(apply(f, 1), 0);
	assert_int_equal(apply(f, 2), 0);
	assert_int_equal(release_id(f, 1), 0);
	assert_int_equal(release_id(f, 2), 0);
	assert_int_equal(f->fanout_count, 0);
	assert_int_equal(edge_hits(f, "job:reserved->active"), 2);
}

static void what_a_driver_refuses_is_refused_with_its_words(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", "refuse"), -EINVAL);
	assert_string_equal(last_reply(f)->text, "'refuse' will not do");
	assert_string_equal(events(f, 1), "request exception release");
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
}

static void an_interconnect_that_is_off_is_refused_without_a_trace(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve_as(f, &root, "elan3", "slurm/1/0", "n0", ""),
			 -EINVAL);
	assert_contains(last_reply(f)->text, "'elan3'");
	assert_int_equal(f->core->next_grant_id, 1);
}

static void unknown_nodes_are_named(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n[8-12],x", ""), -ENOENT);
	assert_string_equal(last_reply(f)->text,
			    "not among the manager's nodes: n[10-12],x");
}

static void drained_nodes_are_named(void **state)
{
	struct fixture *f = *state;

	core_node_drain(f->core, "n[1,3]", true, "dust", 0);
	assert_int_equal(reserve(f, "slurm/1/0", "n[0-4]", ""), -EHOSTDOWN);
	assert_string_equal(last_reply(f)->text, "drained nodes: n[1,3]");
	/* What is unknown is worse. */
	assert_int_equal(reserve(f, "slurm/1/0", "n1,z", ""), -ENOENT);
	assert_int_equal(reserve(f, "slurm/1/0", "n[0,2,4]", ""), 0);
}

static void nodes_that_left_are_unknown(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error;
	char *changes;

	assert_int_equal(reserve(f, "slurm/1/0", "n[8-9]", ""), 0);
	f->config.nodes = "n[0-8]";
	assert_int_equal(fixture_configure(f, &changes, &error), 0);
	free(changes);
	assert_int_equal(reserve(f, "slurm/2/0", "n[8-9]", ""), -ENOENT);
	assert_contains(last_reply(f)->text, "n9");
}

static void a_node_that_is_down_can_be_reserved(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 2);
	core_node_lost(f->core, "n1");
	assert_int_equal(reserve(f, "slurm/1/0", "n[0-2]", ""), 0);
}

static void who_may_reserve(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve_as(f, &slurm, "fake", "slurm/1/0", "n0", ""),
			 0);
	assert_int_equal(reserve_as(f, &flux, "fake", "slurm/2/0", "n0", ""),
			 -EPERM);
	assert_int_equal(reserve_as(f, &alice, "fake", "slurm/2/0", "n0", ""),
			 -EPERM);
	/* A name that only begins like another one. */
	assert_int_equal(reserve_as(f, &slurm, "fake", "slurm2/2/0", "n0", ""),
			 -EPERM);
	assert_int_equal(reserve_as(f, &root, "fake", "flux/2/0", "n0", ""), 0);
	/* Nobody learns of a key that is not theirs. */
	assert_int_equal(reserve_as(f, &flux, "fake", "slurm/1/0", "n0", ""),
			 -EPERM);
	assert_int_equal(f->core->next_grant_id, 3);
}

static void grant_ids_rise_over_restarts(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	assert_int_equal(release_id(f, 2), 0);
	assert_int_equal(release_id(f, 1), 0);
	fixture_restart(f);
	assert_int_equal(reserve(f, "slurm/3/0", "n0", ""), 0);
	assert_int_equal(last_grant(f), 3);
}

static void two_interconnects_have_their_own_pools(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	assert_int_equal(reserve_as(f, &root, "twin", "slurm/2/0", "n0", ""),
			 0);
	assert_int_equal(jobs_find(&f->core->jobs, 1)->ids[0], 1024);
	assert_int_equal(jobs_find(&f->core->jobs, 2)->ids[0], 1024);
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_reservation_takes_the_next_identifiers),
		T(a_grant_is_opaque_text_and_public_json),
		T(round_robin_goes_on_behind_what_was_taken),
		T(two_pools_give_in_the_order_of_the_pools),
		T(the_same_request_again_gets_the_same_grant),
		T(another_request_under_the_key_is_refused),
		T(a_released_key_gives_no_grant),
		T(a_key_that_is_being_released_gives_no_grant),
		T(an_exhausted_pool_says_how_many_are_left),
		T(a_second_pool_that_is_short_takes_nothing_of_the_first),
		T(a_failed_reservation_leaves_the_key_to_use),
		T(a_job_may_go_on_without_identifiers),
		T(a_job_that_is_off_reserves_nothing),
		T(what_a_driver_refuses_is_refused_with_its_words),
		T(an_interconnect_that_is_off_is_refused_without_a_trace),
		T(unknown_nodes_are_named),
		T(drained_nodes_are_named),
		T(nodes_that_left_are_unknown),
		T(a_node_that_is_down_can_be_reserved),
		T(who_may_reserve),
		T(grant_ids_rise_over_restarts),
		T(two_interconnects_have_their_own_pools),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
