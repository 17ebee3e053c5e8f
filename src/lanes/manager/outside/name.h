/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of reservations at a fabric manager: PREFIX-gID, with the grant's id.
 * Names of this form are ours, and no others are.
 */
#pragma once

#include <stdint.h>

#include "lanes/manager/outside/fabric_manager.h"

void outside_name_format(const char *prefix, uint64_t grant_id,
			 char name[FABRIC_MANAGER_NAME_MAX + 1]);
/* The grant id; 0: it is another client's. */
uint64_t outside_name_grant(const char *prefix, const char *name);
