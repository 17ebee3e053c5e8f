/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors come from several passes; people read them by line. */
#include "lanes/config/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

void report_add(struct report *report, unsigned int line, const char *format,
		...)
{
	struct report_entry entry = { .line = line };
	size_t at = report->count;
	va_list args;
	int size;

	if (report->count == CONFIG_ERRORS_MAX) {
		report->is_cut = true;
		return;
	}
	va_start(args, format);
	size = vasprintf(&entry.text, format, args);
	va_end(args);
	if (size < 0) {
		report->is_incomplete = true;
		return;
	}
	text_clean(entry.text);
	for (; at > 0 && report->entries[at - 1].line > line; at--)
		report->entries[at] = report->entries[at - 1];
	report->entries[at] = entry;
	report->count++;
}

char *report_format(const struct report *report, const char *name)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	if (report->is_incomplete)
		return NULL;
	out = open_memstream(&text, &size);
	if (out == NULL)
		return NULL;
	for (size_t i = 0; i < report->count; i++) {
		const struct report_entry *entry = &report->entries[i];

		if (i > 0)
			fputc('\n', out);
		if (entry->line > 0)
			fprintf(out, "%s:%u: %s", name, entry->line,
				entry->text);
		else
			fprintf(out, "%s: %s", name, entry->text);
	}
	if (report->is_cut)
		fprintf(out, "\n%s: more than %d errors", name,
			CONFIG_ERRORS_MAX);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

void report_fini(struct report *report)
{
	for (size_t i = 0; i < report->count; i++)
		free(report->entries[i].text);
	*report = (struct report){ 0 };
}
