/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A core in a world of records: what it gives out is kept and can be looked
 * at, its journal is a map of rows, time stands still until it is moved.
 *
 * The nodes are n0 to n9; the interconnects are fake (the default), twin and
 * bare; the submitters slurm and flux.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanes/manager/core/core.h"
#include "lanes/manager/core/state.h"
#include "sim/clock.h"
#include "sim/rng.h"

#define SETTINGS_MAX    4
#define FIXTURE_IDS_MAX 16

struct given_reply {
	uint64_t token;
	int result;
	char *text, *hint;
	json_t *members; /* NULL: none */
};

struct given_fanout {
	uint64_t id;
	enum core_fanout_op op;
	uint64_t apply_floor;
	uint32_t timeout_ms;
	char *nodes; /* host list */
	size_t node_count;
	char **names;
	struct fairlead_lane lane;
	char *key, *driver;
	char *cores, *tasks; /* run-length lists; NULL: none were given */
	char *members;       /* as a text; NULL: none were given */
	char *sealed;        /* likewise */
	bool is_answered;
};

struct given_ack {
	char *node;
	uint64_t sequence;
};

struct given_drain {
	char *node;
	bool is_drained;
	char *reason;
};

struct given_notice {
	uint64_t id;
	char *node;
	bool is_drained;
	char *reason;
};

struct given_outside {
	uint64_t id;
	uint8_t verb;
	uint64_t grant_id;
	char *prefix;
	char *text;
	bool is_ended;
};

/* A configuration that a core points to. */
struct taken_config {
	struct core_config config;
	struct core_driver_config drivers[4];
	struct fairlead_setting settings[SETTINGS_MAX];
};

struct journal_row;
struct edge_count;

struct fixture {
	struct core *core;
	struct sim_clock clock;
	struct clock_seam clock_seam;
	struct sim_rng rng;
	struct rng_seam rng_seam;
	uint64_t epoch;
	/* For the next core or configuration. */
	struct core_config config;
	struct core_driver_config drivers[4]; /* the last one is off */
	struct fairlead_setting settings[SETTINGS_MAX]; /* of fake */
	struct taken_config taken[2]; /* one is the core's, the other free */
	size_t taken_index;
	uint8_t boots[10];      /* of n0 to n9 */
	const char *places[10]; /* that they tell for `fake`; NULL: none */

	uint8_t key; /* that secrets in the journal are encrypted under */
	struct journal_row *journal;
	size_t row_count; /* that the core has given out */
	bool is_failing;  /* commits fail: rows and what follows are lost */
	struct given_reply *replies;
	size_t reply_count;
	struct given_fanout *fanouts;
	size_t fanout_count;
	struct given_ack *acks;
	size_t ack_count;
	struct given_drain *drains;
	size_t drain_count;
	struct given_notice *notices;
	size_t notice_count;
	struct given_outside *outsides;
	size_t outside_count;
	char **looks; /* nodes to be asked what they have */
	size_t look_count;
	struct edge_count *edges;
	uint64_t last_token;
	uint32_t held_ids[FIXTURE_IDS_MAX]; /* of inventory_of() */
};

extern const struct core_caller root;
extern const struct core_caller slurm;
extern const struct core_caller flux;
extern const struct core_caller alice; /* uid 1001, no submitter */
extern const struct core_caller bob;   /* uid 1002 */
/* Words of the operator with uid 77, and what it insists on. */
extern const struct core_operator operator_plain;
extern const struct core_operator operator_forced;

/* cmocka set-up and tear-down: *state is a fixture with a started core. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* A fixture without a core, and a core for it from its journal. */
struct fixture *fixture_create(void);
void fixture_destroy(struct fixture *fixture);
/* Load and start with the next epoch; the errno of what failed. */
int fixture_start(struct fixture *fixture, bool is_recovery,
		  struct fairlead_error *ret_error);
/* Take the configuration as it is now: core_configure(). */
int fixture_configure(struct fixture *fixture, char **ret_changes,
		      struct fairlead_error *ret_error);
/* Load only; until the next configuration or start. */
int fixture_load(struct fixture *fixture, struct core **ret_core,
		 struct fairlead_error *ret_error);
/* Kill the core and start another one; calls of ops are kept. */
void fixture_restart(struct fixture *fixture);
void fixture_setting(struct fixture *fixture, const char *name,
		     const char *value);
