/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of settings that are texts; for the files of this module. */
#pragma once

#include <stddef.h>

#include "lanes/config/check.h"
#include "lanes/config/config.h"

struct text_setting {
	const char *section;
	const char *key;
	size_t offset; /* of a char * in struct config */
	enum check_kind kind;
	const char *fallback;
	unsigned int restart_roles; /* whose change needs a restart */
	/*
	 * Whose change is taken live, without others telling of it: the core
	 * does of nodes and the interconnect.
	 */
	unsigned int live_roles;
};

extern const struct text_setting text_settings[];
extern const size_t text_setting_count;

static inline const char *text_setting_of(const struct config *config,
					  const struct text_setting *setting)
{
	return *(char *const *)((const char *)config + setting->offset);
}
