/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of doc/rfc/collectives.md as bytes. What is opened here was
 * verified first and then checked field by field: nobody else looks at a
 * message. Nothing is allocated; what was opened is a view of the bytes.
 *
 * A message is opened in a fixed order, and the first thing that is wrong with
 * it is the result: its length and magic number, its version and kind, the
 * lengths that it claims, its seal, the digest of its body, its fields, its
 * root's signature.
 *
 * Sending a broadcast, at each node:
 *
 *	wire_bcast_sign        by the root, once for a request
 *	wire_bcast_encode      the head, once for a request
 *	wire_bcast_seal        the head of one child: a copy, patched and sealed
 *
 * followed by the body, which is the same everywhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scoll.h"
#include "scoll/transport/transport.h"

#define WIRE_BCAST_BASE     128 /* bytes of a head without its optional parts */
#define WIRE_BCAST_HEAD_MAX 1185 /* with all of them and the longest seal */
#define WIRE_NOTICE_MAX     (WIRE_BCAST_BASE + SCOLL_SEAL_MAX)
#define WIRE_REPLY_HEAD     256
#define WIRE_REPORT_MAX     4096
/* Failures in one message. */
#define WIRE_REPLY_FAILURES_MAX  25
#define WIRE_REPORT_FAILURES_MAX 500

#define WIRE_DIGEST_SIZE         16
#define WIRE_PIECE_SIZE          24 /* of the bulk descriptor */
#define WIRE_ADDRESS_MAX         64 /* bytes, without zeros at its end */

/* A tag is of one child of one request; the lower bits are the part's. */
#define WIRE_TAG_PART_BITS TRANSPORT_TAG_PART_BITS
#define WIRE_TAG_PART_MASK ((UINT64_C(1) << WIRE_TAG_PART_BITS) - 1)
#define WIRE_TAG_REPORT    1024 /* parts from here on are reports */
#define WIRE_REPORTS_MAX   3072 /* of one reply */

/* BLAKE2b-128. */
struct wire_digest {
	uint8_t bytes[WIRE_DIGEST_SIZE];
};

/* data may be NULL when size is 0. */
void wire_digest_of(const void *data, size_t size, struct wire_digest *ret);
bool wire_digest_equals(const struct wire_digest *a,
			const struct wire_digest *b);
/*
 * Of what stands behind a sealed head. Zeros without an authenticator: who can
 * change the body could change the digest, and the transport is reliable.
 */
void wire_body_digest(const struct scoll_authenticator *auth, const void *data,
		      size_t size, struct wire_digest *ret);

/* What is wrong with a message. */
enum wire_result {
	WIRE_OK,
	WIRE_SHORT,   /* less than the head of any message */
	WIRE_MAGIC,   /* not ours */
	WIRE_VERSION, /* of another protocol version: see wire_bcast_origin */
	WIRE_KIND,    /* no such kind, or not one that comes this way */
	WIRE_LENGTH,  /* it has not the length that it says */
	WIRE_SEAL,    /* not sealed by its sender, or not for us */
	WIRE_SIGN,    /* not of the root that it says */
	WIRE_DIGEST,  /* its body is another one */
	WIRE_FIELD,   /* a field is out of its range */
	WIRE_RESULT_COUNT,
};

enum wire_kind {
	WIRE_BCAST = 1,
	WIRE_BULK_READY = 2,
	WIRE_ABORT = 3,
	WIRE_REPLY = 4,
	WIRE_REPORT = 5,
	WIRE_REPORTS_WANTED = 6,
};

/* Bytes that a seal takes. auth may be NULL, here and everywhere: none. */
size_t wire_seal_size(const struct scoll_authenticator *auth);

/* --- messages that nobody expects: broadcasts and notices --- */

enum wire_flag {
	WIRE_LAST = 1u << 0,
	WIRE_CREATOR = 1u << 1, /* creator is not the root, or not this one */
	WIRE_OOB = 1u << 2,
	WIRE_SUBSET = 1u << 3,
	WIRE_ALIVE = 1u << 4,    /* with SUBSET: those who live */
	WIRE_POPULATE = 1u << 5, /* no service is called */
	WIRE_ROOT_EXTRA = 1u << 6,
	WIRE_MEMBERS_BULK = 1u << 7, /* with POPULATE */
	WIRE_ADDRESSES = 1u << 8,    /* with parameters: and where they are */
	WIRE_SENDER = 1u << 9,       /* where the sender is */
	WIRE_START = 1u << 10,       /* for one start of the receiver */
	WIRE_SIGNED = 1u << 11,      /* by the root */
	WIRE_FLAGS_ALL = (1u << 12) - 1,
};

