/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests as their root's user makes them. */
#include "cluster.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "scoll/core/internal.h"

#define IOVS_MAX 4

uint8_t job_byte(uint32_t number, size_t at)
{
	return (uint8_t)(number * 31 + at * 7 + (at >> 8) * 13 + (at >> 16));
}

static void fill(uint8_t *bytes, uint32_t number, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = job_byte(number, i);
}

enum conduct job_conduct(const struct job *job, uint32_t index)
{
	return (enum conduct)job->nodes[index].conduct;
}

static enum conduct conduct_draw(struct cluster *cluster)
{
	if (!sim_rng_chance(&cluster->rng, cluster->conduct_ppm))
		return cluster_percent(cluster, 20) ? CONDUCT_LATE
						    : CONDUCT_PLAIN;
	return (enum conduct)cluster_below(cluster, CONDUCT_COUNT);
}

static void bulk_make(struct job *job)
{
	struct cluster *cluster = job->cluster;
	uint32_t size = job->options.bulk_size;
	uint32_t at = 0;

	job->bulk = must_calloc(1, size);
	fill(job->bulk, job->number, size);
	job->iovs = must_calloc(IOVS_MAX, sizeof(job->iovs[0]));
	while (at < size) {
		uint32_t part = size - at;

		if (job->iov_count < IOVS_MAX - 1 && part > 1)
			part = 1 + (uint32_t)cluster_below(cluster, part);
		job->iovs[job->iov_count].iov_base = job->bulk + at;
		job->iovs[job->iov_count++].iov_len = part;
		at += part;
	}
}

static struct job *job_add(struct team *team, const struct job_options *options)
{
	struct cluster *cluster = team->cluster;
	struct job *job = must_calloc(1, sizeof(*job));

	cluster->jobs = reallocarray(cluster->jobs, cluster->job_count + 1,
				     sizeof(cluster->jobs[0]));
	if (cluster->jobs == NULL)
		abort();
	cluster->jobs[cluster->job_count] = job;
	job->cluster = cluster;
	job->team = team;
	job->options = *options;
	job->number = cluster->job_count++;
	job->root = team->owner;
	job->root_life = cluster->members[team->owner].life;
	job->nodes = must_calloc(cluster->count, sizeof(job->nodes[0]));
	for (uint32_t i = 0; i < cluster->count; i++) {
		job->nodes[i].parent = -1;
		job->nodes[i].conduct = options->is_mean
						? (uint8_t)conduct_draw(cluster)
						: CONDUCT_PLAIN;
	}
	job->payload = must_calloc(1, options->payload_size);
	fill(job->payload, job->number, options->payload_size);
	memcpy(job->payload, &job->number, sizeof(job->number));
	if (options->bulk_size > 0)
		bulk_make(job);
	return job;
}

/* What the root's user may free when a request has ended, or never began. */
void job_release(struct job *job)
{
	const struct member *root = &job->cluster->members[job->root];

	if (!job->cluster->options.is_lean && job->bulk != NULL &&
	    job->state == JOB_ENDED &&
	    transport_sim_borrows(root->port, job->bulk,
				  job->options.bulk_size))
		cluster_fail(job->cluster, "I5: the root's bulk data is open");
	memset(job->payload, 0xdd, job->options.payload_size);
	free(job->payload);
	job->payload = NULL;
	if (job->bulk != NULL)
		memset(job->bulk, 0xdd, job->options.bulk_size);
	free(job->bulk);
	free(job->iovs);
	job->bulk = NULL;
	job->iovs = NULL;
}

int job_new(struct team *team, const struct job_options *options,
	    struct job **ret_job)
{
	struct cluster *cluster = team->cluster;
	struct job *job = job_add(team, options);
	scoll_nid_t *nids = NULL;
	int result;

	if (options->nodes != NULL) {
		nids = must_calloc(options->node_count, sizeof(nids[0]));
		for (uint32_t i = 0; i < options->node_count; i++)
			nids[i] = cluster->members[options->nodes[i]].nid;
	}
	result = scoll_core_bcast_new(team->group, cluster_now_ns(cluster),
				      nids, (int)options->node_count,
				      job->payload, (int)options->payload_size,
				      job->iovs, job->iov_count, options->flags,
				      (scoll_duration_t)options->timeout_ns,
				      NULL, &job->request);
	free(nids);
	cluster_trace(cluster,
		      "job %" PRIu32 " over %s at %" PRIu32 ", %" PRIu32
		      " bytes, %" PRIu32 " bulk: %d",
		      job->number, team->name, job->root, options->payload_size,
		      options->bulk_size, result);
	if (result < 0) {
		job->state = JOB_LOST;
		job_release(job);
		return result;
	}
	*ret_job = job;
	return 0;
}

