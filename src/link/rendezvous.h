/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that are read from their sender. */
#pragma once

#include "base/hash.h"
#include "link/memory.h"
#include "link/receive.h"

/* A message that is being read from its sender; in its arrival's memory. */
struct reading {
	struct link_op op;
	struct link_ep *ep;
	struct rail *rail;
	struct reading *next;
	struct reading *before, *after; /* of those that were issued */
	bool was_seen; /* waits since before the last look: loss.c */
	struct lent lent;
	/* NULL: it has ended for the program; its sender may be unanswered. */
	struct receive *receive;
	fi_addr_t source;
	struct link_frame frame;
	size_t size; /* to be read */
	int error; /* by which it ended; with a receive it is to be asked for */
	/* Sent in pieces, since it cannot be read: push.c */
	bool is_pushed;
	uint32_t reader;
	size_t got;
	UT_hash_handle hh;
};

/*
 * A message that is to be read comes with the memory that this takes: its
 * arrival has this capacity, and the structure of its reader is there.
 */
size_t reading_capacity(const struct rail *rail);
static inline struct arrival *arrival_around(void *buffer)
{
	return (struct arrival *)buffer - 1;
}
/* Begins to read a message, whose arrival it has from now on. */
void reading_start(struct receive *receive, struct arrival *arrival);
/*
 * The same of one that several rails could not read: by push.c. They are
 * locked.
 */
void reading_push(struct receive *receive, struct arrival *arrival, int error);
/* Goes on with what is on the rail's list of work. The rail is locked. */
void reading_work(struct rail *rail);
void reading_ended(struct reading *reading, int error);
/* As send_each_old() and send_drop_of(), of messages that are to be read. */
void reading_each_old(struct rail *rail, loss_report *report, void *arg);
void reading_drop_of(struct rail *rail, uint64_t number, int error);
/* Ends those for the program that the core does not end. */
void reading_leave_of(struct rail *rail, uint64_t number, int error);
/* Nobody will read it: tells the sender. It is freed. No rail is locked. */
void reading_refuse(struct arrival *arrival);
/* Whether a sender has not been answered yet, for want of memory. */
bool reading_is_unanswered(struct rail *rail);
void readings_drop(struct rail *rail);
