/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a client gets, and the job in the table. The same job gives the same
 * grant at any time, since a repeated request gets the same one.
 *
 * A job's random bytes are drawn once, and are in its row of the journal and
 * nowhere else; what its driver makes of them is sealed as soon as it is made,
 * and wiped. It is made again each time, so that there is one copy to guard.
 */
#include <assert.h>
#include <sodium.h>
#include <utlist.h>

#include "base/json_text.h"
#include "base/runs.h"
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grants.h"
#include "lanes/manager/core/out.h"
#include "lanes/proto/grant.h"

/* --- secrets --- */

void core_secret_draw(struct core *core, struct job *job, uint32_t size)
{
	assert(size <= FAIRLEAD_SECRET_MAX);
	assert(job->part_count <= FAIRLEAD_SECRET_NODES_MAX);
	assert(core_interconnect(core, job)->driver->manager->pack != NULL);
	job->secret = memory_array(size, 1);
	job->secret_size = size;
	rng_fill(core->rng, job->secret, size);
}

/* The driver's work; the caller wipes and frees *ret_bytes. */
static int pack(struct core *core, const struct job *job,
		const char *const *nodes, uint8_t **ret_bytes, size_t *ret_size,
		struct fairlead_error *error)
{
	static const struct fairlead_run none[FAIRLEAD_POOLS_MAX];
	const struct interconnect *ic = core_interconnect(core, job);
	_auto_(freep) uint32_t *tasks = NULL;
	struct fairlead_lane lane;
	struct fairlead_pack wanted = {
		.lane = &lane,
		.runs = job->runs == NULL ? none : job->runs,
		.node_count = job->part_count,
		.nodes = nodes,
		.secret = job->secret,
		.secret_size = job->secret_size,
	};

	/* It was checked on arrival. */
	if (runs_parse(job->tasks, job->part_count, &tasks, NULL) < 0)
		abort();
	wanted.tasks = tasks;
	core_lane(job, &lane);
	error->code = 0;
	return core_driver_result(ic->driver->manager->pack(ic->state, &wanted,
							    ret_bytes, ret_size,
							    error),
				  error);
}

int core_secret_seal(struct core *core, const struct job *job,
		     struct writer *writer, struct fairlead_error *ret_error)
{
	_auto_(freep) const char **names = NULL;
	struct core_secrets secrets = {
		.grant_id = job->grant_id,
		.node_count = job->part_count,
		.seed = job->secret,
		.seed_size = job->secret_size,
	};
	uint8_t *bytes = NULL;
	int result;

	if (job->secret == NULL)
		return 0;
	names = memory_array(job->part_count, sizeof(*names));
	for (uint32_t i = 0; i < job->part_count; i++)
		names[i] = nodes_at(&core->nodes, job->parts[i].node)->name;
	result =
		pack(core, job, names, &bytes, &secrets.packed_size, ret_error);
	if (result < 0)
		return result;
	assert(secrets.packed_size <= FAIRLEAD_PACKED_MAX);
	secrets.nodes = names;
	secrets.packed = bytes;
	core->ops->seal(core->ops_ctx, &secrets, writer);
	sodium_memzero(bytes, secrets.packed_size);
	free(bytes);
	return 0;
}

/* --- the grant --- */

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
		DL_APPEND(core->unconfirmed, job);
}

void core_job_set_state(struct core *core, struct job *job,
			enum job_state state)
{
	bool was_unapplied = is_unapplied(job);

	jobs_set_state(&core->jobs, job, state, &core->probe);
	if (was_unapplied && !is_unapplied(job))
		DL_DELETE(core->unapplied, job);
	if (state == JOB_RELEASED || state == JOB_FAILED)
		DL_APPEND(core->unconfirmed, job);
}

void core_job_remove(struct core *core, struct job *job)
{
	assert(job->state >= JOB_RELEASED && job->unconfirmed_count == 0);
	core_hit(core, job->state == JOB_FAILED ? EDGE_JOB_FAILED_GONE
						: EDGE_JOB_RELEASED_GONE);
	DL_DELETE(core->unconfirmed, job);
	core->interconnects.list[job->driver].job_count--;
	for (uint32_t i = 0; i < job->part_count; i++) {
		struct node *node = nodes_at(&core->nodes, job->parts[i].node);

		node_job_remove(node, job->slot);
		core_node_settle(core, node);
	}
	jobs_remove(&core->jobs, job);
}
