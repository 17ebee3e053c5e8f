/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the transport over libfabric share; nobody else's. */
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <utlist.h>

#include "base/hash.h"
#include "scoll/transport/ofi/ofi.h"

#define API_VERSION         FI_VERSION(1, 17)
#define POOL_SLABS          16    /* of 16 messages; with plain receives: */
#define POOL_SLAB_BYTES     16384 /* one message each, 4 x as many */
#define POOL_PLAIN_COUNT    64
#define SINKS_MAX           256
#define SINK_BYTES          (SCOLL_REPLY_PART_MAX + SCOLL_BCAST_MAX)
#define SWEEP_BUSY_NS       UINT64_C(10000000)    /* while replies are late */
#define SWEEP_NS            UINT64_C(1000000000)  /* else */
#define SWEEP_LATE_NS       UINT64_C(10000000000) /* how long they are that */
#define TAG_GRACE_NS        UINT64_C(20000000)
#define BACKOFF_MIN_NS      UINT64_C(200000)
#define BACKOFF_MAX_NS      UINT64_C(2000000)  /* soon: it connects */
#define BACKOFF_LATE_NS     UINT64_C(50000000) /* after a second: it does not */
#define CHECK_NS            UINT64_C(500000000) /* of what is under way */
#define RESET_GRACE_NS      UINT64_C(1000000000)
#define EVENTS_PER_PROGRESS 256

/* Facts about a provider that its attributes do not tell. */
struct habits {
	/* fi_av_remove ends what is on the way to the address. */
	bool removal_ends;
	/* FI_PEEK works; else it would be taken for a plain receive. */
	bool has_peek;
	/* A receive that fi_cancel finds has ended when it returns. */
	bool cancel_is_done;
	/*
	 * FI_MULTI_RECV works. rxm over tcp gives a slab back while a message
	 * of another sender is still on its way into it.
	 */
	bool has_multi_recv;
};

enum ofi_op_kind {
	OP_SEND,
	OP_REPLY,
	OP_HELLO, /* an empty message: opens the connection */
	OP_RECEIVE,
	OP_READ, /* a part of one */
	OP_PEEK,
	OP_SINK,
	OP_SLAB,
	OP_RETIRED, /* of a read that failed; another end of it is no news */
};

/* What libfabric gets as a context; the first member of what it belongs to. */
struct op_head {
	struct fi_context2 context;
	enum ofi_op_kind kind;
};

struct ofi_peer;
struct ofi_read;

/* A transfer, or what is left of it. */
struct ofi_op {
	struct op_head head;
	struct transfer
		*transfer; /* NULL: its end was reported to the caller */
	struct ofi_peer *peer;
	struct ofi_read *read;
	struct fid_mr *mr[TRANSPORT_IOV_MAX]; /* with local memory */
	struct iovec iov[TRANSPORT_IOV_MAX];
	uint32_t count;
	bool is_cancelled;
	uint64_t tag;      /* of a reply */
	uint64_t order;    /* of a read: how many came before it */
	uint64_t since_ns; /* when it was first seen with libfabric; 0: not */
	size_t size;
	struct ofi_op *prev, *next;
};

/* A read in the pieces that it takes. */
struct ofi_read {
	struct transfer *transfer;
	struct ofi_peer *peer;
	const struct region *region;
	struct remote_piece remote[SCOLL_BULK_IOVS_MAX];
	int remote_count;
	uint64_t remote_offset;
	uint64_t local_offset;
	size_t size;
	size_t left;   /* not asked for yet */
	int under_way; /* pieces */
	int result;
	bool is_waiting; /* in the list of its peer, to ask for more */
	struct ofi_read *prev, *next;
};

enum chunk_kind {
	CHUNK_OPS,
	CHUNK_READS,
	CHUNK_REGIONS,
	CHUNK_BASES,
};

struct ofi_chunk;

struct ofi_region {
	struct fid_mr *mr[SCOLL_BULK_IOVS_MAX];
	struct iovec iov[SCOLL_BULK_IOVS_MAX];
	int count;
	struct ofi_region *next; /* while free */
};

struct ofi_peer {
	scoll_nid_t nid;
	fi_addr_t at; /* FI_ADDR_NOTAVAIL: forgotten */
	uint8_t address[TRANSPORT_ADDRESS_MAX];
	size_t address_size;
	bool is_learned;   /* from a message, not from the program */
	bool is_connected; /* it took something, and nothing failed since */
	bool is_busy;      /* in the list of those with ops or reads */
	struct ofi_op *pending; /* not taken by libfabric yet, in order */
	struct ofi_op *posted;  /* taken, in order */
	struct ofi_read *reads; /* that wait to ask for more */
	unsigned pending_count;
	unsigned use_count; /* ops and reads that point here */
	uint64_t retry_ns;  /* DEADLINE_NONE: nothing is refused */
	uint64_t backoff_ns;
	uint64_t refused_ns; /* since when all is, as first seen; 0: not seen */
	uint64_t reset_ns;   /* when its connection was closed; 0: not */
	struct ofi_peer *prev, *next; /* of the busy ones */
	UT_hash_handle hh;            /* by nid */
};

