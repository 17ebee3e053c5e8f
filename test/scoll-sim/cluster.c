/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members and their lives. A member's core is driven as scoll.h drives it:
 * after whatever comes in, its callbacks are called one by one, and its next
 * deadline is awaited. A crash ends a core in good order behind a network that
 * carries nothing any more, so that its memory is checked, too.
 */
#include "cluster.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "scoll/core/internal.h"
#include "scoll/core/test/fail.h"
#include "scoll/member/roster.h"

#define NID_FIRST     UINT64_C(0x0002000000000a01)
#define SEAL_BYTES    16
#define STUCK_MAX     10000000 /* events in one moment */
#define STOP_TURNS    1000
#define PAGE_OF_NODES 250

void *must_calloc(size_t count, size_t size)
{
	void *memory = calloc(count > 0 ? count : 1, size);

	if (memory == NULL)
		abort();
	return memory;
}

void *cluster_chunk(struct cluster *cluster, size_t size)
{
	void *chunk = must_calloc(1, size);

	cluster->chunks =
		reallocarray(cluster->chunks, cluster->chunk_count + 1,
			     sizeof(cluster->chunks[0]));
	if (cluster->chunks == NULL)
		abort();
	cluster->chunks[cluster->chunk_count++] = chunk;
	return chunk;
}

uint64_t cluster_now_ns(const struct cluster *cluster)
{
	return transport_timeline_now_ns(cluster->timeline);
}

uint64_t cluster_below(struct cluster *cluster, uint64_t n)
{
	return sim_rng_below(&cluster->rng, n);
}

bool cluster_percent(struct cluster *cluster, unsigned int percent)
{
	return sim_rng_below(&cluster->rng, 100) < percent;
}

void cluster_hit(struct cluster *cluster, const char *format, ...)
{
	char name[100];
	va_list args;

	if (cluster->options.coverage == NULL)
		return;
	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	coverage_add(cluster->options.coverage, name, 1);
}

void cluster_trace(struct cluster *cluster, const char *format, ...)
{
	va_list args;

	if (!cluster->options.is_verbose)
		return;
	printf("%12.6f ", (double)cluster_now_ns(cluster) / 1e6);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

void cluster_fail(struct cluster *cluster, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "seed %" PRIu64 " (%" PRIu32 " nodes) at %.6f ms: ",
		cluster->options.seed, cluster->count,
		(double)cluster_now_ns(cluster) / 1e6);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr,
		"\nagain: test/scoll-sim/run --seed %" PRIu64 " --verbose\n",
		cluster->options.seed);
	_exit(CLUSTER_EXIT_BROKEN);
}

/* --- seals: one key that all members have, bound to both ends --- */

static const uint8_t seal_key[crypto_generichash_KEYBYTES] = "simulated";

static void seal_of(scoll_nid_t from, scoll_nid_t to, const void *bytes,
		    size_t size, uint8_t *ret_seal)
{
	crypto_generichash_state state;

	crypto_generichash_init(&state, seal_key, sizeof(seal_key), SEAL_BYTES);
	crypto_generichash_update(&state, (const uint8_t *)&from, sizeof(from));
	crypto_generichash_update(&state, (const uint8_t *)&to, sizeof(to));
	crypto_generichash_update(&state, bytes, size);
	crypto_generichash_final(&state, ret_seal, SEAL_BYTES);
}

static void seal(void *ctx, scoll_nid_t to, const void *bytes, size_t size,
		 uint8_t *ret_seal)
{
	const struct member *member = ctx;

	seal_of(member->nid, to, bytes, size, ret_seal);
}

static int verify(void *ctx, scoll_nid_t from, const void *bytes, size_t size,
		  const uint8_t *mac)
{
	const struct member *member = ctx;
	uint8_t own[SEAL_BYTES];

	seal_of(from, member->nid, bytes, size, own);
	return memcmp(own, mac, SEAL_BYTES) == 0 ? 0 : -EPERM;
}

/* --- a member goes on --- */

static void call_back(struct member *member)
{
	struct cluster *cluster = member->cluster;
	struct core_callback callback;

	while (member->core != NULL &&
	       scoll_core_callback_take(member->core, &callback)) {
		int result = core_callback_call(&callback);

		scoll_core_callback_done(member->core, cluster_now_ns(cluster),
					 &callback, result);
	}
}

