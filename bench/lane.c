/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What lanes of the driver `ethernet` cost: between two nodes with a veth
 * between them, by level of enforcement and by number of lanes. Everything that
 * is compared is measured in turns, in one run.
 *
 * Usage: lane traffic FOLDER LANES ROUNDS PACKETS SLICES MILLISECONDS
 *        lane apply FOLDER LANES ROUNDS PEER
 *        lane burst FOLDER LANES ROUNDS
 *        lane tend FOLDER LANES MORE ROUNDS
 *        lane rates FOLDER ROUNDS MILLISECONDS
 *   FOLDER         an empty one, used until the end
 *   LANES          where there are many; of a burst, what is taken back
 *   MORE           where there are more, and none in namespaces
 *   ROUNDS         each measures everything once
 *   PACKETS        of a round, whose middle one counts
 *   SLICES         rounds of flows
 *   MILLISECONDS   of a flow
 *   PEER           a script, which makes and takes back the same by programs:
 *                  PEER apply, PEER revoke
 *
 * Prints one JSON object: WHAT/WHO/LANES: a list of numbers, one a round, in
 * nanoseconds, of flows in kbit/s. What cannot be in a round is an empty list.
 * Exits with 77 and a reason where this machine cannot.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lane_pair.h"
#include "lane_traffic.h"
#include "rounds.h"

#define ROUNDS_OF_RUN 1000
#define LANES_MAX     (PAIR_LANES_MAX - 1) /* one is measured beside */
#define PATH_SIZE     512

/* Values of one kind, one a round, in whole nanoseconds or kbit/s. */
struct series {
	uint64_t values[ROUNDS_OF_RUN];
	unsigned int count;
};

static struct series *series_create(void)
{
	struct series *series = calloc(1, sizeof(*series));

	if (!series)
		rounds_die("series");
	return series;
}

static void series_add(struct series *series, uint64_t value)
{
	series->values[series->count++] = value;
}

/* And the series is gone. */
static void series_print(struct series *series, const char *what,
			 const char *who, unsigned int lanes)
{
	static int is_begun;

	printf("%s\"%s/%s/%u\": [", is_begun ? ",\n" : "{", what, who, lanes);
	for (unsigned int i = 0; i < series->count; i++)
		printf("%s%" PRIu64, i > 0 ? ", " : "", series->values[i]);
	printf("]");
	is_begun = 1;
	free(series);
}

/* --- traffic --- */

enum way {
	WAY_NODE, /* over the veth itself */
	WAY_LANE, /* in the last of the lanes */
	WAY_COUNT,
};

enum measure {
	MEASURE_UDP,
	MEASURE_TCP,
	MEASURE_FLOW,
	MEASURE_COUNT,
};

static const char *const measure_names[WAY_COUNT][MEASURE_COUNT] = {
	[WAY_NODE] = { "node-udp", "node-tcp", "node-flow" },
	[WAY_LANE] = { "lane-udp", "lane-tcp", "lane-flow" },
};

struct case_of_traffic {
	enum pair_level level;
	unsigned int lanes;
	struct pair *pair;
	struct ends udp[WAY_COUNT], tcp[WAY_COUNT];
	struct series *series[WAY_COUNT][MEASURE_COUNT];
};

static int lane_of(const struct case_of_traffic *one, enum way way)
{
	return way == WAY_LANE ? (int)one->lanes - 1 : -1;
}

/* There is none through a lane where there is no lane. */
static int has_way(const struct case_of_traffic *one, enum way way)
{
	return way == WAY_NODE || one->lanes > 0;
}

static struct ends connect_tcp(const struct case_of_traffic *one, enum way way)
{
	int lane = lane_of(one, way);

	return traffic_tcp(pair_socket(one->pair, 0, SOCK_STREAM, lane),
			   pair_socket(one->pair, 1, SOCK_STREAM, lane));
}

static void case_begin(struct case_of_traffic *one)
{
	one->pair = pair_create(one->level, NULL);
	for (unsigned int i = 0; i < one->lanes; i++) {
		pair_apply(one->pair, 0, i, "");
		pair_apply(one->pair, 1, i, "");
	}
	if (one->level == PAIR_NO_RULES)
		pair_strip(one->pair);
	for (enum way way = 0; way < WAY_COUNT; way++) {
		int lane = lane_of(one, way);

		if (!has_way(one, way))
			continue;
		one->udp[way] = (struct ends){
			pair_socket(one->pair, 0, SOCK_DGRAM, lane),
			pair_socket(one->pair, 1, SOCK_DGRAM, lane),
		};
		one->tcp[way] = connect_tcp(one, way);
		for (int i = 0; i < MEASURE_COUNT; i++)
			one->series[way][i] = series_create();
	}
}

