/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libscoll: server collectives. Run a function on any subset of servers over a
 * spanning tree, and get one aggregated answer.
 *
 * A *service* is a set of callbacks under a number that all servers agree on.
 * A *group* is an ordered list of *targets*: nodes, and on each of them one or
 * more *entities*. The server that broadcasts a request over a group is the
 * *root* of a tree that covers the group's nodes; each node hands the request
 * to its children, runs it, aggregates its own reply with those of its
 * children, and replies to its parent once. A collective either succeeds, and
 * each node has run it once, or fails and names the nodes that it did not
 * reach.
 *
 *   root                                       every other node
 *   scoll_group_create -> create callback
 *   scoll_bcast_new
 *   scoll_reply_buffer_post (each child)
 *   scoll_bcast_send  ---------------------->  pre_request: post buffers
 *        |                                         |           \
 *   incoming_request (if it is a target)     to the children,  incoming_request
 *   incoming_reply (each child)              incoming_reply (each child)
 *   post_reply: the end                      post_reply: scoll_reply
 *                  <-------------------------  reply_out: the end
 *
 * What does not fit in SCOLL_BCAST_MAX bytes travels as bulk data, which each
 * node reads from its parent's memory while it passes on what it has.
 *
 * Progress: nothing happens outside scoll_progress(). A program with a loop of
 * its own waits for scoll_fd() to be readable and for scoll_timeout() to pass;
 * one without calls scoll_wait().
 *
 * Threads: one thread at a time is inside scoll_progress() or scoll_wait() of
 * an instance (a second one, or a callback, gets -EBUSY). Callbacks run there,
 * one after the other, without a lock of the library. All other functions may
 * be called from any thread and any callback, except scoll_fini(), which needs
 * that no other call is under way. A call of another thread wakes the waiting
 * one. Functions of the program that must *not call the library* are called
 * with its lock held. Instances are independent: a program may have one for
 * each core. The library starts no thread, installs no signal handler and
 * prints nothing. A process does not fork after scoll_init().
 *
 * A handle is valid from the call or callback that returns it until the moment
 * that its section names, and at most until scoll_fini(). A program with
 * threads ensures that none uses it later. Functions copy their arguments,
 * except for those that are *borrowed*.
 *
 * Errors: 0 or a count on success, a negative errno on failure; a function
 * that returns a pointer returns NULL and sets errno. ret_error gets the reason
 * as text; it may be NULL.
 *
 * Versions: a struct that begins with `size` gets its sizeof there, and zeros
 * as defaults. A later library reads as much as the program knows; an earlier
 * one refuses fields that it does not know (-EINVAL), unless they are zeros.
 * The library fills the fields of a struct that both know. Members with another
 * SCOLL_PROTOCOL_VERSION are answered with SCOLL_ERROR_PROTO_VERSION, or not at
 * all where messages are sealed.
 *
 * Manual: scoll(3), scoll(7). Source: DAOS Server Collectives Design, 2014.
 */
#ifndef SCOLL_H
#define SCOLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "fairlead/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define SCOLL_API_VERSION      1 /* of this header, for #if */
#define SCOLL_PROTOCOL_VERSION 1 /* of messages; others are refused */

/* Bytes of a broadcast: header, group parameters, descriptors, payload. */
#define SCOLL_BCAST_MAX 4096
/* Bytes of one part of a reply. */
#define SCOLL_REPLY_PART_MAX  1048576
#define SCOLL_REPLY_PARTS_MAX 1024    /* of one reply */
#define SCOLL_BULK_IOVS_MAX   32      /* pieces of a bulk buffer */
#define SCOLL_NODES_MAX       1048576 /* of a group */
#define SCOLL_ENTITIES_MAX    65535   /* of one target */
#define SCOLL_NAME_MAX        63      /* bytes of a group's name */
#define SCOLL_NID_TEXT        40      /* bytes of a NID's text, zero included */
#define SCOLL_TREE_TEXT       48 /* bytes of a tree's text, zero included */
#define SCOLL_SEAL_MAX        64 /* bytes that an authenticator adds */
#define SCOLL_SIGNATURE_MAX   96 /* bytes that it adds to a broadcast */

/* --- basic types --- */

/* One server's libscoll. */
struct scoll;
typedef struct scoll scoll_t;

/* Nanoseconds. */
typedef int64_t scoll_duration_t;

/* Agreed globally. 0 is the library's own. */
typedef uint32_t scoll_service_id_t;

