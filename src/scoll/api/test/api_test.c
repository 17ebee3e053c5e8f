/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions and types of scoll.h, each by its use, on five instances in
 * this process. The provider is the program's argument.
 */
#include "scoll.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scoll/api/test/crowd.h"
#include "sys/test/watchdog.h"

#define COUNT 5
#define OOB   9 /* a service with out-of-band groups */

static const char *provider = "tcp;ofi_rxm";
static struct person people[COUNT];
static scoll_group_t *group;

static int open_all(enum scoll_discovery discovery)
{
	const char *host = "127.0.0.1";

	watchdog_start(NULL);
	group = NULL;
	for (int i = 0; i < COUNT; i++)
		person_open(&people[i], i, provider, host, NULL, discovery);
	crowd_meet(people, COUNT);
	return 0;
}

static int setup(void **state)
{
	return open_all(SCOLL_DISCOVERY_GIVEN);
}

static int setup_gossip(void **state)
{
	crowd_gossip_count = COUNT;
	return open_all(SCOLL_DISCOVERY_GOSSIP);
}

static int teardown(void **state)
{
	for (int i = 0; i < COUNT; i++) {
		if (people[i].scoll != NULL)
			person_close(&people[i]);
	}
	watchdog_stop();
	return 0;
}

static void run(const char *text, unsigned flags, struct outcome *outcome)
{
	assert_int_equal(crowd_send(&people[0], group, text, (int)strlen(text),
				    NULL, 0, flags, outcome),
			 0);
	crowd_until(people, COUNT, &outcome->is_done);
}

static void is_success(const struct outcome *outcome, const char *text)
{
	assert_int_equal(outcome->status, 0);
	assert_int_equal(outcome->failure_count, 0);
	assert_int_equal(outcome->tally.node_count, COUNT);
	assert_int_equal(outcome->tally.entity_count, COUNT + 1);
	assert_int_equal(outcome->tally.nid_sum, COUNT * 0x0a000001ul + 10);
	assert_int_equal(outcome->tally.payload_sum,
			 COUNT * crowd_sum(text, strlen(text)));
}

/* --- functions --- */

static void service_F01_F02_has_an_id_of_its_own(void **state)
{
	struct scoll_service_ops ops = crowd_service;
	scoll_t *scoll = people[0].scoll;

	assert_int_equal(scoll_service_register(scoll, CROWD_SERVICE, &ops,
						NULL),
			 -EEXIST);
	assert_int_equal(scoll_service_register(scoll, 8, &ops, NULL), 0);
	assert_int_equal(scoll_service_register(scoll, 0, &ops, NULL), -EINVAL);
	ops.post_reply = NULL;
	assert_int_equal(scoll_service_register(scoll, 10, &ops, NULL),
			 -EINVAL);
	assert_int_equal(scoll_service_unregister(scoll, 8), 0);
	assert_int_equal(scoll_service_unregister(scoll, 8), -ENOENT);
	group = crowd_group(people, COUNT, 0, false);
	assert_int_equal(scoll_service_unregister(scoll, CROWD_SERVICE),
			 -EBUSY);
	scoll_group_destroy(group);
	assert_int_equal(scoll_service_unregister(scoll, CROWD_SERVICE), 0);
}

static void never(int status, scoll_group_t *made, const void *private)
{
	fail_msg("a group callback that must not come: %d", status);
}

static void group_F03_T06_is_made_delayed_or_at_once(void **state)
{
	static const scoll_tag_t tag = { "tag" };
	const scoll_target_t target = { people[0].nid, &tag, 1 };
	struct outcome outcome;

	for (int i = 0; i < 2; i++) {
		group = crowd_group(people, COUNT, 0, i == 1);
		assert_string_equal(scoll_group_name(group), "crowd");
		assert_non_null(scoll_group_private(group));
		assert_int_equal(scoll_group_nodes(group), COUNT);
		assert_int_equal(scoll_group_entities(group), COUNT + 1);
		run("hello", 0, &outcome);
		is_success(&outcome, "hello");
		scoll_group_destroy(group);
	}
	assert_int_equal(scoll_group_create(people[0].scoll, 99, "x", &target,
					    1, 0, false, never, NULL),
			 -ENOENT);
	assert_int_equal(scoll_group_create(people[0].scoll, CROWD_SERVICE, "x",
					    &target, 0, 0, false, never, NULL),
			 -EINVAL);
}