static void case_measure_packets(struct case_of_traffic *one, enum way way,
				 unsigned int packets)
{
	series_add(one->series[way][MEASURE_UDP],
		   traffic_udp_ns(&one->udp[way], packets));
	series_add(one->series[way][MEASURE_TCP],
		   traffic_tcp_ns(&one->tcp[way], packets));
}

static void case_measure_flow(struct case_of_traffic *one, enum way way,
			      unsigned int milliseconds)
{
	struct ends flow = connect_tcp(one, way);
	double mbit;

	traffic_flow(&flow, 1, milliseconds, 1, &mbit);
	series_add(one->series[way][MEASURE_FLOW], (uint64_t)(mbit * 1e3));
	traffic_close(&flow);
}

static void case_end(struct case_of_traffic *one)
{
	for (enum way way = 0; way < WAY_COUNT; way++) {
		if (!has_way(one, way))
			continue;
		for (int i = 0; i < MEASURE_COUNT; i++)
			series_print(one->series[way][i], measure_names[way][i],
				     pair_level_names[one->level], one->lanes);
		traffic_close(&one->udp[way]);
		traffic_close(&one->tcp[way]);
	}
	pair_destroy(one->pair);
}

static void measure_traffic(unsigned int many, unsigned int rounds,
			    unsigned int packets, unsigned int slices,
			    unsigned int milliseconds)
{
	struct case_of_traffic cases[] = {
		{ PAIR_BARE, 0 },       { PAIR_GUARDED, 0 },
		{ PAIR_NO_RULES, 1 },   { PAIR_GUARDED, 1 },
		{ PAIR_NETNS, 1 },      { PAIR_NO_RULES, many },
		{ PAIR_GUARDED, many }, { PAIR_NETNS, many },
	};
	size_t count = sizeof(cases) / sizeof(cases[0]);

	for (size_t i = 0; i < count; i++)
		case_begin(&cases[i]);
	traffic_pin(0);
	for (unsigned int i = 0; i < rounds; i++) {
		for (size_t k = 0; k < WAY_COUNT * count; k++) {
			enum way way = k % WAY_COUNT;

			if (has_way(&cases[k / WAY_COUNT], way))
				case_measure_packets(&cases[k / WAY_COUNT], way,
						     packets);
		}
	}
	for (size_t i = 0; i < count; i++)
		pair_part(cases[i].pair);
	for (unsigned int i = 0; i < slices; i++) {
		for (size_t k = 0; k < WAY_COUNT * count; k++) {
			enum way way = k % WAY_COUNT;
			struct case_of_traffic *one = &cases[k / WAY_COUNT];

			if (has_way(one, way) &&
			    (way == WAY_LANE || one->level == PAIR_BARE))
				case_measure_flow(one, way, milliseconds);
		}
	}
	for (size_t i = 0; i < count; i++)
		case_end(&cases[i]);
}

/* --- apply and revoke --- */

struct case_of_apply {
	const char *name;
	enum pair_level level;
	const char *options;
	unsigned int lanes;
	struct pair *pair;
	struct series *apply, *revoke;
};

static void apply_begin(struct case_of_apply *one)
{
	one->pair = pair_create(one->level, "10G");
	one->apply = series_create();
	one->revoke = series_create();
	for (unsigned int i = 0; i < one->lanes; i++)
		pair_apply(one->pair, 0, i, "");
}

/* Without options it is the peer's. */
static void apply_once(struct case_of_apply *one, const char *peer)
{
	char make[PATH_SIZE], take_back[PATH_SIZE];
	uint64_t start, made, end;

	snprintf(make, sizeof(make), "'%s' apply", peer);
	snprintf(take_back, sizeof(take_back), "'%s' revoke", peer);
	start = rounds_now_ns();
	if (one->options)
		pair_apply(one->pair, 0, one->lanes, one->options);
	else
		pair_run(one->pair, 0, make);
	made = rounds_now_ns();
	if (one->options)
		pair_revoke(one->pair, 0, one->lanes);
	else
		pair_run(one->pair, 0, take_back);
	end = rounds_now_ns();
	series_add(one->apply, made - start);
	series_add(one->revoke, end - made);
}

