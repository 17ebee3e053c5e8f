/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables by libsmartcols. Colour only says again what the text says: what is
 * well is green, what waits yellow, what needs somebody red.
 */
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"
#include "lanes/cli/output.h"

#define COLOR_GOOD    "\033[32m"
#define COLOR_WAITING "\033[33m"
#define COLOR_BAD     "\033[31m"

static const struct {
	const char *word;
	const char *color;
} colors[] = {
	{ "up", COLOR_GOOD },           { "active", COLOR_GOOD },
	{ "applied", COLOR_GOOD },      { "usable", COLOR_GOOD },
	{ "OK", COLOR_GOOD },           { "down", COLOR_BAD },
	{ "failed", COLOR_BAD },        { "refused", COLOR_BAD },
	{ "unreachable", COLOR_BAD },   { "lost", COLOR_BAD },
	{ "unusable", COLOR_BAD },      { "FAIL", COLOR_BAD },
	{ "reserved", COLOR_WAITING },  { "applying", COLOR_WAITING },
	{ "releasing", COLOR_WAITING }, { "revoking", COLOR_WAITING },
	{ "pending", COLOR_WAITING },   { "connecting", COLOR_WAITING },
	{ "leaving", COLOR_WAITING },   { "drained", COLOR_BAD },
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

static struct libscols_table *create(struct cli *cli,
				     const struct column *columns)
{
	struct libscols_table *table = memory_have(scols_new_table());

	for (; columns->name; columns++) {
		int flags = 0;

		if (columns->flags & COLUMN_RIGHT)
			flags |= SCOLS_FL_RIGHT;
		if (columns->flags & COLUMN_WRAP)
			flags |= SCOLS_FL_WRAP;
		memory_have(
			scols_table_new_column(table, columns->name, 0, flags));
	}
	scols_table_set_stream(table, cli->out);
	scols_table_enable_noheadings(table, cli_flag(cli, "no-header"));
	scols_table_enable_colors(table, cli->is_colored);
	return table;
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

	memory_have(stream);
	while ((line = text_line(&text, &size))) {
		fprintf(stream, "%s%.*s", separator, (int)size, line);
		separator = "; ";
	}
	fclose(stream);
	return joined;
}

static char *format(const struct column *column, const json_t *row)
{
	const json_t *value =
		column->member ? json_object_get(row, column->member) : row;

	if (column->format)
		return column->format(value);
	if (json_is_integer(value))
		return memory_format("%" JSON_INTEGER_FORMAT,
				     json_integer_value(value));
	return memory_text(json_is_string(value) ? json_string_value(value)
						 : "");
}

static void fill_cell(struct libscols_line *line, size_t index,
		      const struct column *column, const json_t *row)
{
	_auto_(freep) char *text = format(column, row);
	_auto_(freep) char *joined = join_lines(text ? text : "");
	const char *shown = *joined ? joined : "-";

	scols_line_set_data(line, index, shown);
	if (column->flags & COLUMN_STATE)
		scols_cell_set_color(scols_line_get_cell(line, index),
				     color_of(shown));
}

void output_table(struct cli *cli, const struct column *columns,
		  const json_t *rows)
{
	struct libscols_table *table = create(cli, columns);
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		struct libscols_line *line =
			memory_have(scols_table_new_line(table, NULL));

		for (size_t k = 0; columns[k].name; k++)
			fill_cell(line, k, &columns[k], row);
	}
	if (json_array_size(rows) > 0) {
		fflush(cli->out);
		scols_print_table(table);
	}
	scols_unref_table(table);
}
