/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A story has some chapters. Each begins with a few things that happen, goes on
 * for some cycles, and ends with most of them mended. Checks that are due at a
 * later moment wait in a list.
 */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bed.h"
#include "scoll/member/age.h"
#include "scoll/member/message.h"

#define CYCLES(count)    ((uint64_t)(count)*BED_CYCLE_MS)
#define CHECK_MAX        64
#define CHAPTER_COUNT    8
#define STEP_MS          10
#define HUGE_CYCLE       (UINT64_C(1) << 60)
#define POISON_COUNT_MIN 6
#define LOSS_SOME        100000
#define DRIFT_PPM        200
#define WALL_APART_MS    2000

const char *const world_count_names[WORLD_COUNT] = {
	[WORLD_LOST] = "messages lost",
	[WORLD_DOUBLED] = "messages doubled",
	[WORLD_LATE] = "messages overtaken",
	[WORLD_CUT] = "messages between sides",
	[WORLD_HELD] = "messages held by a pause",
	[WORLD_OVERFLOWN] = "messages too many for a pause",
	[WORLD_GONE] = "messages to nodes that are down",
	[WORLD_CRASH] = "crashes",
	[WORLD_MASS_CRASH] = "crashes of most nodes",
	[WORLD_QUICK_REBOOT] = "quick reboots",
	[WORLD_SLOW_REBOOT] = "slow reboots",
	[WORLD_BRIEF_LIFE] = "brief lives",
	[WORLD_SHORT_PAUSE] = "short pauses",
	[WORLD_LONG_PAUSE] = "long pauses",
	[WORLD_PARTITION] = "partitions",
	[WORLD_LEAVE] = "leaves",
	[WORLD_POISON] = "huge cycles",
	[WORLD_POISON_IN_STEALTH] = "huge cycles in stealth",
	[WORLD_CREEP] = "creeping cycles",
	[WORLD_DETECTED] = "deaths checked",
	[WORLD_REBOOT_SEEN] = "reboots checked",
	[WORLD_EARLY] = "early ends of stealth",
	[WORLD_STEP] = "steps of the cycle",
	[WORLD_JUMP] = "jumps of the cycle",
	[WORLD_BACK] = "cycles taken back",
	[WORLD_NONCE_REBOOT] = "reboots by nonce",
};

/* By then the node is dead to all who judge. */
struct check {
	uint32_t node;
	uint64_t at_ms;
	uint64_t starts; /* of the node, when it died */
	bool is_leave;
};

struct member {
	uint64_t starts;
	bool is_poisoned;
	bool is_rebooting; /* started, and not yet seen to speak */
	/* How the others saw it when it crashed. */
	bool *was_seen;
	uint32_t *counters;
	uint64_t *seen_starts; /* of the observer */
};

struct world {
	uint64_t seed;
	struct sim_rng rng;
	struct bed *bed;
	struct world_result *result;
	struct bed_faults faults;
	uint32_t count;
	struct member *members;
	struct check checks[CHECK_MAX];
	size_t check_count;
	bool is_divided;
};

__attribute__((format(printf, 2, 3))) static void broken(struct world *world,
							 const char *format,
							 ...)
{
	char text[160];
	va_list arguments;

	if (world->result->broken[0] != 0)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(world->result->broken, sizeof(world->result->broken),
		 "seed %llu, %u nodes, cycle %llu: %s",
		 (unsigned long long)world->seed, world->count,
		 (unsigned long long)(bed_now_ms(world->bed) / BED_CYCLE_MS),
		 text);
}

static uint32_t below(struct world *world, uint64_t n)
{
	return (uint32_t)sim_rng_below(&world->rng, n);
}

static void hit(struct world *world, enum world_count what, uint64_t count)
{
	world->result->counts[what] += count;
}

/* --- checks --- */

static void check_detection(struct world *world, const struct check *check)
{
	uint32_t node = check->node;

	/* Restarted, and perhaps known to be: its reboot is checked. */
	if (world->members[node].starts != check->starts)
		return;
	for (uint32_t i = 0; i < world->count; i++) {
		if (i == node || !bed_is_judge(world->bed, i) ||
		    bed_is_suspended(world->bed, i))
			continue;
		hit(world, WORLD_DETECTED, 1);
		if (bed_sees(world->bed, i, node))
			broken(world, "node %u %s, and node %u has it alive",
			       node, check->is_leave ? "left" : "crashed", i);
	}
}