/*
 * A node: type of network (16 bits), its number (16 bits), address in it (32
 * bits). As text ADDRESS@NET: "10.0.0.1@tcp", "192.168.10.124@o2ib1". It names
 * a node and need not be an address: the address book says where it is, also
 * one that has an IPv6 address only. Not 0 and not SCOLL_NID_ANY.
 */
typedef uint64_t scoll_nid_t;

#define SCOLL_NID_ANY ((scoll_nid_t)UINT64_MAX)

/* An entity: an object on a node. */
typedef struct scoll_tag {
	uint8_t bytes[16];
} scoll_tag_t;

/* A node and some of its entities. */
typedef struct scoll_target {
	scoll_nid_t nid;
	const scoll_tag_t *tags;
	int count; /* of tags, at least 1 */
} scoll_target_t;

/*
 * A tree: its type in the upper 8 bits, its option in the lower 24 (radix of
 * k-nomial, branching factor of k-ary; for logp latency over gap in 1/256).
 */
typedef uint32_t scoll_tree_type_t;

#define SCOLL_TREE(type, option)  ((uint32_t)(type) << 24 | (uint32_t)(option))
#define SCOLL_TREE_DEFAULT        0 /* the instance's */
#define SCOLL_TREE_FLAT           SCOLL_TREE(1, 0)
#define SCOLL_TREE_BINOMIAL       SCOLL_TREE(2, 0)
#define SCOLL_TREE_KNOMIAL(k)     SCOLL_TREE(3, k)
#define SCOLL_TREE_KARY(k)        SCOLL_TREE(4, k)
#define SCOLL_TREE_LOGP(l_over_o) SCOLL_TREE(5, (uint32_t)((l_over_o)*256))
#define SCOLL_TREE_USER           128 /* first type of struct scoll_tree_kind */

/* The order in which children are served. */
enum scoll_order {
	SCOLL_ORDER_DEPTH, /* deepest subtree first, then higher rank */
	SCOLL_ORDER_RANK,  /* higher rank first, as the document words it */
};

/* The name of a group that was established elsewhere. */
typedef struct scoll_oobgrp_id {
	scoll_service_id_t svid; /* the service that can read the rest */
	uint8_t bytes[16];
} scoll_oobgrp_id_t;

struct scoll_group;
typedef struct scoll_group scoll_group_t;

/* Why a reply is an error. */
enum scoll_error_type {
	SCOLL_ERROR_NONE,
	SCOLL_ERROR_NET_SEND, /* it could not be sent */
	/* It died after the send: its connection broke, or by discovery. */
	SCOLL_ERROR_PEER_DEAD,
	SCOLL_ERROR_PEER_REBOOT, /* discovery: rebooted after the send */
	SCOLL_ERROR_TIMEOUT,     /* no reply in time */
	SCOLL_ERROR_NO_SERVICE,  /* the node has not registered it */
	SCOLL_ERROR_NO_GROUP,    /* the node does not know it */
	SCOLL_ERROR_DIGEST,      /* the node sees other members */
	SCOLL_ERROR_NOT_PARENT,  /* the sender is not its parent */
	SCOLL_ERROR_PRE_REQUEST, /* refused by the service */
	SCOLL_ERROR_REQUEST,     /* incoming_request failed */
	SCOLL_ERROR_BULK,        /* bulk data did not arrive */
	SCOLL_ERROR_ABORTED,
	SCOLL_ERROR_PROTO_VERSION, /* speaks another version of the protocol */
	/*
	 * Out of memory, or a limit was reached. -EAGAIN: more than 8192 later
	 * requests of this root have overtaken it.
	 */
	SCOLL_ERROR_NOMEM,
	SCOLL_ERROR_REPLY_SIZE, /* its reply was larger than the buffer */
	SCOLL_ERROR_STEALTH,    /* it has just started: see discovery */
	SCOLL_ERROR_COUNT,
};

/* "peer died", for people; never NULL. */
const char *scoll_error_type_text(enum scoll_error_type type);

/*
 * A broadcast, on the root and on every node. Members marked R are the
 * library's to set, those marked W the service's.
 */
typedef struct scoll_request {
	void *srq_buf; /* R: the payload; the service's own copy, to change
			   at will, until post_reply has returned */
	int srq_len;   /* R: bytes */
	size_t srq_bulk_len; /* R: bytes of bulk data; 0: none */
	/*
	 * W in pre_request when srq_bulk_len > 0: where the bulk data goes,
	 * at least srq_bulk_len bytes. Both array and
	 * buffers stay valid until post_reply, and are read only from
	 * incoming_request on: children may be reading them.
	 */
	const struct iovec *srq_bulk_iovs;
	int srq_bulk_niov;
	/* R from incoming_request on: 0, or why there is no bulk data. */
	int srq_bulk_status;
	/*
	 * R in pre_request: the root's upper bound of the processing time. W:
	 * a lower one for this node and those below it. It cannot be raised:
	 * the parent would not know.
	 */
	scoll_duration_t srq_service_timeout;
	void *srq_private; /* W; on the root what scoll_bcast_new was given */
} scoll_request_t;

