/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libconfuse reads the grammar. Every option is a text with a callback that
 * notes it with its line; numbers and the like are converted later, so that
 * one bad value does not end the parse. libconfuse does end at an unknown
 * name: it is reported, its statement is blanked out and the text is parsed
 * once more.
 */
#include "lanes/config/parse.h"

#include <confuse.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/config/scan.h"

#define UNKNOWN_FORMAT "no such option '%s'" /* libconfuse's */

/* One pass over a prepared text. */
struct pass {
	struct parse *parse;
	unsigned int line; /* of the error; 0 when there was none */
	char *unknown;     /* the name, when the error was one */
	char *error;       /* else its text */
	bool has_no_memory;
};

/*
 * libconfuse hands no context to its callbacks, and its scanner is global
 * anyway: this is set during one call of it.
 */
static struct pass *current_pass;

static const char *section_name(const cfg_t *cfg)
{
	return strcmp(cfg->name, "root") == 0 ? "" : cfg->name;
}

static int append(struct parse *parse, const char *section, const char *title,
		  const char *key, const char *value, unsigned int line)
{
	struct parse_entry *entry;

	if (parse->count == parse->capacity) {
		size_t capacity = parse->capacity * 2 + 32;

		entry = reallocarray(parse->entries, capacity, sizeof(*entry));
		if (entry == NULL)
			return -ENOMEM;
		parse->entries = entry;
		parse->capacity = capacity;
	}
	entry = &parse->entries[parse->count];
	*entry = (struct parse_entry){
		.section = section,
		.title = strdup(title),
		.key = strdup(key),
		.value = strdup(value),
		.line = line,
	};
	parse->count++;
	if (entry->title == NULL || entry->key == NULL || entry->value == NULL)
		return -ENOMEM;
	return 0;
}

/* Names that outlive the cfg_t: entries keep them. */
static const char *section_constant(const char *name)
{
	static const char *const names[] = { "manager", "submitter", "node",
					     "fabric",  "driver",    "log",
					     "slurm",   "flux" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]) == 0)
			return names[i];
	}
	return "";
}

static int on_value(cfg_t *cfg, cfg_opt_t *opt, const char *value,
		    void *ret_value)
{
	const char *title = cfg->title == NULL ? "" : cfg->title;

	*(const char **)ret_value = value;
	if (append(current_pass->parse, section_constant(section_name(cfg)),
		   title, opt->name, value, (unsigned int)cfg->line) < 0)
		current_pass->has_no_memory = true;
	return 0;
}

static void on_error(cfg_t *cfg, const char *format, va_list args)
{
	struct pass *pass = current_pass;

	if (pass->line != 0)
		return;
	pass->line = (unsigned int)cfg->line;
	if (strcmp(format, UNKNOWN_FORMAT) == 0) {
		pass->unknown = strdup(va_arg(args, const char *));
		pass->has_no_memory |= pass->unknown == NULL;
	} else if (vasprintf(&pass->error, format, args) < 0) {
		pass->error = NULL;
		pass->has_no_memory = true;
	}
}

#define TEXT(name) CFG_STR_CB(name, NULL, CFGF_NODEFAULT, on_value)

static cfg_opt_t submitter_options[] = { TEXT("uid"), CFG_END() };

static cfg_opt_t manager_options[] = {
	TEXT("listen"),
	TEXT("socket"),
	TEXT("listen_clients"),
	TEXT("munge_socket"),
	TEXT("state"),
	TEXT("key"),
	TEXT("nodes"),
	TEXT("interconnect"),
	TEXT("user"),
	TEXT("apply_timeout"),
	TEXT("revoke_timeout"),
	TEXT("drain_command"),
	TEXT("undrain_command"),
	TEXT("metrics"),
	CFG_SEC("submitter", submitter_options,
		CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
	CFG_END(),
};

static cfg_opt_t node_options[] = {
	TEXT("name"),
	TEXT("manager"),
	TEXT("socket"),
	TEXT("run"),
	TEXT("jobs"),
	TEXT("key"),
	TEXT("user"),
	TEXT("incarnation"),
	TEXT("epilog_timeout"),
	TEXT("housekeeping_timeout"),
	CFG_END(),
};

static cfg_opt_t fabric_options[] = {
	TEXT("provider"),
	TEXT("listen"),
	TEXT("listen_manager"),
	CFG_END(),
};

static cfg_opt_t slurm_options[] = {
	TEXT("submitter"), TEXT("manager"), TEXT("commands"),
	TEXT("conf"),      TEXT("grace"),   TEXT("answer_timeout"),
	CFG_END(),
};

static cfg_opt_t flux_options[] = {
	TEXT("submitter"),
	TEXT("manager"),
	TEXT("commands"),
	CFG_END(),
};

static cfg_opt_t log_options[] = { TEXT("level"), CFG_END() };

/* The settings of all drivers together; which are whose is checked later. */
static int driver_options(const struct fairlead_driver *const *drivers,
			  size_t count, cfg_opt_t **ret_options)
{
	cfg_opt_t *options;
	size_t total = 0;
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; drivers[i]->settings[j] != NULL; j++)
			total++;
	}
	options = calloc(total + 1, sizeof(*options));
	if (options == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; drivers[i]->settings[j] != NULL; j++) {
			const char *name = drivers[i]->settings[j];
			size_t k = 0;

			while (k < used && strcmp(options[k].name, name) != 0)
				k++;
			if (k == used)
				options[used++] = (cfg_opt_t)TEXT(name);
		}
	}
	*ret_options = options;
	return 0;
}

