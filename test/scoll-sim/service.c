/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The service of the simulated members: it executes a request once, collects
 * who has done so, and answers to its parent, or misbehaves as the job says.
 * It holds the library to the grammar of callbacks and frees each buffer as
 * soon as the interface allows it, after poisoning it.
 */
#include "cluster.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#define REPLY_MAGIC     0x53565231u
#define POISON          0xdd
#define VISITS_IN_CHUNK 64

struct reply_head {
	uint32_t magic;
	uint32_t job;
	uint32_t entries; /* that follow: indexes of members */
	uint32_t answers; /* of the whole subtree; in the last part */
	uint64_t entities;
};

const char *conduct_text(enum conduct conduct)
{
	static const char *const texts[] = {
		[CONDUCT_PLAIN] = "plain",
		[CONDUCT_LATE] = "late",
		[CONDUCT_EARLY] = "early",
		[CONDUCT_REFUSE] = "refuses",
		[CONDUCT_FAIL] = "fails",
		[CONDUCT_OVERDUE] = "overdue",
		[CONDUCT_ABORT] = "aborts",
		[CONDUCT_ABORT_OWN] = "aborts later",
		[CONDUCT_TOO_MUCH] = "replies too much",
		[CONDUCT_NO_BULK] = "has no buffer for bulk data",
		[CONDUCT_HURRY] = "lowers P",
	};

	return texts[conduct];
}

/* --- memory --- */

/* It is ours again: nobody may have an eye on it any more (I5). */
static void poison_free(struct member *member, void *bytes, size_t size)
{
	if (bytes == NULL)
		return;
	if (!member->cluster->options.is_lean &&
	    transport_sim_borrows(member->port, bytes, size))
		cluster_fail(member->cluster,
			     "I5: %" PRIu32 " has a buffer back that is in use",
			     member->index);
	memset(bytes, POISON, size);
	free(bytes);
}

static struct visit *visit_create(struct member *member, struct job *job,
				  scoll_request_t *request)
{
	struct cluster *cluster = member->cluster;
	struct visit *visit = cluster->visits_free;
	int child_count = scoll_request_nchildren(request);

	if (visit == NULL) {
		visit = cluster_chunk(cluster,
				      VISITS_IN_CHUNK * sizeof(*visit));
		for (unsigned int i = 0; i < VISITS_IN_CHUNK; i++)
			LL_PREPEND(cluster->visits_free, &visit[i]);
		visit = cluster->visits_free;
	}
	LL_DELETE(cluster->visits_free, visit);
	/* The event may still be in the timeline. */
	memset((char *)visit + sizeof(visit->late), 0,
	       sizeof(*visit) - sizeof(visit->late));
	visit->member = member;
	visit->life = member->life;
	visit->job = job;
	visit->request = request;
	visit->conduct = job_conduct(job, member->index);
	visit->child_count = child_count;
	if (child_count > 0)
		visit->children = must_calloc((size_t)child_count,
					      sizeof(visit->children[0]));
	for (int i = 0; i < child_count; i++) {
		struct visit_child *child = &visit->children[i];
		scoll_nid_t nid = scoll_request_child_nid(request, i);

		child->index = cluster_member(cluster, nid)->index;
		child->nodes =
			(uint32_t)scoll_request_childtree_nodes(request, i);
		job->nodes[child->index].parent = (int32_t)member->index;
	}
	DL_APPEND(member->visits, visit);
	return visit;
}

static void buffers_free(struct visit *visit, bool with_replies)
{
	struct buffer **at = &visit->buffers;
	struct buffer *buffer;

	while ((buffer = *at) != NULL) {
		if (buffer->child < 0 && !with_replies) {
			at = &buffer->next;
			continue;
		}
		*at = buffer->next;
		poison_free(visit->member, buffer->bytes, buffer->size);
		free(buffer);
	}
}

static void bulk_free(struct visit *visit)
{
	poison_free(visit->member, visit->bulk, visit->job->options.bulk_size);
	free(visit->iovs);
	visit->bulk = NULL;
	visit->iovs = NULL;
}

