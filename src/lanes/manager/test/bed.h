/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A test bed for the engine: seams that do nothing until the test asks, the
 * real core, and nodes and clients that speak the real protocols.
 *
 * The store holds its commits until bed_commit(), and keeps rows in memory.
 * Sent frames stand in a queue of their peer until they are taken, and so do
 * rounds for each of their nodes. A round ends when all its nodes
 * have answered, or a second after the patience; but LEASE is answered by
 * itself for each node that has registered. Failed expectations are cmocka's.
 */
#pragma once

#include <jansson.h>

#include "base/hash.h"
#include "lanes/manager/engine.h"
#include "lanes/proto/message.h"
#include "sim/clock.h"
#include "sim/rng.h"

#define BED_EPOCH      7
#define BED_ROOT       0
#define BED_SUBMITTER  64030 /* "slurm" */
#define BED_OTHER      64031 /* "flux" */
#define BED_USER       1000
#define BED_FRAMES_MAX 4096

struct bed_frame {
	uint64_t peer;
	uint8_t *bytes;
	size_t size;
};

/* What one net seam was asked to do. */
struct bed_net {
	struct bed_frame frames[BED_FRAMES_MAX]; /* sent, not taken yet */
	size_t frame_count;
	uint64_t closed[BED_FRAMES_MAX]; /* peers that were closed, in order */
	size_t closed_count;
	int send_result; /* instead of 0 */
	uint64_t over;   /* this peer has hung up */
};

struct bed_row {
	struct store_row row; /* copies */
	struct bed_row *prev, *next;
};

struct bed_commit {
	struct store_batch *batch;
	void (*done)(void *arg, int result);
	void *arg;
};

struct bed_read {
	uint64_t id;
	void (*done)(void *arg, int result, const struct store_row *rows,
		     size_t count);
	void *arg;
};

/* A round that was started; it is kept when it is over. */
struct bed_round {
	uint64_t id, group;
	struct parcel parcel;   /* its command is ours */
	struct command command; /* verified */
	char *nodes;            /* of the command */
	uint64_t *nids;
	bool *is_taken;     /* the node has got it */
	bool *has_answered; /* and has answered */
	size_t count, answer_count;
	uint64_t end_ms;
	bool is_cancelled;
	bool is_over; /* or cancelled */
	struct bed_round *prev, *next;
};

/* A node as it answers to LEASE. */
struct bed_known {
	char name[NODE_NAME_MAX + 1];
	uint8_t incarnation[INCARNATION_SIZE];
	struct node_key key;
	bool is_silent;
	UT_hash_handle hh;
};

struct bed {
	struct sim_clock clock;
	struct sim_rng rng;
	struct bed_net nodes;
	struct bed_net clients;
	struct bed_commit commits[64]; /* in flight, oldest first */
	size_t commit_count;
	bool holds_reads; /* until bed_read_one() */
	struct bed_read reads[8];
	size_t read_count;
	struct bed_round *rounds;
	struct bed_known *known;
	unsigned int lease_count;   /* LEASE that were answered */
	unsigned int address_count; /* calls for a node that is there */
	unsigned int forget_count;  /* and for one that is not */
	uint64_t dropped_group;     /* the last one */
	unsigned int drop_count;
	struct bed_row *journal;
	struct manager_keys keys;
	struct engine_config config;
	/* By a reconfigure: one is the engine's, the other one is free. */
	struct engine_config taken[2];
	size_t taken_index;
	struct engine *engine;
	size_t sessions_max; /* of the next start */
	int replay_result;   /* instead of reading the journal */
	unsigned int replay_count;
	uint64_t epoch; /* of the last start or replay */
	unsigned int drain_count;
	uint64_t drain_id;
	char drain_node[NODE_NAME_MAX + 1];
	bool drain_value;
	uint64_t outside_id; /* the last request to a fabric manager */
	uint8_t outside_verb;
	int reconfigure_result;
	const char *reconfigure_nodes;
	struct log log;
	unsigned int warning_count;
	char last_line[LOG_LINE_MAX]; /* of the log */
	uint64_t peer_last;
	uint64_t id_last;
};

/* Nodes n0..n9, drivers none and slingshot (VNIs 1024-1033); started. */
struct bed *bed_create(void);
/* As cmocka's set-up and tear-down; also checks that nothing is left. */
int bed_set_up(void **state);
int bed_tear_down(void **state);
void bed_destroy(struct bed *bed);
/* An engine on the journal that is there. */
void bed_start(struct bed *bed, uint64_t epoch, bool is_recovery);
/* Destroy the engine; what was not committed is lost. */
void bed_crash(struct bed *bed);