static int oob_members(void *private, const scoll_oobgrp_id_t *oobid,
		       const scoll_target_t **ret_targets)
{
	static const scoll_tag_t tags[2] = { { "a" }, { "b" } };
	static scoll_target_t targets[COUNT];

	if (oobid->bytes[0] != 'x')
		return -ENOENT;
	for (int i = 0; i < COUNT; i++)
		targets[i] =
			(scoll_target_t){ crowd_nid(i), tags, i == 1 ? 2 : 1 };
	*ret_targets = targets;
	return COUNT;
}

static void oob_F04_T06_group_works_as_any_other(void **state)
{
	struct scoll_service_ops ops = crowd_service;
	scoll_oobgrp_id_t oobid = { .svid = OOB, .bytes = "x" };
	struct outcome outcome;

	assert_null(scoll_oob_group_create(people[0].scoll, CROWD_SERVICE, "o",
					   oobid, 0, NULL));
	ops.oobgrp = oob_members;
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(scoll_service_register(people[i].scoll, OOB,
							&ops, &people[i]),
				 0);
	group = scoll_oob_group_create(people[0].scoll, OOB, "o", oobid, 0,
				       &outcome);
	assert_non_null(group);
	assert_string_equal(scoll_group_name(group), "o");
	assert_ptr_equal(scoll_group_private(group), &outcome);
	assert_int_equal(scoll_group_nodes(group), COUNT);
	assert_int_equal(scoll_group_entities(group), COUNT + 1);
	assert_int_equal(scoll_get_nchildren(group), 3);
	run("oob", 0, &outcome);
	is_success(&outcome, "oob");
	scoll_group_destroy(group);
}

static void bcast_F05_new_says_what_is_wrong(void **state)
{
	static char text[SCOLL_BCAST_MAX];
	struct iovec iov = { text, 10 };
	scoll_request_t *request;

	group = crowd_group(people, COUNT, 0, false);
	errno = 0;
	assert_null(scoll_bcast_new(group, text, sizeof(text), NULL, 0, 0, 0,
				    NULL));
	assert_int_equal(errno, EMSGSIZE);
	assert_null(scoll_bcast_new(group, NULL, 5, NULL, 0, 0, 0, NULL));
	assert_int_equal(errno, EINVAL);
	assert_null(scoll_bcast_new(group, text, 1, &iov,
				    SCOLL_BULK_IOVS_MAX + 1, 0, 0, NULL));
	assert_true(errno == EINVAL || errno == E2BIG);
	assert_null(scoll_bcast_new_subset(group, NULL, 1, text, 1, NULL, 0, 0,
					   0, NULL));
	assert_int_equal(errno, EINVAL);
	assert_null(scoll_bcast_new_subset(group, &(scoll_nid_t){ 12345 }, 1,
					   text, 1, NULL, 0, 0, 0, NULL));
	assert_int_equal(errno, ENOENT);
	request = scoll_bcast_new(group, text, 100, &iov, 1, 0, 5000, &iov);
	assert_non_null(request);
	assert_int_equal(request->srq_len, 100);
	assert_int_equal(request->srq_bulk_len, 10);
	assert_int_equal(request->srq_service_timeout, 5000);
	assert_ptr_equal(request->srq_private, &iov);
	scoll_request_free(request);
	scoll_group_destroy(group);
}

