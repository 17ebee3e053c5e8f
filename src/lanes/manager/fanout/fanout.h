/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fan-out: one signed command to a set of nodes, and one answer from each
 * of them, or the reason why there is none (doc/rfc/fan-out.md). Pure.
 *
 *	fanouts_start -> round, round, ... -> answered for each node -> done
 *
 * A *command* is signed once and sent to all nodes that are up. A *round* sends
 * it to some of them together, by libscoll. An *answer* is what came of one
 * node.
 *
 * A node that has not answered is asked again until it does, has been down for
 * FANOUT_GONE_MS, or the deadline has passed. A node that no answer and no
 * failure names, or that is in a set with a false tag, is asked again
 * separately, with no node between it and the manager. So is a node that has
 * not answered FANOUT_REPEAT_MS after the patience of its round, since a silent
 * node holds up the nodes around it. The first answer counts whose tag, node,
 * op, grant, sequence, epoch and life are right.
 *
 * A node that registers meanwhile gets an APPLY under a new sequence, for nodes
 * obey none from before their registration; if it was rebooted, or had not been
 * asked, it counts as not reached. A node that answers -ENOTCONN to an APPLY is
 * about to register, and is asked again.
 *
 * A REVOKE or LEASE that is over listens as long as its rounds last: that a
 * lane is gone, or a node alive, is news also when the node was given up.
 *
 * One thread. `answered`, `done` and `late` are called from fanouts_tick()
 * only, and may start further commands.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "lanes/proto/keyfile.h"
#include "lanes/proto/message.h"
#include "lanes/proto/collective.h"
#include "scoll.h"

#define FANOUT_GONE_MS      3000 /* wait for a node that is down */
#define FANOUT_REPEAT_MS    2000 /* until a node is asked again */
#define FANOUT_EARLY_MS     250 /* the same for one that is about to register */
#define FANOUT_FLAT_MAX     128 /* nodes of one separate round */
#define FANOUT_FLATS_MAX    8   /* separate rounds of one command at once */
#define FANOUT_COMMANDS_MAX 8   /* signatures of one command at once */
#define FANOUT_PART_BYTES   65536
#define FANOUTS_MAX         262144 /* under way; more are answered -EAGAIN */

/* --- rounds: the seam below; libscoll in the daemon --- */

/* The group of all nodes; that of a grant has the grant's id. */
#define ROUND_GROUP_ALL UINT64_MAX

struct round_request {
	uint64_t id; /* the caller's, unique and rising */
	/*
	 * Nodes that will be asked together again have a group; it is made when
	 * it is named first, and again when a node is not in it. 0: none.
	 */
	uint64_t group;
	const uint64_t *nids;
	size_t count;
	/*
	 * is_bulk is not set: the seam knows what fits. is_separate: no node
	 * stands between a node and the manager.
	 */
	struct parcel parcel;
};

/* A node that was not reached, or whose answer was not. */
struct round_failure {
	uint64_t nid;
	int status; /* < 0 */
};

struct round_counters {
	uint64_t group_count;    /* groups that are kept now */
	uint64_t round_count;    /* rounds under way now */
	uint64_t made_count;     /* groups made, also those for one round */
	uint64_t populate_count; /* of them, populated first */
	uint64_t failed_count;   /* of them, that failed */
	uint64_t bulk_count;     /* commands that went as bulk data */
};

/*
 *	start ---------> part, part, ... ---------> ended
 *
 * No event comes from within a call of the seam, none for an id before its
 * start or after its end or cancel, and each round that was started ends. The
 * parts are not to be believed, and neither are the failures.
 */
struct round_ops {
	/* All is copied. An error: it has not begun, and has no end. */
	int (*start)(void *ctx, const struct round_request *request);
	/* No more events of it. */
	void (*cancel)(void *ctx, uint64_t id);
	/* Where a node is; size 0 forgets it. Its groups are made again. */
	void (*address)(void *ctx, uint64_t nid, const void *address,
			size_t size);
	/* No new request names it; requests under way go on. */
	void (*group_drop)(void *ctx, uint64_t group);
	const struct round_counters *(*counters)(void *ctx);
};

struct round_seam {
	const struct round_ops *ops;
	void *ctx;
};

/* --- commands --- */

/* One command to some nodes, ready to be signed. */
struct fanout_command {
	enum command_op op; /* one that names nodes */
	uint64_t grant_id;
	uint64_t apply_floor;
	uint64_t group; /* see struct round_request */
	uint32_t timeout_ms;
	char **nodes; /* in the order of the body's host list */
	size_t node_count;
	struct writer body;
	int error; /* < 0: it is not sent, and this is each node's answer */
	/* For the caller: its owner. */
	int owner;
	uint64_t id;
};

/* With copies of the names. */
struct fanout_command *fanout_command_create(enum command_op op,
					     const char *const *nodes,
					     size_t node_count);
void fanout_command_destroy(struct fanout_command *command);
DEFINE_AUTO(struct fanout_command, fanout_command_destroy)

