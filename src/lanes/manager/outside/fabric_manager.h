/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reservations of a Slingshot fabric manager, as its client: a limit of
 * multicast trees for a job, and a session token. Pure: HTTP is a seam.
 *
 * An operation is one request. It is sent again if its access token has expired,
 * and a creation then reads a reservation that exists already; access tokens
 * take requests too. So it ends by itself, after five timeouts at the latest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/http.h"

#define FABRIC_MANAGER_TOKEN_MAX 4096 /* bytes of a session token */
#define FABRIC_MANAGER_NAME_MAX  127  /* bytes of a reservation's name */

enum fabric_manager_auth {
	FABRIC_MANAGER_OAUTH,
	FABRIC_MANAGER_BASIC,
	FABRIC_MANAGER_CERTIFICATE, /* by TLS alone */
};

/* Kept by reference. */
struct fabric_manager_config {
	const char
		*url; /* "https://HOST[:PORT][/PREFIX]", no slash at the end */
	enum fabric_manager_auth auth;
	/* OAuth client credentials; NULL for others. */
	const char *endpoint;
	const char *client_id;
	const char *client_secret;
	const char *password; /* BASIC: of the user "cxi"; or NULL */
	uint32_t timeout_ms;  /* of a request */
};

/* How an operation ended. Borrowed. */
struct fabric_manager_outcome {
	/*
	 * 0; -EAGAIN: it may or may not have been done, and can be tried
	 * again; -EINVAL, -ENOSPC, -EEXIST: refused, it was not done;
	 * -EACCES: the credentials were refused; -ENOENT: there is none;
	 * -EPROTO: an answer that cannot be read.
	 */
	int result;
	bool is_reached; /* the fabric manager has answered */
	struct fairlead_error error;
	const char *name;         /* of the reservation; not of list */
	const char *token;        /* of make */
	const char *const *names; /* of list */
	size_t name_count;
};

struct fabric_manager;

/* done: how an operation ended; never called within its beginning. */
struct fabric_manager *fabric_manager_create(
	const struct fabric_manager_config *config,
	const struct http_seam *http,
	void (*done)(void *ctx, uint64_t id,
		     const struct fabric_manager_outcome *outcome),
	void *ctx);
/* All that is under way ends with -EAGAIN and this text. */
void fabric_manager_cancel(struct fabric_manager *manager, const char *why);
/* Wipes tokens. What is under way ends without a call. */
void fabric_manager_destroy(struct fabric_manager *manager);
DEFINE_AUTO(struct fabric_manager, fabric_manager_destroy)

/*
 * Operations; id comes back in done. A name is of [A-Za-z0-9._-].
 *
 * make: reserve `limit` trees. One of that name that exists is taken over.
 * drop: release it, with its trees. None is success.
 * find: 0, or -ENOENT.
 * list: the names of all, also those of others.
 */
void fabric_manager_make(struct fabric_manager *manager, uint64_t id,
			 const char *name, uint32_t limit);
void fabric_manager_drop(struct fabric_manager *manager, uint64_t id,
			 const char *name);
void fabric_manager_find(struct fabric_manager *manager, uint64_t id,
			 const char *name);
void fabric_manager_list(struct fabric_manager *manager, uint64_t id);

/* The end of a request that was given to the seam. */
void fabric_manager_reply(struct fabric_manager *manager, uint64_t request,
			  const struct http_reply *reply);
