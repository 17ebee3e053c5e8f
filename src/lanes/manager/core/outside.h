/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * External reservations: what a job's lane has outside of the nodes, at a
 * fabric manager (doc/rfc/external-reservations.md). One table for each
 * interconnect that has them; an item is the reservation of one grant.
 *
 *	wanted --> held ----> over --> gone
 *	    \----> refused --/
 *
 * An item that is refused or over and may exist outside is a debt: the table
 * releases it, and tries again for as long as it takes. The job does not wait
 * for that. Requests of one item never overlap, so none overtakes another.
 *
 * The table stores and sends by `ops`. The caller sends a request only after the
 * rows that it got before it are on disk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "lanes/manager/core/metrics.h"

#define OUTSIDE_REQUEST_MAX 255   /* bytes of what a driver asks for */
#define OUTSIDE_PREFIX_MAX  64    /* bytes */
#define OUTSIDE_REASON_MAX  511   /* bytes */
#define OUTSIDE_SECRET_MAX  8192  /* bytes */
#define OUTSIDE_SEALED_MAX  8256  /* bytes; a secret in the journal */
#define OUTSIDE_IN_FLIGHT   32    /* requests at once */
#define OUTSIDE_DEBTS_MAX   65536 /* then no more are made */

enum outside_state {
	OUTSIDE_WANTED,
	OUTSIDE_HELD,
	OUTSIDE_REFUSED, /* the job goes on without, or fails */
	OUTSIDE_OVER,    /* its job has ended, or is not known */
	OUTSIDE_STATE_COUNT,
};

enum outside_verb {
	OUTSIDE_MAKE, /* create it; one that exists is taken over */
	OUTSIDE_DROP, /* release it; success too if there is none */
	OUTSIDE_FIND, /* -ENOENT: there is none */
	OUTSIDE_LIST, /* of all grants */
};

enum outside_connection {
	OUTSIDE_UNKNOWN, /* no request has ended yet */
	OUTSIDE_UP,
	OUTSIDE_DOWN,
	OUTSIDE_DENIED, /* it answers, and refuses the credentials */
};

/* The row of an item; texts are never NULL. */
struct outside_item {
	uint64_t grant_id;
	uint8_t state; /* enum outside_state */
	bool may_exist;
	bool is_lost;  /* it was held, and has vanished */
	bool is_fatal; /* without it the job fails */
	char *prefix; /* of its name: it keeps it when that of new ones changes */
	char *request;
	char *reason; /* why it was refused; WANTED: why it was tried again */
	uint8_t *secret; /* in the row encrypted */
	uint32_t secret_size;

	/* Not in the row. */
	uint64_t sent_id;     /* request under way; 0: none */
	uint64_t since_ms;    /* when it got its state, or the start */
	uint64_t age_ms;      /* in its state before the start */
	uint64_t deadline_ms; /* WANTED: then it is refused */
	uint64_t due_ms;      /* when it is tried again */
	uint32_t delay_ms;
	uint8_t list; /* the one that it is in */
	uint8_t verb; /* of its next or last request */
	struct outside_item *prev, *next;
	struct outside_item *debt_prev, *debt_next;
	UT_hash_handle hh;
};

/* Borrowed. */
struct outside_request {
	uint64_t id;        /* comes back; unique for ever */
	const char *driver; /* set by the core; the table has none */
	enum outside_verb verb;
	uint64_t grant_id;  /* 0: of OUTSIDE_LIST */
	const char *prefix; /* "": likewise */
	const char *text;   /* of OUTSIDE_MAKE */
};

/* How a request ended. Borrowed. */
struct outside_end {
	/*
	 * 0; -ENOENT; -EAGAIN: try again, it may have been done; -EPROTO,
	 * -EACCES: refused, it may have been done; others: refused, it was not
	 * done.
	 */
	int result;
	bool is_reached; /* there was an answer */
	const char *text;
	const uint8_t *secret; /* of OUTSIDE_MAKE */
	size_t secret_size;
	const uint64_t *grant_ids; /* of OUTSIDE_LIST, those of ours */
	size_t count;
};

