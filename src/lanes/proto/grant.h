/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The opaque grant that a job manager gets and keeps for its job
 * (doc/rfc/request-and-grant.md): a public part, and a sealed part that is
 * empty where the interconnect has no secrets.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

struct node_keys;
struct secret;

#define GRANT_ID_MAX      INT64_MAX /* it is a JSON number too */
#define GRANT_PUBLIC_MAX  393216    /* bytes of JSON text: 384 KiB */
#define GRANT_SEALED_MAX  65536     /* bytes */
#define GRANT_TEXT_PREFIX "fairlead-grant:1:"

struct grant {
	uint64_t grant_id;       /* 1..GRANT_ID_MAX */
	uint64_t epoch;          /* of the manager that made it */
	const char *public_text; /* one JSON object */
	const uint8_t *sealed;
	size_t sealed_size;
};

/* The public part. */
struct grant_public {
	uint64_t grant_id;
	const char *key;
	const char *interconnect;
	const char *nodes; /* host list */
	uint32_t uid, gid;
	uint32_t id_count; /* at most FAIRLEAD_LANE_IDS_MAX */
	const uint32_t *ids;
	const char *options; /* of the lane, completed by the driver */
	bool has_lane;       /* false: nothing is made on any node */
	const char *context; /* a JSON object, as `describe` gives it */
};

/*
 * The public part as JSON text; the caller frees it. -EMSGSIZE: over
 * GRANT_PUBLIC_MAX; -ENOMEM.
 */
int grant_public_format(const struct grant_public *public, char **ret_text);
/*
 * What an object of these members says; texts are the object's, context is
 * NULL. ids has room for FAIRLEAD_LANE_IDS_MAX. -EINVAL with a text.
 */
int grant_public_read(const json_t *object, uint32_t *ids,
		      struct grant_public *ret_public,
		      struct fairlead_error *ret_error);

/*
 * All of a grant at once: its public part and its text form; the caller frees
 * both. sealed: its sealed part, of size 0 without secrets. Errors as
 * grant_public_format; -EINVAL: a grant id out of range; -EMSGSIZE.
 */
int grant_make(const struct grant_public *public, uint64_t epoch,
	       const uint8_t *sealed, size_t sealed_size, char **ret_public,
	       char **ret_text);

/*
 * Append the opaque form; the grant's pointers are borrowed. -EINVAL: a grant
 * id out of range, or a public part that is no JSON object; -EMSGSIZE, -ENOMEM.
 */
int grant_encode(const struct grant *grant, struct writer *writer);
/*
 * -EBADMSG with a text, -EPROTONOSUPPORT for another
 * version, -ENOMEM. The grant owns its pointers until grant_fini.
 */
int grant_decode(const void *bytes, size_t size, struct grant *ret_grant,
		 struct fairlead_error *ret_error);
void grant_fini(struct grant *grant);

/* The form for scripts, one word; the caller frees it. Errors as encode. */
int grant_format(const struct grant *grant, char **ret_text);
/* Errors as decode. */
int grant_parse(const char *text, struct grant *ret_grant,
		struct fairlead_error *ret_error);

/*
 * Open the sealed part of a grant that was decoded, with the keys of one of its
 * nodes; the caller wipes *ret_secret. -ENODATA: there is none; -ENXIO: the
 * node is none of the job's; -ENOKEY: it is sealed under another key id;
 * -EKEYREJECTED: it does not open, being of another cluster, or changed;
 * -EBADMSG: damaged; -ENOMEM; each with a text.
 */
int grant_open(const struct grant *grant, const struct node_keys *keys,
	       struct secret *ret_secret, struct fairlead_error *ret_error);
