/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run has three parts. With faults, until all jobs have come. Without them,
 * until every job is over, every request answered and the operator finds
 * nothing left; that it takes too long is a failure. At last one job more,
 * which has to go through at once.
 */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients.h"
#include "endpoint.h"
#include "faults.h"
#include "fmsim.h"
#include "leader.h"
#include "node.h"
#include "oracle.h"
#include "sim/disk.h"

#define CALM_MAX_MS    (20ull * WORLD_MINUTE_MS)
#define TRIAL_MAX_MS   (2ull * WORLD_MINUTE_MS)
#define STORM_MAX_MS   (60ull * WORLD_MINUTE_MS)
#define OUTSIDE_MAX_MS (15ull * WORLD_MINUTE_MS)

static const char *const fault_names[FAULT_COUNT + 1] = {
	[FAULT_NETWORK] = "network", [FAULT_PARTITION] = "partition",
	[FAULT_MANAGER] = "manager", [FAULT_TAKEOVER] = "takeover",
	[FAULT_BACKUP] = "backup",   [FAULT_DISK] = "disk",
	[FAULT_DAEMON] = "daemon",   [FAULT_TMPFS] = "tmpfs",
	[FAULT_REBOOT] = "reboot",   [FAULT_NIC] = "nic",
	[FAULT_ATTACK] = "attack",   [FAULT_CLOCK] = "clock",
	[FAULT_LIAR] = "liar",       [FAULT_OUTSIDE] = "outside",
};

const char *const *world_fault_names(void)
{
	return fault_names;
}

void *world_allocate(size_t size)
{
	void *memory = calloc(1, size > 0 ? size : 1);

	if (memory == NULL)
		abort();
	return memory;
}

char *world_text(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	return text;
}

uint64_t world_now_ms(const struct world *world)
{
	return world->clock.monotonic_ms;
}

bool world_has_fault(const struct world *world, enum world_fault fault)
{
	return world->options.faults & 1u << fault;
}

/* --- dice --- */

uint64_t world_below(struct world *world, uint64_t n)
{
	return sim_rng_below(&world->rng, n);
}

uint64_t world_between(struct world *world, uint64_t low, uint64_t high)
{
	return low + sim_rng_below(&world->rng, high - low + 1);
}

bool world_percent(struct world *world, unsigned int percent)
{
	return sim_rng_below(&world->rng, 100) < percent;
}

struct sim_rng world_fork_rng(struct world *world)
{
	struct sim_rng rng;

	sim_rng_init(&rng, sim_rng_u64(&world->rng));
	return rng;
}

/* --- the trace --- */

void world_mix(struct world *world, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++)
		world->trace_hash =
			(world->trace_hash ^ at[i]) * UINT64_C(0x100000001b3);
	world->trace_count++;
}

void world_trace(struct world *world, const char *format, ...)
{
	char line[1024];
	va_list args;
	int size = snprintf(line, sizeof(line), "%10.3f ",
			    (double)world_now_ms(world) / 1000);

	va_start(args, format);
	vsnprintf(line + size, sizeof(line) - (size_t)size, format, args);
	va_end(args);
	world_mix(world, line, strlen(line));
	if (world->options.is_verbose)
		puts(line);
}

void world_fail(struct world *world, const char *format, ...)
{
	const struct world_options *options = &world->options;
	va_list args;

	fflush(stdout);
	fprintf(stderr,
		"seed %llu, at %.3f s: ", (unsigned long long)options->seed,
		(double)world_now_ms(world) / 1000);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nto see it again: test/sim/run --seed %llu",
		(unsigned long long)options->seed);
	if (options->node_count > 0)
		fprintf(stderr, " --nodes %u", options->node_count);
	if (options->steps > 0)
		fprintf(stderr, " --steps %u", options->steps);
	for (int i = 0, count = 0;
	     i < FAULT_COUNT && options->faults != (1u << FAULT_COUNT) - 1;
	     i++) {
		if (world_has_fault(world, (enum world_fault)i))
			fprintf(stderr, "%s%s",
				count++ == 0 ? " --faults " : ",",
				fault_names[i]);
	}
	fprintf(stderr, " --verbose\n");
	exit(WORLD_EXIT_BROKEN);
}

/* --- the networks --- */