/* Memory for unsolicited messages. */
struct ofi_slab {
	struct op_head head;
	uint8_t *bytes;
	struct fid_mr *mr;
	bool is_posted;
	bool is_doubtful; /* an error named it; is it still posted? */
};

/* Replies that are waited for, by all but the part in their tag. */
struct tag_base {
	uint64_t base;
	unsigned posted_count;
	uint64_t until_ns; /* without one: late parts are kept till then */
	struct tag_base *prev, *next; /* of those without one, in order */
	UT_hash_handle hh;
};

struct transport_ofi {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	struct habits habits;
	struct rng_seam rng;
	bool has_multi_recv;
	bool has_local_memory; /* is wanted: FI_MR_LOCAL */
	int fd;                /* the queue's; -1: it has none */
	bool is_unread;        /* given something since the queue was empty */
	int timer_fd;          /* for one that has none; or -1 */
	uint64_t timer_period_ns;
	const struct transport_events *events;
	void *events_ctx;
	bool is_stopped;
	uint64_t now_ns;
	int event_count; /* of the progress under way */

	struct ofi_op *free_ops;
	struct ofi_op *retired_ops;
	struct ofi_read *free_reads;
	struct ofi_region *free_regions;
	struct tag_base *free_bases;
	struct ofi_chunk *chunks; /* all memory of the four */
	uint32_t op_count, read_count, region_count; /* in use */
	uint64_t read_last; /* pieces asked for so far */

	struct ofi_peer *peers;
	struct ofi_peer *busy;
	uint64_t check_ns; /* next look at what is under way */
	uint64_t pending_count;

	struct ofi_slab slabs[POOL_PLAIN_COUNT];
	int slab_count;
	int posted_count;
	size_t slab_bytes;
	uint8_t *pool;
	struct fid_mr *pool_mr;

	struct tag_base *bases;
	struct tag_base *late_bases;
	struct ofi_op *sinks; /* oldest first */
	unsigned sink_count;
	uint8_t *sink; /* where all of them write */
	struct fid_mr *sink_mr;
	struct ofi_op peek;
	bool is_peeking;
	bool is_sweep_due; /* something may have come since the last one */
	uint64_t swept_ns;
	uint64_t late_until_ns; /* a reply was given up not long ago */
	struct transport_stats stats;
};

/* --- op.c: pools, and the ends of transfers --- */

struct ofi_op *op_alloc(struct transport_ofi *t, enum ofi_op_kind kind);
void op_release(struct transport_ofi *t, struct ofi_op *op);
/* Release it when no second end of it can come any more. */
void op_retire(struct transport_ofi *t, struct ofi_op *op);
void ops_release_retired(struct transport_ofi *t);
struct ofi_read *read_alloc(struct transport_ofi *t);
void read_release(struct transport_ofi *t, struct ofi_read *read);
struct ofi_region *region_alloc(struct transport_ofi *t);
void region_release(struct transport_ofi *t, struct ofi_region *region);
struct tag_base *base_alloc(struct transport_ofi *t);
void base_release(struct transport_ofi *t, struct tag_base *base);
/* Close the memory that transfers and regions have registered. */
void pools_close(struct transport_ofi *t);
/* End all transfers; libfabric has let go of them. */
void pools_stop(struct transport_ofi *t);
void pools_fini(struct transport_ofi *t);
/* Tell the caller, who may give the transfer's memory to something else. */
void transfer_end(struct transport_ofi *t, struct transfer *transfer,
		  int result, size_t size);
/* It ends, and goes. */
void op_end(struct transport_ofi *t, struct ofi_op *op, int result,
	    size_t size);
/* A negative errno of a negative one of libfabric, which has more. */
int errno_of(int64_t result);

/* --- send.c: messages, replies, the ops of the seam --- */

extern const struct transport_ops transport_ofi_ops;
/* Give libfabric what it has not taken yet. */
void peer_push(struct transport_ofi *t, struct ofi_peer *peer);
/* It ended with libfabric: 0, or a negative errno. */
void send_ended(struct transport_ofi *t, struct ofi_op *op, int result);
void receive_ended(struct transport_ofi *t, struct ofi_op *op, int result,
		   size_t size);

