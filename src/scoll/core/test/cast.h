/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A few members, each with its own core, and between them a network that does
 * nothing by itself: what the cores ask of it are *moves*, in the order in
 * which they were asked, which a test carries out one by one or all of them,
 * holds back, loses, fails or alters.
 *
 * Members have the NIDs 1@tcp.. by cast_nid(). Every member runs the same
 * service, which notes each callback as a word in its script and otherwise does
 * what its settings say. The time stands still until a test moves it.
 *
 * Memory: what the service has is kept apart in a way that a use after its end
 * is found by the address sanitizer; everything is checked to be given back.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "scoll/core/internal.h"
#include "scoll/member/given.h"

#define CAST_MEMBERS_MAX 64
#define CAST_RULES_MAX   8
#define CAST_LARGE_TAGS  20
#define CAST_SERVICE     7
#define CAST_CHAIN       SCOLL_TREE(SCOLL_TREE_USER, 0) /* a plug-in's */
#define CAST_SCRIPT      2048
#define CAST_R_NS        UINT64_C(100000000) /* R: 100 ms */
#define CAST_FIRST       1                   /* address of the first member */

enum move_kind {
	MOVE_SEND,
	MOVE_POST,
	MOVE_REPLY,
	MOVE_READ,
};

enum move_fate {
	FATE_PASS,  /* delivered, and its end is reported */
	FATE_LOSE,  /* not delivered; its end is 0 */
	FATE_FAIL,  /* not delivered; its end is -EIO */
	FATE_DENY,  /* delivered; its end is -EIO */
	FATE_HOLD,  /* stays where it is */
	FATE_ALTER, /* a bit of it is another one */
};

struct cast;
struct member;

/* What a core asked for; a post stays until its end. */
struct move {
	struct move *prev, *next;
	enum move_kind kind;
	struct member *from;
	scoll_nid_t to;
	uint64_t tag;
	uint8_t *bytes; /* MOVE_SEND, MOVE_REPLY */
	size_t size;
	struct iovec pieces[TRANSPORT_IOV_MAX]; /* MOVE_POST */
	int piece_count;
	uint64_t remote_offset, local_offset; /* MOVE_READ */
	struct remote_piece remote[SCOLL_BULK_IOVS_MAX];
	int remote_count;
	const struct region *region;
	struct transfer *transfer; /* NULL: its end was reported */
	bool is_cancelled;
};

/* Open memory. */
struct cast_region {
	struct cast_region *prev, *next;
	struct member *owner;
	struct iovec pieces[SCOLL_BULK_IOVS_MAX];
	int count;
	uint64_t key;
};

/* What the service of a member has for one request. */
struct work {
	struct member *member;
	uint8_t *buffers[64]; /* of its children, by child */
	uint8_t *answer;      /* its reply */
	size_t answer_len;
	uint8_t *bulk;
	struct iovec bulk_iov;
	uint32_t sum; /* of the children's replies, and 1 for itself */
};

