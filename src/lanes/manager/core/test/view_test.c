/* SPDX-License-Identifier: BSD-3-Clause */
/* What people and scripts are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanes/manager/core/test/fixture.h"

/* Member by a path of names and array places: "grants.0.key". */
static const json_t *at(const json_t *value, const char *path)
{
	char copy[128], *name, *rest = copy;

	snprintf(copy, sizeof(copy), "%s", path);
	while ((name = strsep(&rest, ".")) != NULL) {
		value = json_is_array(value)
				? json_array_get(value, strtoul(name, NULL, 10))
				: json_object_get(value, name);
		if (value == NULL)
			fail_msg("no member '%s' of '%s'", name, path);
	}
	return value;
}

static void assert_text(const json_t *view, const char *path,
			const char *expected)
{
	assert_true(json_is_string(at(view, path)));
	assert_string_equal(json_string_value(at(view, path)), expected);
}

static void assert_number(const json_t *view, const char *path, int expected)
{
	assert_true(json_is_integer(at(view, path)));
	assert_int_equal(json_integer_value(at(view, path)), expected);
}

static uint64_t quarantined(struct fixture *f, const char *key,
			    const char *nodes, const char *options)
{
	uint64_t id = active(f, key, nodes, options);

	release_id(f, id);
	answer_all(f, open_fanout(f), -EBUSY, "in use");
	return id;
}

static void status_counts(void **state)
{
	struct fixture *f = *state;
	json_t *view;

	nodes_up(f, 3);
	core_node_lost(f->core, "n2");
	active(f, "slurm/1/0", "n0", "vnis=2");
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	quarantined(f, "slurm/3/0", "n1", "");
	core_node_drain(f->core, "n5", true, "dust", 1);
	fixture_advance(f, 12345);
	view = core_view_status(f->core);
	assert_text(view, "version", FAIRLEAD_VERSION);
	assert_number(view, "epoch", 1);
	assert_number(view, "uptime_s", 12);
	assert_int_equal(json_integer_value(at(view, "time_us")),
			 f->clock.wall_us);
	assert_true(json_is_false(at(view, "recovering")));
	assert_text(view, "awaited", "");
	assert_number(view, "nodes.up", 2);
	assert_number(view, "nodes.down", 8);
	assert_number(view, "nodes.leaving", 0);
	assert_number(view, "nodes.drained", 1);
	assert_number(view, "jobs.reserved", 1);
	assert_number(view, "jobs.active", 1);
	assert_number(view, "jobs.released", 1);
	assert_number(view, "jobs.failed", 0);
	assert_number(view, "pools.fake.vni.universe", 16);
	assert_number(view, "pools.fake.vni.free", 12);
	assert_number(view, "pools.fake.vni.held", 3);
	assert_number(view, "pools.fake.vni.quarantined", 1);
	assert_number(view, "pools.fake.vni.withheld", 0);
	assert_number(view, "pools.fake.vni.draining", 0);
	assert_number(view, "pools.twin.ctx.free", 8);
	assert_int_equal(json_object_size(at(view, "pools.bare")), 0);
	json_decref(view);
}

static void pools_are_sets(void **state)
{
	struct fixture *f = *state;
	json_t *view;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", "vnis=2"), 0);
	view = core_view_pools(f->core);
	assert_text(view, "pools.fake.vni.universe", "1024-1039");
	assert_text(view, "pools.fake.vni.free", "1026-1039");
	assert_text(view, "pools.fake.vni.held", "1024-1025");
	assert_text(view, "pools.fake.vni.withheld", "");
	assert_number(view, "external.fake.per_job", 7);
	assert_number(view, "external.fake.min_nodes", 4);
	assert_number(view, "external.fake.total", 4086);
	assert_number(view, "external.fake.jobs", 583);
	assert_number(view, "external.fake.nodes", 10);
	assert_number(view, "external.fake.recommended", 1634);
	assert_null(json_object_get(at(view, "external"), "bare"));
	json_decref(view);
}