struct outside_ops {
	void (*store)(void *ctx, const struct outside_item *item);
	void (*erase)(void *ctx, uint64_t grant_id);
	void (*send)(void *ctx, const struct outside_request *request);
	/* The prefix of the names of new reservations. */
	const char *(*prefix)(void *ctx);
	/* It is held or refused now. */
	void (*settled)(void *ctx, const struct outside_item *item);
	/* It was held by a live job, and is not there any more. */
	void (*vanished)(void *ctx, const struct outside_item *item);
};

struct outside_counts {
	uint64_t made, refused, late, released, found, vanished, failed;
	struct histogram make_ms; /* until one was made */
};

struct outside_table {
	const struct outside_ops *ops;
	void *ctx;
	struct outside_item *items; /* by grant id */
	uint64_t next_id;
	/* Due now, by verb; and those that are tried again later. */
	struct outside_item *queues[4];
	struct outside_item *waiting;
	uint64_t waiting_ms; /* none of them is due before it */
	struct outside_item *sent[OUTSIDE_IN_FLIGHT]; /* under way, or NULL */
	uint32_t in_flight;                           /* with the list */
	uint64_t wanted_ms; /* no deadline is before it */
	uint32_t state_counts[OUTSIDE_STATE_COUNT];
	struct outside_item *debts; /* the oldest first */
	uint32_t debt_count;
	uint32_t item_count;
	/* The connection; see outside_connection(). */
	bool is_known; /* a request has ended */
	bool is_down;
	uint64_t since_ms; /* it is up or down */
	uint64_t reached_ms;
	uint64_t probe_ms;    /* down: when a probe may be sent */
	uint64_t probe_id;    /* down: requests below it are no probes */
	uint64_t answered_id; /* the newest request that was answered */
	uint32_t probe_delay_ms;
	bool is_list_next;                /* the next probe is it */
	bool is_denied;                   /* by the last answer */
	char why[OUTSIDE_REASON_MAX + 1]; /* it is down, or denied */
	/* Why the last release failed; "": it did not. */
	char failure[OUTSIDE_REASON_MAX + 1];
	/* The list. */
	uint64_t list_ms; /* when it is due */
	uint64_t list_id; /* under way; 0: none */
	uint64_t list_sent_ms;
	struct outside_counts counts;
};

/* first_id: of requests; above that of any table before. */
void outside_init(struct outside_table *table, const struct outside_ops *ops,
		  void *ctx, uint64_t first_id);
void outside_fini(struct outside_table *table);

/*
 * Take up an item of the journal, before outside_start. The texts and the
 * secret are taken. -EEXIST.
 */
int outside_load(struct outside_table *table, const struct outside_item *row);
/* wait_ms: how long a job waits for one that is wanted. */
void outside_start(struct outside_table *table, uint64_t now_ms,
		   uint32_t wait_ms);

/*
 * Ask for one. It is refused at once when the connection has been down for
 * longer than a job would wait.
 */
void outside_want(struct outside_table *table, uint64_t grant_id,
		  const char *request, bool is_fatal, uint64_t now_ms,
		  uint32_t wait_ms);
/* The same, refused at once for the reason why. */
void outside_refuse(struct outside_table *table, uint64_t grant_id,
		    const char *request, bool is_fatal, const char *why,
		    uint64_t now_ms);
/* The grant is released: its reservation, if it has one, becomes a debt. */
void outside_release(struct outside_table *table, uint64_t grant_id,
		     uint64_t now_ms);
const struct outside_item *outside_find(const struct outside_table *table,
					uint64_t grant_id);

/* How a request ended; one that is not known is of an earlier table. */
void outside_done(struct outside_table *table, uint64_t id,
		  const struct outside_end *end, uint64_t now_ms);

uint64_t outside_deadline_ms(const struct outside_table *table);
void outside_tick(struct outside_table *table, uint64_t now_ms);

/*
 * With the next tick read the list and repeat what has failed; a connection that
 * is down is tried.
 */
void outside_look(struct outside_table *table, uint64_t now_ms);

const char *outside_state_name(enum outside_state state); /* "held" */
enum outside_connection outside_connection(const struct outside_table *table);
bool outside_is_debt(const struct outside_item *item);
/* How long it has been in its state. */
uint64_t outside_age_ms(const struct outside_item *item, uint64_t now_ms);
