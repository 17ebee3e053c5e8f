/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gossip: how soon a crash is known to all, how many live nodes are taken for
 * dead, and what it costs. Virtual time; the result of a seed is always the
 * same.
 *
 *	scoll-gossip [--model] --nodes N [--loss PER_MILLION] [--cycles COUNT]
 *	             [--crashes COUNT] [--seed N]
 *
 * Plain: N nodes of the shipped code, each with its whole view, over a
 * simulated network. --model: no code of ours but the bounds; the exchange
 * alone, cycle by cycle, where each node knows of 64 tracked nodes only:
 * for sizes whose N x N views are too many. Prints a name and a number a line.
 */
#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scoll/member/age.h"
#include "scoll/member/gossip.h"
#include "scoll/member/message.h"
#include "scoll/member/test/bed.h"
#include "sim/rng.h"

#define CYCLE_MS     ((uint64_t)BED_CYCLE_MS)
#define DELAY_MAX_MS 20
#define DRIFT_PPM    100
#define TRACKED_MAX  64

struct options {
	bool is_model;
	uint32_t nodes;
	uint32_t loss;
	uint32_t cycles;
	uint32_t crashes;
	uint64_t seed;
};

struct result {
	double bytes_per_cycle; /* sent by a node, mean */
	double messages_per_cycle;
	unsigned int age_max;
	double detect_first; /* cycles from a crash to the first verdict */
	double detect_last;  /* to the last one, of all crashes */
	uint64_t false_deaths;
	double pair_cycles; /* in which one could have been */
};

static void print(const struct options *options, const struct result *result)
{
	struct gossip_bounds bounds = gossip_bounds_of(options->nodes);

	printf("fanout %u\n", bounds.fanout);
	printf("dead_after %u\n", bounds.dead_after);
	printf("age_bound %u\n", bounds.age_max);
	printf("age_max %u\n", result->age_max);
	printf("bytes_per_cycle %.0f\n", result->bytes_per_cycle);
	printf("messages_per_cycle %.2f\n", result->messages_per_cycle);
	printf("detect_first %.2f\n", result->detect_first);
	printf("detect_last %.2f\n", result->detect_last);
	printf("false_deaths %llu\n", (unsigned long long)result->false_deaths);
	printf("pair_cycles %.0f\n", result->pair_cycles);
}

static void crash_noted(struct result *result, double first, double last)
{
	if (result->detect_first == 0 || first < result->detect_first)
		result->detect_first = first;
	if (last > result->detect_last)
		result->detect_last = last;
}

/* --- the shipped code --- */

static void crashes_run(struct bed *bed, const struct options *options,
			struct sim_rng *rng, struct result *result)
{
	const struct gossip_bounds *bounds = bed_bounds(bed);
	uint64_t at_ms[TRACKED_MAX];
	uint32_t nodes[TRACKED_MAX];

	for (uint32_t i = 0; i < options->crashes; i++) {
		/* At any moment of a cycle. */
		bed_run(bed, 1 + sim_rng_below(rng, CYCLE_MS));
		do {
			nodes[i] = (uint32_t)sim_rng_below(rng, options->nodes);
		} while (!bed_is_up(bed, nodes[i]));
		at_ms[i] = bed_now_ms(bed);
		bed_crash(bed, nodes[i]);
	}
	bed_run(bed, (bounds->dead_after + 4) * CYCLE_MS);
	for (uint32_t i = 0; i < options->crashes; i++) {
		double first = bed_first_verdict_ms(bed, nodes[i]);
		double last = bed_last_verdict_ms(bed, nodes[i]);

		if (bed_alive_views(bed, nodes[i]) > 0) {
			fprintf(stderr, "a crash is not known to all\n");
			exit(1);
		}
		crash_noted(result, (first - at_ms[i]) / CYCLE_MS,
			    (last - at_ms[i]) / CYCLE_MS);
	}
}

static void run_code(const struct options *options, struct result *result)
{
	struct bed_options bed_options = {
		.node_count = options->nodes,
		.seed = options->seed,
		.drift_ppm_max = DRIFT_PPM,
		.faults = { .lost = options->loss,
			    .delay_min_ms = 1,
			    .delay_max_ms = DELAY_MAX_MS },
	};
	struct bed *bed = bed_create(&bed_options);
	struct bed_stats before;
	struct sim_rng rng;

	sim_rng_init(&rng, options->seed);
	for (uint32_t i = 0; i < options->nodes; i++)
		bed_start(bed, i);
	while (!bed_is_judge(bed, 0))
		bed_run(bed, CYCLE_MS);
	before = *bed_stats(bed);
	for (uint32_t i = 0; i < options->cycles; i++) {
		unsigned int age;

		bed_run(bed, CYCLE_MS);
		age = bed_age_max(bed);
		if (age > result->age_max)
			result->age_max = age;
	}
	result->bytes_per_cycle =
		(double)(bed_stats(bed)->sent_bytes - before.sent_bytes) /
		options->nodes / options->cycles;
	result->messages_per_cycle =
		(double)(bed_stats(bed)->sent_count - before.sent_count) /
		options->nodes / options->cycles;
	crashes_run(bed, options, &rng, result);
	result->false_deaths = bed_stats(bed)->false_deaths;
	result->pair_cycles =
		(double)options->nodes * options->nodes *
		(options->cycles + gossip_bounds_of(options->nodes).dead_after);
	bed_destroy(bed);
}

/* --- the model --- */

struct model {
	const struct options *options;
	struct gossip_bounds bounds;
	struct sim_rng rng;
	uint8_t *ages; /* of the tracked nodes, a row for each node */
	uint64_t exchange_count;
};