static void list_is_by_grant_id_and_owner(void **state)
{
	struct fixture *f = *state;
	struct core_filter filter = { 0 };
	json_t *view;

	assert_int_equal(reserve(f, "slurm/1/0", "n[0-1]", "vnis=2"), 0);
	assert_int_equal(reserve(f, "flux/1/0", "n2", ""), 0);
	assert_int_equal(reserve_as(f, &root, "twin", "slurm/2/0", "n0", ""),
			 0);
	view = core_view_list(f->core, &root, &filter);
	assert_int_equal(json_array_size(at(view, "jobs")), 3);
	assert_null(json_object_get(view, "more"));
	assert_number(view, "jobs.0.grant_id", 1);
	assert_text(view, "jobs.0.key", "slurm/1/0");
	assert_text(view, "jobs.0.state", "reserved");
	assert_text(view, "jobs.0.interconnect", "fake");
	assert_number(view, "jobs.0.uid", 1001);
	assert_text(view, "jobs.0.nodes", "n[0-1]");
	assert_number(view, "jobs.0.node_count", 2);
	assert_text(view, "jobs.0.ids.vni", "1024-1025");
	assert_true(json_real_value(at(view, "jobs.0.since")) >
		    1751386927.8443);
	json_decref(view);
	/* alice owns them all, a submitter its own, bob none. */
	view = core_view_list(f->core, &alice, &filter);
	assert_int_equal(json_array_size(at(view, "jobs")), 3);
	json_decref(view);
	view = core_view_list(f->core, &flux, &filter);
	assert_int_equal(json_array_size(at(view, "jobs")), 1);
	assert_text(view, "jobs.0.key", "flux/1/0");
	json_decref(view);
	view = core_view_list(f->core, &bob, &filter);
	assert_int_equal(json_array_size(at(view, "jobs")), 0);
	json_decref(view);
}

static size_t listed(struct fixture *f, const struct core_filter *filter)
{
	json_t *view = core_view_list(f->core, &root, filter);
	size_t count = json_array_size(json_object_get(view, "jobs"));

	json_decref(view);
	return count;
}

static void a_filter_that_finds_nothing_ever_is_refused(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error;

	assert_int_equal(
		core_filter_check(f->core,
				  &(struct core_filter){ .interconnect = "fake",
							 .state = "active" },
				  &error),
		0);
	assert_int_equal(core_filter_check(f->core,
					   &(struct core_filter){
						   .interconnect = "fakk" },
					   &error),
			 -EINVAL);
	assert_string_equal(error.text, "interconnect 'fakk' is not turned on");
	assert_int_equal(
		core_filter_check(f->core,
				  &(struct core_filter){ .state = "lively" },
				  &error),
		-EINVAL);
}

static void list_is_filtered_and_paged(void **state)
{
	struct fixture *f = *state;
	struct core_filter filter = { .limit = 2 };
	json_t *view;

	nodes_up(f, 1);
	active(f, "slurm/1/0", "n0", "");
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	assert_int_equal(reserve_as(f, &root, "twin", "slurm/3/0", "n0", ""),
			 0);
	view = core_view_list(f->core, &root, &filter);
	assert_int_equal(json_array_size(at(view, "jobs")), 2);
	assert_true(json_is_true(at(view, "more")));
	json_decref(view);
	filter.after = 2;
	view = core_view_list(f->core, &root, &filter);
	assert_int_equal(json_array_size(at(view, "jobs")), 1);
	assert_null(json_object_get(view, "more"));
	json_decref(view);
	assert_int_equal(listed(f, &(struct core_filter){ .state = "active" }),
			 1);
	assert_int_equal(listed(f, &(struct core_filter){ .state = "x" }), 0);
	assert_int_equal(
		listed(f, &(struct core_filter){ .interconnect = "twin" }), 1);
	assert_int_equal(listed(f, &(struct core_filter){ .has_uid = true,
							  .uid = 1001 }),
			 3);
	assert_int_equal(listed(f, &(struct core_filter){ .has_uid = true }),
			 0);
}

