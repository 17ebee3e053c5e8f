/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the transport over streams share; nobody else's. */
#pragma once

#include <assert.h>
#include <utlist.h>

#include "base/hash.h"
#include "base/le.h"
#include "scoll/transport/tcp/stream.h"
#include "scoll/transport/tcp/tcp.h"

/*
 * A frame: u32 bytes behind the head, u8 kind, u8 version, u16 zero, u64 tag;
 * little-endian.
 */
#define FRAME_HEAD    16
#define FRAME_VERSION 1

enum tcp_frame_kind {
	FRAME_MESSAGE = 1, /* tag 0 */
	FRAME_REPLY,       /* tag of the reply */
	FRAME_READ,        /* u64 key, u64 offset, u64 size; tag: its answer */
	FRAME_DATA,        /* tag of the read */
	FRAME_REFUSED,     /* tag of a read that was not possible */
};

#define READ_BODY       24
#define REPLY_FRAME_MAX (SCOLL_REPLY_PART_MAX + SCOLL_BCAST_MAX)
#define READ_TAG        (UINT64_C(1) << 63)
#define INPUT_BYTES     65536
#define INPUT_ROUNDS    8 /* of INPUT_BYTES, of one connection at a time */
#define BACKOFF_MIN_NS  UINT64_C(5000000)
#define BACKOFF_MAX_NS  UINT64_C(200000000)

struct tcp_peer;
struct tcp_conn;
struct tcp_region;

enum tcp_op_kind {
	OP_SEND,
	OP_POST,
	OP_READ,
	OP_CONTROL, /* of the transport itself; allocated */
};

/* A transfer; in its scratch. */
struct tcp_op {
	struct tcp_op *prev, *next; /* in the list that it is in */
	struct tcp_peer *peer;
	uint64_t tag;
	struct iovec iov[TRANSPORT_IOV_MAX];
	uint8_t head[FRAME_HEAD];
	size_t size;           /* of all pieces, or bytes of the read */
	size_t done;           /* bytes of it, the head included, that went */
	struct tcp_conn *from; /* fills it; NULL: none */
	int result;
	uint8_t kind; /* enum tcp_op_kind */
	uint8_t count;
	bool is_counted;   /* in the peer's queue_count */
	UT_hash_handle hh; /* by tag: what is waited for */
};

static_assert(sizeof(struct tcp_op) <= sizeof(((struct transfer *)0)->scratch),
	      "a transfer has space for it");

/* What a peer reads from our memory. */
struct tcp_job {
	struct tcp_job *prev, *next;
	struct tcp_region *region;
	uint64_t tag;
	uint8_t head[FRAME_HEAD];
	uint64_t offset;
	size_t size;
	size_t done; /* the head included */
};

enum conn_role {
	CONN_OUT,      /* we opened it: requests; replies come back */
	CONN_BULK,     /* we opened it: data that the peer reads */
	CONN_ACCEPTED, /* the peer did; either of the two */
};

struct tcp_conn {
	struct tcp_stream *stream;
	enum conn_role role;
	bool is_connecting;
	bool is_broken; /* to be closed at the next safe point */
	bool is_doubtful;
	struct tcp_peer *peer; /* accepted: once a message was valid */
	uint64_t moved_ns;     /* output has not gone since; 0: not seen yet */
	/* output */
	struct tcp_op *ops;
	struct tcp_job *jobs;
	unsigned job_count;
	/* input: the frame under way */
	uint8_t head[FRAME_HEAD];
	size_t head_size;
	uint8_t kind;
	uint64_t tag;
	size_t left;         /* bytes of it to come */
	struct tcp_op *into; /* NULL: into body, or nowhere */
	uint8_t *body;       /* of a small frame that came in pieces */
	size_t body_size;
	struct tcp_conn *prev, *next;             /* of all */
	struct tcp_conn *doubt_prev, *doubt_next; /* oldest first */
};

