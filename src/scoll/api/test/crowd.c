/* SPDX-License-Identifier: BSD-3-Clause */
/* Its service, and how people meet. */
#include "scoll/api/test/crowd.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

scoll_duration_t crowd_rtt = 1000000000;
uint64_t crowd_started;
int crowd_gossip_count = 2;

/* Runs in processes without a test, too. */
static void must(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "crowd: %s\n", what);
	abort();
}

scoll_nid_t crowd_nid(int i)
{
	return (scoll_nid_t)2 << 48 | (0x0a000001u + (unsigned)i);
}

uint64_t crowd_sum(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += (uint64_t)at[i] * (i % 251 + 1);
	return sum;
}

/* --- the service --- */

static struct work *work_create(struct person *person, scoll_request_t *request)
{
	struct work *work = calloc(1, sizeof(*work));

	must(work != NULL, "memory");
	work->person = person;
	work->request = request;
	return work;
}

static void work_destroy(struct work *work)
{
	free(work->replies);
	free(work->bulk);
	free(work);
}

void crowd_buffers_post(scoll_request_t *request, struct work *work)
{
	int count = scoll_request_nchildren(request);

	work->replies = calloc((size_t)count + 1, sizeof(*work->replies));
	must(work->replies != NULL, "memory");
	for (int i = 0; i < count; i++)
		must(scoll_reply_buffer_post(i, &work->replies[i],
					     sizeof(work->replies[i]), request,
					     work) == 0,
		     "scoll_reply_buffer_post");
}

static int pre_request(scoll_request_t *request)
{
	struct person *person = scoll_request_service(request);
	struct work *work;

	if (person->pre_result < 0)
		return person->pre_result;
	work = work_create(person, request);
	request->srq_private = work;
	crowd_buffers_post(request, work);
	if (request->srq_bulk_len > 0) {
		size_t half = request->srq_bulk_len / 2;

		work->bulk = malloc(request->srq_bulk_len + 100);
		must(work->bulk != NULL, "memory");
		work->iov[0] = (struct iovec){ work->bulk, half };
		work->iov[1] = (struct iovec){ work->bulk + half + 100,
					       request->srq_bulk_len - half };
		request->srq_bulk_iovs = work->iov;
		request->srq_bulk_niov = 2;
	}
	return 0;
}

static uint64_t bulk_sum(const scoll_request_t *request)
{
	uint64_t sum = 0;
	size_t at = 0;

	for (int i = 0; i < request->srq_bulk_niov; i++) {
		const uint8_t *bytes = request->srq_bulk_iovs[i].iov_base;

		for (size_t j = 0; j < request->srq_bulk_iovs[i].iov_len; j++)
			sum += (uint64_t)bytes[j] * (at++ % 251 + 1);
	}
	return sum;
}

static int incoming_request(scoll_request_t *request,
			    const scoll_target_t *target)
{
	struct person *person = scoll_request_service(request);
	struct work *work = request->srq_private;

	person->request_count++;
	person->last = request;
	if (person->request_result < 0)
		return person->request_result;
	must(target->nid == person->nid, "somebody else's target");
	work->tally.node_count++;
	work->tally.entity_count += (uint64_t)target->count;
	work->tally.nid_sum += target->nid & 0xffffffff;
	work->tally.payload_sum +=
		crowd_sum(request->srq_buf, (size_t)request->srq_len);
	if (request->srq_bulk_len > 0 && request->srq_bulk_status == 0)
		work->tally.bulk_sum += bulk_sum(request);
	/* It is the service's to change. */
	if (request->srq_len > 0)
		memset(request->srq_buf, 0, (size_t)request->srq_len);
	return 0;
}

static void incoming_reply(scoll_reply_t *reply)
{
	struct work *work = reply->srp_private != NULL
				    ? reply->srp_private
				    : reply->srp_request->srq_private;
	const struct tally *tally = reply->srp_buf;

	if (reply->srp_status < 0) {
		work->error_count++;
		work->last_status = reply->srp_status;
		work->last_type = reply->srp_error_type;
		return;
	}
	must(reply->srp_len == sizeof(*tally), "size of a reply");
	work->person->reply_count++;
	work->tally.node_count += tally->node_count;
	work->tally.entity_count += tally->entity_count;
	work->tally.nid_sum += tally->nid_sum;
	work->tally.payload_sum += tally->payload_sum;
	work->tally.bulk_sum += tally->bulk_sum;
}

