/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of `fairlead doctor --flux` about job shells. */
#pragma once

#include "lanes/cli/doctor.h"

/*
 * Do job shells on this machine load our plugin, and no rival, by files that
 * only root and the instance's owner can change? initrc: the shells' first
 * file; folders: of plugins, with ':' between them; both NULL: Flux does not
 * say.
 */
void doctor_flux_shell(struct doctor *doctor, uid_t owner, const char *initrc,
		       const char *folders);
