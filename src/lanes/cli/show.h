/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables that several subcommands show, from members of answers. */
#pragma once

#include "lanes/cli/output.h"

/* `pools` of status (counts) and of pools (id sets). */
void show_pools(struct cli *cli, const json_t *answer);
/* `grants` of node-status and prolog. */
void show_grants(struct cli *cli, const json_t *answer);
void show_devices(struct cli *cli, const json_t *answer);
void show_objects(struct cli *cli, const json_t *answer);
/* A cell: "usable", or "unusable". */
char *show_usable(const json_t *usable);
/* `busy` of epilog and housekeeping, a line each. */
void show_busy(struct cli *cli, const json_t *answer);
/* `destroyed` and `left` of clean, a line each. */
void show_cleaned(struct cli *cli, const json_t *answer, bool is_dry_run);
/* `freed` and `withheld` of node-fence and quarantine-release. */
void show_freed(struct cli *cli, const json_t *answer);
