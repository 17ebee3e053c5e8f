/* SPDX-License-Identifier: BSD-3-Clause */
/* What clients and nodes do to the fixture's core. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "lanes/manager/core/grant.h"
#include "lanes/manager/core/test/fixture.h"
#include "lanes/proto/request.h"

const struct core_caller root = { .uid = 0, .is_root = true };
const struct core_caller slurm = { .uid = 64030, .submitter = "slurm" };
const struct core_caller flux = { .uid = 64031, .submitter = "flux" };
const struct core_caller alice = { .uid = 1001 };
const struct core_caller bob = { .uid = 1002 };

/* --- nodes --- */

void node_incarnation(const struct fixture *fixture, const char *node,
		      uint8_t incarnation[16])
{
	memset(incarnation, 0, 16);
	memcpy(incarnation, node, strlen(node) < 8 ? strlen(node) : 8);
	incarnation[15] = (uint8_t)(fixture->boots[node[1] - '0'] + 1);
}

static void place_of(const struct fixture *fixture,
		     struct core_registration *registration,
		     struct core_inventory_place *place)
{
	const char *text = fixture->places[registration->node[1] - '0'];

	if (text == NULL)
		return;
	*place = (struct core_inventory_place){
		.driver = "fake",
		.place.size = strlen(text),
	};
	memcpy(place->place.bytes, text, place->place.size);
	registration->places = place;
	registration->place_count = 1;
}

void node_observe(struct fixture *fixture, const char *node)
{
	struct core_registration seen = { .node = node };
	struct core_inventory_place place;
	struct fairlead_error error = { 0 };

	node_incarnation(fixture, node, seen.incarnation);
	place_of(fixture, &seen, &place);
	if (core_observe(fixture->core, &seen, &error) < 0)
		fail_msg("%s was not observed: %s", node, error.text);
}

void node_up_with(struct fixture *fixture, const char *node,
		  const struct core_inventory_grant *grants, size_t count)
{
	struct core_registration registration = {
		.node = node,
		.version = "1.0",
		.grants = grants,
		.grant_count = count,
	};
	struct core_inventory_place place;
	struct fairlead_error error = { 0 };

	node_incarnation(fixture, node, registration.incarnation);
	place_of(fixture, &registration, &place);
	if (core_register(fixture->core, &registration, &error) < 0)
		fail_msg("%s was refused: %s", node, error.text);
}

void node_up(struct fixture *fixture, const char *node)
{
	node_up_with(fixture, node, NULL, 0);
}

void nodes_up(struct fixture *fixture, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char name[24];

		snprintf(name, sizeof(name), "n%zu", i);
		node_up(fixture, name);
	}
}

void node_boot(struct fixture *fixture, const char *node)
{
	fixture->boots[node[1] - '0']++;
}

struct core_inventory_grant inventory_of(struct fixture *fixture,
					 uint64_t grant_id)
{
	struct job *job = jobs_find(&fixture->core->jobs, grant_id);

	assert_non_null(job);
	assert_true(job->id_count <= FIXTURE_IDS_MAX);
	memcpy(fixture->held_ids, job->ids, job->id_count * sizeof(*job->ids));
	return (struct core_inventory_grant){
		.grant_id = grant_id,
		.state = 2,
		.driver = core_interconnect(fixture->core, job)->driver->name,
		.id_count = job->id_count,
		.ids = fixture->held_ids,
	};
}

void confirm(struct fixture *fixture, const char *node, uint64_t grant_id,
	     int result, const char *text)
{
	struct core_confirmation confirmation = {
		.node = node,
		.grant_id = grant_id,
		.sequence = ++fixture->last_token,
		.result = result,
		.text = text,
	};
	size_t acks = fixture->ack_count;

	node_incarnation(fixture, node, confirmation.incarnation);
	core_confirm(fixture->core, &confirmation);
	assert_true(fixture->is_failing || fixture->ack_count == acks + 1);
}