/* Who is meant, as the root sees it now. */
static void members_mark(struct job *job)
{
	struct cluster *cluster = job->cluster;
	const struct job_options *options = &job->options;
	const uint32_t *nodes =
		options->nodes != NULL ? options->nodes : job->team->nodes;
	uint32_t count = options->nodes != NULL ? options->node_count
						: job->team->node_count;
	struct member *root = &cluster->members[job->root];
	struct discovery *discovery = member_discovery(root);

	job->node_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct job_node *node = &job->nodes[nodes[i]];

		if (node->is_member)
			continue;
		if (options->flags & SCOLL_ALIVE_ONLY &&
		    nodes[i] != job->root &&
		    !discovery_is_alive(discovery,
					cluster->members[nodes[i]].nid))
			continue;
		node->is_member = true;
		job->node_count++;
	}
	if (!job->nodes[job->root].is_member)
		job->node_count++;
}

/* What each level has for bulk data: the root's children share its link. */
static uint64_t bulk_ns_of(const struct job *job)
{
	const struct scoll_core *core = job->cluster->members[job->root].core;
	int readers = scoll_request_nchildren(job->request);

	return (uint64_t)job->options.bulk_size * CLUSTER_SECOND /
	       scoll_core_options(core)->bulk_bandwidth *
	       (uint64_t)(readers > 0 ? readers : 1);
}

/* (depth + 1) R + P, bulk data on each level, a tenth. */
static uint64_t deadline_of(const struct job *job)
{
	struct cluster *cluster = job->cluster;
	const struct core_options *options =
		scoll_core_options(cluster->members[job->root].core);
	uint64_t levels = job->depth + 1;
	uint64_t start_ns = cluster_now_ns(cluster);
	uint64_t wait_ns = levels * (options->rtt_ns + bulk_ns_of(job)) +
			   job->options.timeout_ns;

	/* It may be held back until earlier ones have ended. */
	for (uint32_t i = 0; i < cluster->job_count; i++) {
		const struct job *other = cluster->jobs[i];

		if (other->state == JOB_SENT && other->team == job->team &&
		    other->deadline_ns > start_ns)
			start_ns = other->deadline_ns;
	}
	/* The group may have to be made first, by its list as bulk data. */
	if (job->team->node_count > 20 || job->options.payload_size > 2000)
		wait_ns += levels * options->rtt_ns;
	return start_ns + wait_ns + wait_ns / 10 +
	       cluster->options.callback_delay_ns * 4;
}

int job_send(struct job *job)
{
	struct cluster *cluster = job->cluster;
	struct member *member = &cluster->members[job->root];
	int result = visit_root(job);
	uint64_t now_ns = cluster_now_ns(cluster);

	if (result == 0) {
		job->depth = (uint32_t)scoll_request_depth(job->request);
		members_mark(job);
		job->sent_ns = now_ns;
		job->deadline_ns = deadline_of(job);
		result = scoll_core_bcast_send(job->request, now_ns);
	}
	cluster_trace(cluster, "job %" PRIu32 " is sent: %d", job->number,
		      result);
	if (result < 0) {
		job->state = JOB_LOST;
		scoll_core_request_free(job->request, now_ns);
		job->request = NULL;
		visit_close(job->visit);
		job->visit = NULL;
		job_release(job);
	} else {
		job->state = JOB_SENT;
		cluster->jobs_open++;
		if (job->options.flags & SCOLL_LAST)
			job->team->is_closed = true;
	}
	member_go_on(member);
	return result;
}

struct job *job_start(struct team *team, const struct job_options *options)
{
	struct job *job = NULL;
	int result = job_new(team, options, &job);

	if (result == 0)
		result = job_send(job);
	if (result < 0)
		cluster_fail(team->cluster, "a request cannot be sent: %d",
			     result);
	return job;
}

void job_abort(struct job *job)
{
	struct cluster *cluster = job->cluster;

	job->is_aborted = true;
	cluster_trace(cluster, "job %" PRIu32 " is aborted", job->number);
	scoll_core_bcast_abort(job->request, cluster_now_ns(cluster));
	member_go_on(&cluster->members[job->root]);
}

void jobs_free(struct cluster *cluster)
{
	for (uint32_t i = 0; i < cluster->job_count; i++) {
		struct job *job = cluster->jobs[i];

		if (job->payload != NULL)
			job_release(job);
		free(job->nodes);
		free(job);
	}
	free(cluster->jobs);
}
