/* SPDX-License-Identifier: BSD-3-Clause */
/* All errors of a configuration, in the order of its lines. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lanes/config/config.h"

struct report_entry {
	unsigned int line; /* 0: of the file as a whole */
	char *text;
};

/* Zero-initialised is empty. */
struct report {
	struct report_entry entries[CONFIG_ERRORS_MAX];
	size_t count;
	bool is_cut;        /* there were more */
	bool is_incomplete; /* memory was out for one */
};

void report_add(struct report *report, unsigned int line, const char *format,
		...) __attribute__((format(printf, 3, 4)));
/* `name:line: text` a line; the caller frees it. NULL: memory is out. */
char *report_format(const struct report *report, const char *name);
void report_fini(struct report *report);