static void a_long_list_fits_into_an_answer(void **state)
{
	struct fixture *f = *state;
	struct core_filter filter = { 0 };
	size_t count = 0, pages = 0;
	bool has_more = true;
	char key[32];

	fixture_setting(f, "vni", "1-8000");
	fixture_restart(f);
	for (int i = 0; i < 4000; i++) {
		snprintf(key, sizeof(key), "slurm/%d/0", i);
		assert_int_equal(reserve(f, key, "n[0-9]", "vnis=2"), 0);
		fixture_forget(f);
	}
	while (has_more) {
		json_t *view = core_view_list(f->core, &root, &filter);
		json_t *jobs = json_object_get(view, "jobs");
		char *text = json_dumps(view, JSON_COMPACT);

		assert_true(strlen(text) < 1000000);
		free(text);
		count += json_array_size(jobs);
		pages++;
		filter.after = (uint64_t)json_integer_value(
			json_object_get(view, "after"));
		has_more = json_object_get(view, "more") != NULL;
		json_decref(view);
	}
	assert_int_equal(count, 4000);
	assert_true(pages > 1);
}

/* Also where none of them is the caller's. */
static void a_list_looks_at_so_many_grants(void **state)
{
	struct fixture *f = *state;
	struct core_filter filter = { 0 };
	json_t *view;
	char key[32], node[8];

	fixture_setting(f, "vni", "1-16000");
	fixture_restart(f);
	for (int i = 0; i <= CORE_VIEW_JOBS_MAX; i++) {
		snprintf(key, sizeof(key), "slurm/%d/0", i);
		snprintf(node, sizeof(node), "n%d", i % 10);
		assert_int_equal(reserve(f, key, node, ""), 0);
		fixture_forget(f);
	}
	view = core_view_list(f->core, &bob, &filter);
	assert_int_equal(json_array_size(at(view, "jobs")), 0);
	assert_number(view, "after", CORE_VIEW_JOBS_MAX);
	json_decref(view);
	filter.after = CORE_VIEW_JOBS_MAX;
	view = core_view_list(f->core, &bob, &filter);
	assert_null(json_object_get(view, "more"));
	assert_null(json_object_get(view, "after"));
	json_decref(view);
}

static json_t *explain(struct fixture *f, const struct core_caller *caller,
		       const struct core_selector *selector)
{
	struct fairlead_error error = { 0 };
	json_t *view = NULL;

	if (core_view_explain(f->core, caller, selector, &view, &error) < 0)
		fail_msg("%s", error.text);
	return view;
}

static void explain_says_where_and_why(void **state)
{
	struct fixture *f = *state;
	struct core_selector selector = { .key = "slurm/1/0" };
	json_t *view;
	uint64_t id;

	nodes_up(f, 4);
	id = active(f, "slurm/1/0", "n[0-3]", "vnis=2");
	view = explain(f, &alice, &selector);
	assert_text(view, "grants.0.key", "slurm/1/0");
	assert_number(view, "grants.0.gid", 100);
	assert_text(view, "grants.0.options", "vnis=2");
	assert_text(view, "grants.0.reason", "");
	assert_text(view, "grants.0.holds.0.nodes", "n[0-3]");
	assert_text(view, "grants.0.holds.0.state", "applied");
	assert_int_equal(json_array_size(at(view, "grants.0.waits")), 0);
	assert_int_equal(json_object_size(at(view, "grants.0.quarantined")), 0);
	json_decref(view);
	core_node_lost(f->core, "n3");
	release_id(f, id);
	view = explain(f, &slurm, &selector);
	assert_text(view, "grants.0.waits.0.what", "revoke");
	json_decref(view);
	answer_one(f, open_fanout(f), "n1", -EBUSY, "service 5 in use");
	view = explain(f, &root, &selector);
	assert_text(view, "grants.0.state", "released");
	assert_text(view, "grants.0.reason", "request");
	assert_int_equal(json_array_size(at(view, "grants.0.holds")), 3);
	assert_text(view, "grants.0.holds.0.state", "revoking");
	assert_text(view, "grants.0.holds.0.nodes", "n1");
	assert_text(view, "grants.0.holds.1.state", "unreachable");
	assert_text(view, "grants.0.holds.1.nodes", "n3");
	assert_text(view, "grants.0.holds.2.state", "revoked");
	assert_text(view, "grants.0.holds.2.nodes", "n[0,2]");
	assert_text(view, "grants.0.waits.0.what", "confirm");
	assert_text(view, "grants.0.waits.0.nodes", "n[1,3]");
	assert_text(view, "grants.0.waits.0.why",
		    "not reachable: n3; n1: service 5 in use");
	assert_true(json_is_real(at(view, "grants.0.waits.0.since")));
	assert_text(view, "grants.0.quarantined.vni", "1024-1025");
	json_decref(view);
}

