/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hardware collectives: what a job reserves at the fabric manager, a number of
 * multicast trees (doc/rfc/external-reservations.md), and the variables with
 * which libfabric in its tasks then makes the trees. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "fairlead_driver.h"

#define HWCOLL_TREES_MAX 8192 /* addresses of a fabric */

struct hwcoll_settings {
	const char *url; /* "": there is no fabric manager */
	const char *auth;
	const char *credentials;
	const char *ca;      /* "": the system's authorities */
	const char *node_ca; /* for libfabric; "": it does not verify */
	const char *prefix;  /* "": the cluster's name */
	uint32_t trees;      /* of a job */
	uint32_t addresses;  /* of the fabric: trees of all jobs together */
	uint32_t min_nodes;  /* of a job that does not ask; 0: it gets none */
	uint32_t wait_ms;
	uint32_t timeout_ms;
	bool is_loss_fatal;
};

/* What a job's options say: hwcoll=on|off|N. */
enum hwcoll_choice {
	HWCOLL_AUTOMATIC, /* nothing */
	HWCOLL_ON,
	HWCOLL_OFF,
	HWCOLL_TREES, /* a number of them */
};

struct hwcoll_request {
	enum hwcoll_choice choice;
	uint32_t
		trees; /* N of the option; after hwcoll_plan those to ask for */
};

/* -EINVAL with a text. */
int hwcoll_option(const char *value, struct hwcoll_request *ret_request,
		  struct fairlead_error *ret_error);

/*
 * Have the plan ask for the job's reservation, if it is to have one, or give the
 * reason if it asks for what it cannot have. Sets request->trees.
 */
void hwcoll_plan(const struct hwcoll_settings *settings, size_t node_count,
		 struct hwcoll_request *request, struct fairlead_plan *plan);

/* What the settings mean for the manager. */
void hwcoll_outside(const struct hwcoll_settings *settings,
		    struct fairlead_outside *ret_outside);

/*
 * The variables of a reservation, for nodes: each NAME=VALUE and a zero.
 * pack->outside is "NAME\nTOKEN". The caller wipes and frees *ret_bytes; NULL
 * without a reservation. -EINVAL with a text, which has no token.
 */
int hwcoll_pack(const struct hwcoll_settings *settings,
		const struct fairlead_pack *pack, uint32_t trees,
		uint8_t **ret_bytes, size_t *ret_size,
		struct fairlead_error *ret_error);

#define HWCOLL_JOB       "FI_CXI_COLL_JOB_ID"
#define HWCOLL_TOKEN     "FI_CXI_COLL_MCAST_TOKEN"
#define HWCOLL_URL       "FI_CXI_COLL_FABRIC_MGR_URL"
#define HWCOLL_MIN_NODES "FI_CXI_HWCOLL_MIN_NODES"
#define HWCOLL_ADDRESSES "FI_CXI_HWCOLL_ADDRS_PER_JOB"
/* The variables of a record with a reservation, after those of every lane. */
#define HWCOLL_VARIABLES \
	HWCOLL_JOB, HWCOLL_TOKEN, HWCOLL_URL, HWCOLL_MIN_NODES, HWCOLL_ADDRESSES
/* Besides, if the setting hwcoll_node_ca is set. */
#define HWCOLL_CACERT "FI_CXI_COLL_FABRIC_MGR_CACERT"
/* Of each step: its launcher sets it. */
#define HWCOLL_STEP "FI_CXI_COLL_JOB_STEP_ID"