static void children_F06_F07_F08_are_those_of_the_tree(void **state)
{
	scoll_request_t *request;
	struct outcome outcome;
	int nodes = 0, entities = 0, count;

	/* Binomial of 5: 0 -> 1, 2, 4; 2 -> 3. Deepest first: 2, 4, 1. */
	group = crowd_group(people, COUNT, 0, true);
	count = scoll_get_nchildren(group);
	assert_int_equal(count, 3);
	assert_int_equal(scoll_get_childtree_nodes(group, 0), 2);
	assert_int_equal(scoll_get_childtree_nodes(group, 1), 1);
	assert_int_equal(scoll_get_childtree_nodes(group, 2), 1);
	assert_int_equal(scoll_get_childtree_entities(group, 2), 2);
	assert_true(scoll_get_childtree_nodes(group, 3) < 0);
	assert_true(scoll_get_childtree_entities(group, -1) < 0);
	request =
		crowd_request(&people[0], group, "x", 1, NULL, 0, 0, &outcome);
	assert_int_equal(scoll_request_nchildren(request), count);
	assert_int_equal(scoll_request_child_nid(request, 0), crowd_nid(2));
	assert_int_equal(scoll_request_child_nid(request, 1), crowd_nid(4));
	assert_int_equal(scoll_request_child_nid(request, 2), crowd_nid(1));
	for (int i = 0; i < count; i++) {
		nodes += scoll_request_childtree_nodes(request, i);
		entities += scoll_request_childtree_entities(request, i);
	}
	assert_int_equal(nodes, COUNT - 1);
	assert_int_equal(entities, COUNT);
	assert_int_equal(scoll_request_depth(request), 2);
	assert_true(scoll_request_is_root(request));
	assert_int_equal(scoll_request_root(request), people[0].nid);
	assert_ptr_equal(scoll_request_group(request), group);
	assert_ptr_equal(scoll_request_service(request), &people[0]);
	assert_ptr_equal(scoll_request_instance(request), people[0].scoll);
	assert_int_equal(scoll_bcast_send(request), 0);
	crowd_until(people, COUNT, &outcome.is_done);
	is_success(&outcome, "x");
	scoll_group_destroy(group);
}

static void buffer_F09_is_needed_for_each_child_before_F10_send(void **state)
{
	scoll_request_t *request;
	struct outcome outcome;
	struct work *work;
	char buffer[8];

	group = crowd_group(people, COUNT, 0, false);
	request = scoll_bcast_new(group, "x", 1, NULL, 0, 0, 0, NULL);
	assert_non_null(request);
	assert_int_equal(scoll_bcast_send(request), -EINVAL);
	assert_int_equal(scoll_reply_buffer_post(3, buffer, 8, request, NULL),
			 -EINVAL);
	assert_int_equal(scoll_reply_buffer_post(-1, buffer, 8, request, NULL),
			 -EINVAL);
	assert_int_equal(scoll_reply_buffer_post(0, buffer, 8, request, NULL),
			 0);
	assert_int_equal(scoll_bcast_send(request), -EINVAL);
	scoll_request_free(request);
	request =
		crowd_request(&people[0], group, "x", 1, NULL, 0, 0, &outcome);
	work = request->srq_private;
	assert_int_equal(scoll_bcast_send(request), 0);
	assert_int_equal(scoll_reply_buffer_post(0, buffer, 8, request, work),
			 -EINVAL);
	crowd_until(people, COUNT, &outcome.is_done);
	is_success(&outcome, "x");
	scoll_group_destroy(group);
}

static void reply_F11_is_given_once(void **state)
{
	struct outcome outcome;
	struct tally tally = { .node_count = 1 };

	group = crowd_group(people, COUNT, 0, false);
	people[1].is_mute = true;
	assert_int_equal(
		crowd_send(&people[0], group, "x", 1, NULL, 0, 0, &outcome), 0);
	while (people[1].last == NULL) {
		for (int i = 0; i < COUNT; i++)
			scoll_progress(people[i].scoll);
	}
	assert_int_equal(scoll_reply(people[1].last, &tally, sizeof(tally)), 0);
	assert_int_equal(scoll_reply(people[1].last, &tally, sizeof(tally)),
			 -EALREADY);
	crowd_until(people, COUNT, &outcome.is_done);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.tally.node_count, COUNT);
	assert_int_equal(outcome.tally.entity_count, COUNT - 1);
	people[1].is_mute = false;
	scoll_group_destroy(group);
}