/* A reply of one child, or a part of it. Valid in its callback. */
typedef struct scoll_reply {
	int srp_status; /* 0, or a negative errno: there is no data */
	enum scoll_error_type srp_error_type;
	scoll_nid_t srp_src; /* the child's node */
	int srp_child;       /* its index */
	scoll_request_t *srp_request;
	void *srp_buf;     /* the posted buffer; the caller's again */
	size_t srp_len;    /* bytes of the reply in it */
	void *srp_private; /* of the buffer */
	int srp_part;      /* 0, 1, ... */
	bool srp_is_last;  /* no more parts from this child */
	/*
	 * Of an error: the nodes and entities that did not answer: the child's
	 * whole subtree, itself included.
	 */
	int srp_nodes_lost;
	int srp_entities_lost;
} scoll_reply_t;

/* --- callbacks --- */

/*
 * A request has arrived: check it, post one reply buffer for each child, set
 * srq_bulk_iovs if there is bulk data. Returns 0, or a negative errno: the
 * request is refused, not passed on, and its handle is not valid any more. The
 * library refuses it, too, when a child has no buffer (-EINVAL) or the bulk
 * buffer is missing or too small (-EINVAL, -EMSGSIZE): then reply_out comes,
 * and nothing else.
 */
typedef int (*scoll_pre_request_cb_t)(scoll_request_t *request);
/*
 * Run the request, for all entities of `target`; called once on a node,
 * however many there are. It may finish later. Returns 0, or a negative errno:
 * the service will not call scoll_reply, the library reports the error.
 */
typedef int (*scoll_incoming_request_cb_t)(scoll_request_t *request,
					   const scoll_target_t *target);
/* A reply, a part of it, or an error in its place. */
typedef void (*scoll_incoming_reply_cb_t)(scoll_reply_t *reply);
/*
 * All children are accounted for and incoming_request has returned. The root
 * looks at the results; its handle is not valid after this. Every other node
 * calls scoll_reply here, or later if its own work is not done.
 */
typedef void (*scoll_post_reply_cb_t)(scoll_request_t *request);
/* The reply was sent, or cannot be; the handle is not valid after this. */
typedef void (*scoll_reply_out_cb_t)(scoll_request_t *request);
/*
 * The members of an out-of-band group: *ret_targets is the service's, and read
 * before the callback is called again. Returns their count, or a negative
 * errno. It must not call the library.
 */
typedef int (*scoll_oobgrp_cb_t)(void *service_private,
				 const scoll_oobgrp_id_t *oobid,
				 const scoll_target_t **ret_targets);
/*
 * A version of an out-of-band group, not 0, which changes with its members:
 * oobgrp is called again when it has changed. 0: unknown; oobgrp is called for
 * each message. It must not call the library.
 */
typedef uint64_t (*scoll_oobversion_cb_t)(void *service_private,
					  const scoll_oobgrp_id_t *oobid);
/*
 * A group was created (status 0), or not (a negative errno, group is NULL):
 * scoll_group_failure_next() names the nodes without it. `private_data` is that
 * of scoll_group_create().
 */
typedef void (*scoll_create_group_cb_t)(int status, scoll_group_t *group,
					const void *private_data);

struct scoll_service_ops {
	size_t size;                                  /* of this struct */
	scoll_pre_request_cb_t pre_request;           /* never NULL */
	scoll_incoming_request_cb_t incoming_request; /* never NULL */
	scoll_incoming_reply_cb_t incoming_reply;     /* may be NULL */
	scoll_post_reply_cb_t post_reply;             /* never NULL */
	scoll_reply_out_cb_t reply_out;               /* may be NULL */
	scoll_oobgrp_cb_t oobgrp;                     /* NULL: has none */
	scoll_oobversion_cb_t oobversion;             /* may be NULL */
};

/*
 * Put the nodes of a new group in an order that suits the network, so that
 * neighbours in it are near each other: order[i] is the number in nids of the
 * i-th node; it comes as 0, 1, ..., count - 1 and stays a permutation. Called
 * from inside scoll_group_create(); it must not call the library. The order
 * travels with the group.
 */
typedef void (*scoll_permute_cb_t)(void *ctx, const scoll_nid_t *nids,
				   int count, int *order);

/* --- trees --- */