static void apply_end(struct case_of_apply *one)
{
	series_print(one->apply, "apply", one->name, one->lanes);
	series_print(one->revoke, "revoke", one->name, one->lanes);
	pair_destroy(one->pair);
}

static void measure_apply(unsigned int many, unsigned int rounds,
			  const char *peer)
{
	struct case_of_apply cases[] = {
		{ "nft+bpf", PAIR_GUARDED, "", 0 },
		{ "nft+bpf,4", PAIR_GUARDED, "vnis=4", 0 },
		{ "netns", PAIR_NETNS, "", 0 },
		{ "shaped", PAIR_SHAPED, "", 0 },
		{ "script", PAIR_GUARDED, NULL, 0 },
		{ "nft+bpf", PAIR_GUARDED, "", many },
		{ "nft+bpf,4", PAIR_GUARDED, "vnis=4", many },
		{ "netns", PAIR_NETNS, "", many },
		{ "shaped", PAIR_SHAPED, "", many },
		{ "script", PAIR_GUARDED, NULL, many },
	};
	size_t count = sizeof(cases) / sizeof(cases[0]);

	for (size_t i = 0; i < count; i++)
		apply_begin(&cases[i]);
	for (unsigned int i = 0; i < rounds; i++) {
		for (size_t k = 0; k < count; k++)
			apply_once(&cases[k], peer);
	}
	for (size_t i = 0; i < count; i++)
		apply_end(&cases[i]);
}

/* --- looking after lanes --- */

struct case_of_tend {
	enum pair_level level;
	unsigned int lanes;
	struct pair *pair;
	struct series *series;
};

static void tend_begin(struct case_of_tend *one)
{
	one->pair = pair_create(one->level, "10G");
	one->series = series_create();
	for (unsigned int i = 0; i < one->lanes; i++)
		pair_apply(one->pair, 0, i, "");
	/* The first one after lanes came reads the whole table. */
	pair_tend(one->pair, 0);
}

static void measure_tend(unsigned int many, unsigned int more,
			 unsigned int rounds)
{
	struct case_of_tend cases[] = {
		{ PAIR_GUARDED, 0 },    { PAIR_NETNS, 0 },
		{ PAIR_GUARDED, many }, { PAIR_NETNS, many },
		{ PAIR_GUARDED, more },
	};
	size_t count = sizeof(cases) / sizeof(cases[0]);

	for (size_t i = 0; i < count; i++)
		tend_begin(&cases[i]);
	for (unsigned int i = 0; i < rounds; i++) {
		for (size_t k = 0; k < count; k++) {
			uint64_t start = rounds_now_ns();

			pair_tend(cases[k].pair, 0);
			series_add(cases[k].series, rounds_now_ns() - start);
		}
	}
	for (size_t i = 0; i < count; i++) {
		series_print(cases[i].series, "tend",
			     pair_level_names[cases[i].level], cases[i].lanes);
		pair_destroy(cases[i].pair);
	}
}

/* --- many taken back --- */

static void burst_once(struct pair *pair, unsigned int lanes, int is_together,
		       struct series *series)
{
	uint64_t start;

	for (unsigned int i = 0; i < lanes; i++)
		pair_apply(pair, 0, i, "");
	start = rounds_now_ns();
	if (is_together) {
		pair_revoke_all(pair, 0, lanes);
	} else {
		for (unsigned int i = 0; i < lanes; i++)
			pair_revoke(pair, 0, i);
	}
	series_add(series, rounds_now_ns() - start);
}

static void measure_burst(unsigned int lanes, unsigned int rounds)
{
	static const char *const names[] = { "one by one", "together" };
	enum pair_level levels[] = { PAIR_GUARDED, PAIR_SHAPED };
	struct series *series[2][2];
	struct pair *pairs[2];

	for (int k = 0; k < 2; k++) {
		pairs[k] = pair_create(levels[k], "10G");
		series[k][0] = series_create();
		series[k][1] = series_create();
	}
	for (unsigned int i = 0; i < rounds; i++) {
		for (int k = 0; k < 4; k++)
			burst_once(pairs[k / 2], lanes, k % 2,
				   series[k / 2][k % 2]);
	}
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < 2; i++)
			series_print(series[k][i], names[i],
				     pair_level_names[levels[k]], lanes);
		pair_destroy(pairs[k]);
	}
}

/* --- rates --- */

#define LINK_RATE "1G"
#define FLOWS_MAX 4
#define NO_LANE   UINT32_MAX

