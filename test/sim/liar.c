/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each answer that goes up, and each that comes from below, meets one of the
 * lies by chance. What is kept goes up later, when the manager may have asked
 * again.
 */
#include "liar.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/hostlist.h"
#include "lanes/proto/combined.h"
#include "lanes/proto/collective.h"
#include "lanes/node/agent/agent.h"
#include "node.h"

#define LIES_PERCENT    60
#define UNPACKS_PERCENT 90 /* where it can */
#define KEPT_MS_MAX     9000
#define VISITS_MAX      16
#define UNPACKED_MAX    32

/* A command that went through here. */
struct visit {
	uint64_t collective;
	struct command head;
	struct hostlist *nodes;
};

/* That somebody has obeyed an APPLY, taken out of a set of him alone. */
struct unpacked {
	uint64_t grant_id;
	struct writer confirm;
};

/* An answer that goes up later. */
struct kept {
	struct liar *liar;
	uint64_t collective, handle;
	bool is_last;
	struct kept *prev, *next;
	size_t size;
	uint8_t bytes[];
};

struct liar {
	struct world *world;
	unsigned int node;
	struct node_rounds *node_rounds;
	struct agent *agent;
	bool is_lying;
	struct visit visits[VISITS_MAX];
	size_t visit_count; /* ever */
	struct writer earlier;
	struct unpacked unpacked[UNPACKED_MAX];
	size_t unpacked_count; /* ever */
	struct kept *kept;
};

enum lie {
	LIE_NONE,
	LIE_OMIT,
	LIE_ALTER,
	LIE_FORGE,
	LIE_REPLAY,
	LIE_KEEP,
	LIE_UNPACK, /* where it can; the others anywhere */
	LIE_COUNT,
};

static const struct visit *visit_of(const struct liar *liar,
				    uint64_t collective)
{
	for (size_t i = 0; i < VISITS_MAX; i++)
		if (liar->visits[i].nodes != NULL &&
		    liar->visits[i].collective == collective)
			return &liar->visits[i];
	return NULL;
}

static bool answers(const struct unpacked *unpacked, const struct visit *visit)
{
	return unpacked->confirm.size > 0 &&
	       unpacked->grant_id == visit->head.grant_id;
}

/* It is a REVOKE, and somebody has obeyed the APPLY of the same grant. */
static bool is_unpackable(const struct liar *liar, const struct visit *visit)
{
	if (visit == NULL || visit->head.op != COMMAND_REVOKE)
		return false;
	for (size_t i = 0; i < UNPACKED_MAX; i++)
		if (answers(&liar->unpacked[i], visit))
			return true;
	return false;
}

static enum lie choose(struct liar *liar, uint64_t collective)
{
	static const char *const names[LIE_COUNT] = {
		[LIE_OMIT] = "omits",   [LIE_ALTER] = "alters",
		[LIE_FORGE] = "forges", [LIE_REPLAY] = "replays",
		[LIE_KEEP] = "keeps",   [LIE_UNPACK] = "unpacks",
	};
	struct world *world = liar->world;
	enum lie lie;

	if (!liar->is_lying)
		return LIE_NONE;
	if (is_unpackable(liar, visit_of(liar, collective)) &&
	    world_percent(world, UNPACKS_PERCENT))
		lie = LIE_UNPACK;
	else if (world_percent(world, LIES_PERCENT))
		lie = (enum lie)(1 + world_below(world, LIE_UNPACK - 1));
	else
		return LIE_NONE;
	coverage_hit(world->coverage, "fault:liar-%s", names[lie]);
	return lie;
}

/* --- what it makes of an answer --- */

/* In the name of another node, with our own key. */
static void confirm_forge(struct liar *liar, const struct visit *visit,
			  uint32_t place, int result, struct writer *writer)
{
	struct world *world = liar->world;
	const char *name = visit->nodes->names[place];
	unsigned int index = (unsigned int)atoi(name + 1);
	struct node_keys keys;
	struct confirm confirm = {
		.version = WIRE_VERSION,
		.grant_id = visit->head.grant_id,
		.sequence = visit->head.sequence,
		.epoch = visit->head.epoch,
		.life = visit->head.life,
		.op = visit->head.op,
		.result = result,
	};
	char own[16];

	snprintf(confirm.reason, sizeof(confirm.reason), "%s",
		 result < 0 ? "a lie" : "");
	snprintf(confirm.node, sizeof(confirm.node), "%s", name);
	memcpy(confirm.incarnation, node_incarnation(world->nodes[index]),
	       INCARNATION_SIZE);
	snprintf(own, sizeof(own), "n%u", liar->node);
	if (node_keys_make(&world->keys, own, &keys, NULL) < 0 ||
	    confirm_encode(&confirm, &keys.confirms[0], writer) < 0)
		abort();
	node_keys_fini(&keys);
}

