/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine's state. Nothing here is for others: they see engine.h.
 *
 * An event from outside goes: entry point in engine.c -> session.c, fanout/ or
 * clients.c -> core -> commit.c (rows and outputs collect in a group, which goes
 * to disk; then its outputs are done).
 */
#pragma once

#include <jansson.h>

#include "base/hash.h"
#include "lanes/manager/core/metrics.h"
#include "lanes/manager/engine.h"
#include "lanes/proto/client.h"
#include "lanes/proto/keyfile.h"
#include "lanes/proto/message.h"

/* --- counters, for engine_metrics.c --- */

#define OPS_MAX         32 /* ops of the client protocol */
#define ROW_BUCKETS_MAX 9
#define ROW_BUCKETS                                         \
	{                                                   \
		1, 4, 16, 64, 256, 1024, 4096, 16384, 65536 \
	} /* rows of a commit */

struct op_metrics {
	struct histogram times;
	uint64_t failed_count;
};

enum manager_refusal {
	REFUSAL_MALFORMED, /* not a message of the protocol */
	REFUSAL_KEY,       /* a false MAC, or a key that is not known */
	REFUSAL_REPLAYED,  /* answers to another challenge */
	REFUSAL_UNKNOWN,   /* not one of our nodes */
	REFUSAL_PROOF,     /* a claim of a higher epoch without a proof */
	REFUSAL_STALE,     /* a confirmation of another life, or of nothing */
	REFUSAL_CROWDED,   /* it had not registered while others waited */
	REFUSAL_ADDRESS,   /* it has no endpoint for collectives */
	REFUSAL_COUNT,
};

struct counters {
	struct op_metrics ops[OPS_MAX];
	uint64_t client_refused_count;
	struct histogram commits; /* from submission until on disk */
	uint64_t row_count, commit_failed_count, replay_count;
	uint64_t byte_count;  /* keys and bodies of the rows */
	uint64_t commit_rows; /* of a commit of which not all is known yet */
	uint64_t row_buckets[ROW_BUCKETS_MAX]; /* commits of up to that many */
	uint64_t refusals[REFUSAL_COUNT];
	uint64_t command_count; /* that were signed */
	uint64_t answer_count;
	uint64_t lease_count; /* nodes whose lease ran out */
};

/* --- the state --- */

struct engine {
	struct clock_seam clock;
	struct rng_seam rng;
	struct net_seam nodes_net;
	struct net_seam clients_net;
	struct round_seam rounds;
	struct store_seam store;
	const struct engine_ops *ops;
	void *ops_ctx;
	const struct log *log;

	const struct engine_config *config; /* the owner's */
	struct manager_keys keys;
	struct command_key command_key; /* derived from keys, as the rest */
	struct command_public publics[KEYS_MAX];
	size_t public_count;
	struct node_master masters[KEYS_MAX];
	size_t master_count;

	struct writer answer; /* to a client; borrowed while it is written */
	struct core *core;    /* NULL while the journal is to be read again */
	void (*probe)(void *ctx, const char *edge);
	void *probe_ctx;

	bool is_started;
	bool has_registered; /* a node, since the start */
	bool is_recovery;    /* until its first commit is on disk */
	uint64_t epoch;
	uint64_t life;
	uint64_t sequence; /* last one used */
	uint64_t started_ms;
	uint64_t halted_epoch; /* 0: not halted */

	struct manager_group *groups; /* the last one collects */
	size_t submitted_count;
	bool is_flushing;
	struct fairlead_error failure; /* of the journal; code 0: none */
	uint64_t replay_ms;            /* when to try again; core is NULL */

	struct session *sessions;
	struct session *waiting; /* to be registered; the oldest is first */
	size_t sessions_max;
	bool is_full_logged;  /* that there is no room for more */
	size_t session_count; /* that are not refused */
	uint64_t challenge_last;
	uint64_t session_scan_ms;
	uint64_t reject_window_ms; /* when it began */
	uint32_t reject_count;     /* in the window */

	struct live_node *live_nodes; /* see live.h */
	json_t *levels;               /* of these: {driver: {level: count}} */
	bool live_are_sorted;
	uint64_t live_scan_ms;
	uint64_t lease_ms;  /* when the next LEASE goes out */
	bool is_recall_due; /* the core is new; poll.c */
	uint64_t poll_last;
	uint32_t reported_count; /* nodes that report what is not ours */

	struct manager_client *clients;
	struct open_request *requests;
	uint64_t token_last;

	struct fanouts *fanouts;
	struct events_read *event_reads; /* under way, or waiting */
	bool reads_for_others; /* of these one, for others than who go first */
	struct counters counters;
};

static inline uint64_t engine_now_ms(const struct engine *engine)
{
	return clock_monotonic_ms(&engine->clock);
}

/* --- engine.c: secrets in the journal; see struct core_ops --- */

void engine_encrypt(void *ctx, uint64_t grant_id, const void *secret,
		    size_t size, struct writer *writer);
int engine_decrypt(void *ctx, uint64_t grant_id, const void *bytes, size_t size,
		   struct writer *writer, struct fairlead_error *ret_error);

/* --- engine_fanout.c: commands to nodes --- */

/* Where the answers go: `owner` of struct fanout_command. */
enum command_owner {
	COMMAND_OF_CORE,   /* all together: core_fanout_done() */
	COMMAND_OF_CLIENT, /* all together: query_done() */
	COMMAND_OF_POLL,   /* one by one: poll_answer() */
	COMMAND_OF_LEASE,  /* one by one: live_leased() */
	COMMAND_OF_RECALL, /* nowhere: the nodes register */
};

void engine_fanouts_create(struct engine *engine);
/* An APPLY or REVOKE that the core wants sent. */
struct fanout_command *engine_command_create(const struct core_fanout *fanout);
