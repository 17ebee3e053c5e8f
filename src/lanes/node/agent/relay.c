/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective that goes through this node: its command goes to the guard, and
 * our answer goes up together with what the nodes below have gathered. What
 * comes from below is not believed: the manager checks it. Somebody below can
 * spoil what he is combined with, which the manager then asks again.
 *
 * What is gathered may come before the command, which may be bulk data, and
 * waits for it: before, nobody knows how many places there are. An answer of
 * ours that takes longer than the parcel's patience is not waited for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "lanes/proto/gather.h"
#include "lanes/proto/parcel.h"
#include "lanes/node/agent/internal.h"

/* What a carried confirmation costs, and an empty gathered answer. */
#define CARRY_SIZE 4
#define HEAD_SIZE  64

struct relay {
	uint64_t id;
	bool is_told;     /* the command is known, and gather is ready */
	bool is_separate; /* see struct parcel */
	uint32_t part_bytes;
	uint32_t place;      /* ours in the command */
	bool is_own_open;    /* our answer is awaited */
	bool is_at_guard;    /* the command is; it has a pointer to us */
	bool is_closed;      /* nothing more comes from below */
	bool is_over;        /* the answer has ended */
	uint64_t sequence;   /* of the command; 0: not known yet */
	uint64_t patient_ms; /* until when our answer is waited for */
	struct gather gather;
	struct writer early; /* blobs that came before the command */
	UT_hash_handle hh;
};

static struct relay *relay_get(struct agent *agent, uint64_t id, bool may_make)
{
	struct relay *relay;

	HASH_FIND(hh, agent->relays, &id, sizeof(id), relay);
	if (relay || !may_make ||
	    HASH_COUNT(agent->relays) >= AGENT_COLLECTIVES_MAX)
		return relay;
	relay = calloc(1, sizeof(*relay));
	if (!relay)
		return NULL;
	relay->id = id;
	relay->early.limit = AGENT_EARLY_MAX;
	HASH_ADD(hh, agent->relays, id, sizeof(relay->id), relay);
	if (!hash_was_added(relay))
		free(take_ptr(relay));
	return relay;
}

static void relay_destroy(struct agent *agent, struct relay *relay)
{
	HASH_DEL(agent->relays, relay);
	gather_fini(&relay->gather);
	writer_fini(&relay->early);
	free(relay);
}

/* --- what goes up --- */

static void send_part(struct agent *agent, struct relay *relay, bool is_last)
{
	uint32_t place_count = relay->gather.place_count;
	struct writer part = { 0 };

	/* Without memory nothing is known of those who are in it. */
	if (relay->is_told && gather_encode(&relay->gather, &part) < 0)
		part.size = 0;
	if (part.size > 0 || is_last)
		agent->options.ops->gathered(agent->options.ops_ctx, relay->id,
					     part.data, part.size, is_last);
	writer_fini(&part);
	if (is_last)
		return;
	gather_fini(&relay->gather);
	(void)gather_init(&relay->gather, place_count);
}

/* Room for so many bytes more; false: they do not even fit in an empty part. */
static bool make_room(struct agent *agent, struct relay *relay, size_t size)
{
	if (gather_encoded_size(&relay->gather) + size > relay->part_bytes &&
	    !gather_is_empty(&relay->gather))
		send_part(agent, relay, false);
	return gather_encoded_size(&relay->gather) + size <= relay->part_bytes;
}

/* End what has all, and free what nobody comes back to. */
static void settle(struct agent *agent, struct relay *relay)
{
	if (relay->is_closed && !relay->is_own_open && !relay->is_over) {
		send_part(agent, relay, true);
		relay->is_over = true;
	}
	if (relay->is_over && !relay->is_at_guard)
		relay_destroy(agent, relay);
}

static void add_own(struct agent *agent, struct relay *relay,
		    const void *confirm, size_t size)
{
	int result = -EEXIST;

	relay->is_own_open = false;
	if (!make_room(agent, relay, size + CARRY_SIZE + HEAD_SIZE))
		return;
	if (!relay->is_separate)
		result =
			gather_add(&relay->gather, relay->place, confirm, size);
	/* Somebody below has said to be us. */
	if (result == -EEXIST)
		(void)gather_carry(&relay->gather, confirm, size);
}

static void add_below(struct agent *agent, struct relay *relay,
		      const void *bytes, size_t size)
{
	if (size > 0 && make_room(agent, relay, size))
		(void)gather_merge(&relay->gather, bytes, size);
}

