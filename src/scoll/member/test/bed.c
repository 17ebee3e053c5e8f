/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time is cut into milliseconds, each with a list of what is due: messages,
 * and nodes that want to run. Lists are in the order in which things were
 * added, so that a seed has one history.
 */
#include "bed.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "scoll/member/gossip_internal.h"

#define SLOT_COUNT 4096 /* longer than anything is delayed */
#define SECOND_MS  1000
#define MS_NS      UINT64_C(1000000)
#define MILLION    1000000
#define WALL_MS    UINT64_C(1500000000000) /* when the bed begins */

/* A message on its way, or a node's call when size is 0. */
struct event {
	struct event *prev, *next;
	uint32_t from, to;
	uint64_t incarnation; /* of a call */
	size_t size;
	uint8_t bytes[];
};

struct node {
	struct bed *bed;
	uint32_t index;
	struct gossip *gossip; /* NULL: down */
	uint64_t incarnation;
	uint64_t offset_ns; /* of its clock */
	int64_t drift_ppm;
	uint64_t wall_ms; /* offset of the clock that it sees */
	struct sim_rng rng;
	unsigned int side;
	bool is_paused;
	bool has_left;
	struct event *held;
	size_t held_count;
	uint64_t call_ms;   /* when it is called next; 0: not arranged */
	uint64_t epoch;     /* of its discovery, when last looked at */
	uint64_t deaths;    /* that it had seen then */
	uint64_t reboots;   /* and by the nonce alone */
	uint64_t *alive;    /* as it saw the others then */
	uint32_t *counters; /* of the others, likewise */
	unsigned int disturbed_count;
	bool was_judge;    /* when it was paused, and only slept since */
	uint64_t calm_ms;  /* from then on its verdicts count */
	uint64_t awake_ms; /* the last disturbance ended */
	uint64_t down_ms;  /* the last incarnation ended */
	uint64_t first_verdict_ms, last_verdict_ms;
};

struct bed {
	size_t node_count;
	struct roster *roster;
	struct gossip_bounds bounds;
	unsigned int fanout;
	size_t message_size_max;
	struct sim_rng rng;
	struct bed_faults faults;
	struct bed_stats stats;
	uint64_t now_ms;
	struct event *slots[SLOT_COUNT];
	struct event *spare;
	struct node *nodes;
};

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (memory == NULL)
		abort();
	return memory;
}

/* --- clocks and events --- */

/* Clocks are exact to the millisecond of the bed. */
static uint64_t node_ns(const struct node *node, uint64_t at_ms)
{
	return node->offset_ns +
	       at_ms * (uint64_t)((int64_t)MILLION + node->drift_ppm) *
		       (MS_NS / MILLION);
}

static struct event *event_make(struct bed *bed, size_t size)
{
	struct event *event = bed->spare;

	if (event != NULL)
		DL_DELETE(bed->spare, event);
	else
		event = allocate(1, sizeof(*event) + bed->message_size_max);
	event->size = size;
	return event;
}

static void event_drop(struct bed *bed, struct event *event)
{
	DL_PREPEND(bed->spare, event);
}

static void event_add(struct bed *bed, struct event *event, uint64_t at_ms)
{
	assert(at_ms > bed->now_ms && at_ms < bed->now_ms + SLOT_COUNT);
	DL_APPEND(bed->slots[at_ms % SLOT_COUNT], event);
}

static void arrange_call(struct node *node)
{
	struct bed *bed = node->bed;
	uint64_t due_ns = gossip_deadline_ns(node->gossip);
	uint64_t at_ms = bed->now_ms + 1;
	struct event *event;

	if (due_ns == DEADLINE_NONE || node->is_paused)
		return;
	if (due_ns > node_ns(node, at_ms))
		at_ms += (due_ns - node_ns(node, at_ms)) / MS_NS;
	if (at_ms >= bed->now_ms + SLOT_COUNT)
		at_ms = bed->now_ms + SLOT_COUNT - 1;
	if (node->call_ms > bed->now_ms && node->call_ms <= at_ms)
		return;
	node->call_ms = at_ms;
	event = event_make(bed, 0);
	event->to = node->index;
	event->incarnation = node->incarnation;
	event_add(bed, event, at_ms);
}

/* --- the network --- */

