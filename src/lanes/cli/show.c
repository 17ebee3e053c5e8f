/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table is made of members that may be absent; it shows "-" for them, so
 * that an older daemon is shown too.
 */
#include "lanes/cli/show.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static void cell_count_or_ids(struct table *table, const json_t *value)
{
	if (json_is_integer(value))
		table_number(table, json_integer_value(value));
	else
		table_text(table, json_string_value(value));
}

void show_pools(struct cli *cli, const json_t *pools)
{
	static const struct column columns[] = {
		{ .name = "INTERCONNECT" },
		{ .name = "POOL" },
		{ .name = "UNIVERSE", .flags = COLUMN_RIGHT },
		{ .name = "FREE", .flags = COLUMN_RIGHT },
		{ .name = "HELD", .flags = COLUMN_RIGHT },
		{ .name = "QUARANTINED", .flags = COLUMN_RIGHT },
		{ .name = "WITHHELD", .flags = COLUMN_RIGHT },
		{ .name = "DRAINING", .flags = COLUMN_RIGHT },
		{ 0 },
	};
	static const char *const members[] = { "universe", "free",
					       "held",     "quarantined",
					       "withheld", "draining",
					       NULL };
	struct table *table = table_create(cli, columns);
	const char *driver, *name;
	json_t *of_driver, *pool;

	json_object_foreach ((json_t *)pools, driver, of_driver) {
		json_object_foreach (of_driver, name, pool) {
			table_row(table);
			table_text(table, driver);
			table_text(table, name);
			for (size_t i = 0; members[i]; i++)
				cell_count_or_ids(table,
						  json_object_get(pool,
								  members[i]));
		}
	}
	table_finish(table);
}

void show_grants(struct cli *cli, const json_t *grants)
{
	static const struct column columns[] = {
		{ .name = "GRANT", .flags = COLUMN_RIGHT },
		{ .name = "KEY" },
		{ .name = "STATE", .flags = COLUMN_STATE },
		{ .name = "INTERCONNECT" },
		{ .name = "USER" },
		{ .name = "IDS" },
		{ .name = "TEXT", .flags = COLUMN_WRAP },
		{ 0 },
	};
	struct table *table = table_create(cli, columns);
	const json_t *grant;
	size_t i;

	json_array_foreach (grants, i, grant) {
		table_row(table);
		table_number(table, output_number(grant, "grant_id"));
		table_text(table, output_text(grant, "key"));
		table_text(table, output_text(grant, "state"));
		table_text(table, output_text(grant, "interconnect"));
		table_owned(table, output_user(output_number(grant, "uid")));
		table_owned(table, output_ids(json_object_get(grant, "ids")));
		table_text(table, output_text(grant, "text"));
	}
	table_finish(table);
}

/* "TXQs 256/2048, ..." */
static char *format_resources(const json_t *resources)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	const char *separator = "";
	const char *name;
	json_t *resource;

	if (!stream)
		return NULL;
	json_object_foreach ((json_t *)resources, name, resource) {
		fprintf(stream, "%s%s %lld/%lld", separator, name,
			(long long)output_number(resource, "reserved"),
			(long long)output_number(resource, "total"));
		separator = ", ";
	}
	fclose(stream);
	return text;
}

void show_devices(struct cli *cli, const json_t *devices)
{
	static const struct column columns[] = {
		{ .name = "INTERCONNECT" },
		{ .name = "DEVICE" },
		{ .name = "STATE", .flags = COLUMN_STATE },
		{ .name = "RESERVED/TOTAL", .flags = COLUMN_WRAP },
		{ .name = "DETAIL", .flags = COLUMN_WRAP },
		{ 0 },
	};
	struct table *table = table_create(cli, columns);
	const json_t *device;
	size_t i;

	json_array_foreach (devices, i, device) {
		bool is_usable =
			json_is_true(json_object_get(device, "usable"));

		table_row(table);
		table_text(table, output_text(device, "interconnect"));
		table_text(table, output_text(device, "name"));
		table_text(table, is_usable ? "usable" : "unusable");
		table_owned(table, format_resources(json_object_get(
					   device, "resources")));
		table_text(table, output_text(device, "detail"));
	}
	table_finish(table);
}

void show_objects(struct cli *cli, const json_t *objects)
{
	static const struct column columns[] = {
		{ .name = "INTERCONNECT" },
		{ .name = "DEVICE" },
		{ .name = "ID", .flags = COLUMN_RIGHT },
		{ .name = "GRANT", .flags = COLUMN_RIGHT },
		{ .name = "USER" },
		{ .name = "IDS" },
		{ .name = "FLAGS" },
		{ .name = "DETAIL", .flags = COLUMN_WRAP },
		{ 0 },
	};
	struct table *table = table_create(cli, columns);
	const json_t *object;
	size_t i;

	json_array_foreach (objects, i, object) {
		json_int_t grant_id = output_number(object, "grant_id");
		const json_t *uid = json_object_get(object, "uid");

		table_row(table);
		table_text(table, output_text(object, "interconnect"));
		table_text(table, output_text(object, "device"));
		table_number(table, output_number(object, "id"));
		if (grant_id > 0)
			table_number(table, grant_id);
		else
			table_text(table, NULL);
		table_owned(table,
			    json_is_integer(uid)
				    ? output_user(json_integer_value(uid))
				    : NULL);
		table_owned(table, output_ids(json_object_get(object, "ids")));
		table_owned(table,
			    output_join(json_object_get(object, "flags")));
		table_text(table, output_text(object, "detail"));
	}
	table_finish(table);
}

void show_busy(struct cli *cli, const json_t *busy)
{
	const json_t *element;
	size_t i;

	json_array_foreach (busy, i, element)
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
			"withheld of %s: %s, until the nodes that are up say "
			"that it is gone\n",
			driver, text);
	}
}
