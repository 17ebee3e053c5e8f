/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a broadcast takes over each kind of tree, in gaps, by the postal model
 * (scoll/tree/test/cost.h). Deterministic.
 *
 *	scoll_trees --latency L --nodes N
 *
 * L is latency over gap, from 1 to 1000. Prints a name and a number a line:
 * `optimum` is what no tree can be below; `knomial` and `kary` are the best of
 * their options from 2 to 64, which is printed, too; `ascending` and `literal` are
 * those two trees when children are served by rising or by falling rank;
 * `logp_half` and `logp_double` are trees that were made for half and twice the
 * latency. Names that end in _jitter: each latency and each gap is off by up to
 * 20 %, mean over seeds.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "scoll/tree/test/cost.h"
#include "sim/rng.h"

#define UNIT       256 /* of logp's option */
#define OPTION_MAX 64  /* of k-nomial and k-ary */
#define JITTER     0.2
#define SEED_COUNT 5

static void die(const char *text)
{
	fprintf(stderr, "scoll_trees: %s\n", text);
	exit(2);
}

static double cost(scoll_tree_type_t type, uint32_t node_count,
		   enum cost_order order, const struct cost_model *model)
{
	struct tree tree;
	double last;

	if (tree_init(NULL, type, node_count, &tree) < 0)
		die("no such tree");
	if (cost_broadcast(&tree, order, model, &last, NULL) < 0)
		die("out of memory");
	return last;
}

/* Print the best of a type's options, and its time in another order. */
static void print_best(const char *name, uint32_t type, uint32_t node_count,
		       double latency, const char *other_name,
		       enum cost_order other)
{
	struct cost_model model = { .latency = latency, .gap = 1 };
	double best = 0;
	uint32_t option = 0;

	for (uint32_t k = 2; k <= OPTION_MAX; k++) {
		double last = cost(SCOLL_TREE(type, k), node_count, COST_DEPTH,
				   &model);

		if (k == 2 || last < best) {
			best = last;
			option = k;
		}
	}
	printf("%s %g\n%s_option %u\n", name, best, name, option);
	printf("%s %g\n", other_name,
	       cost(SCOLL_TREE(type, option), node_count, other, &model));
}

static void print_logp(const char *name, double assumed, uint32_t node_count,
		       double latency)
{
	uint32_t option = assumed < 1 ? UNIT : (uint32_t)(assumed * UNIT + 0.5);
	scoll_tree_type_t type = SCOLL_TREE(5, option);
	struct cost_model model = { .latency = latency, .gap = 1 };
	double sum = 0;

	printf("%s %g\n", name, cost(type, node_count, COST_DEPTH, &model));
	for (uint64_t seed = 0; seed < SEED_COUNT; seed++) {
		struct sim_rng rng;
		struct rng_seam seam = sim_rng_seam(&rng);

		sim_rng_init(&rng, seed);
		model.jitter = JITTER;
		model.rng = &seam;
		sum += cost(type, node_count, COST_DEPTH, &model);
	}
	printf("%s_jitter %g\n", name, sum / SEED_COUNT);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "latency", required_argument, NULL, 'l' },
		{ "nodes", required_argument, NULL, 'n' },
		{ 0 },
	};
	struct cost_model model = { .gap = 1 };
	uint32_t node_count = 0;
	uint64_t optimum;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'l')
			model.latency = strtod(optarg, NULL);
		else if (option == 'n')
			node_count = (uint32_t)strtoul(optarg, NULL, 10);
		else
			exit(2);
	}
	if (!(model.latency >= 1 && model.latency <= 1000) || node_count == 0 ||
	    node_count > TREE_NODES_MAX || optind != argc)
		die("usage: scoll_trees --latency L --nodes N");
	if (cost_optimum((uint64_t)(model.latency * UNIT + 0.5), UNIT,
			 node_count, &optimum) < 0)
		die("out of memory");
	printf("optimum %g\n", (double)optimum / UNIT);
	printf("flat %g\n",
	       cost(SCOLL_TREE_FLAT, node_count, COST_DEPTH, &model));
	printf("binomial %g\n",
	       cost(SCOLL_TREE_BINOMIAL, node_count, COST_DEPTH, &model));
	print_best("knomial", 3, node_count, model.latency, "ascending",
		   COST_ASCENDING);
	print_best("kary", 4, node_count, model.latency, "literal", COST_RANK);
	print_logp("logp", model.latency, node_count, model.latency);
	print_logp("logp_half", model.latency / 2, node_count, model.latency);
	print_logp("logp_double", model.latency * 2, node_count, model.latency);
	return 0;
}