static void on_node_frame(void *ctx, const char *from, const char *to,
			  uint64_t peer, const void *frame, size_t size)
{
	struct world *world = ctx;

	world_mix(world, frame, size);
	if (from[0] == 'm')
		oracle_manager_sent(world->oracle, frame, size);
	if (world->faults != NULL)
		faults_overhear(world->faults, from, to, frame, size);
}

static void count_network(struct world *world)
{
	const struct sim_network_stats *stats =
		sim_network_stats(world->node_network);
	struct coverage *coverage = world->coverage;

	coverage_add(coverage, "network:sent", stats->sent);
	coverage_add(coverage, "network:received", stats->received);
	coverage_add(coverage, "fault:frame-lost", stats->lost);
	coverage_add(coverage, "fault:frame-doubled", stats->doubled);
	coverage_add(coverage, "fault:frame-overtaken", stats->reordered);
	coverage_add(coverage, "fault:frame-late", stats->late);
	coverage_add(coverage, "fault:frame-in-another-connection",
		     stats->injected);
	coverage_add(coverage, "fault:connection-broken", stats->broken);
	coverage_add(coverage, "fault:queue-full", stats->full);
	coverage_add(coverage, "fault:frame-cut-off", stats->cut);
	coverage_add(coverage, "fault:dial-timeout", stats->timeouts);
	coverage_add(coverage, "fault:connection-reset", stats->reset);
	coverage_add(coverage, "fault:dial-refused", stats->refused);
}

/* --- the world --- */

struct world *world_create(const struct world_options *options,
			   struct coverage *coverage)
{
	struct world *world = world_allocate(sizeof(*world));
	struct rng_seam seam;
	struct sim_rng rng;

	world->options = *options;
	world->coverage = coverage;
	world->trace_hash = UINT64_C(0xcbf29ce484222325);
	world->clock.monotonic_ms = 1000000;
	world->clock.wall_us = UINT64_C(1750000000000000);
	sim_rng_init(&world->rng, options->seed);
	sim_sqlite_seed((uint32_t)(options->seed % 1000000) + 1);
	world->queue = sim_queue_create(&world->clock);
	rng = world_fork_rng(world);
	world->node_network = sim_network_create(world->queue, &rng);
	rng = world_fork_rng(world);
	world->client_network = sim_network_create(world->queue, &rng);
	sim_network_set_tap(world->node_network, on_node_frame, world);
	world->node_count =
		(unsigned int)world_between(world, 2, WORLD_NODES_MAX);
	if (options->node_count > 0)
		world->node_count = options->node_count;
	world->nic_count = (unsigned int)world_between(world, 1, 2);
	world->vni_count = (unsigned int)world_between(world, 6, 24);
	seam = sim_rng_seam(&world->rng);
	manager_keys_create(&seam, &world->keys);
	world->ether = ether_create(world);
	world->oracle = oracle_create(world);
	world->fmsim = fmsim_create(world);
	world->leader = leader_create(world);
	for (unsigned int i = 0; i < world->node_count; i++)
		world->nodes[i] = node_create(world, i);
	world->clients = clients_create(world);
	return world;
}

void world_destroy(struct world *world)
{
	if (world == NULL)
		return;
	count_network(world);
	admin_destroy(world->admin);
	jobs_destroy(world->jobs);
	clients_destroy(world->clients);
	for (unsigned int i = 0; i < world->node_count; i++) {
		coverage_add(
			world->coverage, "fault:nic-call-fails",
			hardware_fault_count(node_hardware(world->nodes[i])));
		node_destroy(world->nodes[i]);
	}
	leader_destroy(world->leader);
	fmsim_destroy(world->fmsim);
	ether_destroy(world->ether);
	faults_destroy(world->faults);
	oracle_destroy(world->oracle);
	sim_network_destroy(world->node_network);
	sim_network_destroy(world->client_network);
	sim_queue_destroy(world->queue);
	manager_keys_fini(&world->keys);
	free(world);
}

static void run_until(struct world *world, uint64_t moment_ms)
{
	while (sim_queue_next_ms(world->queue) <= moment_ms)
		sim_queue_run(world->queue);
}

static void storm(struct world *world)
{
	uint64_t end_ms = world_now_ms(world) + STORM_MAX_MS;
	unsigned int steps = world->options.steps;

	if (steps == 0)
		steps = (unsigned int)world_between(world, 20, 90);
	leader_start(world->leader, 0);
	for (unsigned int i = 0; i < world->node_count; i++)
		node_boot(world->nodes[i], world_below(world, 5000));
	world->jobs = jobs_create(world, steps);
	world->admin = admin_create(world);
	world->faults = faults_create(world);
	while (!jobs_are_begun(world->jobs) && world_now_ms(world) < end_ms)
		sim_queue_run(world->queue);
	run_until(world, world_now_ms(world) + world_below(world, 60000));
}