struct tcp_peer {
	scoll_nid_t nid;
	uint8_t address[TRANSPORT_TCP_ADDRESS_MAX];
	size_t address_size;    /* 0: not known */
	bool is_learned;        /* from a message, not from the program */
	bool was_connected;     /* at this address */
	struct tcp_conn *out;   /* or NULL */
	struct tcp_conn *bulk;  /* or NULL */
	struct tcp_conn *in;    /* its request came by it; or NULL */
	struct tcp_op *waiting; /* for a connection, in order */
	struct tcp_op *posted;  /* replies and data that are expected */
	unsigned queue_count;   /* messages that have not gone */
	unsigned conn_count;    /* that name it */
	uint64_t since_ns;      /* it could not be connected; 0: not seen yet */
	uint64_t retry_ns;      /* of the next one; DEADLINE_NONE: none */
	uint64_t backoff_ns;
	struct tcp_peer *prev, *next; /* of those that retry */
	UT_hash_handle hh;            /* by nid */
};

struct tcp_region {
	uint64_t key;
	struct iovec iov[SCOLL_BULK_IOVS_MAX];
	int count;
	size_t size;
	bool is_for_peers;
	UT_hash_handle hh; /* by key */
};

struct transport_tcp {
	struct stream_set *streams;
	struct rng_seam rng;
	const struct transport_events *events;
	void *events_ctx;
	bool is_stopped;
	uint64_t now_ns; /* of the last progress, which may be long ago */
	uint8_t address[TRANSPORT_TCP_ADDRESS_MAX];
	size_t address_size;

	struct tcp_peer *peers;
	struct tcp_peer *retrying;
	struct tcp_conn *conns;
	struct tcp_conn *doubtful;
	unsigned doubtful_count;
	bool has_broken;           /* connections to be closed */
	struct tcp_conn *delivers; /* the message that is being delivered */
	struct tcp_op *expected;   /* by tag */
	struct tcp_op anchor;      /* in it: an empty table is freed */
	struct tcp_op *ended;      /* to be reported */
	struct tcp_region *regions;
	uint64_t check_ns; /* of output that does not move */
	struct transport_stats stats;
	uint8_t input[INPUT_BYTES];
};

static inline struct transfer *transfer_of_op(struct tcp_op *op)
{
	return (struct transfer *)(void *)op;
}

static inline struct tcp_op *op_of(struct transfer *transfer)
{
	return (struct tcp_op *)(void *)transfer->scratch;
}

static_assert(offsetof(struct transfer, scratch) == 0, "an op is a transfer");

/* --- tcp.c --- */

/* Report its end at the next safe point; it is in no list and no table. */
void tcp_op_end(struct transport_tcp *t, struct tcp_op *op, int result);
void frame_head(uint8_t head[FRAME_HEAD], enum tcp_frame_kind kind,
		uint64_t tag, size_t size);
/* Skip the first bytes of pieces. Returns how many pieces are left. */
int pieces_skip(const struct iovec *pieces, int count, size_t done,
		struct iovec *ret_pieces);
/* Cut them to so many bytes. Returns how many pieces are left. */
int pieces_limit(struct iovec *pieces, int count, size_t size);

/* --- peer.c: the address book --- */

/* NULL: not known. */
struct tcp_peer *tcp_peer_find(const struct transport_tcp *t, scoll_nid_t nid);
int tcp_peer_learn(struct transport_tcp *t, scoll_nid_t nid,
		   const void *address, size_t size);
/* The message that is being delivered is of this node. */
void peer_sent_this(struct transport_tcp *t, scoll_nid_t nid);
/* The connection names the peer. */
void peer_bind(struct tcp_conn *conn, struct tcp_peer *peer);
void peer_unbind(struct transport_tcp *t, struct tcp_conn *conn);
/* Nothing that is expected from it will come. */
void peer_lost(struct transport_tcp *t, struct tcp_peer *peer, int result);
/* The same of reads alone; by: of those whose data came by it, NULL: of all. */
void peer_reads_lost(struct transport_tcp *t, struct tcp_peer *peer,
		     const struct tcp_conn *by);
