/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent's beginning, its conversation with the guard, and the lanes that
 * are still there: each is tried again with a growing pause, for ever.
 */
#include "lanes/node/agent/agent.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "lanes/node/agent/internal.h"

uint64_t agent_now_ms(const struct agent *agent)
{
	return clock_monotonic_ms(&agent->options.clock);
}

/* --- asking --- */

int agent_ask(struct agent *agent, const struct guard_request *request,
	      ask_fn *done, void *arg)
{
	struct writer message = { .limit = GUARD_MESSAGE_MAX };
	struct agent_ask *ask;
	int result;

	if (agent->ask_count >= AGENT_ASKS_MAX)
		return -ENOBUFS;
	result = memory_check(guard_request_encode(request, &message));
	if (result == 0)
		result = agent->options.ops->ask(agent->options.ops_ctx,
						 message.data, message.size);
	writer_fini(&message);
	if (result < 0)
		return result;
	ask = memory_alloc(sizeof(*ask));
	*ask = (struct agent_ask){ .type = request->type,
				   .done = done,
				   .arg = arg };
	DL_APPEND(agent->asks, ask);
	agent->ask_count++;
	return 0;
}

/* --- the mirror --- */

static void grant_remove(struct agent *agent, struct mirror_grant *grant)
{
	HASH_DEL(agent->grants, grant);
	free(grant->text);
	free(grant);
}

static int grant_compare(const struct mirror_grant *one,
			 const struct mirror_grant *other)
{
	return one->grant_id < other->grant_id ? -1 : 1;
}

static struct mirror_grant *grant_find(struct agent *agent, uint64_t grant_id)
{
	struct mirror_grant *grant;

	HASH_FIND(hh, agent->grants, &grant_id, sizeof(grant_id), grant);
	return grant;
}

static void grant_take(struct agent *agent, const struct guard_grant *shown)
{
	struct mirror_grant *grant = grant_find(agent, shown->grant_id);

	if (shown->state == GRANT_GONE) {
		if (grant)
			grant_remove(agent, grant);
		return;
	}
	if (!grant) {
		grant = memory_alloc(sizeof(*grant));
		grant->grant_id = shown->grant_id;
		HASH_ADD_INORDER(hh, agent->grants, grant_id,
				 sizeof(grant->grant_id), grant, grant_compare);
		memory_have(grant->hh.tbl);
	}
	if (shown->state == GRANT_REVOKING && grant->state != GRANT_REVOKING) {
		grant->pause_ms = AGENT_RETRY_MS;
		grant->retry_ms = agent_now_ms(agent) + grant->pause_ms;
	}
	grant->state = shown->state;
	memcpy(grant->key, shown->key, sizeof(grant->key));
	memcpy(grant->driver, shown->driver, sizeof(grant->driver));
	grant->uid = shown->uid;
	grant->id_count = shown->id_count;
	memcpy(grant->ids, shown->ids, sizeof(grant->ids));
	free(grant->text);
	grant->text = memory_text(shown->text);
}

int agent_guard_received(struct agent *agent, const void *bytes, size_t size)
{
	uint32_t pending_before = agent->pending_count;
	struct guard_reply reply;
	struct agent_ask *ask = agent->asks;
	int result = memory_check(guard_reply_decode(bytes, size, &reply));

	if (result < 0)
		return result;
	if (!ask || ask->type != reply.type) {
		guard_reply_fini(&reply);
		return -EBADMSG;
	}
	for (size_t i = 0; i < reply.grant_count; i++)
		grant_take(agent, &reply.grants[i]);
	agent->epoch = reply.epoch;
	agent->pending_count = reply.pending_count;
	agent->key_count = reply.key_count;
	memcpy(agent->key_ids, reply.key_ids, sizeof(agent->key_ids));
	DL_DELETE(agent->asks, ask);
	agent->ask_count--;
	if (ask->done)
		ask->done(agent, ask->arg, &reply);
	free(ask);
	link_pending(agent, pending_before);
	if (reply.grant_count > 0 || reply.op == COMMAND_DRAIN ||
	    agent->pending_count != pending_before)
		works_wake(agent);
	guard_reply_fini(&reply);
	return 0;
}

/*
 * A revoke that ended with the last agent may have been housekeeping, which is
 * in no journal: start it again for all of these.
 */
static void resume_housekeeping(struct agent *agent)
{
	const struct work_order order = {
		.kind = WORK_HOUSEKEEPING,
		.is_alone = true,
		.timeout_ms = agent->options.timeouts.housekeeping_ms,
	};
	const struct mirror_grant *grant = agent->grants;

	while (grant && grant->state != GRANT_REVOKING)
		grant = grant->hh.next;
	if (grant && work_begin(agent, &order) < 0)
		log_warning(agent->options.log,
			    "too many requests for housekeeping to begin");
}

static int sync_ask(struct agent *agent, uint64_t after);

static void sync_done(struct agent *agent, void *arg,
		      const struct guard_reply *reply)
{
	if (!reply->has_more) {
		agent->is_synced = true;
		resume_housekeeping(agent);
		works_wake(agent);
		return;
	}
	/* There is space for this one: its request has just been answered. */
	(void)sync_ask(agent, reply->grants[reply->grant_count - 1].grant_id);
}

static int sync_ask(struct agent *agent, uint64_t after)
{
	struct guard_request request = {
		.type = GUARD_GRANTS,
		.number = after,
	};

	return agent_ask(agent, &request, sync_done, NULL);
}

