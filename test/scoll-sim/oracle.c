/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What always holds, by the numbers of the specification: how a request ends
 * at its root (I2, I4, I9), and that nothing is left when all is quiet (I3).
 * The grammar (I1), buffers (I5) and groups (I6) are watched by the service.
 * With gossip, what members take each other for (I8), and which groups are left
 * when a member has started again (I7).
 */
#include "cluster.h"
#include "scoll/core/group_internal.h"
#include "scoll/core/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *error_text(enum scoll_error_type type)
{
	static const char *const texts[SCOLL_ERROR_COUNT] = {
		[SCOLL_ERROR_NONE] = "none",
		[SCOLL_ERROR_NET_SEND] = "not sent",
		[SCOLL_ERROR_PEER_DEAD] = "dead",
		[SCOLL_ERROR_PEER_REBOOT] = "rebooted",
		[SCOLL_ERROR_TIMEOUT] = "timeout",
		[SCOLL_ERROR_NO_SERVICE] = "no service",
		[SCOLL_ERROR_NO_GROUP] = "no group",
		[SCOLL_ERROR_DIGEST] = "other members",
		[SCOLL_ERROR_NOT_PARENT] = "not its parent",
		[SCOLL_ERROR_PRE_REQUEST] = "refused",
		[SCOLL_ERROR_REQUEST] = "failed",
		[SCOLL_ERROR_BULK] = "no bulk data",
		[SCOLL_ERROR_ABORTED] = "aborted",
		[SCOLL_ERROR_PROTO_VERSION] = "another protocol",
		[SCOLL_ERROR_NOMEM] = "out of memory",
		[SCOLL_ERROR_REPLY_SIZE] = "reply too large",
		[SCOLL_ERROR_STEALTH] = "in stealth",
	};

	return type < SCOLL_ERROR_COUNT ? texts[type] : "?";
}

static void __attribute__((noreturn))
job_fail(const struct job *job, const char *what, uint32_t index)
{
	cluster_fail(job->cluster,
		     "%s (job %" PRIu32 " of %" PRIu32 ", node %" PRIu32 ")",
		     what, job->number, job->root, index);
}

static bool was_disturbed(const struct member *member, uint64_t since_ns)
{
	return member->was_disturbed && member->disturbed_ns >= since_ns;
}

/* Something befell the node since the request was sent. */
static bool node_is_excused(const struct job *job, uint32_t index)
{
	const struct member *member = &job->cluster->members[index];
	const struct job_node *node = &job->nodes[index];

	if (member->core == NULL || member->is_leaving || member->is_bare ||
	    member->is_slow || member->is_starved || member->drift > 0 ||
	    node->has_erred || member->was_stealthy)
		return true;
	if (was_disturbed(member, job->sent_ns))
		return true;
	/*
	 * A node that was reborn or misled has forgotten the group; so has one
	 * that saw its maker's reboot when the maker had made it already, and
	 * knew nothing of the maker's earlier start.
	 */
	if (node->is_groupless &&
	    (was_disturbed(member, job->team->made_ns) ||
	     was_disturbed(&job->cluster->members[job->team->owner],
			   job->team->made_ns)))
		return true;
	switch (job_conduct(job, index)) {
	case CONDUCT_PLAIN:
	case CONDUCT_LATE:
	case CONDUCT_EARLY:
	case CONDUCT_HURRY:
		return false;
	default:
		return index != job->root || node->conduct == CONDUCT_FAIL;
	}
}

/* Whether the network may have failed since the request was sent. */
static bool job_is_noisy(const struct job *job)
{
	const struct cluster *cluster = job->cluster;

	return cluster->is_noisy || job->is_disturbed ||
	       (cluster->was_noisy && cluster->noise_ns >= job->sent_ns);
}

/*
 * Some node on the way from the root to this one, or itself, has an excuse.
 * Where the way is not known, nobody above has passed it on: one of those
 * whose children are known must have one, or a child that was not asked.
 */
static bool way_is_excused(const struct job *job, uint32_t index)
{
	uint32_t steps = 0;

	if (job_is_noisy(job) || job->is_aborted)
		return true;
	if (job->cluster->unsettled_ns >= job->sent_ns &&
	    (job->options.flags & SCOLL_ALIVE_ONLY ||
	     job->nodes[index].is_missed))
		return true;
	while (!node_is_excused(job, index)) {
		if (index == job->root || ++steps > job->cluster->count)
			return false;
		/* Who would have asked it has not come so far. */
		if (job->nodes[index].parent < 0)
			return true;
		index = (uint32_t)job->nodes[index].parent;
	}
	return true;
}

