/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An attacker who sees and sends, but has no key: what it does changes
 * nothing, and so excuses nothing.
 */
#pragma once

#include "scenario.h"

struct attacker;

/* It listens from now on. */
struct attacker *attacker_create(struct cluster *cluster);
void attacker_destroy(struct attacker *attacker);
/* False: it has not received anything yet. */
bool attacker_strike(struct attacker *attacker, enum chaos how);