/*
 * It keeps its memory, so that a callback that comes too late is seen; the
 * members' lists of them are for crashes.
 */
void visit_close(struct visit *visit)
{
	if (visit == NULL)
		return;
	buffers_free(visit, true);
	bulk_free(visit);
	for (int i = 0; visit->children != NULL && i < visit->child_count; i++)
		free(visit->children[i].entries);
	free(visit->children);
	free(visit->good);
	visit->children = NULL;
	visit->good = NULL;
	visit->is_over = true;
	transport_timeline_cancel(&visit->late);
	DL_DELETE(visit->member->visits, visit);
}

void visits_drop(struct member *member)
{
	while (member->visits != NULL)
		visit_close(member->visits);
}

static uint8_t *buffer_add(struct visit *visit, int child, size_t size)
{
	struct buffer *buffer = must_calloc(1, sizeof(*buffer));

	buffer->child = child;
	buffer->size = size;
	buffer->bytes = must_calloc(1, size);
	LL_PREPEND(visit->buffers, buffer);
	return buffer->bytes;
}

/* --- what is expected --- */

static struct cluster *cluster_of(const struct visit *visit)
{
	return visit->member->cluster;
}

static struct visit *visit_of(const scoll_request_t *request, const char *where)
{
	struct member *member = scoll_request_service(request);
	struct visit *visit = request->srq_private;

	if (visit == NULL || visit->request != request ||
	    visit->member != member || visit->life != member->life)
		cluster_fail(member->cluster, "I1: %s of a strange request",
			     where);
	if (visit->is_over)
		cluster_fail(member->cluster,
			     "I1: %s of job %" PRIu32 " at %" PRIu32
			     " after its end",
			     where, visit->job->number, member->index);
	cluster_trace(member->cluster, "  %" PRIu32 ": %s of job %" PRIu32,
		      member->index, where, visit->job->number);
	return visit;
}

static void __attribute__((noreturn))
visit_fail(const struct visit *visit, const char *what)
{
	cluster_fail(cluster_of(visit), "%s (job %" PRIu32 " at %" PRIu32 ")",
		     what, visit->job->number, visit->member->index);
}

static struct job *job_of_payload(struct member *member,
				  const scoll_request_t *request)
{
	struct cluster *cluster = member->cluster;
	const uint8_t *bytes = request->srq_buf;
	struct job *job;
	uint32_t number;

	if (request->srq_len < (int)sizeof(number))
		cluster_fail(cluster, "a payload of %d bytes",
			     request->srq_len);
	memcpy(&number, bytes, sizeof(number));
	if (number >= cluster->job_count)
		cluster_fail(cluster, "a payload of no job");
	job = cluster->jobs[number];
	if ((uint32_t)request->srq_len != job->options.payload_size)
		cluster_fail(cluster, "job %" PRIu32 " has %d bytes", number,
			     request->srq_len);
	for (uint32_t i = sizeof(number); i < job->options.payload_size; i++) {
		if (bytes[i] != job_byte(number, i))
			cluster_fail(cluster,
				     "P-09: job %" PRIu32
				     " is another one at byte %" PRIu32,
				     number, i);
	}
	return job;
}

/* Our way of knowing a group: it has the nodes that its team has (I6). */
static void group_check(const struct visit *visit)
{
	scoll_group_t *group = scoll_request_group(visit->request);
	const struct team *team = visit->job->team;

	if (team->is_oob)
		return;
	if (scoll_core_group_nodes(group) != (int)team->node_count ||
	    scoll_core_group_entities(group) != (int)team->entity_count)
		visit_fail(visit, "I6: a group has other members");
	if (strcmp(scoll_group_name(group), team->name) != 0)
		visit_fail(visit, "a group has another name");
}

/* --- buffers for the children --- */

