/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of settings, but for those of drivers. */
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