void cluster_away(struct cluster *cluster, uint32_t index, uint64_t until_ns)
{
	struct member *member = &cluster->members[index];

	if (member->away_ns < until_ns)
		member->away_ns = until_ns;
}

void cluster_unsettle(struct cluster *cluster)
{
	cluster->unsettled_ns = cluster_now_ns(cluster) + cluster->detect_ns;
}

static void jobs_lose(struct member *member)
{
	struct cluster *cluster = member->cluster;

	for (uint32_t i = 0; i < cluster->job_count; i++) {
		struct job *job = cluster->jobs[i];

		if (job->root != member->index || job->state > JOB_SENT)
			continue;
		if (job->state == JOB_SENT)
			cluster->jobs_open--;
		job->state = JOB_LOST;
	}
	for (uint32_t i = 0; i < cluster->team_count; i++) {
		if (cluster->teams[i]->owner == member->index)
			cluster->teams[i]->group = NULL;
	}
}

static void leave_if_idle(struct member *member)
{
	struct cluster *cluster = member->cluster;

	if (!member->is_leaving || !scoll_core_is_idle(member->core))
		return;
	cluster_trace(cluster, "%" PRIu32 " has left", member->index);
	cluster_unsettle(cluster);
	cluster_hit(cluster, "a member has left");
	jobs_lose(member);
	scoll_core_fail_at(member->core, 0);
	scoll_core_destroy(member->core);
	member->core = NULL;
	member->is_leaving = false;
	visits_drop(member);
	transport_sim_close(member->port);
	given_destroy(member->given);
	member->given = NULL;
	member_gossip_stop(member);
	if (cluster->left != NULL)
		cluster->left(cluster, member->index);
}

static void timer_set(struct member *member)
{
	struct cluster *cluster = member->cluster;
	uint64_t deadline_ns = scoll_core_deadline_ns(member->core);
	uint64_t paused_ns = transport_sim_paused_ns(member->port);

	if (deadline_ns == DEADLINE_NONE) {
		transport_timeline_cancel(&member->timer);
		return;
	}
	if (deadline_ns < paused_ns)
		deadline_ns = paused_ns;
	if (transport_timeline_waits(&member->timer) &&
	    member->timer_ns == deadline_ns)
		return;
	member->timer_ns = deadline_ns;
	transport_timeline_set(cluster->timeline, &member->timer, deadline_ns);
}

void member_go_on(struct member *member)
{
	struct cluster *cluster = member->cluster;
	uint64_t delay_ns = cluster->options.callback_delay_ns;

	if (member->core == NULL || member->is_pumping)
		return;
	if (delay_ns == 0) {
		member->is_pumping = true;
		call_back(member);
		member->is_pumping = false;
	} else if (!transport_timeline_waits(&member->pump)) {
		transport_timeline_set(cluster->timeline, &member->pump,
				       cluster_now_ns(cluster) +
					       cluster_below(cluster,
							     delay_ns + 1));
	}
	leave_if_idle(member);
	if (member->core != NULL)
		timer_set(member);
}

static void pump(struct transport_timeline_event *event)
{
	struct member *member =
		(struct member *)((char *)event -
				  offsetof(struct member, pump));
	uint64_t paused_ns = transport_sim_paused_ns(member->port);

	if (member->core == NULL)
		return;
	if (paused_ns > cluster_now_ns(member->cluster)) {
		transport_timeline_set(member->cluster->timeline, event,
				       paused_ns);
		return;
	}
	member->is_pumping = true;
	call_back(member);
	member->is_pumping = false;
	leave_if_idle(member);
	if (member->core != NULL)
		timer_set(member);
}

static void tick(struct transport_timeline_event *event)
{
	struct member *member =
		(struct member *)((char *)event -
				  offsetof(struct member, timer));
	struct cluster *cluster = member->cluster;
	uint64_t paused_ns = transport_sim_paused_ns(member->port);

	if (member->core == NULL)
		return;
	if (paused_ns > cluster_now_ns(cluster)) {
		timer_set(member);
		return;
	}
	scoll_core_tick(member->core, cluster_now_ns(cluster));
	member_go_on(member);
}

static void received(void *ctx, uint64_t now_ns, const void *bytes, size_t size)
{
	struct member *member = ctx;

	cluster_trace(member->cluster, "  %" PRIu32 ": a message of %zu bytes",
		      member->index, size);
	scoll_core_events.received(member->core, now_ns, bytes, size);
	member_go_on(member);
}