static int children_post(struct visit *visit)
{
	const struct job *job = visit->job;
	uint32_t entries = job->options.part_entries;
	bool is_lean = visit->member->cluster->options.is_lean;

	for (int i = 0; i < visit->child_count; i++) {
		uint32_t nodes = visit->children[i].nodes;
		uint32_t each = entries > 0 ? entries : nodes;
		uint32_t parts = (nodes + each - 1) / each;

		if (is_lean) {
			each = 0;
			parts = 1;
		}
		for (uint32_t part = 0; part < parts; part++) {
			size_t size = sizeof(struct reply_head) +
				      each * sizeof(uint32_t);
			uint8_t *bytes = buffer_add(visit, i, size);
			int result = scoll_core_reply_buffer_post(
				i, bytes, size, visit->request, visit);

			if (result < 0)
				return result;
		}
	}
	return 0;
}

int visit_root(struct job *job)
{
	struct member *member = &job->cluster->members[job->root];

	job->visit = visit_create(member, job, job->request);
	job->visit->is_root = true;
	job->request->srq_private = job->visit;
	return children_post(job->visit);
}

static void bulk_buffer_set(struct visit *visit)
{
	scoll_request_t *request = visit->request;
	struct cluster *cluster = cluster_of(visit);
	size_t size = request->srq_bulk_len;
	size_t first = cluster_below(cluster, size) + 1;

	if (size != visit->job->options.bulk_size)
		visit_fail(visit, "the bulk data has another size");
	visit->bulk = must_calloc(1, size);
	memset(visit->bulk, POISON, size);
	visit->iovs = must_calloc(2, sizeof(visit->iovs[0]));
	visit->iovs[0] = (struct iovec){ visit->bulk, first };
	visit->iovs[1] = (struct iovec){ visit->bulk + first, size - first };
	request->srq_bulk_iovs = visit->iovs;
	request->srq_bulk_niov = first < size ? 2 : 1;
}

/* --- callbacks --- */

static int pre_request(scoll_request_t *request)
{
	struct member *member = scoll_request_service(request);
	struct cluster *cluster = member->cluster;
	struct job *job = job_of_payload(member, request);
	struct job_node *node = &job->nodes[member->index];
	struct visit *visit;
	int result;

	node->life = member->life;
	/* Also of all its lives one only. */
	if (++node->pre_count > 1)
		cluster_fail(cluster,
			     "I2: job %" PRIu32 " comes to %" PRIu32
			     " a second time",
			     job->number, member->index);
	if (scoll_request_is_root(request) || !node->is_member)
		cluster_fail(cluster, "job %" PRIu32 " is not for %" PRIu32,
			     job->number, member->index);
	if (job->team->is_closed && !(job->options.flags & SCOLL_LAST))
		cluster_hit(cluster, "a request overlaps with the last one");
	cluster_trace(cluster,
		      "  %" PRIu32 ": pre_request of job %" PRIu32 " (%s)",
		      member->index, job->number,
		      conduct_text(job_conduct(job, member->index)));
	visit = visit_create(member, job, request);
	visit->was_pre = true;
	request->srq_private = visit;
	group_check(visit);
	cluster_hit(cluster, "service: %s", conduct_text(visit->conduct));
	result = children_post(visit);
	if (result == 0 && visit->conduct == CONDUCT_REFUSE)
		result = -EACCES;
	if (result < 0) {
		/* There are no more callbacks of it. */
		node->has_erred = true;
		visit_close(visit);
		return result;
	}
	if (visit->conduct == CONDUCT_HURRY)
		request->srq_service_timeout /= 2;
	if (request->srq_bulk_len > 0 && visit->conduct != CONDUCT_NO_BULK) {
		bulk_buffer_set(visit);
	} else if (request->srq_bulk_len > 0) {
		/* The library will refuse it; reply_out is all that comes. */
		node->has_erred = true;
		visit->is_refused = true;
	}
	return 0;
}

