/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A core provider for tests, "testcore": reliable messages that it matches
 * itself, reads and writes, between processes of one machine over datagrams of
 * Unix sockets. It has two domains, tc0 and tc1. The environment says
 * which is looked at again with each call, what it demands and what goes wrong:
 *
 * TESTCORE_MR_MODE  which modes of registration it demands, of "local",
 *                   "prov_key", "virt_addr", "allocated", "endpoint" (comma)
 * TESTCORE_FAULTS   "[domain/]call:n:what", comma: the n-th call since the
 *                   variable was changed, or with "*n" each n-th, comes to
 *                   `what`: an error ("eagain", "eio", ...: see faults.c), or
 *                   "die", which kills the process. Calls: fabric, domain, cq,
 *                   av, endpoint, enable ("open": any of these), bind, getname,
 *                   insert, mr, send (a tagged or untagged message, injected
 *                   or not), receive, read, write, cancel, peek;
 *                   serve: a peer's read, which ends as if its key was none;
 *                   complete: a completion that turns into a failure; packet:
 *                   one that is sent ("eagain": later); gone: a peer that ended,
 *                   and this core does not say what came of what was
 *                   under way to it
 * TESTCORE_DELAY    completions are held back until the queue was read so often
 * TESTCORE_RECORD   a file to which it appends what it was given, a line each:
 *                   "post", "cancel", "peek", "claim", "tsend", "took" (a
 *                   message for a posted receive), "kept" (one for none)
 *
 * The caller serialises by domain, as with FI_THREAD_DOMAIN.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_prov.h>

#define TC_IOV_MAX 4
#define TC_INJECT  64
#define TC_PAYLOAD 16384 /* of a packet, and of a message without rendezvous */

/* --- what goes over the sockets --- */

enum tc_packet_kind {
	TC_PING,    /* nothing: is anybody there? */
	TC_MESSAGE, /* with its data */
	TC_ASK,     /* a large one: may it come? */
	TC_COME,    /* it may, as far as `size` */
	TC_DATA,    /* a part of what was asked for */
	TC_READ,
	TC_WRITE, /* a part */
	TC_END,   /* of a request, well or not */
};

enum tc_packet_flags {
	TC_TAGGED = 1,
	TC_WITH_DATA = 2, /* remote data */
	TC_LAST = 4,      /* part of a write */
};

struct tc_header {
	uint32_t kind, flags;
	uint64_t from;         /* who sends it */
	uint64_t id, other_id; /* of the receiver's operation; the sender's */
	uint64_t tag, data;
	uint64_t offset, key;
	uint64_t size; /* of the whole */
	int32_t error;
	uint32_t payload;
};

struct tc_packet {
	struct tc_packet *next;
	struct tc_header header;
	uint8_t bytes[TC_PAYLOAD];
};

/* --- objects --- */

struct tc_domain {
	struct fid_domain fid;
	char name[8];
	uint64_t mr_mode, next_key;
	struct tc_mr *mrs;
	struct tc_ep *endpoints; /* that are enabled */
};

struct tc_mr {
	struct fid_mr fid;
	struct tc_domain *domain;
	struct tc_mr *prev, *next;
	uint64_t access;
	bool is_enabled;
	size_t count;
	struct iovec iov[TC_IOV_MAX];
};

struct tc_av {
	struct fid_av fid;
	struct tc_domain *domain;
	uint64_t *numbers; /* 0: removed */
	size_t count;
};

struct tc_completion {
	struct tc_completion *next;
	uint64_t due; /* reads of the queue */
	bool is_failure;
	fi_addr_t source;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry failure;
};

struct tc_cq {
	struct fid_cq fid;
	struct tc_domain *domain;
	enum fi_cq_format format;
	uint64_t reads;
	struct tc_completion *first, **end;
	unsigned int uses;
};

enum tc_op_kind {
	TC_OP_SEND,
	TC_OP_READ,
	TC_OP_WRITE,
	TC_OP_RECEIVE,
	TC_OP_SERVE
};

/* A request that is under way, or a receive that is posted. */
struct tc_op {
	struct tc_op *prev, *next;
	enum tc_op_kind kind;
	uint64_t id, other_id;
	struct tc_peer *peer; /* NULL: a receive from anybody */
	void *context, *copy;
	uint64_t flags; /* of the completion */
	bool is_silent; /* without one, unless it fails */
	bool is_tagged, is_flowing;
	uint64_t tag, ignore, data;
	uint64_t address, key;
	size_t count, size; /* of iov */
	size_t limit, done; /* bytes that go or come; of them so far */
	size_t total;       /* of a message, in a receive */
	struct iovec iov[TC_IOV_MAX];
};

struct tc_unexpected {
	struct tc_unexpected *prev, *next;
	struct tc_peer *peer;
	struct tc_header header;
	uint8_t *bytes;
};

