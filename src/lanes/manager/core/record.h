/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies of the journal's rows (doc/rfc/journals.md): u16 version, fields. The
 * store's digest of a row finds accidents: torn bytes, a body under another key.
 *
 * A decoder takes a body only if it would be encoded the same again. It checks
 * what can be checked of the body alone; whether nodes, drivers and
 * identifiers exist is for core_load to see. All return -EBADMSG with a text.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "lanes/manager/core/job.h"
#include "lanes/manager/core/node.h"
#include "lanes/manager/core/outside.h"

#define RECORD_VERSION 3

/* --- what every record has; for record*.c only --- */

void record_begin(struct writer *writer);
void record_end(const struct writer *writer);
/* Check the version; the reader is at the first field. */
int record_open(const void *body, size_t size, struct reader *ret_reader,
		struct fairlead_error *ret_error);
/* 0 when the reader is done and the fields are good. */
int record_check(const struct reader *reader, bool is_good,
		 struct fairlead_error *ret_error);

/* --- records --- */

/* `driver`: the name of the job's interconnect. */
void record_encode_job(const struct job *job, const char *driver,
		       struct writer *writer);
/* The job is the caller's; its driver index is not set. */
int record_decode_job(uint64_t grant_id, const char *key, const void *body,
		      size_t size, struct job **ret_job,
		      char ret_driver[FAIRLEAD_DRIVER_NAME_MAX + 1],
		      struct fairlead_error *ret_error);

void record_encode_part(const struct part *part, struct writer *writer);
/* The node index of *ret_part is not set. */
int record_decode_part(const void *body, size_t size, struct part *ret_part,
		       struct fairlead_error *ret_error);

void record_encode_node(const struct node *node, struct writer *writer);
/* Into a node that has its name and index only, and is as it was on failure. */
int record_decode_node(struct node *node, const void *body, size_t size,
		       struct fairlead_error *ret_error);

/* Names of one chunk; "" where an index is not in use. */
void record_encode_names(const struct nodes *nodes, uint32_t chunk,
			 struct writer *writer);
int record_decode_names(const void *body, size_t size, char ***ret_names,
			size_t *ret_count, struct fairlead_error *ret_error);
void record_names_destroy(char **names, size_t count);

struct record_tombstone {
	bool is_trace;
	uid_t uid;
	gid_t gid;
};

void record_encode_tombstone(const struct record_tombstone *tombstone,
			     struct writer *writer);
int record_decode_tombstone(const void *body, size_t size,
			    struct record_tombstone *ret_tombstone,
			    struct fairlead_error *ret_error);

/* since_us: wall time of the start of its state. */
void record_encode_outside(const struct outside_item *item, uint64_t since_us,
			   struct writer *writer);
/* What is allocated in *ret_item is the caller's. */
int record_decode_outside(uint64_t grant_id, const void *body, size_t size,
			  struct outside_item *ret_item, uint64_t *ret_since_us,
			  struct fairlead_error *ret_error);
