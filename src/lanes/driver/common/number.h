/* SPDX-License-Identifier: BSD-3-Clause */
/* Decimal numbers as people write them in options and settings. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Digits only, no sign, blank or leading zero, from min to max. False, and
 * nothing written, for any other text.
 */
bool number_parse(const char *text, uint32_t min, uint32_t max,
		  uint32_t *ret_number);
