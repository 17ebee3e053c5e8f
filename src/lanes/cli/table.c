/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables by libsmartcols. Colour only says again what the text says: what is
 * well is green, what waits yellow, what needs somebody red.
 */
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "lanes/cli/output.h"

#define COLOR_GOOD    "\033[32m"
#define COLOR_WAITING "\033[33m"
#define COLOR_BAD     "\033[31m"

struct table {
	struct cli *cli;
	struct libscols_table *scols;
	const struct column *columns;
	struct libscols_line *line;
	size_t next; /* column of the next cell */
};

static const struct {
	const char *word;
	const char *color;
} colors[] = {
	{ "up", COLOR_GOOD },
	{ "active", COLOR_GOOD },
	{ "applied", COLOR_GOOD },
	{ "usable", COLOR_GOOD },
	{ "OK", COLOR_GOOD },
	{ "down", COLOR_BAD },
	{ "failed", COLOR_BAD },
	{ "refused", COLOR_BAD },
	{ "unreachable", COLOR_BAD },
	{ "unusable", COLOR_BAD },
	{ "FAIL", COLOR_BAD },
	{ "reserved", COLOR_WAITING },
	{ "applying", COLOR_WAITING },
	{ "releasing", COLOR_WAITING },
	{ "revoking", COLOR_WAITING },
	{ "pending", COLOR_WAITING },
	{ "connecting", COLOR_WAITING },
	{ "leaving", COLOR_WAITING },
	{ "drained", COLOR_BAD },
	{ "WARN", COLOR_WAITING },
};

/* By the last word: "up, drained" is drained. */
static const char *color_of(const char *text)
{
	const char *word = strrchr(text, ' ');

	word = word ? word + 1 : text;
	for (size_t i = 0; i < sizeof(colors) / sizeof(*colors); i++)
		if (strcmp(colors[i].word, word) == 0)
			return colors[i].color;
	return NULL;
}

static int add_columns(struct table *table)
{
	const struct column *column;

	for (column = table->columns; column->name; column++) {
		int flags = 0;

		if (column->flags & COLUMN_RIGHT)
			flags |= SCOLS_FL_RIGHT;
		if (column->flags & COLUMN_WRAP)
			flags |= SCOLS_FL_WRAP;
		if (!scols_table_new_column(table->scols, column->name, 0,
					    flags))
			return -1;
	}
	return 0;
}

struct table *table_create(struct cli *cli, const struct column *columns)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->cli = cli;
	table->columns = columns;
	table->scols = scols_new_table();
	if (!table->scols || add_columns(table) < 0) {
		scols_unref_table(table->scols);
		free(table);
		return NULL;
	}
	scols_table_set_stream(table->scols, cli->out);
	scols_table_enable_noheadings(table->scols, cli_flag(cli, "no-header"));
	scols_table_enable_colors(table->scols, cli->is_colored);
	return table;
}

void table_row(struct table *table)
{
	if (!table)
		return;
	table->line = scols_table_new_line(table->scols, NULL);
	table->next = 0;
}

/* A newline in a cell would be printed as \x0a. */
static char *join_lines(const char *text)
{
	char *joined = NULL;
	size_t joined_size = 0;
	FILE *stream = open_memstream(&joined, &joined_size);
	const char *separator = "";
	const char *line;
	size_t size;

	if (!stream)
		return NULL;
	while ((line = text_line(&text, &size))) {
		fprintf(stream, "%s%.*s", separator, (int)size, line);
		separator = "; ";
	}
	fclose(stream);
	return joined;
}

void table_text(struct table *table, const char *text)
{
	_auto_(freep) char *joined = NULL;
	struct libscols_cell *cell;

	if (!table || !table->line)
		return;
	if (text && strchr(text, '\n'))
		text = joined = join_lines(text);
	text = text && *text ? text : "-";
	scols_line_set_data(table->line, table->next, text);
	if (table->columns[table->next].flags & COLUMN_STATE) {
		cell = scols_line_get_cell(table->line, table->next);
		scols_cell_set_color(cell, color_of(text));
	}
	table->next++;
}

void table_owned(struct table *table, char *text_owned)
{
	_auto_(freep) char *text = text_owned;

	table_text(table, text);
}

void table_number(struct table *table, json_int_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)number);
	table_text(table, text);
}

void table_finish(struct table *table)
{
	if (!table)
		return;
	if (scols_table_get_nlines(table->scols) > 0) {
		fflush(table->cli->out);
		scols_print_table(table->scols);
	}
	scols_unref_table(table->scols);
	free(table);
}
