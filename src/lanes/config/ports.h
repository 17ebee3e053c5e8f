/* SPDX-License-Identifier: BSD-3-Clause */
/* The ports that one daemon listens on: each needs its own. */
#pragma once

#include "lanes/config/config.h"

/* Report listeners of a manager, its endpoint among them, that share a port. */
void ports_check(const struct config *config, unsigned int roles,
		 struct settings_errors *errors);