#define SCOLL_TREE_RANGES_MAX 64 /* of one subtree */

/* Consecutive ranks. */
struct scoll_tree_range {
	uint32_t first;
	uint32_t count;
};

/* A tree that its kind computes. */
struct scoll_tree_shape {
	uint32_t option;     /* the lower 24 bits of the type */
	uint32_t node_count; /* at least 1 */
	uint64_t state[8];   /* the kind's own; set by its `prepare` */
};

/* One node, and the subtree below it. */
struct scoll_tree_node {
	uint32_t parent; /* of 0: 0 */
	uint32_t size;   /* nodes of the subtree, itself included */
	uint32_t depth;  /* edges down to its deepest node; 0: a leaf */
};

/*
 * A kind of tree over the ranks 0..node_count-1, whose root is 0. Its functions
 * depend on their arguments only, get ranks below node_count only, and take
 * O(log n), except for a list of children. A request is refused with -EINVAL if
 * they describe no tree.
 */
struct scoll_tree_ops {
	size_t size; /* of this struct */
	/* Its name in texts ("kary"): lower-case letters, digits, '-'. */
	const char *name;
	/* Smallest and largest option; 0 and 0: it takes none. */
	uint32_t option_min;
	uint32_t option_max;
	/* The text shows option / unit, which is at most 16384; 0 is 1. */
	uint32_t option_unit;
	/* Fill the state, once for each shape. NULL: there is none. */
	void (*prepare)(struct scoll_tree_shape *shape);
	void (*node)(const struct scoll_tree_shape *shape, uint32_t rank,
		     struct scoll_tree_node *ret_node);
	/*
	 * How many there are; writes the first `capacity` of them, in any
	 * order. ret_ranks may be NULL when capacity is 0.
	 */
	uint32_t (*children)(const struct scoll_tree_shape *shape,
			     uint32_t rank, uint32_t *ret_ranks,
			     uint32_t capacity);
	/*
	 * Ranks of the subtree, the node's own included, as at most
	 * SCOLL_TREE_RANGES_MAX rising ranges, the capacity of ret_ranges.
	 * Returns how many. NULL: every subtree is [rank, rank + size).
	 */
	uint32_t (*ranges)(const struct scoll_tree_shape *shape, uint32_t rank,
			   struct scoll_tree_range *ret_ranges);
};

/*
 * A kind, and its type: from SCOLL_TREE_USER to 255, for SCOLL_TREE(type,
 * option). All nodes have it under the same type.
 */
struct scoll_tree_kind {
	uint8_t type;
	const struct scoll_tree_ops *ops; /* borrowed, until scoll_fini */
};

/*
 * "knomial:4", "logp:8.5", "flat", ..., or of a kind that the instance has
 * (NULL: the built-in ones only). -EINVAL with the reason.
 */
int scoll_tree_parse(const scoll_t *scoll, const char *text,
		     scoll_tree_type_t *ret_tree,
		     struct fairlead_error *ret_error);
/* Returns text, which is read as the same tree; "?": it is none. */
const char *scoll_tree_format(const scoll_t *scoll, scoll_tree_type_t tree,
			      char text[SCOLL_TREE_TEXT]);

/* --- node ids --- */

int scoll_nid_parse(const char *text, scoll_nid_t *ret_nid);
/* Returns text. */
const char *scoll_nid_format(scoll_nid_t nid, char text[SCOLL_NID_TEXT]);

/* --- authentication --- */

/*
 * Seals messages that are sent, and verifies received ones before they change
 * anything. Pure functions, which must not call the library. `bytes` covers the
 * whole message (its body by a digest).
 */
struct scoll_authenticator {
	size_t size;      /* of this struct */
	size_t seal_size; /* bytes of a seal, at most SCOLL_SEAL_MAX */
	void (*seal)(void *ctx, scoll_nid_t to, const void *bytes, size_t count,
		     uint8_t *ret_seal);
	/* 0, or -EPERM: not from this node, or not to us. */
	int (*verify)(void *ctx, scoll_nid_t from, const void *bytes,
		      size_t count, const uint8_t *seal);
	void *ctx;
	/*
	 * Where all members have one key, each of them can forge a broadcast
	 * of another root. A signature is what only the root can make: it signs
	 * a broadcast once, and every node checks it. `bytes` has all that is
	 * the same at every node: the root, its start, the number, the group,
	 * and the digest of the body. 0: no signatures.
	 */
	size_t signature_size; /* bytes, at most SCOLL_SIGNATURE_MAX */
	/* 0, or -EPERM: this node may not be a root; nothing is sent. */
	int (*sign)(void *ctx, const void *bytes, size_t count,
		    uint8_t *ret_signature);
	/* 0, or -EPERM: not of this root, or it may not be one. */
	int (*check)(void *ctx, scoll_nid_t root, const void *bytes,
		     size_t count, const uint8_t *signature);
};