/* End the oldest commit in flight with this result; on 0 its rows count. */
void bed_commit_one(struct bed *bed, int result);
/* The oldest read that is held is done. */
void bed_read_one(struct bed *bed);
/* All of them, and those that follow, with 0. */
void bed_commit(struct bed *bed);
/* The clocks go on, and the engine ticks when it wants to. */
void bed_advance(struct bed *bed, uint64_t duration_ms);
bool bed_was_closed(const struct bed_net *net, uint64_t peer);

/* --- clients --- */

uint64_t bed_client(struct bed *bed, uid_t uid);
/* Of another machine. */
uint64_t bed_remote_client(struct bed *bed, uid_t uid);
/* Send text as a frame. */
void bed_client_send(struct bed *bed, uint64_t client, const char *text);
/*
 * Ask, with members as json_pack's object format ("{s:s}"); returns the id.
 * format may be NULL.
 */
uint64_t bed_ask(struct bed *bed, uint64_t client, const char *op,
		 const char *format, ...);
/* The next answer to a client, or NULL; a new reference. */
json_t *bed_answer(struct bed *bed, uint64_t client);
/* The next answer is this result; its members are a new reference. */
json_t *bed_expect(struct bed *bed, uint64_t client, int result);
/* The same, and nothing more of it matters. */
void bed_expect_done(struct bed *bed, uint64_t client, int result);
/* What `node-list` says of a node, which is there; a new reference. */
json_t *bed_node_shown(struct bed *bed, const char *name);
/* Reserve on nodes, commit, and return the grant id. */
uint64_t bed_reserve(struct bed *bed, uint64_t client, const char *key,
		     const char *nodes);

/* --- nodes --- */

struct bed_node {
	struct bed *bed;
	char name[NODE_NAME_MAX + 1];
	uint8_t incarnation[INCARNATION_SIZE];
	struct node_key key;
	uint64_t peer;
	struct challenge challenge;
	uint8_t nonce[NONCE_SIZE];
	struct registration registration; /* what it will send */
	uint64_t sequence;                /* of its own confirmations */
};

/* A node with the right key, connected and challenged. */
void bed_node_connect(struct bed *bed, const char *name,
		      struct bed_node *ret_node);
/* The same node on another connection. */
void bed_node_reconnect(struct bed_node *node);
/* Its REGISTER as a frame; the caller frees it. */
uint8_t *bed_node_register_frame(struct bed_node *node, size_t *ret_size);
/* Register, without waiting for the disk. */
void bed_node_send_register(struct bed_node *node);
/* Register, commit, and take HELLO. */
void bed_node_register(struct bed_node *node);
/* Both of the above for a new node. */
void bed_node_up(struct bed *bed, const char *name, struct bed_node *ret_node);
void bed_node_receive(struct bed_node *node, const void *frame, size_t size);
/*
 * Take the next command for the node on its link, verified, or false. ret_bytes
 * is to be freed, and command points into it.
 */
bool bed_node_command(struct bed_node *node, struct command *ret_command,
		      uint8_t **ret_bytes);
/* A CONFIRM frame that answers a command; the caller frees it. */
uint8_t *bed_node_confirm_frame(struct bed_node *node,
				const struct confirm *confirm,
				size_t *ret_size);
void bed_node_confirm(struct bed_node *node, const struct confirm *confirm);
size_t bed_node_frames(const struct bed_node *node);
/* The node's next frame is of this type; NULL: no frame. To be freed. */
uint8_t *bed_node_take(struct bed_node *node, enum frame_type type,
		       size_t *ret_size);
/* The node got a REFUSE with this text, and its connection was closed. */
void bed_node_refused(struct bed_node *node, const char *words);
/* node-list says that it is in this state. */
void bed_node_state(struct bed *bed, const char *name, const char *state);

/* --- nodes and rounds --- */

/* The next round but LEASE that reaches the node, or NULL. */
struct bed_round *bed_node_asked(struct bed_node *node);
/* How many have not reached it. */
size_t bed_node_asked_count(const struct bed_node *node);
/* Send up what a node says, whatever it is, as the only answer. */
void bed_node_say(struct bed_node *node, struct bed_round *round,
		  const struct confirm *confirm);
/* The same, and that was its answer. */
void bed_node_answer(struct bed_node *node, struct bed_round *round,
		     const struct confirm *confirm);
/* The next round is this op; answer it. */
void bed_node_obey(struct bed_node *node, enum command_op op, int result);
/* A node has registered; it answers LEASE with this key. */
void bed_known_set(const struct bed_node *node);
/* It does not answer to LEASE any more, or again. */
void bed_node_silence(struct bed_node *node, bool is_silent);
/* End it: who has not answered has failed like that. */
void bed_round_end(struct bed *bed, struct bed_round *round, int status);
/* The last one with this op that was started; NULL: there is none. */
struct bed_round *bed_round_last(struct bed *bed, enum command_op op);
