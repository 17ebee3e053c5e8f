/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A configuration is a list of settings, `name = value`. What a section may
 * have is a table: each row has a setting's name, type, default and help, and
 * says where its value goes. Parsing, checking, reloading and the manual pages
 * all come from these tables.
 */
#ifndef FAIRLEAD_SETTING_H
#define FAIRLEAD_SETTING_H

#include <stddef.h>
#include <stdint.h>

#include "fairlead/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One line of a configuration. */
struct fairlead_setting {
	const char *name;
	const char *value;
	unsigned int line; /* in the file; 0: not known */
	/* FAIRLEAD_SETTING_FILE: what is in the file; NULL: not read. */
	const char *content;
	size_t content_size;
};

/* How a change is taken when the configuration is read again. */
enum {
	FAIRLEAD_SETTING_LIVE = 1u << 0, /* at once */
	/* By a restart of the daemon in this role. */
	FAIRLEAD_SETTING_RESTART_MANAGER = 1u << 1,
	FAIRLEAD_SETTING_RESTART_NODE = 1u << 2,
	/* The path of a file that is read with the configuration. */
	FAIRLEAD_SETTING_FILE = 1u << 3,
};

struct fairlead_setting_spec;

struct fairlead_setting_type {
	const char *form; /* for people: "PATH" */
	/* The value is the text; NULL: any. -EINVAL with a text. */
	int (*check)(const char *text, struct fairlead_error *ret_error);
	/* Or it is made of the text. -EINVAL with a text. */
	int (*parse)(const struct fairlead_setting_spec *spec, const char *text,
		     void *ret_value, struct fairlead_error *ret_error);
};

struct fairlead_setting_spec {
	const char *name;
	const struct fairlead_setting_type *type;
	size_t offset; /* of the value in the table's struct */
	/* The default. NULL: what the struct has. "": a text may be empty. */
	const char *fallback;
	unsigned int flags;
	const char *help;  /* sentences */
	uint32_t min, max; /* of a number */
};

struct fairlead_settings {
	const struct fairlead_setting_spec *specs; /* ended by a NULL name */
	size_t size; /* of the struct that they fill */
};

#ifdef __cplusplus
}
#endif

#endif
