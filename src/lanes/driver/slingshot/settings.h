/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of the section. One file may serve manager and nodes, so that
 * each half checks all of them. Pure.
 */
#pragma once

#include "base/settings.h"
#include "lanes/driver/common/vnis.h"
#include "lanes/driver/slingshot/policy.h"

struct slingshot_settings {
	/* The manager's: what they mean comes to the nodes with each lane. */
	struct vnis_settings vnis; /* first */
	struct slingshot_policy policy;
	/* A node's. */
	const char *library;
	const char *device_path;
	bool is_emulation;
	bool requires_devices;
};

extern const struct fairlead_settings slingshot_settings;
extern const struct vnis slingshot_vnis;

/* Texts are those of the list. -EINVAL with all errors. */
int slingshot_settings_read(const struct fairlead_setting *list, size_t count,
			    struct slingshot_settings *ret_settings,
			    struct fairlead_error *ret_error);
