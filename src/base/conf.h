/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The grammar of configuration files: sections with settings.
 *
 *	# a comment
 *	NAME = VALUE
 *	NAME { ... }
 *	NAME "TITLE" { ... }
 *
 * A value or title is a word, or a text in double or single quotes, which is
 * taken as it stands. What names and values mean is the caller's.
 */
#pragma once

#include "base/settings.h"

struct conf_section {
	const char *name;  /* "": the file itself; NULL: an error stood there */
	const char *title; /* "": none */
	size_t parent;     /* index of the section around it */
	unsigned int line;
	struct fairlead_setting *settings;
	size_t count;
};

struct conf {
	char *text;                    /* of all names and values */
	struct conf_section *sections; /* the first is the file itself */
	size_t count;
};

/* What is wrong is added to errors; the rest is there all the same. */
void conf_parse(const char *text, size_t size, struct conf *ret_conf,
		struct settings_errors *errors);
/* Frees contents of settings, too. */
void conf_fini(struct conf *conf);

/* The first such section, or NULL. */
const struct conf_section *conf_find(const struct conf *conf, size_t parent,
				     const char *name, const char *title);
/* Of a section, NULL: none. */
struct settings conf_settings(const struct conf_section *section,
			      struct settings_errors *errors);
