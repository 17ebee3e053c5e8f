/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings but those of drivers: their tables and types. */
#pragma once

#include "fairlead/setting.h"

/* Each table fills a struct config. */
struct config_section {
	const char *name; /* "": settings outside of sections */
	struct fairlead_settings table;
};

extern const struct config_section config_sections[]; /* ended by a NULL name */
/* Of a submitter, in the section manager; fills a struct config_submitter. */
extern const struct fairlead_settings config_submitter_settings;

/* -EINVAL with a text: SUBMITTER of a key cannot be that. */
int type_submitter_check(const char *name, struct fairlead_error *ret_error);