/* Sections count too when nothing stands in them. */
static int note_sections(cfg_t *root, const char *text, struct parse *parse)
{
	int result = 0;

	for (unsigned int i = 0; i < cfg_size(root, "driver"); i++) {
		const char *title = cfg_title(cfg_getnsec(root, "driver", i));

		result |= append(parse, "driver", title, "", "",
				 scan_section_line(text, "driver", title));
	}
	if (cfg_size(root, "manager") == 0)
		return result < 0 ? -ENOMEM : 0;
	for (unsigned int i = 0; i < cfg_size(root, "manager|submitter"); i++) {
		const char *title =
			cfg_title(cfg_getnsec(root, "manager|submitter", i));

		result |= append(parse, "submitter", title, "", "",
				 scan_section_line(text, "submitter", title));
	}
	return result < 0 ? -ENOMEM : 0;
}

/* Parse once; 0 when the pass says how it went. */
static int run_pass(const char *text, cfg_opt_t *options, struct pass *pass)
{
	cfg_t *root = cfg_init(options, CFGF_NONE);

	if (root == NULL)
		return -ENOMEM;
	current_pass = pass;
	cfg_set_error_function(root, on_error);
	if (cfg_parse_buf(root, text) == CFG_SUCCESS) {
		pass->parse->is_complete = true;
		if (note_sections(root, text, pass->parse) < 0)
			pass->has_no_memory = true;
	} else if (pass->line == 0) {
		pass->line = (unsigned int)root->line;
	}
	current_pass = NULL;
	cfg_free(root);
	return pass->has_no_memory ? -ENOMEM : 0;
}

/* False when the parse is over. */
static bool handle_pass(struct pass *pass, char *text, struct report *report)
{
	if (pass->line == 0)
		return false;
	if (pass->unknown != NULL) {
		report_add(report, pass->line, "no such setting '%s'",
			   pass->unknown);
		return !report->is_cut &&
		       scan_blank_statement(text, pass->line, pass->unknown);
	}
	report_add(report, pass->line, "%s; what follows was not read",
		   pass->error == NULL ? "syntax error" : pass->error);
	return false;
}

static int parse_prepared(char *text, cfg_opt_t *options, struct parse *parse,
			  struct report *report)
{
	bool is_over = text[strspn(text, " \t\n")] == 0;

	parse->is_complete = is_over;
	while (!is_over) {
		struct pass pass = { .parse = parse };
		int result;

		parse_fini(parse);
		result = run_pass(text, options, &pass);
		is_over = result < 0 || !handle_pass(&pass, text, report);
		free(pass.unknown);
		free(pass.error);
		if (result < 0)
			return result;
	}
	return 0;
}

int parse_text(const char *text, size_t size,
	       const struct fairlead_driver *const *drivers,
	       size_t driver_count, struct parse *ret_parse,
	       struct report *report)
{
	_auto_(freep) char *prepared = scan_prepare(text, size, report);
	_auto_(freep) cfg_opt_t *driver = NULL;
	struct parse parse = { 0 };
	int result;

	if (prepared == NULL ||
	    driver_options(drivers, driver_count, &driver) < 0)
		return -ENOMEM;
	cfg_opt_t options[] = {
		TEXT("cluster"),
		CFG_SEC("manager", manager_options, CFGF_NODEFAULT),
		CFG_SEC("node", node_options, CFGF_NODEFAULT),
		CFG_SEC("fabric", fabric_options, CFGF_NODEFAULT),
		CFG_SEC("driver", driver,
			CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
		CFG_SEC("slurm", slurm_options, CFGF_NODEFAULT),
		CFG_SEC("flux", flux_options, CFGF_NODEFAULT),
		CFG_SEC("log", log_options, CFGF_NODEFAULT),
		CFG_END(),
	};
	result = parse_prepared(prepared, options, &parse, report);
	if (result < 0) {
		parse_fini(&parse);
		return result;
	}
	*ret_parse = parse;
	return 0;
}

const struct parse_entry *parse_find(const struct parse *parse,
				     const char *section, const char *title,
				     const char *key)
{
	for (size_t i = 0; i < parse->count; i++) {
		const struct parse_entry *entry = &parse->entries[i];

		if (strcmp(entry->section, section) == 0 &&
		    strcmp(entry->title, title) == 0 &&
		    strcmp(entry->key, key) == 0)
			return entry;
	}
	return NULL;
}

void parse_fini(struct parse *parse)
{
	for (size_t i = 0; i < parse->count; i++) {
		free(parse->entries[i].title);
		free(parse->entries[i].key);
		free(parse->entries[i].value);
	}
	free(parse->entries);
	*parse = (struct parse){ 0 };
}
