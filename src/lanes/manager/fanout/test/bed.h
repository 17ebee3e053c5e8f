/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders over a seam that does what each test says: collectives stand in a
 * list until they are answered and ended by hand, with the keys of the nodes.
 */
#pragma once

#include "lanes/manager/fanout/fanout.h"
#include "lanes/proto/combined.h"

#define NODES_MAX  3000
#define ASKED_MAX  64
#define TIMEOUT_MS 30000
#define GRANT      42
#define EPOCH      3
#define LIFE       77

struct node {
	char name[16];
	bool is_up;
	uint8_t incarnation[INCARNATION_SIZE];
	/* What came of it. */
	unsigned int answer_count;
	bool is_own;
	int result;
	char text[64];
	uint8_t answered_by[INCARNATION_SIZE];
};

/* A collective that was started. */
struct asked {
	uint64_t id, group;
	bool is_separate;
	uint32_t patience_ms, part_bytes;
	uint32_t places[NODES_MAX];
	size_t count;
	struct command head;
	bool is_cancelled;
};

struct scene {
	struct command_key key;
	struct command_public public;
	struct node_master master;
	struct node nodes[NODES_MAX];
	const char *names[NODES_MAX];
	struct asked *asked[ASKED_MAX];
	size_t asked_count;
	int start_result;
	uint64_t sequence;
	uint64_t now_ms;
	enum command_op op;
	size_t look_up_count; /* of all nodes together */
	size_t done_count;
	size_t drop_count; /* of the grant's group */
	unsigned int late_count;
	char late_node[16]; /* the last one */
	uint64_t late_ms;   /* when it was asked */
	struct round_seam seam;
	struct fanouts *fanouts;
};

/* Places of a command of `count` nodes that a part is about. */
struct part {
	struct scene *scene;
	const struct asked *asked;
	struct combined combined;
};

#define NOBODY UINT32_MAX

/* As cmocka's set-up and tear-down. */
int bed_setup(void **state);
int bed_teardown(void **state);
void bed_start(struct scene *scene, enum command_op op, size_t count);
void bed_tick(struct scene *scene);
/* Time goes on, from deadline to deadline. */
void bed_advance(struct scene *scene, uint64_t ms);
/* The only collective since the first `count`; asserts that it is. */
struct asked *bed_only(struct scene *scene, size_t count);
struct writer asked_confirm(struct scene *scene, const struct asked *asked,
			    uint32_t place, int result, const char *reason);
struct part part_begin(struct scene *scene, const struct asked *asked,
		       size_t count);
void part_add(struct part *part, uint32_t place, int result);
void part_send(struct part *part);
/* All of `count` nodes that were asked say "done", but for one. */
void asked_answer_but(struct scene *scene, const struct asked *asked,
		      size_t count, uint32_t but);
void asked_answer_one(struct scene *scene, const struct asked *asked,
		      size_t count, uint32_t place, int result);
void asked_end(struct scene *scene, const struct asked *asked);
void asked_end_without(struct scene *scene, const struct asked *asked,
		       uint32_t place, int status);
/* Each of the first `count` was reported once, the others never. */
void bed_reported_once(const struct scene *scene, size_t count);
