/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names that others choose and that end in keys, paths and log lines: of jobs
 * (doc/rfc/request-and-grant.md), drivers and nodes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hostlist.h"
#include "fairlead_driver.h"

#define SUBMITTER_MAX 32 /* bytes, without the zero */
#define JOB_NAME_MAX  FAIRLEAD_JOB_NAME_MAX
#define NODE_NAME_MAX HOSTLIST_NAME_MAX
/* "SUBMITTER/JOB/4294967295" */
#define REQUEST_KEY_MAX (SUBMITTER_MAX + 1 + JOB_NAME_MAX + 1 + 10)

/* A request's key: SUBMITTER/JOB/ATTEMPT. Each part is fit for a path. */
struct request_key {
	char submitter[SUBMITTER_MAX + 1];
	char job[JOB_NAME_MAX + 1];
	uint32_t attempt;
	bool has_attempt; /* false: it was left out, and is 0 */
};

/* -EINVAL with a text that says which part is wrong and how. */
int request_key_parse(const char *text, struct request_key *ret_key,
		      struct fairlead_error *ret_error);
/* The one form that is compared and stored; always with an attempt. */
void request_key_format(const struct request_key *key,
			char ret_text[REQUEST_KEY_MAX + 1]);

/* True for a key in the form that request_key_format writes. */
bool name_is_key(const char *text);
/* 1..FAIRLEAD_DRIVER_NAME_MAX of [a-z0-9_-], a letter or digit first. */
bool name_is_driver(const char *text);
/* One name of a host list. */
bool name_is_node(const char *text);
/* At most FAIRLEAD_OPTIONS_MAX bytes of printable ASCII; "" is allowed. */
bool name_is_options(const char *text);
