/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An end of the transport for tests: in the test's own process (node), and in
 * another one that executes commands (puppet). A puppet is this executable
 * again, so that nothing of libfabric is forked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scoll/transport/ofi/ofi.h"
#include "scoll/transport/test/child.h"

#define SENDERS_MAX   8
#define GREETING_SIZE 4    /* of a message that is not counted: the sender */
#define LEFT_BYTE     0xee /* in memory that a puppet has left */

/* A transfer and what came of it. */
struct move {
	struct transfer transfer;
	bool is_done;
	int result;
	size_t size;
};

struct node {
	const struct transport_kind *kind;
	void *t; /* the transport */
	const struct transport_ops *ops;
	scoll_nid_t parent; /* whose messages it gets; 0: nobody's */
	uint64_t greeting_count;
	uint64_t received_count;
	uint64_t from[SENDERS_MAX]; /* messages of each sender */
	uint64_t damaged_count;
	size_t last_size;
	uint8_t last[SCOLL_BCAST_MAX];
	uint64_t progress_count; /* calls */
	uint64_t skew_ns;        /* what its clock is ahead */
	uint64_t burn_ns;        /* time that each message takes it */
};

uint64_t test_now_ns(void);
/* Of a node's clock. */
uint64_t node_now_ns(const struct node *node);
/* The provider that the program was started for. */
extern const char *test_provider;
bool test_provider_is(const char *name);

/* host, service: may be NULL. */
void node_open(struct node *node, const char *host, const char *service,
	       unsigned flags);
void node_close(struct node *node);
/* Wait on the descriptor as a program does, at most until `limit_ns`. */
void node_step(struct node *node, uint64_t limit_ns);
/* Run until the move is done; fails the test when it is not within 60 s. */
int node_finish(struct node *node, struct move *move);
void node_until(struct node *node, const uint64_t *counter, uint64_t value);
/* Run, with a clock that is ahead by so much more from now on. */
void node_skip(struct node *node, uint64_t duration_ns);
size_t node_address(struct node *node, uint8_t *ret_address);
void node_meet(struct node *node, scoll_nid_t nid, const uint8_t *address,
	       size_t size);
/*
 * A message that its receiver counts for `sender`; tries again
 * while the transport or the peer is full.
 */
int node_send(struct node *node, scoll_nid_t to, uint32_t sender, size_t size,
	      struct move *move);
/* What is at an offset of any buffer of tests. */
uint8_t test_byte(size_t offset);

/* Where to be: of shm anywhere, of others on this machine. */
const char *test_host(void);
#define SELF_NID 1
/* The NID of the i-th puppet. */
#define PUPPET_NID(i) ((scoll_nid_t)(i) + 2)

struct puppet {
	struct child child;
	uint8_t address[TRANSPORT_ADDRESS_MAX];
	size_t address_size;
};

/* Start one and read its address. */
void puppet_start(struct puppet *puppet, const char *host, const char *service);
/* The answer, while our own end goes on. */
const char *puppet_hear(struct puppet *puppet, struct node *node,
			char answer[CHILD_ANSWER_MAX]);
void puppet_meet(struct puppet *puppet, scoll_nid_t nid, const uint8_t *address,
		 size_t size);
/* Start one and give each the other's address. */
void puppet_meet_quietly(struct puppet *puppet, int index, struct node *node);
/*
 * And let them greet each other: over streams, replies and reads go back by a
 * connection by which a message came.
 */
void puppet_meet_new(struct puppet *puppet, int index, struct node *node);

/* What main calls: a puppet's life, or -1 when this is to be the test. */
int puppet_main(int argc, char **argv);
