/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a user asked for: --fairlead=OPTIONS. The text is the user's, and may be
 * forged on its way. Pure.
 */
#pragma once

#include <stdbool.h>

#include "fairlead/error.h"

/*
 * NAME[=VALUE][,...]: names of [a-z0-9_], values of [A-Za-z0-9_.:+-], 1 to
 * FAIRLEAD_OPTIONS_MAX bytes. What they mean is the interconnect's. -EINVAL
 * with a text of printable characters, which says what is wrong and what is
 * right.
 */
int option_check(const char *text, struct fairlead_error *ret_error);

/*
 * A good text asks for no lane: `off`, `vnis=0` or `interconnect=none` is in it.
 */
bool option_is_none(const char *text);