/* The result of one node. */
struct fanout_answer {
	const char *node;
	int result;
	bool is_own;      /* from the node itself */
	bool has_shown;   /* it has the key that signed the command */
	uint32_t key_id;  /* of that key */
	char *reason;     /* its own text; NULL: it said "done", or nothing */
	const char *text; /* the reason, or why there is no answer */
	/* Of QUERY and CLEAN: JSON text, ended by a zero; or an inventory. */
	const uint8_t *said;
	size_t said_size;
	uint8_t incarnation[INCARNATION_SIZE]; /* that was asked or answered */
};

struct fanout_ops {
	/* False: the node is not up. */
	bool (*is_up)(void *ctx, const struct fanout_command *command,
		      const char *node,
		      uint8_t ret_incarnation[INCARNATION_SIZE]);
	/*
	 * Sign the command under the next sequence: append it to the writer,
	 * and set its header, without body.
	 */
	void (*sign)(void *ctx, const struct fanout_command *command,
		     struct command *ret_header, struct writer *writer);
	/* The masters of the nodes' tags. */
	size_t (*masters)(void *ctx, const struct node_master **ret_masters);
	/* Once for each node. */
	void (*answered)(void *ctx, const struct fanout_command *command,
			 const struct fanout_answer *answer);
	/* All have answered: command->node_count answers, in its order. */
	void (*done)(void *ctx, const struct fanout_command *command,
		     const struct fanout_answer *answers);
	/*
	 * A node that was given up has obeyed a REVOKE or LEASE. It was asked,
	 * and so alive, at asked_ms.
	 */
	void (*late)(void *ctx, const struct fanout_command *command,
		     const struct fanout_answer *answer, uint64_t asked_ms);
};

struct fanout_counters {
	uint64_t round_count;
	uint64_t repeat_count;  /* nodes that were asked once more */
	uint64_t false_count;   /* sets and confirmations */
	uint64_t omitted_count; /* nodes that were left out */
	uint64_t timeout_count;
};

struct fanouts;

/* All by reference. */
struct fanouts *fanouts_create(const struct fanout_ops *ops, void *ctx,
			       const struct round_seam *seam);
/* Without a callback; what is under way is cancelled. */
void fanouts_destroy(struct fanouts *fanouts);
DEFINE_AUTO(struct fanouts, fanouts_destroy)
void fanouts_clear(struct fanouts *fanouts);

/* At most COMBINED_NODES_MAX nodes. */
void fanouts_start(struct fanouts *fanouts,
		   struct fanout_command *command_owned, uint64_t now_ms);
/* A node has registered, and HELLO was sent. */
void fanouts_node_up(struct fanouts *fanouts, const char *node);
/* Some nodes are down that were up. */
void fanouts_nodes_lost(struct fanouts *fanouts);
/* Apply timeouts, and call the callbacks. */
void fanouts_tick(struct fanouts *fanouts, uint64_t now_ms);
uint64_t fanouts_deadline_ms(const struct fanouts *fanouts);
/* Those that are not done. */
size_t fanouts_count(const struct fanouts *fanouts);
const struct fanout_counters *fanouts_counters(const struct fanouts *fanouts);

/* Events of the seam. result: 0, or why nothing of it has happened. */
void fanouts_part(struct fanouts *fanouts, uint64_t id, const void *bytes,
		  size_t size);
void fanouts_ended(struct fanouts *fanouts, uint64_t id, int result,
		   const struct round_failure *failures, size_t count);

/* --- rounds on libscoll --- */

/*
 * Which groups there are, what goes in one message and what beside it, and
 * what has come back. Everything goes through the scoll_t.
 *
 *	scoll_init -> rounds_create -> engine_create with rounds_seam
 *	loop: scoll_progress, rounds_settle
 *	engine_destroy -> scoll_fini -> rounds_destroy
 *
 * A named group is kept until it is dropped, or ROUNDS_GROUPS_MAX others were
 * used later. It is made with the first round over it when its list fits
 * beside the command; else it is populated first. When that fails (a node is
 * dead) the command goes out in several small groups for this round only, as
 * it does without a named group, so that each node that was not reached is
 * known. So do the rounds after it, until one of its nodes has come or gone,
 * or ROUNDS_SCATTERS_MAX have gone so.
 */
#define ROUNDS_GROUPS_MAX   1024
#define ROUNDS_SCATTERS_MAX 8

struct rounds;

/* From rounds_settle() only. */
struct round_events {
	void (*part)(void *ctx, uint64_t id, const void *bytes, size_t size);
	void (*ended)(void *ctx, uint64_t id, int result,
		      const struct round_failure *failures, size_t count);
};

/* By reference. As scoll_service_register(). */
int rounds_create(scoll_t *scoll, const struct round_events *events, void *ctx,
		  struct rounds **ret_rounds);
/* After scoll_fini(). NULL is allowed. */
void rounds_destroy(struct rounds *rounds);
DEFINE_AUTO(struct rounds, rounds_destroy)

struct round_seam rounds_seam(struct rounds *rounds);
const struct round_counters *rounds_counters(const struct rounds *rounds);
/*
 * Hand out what has come; wanted after each scoll_progress(). The events may
 * call the seam.
 */
void rounds_settle(struct rounds *rounds);
