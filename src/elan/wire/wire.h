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

#define WIRE_VERSION      1
#define WIRE_REQUEST_MAX  32768         /* bytes of a request */
#define WIRE_REPLY_MAX    (128u * 1024) /* bytes of a reply */

#define WIRE_DIR_VARIABLE "FAIRLEAD_RMS_DIR"
#define WIRE_DIR_DEFAULT  "/run/fairlead-rms"

enum wire_op {
	WIRE_NONE, /* in a reply: the daemon refuses the connection */
	WIRE_VERSION_GET,
	WIRE_PRGCREATE,
	WIRE_PRGDESTROY,
	WIRE_PRGIDS,
	WIRE_PRGINFO,
	WIRE_GETPRGID,
	WIRE_ADDPROC,
	WIRE_REMOVEPROC,
	WIRE_PRGSIGNAL,
	WIRE_PRGSUSPEND,
	WIRE_PRGRESUME,
	WIRE_PRGADDCAP,
	WIRE_SETCAP,
	WIRE_NCAPS,
	WIRE_MYCAP,
	WIRE_GETCAP,
	WIRE_PREFCAP,
	WIRE_ELANINITDONE,
	WIRE_PRGELANPIDS,
	WIRE_PRGGETSTATS,
	WIRE_SETELANSTATS,
	WIRE_SETCOREPATH,
	WIRE_GETCOREPATH,
	WIRE_ATTACH,
	WIRE_DETACH,
	WIRE_DEPOSIT,
	WIRE_TAKE_BACK,
	WIRE_DEPOSIT_NEXT,
	WIRE_RAIL,
	WIRE_DEPOSIT_TAKE,
	WIRE_DEPOSIT_IS,
	WIRE_RAILS,
	WIRE_PRGCLAIM,
	WIRE_OPEN, /* its reply has two descriptors */
	WIRE_ROUTE,
	WIRE_ADAPTER,
	WIRE_OP_COUNT,
};

/* Those that an operation does not have are zero. */
struct wire_request {
	enum wire_op op;
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
void wire_request_encode(const struct wire_request *request,
			 struct writer *writer);
/*
 * -EPROTONOSUPPORT: another version; -EPROTO: anything else that is wrong. No
 * value is checked.
 */
int wire_request_decode(const void *bytes, size_t size,
			struct wire_request *ret_request);

struct wire_reply {
	enum wire_op op;
	int32_t result;     /* 0, or a negative errno */
	struct reader body; /* a view into the packet */
};

/* The body follows. */
void wire_reply_encode(enum wire_op op, int32_t result, struct writer *writer);
/* As wire_request_decode. The body is read by the caller. */
int wire_reply_decode(const void *bytes, size_t size,
		      struct wire_reply *ret_reply);

/*
 * On the first descriptor of a reply to WIRE_OPEN a process sends messages, each
 * a packet {u32 rank, i32 timeout in ms (below 0: none), bytes}, and gets i32
 * what came of it before it sends the next. On the second come those that are
 * sent to it: {u32 rank, bytes}.
 */
#define WIRE_PORT_DESCRIPTORS  2
#define WIRE_PORT_SEND_HEAD    8
#define WIRE_PORT_RECEIVE_HEAD 4

void wire_write_stats(struct writer *writer, const struct rms_prgstats *stats);
void wire_read_stats(struct reader *reader, struct rms_prgstats *ret_stats);