static void target_check(const struct visit *visit,
			 const scoll_target_t *target)
{
	uint32_t index = visit->member->index;
	scoll_tag_t tag;

	if (target->nid != visit->member->nid ||
	    target->count != (int)member_tag_count(index))
		visit_fail(visit, "the target is another one");
	for (int i = 0; i < target->count; i++) {
		member_tag(index, (uint32_t)i, &tag);
		if (memcmp(&tag, &target->tags[i], sizeof(tag)) != 0)
			visit_fail(visit, "an entity is another one");
	}
}

static void good_add(struct visit *visit, uint32_t index)
{
	if (visit->good_count == visit->good_capacity) {
		visit->good_capacity = visit->good_capacity * 2 + 4;
		visit->good = reallocarray(visit->good, visit->good_capacity,
					   sizeof(visit->good[0]));
		if (visit->good == NULL)
			abort();
	}
	visit->good[visit->good_count++] = index;
}

static void bulk_check(struct visit *visit)
{
	const scoll_request_t *request = visit->request;
	const uint8_t *bytes = visit->is_root ? visit->job->bulk : visit->bulk;

	if (request->srq_bulk_len == 0 || visit->is_root)
		return;
	if (request->srq_bulk_status < 0) {
		/* The library has replied to the parent; we must not. */
		cluster_hit(cluster_of(visit), "bulk data did not arrive");
		visit->is_library_reply = true;
		visit->has_erred = true;
		return;
	}
	for (size_t i = 0; i < request->srq_bulk_len; i++) {
		if (bytes[i] != job_byte(visit->job->number, i))
			visit_fail(visit, "bulk data is another");
	}
	cluster_hit(cluster_of(visit), "bulk data arrived");
}

static void reply_now(struct visit *visit);

static void late_reply(struct transport_timeline_event *event)
{
	struct visit *visit = (struct visit *)event;
	struct member *member = visit->member;
	uint64_t now_ns = cluster_now_ns(member->cluster);
	uint64_t paused_ns = transport_sim_paused_ns(member->port);

	if (visit->is_over)
		return;
	if (paused_ns > now_ns) {
		transport_timeline_set(member->cluster->timeline, event,
				       paused_ns);
		return;
	}
	if (visit->conduct == CONDUCT_ABORT_OWN && !visit->was_post) {
		visit->is_aborted = true;
		scoll_core_bcast_abort(visit->request, now_ns);
	} else if (visit->was_post && !visit->has_replied &&
		   !visit->is_library_reply) {
		reply_now(visit);
	}
	member_go_on(member);
}

static void late_set(struct visit *visit, uint64_t delay_ns)
{
	visit->late.run = late_reply;
	transport_timeline_set(cluster_of(visit)->timeline, &visit->late,
			       cluster_now_ns(cluster_of(visit)) + delay_ns);
}

static int incoming_request(scoll_request_t *request,
			    const scoll_target_t *target)
{
	struct visit *visit = visit_of(request, "incoming_request");
	struct job *job = visit->job;
	struct job_node *node = &job->nodes[visit->member->index];

	if (visit->was_run || visit->was_post)
		visit_fail(visit, "I1: incoming_request a second time");
	visit->was_run = true;
	target_check(visit, target);
	job_of_payload(visit->member, request);
	bulk_check(visit);
	if (!visit->is_root) /* it may do what it likes with its copy */
		memset(request->srq_buf, POISON, (size_t)request->srq_len);
	if (visit->is_root)
		node->life = visit->life;
	node->run_count++;
	job->last_run_ns = cluster_now_ns(cluster_of(visit));
	node->run_ns = job->last_run_ns;
	if (node->run_count > 1)
		visit_fail(visit, "I2: it was executed twice");
	if (visit->conduct == CONDUCT_FAIL) {
		visit->has_erred = node->has_erred = true;
		visit->is_library_reply = true;
		return -EIO;
	}
	if (!visit->has_erred) {
		node->is_good = true;
		visit->answer_count++;
		visit->entity_count += (uint64_t)target->count;
		if (!cluster_of(visit)->options.is_lean)
			good_add(visit, visit->member->index);
	}
	if (visit->is_root)
		return 0;
	if (visit->conduct == CONDUCT_ABORT) {
		visit->is_aborted = true;
		scoll_core_bcast_abort(request,
				       cluster_now_ns(cluster_of(visit)));
	} else if (visit->conduct == CONDUCT_ABORT_OWN ||
		   visit->conduct == CONDUCT_LATE) {
		late_set(visit, job->options.timeout_ns / 2);
	} else if (visit->conduct == CONDUCT_EARLY && visit->child_count == 0 &&
		   !visit->is_library_reply) {
		reply_now(visit);
	}
	return 0;
}