static void explain_says_what_is_missing(void **state)
{
	struct fixture *f = *state;
	json_t *view;
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	/* It registers again without the lane. */
	node_up(f, "n1");
	assert_int_equal(part_state(f, id, "n1"), PART_MISSING);
	view = explain(f, &root, &(struct core_selector){ .grant_id = id });
	assert_text(view, "grants.0.holds.0.state", "applied");
	assert_text(view, "grants.0.holds.0.nodes", "n0");
	assert_text(view, "grants.0.holds.1.state", "lost");
	assert_text(view, "grants.0.holds.1.nodes", "n1");
	json_decref(view);
}

static void explain_says_what_is_waited_for(void **state)
{
	struct fixture *f = *state;
	json_t *view;

	nodes_up(f, 1);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	view = explain(f, &root, &(struct core_selector){ .grant_id = 1 });
	assert_text(view, "grants.0.holds.0.state", "pending");
	json_decref(view);
	apply(f, 1);
	view = explain(f, &root, &(struct core_selector){ .grant_id = 1 });
	assert_text(view, "grants.0.waits.0.what", "apply");
	assert_text(view, "grants.0.waits.0.nodes", "n0");
	json_decref(view);
	answer_all(f, open_fanout(f), 0, "");
	/* All grants of a job; why there is nothing. */
	assert_int_equal(reserve(f, "slurm/1/1", "n0", "off"), 0);
	view = explain(f, &root, &(struct core_selector){ .job = "slurm/1" });
	assert_int_equal(json_array_size(at(view, "grants")), 2);
	assert_text(view, "grants.1.reason", "none requested");
	json_decref(view);
}

static void explain_says_that_there_is_nothing_to_apply(void **state)
{
	const struct core_selector selector = { .key = "slurm/1/0" };
	struct fixture *f = *state;
	struct fairlead_error error;
	json_auto_t *view = NULL;
	const json_t *grant;

	nodes_up(f, 1);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", "off"), 0);
	assert_int_equal(apply(f, last_grant(f)), 0);
	assert_int_equal(
		core_view_explain(f->core, &root, &selector, &view, &error), 0);
	grant = json_array_get(json_object_get(view, "grants"), 0);
	assert_string_equal(json_string_value(json_object_get(grant, "state")),
			    "active");
	assert_true(json_is_false(json_object_get(grant, "has_lane")));
	assert_int_equal(json_array_size(json_object_get(grant, "holds")), 0);
}

static void explain_is_for_owners(void **state)
{
	struct fixture *f = *state;
	struct core_selector selector = { .grant_id = 1 };
	struct fairlead_error error;
	json_t *view;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	assert_int_equal(core_view_explain(f->core, &bob, &selector, &view,
					   &error),
			 -EPERM);
	assert_int_equal(core_view_explain(f->core, &flux, &selector, &view,
					   &error),
			 -EPERM);
	selector.grant_id = 2;
	assert_int_equal(core_view_explain(f->core, &root, &selector, &view,
					   &error),
			 -ENOENT);
	assert_string_equal(error.text, "no such grant");
}

/* Is it one item, of that grant, that is gone? */
static void assert_gone(struct fixture *f, const struct core_caller *caller,
			const struct core_selector *selector, uint64_t id,
			const char *key)
{
	json_t *view = explain(f, caller, selector);

	assert_number(view, "grants.0.grant_id", id);
	assert_text(view, "grants.0.state", "gone");
	assert_text(view, "grants.0.key", key);
	assert_int_equal(json_array_size(json_object_get(view, "grants")), 1);
	json_decref(view);
}