static void abort_F12_ends_it_with_what_is_missing(void **state)
{
	scoll_request_t *request;
	struct outcome outcome;

	group = crowd_group(people, COUNT, 0, true);
	people[3].is_mute = true;
	request =
		crowd_request(&people[0], group, "x", 1, NULL, 0, 0, &outcome);
	assert_int_equal(scoll_bcast_send(request), 0);
	while (people[3].last == NULL || people[4].out_count == 0 ||
	       people[1].out_count == 0) {
		for (int i = 0; i < COUNT; i++)
			scoll_progress(people[i].scoll);
	}
	assert_false(outcome.is_done);
	scoll_bcast_abort(request);
	assert_false(outcome.is_done);
	crowd_until(people, COUNT, &outcome.is_done);
	assert_int_equal(outcome.status, -EREMOTEIO);
	assert_int_equal(outcome.last_status, -ECANCELED);
	assert_int_equal(outcome.last_type, SCOLL_ERROR_ABORTED);
	/* Node 3 ends when its request is over there, too. */
	people[3].is_mute = false;
	scoll_group_destroy(group);
}

/* --- the older names of the document's protocol part --- */

static scoll_group_t *older_group_create(struct person *person,
					 const scoll_target_t *members,
					 int count,
					 scoll_create_group_cb_t completion)
{
	scoll_group_t *made = NULL;

	assert_int_equal(scoll_group_create(person->scoll, CROWD_SERVICE, "old",
					    members, count, 0, false,
					    completion, &made),
			 0);
	return made;
}

static void older_completion(int status, scoll_group_t *made,
			     const void *private)
{
	assert_int_equal(status, 0);
	*(scoll_group_t **)private = made;
}

static int older_bcast(scoll_group_t *group_id, scoll_request_t *request,
		       unsigned flags)
{
	assert_ptr_equal(scoll_request_group(request), group_id);
	assert_int_equal(flags, 0);
	return scoll_bcast_send(request);
}

static void older_names_F13_map_onto_these(void **state)
{
	static const scoll_tag_t tag = { "tag" };
	/* pre_request_handler, incoming_request_handler, ... */
	const struct scoll_service_ops handlers = {
		.size = sizeof(handlers),
		.pre_request = crowd_service.pre_request,
		.incoming_request = crowd_service.incoming_request,
		.incoming_reply = crowd_service.incoming_reply,
		.post_reply = crowd_service.post_reply,
		.reply_out = crowd_service.reply_out,
		.oobgrp = oob_members,
	};
	scoll_target_t members[COUNT];
	struct outcome outcome;

	for (int i = 0; i < COUNT; i++) {
		members[i] = (scoll_target_t){ crowd_nid(i), &tag, 1 };
		assert_int_equal(scoll_service_unregister(people[i].scoll,
							  CROWD_SERVICE),
				 0);
		assert_int_equal(scoll_service_register(people[i].scoll,
							CROWD_SERVICE,
							&handlers, &people[i]),
				 0);
	}
	group = older_group_create(&people[0], members, COUNT,
				   older_completion);
	assert_int_equal(older_bcast(group,
				     crowd_request(&people[0], group, "old", 3,
						   NULL, 0, 0, &outcome),
				     0),
			 0);
	crowd_until(people, COUNT, &outcome.is_done);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.tally.node_count, COUNT);
	scoll_group_destroy(group);
}

/* --- what is implied --- */