static void check_due(struct world *world)
{
	for (size_t i = 0; i < world->check_count;) {
		struct check check = world->checks[i];

		if (check.at_ms > bed_now_ms(world->bed)) {
			i++;
			continue;
		}
		world->checks[i] = world->checks[--world->check_count];
		check_detection(world, &check);
	}
}

static void check_reboot(struct world *world, uint32_t node)
{
	struct member *member = &world->members[node];

	member->is_rebooting = false;
	hit(world, WORLD_EARLY,
	    gossip_stats(bed_gossip(world->bed, node))->early_count);
	for (uint32_t i = 0; i < world->count; i++) {
		if (i == node || !member->was_seen[i] ||
		    !bed_is_judge(world->bed, i) ||
		    bed_is_suspended(world->bed, i) ||
		    member->seen_starts[i] != world->members[i].starts)
			continue;
		hit(world, WORLD_REBOOT_SEEN, 1);
		if (bed_counter(world->bed, i, node) == member->counters[i])
			broken(world,
			       "node %u rebooted, and node %u did not see it",
			       node, i);
	}
}

static void run(struct world *world, uint64_t duration_ms)
{
	const struct bed_stats *stats = bed_stats(world->bed);

	for (uint64_t ms = 0; ms < duration_ms; ms += STEP_MS) {
		bed_run(world->bed, STEP_MS);
		for (uint32_t i = 0; i < world->count; i++) {
			if (world->members[i].is_rebooting &&
			    bed_is_active(world->bed, i))
				check_reboot(world, i);
		}
		check_due(world);
		if (stats->false_deaths > 0)
			broken(world, "node %u has live node %u dead",
			       stats->false_by, stats->false_of);
		if (stats->false_reboots > 0)
			broken(world, "node %u counts no death of node %u",
			       stats->false_by, stats->false_of);
		if (world->result->broken[0] != 0)
			return;
	}
}

/* --- what happens --- */

/* The node's counters are gone with it. */
static void note_end(struct world *world, uint32_t node)
{
	const struct gossip_stats *stats =
		gossip_stats(bed_gossip(world->bed, node));

	hit(world, WORLD_STEP, stats->step_count);
	hit(world, WORLD_JUMP, stats->jump_count);
	hit(world, WORLD_BACK, stats->back_count);
	hit(world, WORLD_NONCE_REBOOT, stats->reboot_count);
}

static void expect_death(struct world *world, uint32_t node, bool is_leave,
			 unsigned int cycles)
{
	if (world->check_count == CHECK_MAX)
		return;
	world->checks[world->check_count++] = (struct check){
		.node = node,
		.at_ms = bed_now_ms(world->bed) + CYCLES(cycles),
		.starts = world->members[node].starts,
		.is_leave = is_leave,
	};
}

static void note_observers(struct world *world, uint32_t node)
{
	struct member *member = &world->members[node];

	for (uint32_t i = 0; i < world->count; i++) {
		member->was_seen[i] = bed_is_up(world->bed, i) &&
				      bed_sees(world->bed, i, node);
		if (!member->was_seen[i])
			continue;
		member->counters[i] = bed_counter(world->bed, i, node);
		member->seen_starts[i] = world->members[i].starts;
	}
}

static void end_poison(struct world *world, uint32_t node)
{
	if (world->members[node].is_poisoned)
		bed_calm(world->bed, node);
	world->members[node].is_poisoned = false;
}

static void crash(struct world *world, uint32_t node)
{
	const struct gossip_bounds *bounds = bed_bounds(world->bed);

	if (!bed_is_up(world->bed, node))
		return;
	note_observers(world, node);
	note_end(world, node);
	end_poison(world, node);
	bed_crash(world->bed, node);
	world->members[node].is_rebooting = false;
	expect_death(world, node, false,
		     bounds->dead_after + GOSSIP_SKEW_CYCLES + 1);
	hit(world, WORLD_CRASH, 1);
}

