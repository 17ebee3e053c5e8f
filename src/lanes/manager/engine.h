/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager without its input and output: it stands between the core, which
 * decides, and the world, which comes through seams. Pure.
 *
 *   clients --JSON--> engine_client_*            core_* --> rows, replies,
 *   nodes ---frames-> engine_node_*      engine  <-------   fan-outs, ...
 *   answers --------> engine_round_*             --> store, nodes, rounds,
 *   time -----------> engine_tick                    clients
 *
 * It keeps what the core's contract asks for:
 *  - group commit: rows collect while a commit is in flight, and what the core
 *    made visible waits until the rows before it are on disk;
 *  - when a commit fails, its requests get the error, the core is dropped and
 *    made again from the journal, and the nodes register again;
 *  - nodes prove who they are, over a connection that may be closed after
 *    registration; commands go to them by the fan-out, signed, and again until
 *    they are answered or too late; forged, replayed and late answers do no
 *    harm; a node is up while it answers;
 *  - a node that proves a higher epoch stops the manager.
 *
 * Life cycle: engine_create, engine_load for each row of the journal but the
 * events, engine_start, events in any order, engine_destroy. The store gives no
 * result any more when engine_destroy is called; the other seams are still
 * there. One thread; no call is made from within a callback of struct
 * engine_ops unless it says so. Time comes from the clock seam; engine_tick()
 * is wanted at engine_deadline_ms().
 *
 * Peers are handles of the two net seams, and need not differ between them.
 *
 * When sessions_max connections of nodes are open a new one takes the place of
 * the oldest that has not registered, so that idle connections cannot lock out
 * nodes. What was closed does not count: the net may have a few more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/seam.h"
#include "lanes/manager/core/core.h"
#include "lanes/manager/fanout/fanout.h"
#include "lanes/proto/keyfile.h"

struct engine;

/*
 * Key of STORE_META: the epoch that a node has proven, which stopped the
 * manager. A start with such a row is refused, and a recovery takes an epoch
 * above it and removes the row.
 */
#define ENGINE_META_HALTED  "halted"

#define ENGINE_OPEN_MAX     65536  /* requests without an answer */
#define ENGINE_SESSIONS_MAX 131072 /* of nodes that register, or owe */
#define ENGINE_QUERY_MAX    1024   /* nodes of one node-query */

#define ENGINE_LEASE_MS     30000 /* without an answer, and a node is down */
#define ENGINE_RENEW_MS     10000 /* between renewals of all leases */
#define ENGINE_PING_MS      10000 /* of silence on a node's connection */
#define ENGINE_SILENCE_MS   30000 /* then it is closed */
#define ENGINE_CHALLENGE_MS 10000 /* to register in */
#define ENGINE_REPLAY_MS    5000  /* between tries to read the journal again */

struct engine_submitter {
	const char *name;
	uid_t uid;
};

/*
 * Kept by reference, with all it points to, until engine_configure() has taken
 * another one: the core is made again from it after a failed commit.
 */
struct engine_config {
	struct core_config core;
	const struct engine_submitter *submitters;
	size_t submitter_count;
};

struct engine_ops {
	/*
	 * The journal is to be read again after a failed commit, when nothing
	 * waits at the store any more: begin a higher epoch, and call
	 * engine_load() for each row from within, as journal_replay() does. 0,
	 * or a negative errno with a text; it is tried again after
	 * ENGINE_REPLAY_MS.
	 */
	int (*replay)(void *ctx, struct engine *engine, uint64_t *ret_epoch,
		      struct fairlead_error *ret_error);
	/*
	 * A client asks to read the configuration again: read it, and call
	 * engine_configure() from within. *ret_text: what has changed, or on
	 * failure all errors, one a line; the engine frees it.
	 */
	int (*reconfigure)(void *ctx, struct engine *engine, char **ret_text);
	/* The text and what to do of the store's last error, or "". */
	const char *(*store_error)(void *ctx);
	/* As `notify` in struct core_ops; engine_notified() has the result. */
	void (*notify)(void *ctx, uint64_t id, const char *node,
		       bool is_drained, const char *reason);
	/*
	 * As `outside` in struct core_ops; how it ended comes by
	 * engine_outside_done(), not from inside of this call.
	 */
	void (*outside)(void *ctx, const struct outside_request *request);
};