/* Fail what waits for a connection. */
void peer_unreachable(struct transport_tcp *t, struct tcp_peer *peer,
		      int result);
void peer_retry_cancel(struct transport_tcp *t, struct tcp_peer *peer);
void peers_stop(struct transport_tcp *t);
void tcp_peers_fini(struct transport_tcp *t);

/* --- conn.c: connections --- */

/* Open its connection for requests unless there is one, or it is retried. */
void conn_want(struct transport_tcp *t, struct tcp_peer *peer);
int conn_want_bulk(struct transport_tcp *t, struct tcp_peer *peer);
void conn_connected(struct transport_tcp *t, struct tcp_conn *conn);
/* What it brought was valid. */
void conn_confirm(struct transport_tcp *t, struct tcp_conn *conn);
/* It is not used any more, and closed at the next safe point. */
void conn_break(struct transport_tcp *t, struct tcp_conn *conn, int result);
void conns_close_broken(struct transport_tcp *t);
/* What is due. */
void conns_check(struct transport_tcp *t);

/* --- out.c: output, and the calls of the seam --- */

extern const struct transport_ops transport_tcp_ops;
/* Give the stream what it takes. */
void conn_write(struct transport_tcp *t, struct tcp_conn *conn);
/* A frame of the transport itself. */
void control_send(struct transport_tcp *t, struct tcp_conn *conn,
		  enum tcp_frame_kind kind, uint64_t tag, const uint8_t *body,
		  size_t size);
/* Expect a reply or data. -EEXIST: the tag is taken; -ENOMEM. */
int expected_add(struct transport_tcp *t, struct tcp_op *op);
struct tcp_op *expected_find(const struct transport_tcp *t, uint64_t tag);
void expected_end(struct transport_tcp *t, struct tcp_op *op, int result);

/* --- in.c: input --- */

void conn_read(struct transport_tcp *t, struct tcp_conn *conn);

/* --- bulk.c: memory of ours and of peers --- */

int tcp_region_open(void *ctx, const struct iovec *pieces, int count,
		    struct region *ret_region, struct remote_piece *ret_pieces);
void tcp_region_close(void *ctx, struct region *region);
void regions_fini(struct transport_tcp *t);
int tcp_read(void *ctx, scoll_nid_t from, const struct remote_piece *remote,
	     int remote_count, uint64_t remote_offset,
	     const struct region *region, uint64_t local_offset, size_t size,
	     struct transfer *transfer);
/* A peer asks for memory of ours. */
void job_start(struct transport_tcp *t, struct tcp_conn *conn, uint64_t tag,
	       uint64_t key, uint64_t offset, uint64_t size);
/* Its frame; at most 1 + SCOLL_BULK_IOVS_MAX pieces. */
int job_pieces(const struct tcp_job *job, struct iovec *ret_pieces);
void job_end(struct tcp_conn *conn, struct tcp_job *job);
void jobs_refuse(struct transport_tcp *t, struct tcp_conn *conn);
/* Where the next bytes of a read go. */
int read_pieces(const struct tcp_op *op, struct iovec *ret_pieces);

/* --- the functions of struct transport_kind --- */

int tcp_open(const struct transport_options *options, void **ret_ctx,
	     struct fairlead_error *ret_error);
void tcp_stop(void *ctx);
void tcp_close(void *ctx);
void tcp_listen(void *ctx, const struct transport_events *events,
		void *events_ctx);
void tcp_progress(void *ctx, uint64_t now_ns);
int tcp_fd(void *ctx);
uint64_t tcp_deadline_ns(void *ctx);
int tcp_address(void *ctx, void *ret_address, size_t *size);
int tcp_peer_set(void *ctx, scoll_nid_t nid, const void *address, size_t size);
int tcp_resolve(void *ctx, const char *node, const char *service,
		void *ret_address, size_t *size,
		struct fairlead_error *ret_error);
int tcp_peer_refresh(void *ctx, scoll_nid_t nid);
void tcp_stats(void *ctx, struct transport_stats *ret_stats);
bool tcp_settle(void *ctx, uint64_t now_ns);