static void leave(struct world *world, uint32_t node)
{
	const struct gossip_bounds *bounds = bed_bounds(world->bed);

	if (!bed_is_judge(world->bed, node) || world->is_divided)
		return;
	note_observers(world, node);
	note_end(world, node);
	bed_leave(world->bed, node);
	/* Where many messages are lost, it may come to the same as a crash. */
	expect_death(world, node, true,
		     world->faults.lost > LOSS_SOME
			     ? bounds->dead_after + GOSSIP_SKEW_CYCLES + 1
			     : bounds->age_max);
	hit(world, WORLD_LEAVE, 1);
}

static void start(struct world *world, uint32_t node)
{
	if (bed_is_up(world->bed, node))
		return;
	world->members[node].starts++;
	bed_start(world->bed, node);
	world->members[node].is_rebooting = true;
}

static void reboot(struct world *world, uint32_t node, bool is_quick)
{
	const struct gossip_bounds *bounds = bed_bounds(world->bed);
	unsigned int cycles = below(world, bounds->dead_after);

	if (!bed_is_up(world->bed, node))
		return;
	if (!is_quick)
		cycles += bounds->very_old;
	crash(world, node);
	run(world, CYCLES(cycles) + below(world, BED_CYCLE_MS));
	start(world, node);
	hit(world, is_quick ? WORLD_QUICK_REBOOT : WORLD_SLOW_REBOOT, 1);
}

/* A life so short that some do not know of it when it is over. */
static void live_briefly(struct world *world, uint32_t node)
{
	reboot(world, node, false);
	for (unsigned int i = 0; i < bed_bounds(world->bed)->stealth + 1; i++) {
		if (!bed_is_active(world->bed, node))
			run(world, CYCLES(1));
	}
	run(world, CYCLES(1 + below(world, 2)));
	crash(world, node);
	start(world, node);
	hit(world, WORLD_BRIEF_LIFE, 1);
}

static void pause_it(struct world *world, uint32_t node, bool is_short)
{
	unsigned int cycles = is_short ? below(world, GOSSIP_STEP_CYCLES)
				       : 5 + below(world, 60);

	if (!bed_is_up(world->bed, node) || bed_is_paused(world->bed, node))
		return;
	bed_pause(world->bed, node);
	run(world, CYCLES(cycles) + below(world, BED_CYCLE_MS));
	bed_resume(world->bed, node);
	hit(world, is_short ? WORLD_SHORT_PAUSE : WORLD_LONG_PAUSE, 1);
}

static void divide(struct world *world)
{
	uint32_t size = 1 + below(world, world->count - 1);

	if (world->is_divided)
		return;
	world->is_divided = true;
	for (uint32_t i = 0; i < world->count; i++) {
		bed_disturb(world->bed, i);
		bed_put(world->bed, i, below(world, world->count) < size);
	}
	hit(world, WORLD_PARTITION, 1);
}

static void heal(struct world *world)
{
	if (!world->is_divided)
		return;
	world->is_divided = false;
	for (uint32_t i = 0; i < world->count; i++) {
		bed_put(world->bed, i, 0);
		bed_calm(world->bed, i);
	}
}

/* The next one that is up: nobody forges a sign of life of the dead. */
static uint32_t neighbour(struct world *world, uint32_t node)
{
	uint32_t next = node;

	do {
		next = (next + 1) % world->count;
	} while (next != node && !bed_is_up(world->bed, next));
	return next;
}

/* A message of its neighbour that claims a cycle, and nothing else. */
static int forge(struct world *world, uint32_t node, uint64_t cycle)
{
	uint8_t signs[GOSSIP_MESSAGE_SIZE_MAX];
	uint32_t sender = neighbour(world, node);
	struct member_message message = {
		.nid = sender + 1,
		.boot_nonce = bed_nonce(world->bed, sender),
		.cycle = cycle,
		.asker_nonce = bed_nonce(world->bed, node),
		.count = world->count,
		.signs = signs,
	};
	struct writer writer = { 0 };
	struct roster *roster;
	uint32_t index;
	int result;

	memset(signs, AGE_UNKNOWN, sizeof(signs));
	if (roster_create(NULL, 0, &roster) < 0)
		abort();
	for (uint32_t i = 0; i < world->count; i++) {
		if (roster_add(roster, i + 1, &index) < 0)
			abort();
	}
	roster_digest(roster, message.roster_digest);
	roster_destroy(roster);
	if (message_encode(&message, &writer) < 0)
		abort();
	result = bed_inject(world->bed, node, writer.data, writer.size);
	writer_fini(&writer);
	return result;
}

