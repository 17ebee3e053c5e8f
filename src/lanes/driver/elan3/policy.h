/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the site allows, and what a job asks for in its options:
 *
 *	off              no lane
 *	layout=block     or cyclic: how virtual processes go over the nodes
 *	rails=0+1:2      rail sets with ':' between them, each of rails with '+';
 *	                 a job gets a capability for each set; default 0
 *	contexts=N       on each node; default: the most tasks of a node
 *	contiguous       the job's ElanIDs have to follow each other
 *
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"
#include "fairlead/rms.h"
#include "fairlead_driver.h"

#define ELAN3_RAILS_MAX ELAN_MAX_RAILS
#define ELAN3_CAPS_MAX  RMS_CAPS_MAX /* rail sets of a job */

/* Contexts that RMS hands out; the last of its range is not usable. */
#define ELAN3_CONTEXTS      "1024-2046"
#define ELAN3_CONTEXT_FIRST 1024
#define ELAN3_CONTEXT_LIMIT 2047
/*
 * Programs: (program << 9) - 1 is the key of a job's shared memory, which has
 * 32 bits.
 */
#define ELAN3_PROGRAMS      "1-1048575"
#define ELAN3_PROGRAM_LIMIT 8388608

struct elan3_settings;

struct elan3_policy {
	struct idset *contexts;
	struct idset *programs;
	uint32_t rail_count;
	bool is_reserve_fatal;
	struct idset *down;                        /* ElanIDs */
	struct idset *down_ports[ELAN3_RAILS_MAX]; /* NULL: none of that rail */
};

/* Of settings that are right. */
void elan3_policy_init(struct elan3_policy *policy,
		       const struct elan3_settings *settings);
void elan3_policy_fini(struct elan3_policy *policy);
/* "0:1 2:5-6": ElanIDs of each rail; NULL: none. -EINVAL with a text. */
int elan3_ports_parse(const char *text, struct idset *ports[ELAN3_RAILS_MAX],
		      struct fairlead_error *ret_error);

/* Is the node down, or its port on one of these rails? */
bool elan3_policy_is_down(const struct elan3_policy *policy, uint32_t id,
			  uint32_t rails);

struct elan3_request {
	bool is_off;
	bool is_cyclic;
	bool is_contiguous;
	uint32_t contexts; /* 0: as many as the most tasks of a node */
	uint32_t set_count;
	uint32_t sets[ELAN3_CAPS_MAX]; /* masks of rails, no two have one */
};

/* -EINVAL or -E2BIG with a text that names the option. */
int elan3_request_parse(const char *options, uint32_t rail_count,
			struct elan3_request *ret_request,
			struct fairlead_error *ret_error);
/* Completed options; parsed again they are the same request. */
void elan3_request_format(const struct elan3_request *request,
			  char text[FAIRLEAD_OPTIONS_MAX + 1]);
/* All rails of its sets. */
uint32_t elan3_request_rails(const struct elan3_request *request);
