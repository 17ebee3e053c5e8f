/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a site, and within it a job, wants of a service: traffic classes, and
 * how much of each NIC resource. The site's policy comes from the settings;
 * a job's options start from it and can ask for less, never for more. The
 * result travels to the nodes as the lane's completed options, so that a job
 * has the same policy on every node whatever their files say.
 *
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/settings.h"
#include "fairlead_driver.h"
#include "lanes/driver/common/vnis.h"
#include "lanes/driver/slingshot/hwcoll.h"
#include "lanes/driver/slingshot/libcxi_abi.h"

#define SLINGSHOT_VNIS_MAX CXI_SVC_MAX_VNIS

/* The classes that a job can have: all but the Ethernet stack's own. */
#define SLINGSHOT_TCS_ALL                                           \
	(1u << CXI_TC_DEDICATED_ACCESS | 1u << CXI_TC_LOW_LATENCY | \
	 1u << CXI_TC_BULK_DATA | 1u << CXI_TC_BEST_EFFORT)

struct slingshot_policy {
	uint32_t tcs; /* bits 1 << enum cxi_traffic_class; never 0 */
	uint32_t max[CXI_RSRC_TYPE_MAX];      /* most that a service may use */
	uint32_t per_core[CXI_RSRC_TYPE_MAX]; /* reserved for each core */
	uint32_t keep;    /* percent of a device that one job cannot reserve */
	uint32_t minimum; /* percent of what it wants that a job has to get */
	uint32_t refuses_less; /* 1: a job that gets less fails; 0: a warning */
};

/* What one job wants. */
struct slingshot_request {
	bool is_off;
	bool is_in_netns;      /* the job's network namespace, not its owner */
	bool has_exclusive_cp; /* communication profiles that nobody shares */
	uint32_t vni_count;    /* 0..SLINGSHOT_VNIS_MAX; 0 when is_off */
	struct slingshot_policy policy;
	struct hwcoll_request hwcoll;
};

/* The vendor's recommendation, BEST_EFFORT and LOW_LATENCY. */
extern const struct slingshot_policy slingshot_policy_default;
/* Nothing is refused: for nodes, which obey what the manager decided. */
extern const struct slingshot_policy slingshot_policy_unlimited;

#define SLINGSHOT_KEEP_MAX 90 /* percent */

/* "10%", of `name`. -EINVAL with a text. */
int slingshot_percent_parse(const char *name, const char *text, uint32_t min,
			    uint32_t max, uint32_t *ret_percent,
			    struct fairlead_error *ret_error);
/* "warn" or "refuse". -EINVAL with a text. */
int slingshot_below_minimum_parse(const char *text, uint32_t *ret_refuses_less,
				  struct fairlead_error *ret_error);

/* "TXQs": as the vendor's tools print it. */
const char *slingshot_resource_name(enum cxi_rsrc_type type);

/*
 * Read a job's options. What they leave out comes from `site`; `vni_count` is
 * the number of VNIs when they name none. -EINVAL, -E2BIG with a text: an
 * option that does not exist, is malformed, or asks for more than `ceiling`
 * has.
 */
int slingshot_request_parse(const char *options,
			    const struct slingshot_policy *site,
			    const struct slingshot_policy *ceiling,
			    uint32_t vni_count,
			    struct slingshot_request *ret_request,
			    struct fairlead_error *ret_error);

/*
 * The same request as options that depend on no configuration: classes are
 * always named, limits where they differ from slingshot_policy_default.
 */
void slingshot_request_format(const struct slingshot_request *request,
			      char text[FAIRLEAD_OPTIONS_MAX + 1]);

/* Have the options of a lane, also of one that is not read, `netns`? */
bool slingshot_options_have_netns(const char *options);

/* One file may serve manager and nodes, so each half checks all of them. */
struct slingshot_settings {
	/* The manager's: what they mean comes to the nodes with each lane. */
	struct vnis_settings vnis; /* first */
	struct slingshot_policy policy;
	struct hwcoll_settings hwcoll;
	bool allows_exclusive_cp;
	/* A node's. */
	const char *library;
	const char *device_path;
	const char *job_netns; /* "": jobs have no network namespaces */
	bool is_emulation;
	bool requires_devices;
};

extern const struct fairlead_settings slingshot_settings;
extern const struct vnis slingshot_vnis;

/* Texts are those of the list. -EINVAL with all errors. */
int slingshot_settings_read(const struct fairlead_setting *list, size_t count,
			    struct slingshot_settings *ret_settings,
			    struct fairlead_error *ret_error);