/* --- clients --- */

const struct given_reply *reply_to(const struct fixture *fixture,
				   uint64_t token)
{
	const struct given_reply *found = NULL;

	for (size_t i = 0; i < fixture->reply_count; i++) {
		if (fixture->replies[i].token != token)
			continue;
		assert_null(found);
		found = &fixture->replies[i];
	}
	return found;
}

const struct given_reply *last_reply(const struct fixture *fixture)
{
	assert_true(fixture->reply_count > 0);
	return &fixture->replies[fixture->reply_count - 1];
}

static int result_of(const struct fixture *fixture, uint64_t token)
{
	const struct given_reply *reply = reply_to(fixture, token);

	return reply == NULL ? -EINPROGRESS : reply->result;
}

uint64_t last_grant(const struct fixture *fixture)
{
	const json_t *members = last_reply(fixture)->members;

	return (uint64_t)json_integer_value(
		json_object_get(members, "grant_id"));
}

int reserve_as(struct fixture *fixture, const struct core_caller *caller,
	       const char *interconnect, const char *key, const char *nodes,
	       const char *options)
{
	_auto_(request_destroyp) struct request *request = NULL;
	json_t *json =
		json_pack("{s:s, s:i, s:i, s:s, s:s}", "key", key, "uid", 1001,
			  "gid", 100, "nodes", nodes, "options", options);
	struct fairlead_error error = { 0 };
	uint64_t token = ++fixture->last_token;

	if (request_parse_json(json, interconnect, &request, &error) < 0)
		fail_msg("no request: %s", error.text);
	json_decref(json);
	core_reserve(fixture->core, caller, request, token);
	return result_of(fixture, token);
}

int reserve(struct fixture *fixture, const char *key, const char *nodes,
	    const char *options)
{
	return reserve_as(fixture, &root, "fake", key, nodes, options);
}

int apply(struct fixture *fixture, uint64_t grant_id)
{
	core_apply(fixture->core, &root, grant_id, ++fixture->last_token);
	return result_of(fixture, fixture->last_token);
}

static int release_selected(struct fixture *fixture,
			    const struct core_selector *selector)
{
	core_release(fixture->core, &slurm, selector, 0, ++fixture->last_token);
	return result_of(fixture, fixture->last_token);
}

int release_id(struct fixture *fixture, uint64_t grant_id)
{
	return release_selected(
		fixture, &(struct core_selector){ .grant_id = grant_id });
}

int release_key(struct fixture *fixture, const char *key)
{
	return release_selected(fixture, &(struct core_selector){ .key = key });
}

int release_job(struct fixture *fixture, const char *job)
{
	return release_selected(fixture, &(struct core_selector){ .job = job });
}

uint64_t active(struct fixture *fixture, const char *key, const char *nodes,
		const char *options)
{
	uint64_t grant_id;

	assert_int_equal(reserve(fixture, key, nodes, options), 0);
	grant_id = last_grant(fixture);
	assert_int_equal(apply(fixture, grant_id), -EINPROGRESS);
	answer_all(fixture, open_fanout(fixture), 0, "");
	assert_int_equal(last_reply(fixture)->result, 0);
	assert_int_equal(job_state(fixture, grant_id), JOB_ACTIVE);
	return grant_id;
}

/* --- fan-outs --- */

size_t open_fanouts(const struct fixture *fixture)
{
	size_t count = 0;

	for (size_t i = 0; i < fixture->fanout_count; i++)
		count += !fixture->fanouts[i].is_answered;
	return count;
}

struct given_fanout *open_fanout(struct fixture *fixture)
{
	for (size_t i = fixture->fanout_count; i-- > 0;)
		if (!fixture->fanouts[i].is_answered)
			return &fixture->fanouts[i];
	fail_msg("no fan-out is open");
	return NULL;
}