/* Lists are read every few minutes. */
static void check_vanished(struct world *world)
{
	uint64_t end_ms = world_now_ms(world) + OUTSIDE_MAX_MS;
	const struct lane *lane;

	fmsim_forget(world->fmsim);
	while ((lane = oracle_outside_unnoticed(world->oracle)) != NULL) {
		if (world_now_ms(world) >= end_ms)
			world_fail(world,
				   "the reservation of '%s' has vanished, and "
				   "no event says so",
				   lane->key);
		sim_queue_run(world->queue);
	}
}

/* What nobody knows of any more is on the next list of what exists. */
static void check_outside(struct world *world)
{
	uint64_t end_ms = world_now_ms(world) + OUTSIDE_MAX_MS;

	if (world->fmsim == NULL)
		return;
	fmsim_heal(world->fmsim);
	while (fmsim_leftover(world->fmsim) != NULL) {
		if (world_now_ms(world) >= end_ms)
			world_fail(world,
				   "NOTHING LEFT: no job lives, and '%s' is at "
				   "the fabric manager for ever",
				   fmsim_leftover(world->fmsim));
		sim_queue_run(world->queue);
	}
	coverage_hit(world->coverage, "check:outside");
}

static void calm(struct world *world)
{
	uint64_t end_ms;

	world_trace(world, "calm");
	world->is_calm = true;
	world->calm_ms = world_now_ms(world);
	faults_heal(world->faults);
	if (world->fmsim != NULL) {
		check_vanished(world);
		/* No release waits for it, and it holds back nothing. */
		fmsim_break(world->fmsim);
	}
	world->calm_ms = world_now_ms(world);
	end_ms = world->calm_ms + CALM_MAX_MS;
	jobs_end(world->jobs);
	admin_mend(world->admin);
	while (!jobs_are_over(world->jobs) || !admin_is_content(world->admin)) {
		if (world_now_ms(world) >= end_ms)
			world_fail(world,
				   "LIVENESS: without faults for %llu minutes "
				   "%s: %s",
				   CALM_MAX_MS / WORLD_MINUTE_MS,
				   jobs_are_over(world->jobs)
					   ? "something is still held"
					   : "jobs are not over",
				   admin_complaint(world->admin));
		sim_queue_run(world->queue);
	}
	check_outside(world);
	/* What nodes owe is sent again after a minute at most. */
	run_until(world, world_now_ms(world) + 2 * WORLD_MINUTE_MS);
	oracle_check_empty(world->oracle);
	coverage_add(world->coverage, "calm-seconds",
		     (world_now_ms(world) - world->calm_ms) / 1000);
}

/* Leases go on, every 10 s; between them nothing is under way or kept. */
static void check_collectives(struct world *world)
{
	uint64_t groups = 0;
	bool is_idle = false;

	for (unsigned int i = 0; i < 20 && !is_idle; i++) {
		run_until(world, world_now_ms(world) + 1000);
		is_idle = leader_is_idle(world->leader, &groups) &&
			  ether_is_idle(world->ether);
	}
	if (!is_idle)
		world_fail(world, "collectives are under way that never end");
	if (groups > 1)
		world_fail(world,
			   "%llu groups are kept, and no grant is left that "
			   "needs one",
			   (unsigned long long)groups);
	coverage_hit(world->coverage, "check:collectives");
}

static void trial(struct world *world)
{
	uint64_t end_ms = world_now_ms(world) + TRIAL_MAX_MS;
	bool is_done = false;

	world_trace(world, "trial");
	jobs_try(world->jobs, &is_done);
	while (!is_done) {
		if (world_now_ms(world) >= end_ms)
			world_fail(world, "LIVENESS: a job on all nodes does "
					  "not go through");
		sim_queue_run(world->queue);
	}
	run_until(world, world_now_ms(world) + WORLD_MINUTE_MS);
	oracle_check_empty(world->oracle);
	check_collectives(world);
}

void world_run(struct world *world)
{
	storm(world);
	calm(world);
	trial(world);
	coverage_add(world->coverage, "virtual-seconds",
		     (world_now_ms(world) - 1000000) / 1000);
}
