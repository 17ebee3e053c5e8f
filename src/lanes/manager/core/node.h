/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of nodes. A node has an index, by which jobs name it, also on
 * disk; an index is another node's only after its node has gone.
 *
 * A node is *configured*, or *leaving*: no longer in the configuration, but
 * kept because it holds something. A node that is neither does not exist.
 *
 * Its serial counts the incarnations that have registered. A part of a job
 * that was applied under a lower serial is gone with its boot.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/hostlist.h"
#include "fairlead_driver.h"
#include "base/memory.h"

#define NODE_NONE           UINT32_MAX
#define NODE_INCARNATION    16   /* bytes */
#define NODE_PAST_MAX       4    /* earlier incarnations that are remembered */
#define NODE_CHUNK          1024 /* names in one row */
#define NODE_REASON_MAX     1023 /* bytes of a drain's reason */
#define NODE_ADDRESS_MAX    64   /* bytes of an endpoint's address */
#define NODE_VERSION_MAX    64   /* bytes of a software version */
#define NODE_DEVICE_MAX     31   /* bytes of a device's name */
#define NODE_REPORT_IDS_MAX 16
#define NODE_PLACES_MAX     16

enum node_state {
	NODE_UNKNOWN, /* has not registered since the manager started */
	NODE_UP,
	NODE_DOWN,
	NODE_STATE_COUNT,
};

/* Counters of nodes by state. */
enum node_count {
	NODE_COUNT_UP,
	NODE_COUNT_DOWN, /* or not known */
	NODE_COUNT_LEAVING,
	NODE_COUNT_DRAINED,
	NODE_COUNT_UNNOTIFIED,
	NODE_COUNT_COUNT,
};

enum report_kind {
	REPORT_OBJECT,    /* on a device, in no grant of the node's journal */
	REPORT_UNKNOWN,   /* a grant that the core does not know */
	REPORT_RELEASED,  /* a grant that has been released: to be revoked */
	REPORT_UNAPPLIED, /* a grant that was never applied there */
	REPORT_CONFIRMED, /* a grant that was confirmed as revoked there */
	REPORT_DIFFERENT, /* a grant of ours with other identifiers */
	REPORT_KIND_COUNT,
};

/* Something with identifiers that a node holds and should not. */
struct report {
	enum report_kind kind;
	uint64_t grant_id;  /* of an object: its grant, or 0 */
	uint32_t object_id; /* of an object */
	uint32_t uid;       /* of an object */
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	char device[NODE_DEVICE_MAX + 1]; /* of an object */
	uint32_t id_count;
	uint32_t ids[NODE_REPORT_IDS_MAX];
};

/* The node's place for a driver: how other nodes of a lane reach it. */
struct node_place {
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	uint8_t size; /* bytes, at least one */
	uint8_t bytes[FAIRLEAD_PLACE_MAX];
};

struct node {
	char *name; /* also the key of its row */
	uint32_t index;
	enum node_state state;
	bool is_configured;
	bool is_stored; /* it has a row */
	bool is_pinned; /* an event is about it: it cannot go now */
	bool is_drained;
	bool is_drained_by_us; /* and undrained by us when it is clean */
	/* The site's tools may not know of the drain, or of its end. */
	bool is_unnotified;
	bool is_notify_stale;     /* there was a change since the call */
	uint64_t notify_id;       /* of the call under way; 0: none */
	uint64_t notify_at_ms;    /* when to call again */
	uint32_t notify_delay_ms; /* after the next failure */
	/* Of the drain; of the last one until its end is notified; or NULL. */
	char *reason;
	char *version;                     /* software, or NULL */
	uint8_t address[NODE_ADDRESS_MAX]; /* of its endpoint */
	uint32_t address_size;
	uint8_t incarnation[NODE_INCARNATION]; /* valid from serial 1 on */
	uint32_t serial;
	uint64_t
		registered_ms; /* when it last did; this and these not stored: */
	uint64_t lost_ms;      /* the registration that lost_count has last */
	uint32_t lost_count;   /* registrations within applies, running */
	uint32_t past_count;
	uint8_t past[NODE_PAST_MAX][NODE_INCARNATION]; /* newest first */
	bool counted[NODE_COUNT_COUNT];                /* for nodes.c only */
	uint64_t accounted; /* the recovery in which it reported; see core */
	uint64_t challenge; /* that its last registration answered */
	struct report *reports;
	uint32_t report_count;
	struct node_place *places; /* one a driver, of those that tell any */
	uint32_t place_count;
	/* Slots of the jobs that have a part here, in no order. */
	uint32_t *jobs;
	uint32_t job_count, job_capacity;
	UT_hash_handle hh;
};

struct nodes {
	struct node **by_index; /* NULL where an index is not in use */
	uint32_t limit;         /* indexes below it may be in use */
	uint32_t capacity;
	uint32_t count;
	uint32_t counts[NODE_COUNT_COUNT]; /* kept by nodes_changed() */
	uint32_t free_hint;                /* no free index is below it */
	struct node *by_name;
	bool *dirty_chunks; /* rows of names to be written */
};

void nodes_init(struct nodes *nodes);
void nodes_fini(struct nodes *nodes);

/* NULL when there is none. */
struct node *nodes_find(const struct nodes *nodes, const char *name);
struct node *nodes_at(const struct nodes *nodes, uint32_t index);

/*
 * Add a node that is not there. index: NODE_NONE for any free one, which makes
 * its chunk dirty. NULL when the index is in use or the table is full.
 */
struct node *nodes_add(struct nodes *nodes, const char *name, uint32_t index);
void nodes_remove(struct nodes *nodes, struct node *node);
/* After its state, is_configured, is_drained or is_unnotified has changed. */
void nodes_changed(struct nodes *nodes, struct node *node);
uint32_t nodes_chunk_count(const struct nodes *nodes);

/* The node with the lowest index from `from` on, or NULL. */
struct node *nodes_next(const struct nodes *nodes, uint32_t from);

/* The node must not be removed inside. */
#define nodes_foreach(node, nodes)                           \
	for (struct node *node = nodes_next(nodes, 0); node; \
	     node = nodes_next(nodes, node->index + 1))

/* Does anything keep the node although it is not configured? */
bool node_is_needed(const struct node *node);
void node_job_add(struct node *node, uint32_t slot);
void node_job_remove(struct node *node, uint32_t slot);

/* Remember another incarnation; the serial rises. */
void node_incarnate(struct node *node,
		    const uint8_t incarnation[NODE_INCARNATION]);
/* Is it one that the node has left? */
bool node_was(const struct node *node,
	      const uint8_t incarnation[NODE_INCARNATION]);
bool node_is(const struct node *node,
	     const uint8_t incarnation[NODE_INCARNATION]);

/* Hex, of 32 digits; "" when none has registered. */
void node_incarnation_format(const struct node *node,
			     char text[NODE_INCARNATION * 2 + 1]);