/* --- our own answer --- */

void relay_heard(struct agent *agent, struct relay *relay,
		 const struct guard_reply *reply)
{
	bool is_awaited = reply->result == 0 && (reply->op == COMMAND_QUERY ||
						 reply->op == COMMAND_CLEAN);

	relay->is_at_guard = false;
	relay->sequence = reply->sequence;
	if (reply->size > 0 && relay->is_own_open)
		add_own(agent, relay, reply->bytes, reply->size);
	else if (!is_awaited)
		relay->is_own_open = false;
	settle(agent, relay);
}

void relays_confirm(struct agent *agent, uint64_t sequence, const void *confirm,
		    size_t size)
{
	struct relay *relay, *next;

	HASH_ITER (hh, agent->relays, relay, next) {
		if (!relay->is_own_open || relay->sequence != sequence)
			continue;
		add_own(agent, relay, confirm, size);
		settle(agent, relay);
	}
}

/* --- events --- */

/* What the command says of places; the guard says whether to believe it. */
static int places_find(const struct agent *agent, struct relay *relay,
		       const void *command, size_t size)
{
	_auto_(freep) char *nodes = NULL;
	int result = command_nodes_read(command, size, &nodes);
	int count = result < 0 ? result : hostlist_count(nodes);
	int place = count < 0 ? count : hostlist_find(nodes, agent->name);

	if (place < 0)
		return place;
	relay->place = (uint32_t)place;
	return gather_init(&relay->gather, (uint32_t)count);
}

static void take_early(struct agent *agent, struct relay *relay)
{
	struct reader reader = reader_of(relay->early.data, relay->early.size);

	while (reader.left > 0) {
		size_t size;
		const uint8_t *bytes = read_blob(&reader, SIZE_MAX, &size);

		if (!bytes)
			break;
		add_below(agent, relay, bytes, size);
	}
	writer_fini(&relay->early);
}

void agent_collective_received(struct agent *agent, uint64_t collective,
			       const void *payload, size_t size,
			       const void *bulk, size_t bulk_size)
{
	struct relay *relay = relay_get(agent, collective, true);
	struct parcel parcel;

	if (!relay || relay->is_told ||
	    parcel_decode(payload, size, &parcel) < 0)
		return;
	if (parcel.is_bulk) {
		parcel.command = bulk;
		parcel.command_size = bulk_size;
	}
	if (places_find(agent, relay, parcel.command, parcel.command_size) < 0)
		return;
	relay->is_told = true;
	relay->is_separate = parcel.is_separate;
	relay->part_bytes = parcel.part_bytes;
	relay->patient_ms = agent_now_ms(agent) + parcel.patience_ms;
	relay->is_at_guard = commands_take(agent, parcel.command,
					   parcel.command_size, relay) == 0;
	relay->is_own_open = relay->is_at_guard;
	take_early(agent, relay);
}

void agent_collective_gathered(struct agent *agent, uint64_t collective,
			       const void *bytes, size_t size)
{
	struct relay *relay = relay_get(agent, collective, true);

	if (!relay || relay->is_closed)
		return;
	if (relay->is_told)
		add_below(agent, relay, bytes, size);
	else
		write_blob(&relay->early, bytes, size);
}

void agent_collective_closed(struct agent *agent, uint64_t collective)
{
	struct relay *relay = relay_get(agent, collective, false);

	if (!relay) {
		agent->options.ops->gathered(agent->options.ops_ctx, collective,
					     NULL, 0, true);
		return;
	}
	relay->is_closed = true;
	settle(agent, relay);
}

uint64_t relays_deadline_ms(const struct agent *agent)
{
	uint64_t deadline_ms = DEADLINE_NONE;

	for (const struct relay *relay = agent->relays; relay;
	     relay = relay->hh.next) {
		if (relay->is_own_open)
			deadline_ms =
				deadline_min(deadline_ms, relay->patient_ms);
	}
	return deadline_ms;
}

void relays_tick(struct agent *agent)
{
	uint64_t now_ms = agent_now_ms(agent);
	struct relay *relay, *next;

	HASH_ITER (hh, agent->relays, relay, next) {
		if (!relay->is_own_open || now_ms < relay->patient_ms)
			continue;
		relay->is_own_open = false;
		settle(agent, relay);
	}
}

void relays_fini(struct agent *agent)
{
	struct relay *relay, *next;

	HASH_ITER (hh, agent->relays, relay, next)
		relay_destroy(agent, relay);
}
