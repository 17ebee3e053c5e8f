/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What librms and the node's driver say to fairlead-rms: one packet a request,
 * one packet a reply, little endian. doc/rfc/elan3.md has it in words. Library
 * and daemon may be of different builds for a while, so that a change of what
 * is here takes another version; an operation that is added does not, since who
 * does not know it answers -EPROTO.
 */
#pragma once

#include <stdint.h>

#include "base/bytes.h"
#include "elan/capability.h"
#include "elan/route.h"

#define RMS_VERSION      1
#define RMS_REQUEST_MAX  32768         /* bytes of a request */
#define RMS_REPLY_MAX    (128u * 1024) /* bytes of a reply */

#define RMS_DIR_VARIABLE "FAIRLEAD_RMS_DIR"
#define RMS_DIR_DEFAULT  "/run/fairlead-rms"

enum rms_op {
	RMS_NONE, /* in a reply: the daemon refuses the connection */
	RMS_VERSION_GET,
	RMS_PRGCREATE,
	RMS_PRGDESTROY,
	RMS_PRGIDS,
	RMS_PRGINFO,
	RMS_GETPRGID,
	RMS_ADDPROC,
	RMS_REMOVEPROC,
	RMS_PRGSIGNAL,
	RMS_PRGSUSPEND,
	RMS_PRGRESUME,
	RMS_PRGADDCAP,
	RMS_SETCAP,
	RMS_NCAPS,
	RMS_MYCAP,
	RMS_GETCAP,
	RMS_PREFCAP,
	RMS_ELANINITDONE,
	RMS_PRGELANPIDS,
	RMS_PRGGETSTATS,
	RMS_SETELANSTATS,
	RMS_SETCOREPATH,
	RMS_GETCOREPATH,
	RMS_ATTACH,
	RMS_DETACH,
	RMS_DEPOSIT,
	RMS_DEPOSIT_TAKE,
	RMS_DEPOSIT_NEXT,
	RMS_RAIL,
	RMS_DEPOSIT_IS,
	RMS_RAILS,
	RMS_PRGCLAIM,
	RMS_OPEN, /* its reply has two descriptors */
	RMS_ROUTE,
	RMS_ADAPTER,
	RMS_OP_COUNT,
};

/* Those that an operation does not have are zero. */
struct rms_request {
	enum rms_op op;
	int32_t id;    /* of a program */
	int32_t index; /* of a capability; a rail */
	/* CPUs, pid, signal, context, processes, vp, up, is a dry run, ElanID. */
	int32_t value;
	uint32_t uid;   /* owner */
	uint64_t grant; /* grant id; the number of a deposit */
	struct rms_elanstats stats;
	struct elan_capability cap;
	char text[RMS_COREPATH_MAX]; /* a path */
	const uint8_t *routes;       /* a view, of whoever made the request */
	size_t routes_size;
};

/* Errors stay in the writer. */
void rms_request_encode(const struct rms_request *request,
			struct writer *writer);
/*
 * -EPROTONOSUPPORT: another version; -EPROTO: anything else that is wrong. No
 * value is checked.
 */
int rms_request_decode(const void *bytes, size_t size,
		       struct rms_request *ret_request);

struct rms_reply {
	enum rms_op op;
	int32_t result;     /* 0, or a negative errno */
	struct reader body; /* a view into the packet */
};

/* The body follows. */
void rms_reply_encode(enum rms_op op, int32_t result, struct writer *writer);
/* As rms_request_decode. The body is read by the caller. */
int rms_reply_decode(const void *bytes, size_t size,
		     struct rms_reply *ret_reply);

/*
 * On the first descriptor of a reply to RMS_OPEN a process sends messages, each
 * a packet {u32 rank, i32 timeout in ms (below 0: none), bytes}, and gets i32
 * what came of it before it sends the next. On the second come those that are
 * sent to it: {u32 rank, bytes}.
 */
#define RMS_PORT_DESCRIPTORS  2
#define RMS_PORT_SEND_HEAD    8
#define RMS_PORT_RECEIVE_HEAD 4

void rms_write_stats(struct writer *writer, const struct rms_prgstats *stats);
void rms_read_stats(struct reader *reader, struct rms_prgstats *ret_stats);