struct member {
	struct cast *cast;
	scoll_nid_t nid;
	struct scoll_core *core; /* NULL: it is dead */
	struct given *given;
	struct memberships *memberships;
	struct cast_region *regions;
	uint64_t next_key;
	uint64_t random;
	/* The network, as this member has it. */
	bool is_full;      /* -EAGAIN */
	bool has_no_room;  /* -EAGAIN for buffers of replies */
	scoll_nid_t busy;  /* -EBUSY for what goes to it; 0 */
	int refusal;       /* a negative errno for each call; 0 */
	int region_result; /* of opening memory */
	int cancels, connects;
	char disconnected[64];             /* peers, by their numbers */
	uint32_t place;                    /* where it is */
	uint32_t places[CAST_MEMBERS_MAX]; /* where others are: 0: unknown */
	int lessons;                       /* of messages, about places */
	/* The service. */
	char script[CAST_SCRIPT];
	int pre_result;
	int request_result;
	bool keeps_quiet; /* replies not by itself */
	bool is_no_root;  /* signs nothing */
	bool posts_nothing;
	size_t buffer_len; /* of a reply buffer; 4 or more */
	int buffer_count;  /* for each child */
	size_t bulk_short; /* its bulk buffer is so much too short */
	bool no_bulk_buffer;
	scoll_duration_t timeout; /* -1: as it was */
	scoll_request_t *request; /* the last one */
	scoll_reply_t reply;      /* the last one, as delivered */
	uint8_t payload[SCOLL_BCAST_MAX];
	int payload_len;
	int request_count; /* how often incoming_request was called */
	/* Of the last post_reply at a root, and of group callbacks. */
	int status;
	uint32_t sum;
	char failures[512];
	int group_status;
	scoll_group_t *group;
	/* For out-of-band groups. */
	scoll_target_t oob_targets[CAST_MEMBERS_MAX];
	int oob_count;
	int oob_calls;
	void (*on_pre)(struct member *member, scoll_request_t *request);
	void (*on_request)(struct member *member, scoll_request_t *request);
	void (*on_reply)(struct member *member, scoll_reply_t *reply);
	void (*on_post)(struct member *member, scoll_request_t *request);
	void (*on_group)(struct member *member);
};

/* What becomes of some moves: the first rule that fits decides. */
struct cast_rule {
	enum move_kind kind;
	int from, to; /* members; -1: any */
	enum move_fate fate;
	int times; /* how often; -1: always */
};

struct cast {
	struct member members[CAST_MEMBERS_MAX];
	int count;
	uint64_t now_ns;
	struct move *moves;
	struct cast_rule rules[CAST_RULES_MAX];
	int rule_count;
	/* Counted. */
	int sends, replies, reads, lost_replies;
	scoll_tree_type_t tree;
	struct tree_types tree_types;
	size_t bulk_segment;
	size_t place_size;   /* bytes of an address; 0: none is needed */
	uint32_t last_place; /* of all members */
	bool is_sealed;      /* seals and signatures are as long as can be */
	struct scoll_authenticator auths[CAST_MEMBERS_MAX];
};

extern const struct scoll_service_ops cast_service_ops;
extern const struct transport_ops cast_net_ops;

/* `count` members; the tree of all of them. */
void cast_init(struct cast *cast, int count, scoll_tree_type_t tree);
/* The same, and member 0's group of all of them, delayed. */
scoll_group_t *cast_init_group(struct cast *cast, int count,
			       scoll_tree_type_t tree);
/* As cast_init(), and every message is sealed, every broadcast signed. */
void cast_init_sealed(struct cast *cast, int count, scoll_tree_type_t tree);
/*
 * Sealed, and with addresses of so many bytes, 5 or more: member 0 knows all
 * and shares them, the others know none.
 */
void cast_init_placed(struct cast *cast, int count, scoll_tree_type_t tree,
		      size_t place_size);
/* Stops all cores, and checks that nothing is left. */
void cast_fini(struct cast *cast);
/* The same after the group (NULL: none) was ended and all has come to rest. */
void cast_finish(struct cast *cast, scoll_group_t *group);
static inline scoll_nid_t cast_nid(int index)
{
	return (scoll_nid_t)2 << 48 | (scoll_nid_t)(CAST_FIRST + index);
}
/* Members from..to-1 as targets with one entity each. */
int cast_targets(int from, int to, scoll_target_t *ret_targets);
struct member *cast_find(struct cast *cast, scoll_nid_t nid);

/* Its process ends, with all that it has; the others know nothing of it. */
void cast_kill(struct cast *cast, int index);
/* It starts again. */
void cast_start(struct cast *cast, int index);

/* --- cast_place.c: where they are --- */

/* A member's program hears where another one is now. */
void cast_place_tell(struct cast *cast, int to, int of);
/* How many it knows. */
int cast_place_count(const struct cast *cast, int index);
bool cast_place_reaches(const struct member *member, scoll_nid_t to);
/* Of the transport. */
int cast_place_get(void *ctx, scoll_nid_t nid, void *ret_bytes, size_t *size);
int cast_place_learn(void *ctx, scoll_nid_t nid, const void *bytes,
		     size_t size);