static void explain_knows_what_is_gone(void **state)
{
	struct fixture *f = *state;
	struct core_selector by_id = { .grant_id = 1 };
	struct core_selector by_key = { .key = "slurm/1/0" };
	struct core_selector by_job = { .job = "slurm/1" };
	struct fairlead_error error;
	json_t *view;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	release_id(f, 1);
	assert_gone(f, &root, &by_id, 1, "slurm/1/0");
	assert_gone(f, &slurm, &by_key, 1, "slurm/1/0");
	assert_gone(f, &alice, &by_job, 1, "slurm/1/0");
	assert_int_equal(core_view_explain(f->core, &bob, &by_id, &view,
					   &error),
			 -EPERM);
	/* A request that failed left a trace; a live one comes first. */
	assert_int_equal(reserve(f, "slurm/2/0", "n0", "vnis=2,ctxs=9"),
			 -EAGAIN);
	assert_gone(f, &alice, &(struct core_selector){ .job = "slurm/2" }, 2,
		    "slurm/2/0");
	assert_int_equal(reserve(f, "slurm/1/1", "n0", ""), 0);
	view = explain(f, &alice, &by_job);
	assert_number(view, "grants.0.grant_id", 3);
	assert_text(view, "grants.0.state", "reserved");
	assert_int_equal(json_array_size(json_object_get(view, "grants")), 1);
	json_decref(view);
}

static void explain_knows_what_is_gone_without_events(void **state)
{
	struct fixture *f = *state;
	struct core_selector by_id = { .grant_id = 1 };
	struct core_selector by_key = { .key = "slurm/1/0" };
	struct core_selector by_job = { .job = "slurm/1" };
	struct fairlead_error error;
	json_t *view;
	char *changes;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	release_id(f, 1);
	f->config.events_keep = 0;
	assert_int_equal(fixture_configure(f, &changes, &error), 0);
	free(changes);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	release_id(f, 2);
	assert_gone(f, &root, &by_id, 1, "");
	assert_gone(f, &alice, &by_id, 1, "");
	assert_gone(f, &slurm, &by_key, 1, "slurm/1/0");
	assert_int_equal(core_view_explain(f->core, &slurm, &by_id, &view,
					   &error),
			 -EPERM);
	assert_int_equal(core_view_explain(f->core, &root, &by_job, &view,
					   &error),
			 -ENOENT);
}

static void select_finds_what_has_events(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error;
	uint64_t ids[8];

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	release_id(f, 1);
	assert_int_equal(reserve(f, "slurm/1/1", "n0", "refuse"), -EINVAL);
	assert_int_equal(reserve(f, "slurm/1/2", "n0", ""), 0);
	assert_int_equal(reserve(f, "slurm/10/0", "n0", ""), 0);
	assert_int_equal(
		core_select(f->core, &alice,
			    &(struct core_selector){ .job = "slurm/1" }, ids, 8,
			    &error),
		3);
	assert_int_equal(ids[0], 1);
	assert_int_equal(ids[1], 2);
	assert_int_equal(ids[2], 3);
	assert_int_equal(
		core_select(f->core, &slurm,
			    &(struct core_selector){ .key = "slurm/1/0" }, ids,
			    8, &error),
		1);
	assert_int_equal(core_select(f->core, &root,
				     &(struct core_selector){ .grant_id = 2 },
				     ids, 8, &error),
			 1);
	assert_int_equal(
		core_select(f->core, &bob,
			    &(struct core_selector){ .job = "slurm/1" }, ids, 8,
			    &error),
		-EPERM);
	assert_int_equal(core_select(f->core, &root,
				     &(struct core_selector){ .grant_id = 9 },
				     ids, 8, &error),
			 -ENOENT);
	assert_int_equal(
		core_select(f->core, &root,
			    &(struct core_selector){ .job = "slurm/1" }, ids, 2,
			    &error),
		2);
	/* Those of another life as well. */
	fixture_restart(f);
	assert_int_equal(
		core_select(f->core, &alice,
			    &(struct core_selector){ .job = "slurm/1" }, ids, 8,
			    &error),
		3);
}

static void events_of_old_grants_are_forgotten(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error;
	uint64_t ids[8];
	char key[32];

	f->config.events_keep = 3;
	fixture_restart(f);
	for (int i = 1; i <= 8; i++) {
		snprintf(key, sizeof(key), "slurm/%d/0", i);
		assert_int_equal(reserve(f, key, "n0", ""), 0);
		release_key(f, key);
	}
	assert_int_equal(rows(f, STORE_EVENT, 5), 0);
	assert_true(rows(f, STORE_EVENT, 6) > 0);
	assert_int_equal(rows(f, STORE_TOMBSTONE, 0), 8);
	assert_int_equal(
		core_select(f->core, &root,
			    &(struct core_selector){ .key = "slurm/5/0" }, ids,
			    8, &error),
		-ENOENT);
	/* The key is remembered all the same. */
	assert_int_equal(reserve(f, "slurm/5/0", "n0", ""), -ESTALE);
	assert_int_equal(edge_hits(f, "limit:events"), 5);
}