/* --- read.c: memory of ours and of peers --- */

int region_open(void *ctx, const struct iovec *pieces, int count,
		struct region *ret_region, struct remote_piece *ret_pieces);
void region_close(void *ctx, struct region *region);
int read_start(void *ctx, scoll_nid_t from, const struct remote_piece *remote,
	       int remote_count, uint64_t remote_offset,
	       const struct region *region, uint64_t local_offset, size_t size,
	       struct transfer *transfer);
/* Ask for more of it. -EAGAIN: libfabric takes no more. */
int read_push(struct transport_ofi *t, struct ofi_read *read);
void read_piece_ended(struct transport_ofi *t, struct ofi_op *op, int result);
/* End it once nothing of it is under way; what is left is not asked for. */
void read_fail(struct transport_ofi *t, struct ofi_read *read, int result);
/* Let libfabric have memory, under a key that nobody guesses. */
int memory_register(struct transport_ofi *t, const void *bytes, size_t size,
		    uint64_t access, struct fid_mr **ret_mr);

/* --- peer.c: the address book --- */

/* NULL: not known, or forgotten. */
struct ofi_peer *peer_find(struct transport_ofi *t, scoll_nid_t nid);
/*
 * A message says where it is; size 0: forget it. What the program has set
 * stays, and what is known already is no news. As transport_ofi_peer_set.
 */
int peer_learn(struct transport_ofi *t, scoll_nid_t nid, const void *address,
	       size_t size);
/* It has something to do, or to wait for. */
void peer_use(struct transport_ofi *t, struct ofi_peer *peer);
void peer_unuse(struct transport_ofi *t, struct ofi_peer *peer);
/* libfabric takes nothing more for it now: ask again soon. */
void peer_refused(struct transport_ofi *t, struct ofi_peer *peer);
/* Pushes, and what is overdue, of all busy ones, if it is time. */
void peers_check(struct transport_ofi *t);
void peers_fini(struct transport_ofi *t);

/* --- address.c: addresses that travel --- */

int address_get(void *ctx, scoll_nid_t nid, void *ret_bytes, size_t *size);
int address_learn(void *ctx, scoll_nid_t nid, const void *bytes, size_t size);

/* --- pool.c: unsolicited messages --- */

int pool_init(struct transport_ofi *t);
/* Post what is free, when little is posted. */
void pool_refill(struct transport_ofi *t);
void pool_received(struct transport_ofi *t, struct ofi_slab *slab,
		   const struct fi_cq_tagged_entry *entry);
void pool_failed(struct transport_ofi *t, struct ofi_slab *slab,
		 const struct fi_cq_err_entry *entry);
/* Of those in doubt: what the queue did not name is not posted any more. */
void pool_settle(struct transport_ofi *t);
void pool_close(struct transport_ofi *t);

/* --- stale.c: replies that nobody waits for --- */

int stale_init(struct transport_ofi *t);
/* A reply with this tag is waited for. -EAGAIN: memory. */
int stale_tag_add(struct transport_ofi *t, uint64_t tag);
/* Not any more. */
void stale_tag_remove(struct transport_ofi *t, uint64_t tag, bool is_given_up);
void stale_sweep(struct transport_ofi *t);
/* When to sweep; DEADLINE_NONE: nothing has happened. */
uint64_t stale_deadline_ns(const struct transport_ofi *t);
void stale_peeked(struct transport_ofi *t, int result, uint64_t tag);
void stale_sunk(struct transport_ofi *t, struct ofi_op *op, int result);
void stale_close(struct transport_ofi *t);

/* --- wait.c --- */

int wait_open(struct transport_ofi *t);
/* Something came or went: look again soon. */
void wait_active(struct transport_ofi *t, bool is_active);
void wait_close(struct transport_ofi *t);

/* --- the functions of struct transport_kind --- */

int ofi_open(const struct transport_options *options, void **ret_ctx,
	     struct fairlead_error *ret_error);
void ofi_stop(void *ctx);
void ofi_close(void *ctx);
void ofi_listen(void *ctx, const struct transport_events *events,
		void *events_ctx);
void ofi_progress(void *ctx, uint64_t now_ns);
int ofi_fd(void *ctx);
uint64_t ofi_deadline_ns(void *ctx);
int ofi_address(void *ctx, void *ret_address, size_t *size);
int ofi_peer_set(void *ctx, scoll_nid_t nid, const void *address, size_t size);
int ofi_resolve(void *ctx, const char *node, const char *service,
		void *ret_address, size_t *size,
		struct fairlead_error *ret_error);
int ofi_peer_refresh(void *ctx, scoll_nid_t nid);
void ofi_stats(void *ctx, struct transport_stats *ret_stats);
