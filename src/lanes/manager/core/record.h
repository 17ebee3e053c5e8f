/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies of the journal's rows (doc/rfc/journals.md): u16 version, u8 kind,
 * u8 0, fields, u8[16] BLAKE2b-128 of the row's id and key and of everything
 * before. The digest finds accidents: torn bytes, a body under another key.
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

#define RECORD_VERSION 2

/* `driver`: the name of the job's interconnect. */
void record_encode_job(const struct job *job, const char *driver,
		       struct writer *writer);
/* The job is the caller's; its driver index is not set. */
int record_decode_job(uint64_t grant_id, const char *key, const void *body,
		      size_t size, struct job **ret_job,
		      char ret_driver[FAIRLEAD_DRIVER_NAME_MAX + 1],
		      struct fairlead_error *ret_error);

void record_encode_part(uint64_t grant_id, const struct part *part,
			struct writer *writer);
/* The node index of *ret_part is not set. */
int record_decode_part(uint64_t grant_id, const void *body, size_t size,
		       struct part *ret_part, struct fairlead_error *ret_error);

void record_encode_node(const struct node *node, struct writer *writer);
/* Into a node that has its name and index only, and is as it was on failure. */
int record_decode_node(struct node *node, const void *body, size_t size,
		       struct fairlead_error *ret_error);

/* Names of one chunk; "" where an index is not in use. key: "#K". */
void record_encode_names(const char *key, const struct nodes *nodes,
			 uint32_t chunk, struct writer *writer);
int record_decode_names(const char *key, const void *body, size_t size,
			char ***ret_names, size_t *ret_count,
			struct fairlead_error *ret_error);
void record_names_destroy(char **names, size_t count);

struct record_tombstone {
	bool is_trace;
	uid_t uid;
	gid_t gid;
};

void record_encode_tombstone(uint64_t grant_id, const char *key,
			     const struct record_tombstone *tombstone,
			     struct writer *writer);
int record_decode_tombstone(uint64_t grant_id, const char *key,
			    const void *body, size_t size,
			    struct record_tombstone *ret_tombstone,
			    struct fairlead_error *ret_error);