static void subset_F14_is_those_who_are_named_or_live(void **state)
{
	scoll_nid_t nids[] = { crowd_nid(1), crowd_nid(4) };
	scoll_request_t *request;
	struct outcome outcome;
	struct work *work;

	group = crowd_group(people, COUNT, 0, true);
	work = calloc(1, sizeof(*work));
	work->person = &people[0];
	work->outcome = &outcome;
	memset(&outcome, 0, sizeof(outcome));
	request = scoll_bcast_new_subset(group, nids, 2, "s", 1, NULL, 0, 0,
					 1000000000, work);
	assert_non_null(request);
	work->request = request;
	crowd_buffers_post(request, work);
	assert_int_equal(scoll_bcast_send(request), 0);
	crowd_until(people, COUNT, &outcome.is_done);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.tally.node_count, 2);
	assert_int_equal(outcome.tally.nid_sum, 0x0a000002ul + 0x0a000005ul);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(scoll_peer_set(people[i].scoll, crowd_nid(3),
						SCOLL_DEAD),
				 0);
	assert_int_equal(crowd_send(&people[0], group, "x", 1, NULL, 0, 0,
				    &outcome),
			 -EHOSTDOWN);
	run("live", SCOLL_ALIVE_ONLY, &outcome);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.tally.node_count, COUNT - 1);
	scoll_group_destroy(group);
}

struct seen {
	int count;
	scoll_nid_t nid;
	enum scoll_liveness news;
	bool has_run;
};

static void notified(void *ctx, scoll_nid_t nid, enum scoll_liveness news)
{
	struct seen *seen = ctx;

	seen->count++;
	seen->nid = nid;
	seen->news = news;
	seen->has_run = true;
}

static void discovery_F14_given_is_set_asked_and_notified(void **state)
{
	scoll_t *scoll = people[0].scoll;
	struct seen seen = { .count = 0 };

	assert_int_equal(scoll_peer_query(scoll, crowd_nid(1)), SCOLL_ALIVE);
	assert_int_equal(scoll_peer_deaths(scoll, crowd_nid(1)), 0);
	assert_false(scoll_is_stealthy(scoll));
	scoll_peer_notify(scoll, notified, &seen);
	assert_int_equal(scoll_peer_set(scoll, crowd_nid(1), SCOLL_DEAD), 0);
	assert_int_equal(seen.count, 0); /* not from inside */
	crowd_until(people, 1, &seen.has_run);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.nid, crowd_nid(1));
	assert_int_equal(seen.news, SCOLL_DEAD);
	assert_int_equal(scoll_peer_query(scoll, crowd_nid(1)), SCOLL_DEAD);
	assert_int_equal(scoll_peer_deaths(scoll, crowd_nid(1)), 1);
	seen.has_run = false;
	assert_int_equal(scoll_peer_set(scoll, crowd_nid(1), SCOLL_ALIVE), 0);
	crowd_until(people, 1, &seen.has_run);
	assert_int_equal(seen.news, SCOLL_ALIVE);
	seen.has_run = false;
	assert_int_equal(scoll_peer_set(scoll, crowd_nid(1), SCOLL_REBOOTED),
			 0);
	crowd_until(people, 1, &seen.has_run);
	assert_int_equal(seen.news, SCOLL_REBOOTED);
	assert_int_equal(scoll_peer_deaths(scoll, crowd_nid(1)), 2);
	assert_int_equal(scoll_peer_query(scoll, crowd_nid(1)), SCOLL_ALIVE);
	scoll_peer_notify(scoll, NULL, NULL);
	assert_int_equal(scoll_peer_set(scoll, crowd_nid(1),
					(enum scoll_liveness)7),
			 -EINVAL);
}

