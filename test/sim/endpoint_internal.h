/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the endpoints share. */
#pragma once

#include "endpoint.h"
#include "liar.h"
#include "lanes/proto/collective.h"
#include "medium.h"

#define RECORDED_MAX 64

/* A message that an attacker has recorded. */
struct recorded_message {
	scoll_nid_t to;
	uint64_t tag;
	bool is_reply;
	size_t size;
	uint8_t *bytes;
};

/* A command that a manager has sent by a collective. */
struct recorded_command {
	uint8_t *bytes;
	size_t size;
};

struct ether {
	struct world *world;
	struct medium *medium;
	struct sim_rng rng;
	uint64_t event, event_ms;
	uint32_t doubled_ppm;
	uint64_t doubled_count;
	struct recorded_message messages[RECORDED_MAX];
	struct recorded_command commands[RECORDED_MAX];
	size_t message_count, command_count; /* ever */
	struct endpoint *impostor;           /* NULL: there is none */
	bool is_cut[WORLD_NODES_MAX];
	bool is_lying[WORLD_NODES_MAX];
	struct endpoint *nodes[WORLD_NODES_MAX]; /* NULL: it is not there */
};

/* Of a start before all others, or after. */
struct endpoint *endpoint_open_impostor(struct ether *ether, scoll_nid_t nid,
					const struct round_events *events,
					void (*settled)(void *ctx), void *ctx);

/* ether_attack.c */
void ether_tap(struct ether *ether);
void ether_attack_fini(struct ether *ether);

/* ether_forge.c */
/* What a rooted node has of keys, and one that it has made up to sign with. */
void ether_hops_steal(const struct world *world, struct hop_keys *ret_hops);
/* Repeat a recorded broadcast, changed into a later one. */
void ether_forge(struct ether *ether);

struct endpoint {
	struct ether *ether;
	scoll_t *scoll;
	struct hop hop;
	struct sim_rng rng;
	struct rounds *rounds;           /* of a manager */
	struct node_rounds *node_rounds; /* of a node */
	struct liar *liar;
	unsigned int node;
	void (*settled)(void *ctx);
	void *ctx;
};
