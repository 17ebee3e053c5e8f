/* SPDX-License-Identifier: BSD-3-Clause */
/* The two hash tables of a shape, for match.c alone. */
#pragma once

#include "link/match/match.h"

/* Small tables; returns 0 or -ENOMEM. */
int table_init(struct match_shape *s);
void table_fini(struct match_shape *s);

/* The bucket where receives are that such a message fits, if any does. */
struct match_receive **table_receives(const struct match_shape *s,
				      uint64_t source, uint64_t tag);
/* The bucket where messages are that such a receive fits, if any does. */
struct match_message **table_messages(const struct match_shape *s,
				      uint64_t source, uint64_t tag);

void table_add_receive(struct match_shape *s, struct match_receive *r);
/* Before the first for which `compare` says that it comes later. */
void table_insert_receive(struct match_shape *s, struct match_receive *r,
			  int (*compare)(const struct match_receive *a,
					 const struct match_receive *b));
void table_remove_receive(struct match_shape *s, struct match_receive *r);

/* `shape` is the number of `s`, and so of the message's links. */
void table_add_message(struct match_shape *s, unsigned shape,
		       struct match_message *msg);
void table_remove_message(struct match_shape *s, unsigned shape,
			  struct match_message *msg);
void table_replace_message(struct match_shape *s, unsigned shape,
			   struct match_message *msg, struct match_message *by);
/* Empties the table of messages; their links are left as they are. */
void table_forget_messages(struct match_shape *s);