/* It is lost to the others until it has gone back. */
static void mislead(struct world *world, uint32_t node)
{
	if (world->members[node].is_poisoned)
		return;
	world->members[node].is_poisoned = true;
	bed_disturb(world->bed, node);
}

static void poison(struct world *world, uint32_t node)
{
	struct gossip *gossip = bed_gossip(world->bed, node);
	uint64_t cycle = HUGE_CYCLE + below(world, 1000000);

	/* Of few, each is a majority: nothing guards them, and that is said. */
	if (gossip == NULL || bed_is_paused(world->bed, node) ||
	    world->count < POISON_COUNT_MIN)
		return;
	if (!bed_is_active(world->bed, node)) {
		mislead(world, node);
		forge(world, node, cycle);
		hit(world, WORLD_POISON_IN_STEALTH, 1);
		return;
	}
	/* It may have come to believe in one when it was in stealth. */
	if (gossip_cycle(gossip) >= HUGE_CYCLE)
		cycle = gossip_cycle(gossip) + HUGE_CYCLE;
	hit(world, WORLD_POISON, 1);
	for (int i = 0; i < 5; i++) {
		if (forge(world, node, cycle) < 0)
			continue;
		mislead(world, node);
		/* Where few live, few are enough. */
		if (discovery_alive_count(gossip_discovery(gossip)) >= 4)
			broken(world, "node %u believes in a huge cycle", node);
		return;
	}
}

static void creep(struct world *world, uint32_t node)
{
	struct gossip *gossip = bed_gossip(world->bed, node);
	uint64_t begin;

	if (!bed_is_judge(world->bed, node) ||
	    !bed_is_judge(world->bed, neighbour(world, node)) ||
	    world->is_divided || world->faults.lost > LOSS_SOME ||
	    discovery_alive_count(gossip_discovery(gossip)) < 4)
		return;
	hit(world, WORLD_CREEP, 1);
	begin = gossip_cycle(gossip);
	for (int i = 0; i < 50; i++)
		forge(world, node, gossip_cycle(gossip) + 1);
	/* Where few live, few are enough. */
	if (discovery_alive_count(gossip_discovery(gossip)) < 4)
		mislead(world, node);
	else if (gossip_cycle(gossip) > begin + GOSSIP_STEP_CYCLES + 1)
		broken(world, "node %u was hurried by %u cycles", node,
		       (unsigned int)(gossip_cycle(gossip) - begin));
	/* What was forged is of a cycle that has to come first. */
	run(world, CYCLES(10));
}

static void happen(struct world *world)
{
	uint32_t node = below(world, world->count);

	switch (below(world, 12)) {
	case 0:
		crash(world, node);
		break;
	case 1:
	case 2:
		reboot(world, node, true);
		break;
	case 3:
		reboot(world, node, false);
		break;
	case 10:
		live_briefly(world, node);
		break;
	case 4:
		pause_it(world, node, true);
		break;
	case 5:
		pause_it(world, node, false);
		break;
	case 6:
		divide(world);
		break;
	case 7:
		leave(world, node);
		break;
	case 8:
		poison(world, node);
		break;
	case 9:
		/* In stealth, where it is believed. */
		crash(world, node);
		start(world, node);
		poison(world, node);
		break;
	default:
		creep(world, node);
	}
}

static void mass_crash(struct world *world)
{
	if (world->count < 8)
		return;
	for (uint32_t i = 0; i < world->count; i++) {
		if (below(world, 4) > 0)
			crash(world, i);
	}
	hit(world, WORLD_MASS_CRASH, 1);
}