/*
 * An authenticator for the node `self`, by a key of 32 bytes that all members
 * have: messages of others are refused. The key is copied. -ENOMEM.
 */
int scoll_key_authenticator_create(scoll_nid_t self, const uint8_t key[32],
				   struct scoll_authenticator **ret_auth);
/* NULL is allowed. */
void scoll_key_authenticator_destroy(struct scoll_authenticator *auth);

/* --- instance --- */

enum scoll_discovery {
	SCOLL_DISCOVERY_GIVEN,  /* the program calls scoll_peer_set */
	SCOLL_DISCOVERY_GOSSIP, /* the members find out by gossip */
};

struct scoll_params {
	size_t size; /* of this struct */
	scoll_nid_t nid;
	/*
	 * "tcp" or NULL: TCP, and Unix sockets between members of one user on
	 * one host; or a libfabric provider with FI_EP_RDM, FI_MSG, FI_TAGGED
	 * and FI_RMA, with which libscoll-ofi.so and libfabric are loaded. The
	 * same on all members. And this node's host or address, and its
	 * service or port (NULL: any, see scoll_address). Gossip uses the next
	 * port, too.
	 */
	const char *provider;
	const char *node;
	const char *service;
	scoll_tree_type_t tree; /* 0: of SCOLL_TREE in the environment, or
				    knomial:4 */
	enum scoll_order order;
	scoll_duration_t rtt; /* estimate, 1 us to 71 min; 0: 100 ms */
	/*
	 * Bytes/s of a node's link, estimate; 0: 100 MB/s. The children of the
	 * root are assumed to share it. With too high an estimate bulk data
	 * times out.
	 */
	uint64_t bulk_bandwidth;
	size_t bulk_segment; /* bytes; 0: 512 KiB */
	enum scoll_discovery discovery;
	scoll_duration_t gossip_cycle; /* 0: 250 ms */
	/*
	 * The nodes that gossip, in the same order on all of them, this one
	 * included; copied. Messages of members with another list are dropped.
	 */
	const scoll_nid_t *gossip_members;
	int gossip_member_count;
	/* NULL: none; messages of anybody are accepted. */
	const struct scoll_authenticator *authenticator; /* borrowed, until
							    scoll_fini */
	/* Idle groups are dropped after this; 0: one hour. */
	scoll_duration_t group_lifetime;
	scoll_permute_cb_t permute; /* NULL: as the targets are given */
	void *permute_ctx;
	/*
	 * Put the known addresses of nodes into the groups made here, so that
	 * members need not know each other. A receiver of a sealed message
	 * takes the addresses of its sender and of the group's nodes from it,
	 * except for those set by scoll_peer_address. A node that moves is
	 * reached by groups that are made later. Needs an authenticator.
	 */
	bool share_addresses;
	/*
	 * A number that rises from each start of this node to the next one,
	 * below 2^52; 0: the wall clock, in us. Others drop messages of a start
	 * before the last one that they know.
	 */
	uint64_t started;
	/*
	 * The program's kinds of trees, which `tree` and SCOLL_TREE may name.
	 */
	const struct scoll_tree_kind *tree_kinds;
	size_t tree_kind_count;
};

/*
 * Make an instance. -EINVAL, -EEXIST (a kind of tree or a member of gossip is
 * there twice), -ENODATA (no such provider), -ELIBACC (libfabric is not
 * there), -EADDRINUSE, -ENOMEM, ..., with the reason as text. The first call
 * with a provider of libfabric sets FI_OFI_RXM_CM_PROGRESS_INTERVAL in the
 * environment, unless it is set: make it before other threads read the
 * environment.
 */
int scoll_init(const struct scoll_params *params, scoll_t **ret_scoll,
	       struct fairlead_error *ret_error);
/*
 * End it: within a round trip, 1 s at most. Requests under way are aborted and
 * their callbacks called from inside; groups made here stay on other nodes for
 * their lifetime. NULL is allowed.
 */
void scoll_fini(scoll_t *scoll);

/*
 * Handle received messages and timeouts, and call their callbacks; returns the
 * number of callbacks of services and groups. -EBUSY: see Threads.
 */
int scoll_progress(scoll_t *scoll);
/*
 * Wait for a message, a timeout or a call of another thread, for at most
 * `timeout` (-1: for ever), then progress. It may return 0 early: after a
 * signal, or an event without a callback.
 */
