/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of the section. One file may serve manager and nodes, so that
 * each half checks all of them. Pure.
 */
#pragma once

#include "base/settings.h"
#include "lanes/driver/common/vnis.h"
#include "lanes/driver/ethernet/policy.h"

struct ethernet_settings {
	/* The manager's alone. */
	struct vnis_settings vnis; /* first */
	/* The manager's and the nodes'. */
	struct ethernet_policy policy;
	struct ethernet_networks networks;
	uint32_t ipv4_lane_size, port; /* for networks */
	uint32_t dscp[ETHERNET_CLASS_COUNT];
	/* A node's. */
	const char *devices;
	const char *bpf_pins;
	const char *cgroup;     /* "": where cgroup v2 is mounted */
	const char *job_cgroup; /* "": gates go by uid only */
	const char *namespaces;
	bool requires_devices;
	bool is_shaping;
	uint32_t link_mbit; /* 0: what the NIC says */
	uint32_t ttl;
};

extern const struct fairlead_settings ethernet_settings;
extern const struct vnis ethernet_vnis;

/* Texts are those of the list. */
void ethernet_settings_read(const struct settings *settings,
			    struct ethernet_settings *ret_values);
