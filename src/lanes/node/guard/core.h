/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard: the privileged half of a node. Pure.
 *
 * It believes nobody but the manager's signature, and alone decides what is
 * made on this node. The agent hands it commands and local requests; it can
 * have lanes taken away, and never made.
 *
 * Order of each change: journal, then driver, then journal, then the answer.
 * A guard that ends anywhere in between begins again from its journal: what
 * was applied stays, what was being applied is taken back, what was being
 * revoked is tried again when the agent asks.
 *
 *	guard_create -> (guard_take* -> guard_settle)* -> guard_destroy
 *
 * One thread. A request may block for as long as the driver does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/seam.h"
#include "lanes/proto/keyfile.h"
#include "lanes/node/guard/channel.h"
#include "lanes/node/guard/journal.h"

struct guard;

/* A driver that is built in. */
struct guard_driver {
	const struct fairlead_driver *driver;
	bool is_open;
	void *state;                        /* of its node half, when open */
	char detail[DRIVER_DETAIL_MAX + 1]; /* why it is not open */
};

struct guard_ops {
	/* Read and check the key file. */
	int (*load_keys)(void *ctx, struct node_keys *ret_keys,
			 struct fairlead_error *ret_error);
	/* The environment file of a job: mode 0600, its owner's; by rename. */
	int (*write_environment)(void *ctx, const struct request_key *key,
				 uid_t uid, gid_t gid, const void *bytes,
				 size_t size);
	/* Absent is no error. */
	int (*remove_environment)(void *ctx, const struct request_key *key);
};

/* All by reference, but for the incarnation. */
struct guard_config {
	const char *name;
	uint8_t incarnation[INCARNATION_SIZE];
	const char *software; /* version, for people */
	const struct guard_driver *drivers;
	size_t driver_count;
	struct journal_file journal;
	struct rng_seam rng;
	const struct guard_ops *ops;
	void *ops_ctx;
	const struct log *log; /* may be NULL */
};

/*
 * Read keys and journal, begin a new journal when there is none or it is of
 * another incarnation, and take back what was being applied. Errors: those of
 * the key file and of journal_open(), with a text that says what to do; -EINVAL
 * when the key file is another node's.
 */
int guard_create(const struct guard_config *config, struct guard **ret_guard,
		 struct fairlead_error *ret_error);
void guard_destroy(struct guard *guard);
DEFINE_AUTO(struct guard, guard_destroy)

/*
 * Answer one request. Replies are appended, each behind its length as on the
 * channel: none while the request waits. Only lanes that are to be taken back
 * wait, for those of the next requests or for guard_settle(), and are then
 * taken back together; any other request ends their waiting. Replies keep the
 * order of requests. -EBADMSG: not a request, which an agent never sends. The
 * guard is to be ended then.
 */
int guard_take(struct guard *guard, const void *request, size_t size,
	       struct writer *replies);
/* Does a lane wait? The guard is to be settled before anybody waits for it. */
bool guard_is_waiting(const struct guard *guard);
/* No request is there now: run the deferred revokes. */
int guard_settle(struct guard *guard, struct writer *replies);

/* The part of a grant that identifies its objects. Borrowed. */
struct holding {
	const char *driver;
	uint32_t uid;
	const uint32_t *ids;
	size_t id_count;
};

/* Does this object, which the driver has listed, belong to the grant? */
bool holding_has(const struct holding *holding, const char *driver,
		 const struct fairlead_object *object);