static void outcome_fill(scoll_request_t *request, struct work *work)
{
	struct outcome *outcome = work->outcome;
	uint64_t cursor = 0;

	outcome->status = scoll_request_status(request);
	outcome->tally = work->tally;
	outcome->error_count = work->error_count;
	outcome->last_status = work->last_status;
	outcome->last_type = work->last_type;
	while (outcome->failure_count < CROWD_MAX &&
	       scoll_request_failure_next(
		       request, &cursor,
		       &outcome->failures[outcome->failure_count]) == 1)
		outcome->failure_count++;
	scoll_request_times(request, &outcome->times);
	outcome->is_done = true;
}

static void post_reply(scoll_request_t *request)
{
	struct work *work = request->srq_private;

	if (scoll_request_is_root(request)) {
		outcome_fill(request, work);
		work_destroy(work);
		return;
	}
	if (!work->person->is_mute)
		scoll_reply(request, &work->tally, sizeof(work->tally));
}

static void reply_out(scoll_request_t *request)
{
	struct work *work = request->srq_private;

	work->person->out_count++;
	if (work->person->on_out != NULL)
		work->person->on_out(work->person);
	work_destroy(work);
}

const struct scoll_service_ops crowd_service = {
	.size = sizeof(crowd_service),
	.pre_request = pre_request,
	.incoming_request = incoming_request,
	.incoming_reply = incoming_reply,
	.post_reply = post_reply,
	.reply_out = reply_out,
};

/* --- people --- */

void person_open(struct person *person, int i, const char *provider,
		 const char *host, const char *service,
		 enum scoll_discovery discovery)
{
	person_open_as(person, i, provider, host, service, discovery, NULL);
}

void person_open_as(struct person *person, int i, const char *provider,
		    const char *host, const char *service,
		    enum scoll_discovery discovery,
		    const struct scoll_authenticator *authenticator)
{
	const struct scoll_params params = {
		.provider = provider,
		.node = host,
		.service = service,
		.tree = CROWD_TREE,
		.discovery = discovery,
		.gossip_cycle = 100000000,
		.rtt = crowd_rtt,
		.started = crowd_started,
		.authenticator = authenticator,
	};

	person_open_with(person, i, &params);
}

void person_open_with(struct person *person, int i,
		      const struct scoll_params *wanted)
{
	static const uint8_t key[32] = "thirty-two bytes known to all..";
	struct scoll_params params = *wanted;
	struct fairlead_error error = { 0 };
	scoll_nid_t members[CROWD_MAX];
	int result;

	if (params.discovery == SCOLL_DISCOVERY_GOSSIP) {
		params.gossip_members = members;
		params.gossip_member_count = crowd_gossip_count;
		for (int k = 0; k < crowd_gossip_count; k++)
			members[k] = crowd_nid(k);
	}
	params.size = sizeof(params);
	params.nid = crowd_nid(i);
	if (params.rtt == 0)
		params.rtt = crowd_rtt;
	memset(person, 0, sizeof(*person));
	person->nid = crowd_nid(i);
	must(scoll_key_authenticator_create(person->nid, key, &person->auth) ==
		     0,
	     "scoll_key_authenticator_create");
	if (params.authenticator == NULL)
		params.authenticator = person->auth;
	person->timeout = 5000000000;
	result = scoll_init(&params, &person->scoll, &error);
	if (result < 0)
		fprintf(stderr, "%s\n", error.text);
	must(result == 0, "scoll_init");
	must(scoll_service_register(person->scoll, CROWD_SERVICE,
				    &crowd_service, person) == 0,
	     "scoll_service_register");
}

void person_close(struct person *person)
{
	scoll_fini(person->scoll);
	scoll_key_authenticator_destroy(person->auth);
	person->scoll = NULL;
}

void crowd_meet(struct person *people, int count)
{
	for (int i = 0; i < count; i++) {
		uint8_t address[600];
		size_t size = sizeof(address);

		must(scoll_address(people[i].scoll, address, &size) == 0,
		     "scoll_address");
		for (int j = 0; j < count; j++)
			must(scoll_peer_address(people[j].scoll, people[i].nid,
						address, size) == 0,
			     "scoll_peer_address");
	}
}