struct tc_peer {
	struct tc_peer *next;
	uint64_t number;
	struct tc_packet *queue, **queue_end;
	unsigned int queued;
	bool is_gone;
};

struct tc_ep {
	struct fid_ep fid;
	struct tc_domain *domain;
	struct tc_av *av;
	struct tc_cq *send_cq, *receive_cq;
	struct tc_ep *prev, *next; /* of the domain's */
	uint64_t number, next_id;
	int fd; /* -1: not enabled */
	unsigned int polls;
	struct tc_peer *peers;
	struct tc_op *posted[2], *active; /* posted: untagged, tagged */
	struct tc_unexpected *unexpected[2];
};

/* --- faults.c --- */

/* 0, or the negative error that this call comes to. */
int tc_fault(const struct tc_domain *domain, const char *call);
uint64_t tc_delay(void);
uint64_t tc_mr_mode(void);
__attribute__((format(printf, 2, 3))) void tc_record(
	const struct tc_domain *domain, const char *format, ...);

/* --- provider.c --- */

int tc_no_bind(struct fid *fid, struct fid *other, uint64_t flags);
int tc_no_control(struct fid *fid, int command, void *arg);
int tc_no_ops(struct fid *fid, const char *name, uint64_t flags, void **ops,
	      void *context);

/* --- memory.c --- */

extern struct fi_ops_mr tc_mr_ops;
/* Whether a descriptor is good for this buffer, where one is needed. */
bool tc_desc_is_good(const struct tc_domain *domain, const void *desc,
		     const void *buf, size_t size);
/* Where peers' bytes are. NULL: not theirs. */
uint8_t *tc_mr_find(const struct tc_domain *domain, uint64_t key,
		    uint64_t address, size_t size, uint64_t access);

/* --- queue.c --- */

int tc_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	       struct fid_cq **ret_cq, void *context);
int tc_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
	       struct fid_av **ret_av, void *context);
void tc_cq_add(struct tc_cq *cq, const struct fi_cq_tagged_entry *entry,
	       fi_addr_t source);
void tc_cq_fail(struct tc_cq *cq, const struct fi_cq_err_entry *entry);
/* The number of an address, or 0; the address of a number, or NOTAVAIL. */
uint64_t tc_av_number(const struct tc_av *av, fi_addr_t address);
fi_addr_t tc_av_find(const struct tc_av *av, uint64_t number);

/* --- endpoint.c --- */

int tc_ep_open(struct fid_domain *domain, struct fi_info *info,
	       struct fid_ep **ret_ep, void *context);

/* --- calls.c --- */

extern struct fi_ops_msg tc_msg_ops;
extern struct fi_ops_tagged tc_tagged_ops;
extern struct fi_ops_rma tc_rma_ops;

/* --- request.c: what a program asks for --- */

ssize_t tc_cancel(struct fid *fid, void *context);
/* Untagged ones have no FI_TAGGED; a completion follows with FI_COMPLETION. */
ssize_t tc_send(struct tc_ep *ep, const struct fi_msg_tagged *m,
		uint64_t flags);
ssize_t tc_receive(struct tc_ep *ep, const struct fi_msg_tagged *m,
		   uint64_t flags);
ssize_t tc_access(struct tc_ep *ep, const struct fi_msg_rma *m, uint64_t flags);

/* --- matching.c --- */

/* A message has come: gives it to a receive, or keeps it. */
void tc_arrive(struct tc_ep *ep, struct tc_peer *peer,
	       const struct tc_header *header, const uint8_t *bytes);
void tc_deliver(struct tc_ep *ep, struct tc_op *receive, struct tc_peer *peer,
		const struct tc_header *header, const uint8_t *bytes);
bool tc_fits(const struct tc_op *receive, const struct tc_peer *peer,
	     const struct tc_header *header);
/* Ends a request or receive, and frees it. */
void tc_op_end(struct tc_ep *ep, struct tc_op *op, int error);
size_t tc_iov_get(const struct tc_op *op, size_t offset, void *to, size_t size);
size_t tc_iov_put(const struct tc_op *op, size_t offset, const void *from,
		  size_t size);

/* --- wire.c --- */

int tc_socket_open(struct tc_ep *ep);
struct tc_peer *tc_peer_of(struct tc_ep *ep, uint64_t number);
/* Queues a packet; it is sent when there is room. False: no memory. */
bool tc_packet_send(struct tc_ep *ep, struct tc_peer *peer,
		    const struct tc_header *header, const void *bytes);
/* Tells a peer that its request has ended. */
void tc_tell_end(struct tc_ep *ep, struct tc_peer *peer, uint64_t id,
		 int error);
void tc_progress(struct tc_ep *ep);
void tc_peers_drop(struct tc_ep *ep);
