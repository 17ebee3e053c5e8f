/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration as the engine wants it. */
#pragma once

#include "lanes/config/config.h"
#include "lanes/manager/engine.h"

struct role_config {
	struct engine_config engine;
	struct core_driver_config drivers[CORE_DRIVERS_MAX];
	struct engine_submitter submitters[CONFIG_SUBMITTERS_MAX];
};

/* Borrowed from config; ret->engine points into ret. */
void role_config_fill(const struct config *config, struct role_config *ret);