static void done(void *ctx, uint64_t now_ns, struct transfer *transfer,
		 int result, size_t size)
{
	struct member *member = ctx;

	if (result < 0)
		cluster_trace(member->cluster, "  %" PRIu32 ": a transfer: %d",
			      member->index, result);
	scoll_core_events.done(member->core, now_ns, transfer, result, size);
	member_go_on(member);
}

static const struct transport_events events = {
	.received = received,
	.done = done,
};

/* --- lives --- */

static int service_add(struct member *member)
{
	return scoll_core_service_register(member->core, CLUSTER_SERVICE,
					   &service_ops, member);
}

void cluster_boot(struct cluster *cluster, uint32_t index)
{
	const struct cluster_options *options = &cluster->options;
	struct member *member = &cluster->members[index];
	struct core_options own = {
		.nid = member->nid,
		.tree = options->tree != 0 ? options->tree
					   : SCOLL_TREE_BINOMIAL,
		.order = options->order,
		.rtt_ns = options->rtt_ns > 0 ? options->rtt_ns
					      : 100 * CLUSTER_MS,
		.bulk_bandwidth = options->bulk_bandwidth > 0
					  ? options->bulk_bandwidth
					  : 100000000,
		.bulk_segment = options->bulk_segment > 0
					? options->bulk_segment
					: 524288,
		.group_lifetime_ns = options->group_lifetime_ns > 0
					     ? options->group_lifetime_ns
					     : 3600 * CLUSTER_SECOND,
		.memberships = cluster->memberships,
		.started_us = member->life + 1,
		.rng = sim_rng_seam(&member->rng),
	};

	cluster_unsettle(cluster);
	member->life++;
	cluster_away(cluster, index, cluster_now_ns(cluster));
	member->is_bare = false;
	member->port =
		transport_sim_open(cluster->sim, member->nid, &events, member);
	if (options->gossip_cycle_ns > 0)
		member_gossip_start(member);
	else if (!options->is_lean && given_create(true, &member->given) < 0)
		abort();
	own.transport = transport_sim_seam(member->port);
	if (options->is_first_alone_in_knowing && index == 0) {
		transport_sim_know_all(member->port);
		own.share_addresses = true;
	}
	own.discovery = member_discovery(member);
	if (options->is_sealed) {
		member->auth = (struct scoll_authenticator){
			.size = sizeof(member->auth),
			.seal_size = SEAL_BYTES,
			.seal = seal,
			.verify = verify,
			.ctx = member,
		};
		own.authenticator = &member->auth;
	}
	if (scoll_core_create(&own, &member->core) < 0 ||
	    service_add(member) < 0)
		abort();
	if (member->life > 1)
		cluster_disturb(cluster, index);
	cluster_trace(cluster, "%" PRIu32 " starts", index);
	member_go_on(member);
}

/* As a service that is gone would: nothing is done, nothing is accepted. */
static void callbacks_drop(struct member *member)
{
	struct core_callback callback;

	while (scoll_core_callback_take(member->core, &callback)) {
		bool is_refused =
			callback.kind == CORE_CALLBACK_PRE_REQUEST ||
			callback.kind == CORE_CALLBACK_INCOMING_REQUEST;

		scoll_core_callback_done(member->core,
					 cluster_now_ns(member->cluster),
					 &callback,
					 is_refused ? -ECANCELED : 0);
	}
}

void cluster_crash(struct cluster *cluster, uint32_t index)
{
	struct member *member = &cluster->members[index];
	unsigned int turns = 0;
	uint64_t later_ns;

	cluster_trace(cluster, "%" PRIu32 " crashes", index);
	cluster_disturb(cluster, index);
	cluster_unsettle(cluster);
	member->is_pumping = true; /* no callback is called any more */
	do {
		transport_sim_sever(member->port);
		scoll_core_stop(member->core, cluster_now_ns(cluster));
		callbacks_drop(member);
		/* What it would try again later ends, too. */
		later_ns = scoll_core_deadline_ns(member->core);
		if (later_ns != DEADLINE_NONE)
			scoll_core_tick(member->core, later_ns);
		if (++turns > STOP_TURNS)
			cluster_fail(cluster,
				     "%" PRIu32 " does not come to a stop",
				     index);
	} while (!scoll_core_is_idle(member->core));
	member->is_pumping = false;
	jobs_lose(member);
	scoll_core_fail_at(member->core, 0);
	scoll_core_destroy(member->core);
	member->core = NULL;
	member->is_leaving = false;
	visits_drop(member);
	transport_sim_close(member->port);
	given_destroy(member->given);
	member->given = NULL;
	member_gossip_stop(member);
	transport_timeline_cancel(&member->timer);
	transport_timeline_cancel(&member->pump);
}

