/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has not followed a rotation of keys. */
#pragma once

#include <stdint.h>

#include "lanes/cli/cli.h"

/*
 * Ask the manager whether all nodes have shown that they have the active key.
 * EXIT_LATER, and which nodes have not; or what the manager's answer is.
 */
int key_check_nodes(struct cli *cli, uint32_t active);