/* Those that all broadcasts have with this authenticator. */
uint16_t wire_auth_flags(const struct scoll_authenticator *auth);

/* The head and body of a broadcast. Pointers are views. */
struct wire_bcast {
	uint16_t flags;
	scoll_service_id_t service;
	scoll_tree_type_t tree;
	scoll_nid_t root;
	uint64_t root_nonce;
	uint64_t number; /* of the request, at the root */
	uint64_t group_index;
	struct wire_digest members; /* digest of the membership */
	scoll_nid_t sender;
	uint64_t tag;
	uint64_t service_timeout_ns; /* P; at most INT64_MAX */
	uint32_t rtt_us;             /* R */
	uint32_t part_size;          /* bytes of one part of a reply */
	uint16_t part_count;
	uint8_t order; /* enum scoll_order */
	struct wire_digest body_digest;
	/* The creator, always; with OOB only the service's bytes. */
	scoll_nid_t creator;
	uint64_t creator_nonce;
	uint8_t oob[16];
	struct wire_digest choice_digest; /* with SUBSET */
	struct wire_digest addresses;     /* with ADDRESSES */
	/* With SENDER; its last byte is not 0, none: it does not know. */
	uint8_t address_size;
	uint8_t address[WIRE_ADDRESS_MAX];
	uint8_t signature[SCOLL_SIGNATURE_MAX]; /* with SIGNED */
	/* With START: the receiver's boot nonce; 0: the sender knows none. */
	uint64_t start;

	uint64_t bulk_size;
	uint64_t bulk_there; /* bytes that the sender has already */
	uint8_t piece_count; /* 0 only with bulk_size 0 */
	struct remote_piece pieces[SCOLL_BULK_IOVS_MAX]; /* the sender's */

	/* The body, in its order. */
	const uint8_t *params;
	uint16_t params_size;
	const uint8_t *choice;
	uint16_t choice_size;
	const uint8_t *payload;
	size_t payload_size;
};

/*
 * Bytes of its head, with the seal. Only flags, piece_count and address_size
 * are read.
 */
size_t wire_bcast_head_size(const struct wire_bcast *bcast,
			    const struct scoll_authenticator *auth);
/*
 * With SIGNED, which the authenticator has to have: the signature, at the root,
 * when all is there that stays the same at every node. Errors are the
 * authenticator's.
 */
int wire_bcast_sign(struct wire_bcast *bcast,
		    const struct scoll_authenticator *auth);
/*
 * Write the head, without a seal but for its place. The body is not looked at,
 * only its sizes: body_digest was computed by the root. -EINVAL: something is
 * not what wire_message_open() takes; -EMSGSIZE: head and body are more than
 * SCOLL_BCAST_MAX. Returns the head's bytes.
 */
int wire_bcast_encode(const struct wire_bcast *bcast,
		      const struct scoll_authenticator *auth,
		      uint8_t ret_head[WIRE_BCAST_HEAD_MAX]);

/* What differs between children. */
struct wire_child {
	scoll_nid_t nid;
	uint64_t tag;
	uint32_t part_size;
	uint16_t part_count;
	uint64_t start;      /* read only with START */
	uint64_t bulk_there; /* read only if there is bulk data */
};

/*
 * The head for one child from what wire_bcast_encode() has written; ret_head
 * may be `head` itself, or has head_size bytes. -EINVAL: a field of child is
 * out of its range.
 */
int wire_bcast_seal(const uint8_t *head, size_t head_size,
		    const struct scoll_authenticator *auth,
		    const struct wire_child *child, uint8_t *ret_head);

/* Bulk ready, abort, reports wanted: news about a request from the parent. */
struct wire_notice {
	scoll_nid_t root;
	uint64_t root_nonce;
	uint64_t number;
	scoll_nid_t sender;
	/*
	 * Bulk ready: 0, or the negative errno for which there will be no more.
	 * Abort: the negative errno of the end, -ECANCELED if nothing else.
	 */
	int status;
	/* Bulk ready: bytes there; reports wanted: how many, not 0. */
	uint64_t amount;
	uint64_t start; /* the receiver's boot nonce; 0: not known */
};