void crowd_until(struct person *people, int count, const bool *is_done)
{
	while (!*is_done) {
		struct pollfd fds[CROWD_MAX];
		scoll_duration_t wait = 1000000000;

		for (int i = 0; i < count; i++) {
			scoll_duration_t timeout =
				scoll_timeout(people[i].scoll);

			fds[i] = (struct pollfd){ .fd = scoll_fd(
							  people[i].scoll),
						  .events = POLLIN };
			if (timeout >= 0 && timeout < wait)
				wait = timeout;
		}
		poll(fds, (nfds_t)count, (int)((wait + 999999) / 1000000));
		for (int i = 0; i < count && !*is_done; i++)
			must(scoll_progress(people[i].scoll) >= 0,
			     "scoll_progress");
	}
}

struct creation {
	bool is_done;
	int status;
	scoll_group_t *group;
};

static void created(int status, scoll_group_t *group, const void *private)
{
	struct creation *creation = (struct creation *)private;

	creation->status = status;
	creation->group = group;
	creation->is_done = true;
}

scoll_group_t *crowd_group(struct person *people, int count, int creator,
			   bool populate_now)
{
	static const scoll_tag_t tags[] = { { "first" }, { "second" } };
	struct creation creation = { .is_done = false };
	scoll_target_t targets[CROWD_MAX];

	for (int i = 0; i < count; i++)
		targets[i] =
			(scoll_target_t){ crowd_nid(i), tags, i == 1 ? 2 : 1 };
	must(scoll_group_create(people[creator].scoll, CROWD_SERVICE, "crowd",
				targets, count, SCOLL_TREE_DEFAULT,
				populate_now, created, &creation) == 0,
	     "scoll_group_create");
	must(populate_now || creation.is_done, "a delayed group waits");
	crowd_until(people, count, &creation.is_done);
	if (creation.status < 0)
		fprintf(stderr, "group: %s\n", strerror(-creation.status));
	must(creation.status == 0, "status of the group");
	return creation.group;
}

scoll_group_t *crowd_group_far(struct person *person, int count,
			       scoll_tree_type_t tree, bool populate_now)
{
	static const scoll_tag_t tag = { "tag" };
	struct creation creation = { .is_done = false };
	scoll_target_t targets[CROWD_MAX];

	for (int i = 0; i <= count; i++)
		targets[i] = (scoll_target_t){ crowd_nid(i), &tag, 1 };
	must(scoll_group_create(person->scoll, CROWD_SERVICE, "crowd", targets,
				count + 1, tree, populate_now, created,
				&creation) == 0,
	     "scoll_group_create");
	crowd_until(person, 1, &creation.is_done);
	must(creation.status == 0, "status of the group");
	return creation.group;
}

const struct scoll_failure *outcome_failure(const struct outcome *outcome,
					    int index)
{
	for (int i = 0; i < outcome->failure_count; i++) {
		if (outcome->failures[i].nid == crowd_nid(index))
			return &outcome->failures[i];
	}
	return NULL;
}

scoll_request_t *crowd_request(struct person *person, scoll_group_t *group,
			       const void *buf, int len, uint8_t *bulk,
			       size_t bulk_len, unsigned flags,
			       struct outcome *outcome)
{
	struct work *work = work_create(person, NULL);
	scoll_request_t *request;

	memset(outcome, 0, sizeof(*outcome));
	work->outcome = outcome;
	work->iov[0] = (struct iovec){ bulk, bulk_len };
	request = scoll_bcast_new(group, buf, len, work->iov,
				  bulk_len > 0 ? 1 : 0, flags, person->timeout,
				  work);
	if (request == NULL) {
		work_destroy(work);
		return NULL;
	}
	work->request = request;
	crowd_buffers_post(request, work);
	return request;
}

void crowd_request_free(scoll_request_t *request)
{
	struct work *work = request->srq_private;

	scoll_request_free(request);
	work_destroy(work);
}

int crowd_send(struct person *person, scoll_group_t *group, const void *buf,
	       int len, uint8_t *bulk, size_t bulk_len, unsigned flags,
	       struct outcome *outcome)
{
	scoll_request_t *request = crowd_request(person, group, buf, len, bulk,
						 bulk_len, flags, outcome);
	int result;

	if (request == NULL)
		return -errno;
	result = scoll_bcast_send(request);
	if (result < 0)
		crowd_request_free(request);
	return result;
}