static uint8_t *row(struct model *model, uint64_t node)
{
	return model->ages + node * TRACKED_MAX;
}

static void learn(uint8_t *mine, const uint8_t *theirs)
{
	for (size_t i = 0; i < TRACKED_MAX; i++)
		mine[i] = mine[i] < theirs[i] ? mine[i] : theirs[i];
}

/* Tracked nodes are the first ones; of these `dead` have crashed. */
static void model_cycle(struct model *model, uint32_t dead)
{
	const struct options *options = model->options;
	size_t size = (size_t)options->nodes * TRACKED_MAX;

	for (size_t i = 0; i < size; i++)
		model->ages[i] += model->ages[i] < UINT8_MAX;
	for (uint32_t i = dead; i < TRACKED_MAX; i++)
		row(model, i)[i] = 0;
	for (uint32_t node = dead; node < options->nodes; node++) {
		for (unsigned int i = 0; i < model->bounds.fanout; i++) {
			uint64_t peer =
				dead + sim_rng_below(&model->rng,
						     options->nodes - dead);

			model->exchange_count++;
			if (sim_rng_chance(&model->rng, options->loss))
				continue;
			learn(row(model, peer), row(model, node));
			if (sim_rng_chance(&model->rng, options->loss))
				continue;
			learn(row(model, node), row(model, peer));
		}
	}
}

/* How many views of the tracked ones from `first` to `end` are too old. */
static uint64_t model_count(struct model *model, uint32_t dead, uint32_t first,
			    uint32_t end, unsigned int *age_max)
{
	uint64_t count = 0;

	for (uint32_t node = dead; node < model->options->nodes; node++) {
		for (uint32_t i = first; i < end; i++) {
			unsigned int age = row(model, node)[i];

			count += age > model->bounds.dead_after;
			if (age > *age_max)
				*age_max = age;
		}
	}
	return count;
}

static void model_crash(struct model *model, struct result *result)
{
	uint32_t dead = model->options->crashes;
	uint64_t all = (uint64_t)(model->options->nodes - dead) * dead;
	unsigned int unused = 0;
	unsigned int first = 0;

	for (unsigned int cycle = 1;; cycle++) {
		uint64_t known;

		model_cycle(model, dead);
		known = model_count(model, dead, 0, dead, &unused);
		if (known > 0 && first == 0)
			first = cycle;
		result->false_deaths += model_count(
			model, dead, dead, TRACKED_MAX, &result->age_max);
		if (known == all) {
			crash_noted(result, first, cycle);
			return;
		}
	}
}

static void run_model(const struct options *options, struct result *result)
{
	struct model model = { .options = options,
			       .bounds = gossip_bounds_of(options->nodes) };
	struct message_parts parts = message_parts_of(options->nodes);
	size_t size = (size_t)options->nodes * TRACKED_MAX;
	uint64_t view = options->nodes +
			(uint64_t)parts.part_count * MESSAGE_HEADER_SIZE;
	double answered = 1 - options->loss / 1e6;

	assert(options->nodes > TRACKED_MAX);
	sim_rng_init(&model.rng, options->seed);
	model.ages = calloc(size, 1);
	if (model.ages == NULL)
		exit(1);
	/* All views are new: until that is over. */
	for (unsigned int i = 0; i < 2 * model.bounds.dead_after; i++)
		model_cycle(&model, 0);
	for (uint32_t i = 0; i < options->cycles; i++) {
		model_cycle(&model, 0);
		result->false_deaths += model_count(&model, 0, 0, TRACKED_MAX,
						    &result->age_max);
	}
	model_crash(&model, result);
	result->messages_per_cycle =
		model.bounds.fanout * (double)parts.part_count * (1 + answered);
	result->bytes_per_cycle =
		model.bounds.fanout * (double)view * (1 + answered);
	result->pair_cycles =
		(double)options->nodes * TRACKED_MAX * options->cycles;
	free(model.ages);
}

/* --- the command line --- */

static uint64_t number(const char *text, uint64_t most)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	if (end == text || *end != 0 || value > most) {
		fprintf(stderr, "'%s' is not a number up to %llu\n", text,
			(unsigned long long)most);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "model", no_argument, NULL, 'm' },
		{ "nodes", required_argument, NULL, 'n' },
		{ "loss", required_argument, NULL, 'l' },
		{ "cycles", required_argument, NULL, 'c' },
		{ "crashes", required_argument, NULL, 'd' },
		{ "seed", required_argument, NULL, 's' },
		{ 0 },
	};
	struct options options = {
		.nodes = 100, .cycles = 50, .crashes = 1, .seed = 1
	};
	struct result result = { 0 };
	int option;

	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (option) {
		case 'm':
			options.is_model = true;
			break;
		case 'n':
			options.nodes =
				(uint32_t)number(optarg, ROSTER_NODE_MAX);
			break;
		case 'l':
			options.loss = (uint32_t)number(optarg, 999999);
			break;
		case 'c':
			options.cycles = (uint32_t)number(optarg, 10000000);
			break;
		case 'd':
			options.crashes =
				(uint32_t)number(optarg, TRACKED_MAX / 2);
			break;
		case 's':
			options.seed = number(optarg, UINT64_MAX);
			break;
		default:
			return 2;
		}
	}
	if (options.cycles == 0 || options.crashes == 0 ||
	    options.nodes <= options.crashes ||
	    (options.is_model && options.nodes <= TRACKED_MAX)) {
		fprintf(stderr, "too few nodes, cycles or crashes\n");
		return 2;
	}
	if (options.is_model)
		run_model(&options, &result);
	else
		run_code(&options, &result);
	print(&options, &result);
	return 0;
}