/* --- lanes that are still there --- */

static void retry_done(struct agent *agent, void *arg,
		       const struct guard_reply *reply)
{
	struct mirror_grant *grant =
		reply->grant_count > 0
			? grant_find(agent, reply->grants[0].grant_id)
			: NULL;

	if (!grant)
		return;
	grant->is_asked = false;
	grant->pause_ms *= 2;
	if (grant->pause_ms > AGENT_RETRY_MS_MAX)
		grant->pause_ms = AGENT_RETRY_MS_MAX;
	grant->retry_ms = agent_now_ms(agent) + grant->pause_ms;
}

static void retries_tick(struct agent *agent)
{
	uint64_t now_ms = agent_now_ms(agent);

	for (struct mirror_grant *grant = agent->grants; grant;
	     grant = grant->hh.next) {
		struct guard_request request = {
			.type = GUARD_REVOKE,
			.number = grant->grant_id,
		};

		if (grant->state != GRANT_REVOKING || grant->is_asked ||
		    grant->retry_ms > now_ms)
			continue;
		grant->is_asked =
			agent_ask(agent, &request, retry_done, NULL) == 0;
		if (!grant->is_asked)
			grant->retry_ms = now_ms + grant->pause_ms;
	}
}

static uint64_t retries_deadline_ms(const struct agent *agent)
{
	uint64_t deadline_ms = DEADLINE_NONE;

	for (const struct mirror_grant *grant = agent->grants; grant;
	     grant = grant->hh.next) {
		if (grant->state == GRANT_REVOKING && !grant->is_asked)
			deadline_ms =
				deadline_min(deadline_ms, grant->retry_ms);
	}
	return deadline_ms;
}

/* --- the whole --- */

struct agent *agent_create(const struct agent_options *options)
{
	struct agent *agent = memory_alloc(sizeof(*agent));

	agent->options = *options;
	agent->name = memory_text(options->name);
	agent->manager = memory_text(options->manager);
	agent->software = memory_text(options->software);
	agent->started_ms = agent_now_ms(agent);
	return agent;
}

void agent_destroy(struct agent *agent)
{
	struct mirror_grant *grant, *next_grant;
	struct agent_ask *ask, *next_ask;

	if (!agent)
		return;
	works_fini(agent);
	agent_rounds_fini(agent);
	agent_clients_fini(agent);
	status_fini(agent);
	HASH_ITER (hh, agent->grants, grant, next_grant)
		grant_remove(agent, grant);
	DL_FOREACH_SAFE (agent->asks, ask, next_ask) {
		DL_DELETE(agent->asks, ask);
		free(ask);
	}
	free(agent->name);
	free(agent->manager);
	free(agent->software);
	free(agent->restart);
	free(agent);
}

static void hops_done(struct agent *agent, void *arg,
		      const struct guard_reply *reply)
{
	const struct agent_options *options = &agent->options;
	struct hop_keys keys;

	if (guard_hops_decode(reply->bytes, reply->size, &keys) == 0)
		options->ops->hops(options->ops_ctx, &keys);
	hop_keys_fini(&keys);
}

/* Without an answer the keys stay as they are. */
static void hops_ask(struct agent *agent)
{
	struct guard_request request = { .type = GUARD_HOPS };

	if (agent->options.ops->hops)
		(void)agent_ask(agent, &request, hops_done, NULL);
}

int agent_start(struct agent *agent)
{
	int result;

	hops_ask(agent);
	link_begin(agent);
	result = sync_ask(agent, 0);
	return result < 0 ? result : status_begin(agent);
}

uint64_t agent_deadline_ms(const struct agent *agent)
{
	uint64_t deadline_ms = retries_deadline_ms(agent);

	deadline_ms = deadline_min(deadline_ms, link_deadline_ms(agent));
	deadline_ms =
		deadline_min(deadline_ms, agent_rounds_deadline_ms(agent));
	return deadline_min(deadline_ms, works_deadline_ms(agent));
}

void agent_tick(struct agent *agent)
{
	retries_tick(agent);
	link_tick(agent);
	agent_rounds_tick(agent);
	works_tick(agent);
}

void agent_configure(struct agent *agent, const struct agent_timeouts *timeouts,
		     const char *restart)
{
	free(agent->restart);
	agent->restart = memory_text(restart);
	agent->options.timeouts = *timeouts;
}

static void reload_done(struct agent *agent, void *arg,
			const struct guard_reply *reply)
{
	if (reply->result < 0)
		log_error(agent->options.log,
			  "the key file cannot be read again, the old keys "
			  "stay error=\"%s\"",
			  reply->text);
	else
		log_info(agent->options.log, "the key file was read again");
	hops_ask(agent);
}

void agent_endpoint_say(struct agent *agent, bool is_open, const char *text)
{
	agent->endpoint_is_open = is_open;
	snprintf(agent->endpoint, sizeof(agent->endpoint), "%s", text);
}

void agent_locate(struct agent *agent, const void *address, size_t size)
{
	assert(size <= COLLECTIVE_ADDRESS_MAX);
	if (size > 0)
		memcpy(agent->options.address, address, size);
	agent->options.address_size = size;
}

void agent_reload(struct agent *agent)
{
	struct guard_request request = { .type = GUARD_RELOAD };
	int result = agent_ask(agent, &request, reload_done, NULL);

	if (result < 0)
		log_error(agent->options.log,
			  "the key file cannot be read again error=\"%s\"",
			  strerror(-result));
}
