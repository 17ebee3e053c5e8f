/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job's secrets. Its random bytes are drawn once, and are in its row of the
 * journal and nowhere else; what its driver makes of them is sealed as soon as
 * it is made, and wiped. It is made anew each time, so that there is one copy
 * to guard.
 */
#include "lanes/manager/core/grants.h"
#include "lanes/manager/core/out.h"
#include "lanes/manager/core/secret.h"

#include <assert.h>
#include <sodium.h>

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
	_auto_(freep) uint32_t *tasks = core_list_expand(job->tasks, job);
	struct fairlead_lane lane;
	const struct fairlead_pack wanted = {
		.lane = &lane,
		.runs = job->runs == NULL ? none : job->runs,
		.node_count = job->part_count,
		.nodes = nodes,
		.tasks = tasks,
		.secret = job->secret,
		.secret_size = job->secret_size,
	};

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
