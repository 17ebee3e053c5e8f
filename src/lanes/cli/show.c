/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/show.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"

void show_pools(struct cli *cli, const json_t *answer)
{
	static const struct column columns[] = {
		{ "INTERCONNECT", 0, "interconnect" },
		{ "POOL", 0, "pool" },
		{ "UNIVERSE", COLUMN_RIGHT, "universe" },
		{ "FREE", COLUMN_RIGHT, "free" },
		{ "HELD", COLUMN_RIGHT, "held" },
		{ "QUARANTINED", COLUMN_RIGHT, "quarantined" },
		{ "WITHHELD", COLUMN_RIGHT, "withheld" },
		{ "DRAINING", COLUMN_RIGHT, "draining" },
		{ 0 },
	};
	json_auto_t *rows = json_array();
	const char *driver, *name;
	json_t *of_driver, *pool;

	json_object_foreach (json_object_get(answer, "pools"), driver,
			     of_driver) {
		json_object_foreach (of_driver, name, pool) {
			json_t *row = json_copy(pool);

			json_object_set_new(row, "interconnect",
					    json_string(driver));
			json_object_set_new(row, "pool", json_string(name));
			json_array_append_new(rows, row);
		}
	}
	output_table(cli, columns, rows);
}

void show_grants(struct cli *cli, const json_t *answer)
{
	static const struct column columns[] = {
		{ "GRANT", COLUMN_RIGHT, "grant_id" },
		{ "KEY", 0, "key" },
		{ "STATE", COLUMN_STATE, "state" },
		{ "INTERCONNECT", 0, "interconnect" },
		{ "USER", 0, "uid", output_uid },
		{ "IDS", 0, "ids", output_ids },
		{ "TEXT", COLUMN_WRAP, "text" },
		{ 0 },
	};

	output_table(cli, columns, json_object_get(answer, "grants"));
}

char *show_usable(const json_t *usable)
{
	return memory_text(json_is_true(usable) ? "usable" : "unusable");
}

/* "TXQs 256/2048, ..." */
static char *format_resources(const json_t *resources)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = memory_have(open_memstream(&text, &size));
	const char *separator = "";
	const char *name;
	json_t *resource;

	json_object_foreach ((json_t *)resources, name, resource) {
		fprintf(stream, "%s%s %lld/%lld", separator, name,
			(long long)output_number(resource, "reserved"),
			(long long)output_number(resource, "total"));
		separator = ", ";
	}
	fclose(stream);
	return text;
}

void show_devices(struct cli *cli, const json_t *answer)
{
	static const struct column columns[] = {
		{ "INTERCONNECT", 0, "interconnect" },
		{ "DEVICE", 0, "name" },
		{ "STATE", COLUMN_STATE, "usable", show_usable },
		{ "RESERVED/TOTAL", COLUMN_WRAP, "resources",
		  format_resources },
		{ "DETAIL", COLUMN_WRAP, "detail" },
		{ 0 },
	};

	output_table(cli, columns, json_object_get(answer, "devices"));
}

/* An object of no grant has 0. */
static char *format_grant(const json_t *grant_id)
{
	return json_integer_value(grant_id) > 0
		       ? memory_format("%lld",
				       (long long)json_integer_value(grant_id))
		       : NULL;
}

void show_objects(struct cli *cli, const json_t *answer)
{
	static const struct column columns[] = {
		{ "INTERCONNECT", 0, "interconnect" },
		{ "DEVICE", 0, "device" },
		{ "ID", COLUMN_RIGHT, "id" },
		{ "GRANT", COLUMN_RIGHT, "grant_id", format_grant },
		{ "USER", 0, "uid", output_uid },
		{ "IDS", 0, "ids", output_ids },
		{ "FLAGS", 0, "flags", output_join },
		{ "DETAIL", COLUMN_WRAP, "detail" },
		{ 0 },
	};

	output_table(cli, columns, json_object_get(answer, "objects"));
}

void show_busy(struct cli *cli, const json_t *answer)
{
	const json_t *element;
	size_t i;

	json_array_foreach (json_object_get(answer, "busy"), i, element)
		fprintf(cli->out, "busy %lld: %s\n",
			(long long)output_number(element, "grant_id"),
			output_text(element, "text"));
}

/* A line each; a grant without an object has no device. */
static void print_objects(FILE *out, const char *verb, const json_t *objects)
{
	const json_t *object;
	size_t i;

	json_array_foreach (objects, i, object) {
		json_int_t grant_id = output_number(object, "grant_id");
		const char *device = output_text(object, "device");
		const char *text = output_text(object, "text");

		fputs(verb, out);
		if (*device)
			fprintf(out, " %s %s %lld",
				output_text(object, "interconnect"), device,
				(long long)output_number(object, "id"));
		if (grant_id > 0)
			fprintf(out, "%s grant %lld", *device ? " of" : "",
				(long long)grant_id);
		fprintf(out, "%s%s\n", *text ? ": " : "", text);
	}
}

void show_cleaned(struct cli *cli, const json_t *answer, bool is_dry_run)
{
	print_objects(cli->out, is_dry_run ? "would destroy" : "destroyed",
		      json_object_get(answer, "destroyed"));
	print_objects(cli->out, "left", json_object_get(answer, "left"));
}

void show_freed(struct cli *cli, const json_t *answer)
{
	json_t *freed = json_object_get(answer, "freed");
	json_t *withheld = json_object_get(answer, "withheld");
	const char *driver;
	json_t *ids;

	if (json_object_size(freed) + json_object_size(withheld) == 0)
		fprintf(cli->out, "nothing was freed\n");
	json_object_foreach (freed, driver, ids) {
		_auto_(freep) char *text = output_ids(ids);

		fprintf(cli->out, "freed of %s: %s\n", driver, text);
	}
	json_object_foreach (withheld, driver, ids) {
		_auto_(freep) char *text = output_ids(ids);

		fprintf(cli->out,
			"withheld of %s: %s, until the nodes that are up "
			"report it gone\n",
			driver, text);
	}
}