static void gossip_F14_members_find_each_other_and_a_death(void **state)
{
	struct seen seen = { .count = 0 };
	struct outcome outcome;
	scoll_nid_t nids[COUNT];
	bool is_over = false;

	for (int i = 0; i < COUNT; i++)
		nids[i] = crowd_nid(i);
	for (int i = 0; i < COUNT; i++) {
		assert_true(scoll_is_stealthy(people[i].scoll));
		assert_int_equal(scoll_peer_set(people[i].scoll, nids[0],
						SCOLL_DEAD),
				 -EOPNOTSUPP);
	}
	while (!is_over) {
		is_over = true;
		for (int i = 0; i < COUNT; i++) {
			scoll_wait(people[i].scoll, 1000000);
			is_over &= !scoll_is_stealthy(people[i].scoll);
			for (int j = 0; j < COUNT; j++)
				is_over &= scoll_peer_query(people[i].scoll,
							    nids[j]) ==
					   SCOLL_ALIVE;
		}
	}
	group = crowd_group(people, COUNT, 0, true);
	run("gossip", 0, &outcome);
	is_success(&outcome, "gossip");
	/* It goes with a word; the others take note. */
	scoll_peer_notify(people[0].scoll, notified, &seen);
	person_close(&people[COUNT - 1]);
	crowd_until(people, COUNT - 1, &seen.has_run);
	assert_int_equal(seen.nid, nids[COUNT - 1]);
	assert_int_equal(seen.news, SCOLL_DEAD);
	assert_int_equal(scoll_peer_deaths(people[0].scoll, nids[COUNT - 1]),
			 1);
	assert_int_equal(crowd_send(&people[0], group, "x", 1, NULL, 0, 0,
				    &outcome),
			 -EHOSTDOWN);
	scoll_group_destroy(group);
}

static void measures_F14_R10_are_there_for_benchmarks(void **state)
{
	struct scoll_stats before = { .size = sizeof(before) };
	struct scoll_stats after = { .size = sizeof(after) };
	struct scoll_stats part = { .size = offsetof(struct scoll_stats,
						     groups) };
	struct outcome outcome;

	group = crowd_group(people, COUNT, 0, true);
	scoll_stats(people[0].scoll, &before);
	run("measure", 0, &outcome);
	is_success(&outcome, "measure");
	scoll_stats(people[0].scoll, &after);
	assert_int_equal(after.messages_sent, before.messages_sent + 3);
	assert_int_equal(after.requests, before.requests + 1);
	assert_int_equal(after.requests_active, 0);
	assert_true(after.groups >= 1);
	assert_true(after.group_bytes > 0);
	assert_int_equal(after.messages_refused, 0);
	part.groups = 77;
	scoll_stats(people[0].scoll, &part);
	assert_int_equal(part.groups, 77); /* it was not asked for */
	assert_true(outcome.times.received > 0);
	assert_true(outcome.times.sent >= outcome.times.received);
	assert_true(outcome.times.replied >= outcome.times.sent);
	scoll_group_destroy(group);
}

/* --- types --- */

static void types_T01_T02_T03_are_those_of_the_document(void **state)
{
	scoll_service_id_t service = 1;
	scoll_tag_t tags[2] = { { "one" }, { "two" } };
	scoll_target_t target = { 1, tags, 2 };
	scoll_tree_type_t tree = SCOLL_TREE_KARY(3);
	scoll_oobgrp_id_t oobid = { .svid = service };
	scoll_group_t *no_group = NULL;
	scoll_request_t request = { .srq_bulk_len = 1,
				    .srq_bulk_iovs = NULL,
				    .srq_bulk_niov = 2,
				    .srq_bulk_status = -EIO,
				    .srq_service_timeout = 3 };
	scoll_reply_t reply = { .srp_status = -ETIMEDOUT,
				.srp_error_type = SCOLL_ERROR_TIMEOUT,
				.srp_src = 5 };

	assert_int_equal(target.count, 2);
	assert_int_equal(tree >> 24, 4);
	assert_int_equal(oobid.svid, 1);
	assert_null(no_group);
	assert_int_equal(request.srq_bulk_niov, 2);
	assert_int_equal(reply.srp_src, 5);
}