static void quarantine_names_nodes_and_reasons(void **state)
{
	struct fixture *f = *state;
	json_t *view;
	uint64_t first, second;

	nodes_up(f, 3);
	first = quarantined(f, "slurm/1/0", "n[0-1]", "vnis=2");
	second = quarantined(f, "slurm/2/0", "n2", "");
	view = core_view_quarantine(f->core, 0);
	assert_int_equal(json_array_size(at(view, "identifiers")), 3);
	assert_text(view, "identifiers.0.interconnect", "fake");
	assert_text(view, "identifiers.0.pool", "vni");
	assert_number(view, "identifiers.0.id", 1024);
	assert_number(view, "identifiers.1.id", 1025);
	assert_number(view, "identifiers.1.grant_id", (int)first);
	assert_text(view, "identifiers.1.nodes", "n[0-1]");
	assert_text(view, "identifiers.1.why", "n[0-1]: in use");
	assert_true(json_is_real(at(view, "identifiers.1.since")));
	/* The keys of others are nobody's business. */
	assert_null(json_object_get(at(view, "identifiers.0"), "key"));
	json_decref(view);
	view = core_view_quarantine(f->core, first);
	assert_int_equal(json_array_size(at(view, "identifiers")), 1);
	assert_number(view, "identifiers.0.grant_id", (int)second);
	json_decref(view);
}

static void nodes_show_what_they_owe_and_withhold(void **state)
{
	struct fixture *f = *state;
	uint32_t ids[] = { 1030, 1031 };
	struct core_inventory_grant grant = { .grant_id = 4242,
					      .state = 2,
					      .driver = "fake",
					      .id_count = 2,
					      .ids = ids };
	struct fairlead_error error;
	char *changes;
	json_t *view;

	nodes_up(f, 2);
	quarantined(f, "slurm/1/0", "n1", "");
	node_up_with(f, "n0", &grant, 1);
	core_node_drain(f->core, "n2", true, "dust", 1);
	f->config.nodes = "n0,n[2-9]";
	assert_int_equal(fixture_configure(f, &changes, &error), 0);
	free(changes);
	view = core_view_nodes(f->core, &root, NULL);
	assert_int_equal(json_array_size(at(view, "nodes")), 10);
	assert_text(view, "nodes.0.name", "n0");
	assert_text(view, "nodes.0.state", "up");
	assert_text(view, "nodes.0.incarnation",
		    "6e300000000000000000000000000001");
	assert_text(view, "nodes.0.version", "1.0");
	assert_true(json_is_false(at(view, "nodes.0.drained")));
	assert_number(view, "nodes.0.grants", 0);
	assert_text(view, "nodes.0.withheld.0.interconnect", "fake");
	assert_text(view, "nodes.0.withheld.0.ids.vni", "1030-1031");
	assert_text(view, "nodes.0.withheld.0.why",
		    "grant 4242 is not known to the manager");
	assert_text(view, "nodes.1.state", "leaving");
	assert_number(view, "nodes.1.grants", 1);
	assert_number(view, "nodes.1.pending", 1);
	assert_text(view, "nodes.2.state", "down");
	assert_text(view, "nodes.2.incarnation", "");
	assert_true(json_is_true(at(view, "nodes.2.drained")));
	assert_text(view, "nodes.2.reason", "dust");
	json_decref(view);
	view = core_view_nodes(f->core, &root, "n7");
	assert_int_equal(json_array_size(at(view, "nodes")), 2);
	assert_text(view, "nodes.0.name", "n8");
	json_decref(view);
}

static void many_nodes_go_on_after_a_name(void **state)
{
	struct fixture *f = *state;
	const char *after = NULL;
	char name[32] = "";
	size_t count = 0, pages = 0;

	f->config.nodes = "m[0-4999]";
	fixture_restart(f);
	do {
		json_t *view = core_view_nodes(f->core, &root, after);
		json_t *nodes = json_object_get(view, "nodes");
		char *text = json_dumps(view, JSON_COMPACT);

		assert_true(strlen(text) < 1000000);
		free(text);
		count += json_array_size(nodes);
		pages++;
		snprintf(name, sizeof(name), "%s",
			 json_string_value(json_object_get(
				 json_array_get(nodes,
						json_array_size(nodes) - 1),
				 "name")));
		after = json_object_get(view, "more") == NULL ? NULL : name;
		json_decref(view);
	} while (after != NULL);
	assert_int_equal(count, 5000);
	assert_true(pages > 1);
	assert_string_equal(name, "m4999");
}