/* What came in parts counts with the last one. */
static void part_read(struct visit *visit, const scoll_reply_t *reply)
{
	struct visit_child *child = &visit->children[reply->srp_child];
	const struct reply_head *head = reply->srp_buf;
	const uint32_t *entries = (const uint32_t *)(head + 1);

	if (reply->srp_len < sizeof(*head) || head->magic != REPLY_MAGIC ||
	    head->job != visit->job->number ||
	    reply->srp_len != sizeof(*head) + head->entries * sizeof(uint32_t))
		visit_fail(visit, "a reply is another one");
	if (head->entries > child->nodes - child->entry_count)
		visit_fail(visit, "more answers than nodes");
	if (head->entries > 0 && child->entries == NULL)
		child->entries = must_calloc(child->nodes, sizeof(entries[0]));
	for (uint32_t i = 0; i < head->entries; i++)
		child->entries[child->entry_count++] = entries[i];
	if (!reply->srp_is_last)
		return;
	for (uint32_t i = 0; i < child->entry_count; i++)
		good_add(visit, child->entries[i]);
	visit->answer_count += head->answers;
	visit->entity_count += head->entities;
}

static void buffer_return(struct visit *visit, const scoll_reply_t *reply)
{
	struct buffer *buffer;

	if (reply->srp_private != visit)
		visit_fail(visit, "a reply has a strange private");
	LL_FOREACH (visit->buffers, buffer) {
		if (buffer->bytes == reply->srp_buf)
			break;
	}
	if (buffer == NULL || buffer->child != reply->srp_child)
		visit_fail(visit, "M-03: a reply is in a strange buffer");
	LL_DELETE(visit->buffers, buffer);
	poison_free(visit->member, buffer->bytes, buffer->size);
	free(buffer);
}

static void incoming_reply(scoll_reply_t *reply)
{
	struct visit *visit = visit_of(reply->srp_request, "incoming_reply");
	struct cluster *cluster = cluster_of(visit);
	struct visit_child *child;

	if (reply->srp_child < 0 || reply->srp_child >= visit->child_count)
		visit_fail(visit, "I1: a reply of no child");
	child = &visit->children[reply->srp_child];
	if (child->is_ended || visit->was_post)
		visit_fail(visit, "I1: a reply after the last one");
	if (cluster->members[child->index].nid != reply->srp_src)
		visit_fail(visit, "a reply of somebody else");
	if (reply->srp_status == 0 && reply->srp_part != child->parts++)
		visit_fail(visit, "parts are out of order");
	if (reply->srp_status < 0) {
		cluster_hit(cluster, "error: %s",
			    error_text(reply->srp_error_type));
		cluster_trace(cluster, "    of %" PRIu32 ": %d, %s",
			      child->index, reply->srp_status,
			      error_text(reply->srp_error_type));
		if (!reply->srp_is_last)
			visit_fail(visit, "an error is not the last reply");
		if (reply->srp_error_type == SCOLL_ERROR_NONE ||
		    reply->srp_nodes_lost < 0 ||
		    (uint32_t)reply->srp_nodes_lost > child->nodes)
			visit_fail(visit, "an error is none");
	} else {
		part_read(visit, reply);
	}
	child->is_ended = reply->srp_is_last;
	visit->job->nodes[child->index].reported_ns = cluster_now_ns(cluster);
	child->status = reply->srp_status;
	if (reply->srp_buf != NULL)
		buffer_return(visit, reply);
}

