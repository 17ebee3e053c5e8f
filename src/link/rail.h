/* SPDX-License-Identifier: BSD-3-Clause */
/* One core provider's endpoint, and what waits for it. */
#pragma once

#include "link/lock.h"
#include "link/loss.h"
#include "link/matched.h"
#include "link/provider.h"

struct rail {
	/* What stays when the endpoint is closed: see ep_progress(). */
	struct link_ep *ep;
	unsigned int index;
	const struct rail_text *text;
	enum rail_way way;
	bool is_open; /* to who polls; changes with asking locked, too */
	uint64_t due; /* by ticks: the next look */
	struct link_lock lock;
	struct link_lock working; /* the list of work; the innermost of locks */
	/* What does not; the first of it: */
	uint64_t mr_mode;       /* its core's */
	bool is_virtual;        /* to its core addresses are */
	bool has_other_keys;    /* it chooses them, or wants such addresses */
	struct known_key *keys; /* of peers */
	struct fid_mr *slabs_mr;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *core;
	bool is_core_enabled;
	struct fid_ep *srx;         /* as the core returned it, or NULL */
	struct fid_peer_srx shared; /* ours, for a shared rail */
	size_t inject_size;
	size_t eager_size;  /* of a message in a frame, at most */
	size_t direct_size; /* without one; 0 where none goes so */
	uint8_t *slabs;     /* that are posted: all of them, in one array */
	size_t slab_size;   /* bytes in each of these */
	struct slab *free_slabs, *made_slabs;
	struct slab
		*pending; /* frames that the core refused: each peer's first */
	struct slab *to_post;
	/* Frames that did not fit: slabs, or of a shared rail one. */
	struct slab *came, *came_last;
	struct arrival *late;
	bool is_starved; /* a message waits for memory: many.c */
	/*
	 * Frames that came by a shared rail: its core does not tell of these.
	 */
	unsigned int taken;
	bool has_refused; /* it had no space for a message */
	/*
	 * Of a shared rail: what its core keeps while it does not fit here;
	 * slots.
	 */
	struct kept *kept, *kept_last;
	struct slot *slots;
	bool slots_are_due;               /* somebody may be gone */
	struct reading *work, **work_end; /* by working */
	struct reading *issued;
	struct reading *readers; /* of them those that get pieces */
	uint32_t last_reader;
	struct push *pushes; /* messages that are sent in pieces */
	struct link_access *free_accesses, *made_accesses;
	struct link_access *again; /* of which the keys are asked for */
	struct link_answer *answers, **answers_end; /* to what was reached */
	struct link_answer *free_answers;
	struct unlisted_peers {
		struct unlisted *by_number, *oldest;
	} unlisted; /* peers not in the vector, to be answered */
	struct remembered *remembered; /* peers that left, but may send */
	struct asker *forgets; /* peers to notify that a key is invalid */
	struct matched matched;
	/* By the core's address: the source of messages without a frame. */
	fi_addr_t *sources;
	size_t source_count;
	bool is_polling;          /* callbacks of the core may be under way */
	uint64_t woke;            /* by ticks: the last event */
	unsigned int expected;    /* completions that will come */
	uint64_t messages, bytes; /* of ours that went by it, accesses too */
	struct loss loss;
	/* Of several: */
	const char *name;     /* of its device, for people */
	uint64_t speed;       /* bits a second, or 0 */
	uint64_t load;        /* bytes that are being read */
	struct piece *pieces; /* of which */
};

int rail_open(struct rail *rail, const struct link_core *core,
	      struct fid_fabric *fabric);
/*
 * Gives back what is registered of ours: before any rail is closed, since a
 * buffer may be known to several.
 */
void rail_unregister(struct rail *rail);
void rail_close(struct rail *rail);
/*
 * Takes in what the core has to say, and goes on with what waits. Returns
 * whether anything happened. The rail is locked.
 */
bool rail_poll(struct rail *rail);
/* The same without what waits; whether the core has nothing more to say. */
bool rail_drain(struct rail *rail);
