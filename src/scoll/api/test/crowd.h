/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several instances in one process, which know each other, and a service on
 * each: it counts who has run the request and adds up what they have read. Its
 * buffers are its own, and are freed at the first moment at which scoll.h says
 * that they may be.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "scoll.h"

#define CROWD_MAX     64
#define CROWD_SERVICE 7
#define CROWD_TREE    SCOLL_TREE_KNOMIAL(2)

/* What goes up. */
struct tally {
	uint64_t node_count;
	uint64_t entity_count;
	uint64_t nid_sum;
	uint64_t payload_sum; /* of the bytes, of all nodes */
	uint64_t bulk_sum;
};

struct person;

/* A request on one node. */
struct work {
	struct person *person;
	scoll_request_t *request;
	struct tally tally;
	struct tally *replies; /* a buffer for each child */
	uint8_t *bulk;
	struct iovec iov[2];
	int error_count;
	int last_status; /* of a child */
	enum scoll_error_type last_type;
	bool *is_done; /* the root's; is freed by its owner */
	struct outcome *outcome;
};

/* What the root has learned in post_reply. */
struct outcome {
	bool is_done;
	int status;
	struct tally tally;
	int failure_count;
	struct scoll_failure failures[CROWD_MAX];
	int error_count;
	int last_status;
	enum scoll_error_type last_type;
	struct scoll_request_times times;
};

struct person {
	scoll_t *scoll;
	scoll_nid_t nid;
	struct scoll_authenticator *auth;
	int request_count; /* incoming_request */
	int reply_count;   /* incoming_reply, without an error */
	int out_count;     /* reply_out */
	bool is_mute;      /* never replies */
	int pre_result;
	int request_result;
	scoll_request_t *last;                 /* that it has not replied to */
	scoll_duration_t timeout;              /* of its requests */
	void (*on_out)(struct person *person); /* in reply_out; NULL */
};

extern const struct scoll_service_ops crowd_service;
/* R of those who are opened; 1 s, since machines that test are busy. */
extern scoll_duration_t crowd_rtt;
/* What they say of their starts; see struct scoll_params. */
extern uint64_t crowd_started;
/* How many nodes gossip, from node 0 on; 2. */
extern int crowd_gossip_count;

/* Node i: a NID of the net tcp. */
scoll_nid_t crowd_nid(int i);
/* The key is the same for all. */
void person_open(struct person *person, int i, const char *provider,
		 const char *host, const char *service,
		 enum scoll_discovery discovery);
/* With another authenticator; NULL: the key's. */
void person_open_as(struct person *person, int i, const char *provider,
		    const char *host, const char *service,
		    enum scoll_discovery discovery,
		    const struct scoll_authenticator *authenticator);
/* With parameters of the caller's, but for size and nid. */
void person_open_with(struct person *person, int i,
		      const struct scoll_params *wanted);
void person_close(struct person *person);
/* Each knows where the others are. */
void crowd_meet(struct person *people, int count);
/* All of them go on until it is true. */
void crowd_until(struct person *people, int count, const bool *is_done);
/* A group of all of them, with two entities on node 1. Waits for it. */
scoll_group_t *crowd_group(struct person *people, int count, int creator,
			   bool populate_now);
/* A group of nodes 0 to count, of which only the person is here. */
scoll_group_t *crowd_group_far(struct person *person, int count,
			       scoll_tree_type_t tree, bool populate_now);
/* Whether the node is in the list of failures, and how; NULL: it is not. */
const struct scoll_failure *outcome_failure(const struct outcome *outcome,
					    int index);
/* A request; `outcome` is filled in post_reply. */
scoll_request_t *crowd_request(struct person *person, scoll_group_t *group,
			       const void *buf, int len, uint8_t *bulk,
			       size_t bulk_len, unsigned flags,
			       struct outcome *outcome);
/* Give up one that was never sent. */
void crowd_request_free(scoll_request_t *request);
void crowd_buffers_post(scoll_request_t *request, struct work *work);
/* The same, sent. */
int crowd_send(struct person *person, scoll_group_t *group, const void *buf,
	       int len, uint8_t *bulk, size_t bulk_len, unsigned flags,
	       struct outcome *outcome);
uint64_t crowd_sum(const void *bytes, size_t size);
