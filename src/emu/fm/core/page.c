/* SPDX-License-Identifier: BSD-3-Clause */
/* What there is, for a person with a browser. */
#include "emu/fm/core/model.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static void put(struct writer *page, const char *text)
{
	write_bytes(page, text, strlen(text));
}

static void put_escaped(struct writer *page, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '<')
			put(page, "&lt;");
		else if (*text == '&')
			put(page, "&amp;");
		else
			write_u8(page, (uint8_t)*text);
	}
}

static void put_number(struct writer *page, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	put(page, text);
}

static void put_cell(struct writer *page, const json_t *object,
		     const char *name)
{
	const json_t *value = json_object_get(object, name);

	put(page, "<td>");
	if (json_is_string(value))
		put_escaped(page, json_string_value(value));
	else
		put_number(page, (uint64_t)json_integer_value(value));
	put(page, "</td>");
}

static void put_jobs(const struct softfm *softfm, struct writer *page)
{
	const char *key;
	json_t *job;

	put(page, "<table><tr><th>job</th><th>limit</th><th>trees</th></tr>");
	json_object_foreach (softfm->jobs, key, job) {
		put(page, "<tr>");
		put_cell(page, job, "jobID");
		put_cell(page, job, "mcastLimit");
		put(page, "<td>");
		put_number(page, softfm_job_tree_count(job));
		put(page, "</td></tr>\n");
	}
	put(page, "</table>\n");
}

static void put_trees(const struct softfm *softfm, struct writer *page)
{
	const char *key;
	json_t *tree;

	put(page, "<table><tr><th>address</th><th>job</th><th>step</th>"
		  "<th>root</th><th>members</th></tr>");
	json_object_foreach (softfm->trees, key, tree) {
		put(page, "<tr><td>");
		put_escaped(page, key);
		put(page, "</td>");
		put_cell(page, tree, "jobID");
		put_cell(page, tree, "jobStepID");
		put_cell(page, tree, "hwRoot");
		put(page, "<td>");
		put_number(page,
			   json_array_size(json_object_get(tree, "macs")));
		put(page, "</td></tr>\n");
	}
	put(page, "</table>\n");
}

void softfm_page(const struct softfm *softfm, struct writer *page)
{
	put(page, "<!DOCTYPE html>\n<html lang=\"en\"><head>"
		  "<meta charset=\"utf-8\"><title>fairlead-softfm</title>"
		  "<style>body{font-family:sans-serif}"
		  "td,th{padding:0 1em;text-align:left}</style></head><body>"
		  "<h1>fairlead-softfm</h1>\n<h2>Jobs</h2>\n");
	put_jobs(softfm, page);
	put(page, "<h2>Multicast trees: ");
	put_number(page, json_object_size(softfm->trees));
	put(page, " of ");
	put_number(page, softfm->config->address_count);
	put(page, "</h2>\n");
	put_trees(softfm, page);
	put(page, "</body></html>\n");
	memory_check(page->result);
}
