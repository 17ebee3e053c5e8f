/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public part of a grant, and the job in the table. The same job gives the
 * same bytes at any time, since a repeated request gets the same grant.
 */
#include <assert.h>
#include <utlist.h>

#include "base/json_text.h"
#include "lanes/manager/core/secret.h"
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grants.h"
#include "lanes/manager/core/out.h"
#include "lanes/proto/grant.h"

bool core_grant_answer(struct core *core, const struct job *job,
		       const char *nodes, const char *context, uint64_t token)
{
	const struct grant_public public = {
		.grant_id = job->grant_id,
		.key = job->key,
		.interconnect =
			core->interconnects.list[job->driver].driver->name,
		.nodes = nodes,
		.uid = job->uid,
		.gid = job->gid,
		.id_count = job->id_count,
		.ids = job->ids,
		.options = job->options,
		.has_lane = job->has_lane,
		.context = context,
	};
	_auto_(freep) char *public_text = NULL;
	_auto_(freep) char *grant = NULL;
	struct fairlead_error error;
	struct writer sealed = { 0 };
	struct json_text text;
	int result = core_secret_seal(core, job, &sealed, &error);

	if (result < 0) {
		core_reply_failed(core, token, result, "release it", error.text,
				  NULL);
		return false;
	}
	/* A request is not so long. */
	if (grant_make(&public, job->epoch, sealed.data, sealed.size,
		       &public_text, &grant) < 0)
		abort();
	writer_fini(&sealed);
	text.writer = writer_borrow(&core->scratch);
	json_text_begin(&text);
	json_text_string(&text, "grant", grant);
	json_text_number(&text, "grant_id", job->grant_id);
	json_text_raw(&text, "public", public_text);
	json_text_end(&text);
	write_u8(&text.writer, 0);
	memory_check(text.writer.result);
	core_reply_done(core, token, (const char *)text.writer.data);
	writer_return(&core->scratch, &text.writer);
	return true;
}

void core_grant_answer_again(struct core *core, const struct job *job,
			     uint64_t token)
{
	_auto_(freep) char *nodes = core_nodes_text(core, job);
	_auto_(freep) char *context = NULL;
	const char *name;

	core_describe(core, job, job->empty_reason, &name, &context);
	core_grant_answer(core, job, nodes, context, token);
}

static bool is_unapplied(const struct job *job)
{
	return job->has_lane &&
	       (job->state == JOB_RESERVED || job->state == JOB_APPLYING);
}

void core_job_add(struct core *core, struct job *job)
{
	jobs_add(&core->jobs, job);
	core->interconnects.list[job->driver].job_count++;
	for (uint32_t i = 0; i < job->part_count; i++)
		node_job_add(nodes_at(&core->nodes, job->parts[i].node),
			     job->slot);
	if (is_unapplied(job))
		DL_APPEND(core->unapplied, job);
	if (job->state >= JOB_RELEASED)
		DL_APPEND(core->owing, job);
}

void core_job_set_state(struct core *core, struct job *job,
			enum job_state state)
{
	bool was_unapplied = is_unapplied(job);

	jobs_set_state(&core->jobs, job, state, &core->probe);
	if (was_unapplied && !is_unapplied(job))
		DL_DELETE(core->unapplied, job);
	if (state == JOB_RELEASED || state == JOB_FAILED)
		DL_APPEND(core->owing, job);
}

void core_job_remove(struct core *core, struct job *job)
{
	assert(job->state >= JOB_RELEASED && job->owed_count == 0);
	core_hit(core, job->state == JOB_FAILED ? EDGE_JOB_FAILED_GONE
						: EDGE_JOB_RELEASED_GONE);
	DL_DELETE(core->owing, job);
	core->interconnects.list[job->driver].job_count--;
	for (uint32_t i = 0; i < job->part_count; i++) {
		struct node *node = nodes_at(&core->nodes, job->parts[i].node);

		node_job_remove(node, job->slot);
		core_node_settle(core, node);
	}
	jobs_remove(&core->jobs, job);
}