static void fly(struct bed *bed, const struct event *message)
{
	const struct bed_faults *faults = &bed->faults;
	struct event *event = event_make(bed, message->size);
	uint64_t delay_ms = faults->delay_min_ms;

	delay_ms += sim_rng_below(&bed->rng, faults->delay_max_ms -
						     faults->delay_min_ms + 1);
	if (sim_rng_chance(&bed->rng, faults->late)) {
		delay_ms += sim_rng_below(&bed->rng, BED_LATE_MAX_MS);
		bed->stats.late++;
	}
	event->from = message->from;
	event->to = message->to;
	memcpy(event->bytes, message->bytes, message->size);
	event_add(bed, event, bed->now_ms + (delay_ms > 0 ? delay_ms : 1));
}

static int on_send(void *ctx, uint64_t nid, const void *bytes, size_t size)
{
	struct node *node = ctx;
	struct bed *bed = node->bed;
	struct event *message;

	assert(size > 0 && size <= bed->message_size_max);
	bed->stats.sent_count++;
	bed->stats.sent_bytes += size;
	if (bed->nodes[nid - 1].side != node->side) {
		bed->stats.cut++;
		return 0;
	}
	if (sim_rng_chance(&bed->rng, bed->faults.lost)) {
		bed->stats.lost++;
		return 0;
	}
	message = event_make(bed, size);
	message->from = node->index;
	message->to = (uint32_t)nid - 1;
	memcpy(message->bytes, bytes, size);
	fly(bed, message);
	if (sim_rng_chance(&bed->rng, bed->faults.doubled)) {
		bed->stats.doubled++;
		fly(bed, message);
	}
	event_drop(bed, message);
	return 0;
}

/* --- what nodes conclude --- */

/* To have slept is no excuse. */
static bool may_judge(const struct bed *bed, const struct node *observer)
{
	return bed_is_judge(bed, observer->index) ||
	       (observer->was_judge && bed_is_active(bed, observer->index));
}

static void verdict(struct bed *bed, struct node *observer, struct node *node)
{
	bed->stats.verdicts++;
	node->last_verdict_ms = bed->now_ms;
	if (node->first_verdict_ms == 0)
		node->first_verdict_ms = bed->now_ms;
	if (may_judge(bed, observer) && bed_is_judge(bed, node->index)) {
		bed->stats.false_deaths++;
		bed->stats.false_by = observer->index;
		bed->stats.false_of = node->index;
	}
}

/*
 * A counter that moved while both were calm and nobody died. Who slept while
 * the node rebooted may find that out by the nonce, whenever that is.
 */
static void check_counter(struct bed *bed, struct node *observer,
			  uint32_t index, bool has_died)
{
	uint32_t counter = observer->gossip->discovery.counters[index];
	uint32_t before = observer->counters[index];

	observer->counters[index] = counter;
	if (counter != before + has_died &&
	    observer->awake_ms < bed->nodes[index].down_ms &&
	    bed_is_judge(bed, index) && bed_is_judge(bed, observer->index)) {
		bed->stats.false_reboots++;
		bed->stats.false_by = observer->index;
		bed->stats.false_of = index;
	}
}

/* One other node, as it sees it now. */
static void look_at(struct node *node, uint32_t index, bool has_died)
{
	struct bed *bed = node->bed;
	uint32_t counter = node->gossip->discovery.counters[index];

	/* It may have died and come to life again since the last time. */
	if (counter != node->counters[index] &&
	    node->gossip->stats.death_count != node->deaths)
		has_died = true;
	if (has_died)
		verdict(bed, node, &bed->nodes[index]);
	check_counter(bed, node, index, has_died);
}

/* What has changed in its view since the last time. */
static void look(struct node *node)
{
	const struct bed *bed = node->bed;
	const struct discovery *discovery = &node->gossip->discovery;
	const struct gossip_stats *stats = gossip_stats(node->gossip);
	bool is_same = stats->death_count == node->deaths &&
		       stats->reboot_count == node->reboots;

	if (discovery->epoch == node->epoch)
		return;
	node->epoch = discovery->epoch;
	for (size_t word = 0; word < (bed->node_count + 63) / 64; word++) {
		uint64_t died = node->alive[word] & ~discovery->alive[word];

		if (node->alive[word] == discovery->alive[word] && is_same)
			continue;
		node->alive[word] = discovery->alive[word];
		for (size_t i = word * 64;
		     i < (word + 1) * 64 && i < bed->node_count; i++)
			look_at(node, (uint32_t)i, died >> i % 64 & 1);
	}
	node->deaths = stats->death_count;
	node->reboots = stats->reboot_count;
}