/* kind: not WIRE_BCAST. Returns bytes, or -EINVAL. */
int wire_notice_encode(enum wire_kind kind, const struct wire_notice *notice,
		       scoll_nid_t to, const struct scoll_authenticator *auth,
		       uint8_t ret_bytes[WIRE_NOTICE_MAX]);

struct wire_message {
	enum wire_kind kind;
	union {
		struct wire_bcast bcast;   /* WIRE_BCAST */
		struct wire_notice notice; /* the others */
	};
};

/* Open what has come. *ret is written only when the result is WIRE_OK. */
enum wire_result wire_message_open(const void *bytes, size_t size,
				   const struct scoll_authenticator *auth,
				   struct wire_message *ret);
/*
 * Of a broadcast of another version, which is not verified: where an error
 * reply goes. False: it does not say.
 */
bool wire_bcast_origin(const void *bytes, size_t size, scoll_nid_t *ret_sender,
		       uint64_t *ret_tag);

/* --- replies --- */

/* A node that failed or was not reached, by its rank in the tree. */
struct wire_failure {
	uint32_t rank;
	int16_t status;  /* a negative errno */
	uint8_t type;    /* enum scoll_error_type, not NONE */
	bool is_subtree; /* and everybody below it */
	bool is_reached; /* only its answer is missing; not with is_subtree */
};

enum wire_reply_flag {
	WIRE_REPLY_LAST = 1u << 0, /* no more parts */
	WIRE_REPLY_MORE = 1u << 1, /* reports follow; with LAST only */
	/* It was for another start of ours: refused, and may come again. */
	WIRE_REPLY_START = 1u << 2,
};

/* The head of a reply. Only a last part has failures. */
struct wire_reply {
	uint16_t flags;
	uint64_t tag; /* the broadcast's */
	scoll_nid_t sender;
	int status;   /* 0 or a negative errno; 0 unless it is the last part */
	uint8_t type; /* enum scoll_error_type; NONE: status is 0 */
	uint16_t part;
	uint32_t failure_total; /* here and in the reports */
	uint16_t failure_count; /* here */
	struct wire_failure failures[WIRE_REPLY_FAILURES_MAX];
	uint64_t start; /* with START: the sender's boot nonce, not 0 */
};

/* Failures that fit into a head beside the seal. */
unsigned int wire_reply_capacity(const struct scoll_authenticator *auth);
/*
 * Write the head for this payload. -EINVAL: a field is out of its range;
 * -EMSGSIZE: the payload is larger than SCOLL_REPLY_PART_MAX.
 */
int wire_reply_encode(const struct wire_reply *reply, const void *payload,
		      size_t payload_size, scoll_nid_t to,
		      const struct scoll_authenticator *auth,
		      uint8_t ret_head[WIRE_REPLY_HEAD]);
/*
 * Open what has come under a tag: size bytes in all, of which payload has those
 * behind the head. `from` and tag are the expected ones: another sender or tag
 * is WIRE_FIELD.
 */
enum wire_result wire_reply_open(const uint8_t head[WIRE_REPLY_HEAD],
				 const void *payload, size_t size,
				 scoll_nid_t from, uint64_t tag,
				 const struct scoll_authenticator *auth,
				 struct wire_reply *ret_reply);

/* More failures of a reply. */
struct wire_report {
	uint64_t tag; /* the broadcast's */
	scoll_nid_t sender;
	uint16_t number; /* 0, 1, ... below WIRE_REPORTS_MAX */
	bool is_last;
	uint16_t failure_count;  /* at most WIRE_REPORT_FAILURES_MAX */
	const uint8_t *failures; /* encoded: see wire_failure_at */
};

/* Returns bytes; -EINVAL. `failures` of the report is not read. */
int wire_report_encode(const struct wire_report *report,
		       const struct wire_failure *failures, scoll_nid_t to,
		       const struct scoll_authenticator *auth,
		       uint8_t ret_bytes[WIRE_REPORT_MAX]);
/* As wire_reply_open; all failures were checked. */
enum wire_result wire_report_open(const void *bytes, size_t size,
				  scoll_nid_t from, uint64_t tag,
				  const struct scoll_authenticator *auth,
				  struct wire_report *ret_report);
/* index < failure_count. */
void wire_failure_at(const struct wire_report *report, unsigned int index,
		     struct wire_failure *ret_failure);