void answer_with(struct fixture *fixture, struct given_fanout *fanout,
		 const struct core_answer *answers, size_t count)
{
	/* Before: the core may start others, and the list move. */
	fanout->is_answered = true;
	core_fanout_done(fixture->core, fanout->id, answers, count);
}

static void answer(struct fixture *fixture, struct given_fanout *fanout,
		   const char *other, int result, const char *text)
{
	size_t count = fanout->node_count;
	struct core_answer *answers = memory_array(count, sizeof(*answers));

	for (size_t i = 0; i < count; i++) {
		bool is_other =
			other == NULL || strcmp(fanout->names[i], other) == 0;

		answers[i].node = fanout->names[i];
		answers[i].result = is_other ? result : 0;
		answers[i].text = is_other ? text : "";
		node_incarnation(fixture, fanout->names[i],
				 answers[i].incarnation);
	}
	answer_with(fixture, fanout, answers, count);
	free(answers);
}

void answer_all(struct fixture *fixture, struct given_fanout *fanout,
		int result, const char *text)
{
	answer(fixture, fanout, NULL, result, text);
}

void answer_one(struct fixture *fixture, struct given_fanout *fanout,
		const char *node, int result, const char *text)
{
	answer(fixture, fanout, node, result, text);
}

/* --- looking --- */

const char *vnis(const struct fixture *fixture, const char *set)
{
	static char text[1024];
	json_t *view = core_view_pools(fixture->core);
	const char *found = NULL;

	json_unpack(view, "{s:{s:{s:{s:s}}}}", "pools", "fake", "vni", set,
		    &found);
	assert_non_null(found);
	snprintf(text, sizeof(text), "%s", found);
	json_decref(view);
	return text;
}

enum job_state job_state(const struct fixture *fixture, uint64_t grant_id)
{
	const struct job *job = jobs_find(&fixture->core->jobs, grant_id);

	assert_non_null(job);
	return (enum job_state)job->state;
}

bool is_gone(const struct fixture *fixture, uint64_t grant_id)
{
	return jobs_find(&fixture->core->jobs, grant_id) == NULL &&
	       tombstones_find_id(&fixture->core->tombstones, grant_id) != NULL;
}

enum part_state part_state(const struct fixture *fixture, uint64_t grant_id,
			   const char *node)
{
	const struct job *job = jobs_find(&fixture->core->jobs, grant_id);

	assert_non_null(job);
	return (enum part_state)job_part(
		       job, nodes_find(&fixture->core->nodes, node)->index)
		->state;
}

void assert_contains(const char *text, const char *part)
{
	assert_non_null(text);
	if (strstr(text, part) == NULL)
		fail_msg("'%s' is not in '%s'", part, text);
}

uint64_t released_busy(struct fixture *fixture, const char *key,
		       const char *nodes, const char *options)
{
	uint64_t id = active(fixture, key, nodes, options);

	assert_int_equal(release_id(fixture, id), -EINPROGRESS);
	answer_all(fixture, open_fanout(fixture), -EBUSY, "in use");
	assert_int_equal(job_state(fixture, id), JOB_RELEASED);
	return id;
}

/* --- external reservations --- */

struct given_outside *open_outside(struct fixture *fixture, uint8_t verb)
{
	for (size_t i = 0; i < fixture->outside_count; i++)
		if (fixture->outsides[i].verb == verb &&
		    !fixture->outsides[i].is_ended)
			return &fixture->outsides[i];
	return NULL;
}

void outside_end(struct fixture *fixture, struct given_outside *outside,
		 int result, const char *text)
{
	const struct outside_end end = {
		.result = result,
		.is_reached = result != -EAGAIN,
		.text = text,
		.secret = (const uint8_t *)text,
		.secret_size = result == 0 ? strlen(text) : 0,
	};

	assert_non_null(outside);
	outside->is_ended = true;
	core_outside_done(fixture->core, outside->id, &end);
}