static void failures_read(struct job *job, const scoll_request_t *request)
{
	struct scoll_failure failure;
	uint64_t cursor = 0;
	int result;

	while ((result = scoll_core_request_failure_next(request, &cursor,
							 &failure)) > 0) {
		struct member *member =
			cluster_member(job->cluster, failure.nid);
		struct job_node *node = &job->nodes[member->index];

		cluster_trace(job->cluster, "    failed: %" PRIu32 " %d, %s%s",
			      member->index, failure.status,
			      error_text(failure.type),
			      failure.is_reached ? ", reached" : "");
		cluster_hit(job->cluster, "failure: %s",
			    error_text(failure.type));
		if (failure.status >= 0 || failure.type == SCOLL_ERROR_NONE)
			job_fail(job, "I9: a failure without a reason",
				 member->index);
		if (node->is_failed)
			job_fail(job, "I9: a failure is listed twice",
				 member->index);
		if (!node->is_member && member->index != job->root)
			job_fail(job, "I9: a failure of a node outside",
				 member->index);
		node->is_failed = true;
		node->is_missed = failure.type == SCOLL_ERROR_PEER_DEAD ||
				  failure.type == SCOLL_ERROR_PEER_REBOOT;
		node->is_groupless = failure.type == SCOLL_ERROR_NO_GROUP;
		job->failure_count++;
	}
	if (result < 0)
		job_fail(job, "failures cannot be read", job->root);
}

static void answers_read(struct job *job)
{
	const struct visit *visit = job->visit;

	job->answer_count = visit->answer_count;
	job->entity_answers = visit->entity_count;
	for (uint32_t i = 0; i < visit->good_count; i++) {
		struct job_node *node = &job->nodes[visit->good[i]];

		if (node->has_answered)
			job_fail(job, "I2: an answer comes twice",
				 visit->good[i]);
		node->has_answered = true;
		if (!node->is_good)
			job_fail(job, "an answer of who has not run",
				 visit->good[i]);
	}
	if (!job->cluster->options.is_lean && !job->is_disturbed &&
	    visit->good_count != visit->answer_count)
		job_fail(job, "answers are miscounted", job->root);
}

/* Why an answer of who has not failed may be missing: who lost it, above. */
static bool answer_is_excused(const struct job *job, uint32_t index)
{
	while (index != job->root) {
		if (job->nodes[index].parent < 0)
			return false;
		index = (uint32_t)job->nodes[index].parent;
		if (job->nodes[index].is_failed)
			return true;
	}
	return false;
}

static void node_check(struct job *job, uint32_t index)
{
	const struct cluster *cluster = job->cluster;
	const struct job_node *node = &job->nodes[index];

	if (!node->is_member) {
		if (index != job->root && node->run_count > 0)
			job_fail(job, "I2: it ran where it was not meant",
				 index);
		return;
	}
	if (node->is_failed) {
		if (!way_is_excused(job, index))
			job_fail(job, "I9: it has failed for no reason", index);
		return;
	}
	if (node->run_count != 1)
		job_fail(job,
			 node->run_count == 0
				 ? "I2, I9: not failed, and not executed"
				 : "I2: not failed, and executed twice",
			 index);
	if (node->has_erred && index != job->root)
		job_fail(job, "I9: its error was not reported", index);
	if (!cluster->options.is_lean && !node->has_answered &&
	    !node->has_erred && !answer_is_excused(job, index) &&
	    !job->is_disturbed)
		job_fail(job, "S-03: not failed, and its answer is missing",
			 index);
}

void oracle_job_ended(struct job *job, scoll_request_t *request)
{
	struct cluster *cluster = job->cluster;
	const struct member *root = &cluster->members[job->root];
	uint64_t now_ns = cluster_now_ns(cluster);

	if (job->state != JOB_SENT)
		job_fail(job, "I1: it ends a second time", job->root);
	job->state = JOB_ENDED;
	job->ended_ns = now_ns;
	cluster->jobs_open--;
	job->status = scoll_core_request_status(request);
	cluster_trace(cluster, "job %" PRIu32 " has ended: %d", job->number,
		      job->status);
	failures_read(job, request);
	answers_read(job);
	if ((job->status == 0) != (job->failure_count == 0))
		job_fail(job, "S-03: status and failures differ", job->root);
	if (job->status != 0 && job->status != -EREMOTEIO)
		job_fail(job, "another status", job->root);
	cluster_hit(cluster, job->status == 0 ? "a request has succeeded"
					      : "a request has failed");
	if (now_ns > job->deadline_ns &&
	    !(root->was_disturbed && root->disturbed_ns >= job->sent_ns))
		cluster_fail(cluster,
			     "I4: job %" PRIu32 " of %" PRIu32
			     " ends %.6f ms too late",
			     job->number, job->root,
			     (double)(now_ns - job->deadline_ns) / 1e6);
	for (uint32_t i = 0; i < cluster->count; i++)
		node_check(job, i);
	job->request = NULL;
	job->visit = NULL;
	if (cluster->ended != NULL)
		cluster->ended(cluster, job);
}