static void deliver(struct bed *bed, struct event *event)
{
	struct node *node = &bed->nodes[event->to];
	int result;

	if (node->gossip == NULL) {
		bed->stats.gone++;
		event_drop(bed, event);
		return;
	}
	if (node->is_paused) {
		if (node->held_count == BED_HELD_MAX) {
			bed->stats.overflown++;
			event_drop(bed, event);
			return;
		}
		bed->stats.held++;
		node->held_count++;
		DL_APPEND(node->held, event);
		return;
	}
	result = gossip_receive(node->gossip, node_ns(node, bed->now_ms),
				event->bytes, event->size);
	(void)result; /* counted by the node */
	event_drop(bed, event);
	look(node);
	arrange_call(node);
}

static void call(struct bed *bed, struct event *event)
{
	struct node *node = &bed->nodes[event->to];
	bool is_his =
		node->gossip != NULL && node->incarnation == event->incarnation;

	event_drop(bed, event);
	if (!is_his || node->is_paused || node->call_ms != bed->now_ms)
		return;
	gossip_run(node->gossip, node_ns(node, bed->now_ms));
	look(node);
	arrange_call(node);
}

void bed_run(struct bed *bed, uint64_t duration_ms)
{
	uint64_t end_ms = bed->now_ms + duration_ms;

	while (bed->now_ms < end_ms) {
		struct event **slot = &bed->slots[++bed->now_ms % SLOT_COUNT];

		while (*slot != NULL) {
			struct event *event = *slot;

			DL_DELETE(*slot, event);
			if (event->size == 0)
				call(bed, event);
			else
				deliver(bed, event);
		}
	}
}

/* --- what happens to nodes --- */

struct bed *bed_create(const struct bed_options *options)
{
	struct bed *bed = allocate(1, sizeof(*bed));
	size_t words = (options->node_count + 63) / 64;
	struct message_parts parts = message_parts_of(options->node_count);
	uint32_t index;

	bed->node_count = options->node_count;
	bed->bounds = gossip_bounds_of(options->node_count);
	bed->fanout = options->fanout;
	bed->faults = options->faults;
	bed->message_size_max =
		MESSAGE_HEADER_SIZE + message_part_count(&parts, 0);
	bed->now_ms = 1000;
	sim_rng_init(&bed->rng, options->seed);
	if (roster_create(NULL, 0, &bed->roster) < 0)
		abort();
	bed->nodes = allocate(bed->node_count, sizeof(*bed->nodes));
	for (uint32_t i = 0; i < bed->node_count; i++) {
		struct node *node = &bed->nodes[i];

		if (roster_add(bed->roster, i + 1, &index) < 0)
			abort();
		node->bed = bed;
		node->index = i;
		node->offset_ns = sim_rng_below(&bed->rng, SECOND_MS * MS_NS);
		node->drift_ppm =
			(int64_t)sim_rng_below(&bed->rng,
					       2 * options->drift_ppm_max + 1) -
			options->drift_ppm_max;
		if (options->wall_apart_ms > 0)
			node->wall_ms = sim_rng_below(&bed->rng,
						      options->wall_apart_ms);
		node->disturbed_count = 1; /* it is down */
		node->alive = allocate(words, sizeof(*node->alive));
		node->counters =
			allocate(bed->node_count, sizeof(*node->counters));
	}
	return bed;
}

static void events_free(struct event **head)
{
	struct event *event, *next;

	DL_FOREACH_SAFE (*head, event, next) {
		free(event);
	}
	*head = NULL;
}

void bed_destroy(struct bed *bed)
{
	for (size_t i = 0; i < SLOT_COUNT; i++)
		events_free(&bed->slots[i]);
	events_free(&bed->spare);
	for (size_t i = 0; i < bed->node_count; i++) {
		events_free(&bed->nodes[i].held);
		gossip_destroy(bed->nodes[i].gossip);
		free(bed->nodes[i].alive);
		free(bed->nodes[i].counters);
	}
	free(bed->nodes);
	roster_destroy(bed->roster);
	free(bed);
}

uint64_t bed_now_ms(const struct bed *bed)
{
	return bed->now_ms;
}

void bed_set_faults(struct bed *bed, const struct bed_faults *faults)
{
	bed->faults = *faults;
}

/* Until its stealth is over, and all know of it. */
static void calm_after(struct bed *bed, struct node *node, unsigned int cycles)
{
	uint64_t calm_ms = bed->now_ms + cycles * BED_CYCLE_MS;

	if (calm_ms > node->calm_ms)
		node->calm_ms = calm_ms;
}