void cluster_leave(struct cluster *cluster, uint32_t index)
{
	struct member *member = &cluster->members[index];

	cluster_trace(cluster, "%" PRIu32 " leaves", index);
	cluster_disturb(cluster, index);
	cluster_unsettle(cluster);
	member->is_leaving = true;
	scoll_core_stop(member->core, cluster_now_ns(cluster));
	member_go_on(member);
}

void cluster_pause(struct cluster *cluster, uint32_t index, uint64_t until_ns)
{
	struct member *member = &cluster->members[index];

	cluster_trace(cluster, "%" PRIu32 " pauses until %.6f", index,
		      (double)until_ns / 1e6);
	member->was_disturbed = true;
	member->disturbed_ns = until_ns;
	cluster_away(cluster, index, until_ns);
	transport_sim_pause(member->port, until_ns);
}

void cluster_disturb(struct cluster *cluster, uint32_t index)
{
	struct member *member = &cluster->members[index];
	uint64_t now_ns = cluster_now_ns(cluster);

	member->was_disturbed = true;
	if (member->disturbed_ns < now_ns) /* a pause may last longer */
		member->disturbed_ns = now_ns;
}

void cluster_tell(struct cluster *cluster, uint32_t index, uint32_t about,
		  enum scoll_liveness news)
{
	struct member *member = &cluster->members[index];
	struct given *given =
		cluster->options.is_lean ? cluster->given : member->given;
	scoll_nid_t nid = cluster->members[about].nid;

	if (given == NULL)
		return;
	if (news == SCOLL_DEAD)
		cluster_unsettle(cluster);
	cluster_trace(cluster, "%" PRIu32 " hears that %" PRIu32 " %s", index,
		      about,
		      news == SCOLL_DEAD    ? "is dead"
		      : news == SCOLL_ALIVE ? "is alive"
					    : "has rebooted");
	if (given_set(given, nid, news) < 0)
		abort();
	if (member->core == NULL)
		return;
	if (transport_sim_paused_ns(member->port) <= cluster_now_ns(cluster))
		scoll_core_tick(member->core, cluster_now_ns(cluster));
	member_go_on(member);
}

void cluster_tell_all(struct cluster *cluster, uint32_t about,
		      enum scoll_liveness news)
{
	for (uint32_t i = 0; i < cluster->count; i++) {
		if (i != about)
			cluster_tell(cluster, i, about, news);
	}
}

int cluster_service_set(struct cluster *cluster, uint32_t index, bool is_there)
{
	struct member *member = &cluster->members[index];
	int result = is_there ? service_add(member)
			      : scoll_core_service_unregister(member->core,
							      CLUSTER_SERVICE);

	if (result < 0)
		return result;
	cluster_disturb(cluster, index);
	member->is_bare = !is_there;
	cluster_trace(cluster, "the service of %" PRIu32 " %s", index,
		      is_there ? "is back" : "is gone");
	return 0;
}

void cluster_starve(struct cluster *cluster, uint32_t index, uint64_t k)
{
	if (k > 0 || cluster->members[index].is_starved)
		cluster_disturb(cluster, index);
	cluster->members[index].is_starved = k > 0;
	scoll_core_fail_at(cluster->members[index].core, k);
}

struct member *cluster_member(struct cluster *cluster, scoll_nid_t nid)
{
	uint64_t index = nid - NID_FIRST;

	if (index >= cluster->count)
		cluster_fail(cluster, "there is no node %" PRIx64, nid);
	return &cluster->members[index];
}

/* --- all of it --- */

struct cluster *cluster_create(const struct cluster_options *options)
{
	struct cluster *cluster = must_calloc(1, sizeof(*cluster));
	struct transport_sim_options network = {
		.costs = options->costs,
		.held_ns = options->held_ns,
		.window = options->window,
		.needs_addresses = options->is_first_alone_in_knowing,
	};