static void mend(struct world *world)
{
	heal(world);
	for (uint32_t i = 0; i < world->count; i++) {
		end_poison(world, i);
		start(world, i);
	}
}

/* --- the story --- */

static void faults_choose(struct world *world)
{
	struct bed_faults *faults = &world->faults;

	faults->delay_min_ms = 1;
	faults->delay_max_ms = 1 + below(world, 100);
	faults->lost = below(world, 4) * LOSS_SOME;
	faults->doubled = below(world, 3) * 50000;
	faults->late = below(world, 3) * 30000;
}

static void choose(struct world *world)
{
	struct bed_options options = { .seed = sim_rng_u64(&world->rng),
				       .drift_ppm_max = DRIFT_PPM,
				       .wall_apart_ms = WALL_APART_MS };
	uint32_t kind = below(world, 20);

	if (kind < 12)
		world->count = 2 + below(world, 12);
	else if (kind < 19)
		world->count = 10 + below(world, 60);
	else
		world->count = 70 + below(world, 130);
	faults_choose(world);
	options.node_count = world->count;
	options.faults = world->faults;
	world->bed = bed_create(&options);
	world->members = calloc(world->count, sizeof(*world->members));
	for (uint32_t i = 0; i < world->count; i++) {
		struct member *member = &world->members[i];

		member->was_seen = calloc(world->count, sizeof(bool));
		member->counters = calloc(world->count, sizeof(uint32_t));
		member->seen_starts = calloc(world->count, sizeof(uint64_t));
	}
}

static void check_end(struct world *world)
{
	uint64_t low, high, begin, ms = CYCLES(20);

	bed_cycles(world->bed, &low, &begin);
	run(world, ms);
	bed_cycles(world->bed, &low, &high);
	if (high - low > 1)
		broken(world, "cycles are %llu apart",
		       (unsigned long long)(high - low));
	if (high > begin + 21)
		broken(world, "the cycle is faster than time");
	for (uint32_t i = 0; i < world->count; i++) {
		if (!bed_is_judge(world->bed, i))
			broken(world, "node %u is not active", i);
		else if (bed_alive_views(world->bed, i) != world->count - 1)
			broken(world, "node %u is not alive to all", i);
	}
}

static void tell(struct world *world)
{
	for (uint32_t i = 0; i < world->count; i++) {
		start(world, i);
		run(world, below(world, 200) / STEP_MS * STEP_MS);
	}
	run(world, CYCLES(120));
	for (int i = 0; i < CHAPTER_COUNT; i++) {
		for (uint32_t k = 1 + below(world, 3); k > 0; k--)
			happen(world);
		run(world, CYCLES(below(world, 60)));
		if (below(world, 3) > 0)
			mend(world);
	}
	if (below(world, 3) == 0) {
		mend(world);
		run(world, CYCLES(100));
		mass_crash(world);
		run(world, CYCLES(60));
	}
	mend(world);
	run(world, CYCLES(150));
	check_end(world);
}

static void note_all(struct world *world)
{
	const struct bed_stats *stats = bed_stats(world->bed);

	for (uint32_t i = 0; i < world->count; i++) {
		if (bed_is_up(world->bed, i))
			note_end(world, i);
	}
	hit(world, WORLD_LOST, stats->lost);
	hit(world, WORLD_DOUBLED, stats->doubled);
	hit(world, WORLD_LATE, stats->late);
	hit(world, WORLD_CUT, stats->cut);
	hit(world, WORLD_HELD, stats->held);
	hit(world, WORLD_OVERFLOWN, stats->overflown);
	hit(world, WORLD_GONE, stats->gone);
	world->result->simulated_ms += bed_now_ms(world->bed);
	world->result->hash = bed_hash(world->bed);
}

void world_run(uint64_t seed, struct world_result *result)
{
	struct world world = { .seed = seed, .result = result };

	sim_rng_init(&world.rng, seed);
	choose(&world);
	tell(&world);
	note_all(&world);
	for (uint32_t i = 0; i < world.count; i++) {
		free(world.members[i].was_seen);
		free(world.members[i].counters);
		free(world.members[i].seen_starts);
	}
	free(world.members);
	bed_destroy(world.bed);
}
