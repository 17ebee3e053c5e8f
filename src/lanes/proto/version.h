/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which versions of the node protocol this build speaks.
 *
 * Both can be set from the command line. -DWIRE_VERSION=2 is how "one version
 * apart" is tested before there is a version 2: such a build speaks 1 and 2,
 * and where 2 was agreed on REGISTER, the bodies of COMMAND, and CONFIRM have
 * one more text, which it writes and otherwise ignores (LAYOUT_EXTENSION).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifndef WIRE_VERSION
#define WIRE_VERSION 1
#endif
#ifndef WIRE_VERSION_MIN
#define WIRE_VERSION_MIN 1
#endif

_Static_assert(WIRE_VERSION_MIN >= 1 && WIRE_VERSION_MIN <= WIRE_VERSION,
	       "versions count from 1");

/* True when this build can write messages of that version. */
static inline bool version_is_spoken(uint16_t version)
{
	return version >= WIRE_VERSION_MIN && version <= WIRE_VERSION;
}

/*
 * True when this build can read a message of that version: of a higher one
 * than its own it reads the fields that it knows.
 */
static inline bool version_is_readable(uint16_t version)
{
	return version >= WIRE_VERSION_MIN;
}
