/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a job asks of its lane, and what the site lets it have.
 *
 *	vnis=N            0..4; default the setting default_vnis
 *	off               no lane
 *	tcs=A:B           classes; the first is the one of packets that name none
 *	reserved=RATE     sent at least so fast where the link is full
 *	max=RATE          sent at most so fast
 *	isolation=host    or netns: devices in a network namespace of the job
 *
 * RATE is "10M", "2500M" or "25G", bits a second, or "none". As with
 * slingshot's policy.h a job can ask for less than the site has, never for
 * more, and the completed options travel to the nodes. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "lanes/driver/ethernet/naming.h"
#include "fairlead_driver.h"

#define ETHERNET_RATE_MAX_MBIT 4000000 /* of a rate that can be written */
#define ETHERNET_DSCP_MAX      63

/* Slingshot's names; the order is the order of priority. */
enum ethernet_class {
	ETHERNET_DEDICATED_ACCESS,
	ETHERNET_LOW_LATENCY,
	ETHERNET_BULK_DATA,
	ETHERNET_BEST_EFFORT,
	ETHERNET_CLASS_COUNT,
};

enum ethernet_isolation {
	ETHERNET_HOST,
	ETHERNET_NETNS,
};

struct ethernet_policy {
	uint32_t classes;    /* bits 1 << enum ethernet_class; never 0 */
	uint32_t isolations; /* bits 1 << enum ethernet_isolation; never 0 */
	/* From here on what a job has that does not say. */
	uint32_t first_class;   /* enum ethernet_class */
	uint32_t isolation;     /* enum ethernet_isolation */
	uint32_t reserved_mbit; /* 0: nothing is set aside */
	uint32_t max_mbit;      /* 0: no maximum */
};

struct ethernet_request {
	bool is_off;
	uint32_t vni_count;
	uint32_t classes;
	uint32_t
		first_class; /* enum ethernet_class: packets that name no other */
	uint32_t isolation; /* enum ethernet_isolation */
	uint32_t reserved_mbit;
	uint32_t max_mbit;
};

/*
 * "25G", "none" (0 Mbit/s). -EINVAL with a text. Less than 1M cannot be
 * written, nor more than ETHERNET_RATE_MAX_MBIT.
 */
int ethernet_rate_parse(const char *text, uint32_t *ret_mbit,
			struct fairlead_error *ret_error);

/* LOW_LATENCY and BEST_EFFORT, no namespaces, no rates. */
extern const struct ethernet_policy ethernet_policy_default;

/*
 * Settings of the site: names with commas, the first of which is what a job has
 * that does not say. -EINVAL with a text.
 */
int ethernet_classes_parse(const char *text, struct ethernet_policy *policy,
			   struct fairlead_error *ret_error);
int ethernet_isolations_parse(const char *text, struct ethernet_policy *policy,
			      struct fairlead_error *ret_error);

/*
 * Read a job's options; what they leave out comes from `site`. -EINVAL, -E2BIG
 * with a text: unknown, malformed, more than the site has, or reserved above
 * max. For a node, which obeys what the manager decided, site is NULL.
 */
int ethernet_request_parse(const char *options,
			   const struct ethernet_policy *site,
			   uint32_t vni_count,
			   struct ethernet_request *ret_request,
			   struct fairlead_error *ret_error);
/* The same request, complete. */
void ethernet_request_format(const struct ethernet_request *request,
			     char text[FAIRLEAD_OPTIONS_MAX + 1]);
