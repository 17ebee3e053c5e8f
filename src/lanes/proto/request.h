/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job manager's request (doc/rfc/request-and-grant.md): checked in itself,
 * and expanded. Whether its nodes and its interconnect exist is not looked at
 * here.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hostlist.h"
#include "lanes/proto/names.h"

#define REQUEST_DIGEST_SIZE 32

/* Everything is the request's own. */
struct request {
	struct request_key key;
	char key_text[REQUEST_KEY_MAX + 1]; /* the one form of the key */
	uint32_t uid;
	uint32_t gid;
	struct hostlist *nodes; /* no two alike */
	uint32_t *cores;        /* 1..RUNS_VALUE_MAX, one a node */
	uint32_t *tasks;        /* likewise */
	/* The same three as shortest texts; they fit an APPLY. */
	char *nodes_text;
	char *cores_text;
	char *tasks_text;
	uint32_t cpus_per_task;
	char interconnect[FAIRLEAD_DRIVER_NAME_MAX + 1];
	char options[FAIRLEAD_OPTIONS_MAX + 1];
};

/*
 * Check and expand. -EINVAL, or -E2BIG over a limit, with a text that names
 * the member; -ENOMEM. The JSON is not kept. interconnect: of a request that
 * names none.
 */
int request_parse_json(const json_t *json, const char *interconnect,
		       struct request **ret_request,
		       struct fairlead_error *ret_error);
void request_destroy(struct request *request);
DEFINE_AUTO(struct request, request_destroy)

/*
 * A digest of what is asked for, defaults filled in: "4" and "4(x2)" on two
 * nodes are the same. Two requests under one key are the same when their
 * digests are.
 */
void request_digest(const struct request *request,
		    uint8_t ret_digest[REQUEST_DIGEST_SIZE]);