int scoll_wait(scoll_t *scoll, scoll_duration_t timeout);
/*
 * For poll(2) and its like: readable when scoll_progress has something to do.
 * The library's, the same until scoll_fini.
 */
int scoll_fd(scoll_t *scoll);
/*
 * The longest time to wait for the descriptor; -1: for ever. Call it before
 * each wait: it is 0 when there is something to do that the descriptor does not
 * show.
 */
scoll_duration_t scoll_timeout(scoll_t *scoll);

/*
 * Our address, for scoll_peer_address() on other nodes with the same provider.
 * *size: capacity, then bytes written. -ENOSPC: *size is what is needed.
 */
int scoll_address(scoll_t *scoll, void *ret_address, size_t *size);

/* --- peers: the address book, and discovery --- */

/*
 * Set the address of a node, as scoll_address() returned it there. It may
 * change at any time, also while requests are under way: messages sent later go
 * there. Size 0 forgets it. -EINVAL: no address of this provider; -ENOENT:
 * nothing to forget; -ENOSPC, -ENOMEM.
 */
int scoll_peer_address(scoll_t *scoll, scoll_nid_t nid, const void *address,
		       size_t size);
/*
 * The same, with text for the provider's getinfo. It may wait for a name
 * server, while the instance goes on. `gossip` also uses a second service: the
 * next number, or the name with "-gossip". -EINVAL: there is none (no service,
 * 0, above 65534); -ENODATA: unknown name; and as scoll_peer_address().
 */
int scoll_peer_resolve(scoll_t *scoll, scoll_nid_t nid, const char *node,
		       const char *service, struct fairlead_error *ret_error);

enum scoll_liveness {
	SCOLL_ALIVE,
	SCOLL_DEAD,
	SCOLL_REBOOTED, /* was dead and is alive again */
};

/*
 * Discovery `given`: set the liveness of a node; others count as alive.
 * -EINVAL, -ENOSPC, -ENOMEM; -EOPNOTSUPP with `gossip`.
 */
int scoll_peer_set(scoll_t *scoll, scoll_nid_t nid, enum scoll_liveness news);
/*
 * SCOLL_ALIVE or SCOLL_DEAD, by discovery; an unknown node is ALIVE with
 * `given` and DEAD with `gossip`.
 */
int scoll_peer_query(scoll_t *scoll, scoll_nid_t nid);
/* How often the node has died since scoll_init; a reboot is a death, too. */
uint32_t scoll_peer_deaths(scoll_t *scoll, scoll_nid_t nid);
/*
 * Whether this node has just started and does not take part yet: with `gossip`
 * only, until the others have declared its earlier start dead. Requests and
 * groups are refused with -EAGAIN meanwhile. There is no callback for its end.
 */
bool scoll_is_stealthy(scoll_t *scoll);
/*
 * Call `notify` from scoll_progress when the liveness of a node has changed: of
 * several changes the last (a death and a life after it are a reboot). One
 * function an instance; NULL: none.
 */
void scoll_peer_notify(scoll_t *scoll,
		       void (*notify)(void *ctx, scoll_nid_t nid,
				      enum scoll_liveness news),
		       void *ctx);

/* --- services --- */

/*
 * -EEXIST: the id is taken; -EINVAL: a callback is missing, id 0. The struct
 * is copied.
 */
int scoll_service_register(scoll_t *scoll, scoll_service_id_t svid,
			   const struct scoll_service_ops *ops,
			   void *private_data);
/* -EBUSY: it has requests or groups; -ENOENT. */
int scoll_service_unregister(scoll_t *scoll, scoll_service_id_t svid);

/* --- groups --- */

/*
 * Make a group of `cnt` targets (those of one node are merged). With
 * `populate_now` its members get it now, and the callback is called when all
 * have it; else they get it with the first broadcast, and the callback is
 * called from inside. This node need not be a member. name: at most
 * SCOLL_NAME_MAX bytes, NULL is "". Errors without a callback: -EINVAL (no
 * target, tag or callback, a tag twice, a longer name, no such tree, a bad
 * permutation), -ENOENT (no such service), -EMSGSIZE (too large without
 * populate_now), -E2BIG (above a limit), -ENOSPC (a shared address has more
 * than 64 bytes), -ENOMEM, -EAGAIN (stealthy), -ESHUTDOWN (from inside
 * scoll_fini). The callback gets those of a broadcast, such as -EHOSTDOWN (a
 * member is dead). The handle is valid until scoll_group_destroy().
 */