	cluster->options = *options;
	cluster->count = options->node_count;
	cluster->timeline = transport_timeline_create();
	sim_rng_init(&cluster->rng, options->seed);
	network.seed = sim_rng_u64(&cluster->rng);
	network.timeline = cluster->timeline;
	memcpy(network.faults_ppm, options->faults_ppm,
	       sizeof(network.faults_ppm));
	cluster->sim = transport_sim_create(&network);
	for (unsigned int i = 0; i < TRANSPORT_SIM_REFUSED; i++) {
		if (options->faults_ppm[i] > 0 && i != TRANSPORT_SIM_FULL &&
		    i != TRANSPORT_SIM_LATE_END && i != TRANSPORT_SIM_HELD)
			cluster->is_noisy = cluster->was_noisy = true;
	}
	if (memberships_create(&cluster->memberships) < 0)
		abort();
	if (options->is_lean && given_create(true, &cluster->given) < 0)
		abort();
	cluster->members =
		must_calloc(cluster->count, sizeof(cluster->members[0]));
	for (uint32_t i = 0; i < cluster->count; i++) {
		struct member *member = &cluster->members[i];

		member->cluster = cluster;
		member->index = i;
		member->nid = NID_FIRST + i;
		member->timer.run = tick;
		member->pump.run = pump;
		sim_rng_init(&member->rng, sim_rng_u64(&cluster->rng));
		cluster_boot(cluster, i);
	}
	return cluster;
}

void cluster_destroy(struct cluster *cluster)
{
	if (cluster == NULL)
		return;
	for (uint32_t i = 0; i < cluster->count; i++) {
		if (cluster->members[i].core != NULL)
			cluster_crash(cluster, i);
	}
	if (memberships_count(cluster->memberships) != 0)
		cluster_fail(cluster, "%zu memberships are left",
			     memberships_count(cluster->memberships));
	for (uint32_t i = 0; i < cluster->count; i++)
		free(cluster->members[i].oob_targets);
	jobs_free(cluster);
	teams_free(cluster);
	memberships_destroy(cluster->memberships);
	given_destroy(cluster->given);
	roster_destroy(cluster->roster);
	transport_sim_destroy(cluster->sim);
	transport_timeline_destroy(cluster->timeline);
	for (uint32_t i = 0; i < cluster->chunk_count; i++)
		free(cluster->chunks[i]);
	free(cluster->chunks);
	for (uint32_t i = 0; i < cluster->count; i++)
		free(cluster->members[i].seen);
	free(cluster->members);
	free(cluster);
}

static bool step(struct cluster *cluster)
{
	if (!transport_timeline_run(cluster->timeline))
		return false;
	if (cluster_now_ns(cluster) != cluster->stuck_ns) {
		cluster->stuck_ns = cluster_now_ns(cluster);
		cluster->stuck_count = 0;
	} else if (++cluster->stuck_count > STUCK_MAX) {
		cluster_fail(cluster, "time stands still");
	}
	return true;
}

void cluster_run(struct cluster *cluster)
{
	while (step(cluster))
		;
}

static void ring(struct transport_timeline_event *event)
{
}

void cluster_run_until(struct cluster *cluster, uint64_t until_ns)
{
	cluster->alarm.run = ring;
	transport_timeline_set(cluster->timeline, &cluster->alarm, until_ns);
	while (transport_timeline_waits(&cluster->alarm))
		step(cluster);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

uint64_t cluster_hash(struct cluster *cluster)
{
	uint64_t hash = transport_sim_hash(cluster->sim);

	for (uint32_t i = 0; i < cluster->count; i++) {
		const struct member *member = &cluster->members[i];
		const struct discovery *discovery;
		struct scoll_stats stats = { .size = sizeof(stats) };
		uint64_t words[sizeof(stats) / sizeof(uint64_t)];

		hash = mix(hash, member->life);
		if (member->core == NULL)
			continue;
		discovery = member_discovery(member);
		hash = mix(hash, discovery_epoch(discovery));
		hash = mix(hash, discovery_is_stealthy(discovery));
		hash = mix(hash, scoll_core_deadline_ns(member->core));
		scoll_core_stats(member->core, &stats);
		memcpy(words, &stats, sizeof(words));
		for (size_t j = 0; j < sizeof(words) / sizeof(words[0]); j++)
			hash = mix(hash, words[j]);
	}
	return hash;
}

void cluster_run_jobs(struct cluster *cluster)
{
	while (cluster->jobs_open > 0) {
		if (!step(cluster))
			cluster_fail(cluster, "%" PRIu32 " requests never end",
				     cluster->jobs_open);
	}
}
