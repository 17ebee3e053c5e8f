/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The grammar: a text becomes a flat list of settings, each with its section,
 * title and line. What the settings mean is checked afterwards.
 */
#pragma once

#include "lanes/config/report.h"

struct parse_entry {
	const char *section; /* "", "manager", "submitter", ...; a constant */
	char *title;         /* of "submitter" and "driver"; else "" */
	char *key;           /* "" stands for the section itself */
	char *value;
	unsigned int line;
};

/* Zero-initialised is empty. */
struct parse {
	struct parse_entry *entries;
	size_t count;
	size_t capacity;
	bool is_complete; /* the grammar was right up to the end */
};

/*
 * Parse, and report what is wrong: unknown names, all of them, and the first
 * error of the grammar. 0 also when something was reported; -ENOMEM.
 */
int parse_text(const char *text, size_t size,
	       const struct fairlead_driver *const *drivers,
	       size_t driver_count, struct parse *ret_parse,
	       struct report *report);
/* The first of that name, or NULL; borrowed. */
const struct parse_entry *parse_find(const struct parse *parse,
				     const char *section, const char *title,
				     const char *key);
void parse_fini(struct parse *parse);