struct engine_options {
	const struct engine_config *config;
	/* Copied; engine_rekey() changes them. */
	const struct manager_keys *keys;
	/* Connections of nodes, most ENGINE_SESSIONS_MAX, which 0 is. */
	size_t sessions_max;
	struct clock_seam clock;
	struct rng_seam rng;
	struct net_seam nodes;
	struct net_seam clients;
	struct store_seam store;
	const struct engine_ops *ops; /* by reference, with its context */
	void *ops_ctx;
	const struct log *log; /* by reference; NULL: none */
};

/*
 * -EINVAL with all errors of the configuration in the text, one a line.
 */
int engine_create(const struct engine_options *options,
		  struct engine **ret_engine, struct fairlead_error *ret_error);
void engine_destroy(struct engine *engine);
DEFINE_AUTO(struct engine, engine_destroy)

/* As core_load(). */
int engine_load(struct engine *engine, const struct store_row *row,
		struct fairlead_error *ret_error);
/*
 * Serve; commands go to nodes by these rounds. The epoch is on disk. As
 * core_start().
 */
int engine_start(struct engine *engine, struct round_seam rounds,
		 uint64_t epoch, bool is_recovery,
		 struct fairlead_error *ret_error);

/* It was started as a recovery, of which nothing is on disk yet. */
bool engine_is_recovery(const struct engine *engine);

uint64_t engine_deadline_ms(const struct engine *engine);
void engine_tick(struct engine *engine);
/* No row waits for the disk and no answer for a row: time to stop. */
bool engine_is_idle(const struct engine *engine);

/* As core_configure(), and the submitters. */
int engine_configure(struct engine *engine, const struct engine_config *config,
		     char **ret_changes, struct fairlead_error *ret_error);
/*
 * Take the keys of the file: 1 when they have changed, else 0. -EINVAL when
 * they are another cluster's.
 */
int engine_rekey(struct engine *engine, const struct manager_keys *keys,
		 struct fairlead_error *ret_error);
/* As a client's recover-waive; the result goes to the log. */
void engine_waive(struct engine *engine, const char *nodes);
/* A `notify` of engine_ops has ended: 0, or a negative errno. */
void engine_notified(struct engine *engine, const char *node, uint64_t id,
		     int result);

/* An `outside` of engine_ops has ended. */
void engine_outside_done(struct engine *engine, uint64_t id,
			 const struct outside_end *end);

/* --- nodes: frames of the node protocol, without their length --- */

/* address: for the log. */
void engine_node_opened(struct engine *engine, uint64_t peer,
			const char *address);
void engine_node_received(struct engine *engine, uint64_t peer,
			  const void *frame, size_t size);
void engine_node_closed(struct engine *engine, uint64_t peer);

/* --- rounds: the events of the seam (fanout/fanout.h) --- */

void engine_round_part(struct engine *engine, uint64_t id, const void *bytes,
		       size_t size);
void engine_round_ended(struct engine *engine, uint64_t id, int result,
			const struct round_failure *failures, size_t count);

/* --- clients: JSON texts of the client protocol --- */

/* Root and submitters: what they ask for is done before what others do. */
bool engine_goes_first(const struct engine *engine, uid_t uid);

/* is_remote: on another machine, where uid 0 has no rights of root. */
void engine_client_opened(struct engine *engine, uint64_t peer, uid_t uid,
			  bool is_remote);
void engine_client_received(struct engine *engine, uint64_t peer,
			    const void *text, size_t size);
/* The framing was wrong: answer with id 0 (reason: see sys/net.h). */
void engine_client_violated(struct engine *engine, uint64_t peer, int reason);
void engine_client_closed(struct engine *engine, uint64_t peer);

/* --- views --- */

/* Prometheus text format; the caller frees it. */
char *engine_metrics(const struct engine *engine);
bool engine_is_halted(const struct engine *engine);
/* Of the simulator: core_set_probe(), kept over a new core. */
void engine_set_probe(struct engine *engine,
		      void (*probe)(void *ctx, const char *edge), void *ctx);