void bed_disturb(struct bed *bed, uint32_t node)
{
	bed->nodes[node].disturbed_count++;
	bed->nodes[node].was_judge = false;
}

void bed_calm(struct bed *bed, uint32_t node)
{
	assert(bed->nodes[node].disturbed_count > 0);
	bed->nodes[node].disturbed_count--;
	bed->nodes[node].awake_ms = bed->now_ms;
	/* Verdicts wait for age_max, and what was received is as old again. */
	calm_after(bed, &bed->nodes[node],
		   bed->bounds.very_old + GOSSIP_SKEW_CYCLES);
}

void bed_start(struct bed *bed, uint32_t index)
{
	static const struct gossip_ops ops = { .send = on_send };
	struct node *node = &bed->nodes[index];
	struct gossip_options options = {
		.roster = bed->roster,
		.nid = index + 1,
		.boot_nonce = sim_rng_u64(&bed->rng),
		.cycle_ns = BED_CYCLE_MS * MS_NS,
		.first_cycle =
			(WALL_MS + node->wall_ms + bed->now_ms) / BED_CYCLE_MS,
		.fanout = bed->fanout,
		.ops = &ops,
		.ctx = node,
		.rng = sim_rng_seam(&node->rng),
	};

	assert(node->gossip == NULL);
	sim_rng_init(&node->rng, sim_rng_u64(&bed->rng));
	if (gossip_create(&options, node_ns(node, bed->now_ms), &node->gossip) <
	    0)
		abort();
	node->incarnation++;
	node->has_left = false;
	node->call_ms = 0;
	node->epoch = UINT64_MAX;
	node->deaths = 0;
	node->reboots = 0;
	memset(node->alive, 0,
	       (bed->node_count + 63) / 64 * sizeof(*node->alive));
	memset(node->counters, 0, bed->node_count * sizeof(*node->counters));
	look(node);
	bed_calm(bed, index);
	calm_after(bed, node,
		   bed->bounds.stealth + bed->bounds.very_old +
			   GOSSIP_SKEW_CYCLES);
	arrange_call(node);
}

static void held_drop(struct bed *bed, struct node *node)
{
	while (node->held != NULL) {
		struct event *event = node->held;

		DL_DELETE(node->held, event);
		event_drop(bed, event);
	}
	node->held_count = 0;
}

void bed_crash(struct bed *bed, uint32_t index)
{
	struct node *node = &bed->nodes[index];

	assert(node->gossip != NULL);
	if (node->is_paused) {
		node->is_paused = false;
		bed_calm(bed, index);
	}
	held_drop(bed, node);
	gossip_destroy(node->gossip);
	node->gossip = NULL;
	node->down_ms = bed->now_ms;
	node->first_verdict_ms = 0;
	node->last_verdict_ms = 0;
	bed_disturb(bed, index);
}

void bed_pause(struct bed *bed, uint32_t index)
{
	bool was_judge;

	assert(bed->nodes[index].gossip != NULL &&
	       !bed->nodes[index].is_paused);
	was_judge = bed_is_judge(bed, index);
	bed->nodes[index].is_paused = true;
	bed_disturb(bed, index);
	bed->nodes[index].was_judge = was_judge;
}

void bed_resume(struct bed *bed, uint32_t index)
{
	struct node *node = &bed->nodes[index];
	uint64_t now_ns = node_ns(node, bed->now_ms);
	struct event *held = node->held;

	assert(node->is_paused);
	node->is_paused = false;
	node->held = NULL;
	node->held_count = 0;
	node->call_ms = 0;
	/* Its timer first, or what waits for it. */
	if (sim_rng_chance(&bed->rng, MILLION / 2)) {
		gossip_run(node->gossip, now_ns);
		look(node);
	}
	while (held != NULL) {
		struct event *event = held;

		DL_DELETE(held, event);
		deliver(bed, event);
	}
	bed_calm(bed, index);
	arrange_call(node);
}

void bed_leave(struct bed *bed, uint32_t index)
{
	struct node *node = &bed->nodes[index];

	gossip_leave(node->gossip, node_ns(node, bed->now_ms));
	node->has_left = true;
	bed_crash(bed, index);
}

void bed_put(struct bed *bed, uint32_t index, unsigned int side)
{
	bed->nodes[index].side = side;
}

int bed_inject(struct bed *bed, uint32_t index, const void *bytes, size_t size)
{
	struct node *node = &bed->nodes[index];
	int result = gossip_receive(node->gossip, node_ns(node, bed->now_ms),
				    bytes, size);

	look(node);
	arrange_call(node);
	return result;
}