int scoll_group_create(scoll_t *scoll, scoll_service_id_t svid,
		       const char *name, const scoll_target_t *targets, int cnt,
		       scoll_tree_type_t tree, bool populate_now,
		       scoll_create_group_cb_t cb, const void *private_data);
/*
 * A group that the service's oobgrp callback knows; it is called when the group
 * is used. EOPNOTSUPP: it has none; EINVAL: oobid is of another service, the
 * name, no such tree; ENOENT: no such service; ENOMEM.
 */
scoll_group_t *scoll_oob_group_create(scoll_t *scoll, scoll_service_id_t svid,
				      const char *name, scoll_oobgrp_id_t oobid,
				      scoll_tree_type_t tree,
				      const void *private_data);
/*
 * Keep a group that came by a message, to be a root over it, too. Its handle,
 * from scoll_request_group(), is valid as long as the request's; after this
 * call until scoll_group_destroy() was called as often. Its lifetime does not
 * end meanwhile. When its creator destroys it, dies or restarts, or after a
 * last broadcast, nothing can be sent over it any more (ESHUTDOWN); the handle
 * stays until it is destroyed. -EALREADY: it was made here; -ESHUTDOWN: it has
 * ended; -EOPNOTSUPP: it is out of band, use scoll_oob_group_create(); -ENOENT:
 * its service is gone.
 */
int scoll_group_keep(scoll_group_t *group);
/*
 * Destroy the handle. A group that was made here is destroyed on its members,
 * by an empty last broadcast after those under way; on an unreachable node it
 * ends with its lifetime, or when this node dies. A kept one stays on other
 * nodes.
 */
void scoll_group_destroy(scoll_group_t *group);

/* As at its creation; of a group that came by a message the private is NULL. */
const char *scoll_group_name(const scoll_group_t *group);
const void *scoll_group_private(const scoll_group_t *group);
/* How many it has; of an out-of-band group also oobgrp's error. */
int scoll_group_nodes(const scoll_group_t *group);
int scoll_group_entities(const scoll_group_t *group);

/*
 * Children in the tree over the whole group with this node as root, numbered
 * from 0 in the order of sending; and the nodes and entities of each subtree.
 * -EINVAL: no such child; -ENOMEM, and as before. A request's own tree may be
 * another one: see scoll_request_nchildren().
 */
int scoll_get_nchildren(scoll_group_t *group);
int scoll_get_childtree_nodes(scoll_group_t *group, int child);
int scoll_get_childtree_entities(scoll_group_t *group, int child);

/* --- requests --- */

enum scoll_flag {
	SCOLL_LAST = 1u << 0,       /* the group's last: it ends after it */
	SCOLL_ALIVE_ONLY = 1u << 1, /* to the live members, by discovery */
};

/*
 * A request over the group. `buf` and the bulk buffers are borrowed and do not
 * change until post_reply. service_timeout: the longest time that a node may
 * need to process it. errno: EMSGSIZE (header, group
 * parameters and payload exceed SCOLL_BCAST_MAX), EINVAL (a negative length or
 * time, bytes without a buffer, more than SCOLL_BULK_IOVS_MAX pieces, another
 * flag), ENOMEM (or too many requests), ENOENT (its service is gone), ESHUTDOWN
 * (after the group's last, or it was kept and has ended), oobgrp's. The handle
 * is valid until post_reply has returned, or scoll_request_free().
 */
scoll_request_t *scoll_bcast_new(scoll_group_t *group, const void *buf, int len,
				 const struct iovec *bulk_iovs, int niov,
				 unsigned flags,
				 scoll_duration_t service_timeout,
				 const void *private_data);
/*
 * The same to some of the group's nodes only. ENOENT: one is no member;
 * EMSGSIZE: the choice does not fit; make a group of them.
 */
scoll_request_t *scoll_bcast_new_subset(scoll_group_t *group,
					const scoll_nid_t *nids, int count,
					const void *buf, int len,
					const struct iovec *bulk_iovs, int niov,
					unsigned flags,
					scoll_duration_t service_timeout,
					const void *private_data);
/* Give up a request that was never sent. */
void scoll_request_free(scoll_request_t *request);

/*
 * The request's own tree, on each of its nodes: children from 0 on, in the
 * order of sending. No such child: -EINVAL, SCOLL_NID_ANY.
 */
