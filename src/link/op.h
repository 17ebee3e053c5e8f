/* SPDX-License-Identifier: BSD-3-Clause */
/* What a core's completion belongs to. */
#pragma once

#include "link/compat.h"

/* What a core's completion belongs to: its context points here. */
enum link_op_kind {
	OP_SEND,    /* a frame of ours */
	OP_SLAB,    /* a buffer into which a frame came */
	OP_RECEIVE, /* a receive, into which a shared rail puts the message */
	OP_ARRIVAL, /* a message nobody expected, which it puts into a buffer */
	OP_READ,    /* a rendezvous */
	OP_PIECE,   /* a part of one that goes over several rails */
	OP_ACCESS,  /* the program's own, to memory of a peer */
	OP_GIVEN,   /* a receive that a matching core has */
	OP_CLAIM,   /* a message that is claimed from it, in two steps */
	OP_PASSED,  /* a send as the core's own message */
};

struct link_op {
	struct fi_context2 context; /* the core's; first */
	enum link_op_kind kind;
};

/* The structure that has this field at `pointer`. */
#define container(pointer, type, field) \
	((type *)((char *)(pointer)-offsetof(type, field)))
