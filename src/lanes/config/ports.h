/* SPDX-License-Identifier: BSD-3-Clause */
/* The ports that one daemon listens on: each needs its own. */
#pragma once

#include "lanes/config/parse.h"

/*
 * Report listeners of a manager, its endpoint among them, that are to have one
 * port. An interface is not looked up: it counts as having every address.
 * Values that are no addresses are left to others.
 */
void ports_check(const struct parse *parse, const struct config *config,
		 unsigned int roles, struct report *report);