static void reply_fill(struct visit *visit, uint8_t *bytes, uint32_t first,
		       uint32_t count, bool is_last)
{
	struct reply_head head = {
		.magic = REPLY_MAGIC,
		.job = visit->job->number,
		.entries = count,
		.answers = is_last ? visit->answer_count : 0,
		.entities = is_last ? visit->entity_count : 0,
	};

	memcpy(bytes, &head, sizeof(head));
	if (count > 0)
		memcpy(bytes + sizeof(head), visit->good + first,
		       count * sizeof(uint32_t));
}

/* A part of the list; a negative errno. */
static int reply_some(struct visit *visit, uint32_t first, uint32_t count,
		      bool is_last)
{
	uint64_t now_ns = cluster_now_ns(cluster_of(visit));
	size_t size = sizeof(struct reply_head) + count * sizeof(uint32_t);
	uint8_t *bytes;

	if (is_last && visit->conduct == CONDUCT_TOO_MUCH &&
	    !cluster_of(visit)->options.is_lean)
		size += (visit->job->node_count + 4) * sizeof(uint32_t) + 1;
	bytes = buffer_add(visit, -1, size);
	reply_fill(visit, bytes, first, count, is_last);
	return is_last ? scoll_core_reply(visit->request, now_ns, bytes, size)
		       : scoll_core_reply_part(visit->request, now_ns, bytes,
					       size);
}

static void reply_now(struct visit *visit)
{
	uint32_t entries = visit->job->options.part_entries;
	uint32_t first = 0;
	uint64_t now_ns = cluster_now_ns(cluster_of(visit));
	int result = 0;

	if (entries == 0)
		entries = UINT32_MAX;
	while (visit->good_count - first > entries && result == 0) {
		result = reply_some(visit, first, entries, false);
		first += entries;
		if (result == 0)
			cluster_hit(cluster_of(visit), "a reply in parts");
	}
	if (result < 0) /* what was in that part is lost */
		visit->job->is_disturbed = true;
	result = reply_some(visit, first,
			    result == 0 ? visit->good_count - first : 0, true);
	visit->has_replied = true;
	if (result < 0 && result != -EALREADY)
		cluster_hit(cluster_of(visit), "scoll_reply fails");
	if (result == 0 &&
	    scoll_core_reply(visit->request, now_ns, NULL, 0) != -EALREADY)
		visit_fail(visit, "a second reply is taken");
}

static void post_reply(scoll_request_t *request)
{
	struct visit *visit = visit_of(request, "post_reply");
	struct job *job = visit->job;

	if (visit->was_post)
		visit_fail(visit, "I1: post_reply a second time");
	visit->was_post = true;
	for (int i = 0; i < visit->child_count; i++) {
		if (!visit->children[i].is_ended)
			visit_fail(visit, "I1: post_reply before all replies");
	}
	buffers_free(visit, false);
	if (visit->is_root) {
		oracle_job_ended(job, request);
		job_release(job);
		visit_close(visit);
		return;
	}
	bulk_free(visit);
	if (visit->is_library_reply || visit->has_replied)
		return;
	if (visit->conduct == CONDUCT_LATE &&
	    transport_timeline_waits(&visit->late))
		return; /* it is still at it */
	if (visit->conduct == CONDUCT_OVERDUE)
		late_set(visit, job->options.timeout_ns * 100);
	else
		reply_now(visit);
}

static void reply_out(scoll_request_t *request)
{
	struct visit *visit = visit_of(request, "reply_out");

	if (visit->was_post == visit->is_refused)
		visit_fail(visit, "I1: reply_out before post_reply");
	visit_close(visit);
}

const struct scoll_service_ops service_ops = {
	.size = sizeof(service_ops),
	.pre_request = pre_request,
	.incoming_request = incoming_request,
	.incoming_reply = incoming_reply,
	.post_reply = post_reply,
	.reply_out = reply_out,
	.oobgrp = team_oobgrp,
};