static void callbacks_T04_T05_have_their_signatures(void **state)
{
	int (*pre)(scoll_request_t *) = (scoll_pre_request_cb_t)NULL;
	int (*request)(scoll_request_t *, const scoll_target_t *) =
		(scoll_incoming_request_cb_t)NULL;
	void (*reply)(scoll_reply_t *) = (scoll_incoming_reply_cb_t)NULL;
	void (*post)(scoll_request_t *) = (scoll_post_reply_cb_t)NULL;
	void (*out)(scoll_request_t *) = (scoll_reply_out_cb_t)NULL;
	int (*oob)(void *, const scoll_oobgrp_id_t *, const scoll_target_t **) =
		(scoll_oobgrp_cb_t)NULL;
	void (*create)(int, scoll_group_t *, const void *) =
		(scoll_create_group_cb_t)NULL;
	struct outcome outcome;

	assert_true(pre == NULL && request == NULL && reply == NULL);
	assert_true(post == NULL && out == NULL && oob == NULL);
	assert_null(create);
	/* incoming_request may fail, and says so by itself. */
	group = crowd_group(people, COUNT, 0, true);
	people[1].request_result = -ENOTSUP;
	run("x", 0, &outcome);
	assert_int_equal(outcome.status, -EREMOTEIO);
	assert_int_equal(outcome.failure_count, 1);
	assert_int_equal(outcome.failures[0].nid, crowd_nid(1));
	assert_int_equal(outcome.failures[0].type, SCOLL_ERROR_REQUEST);
	assert_int_equal(outcome.failures[0].status, -ENOTSUP);
	assert_int_equal(outcome.tally.node_count, COUNT - 1);
	people[1].request_result = 0;
	scoll_group_destroy(group);
}

static void limits_T08_are_those_of_the_document(void **state)
{
	_Static_assert(SCOLL_BCAST_MAX == 4096, "bytes of a broadcast");
	_Static_assert(SCOLL_REPLY_PART_MAX == 1048576, "of a reply");
	_Static_assert(sizeof(scoll_tag_t) == 16, "128 bits");
	struct outcome outcome;

	/* ETIMEDOUT: a service that never replies. */
	group = crowd_group(people, COUNT, 0, true);
	people[3].is_mute = true;
	run("x", 0, &outcome);
	assert_int_equal(outcome.status, -EREMOTEIO);
	assert_int_equal(outcome.failure_count, 1);
	assert_int_equal(outcome.failures[0].nid, crowd_nid(3));
	assert_int_equal(outcome.failures[0].status, -ETIMEDOUT);
	assert_int_equal(outcome.failures[0].type, SCOLL_ERROR_TIMEOUT);
	people[3].is_mute = false;
	scoll_group_destroy(group);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(service_F01_F02_has_an_id_of_its_own),
		TEST(group_F03_T06_is_made_delayed_or_at_once),
		TEST(oob_F04_T06_group_works_as_any_other),
		TEST(bcast_F05_new_says_what_is_wrong),
		TEST(children_F06_F07_F08_are_those_of_the_tree),
		TEST(buffer_F09_is_needed_for_each_child_before_F10_send),
		TEST(reply_F11_is_given_once),
		TEST(abort_F12_ends_it_with_what_is_missing),
		TEST(older_names_F13_map_onto_these),
		TEST(subset_F14_is_those_who_are_named_or_live),
		TEST(discovery_F14_given_is_set_asked_and_notified),
		cmocka_unit_test_setup_teardown(
			gossip_F14_members_find_each_other_and_a_death,
			setup_gossip, teardown),
		TEST(measures_F14_R10_are_there_for_benchmarks),
		cmocka_unit_test(types_T01_T02_T03_are_those_of_the_document),
		TEST(callbacks_T04_T05_have_their_signatures),
		TEST(limits_T08_are_those_of_the_document),
	};

	if (argc > 1)
		provider = argv[1];
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
