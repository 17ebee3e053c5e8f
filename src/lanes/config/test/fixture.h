/* SPDX-License-Identifier: BSD-3-Clause */
/* Drivers for a configuration, and short forms of parsing one that is a text. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanes/config/config.h"

/* none; fast, which has a setting that needs a restart; wide, with checks. */
extern const struct fairlead_driver *const config_test_drivers[];

/* Errors name the file "f". */
int config_test_parse(const char *text, unsigned int roles,
		      struct config **ret_config, char **ret_errors);
/* It has to be good. The caller destroys it. */
struct config *config_test_parsed(const char *text);
/* The text has exactly these errors. */
void config_test_refused(const char *text, const char *expected);
