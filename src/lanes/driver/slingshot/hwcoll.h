/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hardware collectives: a job may reserve multicast trees at the fabric
 * manager, an external reservation (doc/rfc/external-reservations.md). Its
 * tasks make trees with the token of the reservation, which they get by
 * variables. Pure.
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
	const char *node_ca; /* likewise, on nodes */
	const char *prefix;  /* "": the cluster's name */
	uint32_t trees;      /* of a job */
	uint32_t addresses;  /* of the fabric: trees of all jobs together */
	uint32_t min_nodes;  /* of a job that has not asked; 0: none has */
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
		trees; /* those of the option; after the plan those asked for */
};

/* -EINVAL with a text. */
int hwcoll_option(const char *value, struct hwcoll_request *ret_request,
		  struct fairlead_error *ret_error);

/*
 * Ask for the job's reservation, if it is to have one, and set request->trees.
 * A job that has asked for what cannot be had gets the reason.
 */
void hwcoll_plan(const struct hwcoll_settings *settings, size_t node_count,
		 struct hwcoll_request *request, struct fairlead_plan *plan);

/* What the settings mean for the manager. */
void hwcoll_outside(const struct hwcoll_settings *settings,
		    struct fairlead_outside *ret_outside);

/*
 * For nodes: variables of the reservation's name and token, "NAME\nTOKEN", each
 * NAME=VALUE and a zero. The caller wipes and frees *ret_bytes; nothing
 * where there is no reservation. -EINVAL with a text, without the token.
 */
int hwcoll_pack(const struct hwcoll_settings *settings,
		const struct fairlead_pack *pack, uint32_t trees,
		uint8_t **ret_bytes, size_t *ret_size,
		struct fairlead_error *ret_error);

/* The variables of a record with a reservation, after those of every lane. */
#define HWCOLL_JOB "FI_CXI_COLL_JOB_ID"
#define HWCOLL_VARIABLES                                                     \
	HWCOLL_JOB, "FI_CXI_COLL_MCAST_TOKEN", "FI_CXI_COLL_FABRIC_MGR_URL", \
		"FI_CXI_HWCOLL_MIN_NODES", "FI_CXI_HWCOLL_ADDRS_PER_JOB"
/* Of those where it is set. */
#define HWCOLL_CACERT "FI_CXI_COLL_FABRIC_MGR_CACERT"
/* Of each step: its launcher sets it. */
#define HWCOLL_STEP "FI_CXI_COLL_JOB_STEP_ID"