/* --- what is seen --- */

size_t bed_node_count(const struct bed *bed)
{
	return bed->node_count;
}

const struct gossip_bounds *bed_bounds(const struct bed *bed)
{
	return &bed->bounds;
}

const struct bed_stats *bed_stats(const struct bed *bed)
{
	return &bed->stats;
}

struct gossip *bed_gossip(struct bed *bed, uint32_t node)
{
	return bed->nodes[node].gossip;
}

bool bed_is_up(const struct bed *bed, uint32_t node)
{
	return bed->nodes[node].gossip != NULL;
}

bool bed_is_paused(const struct bed *bed, uint32_t node)
{
	return bed->nodes[node].is_paused;
}

bool bed_is_active(const struct bed *bed, uint32_t node)
{
	return bed->nodes[node].gossip != NULL && !bed->nodes[node].is_paused &&
	       !discovery_is_stealthy(&bed->nodes[node].gossip->discovery);
}

bool bed_is_judge(const struct bed *bed, uint32_t node)
{
	return bed->nodes[node].disturbed_count == 0 &&
	       bed->nodes[node].calm_ms <= bed->now_ms &&
	       bed_is_active(bed, node);
}

bool bed_is_suspended(const struct bed *bed, uint32_t node)
{
	const struct gossip *gossip = bed->nodes[node].gossip;

	return gossip != NULL &&
	       gossip->now_ns < gossip->verdicts_ns + gossip->cycle_ns;
}

bool bed_sees(struct bed *bed, uint32_t observer, uint32_t node)
{
	return discovery_has(&bed->nodes[observer].gossip->discovery, node);
}

uint32_t bed_counter(struct bed *bed, uint32_t observer, uint32_t node)
{
	return bed->nodes[observer].gossip->discovery.counters[node];
}

size_t bed_alive_views(struct bed *bed, uint32_t node)
{
	size_t count = 0;

	for (uint32_t i = 0; i < bed->node_count; i++)
		count += i != node && bed_is_judge(bed, i) &&
			 bed_sees(bed, i, node);
	return count;
}

uint64_t bed_last_verdict_ms(const struct bed *bed, uint32_t node)
{
	return bed->nodes[node].last_verdict_ms;
}

uint64_t bed_first_verdict_ms(const struct bed *bed, uint32_t node)
{
	return bed->nodes[node].first_verdict_ms;
}

uint64_t bed_nonce(const struct bed *bed, uint32_t node)
{
	const struct gossip *gossip = bed->nodes[node].gossip;

	return gossip != NULL ? gossip->boot_nonce : 0;
}

void bed_cycles(struct bed *bed, uint64_t *ret_low, uint64_t *ret_high)
{
	*ret_low = UINT64_MAX;
	*ret_high = 0;
	for (uint32_t i = 0; i < bed->node_count; i++) {
		uint64_t cycle;

		if (!bed_is_active(bed, i))
			continue;
		cycle = gossip_cycle(bed->nodes[i].gossip);
		*ret_low = cycle < *ret_low ? cycle : *ret_low;
		*ret_high = cycle > *ret_high ? cycle : *ret_high;
	}
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

uint64_t bed_hash(struct bed *bed)
{
	uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), &bed->stats,
			    sizeof(bed->stats));

	for (size_t i = 0; i < bed->node_count; i++) {
		const struct gossip *gossip = bed->nodes[i].gossip;

		hash = mix(hash, &i, sizeof(i));
		if (gossip == NULL)
			continue;
		hash = mix(hash, &gossip->cycle, sizeof(gossip->cycle));
		hash = mix(hash, &gossip->stats, sizeof(gossip->stats));
		hash = mix(hash, gossip->signs, gossip->size);
		hash = mix(hash, gossip->discovery.counters,
			   bed->node_count * sizeof(uint32_t));
	}
	return hash;
}

unsigned int bed_age_max(struct bed *bed)
{
	unsigned int oldest = 0;

	for (uint32_t i = 0; i < bed->node_count; i++) {
		const uint8_t *signs;

		if (!bed_is_judge(bed, i))
			continue;
		signs = bed->nodes[i].gossip->signs;
		for (uint32_t k = 0; k < bed->node_count; k++) {
			if (bed_is_judge(bed, k) && age_of(signs[k]) > oldest)
				oldest = age_of(signs[k]);
		}
	}
	return oldest;
}