/* --- what goes on --- */

/* From now on; kind, from, to (-1: any), what, how often (-1: always). */
void cast_rule(struct cast *cast, enum move_kind kind, int from, int to,
	       enum move_fate fate, int times);
void cast_rules_clear(struct cast *cast);
/* Callbacks of all members until there are none. */
void cast_callbacks(struct cast *cast);
/* One move after the other until all that is left is held. */
void cast_run(struct cast *cast);
void cast_move_destroy(struct cast *cast, struct move *move);
/* Carry out one move. */
void cast_carry(struct cast *cast, struct move *move, enum move_fate fate);
/* Time goes on; ticks are due. */
void cast_pass(struct cast *cast, uint64_t duration_ns);
/* To the earliest deadline of all, then run; false: there is none. */
bool cast_pass_deadline(struct cast *cast);
/* The n-th open move of this kind from `from` (NULL: anybody). */
struct move *cast_move(struct cast *cast, enum move_kind kind, int from, int n);
int cast_move_count(struct cast *cast, enum move_kind kind, int from);
/* A broadcast with other fields, as its sender would have written them. */
void cast_rewrite(struct move *move, void (*change)(struct wire_bcast *wire));
/* Bytes come to a member as a message. */
void cast_inject(struct cast *cast, int to, const void *bytes, size_t size);
/* Everybody, or one (index), hears that this one is dead, or rebooted. */
void cast_tell_dead(struct cast *cast, int index);
void cast_tell_rebooted(struct cast *cast, int index);

/* --- users --- */

/* A group of the members from..to-1, delayed; asserts that it is made. */
scoll_group_t *cast_group(struct cast *cast, int root, int from, int to);
/* Of so many entities that no message has them; what creating it returned. */
int cast_group_large(struct cast *cast, int root, int from, int to,
		     bool is_now);
/* The same, at once: run. */
scoll_group_t *cast_group_now(struct cast *cast, int root, int from, int to);
/* Memory of the cast's own, which never runs out; all zero. */
void *cast_alloc(size_t size);
/* What a group or request is made of; -ENOMEM is left to the caller. */
int cast_group_try(struct cast *cast, int root, int from, int to, bool is_now);
int cast_request_try(struct cast *cast, int root, scoll_group_t *group,
		     const struct iovec *iovs, int count,
		     scoll_request_t **ret_request);
/* A request with buffers for all children, not sent. */
scoll_request_t *cast_request(struct cast *cast, int root, scoll_group_t *group,
			      const void *buf, int len, unsigned int flags,
			      scoll_duration_t timeout);
/* With bulk data, and a P of 0. */
scoll_request_t *cast_bulk_request(struct cast *cast, int root,
				   scoll_group_t *group,
				   const struct iovec *iovs, int count);
/* To these nodes only. */
scoll_request_t *cast_request_of(struct cast *cast, int root,
				 scoll_group_t *group, const scoll_nid_t *nids,
				 int count);
/* Free one that was not sent. */
void cast_request_free(struct cast *cast, scoll_request_t *request);
/* Post buffers as the service does. 0; -ENOMEM. */
int cast_buffers_post(struct member *member, scoll_request_t *request);
/* Send it; asserts that it goes. */
void cast_send(struct cast *cast, scoll_request_t *request);
/* Make one, send it, run until nothing moves. */
void cast_bcast(struct cast *cast, int root, scoll_group_t *group,
		const char *text);
void cast_script_clear(struct cast *cast);
/* Nothing is under way in any core that lives. */
void cast_assert_idle(struct cast *cast);
/* Time goes on until nothing is under way. */
void cast_settle(struct cast *cast);
/* The callbacks of all members came as the grammar says. */
void cast_assert_grammar(struct cast *cast);