int scoll_request_nchildren(const scoll_request_t *request);
scoll_nid_t scoll_request_child_nid(const scoll_request_t *request, int child);
int scoll_request_childtree_nodes(const scoll_request_t *request, int child);
int scoll_request_childtree_entities(const scoll_request_t *request, int child);
/* Edges from us to the deepest node below. */
int scoll_request_depth(const scoll_request_t *request);
bool scoll_request_is_root(const scoll_request_t *request);
scoll_nid_t scoll_request_root(const scoll_request_t *request);
/* Valid as long as the request, if it came by a message: see scoll_group_keep. */
scoll_group_t *scoll_request_group(const scoll_request_t *request);
void *scoll_request_service(const scoll_request_t *request); /* its private */
scoll_t *scoll_request_instance(const scoll_request_t *request);

/*
 * Post a buffer for one part of a child's reply: all of them before the request
 * is sent, on other nodes than the root in pre_request. The child gets their
 * number and the size of the smallest. -EINVAL: no such child, too late, bytes
 * without a buffer; -E2BIG: SCOLL_REPLY_PARTS_MAX; -ENOMEM.
 */
int scoll_reply_buffer_post(int child, void *buf, size_t len,
			    scoll_request_t *request, void *private_data);
/*
 * Send it. -EINVAL: a child has no buffer, or it was sent before; -EHOSTDOWN: a
 * member is dead, or with SCOLL_ALIVE_ONLY all are; -EAGAIN: stealthy, or since
 * scoll_bcast_new the live members (of SCOLL_ALIVE_ONLY) or the members (of
 * oobgrp) have changed: make another request; -ESHUTDOWN: after the group's
 * last, or from inside scoll_fini; -EPERM: the authenticator does not sign;
 * -ENOMEM, also for bulk data; the provider's errors for its buffers. There is
 * no callback then; the request can be sent again or freed.
 */
int scoll_bcast_send(scoll_request_t *request);
/*
 * Reply to the parent, at any time after pre_request, once; it is sent when all
 * children are accounted for. The buffer is borrowed until reply_out. On the
 * root it does nothing. -EALREADY: there is a reply, or an error was reported;
 * -EMSGSIZE: larger than the parent's smallest buffer, which is reported;
 * -EINVAL: in pre_request, or bytes without a buffer.
 */
int scoll_reply(scoll_request_t *request, const void *buf, size_t len);
/*
 * Send a part of the reply at once; scoll_reply sends the last.
 * -EMSGSIZE: larger than the parent's smallest buffer; -E2BIG: the parent has
 * posted one more buffer only, which is for scoll_reply; -EALREADY and -EINVAL
 * as scoll_reply; -ENOMEM. Nothing is sent then, and the request goes on.
 */
int scoll_reply_part(scoll_request_t *request, const void *buf, size_t len);
/*
 * Stop waiting: missing replies become -ECANCELED in incoming_reply, then come
 * post_reply and reply_out, later and not from inside. The root also aborts the
 * request on the nodes below.
 */
void scoll_bcast_abort(scoll_request_t *request);

/* --- outcome, in post_reply --- */

/* 0: every node of this subtree has run it; else -EREMOTEIO. */
int scoll_request_status(const scoll_request_t *request);

struct scoll_failure {
	scoll_nid_t nid;
	int status;
	enum scoll_error_type type;
	bool is_reached; /* it ran, or refused; only its answer is missing */
};

/*
 * The nodes of this subtree that failed or were not reached, each once, in no
 * order: *cursor starts at 0. 1 and *ret_failure, or 0: there are no more.
 */
int scoll_request_failure_next(const scoll_request_t *request, uint64_t *cursor,
			       struct scoll_failure *ret_failure);

/*
 * The same of a group that could not be made, from inside its create callback
 * only: the nodes without it. When one was known to be dead nothing was sent,
 * and all nodes are listed; scoll_peer_query() finds the dead ones. -EINVAL:
 * not in the callback.
 */
int scoll_group_failure_next(scoll_t *scoll, uint64_t *cursor,
			     struct scoll_failure *ret_failure);

/* --- benchmarks --- */

/* Moments of a request on this node, ns of the monotonic clock; 0: not yet. */
struct scoll_request_times {
	uint64_t received; /* root: scoll_bcast_send */
	uint64_t sent;     /* to the last child */
	uint64_t replied;  /* by the last child */
};

void scoll_request_times(const scoll_request_t *request,
			 struct scoll_request_times *ret_times);

/* Counters since scoll_init, for tests, tools and metrics. */
struct scoll_stats {
	size_t size; /* of this struct, set by the caller */
	uint64_t messages_sent, messages_received;
	uint64_t messages_refused; /* damaged, forged, replayed, too large */
	uint64_t bytes_sent, bytes_received;
	uint64_t requests, requests_active;
	uint64_t groups, group_bytes;
	uint64_t allocations; /* in the data path */
};

void scoll_stats(scoll_t *scoll, struct scoll_stats *ret_stats);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