void oracle_quiet(struct cluster *cluster)
{
	for (uint32_t i = 0; i < cluster->count; i++) {
		struct member *member = &cluster->members[i];
		struct scoll_stats stats = { .size = sizeof(stats) };
		struct transport_sim_use use;

		if (member->core == NULL)
			continue;
		if (member->visits != NULL)
			cluster_fail(cluster,
				     "I3: job %" PRIu32
				     " never ends at %" PRIu32,
				     member->visits->job->number, i);
		scoll_core_stats(member->core, &stats);
		transport_sim_use(member->port, &use);
		if (stats.requests_active > 0 || use.sends > 0 ||
		    use.reads > 0 || use.posts > 0 || use.regions > 0)
			cluster_fail(cluster,
				     "I3: %" PRIu32 " has %" PRIu64
				     " requests, %" PRIu32
				     " transfers, %" PRIu32 " buffers, %" PRIu32
				     " regions",
				     i, stats.requests_active,
				     use.sends + use.reads, use.posts,
				     use.regions);
	}
	for (uint32_t i = 0; i < cluster->job_count; i++) {
		if (cluster->jobs[i]->state == JOB_SENT)
			job_fail(cluster->jobs[i], "I4: it never ends",
				 cluster->jobs[i]->root);
	}
	for (uint32_t i = 0; i < cluster->team_count; i++) {
		const struct team *team = cluster->teams[i];

		if (!team->was_notified && team->status == 0 &&
		    cluster->members[team->owner].life == team->owner_life &&
		    cluster->members[team->owner].core != NULL)
			cluster_fail(cluster, "%s: its maker is never notified",
				     team->name);
	}
}

void oracle_groups_gone(struct cluster *cluster)
{
	for (uint32_t i = 0; i < cluster->count; i++) {
		struct member *member = &cluster->members[i];
		struct scoll_stats stats = { .size = sizeof(stats) };

		if (member->core == NULL)
			continue;
		scoll_core_stats(member->core, &stats);
		if (stats.groups > 0)
			cluster_fail(cluster,
				     "I3: %" PRIu32 " still has %" PRIu64
				     " groups",
				     i, stats.groups);
	}
}

/* --- gossip --- */

/* It has gossiped for so long that it knows what all know, and all of it. */
static bool sees_clearly(const struct member *member)
{
	const struct cluster *cluster = member->cluster;
	uint64_t now_ns = cluster_now_ns(cluster);
	uint64_t window_ns = gossip_detect_ns(&cluster->options);

	if (member->core == NULL || member->is_leaving || cluster->is_cut ||
	    discovery_is_stealthy(member_discovery(member)))
		return false;
	return now_ns >= window_ns && member->away_ns <= now_ns - window_ns;
}

static bool has_old_group(const struct member *member,
			  const struct member *creator)
{
	const struct scoll_group *group;

	DL_FOREACH (member->core->groups->learned, group) {
		if (!group->id.is_oob && group->id.owner[0] == creator->nid &&
		    group->id.owner[1] != creator->core->nonce)
			return true;
	}
	return false;
}

/* It may hand on what a creator said that died in the meantime. */
static bool has_stood_still(const struct member *member)
{
	const struct cluster *cluster = member->cluster;

	return member->core != NULL &&
	       member->away_ns + gossip_detect_ns(&cluster->options) >
		       cluster_now_ns(cluster);
}

void oracle_stealth_over(struct member *member)
{
	struct cluster *cluster = member->cluster;

	if (discovery_is_stealthy(member_discovery(member)))
		return;
	for (uint32_t i = 0; i < cluster->count; i++)
		if (has_stood_still(&cluster->members[i]) &&
		    &cluster->members[i] != member)
			return;
	for (uint32_t i = 0; i < cluster->count; i++) {
		const struct member *other = &cluster->members[i];

		if (other == member || !sees_clearly(other))
			continue;
		if (has_old_group(other, member))
			cluster_fail(cluster,
				     "I7: stealth of %" PRIu32
				     " is over, and %" PRIu32
				     " has a group of its earlier start",
				     member->index, i);
		cluster_hit(cluster, "oracle: no old group after stealth");
	}
}

void oracle_taken_for_dead(const struct member *member, uint32_t about)
{
	const struct member *other = &member->cluster->members[about];

	if (sees_clearly(member) && sees_clearly(other))
		cluster_fail(member->cluster,
			     "I8: %" PRIu32 " takes %" PRIu32
			     " for dead, which nothing has befallen",
			     member->index, about);
}

void oracle_death_known(struct cluster *cluster, uint32_t about)
{
	for (uint32_t i = 0; i < cluster->count; i++) {
		const struct member *member = &cluster->members[i];

		if (!sees_clearly(member))
			continue;
		if (discovery_is_alive(member_discovery(member),
				       cluster->members[about].nid))
			cluster_fail(cluster,
				     "I8: %" PRIu32
				     " does not know that %" PRIu32 " is dead",
				     i, about);
		cluster_hit(cluster, "oracle: a death is known to all");
	}
}