/* All others have answered, it says; what it says of itself is its own. */
static void forge(struct liar *liar, uint64_t collective, const void *bytes,
		  size_t size, struct writer *ret_writer)
{
	const struct visit *visit = visit_of(liar, collective);
	int result = world_percent(liar->world, 60) ? 0 : -EIO;
	struct combined combined;

	if (visit == NULL ||
	    combined_init(&combined, (uint32_t)visit->nodes->count) < 0)
		return;
	if (size > 0)
		(void)combined_merge(&combined, bytes, size);
	for (uint32_t i = 0; i < visit->nodes->count; i++) {
		unsigned int index =
			(unsigned int)atoi(visit->nodes->names[i] + 1);
		struct writer confirm = { 0 };

		if (index == liar->node || index >= liar->world->node_count)
			continue;
		confirm_forge(liar, visit, i, result, &confirm);
		/* Who has answered already stays as he is. */
		(void)combined_add(&combined, i, confirm.data, confirm.size);
		writer_fini(&confirm);
	}
	if (combined_encode(&combined, ret_writer) < 0)
		abort();
	combined_fini(&combined);
}

/* A confirmation with the tag of somebody else. */
static void unpacked_write(struct liar *liar, const struct visit *visit,
			   uint32_t place, const struct combined_set *set,
			   struct writer *writer)
{
	struct writer tail = { 0 };

	confirm_forge(liar, visit, place, 0, writer);
	write_u32(&tail, set->key_id);
	write_bytes(&tail, set->tag, sizeof(set->tag));
	if (writer->result < 0 || writer->size < tail.size)
		abort();
	memcpy(writer->data + writer->size - tail.size, tail.data, tail.size);
	writer_fini(&tail);
}

/* Who has obeyed an APPLY, if his answer comes by itself. */
static void remember(struct liar *liar, uint64_t collective, const void *bytes,
		     size_t size)
{
	const struct visit *visit = visit_of(liar, collective);
	struct combined combined;

	if (visit == NULL || visit->head.op != COMMAND_APPLY ||
	    combined_init(&combined, (uint32_t)visit->nodes->count) < 0)
		return;
	(void)combined_merge(&combined, bytes, size);
	for (size_t i = 0; i < combined.set_count; i++) {
		const struct combined_set *set = &combined.sets[i];
		struct unpacked *unpacked =
			&liar->unpacked[liar->unpacked_count % UNPACKED_MAX];
		uint32_t place;

		if (idset_count(set->places) != 1)
			continue;
		place = idset_next(set->places, 0);
		/* What a liar below has altered may say anything. */
		if ((unsigned int)atoi(visit->nodes->names[place] + 1) >=
		    liar->world->node_count)
			continue;
		liar->unpacked_count++;
		unpacked->grant_id = visit->head.grant_id;
		unpacked->confirm.size = 0;
		unpacked_write(liar, visit, place, set, &unpacked->confirm);
	}
	combined_fini(&combined);
}

/* To a REVOKE: what was said to the APPLY of the same grant, and that alone. */
static void unpack(struct liar *liar, uint64_t collective,
		   struct writer *ret_writer)
{
	const struct visit *visit = visit_of(liar, collective);
	struct combined combined;

	if (combined_init(&combined, (uint32_t)visit->nodes->count) < 0)
		abort();
	for (size_t i = 0; i < UNPACKED_MAX; i++) {
		const struct writer *confirm = &liar->unpacked[i].confirm;

		if (answers(&liar->unpacked[i], visit) &&
		    combined_carry(&combined, confirm->data, confirm->size) < 0)
			abort();
	}
	if (combined_encode(&combined, ret_writer) < 0)
		abort();
	combined_fini(&combined);
}

/* What becomes of it; the writer is empty at first. */
static void lie_about(struct liar *liar, enum lie lie, uint64_t collective,
		      const void *bytes, size_t size, struct writer *ret_writer)
{
	struct world *world = liar->world;
	struct writer *earlier = &liar->earlier;

	switch (lie) {
	case LIE_OMIT:
		break;
	case LIE_FORGE:
		forge(liar, collective, bytes, size, ret_writer);
		break;
	case LIE_UNPACK:
		unpack(liar, collective, ret_writer);
		break;
	case LIE_REPLAY:
		write_bytes(ret_writer, earlier->data, earlier->size);
		break;
	case LIE_ALTER:
		write_bytes(ret_writer, bytes, size);
		if (size > 0)
			ret_writer->data[world_below(world, size)] ^=
				(uint8_t)(1u << world_below(world, 8));
		break;
	default:
		write_bytes(ret_writer, bytes, size);
		break;
	}
	if (size > 0 && world_percent(world, 20)) {
		earlier->size = 0;
		write_bytes(earlier, bytes, size);
	}
}