/* Lanes of a pair that is shaped: the number is the place. */
static const char *const shaped_lanes[] = {
	"reserved=600M",
	"reserved=200M",
	"max=300M",
	"",
};

/* Who sends at one time: numbers of lanes; NO_LANE: the node itself. */
static const struct {
	const char *name;
	unsigned int count;
	uint32_t flows[FLOWS_MAX];
	const char *names[FLOWS_MAX];
} contests[] = {
	{ "nothing-asked", 1, { 3 }, { "lane" } },
	{ "reserved-600", 1, { 0 }, { "600" } },
	{ "max-300", 1, { 2 }, { "max300" } },
	{ "600-200-rest", 3, { 0, 1, NO_LANE }, { "600", "200", "rest" } },
	{ "600-200-lane-rest",
	  4,
	  { 0, 1, 3, NO_LANE },
	  { "600", "200", "lane", "rest" } },
	{ "600-max300-rest",
	  3,
	  { 0, 2, NO_LANE },
	  { "600", "max300", "rest" } },
};

#define CONTESTS (sizeof(contests) / sizeof(contests[0]))

static void contest(const struct pair *pair, size_t which,
		    unsigned int milliseconds, struct series *series[])
{
	struct ends flows[FLOWS_MAX];
	double mbit[FLOWS_MAX];
	unsigned int count = contests[which].count;

	for (unsigned int i = 0; i < count; i++) {
		uint32_t number = contests[which].flows[i];
		int lane = number == NO_LANE ? -1 : (int)number;

		flows[i] = traffic_tcp(pair_socket(pair, 0, SOCK_STREAM, lane),
				       pair_socket(pair, 1, SOCK_STREAM, lane));
	}
	traffic_flow(flows, count, milliseconds, 0, mbit);
	for (unsigned int i = 0; i < count; i++) {
		series_add(series[i], (uint64_t)(mbit[i] * 1e3));
		traffic_close(&flows[i]);
	}
}

static void measure_rates(unsigned int rounds, unsigned int milliseconds)
{
	struct pair *pair = pair_create(PAIR_SHAPED, LINK_RATE);
	struct series *series[CONTESTS][FLOWS_MAX];
	unsigned int count = sizeof(shaped_lanes) / sizeof(shaped_lanes[0]);

	for (uint32_t i = 0; i < count; i++) {
		pair_apply(pair, 0, i, shaped_lanes[i]);
		pair_apply(pair, 1, i, shaped_lanes[i]);
	}
	for (size_t i = 0; i < CONTESTS; i++) {
		for (unsigned int k = 0; k < contests[i].count; k++)
			series[i][k] = series_create();
	}
	for (unsigned int i = 0; i < rounds; i++) {
		for (size_t k = 0; k < CONTESTS; k++)
			contest(pair, k, milliseconds, series[k]);
	}
	for (size_t i = 0; i < CONTESTS; i++) {
		for (unsigned int k = 0; k < contests[i].count; k++)
			series_print(series[i][k], contests[i].name,
				     contests[i].names[k], count);
	}
	pair_destroy(pair);
}

static unsigned int number(const char *text, unsigned long least,
			   unsigned long most)
{
	return (unsigned int)rounds_number(text, least, most);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	if (argc < 5)
		return 2;
	pair_begin(argv[2]);
	if (argc == 8 && strcmp(what, "traffic") == 0)
		measure_traffic(number(argv[3], 2, LANES_MAX),
				number(argv[4], 1, ROUNDS_OF_RUN),
				number(argv[5], 1, 100000),
				number(argv[6], 0, ROUNDS_OF_RUN),
				number(argv[7], 1, 60000));
	else if (argc == 6 && strcmp(what, "apply") == 0)
		measure_apply(number(argv[3], 2, LANES_MAX),
			      number(argv[4], 1, ROUNDS_OF_RUN), argv[5]);
	else if (argc == 5 && strcmp(what, "burst") == 0)
		measure_burst(number(argv[3], 2, LANES_MAX),
			      number(argv[4], 1, ROUNDS_OF_RUN));
	else if (argc == 6 && strcmp(what, "tend") == 0)
		measure_tend(number(argv[3], 1, LANES_MAX),
			     number(argv[4], 1, LANES_MAX),
			     number(argv[5], 1, ROUNDS_OF_RUN));
	else if (argc == 5 && strcmp(what, "rates") == 0)
		measure_rates(number(argv[3], 1, ROUNDS_OF_RUN),
			      number(argv[4], 1, 60000));
	else
		return 2;
	printf("}\n");
	pair_end();
	return 0;
}