/* Forget the calls of ops so far. */
void fixture_forget(struct fixture *fixture);
void fixture_advance(struct fixture *fixture, uint64_t duration_ms);

/* --- nodes --- */

void node_incarnation(const struct fixture *fixture, const char *node,
		      uint8_t incarnation[16]);
/* Register without anything on the node. */
void node_up(struct fixture *fixture, const char *node);
/* n0 to n(count - 1). */
void nodes_up(struct fixture *fixture, size_t count);
void node_boot(struct fixture *fixture, const char *node);
/* Register with grants of `fake`, each with one identifier. */
void node_up_with(struct fixture *fixture, const char *node,
		  const struct core_inventory_grant *grants, size_t count);
/* It is asked what it has, and says nothing but its place. */
void node_observe(struct fixture *fixture, const char *node);
/* The grant as a node would report it; good until the next one. */
struct core_inventory_grant inventory_of(struct fixture *fixture,
					 uint64_t grant_id);
void confirm(struct fixture *fixture, const char *node, uint64_t grant_id,
	     int result, const char *text);

/* --- clients; the result of the answer, -EINPROGRESS when there is none --- */

int reserve(struct fixture *fixture, const char *key, const char *nodes,
	    const char *options);
int reserve_as(struct fixture *fixture, const struct core_caller *caller,
	       const char *interconnect, const char *key, const char *nodes,
	       const char *options);
int apply(struct fixture *fixture, uint64_t grant_id);
int release_id(struct fixture *fixture, uint64_t grant_id);
int release_key(struct fixture *fixture, const char *key);
int release_job(struct fixture *fixture, const char *job);
/* reserve, apply, all nodes answer 0: the grant id. */
uint64_t active(struct fixture *fixture, const char *key, const char *nodes,
		const char *options);

/* The same, and it is over, and its nodes were all busy. */
uint64_t released_busy(struct fixture *fixture, const char *key,
		       const char *nodes, const char *options);

/* The answer with that token, or NULL. */
const struct given_reply *reply_to(const struct fixture *fixture,
				   uint64_t token);
const struct given_reply *last_reply(const struct fixture *fixture);
uint64_t last_grant(const struct fixture *fixture);
/* The last fan-out that was not answered; fails when there is none. */
struct given_fanout *open_fanout(struct fixture *fixture);
size_t open_fanouts(const struct fixture *fixture);
/* Every node says so. */
void answer_all(struct fixture *fixture, struct given_fanout *fanout,
		int result, const char *text);
/* One node says this, the others 0. */
void answer_one(struct fixture *fixture, struct given_fanout *fanout,
		const char *node, int result, const char *text);

void answer_with(struct fixture *fixture, struct given_fanout *fanout,
		 const struct core_answer *answers, size_t count);

/* The first request of that kind that has not ended, or NULL. */
struct given_outside *open_outside(struct fixture *fixture, uint8_t verb);
void outside_end(struct fixture *fixture, struct given_outside *outside,
		 int result, const char *text);

/* --- looking --- */

/* A set of pool "vni" of `fake`, as text; valid until the next call. */
const char *vnis(const struct fixture *fixture, const char *set);
enum job_state job_state(const struct fixture *fixture, uint64_t grant_id);
bool is_gone(const struct fixture *fixture, uint64_t grant_id);
enum part_state part_state(const struct fixture *fixture, uint64_t grant_id,
			   const char *node);
/* Rows of a table; with an id: only its. */
size_t rows(const struct fixture *fixture, enum store_table table, uint64_t id);
/* Names of the grant's events with spaces between; valid until the next. */
const char *events(const struct fixture *fixture, uint64_t grant_id);
/* The last event of that name, or fails. The caller json_decref's. */
json_t *event(const struct fixture *fixture, uint64_t grant_id,
	      const char *name);
/* How often the edge was hit. */
size_t edge_hits(const struct fixture *fixture, const char *edge);

/*
 * The core against a second one that is made of the journal: the same jobs,
 * nodes, pools and tombstones. And the pools against the jobs: each
 * identifier has one holder.
 */
void verify(struct fixture *fixture);
/* Cut the last byte off a row's body. */
void journal_damage(struct fixture *fixture, enum store_table table,
		    uint64_t id, const char *key);
void journal_put(struct fixture *fixture, const struct store_row *row);
void journal_remove(struct fixture *fixture, enum store_table table,
		    uint64_t id, const char *key);

void assert_contains(const char *text, const char *part);