/* --- up --- */

static void on_kept(void *ctx)
{
	struct kept *kept = ctx;

	DL_DELETE(kept->liar->kept, kept);
	node_rounds_answer(kept->liar->node_rounds, kept->collective,
			   kept->bytes, kept->size, kept->is_last);
	free(kept);
}

static void keep(struct liar *liar, uint64_t collective,
		 const struct writer *answer, bool is_last)
{
	struct world *world = liar->world;
	struct kept *kept = world_allocate(sizeof(*kept) + answer->size);

	kept->liar = liar;
	kept->collective = collective;
	kept->is_last = is_last;
	kept->size = answer->size;
	if (answer->size > 0)
		memcpy(kept->bytes, answer->data, answer->size);
	kept->handle =
		sim_queue_add(world->queue, 1 + world_below(world, KEPT_MS_MAX),
			      on_kept, kept);
	DL_APPEND(liar->kept, kept);
}

void liar_answer(struct liar *liar, uint64_t collective, const void *bytes,
		 size_t size, bool is_last)
{
	enum lie lie = choose(liar, collective);
	struct writer answer = { 0 };

	if (lie == LIE_NONE) {
		node_rounds_answer(liar->node_rounds, collective, bytes, size,
				   is_last);
		return;
	}
	lie_about(liar, lie, collective, bytes, size, &answer);
	if (lie == LIE_KEEP)
		keep(liar, collective, &answer, is_last);
	else
		node_rounds_answer(liar->node_rounds, collective, answer.data,
				   answer.size, is_last);
	writer_fini(&answer);
}

/* --- from below --- */

static void visit_forget(struct visit *visit)
{
	hostlist_destroy(visit->nodes);
	*visit = (struct visit){ 0 };
}

static void on_received(void *ctx, uint64_t collective, const void *payload,
			size_t size, const void *bulk, size_t bulk_size)
{
	struct liar *liar = ctx;
	struct visit *visit = &liar->visits[liar->visit_count++ % VISITS_MAX];
	_auto_(freep) char *nodes = NULL;
	struct parcel parcel;

	visit_forget(visit);
	visit->collective = collective;
	if (parcel_decode(payload, size, &parcel) == 0 && !parcel.is_bulk &&
	    command_nodes_read(parcel.command, parcel.command_size, &nodes) ==
		    0 &&
	    command_header_read(parcel.command, &visit->head) == 0)
		(void)hostlist_parse(nodes, &visit->nodes, NULL);
	agent_round_command(liar->agent, collective, payload, size, bulk,
			    bulk_size);
}

static void on_part(void *ctx, uint64_t collective, const void *bytes,
		    size_t size)
{
	struct liar *liar = ctx;
	enum lie lie = choose(liar, collective);
	struct writer answer = { 0 };

	coverage_hit(liar->world->coverage, "round:from-below");
	remember(liar, collective, bytes, size);
	if (lie == LIE_NONE) {
		agent_round_part(liar->agent, collective, bytes, size);
		return;
	}
	lie_about(liar, lie, collective, bytes, size, &answer);
	if (answer.size > 0)
		agent_round_part(liar->agent, collective, answer.data,
				 answer.size);
	writer_fini(&answer);
}

static void on_closed(void *ctx, uint64_t collective)
{
	struct liar *liar = ctx;

	agent_round_closed(liar->agent, collective);
}

static const struct node_round_events events = {
	.command = on_received,
	.part = on_part,
	.closed = on_closed,
};

int liar_serve(struct liar *liar, struct agent *agent)
{
	liar->agent = agent;
	return node_rounds_serve(liar->node_rounds, &events, liar);
}

/* --- the whole --- */

struct liar *liar_create(struct world *world, unsigned int node,
			 struct node_rounds *node_rounds)
{
	struct liar *liar = world_allocate(sizeof(*liar));

	liar->world = world;
	liar->node = node;
	liar->node_rounds = node_rounds;
	return liar;
}

void liar_destroy(struct liar *liar)
{
	struct kept *kept, *next;

	if (liar == NULL)
		return;
	DL_FOREACH_SAFE (liar->kept, kept, next) {
		sim_queue_cancel(liar->world->queue, kept->handle);
		free(kept);
	}
	for (size_t i = 0; i < VISITS_MAX; i++)
		visit_forget(&liar->visits[i]);
	for (size_t i = 0; i < UNPACKED_MAX; i++)
		writer_fini(&liar->unpacked[i].confirm);
	writer_fini(&liar->earlier);
	free(liar);
}

void liar_set(struct liar *liar, bool is_lying)
{
	liar->is_lying = is_lying;
}