/* --- metrics --- */

static void metrics_count_and_measure(void **state)
{
	struct fixture *f = *state;
	struct writer out = { 0 };
	const char *lines;
	uint64_t id;

	nodes_up(f, 2);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	id = last_grant(f);
	apply(f, id);
	fixture_advance(f, 40);
	answer_all(f, open_fanout(f), 0, "");
	release_id(f, id);
	fixture_advance(f, 700);
	answer_all(f, open_fanout(f), -EBUSY, "in use");
	assert_int_equal(reserve(f, "slurm/2/0", "n0", "vnis=16"), -EAGAIN);
	fixture_advance(f, 2960);
	assert_int_equal(reserve(f, "slurm/3/0", "n1", "vnis=0,ctxs=1"), 0);
	id = last_grant(f);
	apply(f, id);
	fixture_advance(f, 40);
	answer_all(f, open_fanout(f), 0, "");
	release_id(f, id);
	answer_all(f, open_fanout(f), -EBUSY, "in use");
	fixture_advance(f, 2000);
	core_metrics(f->core, &out);
	write_u8(&out, 0);
	lines = (const char *)out.data;
	assert_contains(lines, "fairlead_identifiers{interconnect=\"fake\""
			       ",pool=\"vni\",set=\"quarantined\"} 1\n");
	assert_contains(lines, "set=\"free\"} 15\n");
	assert_contains(lines, "fairlead_quarantined_grants 2\n");
	assert_contains(lines,
			"fairlead_quarantine_oldest_seconds{interconnect="
			"\"fake\",pool=\"vni\"} 5.000\n");
	assert_contains(lines,
			"fairlead_quarantine_oldest_seconds{interconnect="
			"\"fake\",pool=\"ctx\"} 2.000\n");
	assert_contains(lines, "fairlead_grants{state=\"released\"} 2\n");
	assert_contains(lines, "fairlead_nodes{state=\"up\"} 2\n");
	assert_contains(lines, "fairlead_nodes{state=\"down\"} 8\n");
	assert_contains(lines, "fairlead_operations_total{operation="
			       "\"reserve\",result=\"done\"} 2\n");
	assert_contains(lines, "fairlead_operations_total{operation="
			       "\"reserve\",result=\"failed\"} 1\n");
	assert_contains(lines, "fairlead_registrations_total 2\n");
	assert_contains(lines,
			"fairlead_apply_seconds_bucket{le=\"0.025\"} 0\n");
	assert_contains(lines,
			"fairlead_apply_seconds_bucket{le=\"0.05\"} 2\n");
	assert_contains(lines,
			"fairlead_apply_seconds_bucket{le=\"+Inf\"} 2\n");
	assert_contains(lines, "fairlead_apply_seconds_sum 0.080\n");
	assert_contains(lines, "fairlead_revoke_seconds_bucket{le=\"1\"} 2\n");
	assert_contains(lines, "fairlead_recovering 0\n");
	writer_fini(&out);
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(status_counts),
		T(pools_are_sets),
		T(list_is_by_grant_id_and_owner),
		T(a_filter_that_finds_nothing_ever_is_refused),
		T(list_is_filtered_and_paged),
		T(a_long_list_fits_into_an_answer),
		T(a_list_looks_at_so_many_grants),
		T(explain_says_where_and_why),
		T(explain_says_what_is_missing),
		T(explain_says_what_is_waited_for),
		T(explain_says_that_there_is_nothing_to_apply),
		T(explain_is_for_owners),
		T(explain_knows_what_is_gone),
		T(explain_knows_what_is_gone_without_events),
		T(select_finds_what_has_events),
		T(events_of_old_grants_are_forgotten),
		T(quarantine_names_nodes_and_reasons),
		T(nodes_show_what_they_owe_and_withhold),
		T(many_nodes_go_on_after_a_name),
		T(metrics_count_and_measure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
