/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What squeue, flux and scontrol print: refused with a text, or each line was
 * read, and every job is found again by its name, which a hook could make. And
 * a line of plugstack.conf: its parts are words.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "lanes/cli/reconcile/listing.h"
#include "lanes/cli/slurm/nodes.h"
#include "lanes/cli/slurm/plugstack.h"
#include "lanes/cli/slurm/settings.h"
#include "fuzz.h"

typedef int parse_fn(const char *text, size_t size,
		     struct job_listing **ret_listing,
		     struct fairlead_error *ret_error);

static size_t line_count(const uint8_t *data, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += data[i] == '\n';
	return count;
}

static void list_check(const uint8_t *data, size_t size, parse_fn *parse,
		       bool (*is_name)(const char *name))
{
	_auto_(listing_destroyp) struct job_listing *listing = NULL;
	struct fairlead_error error = { 0 };
	int result = parse((const char *)data, size, &listing, &error);

	if (result < 0) {
		fuzz_check(result == -EINVAL && error.code == result);
		fuzz_check(error.text[0] != 0 && !listing);
		return;
	}
	fuzz_check(listing->line_count == line_count(data, size));
	fuzz_check(size == 0 || data[size - 1] == '\n');
	fuzz_check((listing->count == 0) == (size == 0));
	for (size_t i = 0; i < listing->count; i++) {
		const struct listed_job *job = &listing->jobs[i];

		fuzz_check(is_name(job->name));
		fuzz_check(listing_state(listing, job->name) == job->state);
		fuzz_check(i == 0 || strcmp(job[-1].name, job->name) < 0);
	}
}

static void settings_check(const char *text)
{
	_auto_(freep) char *user = slurm_setting(text, "SlurmUser");
	_auto_(freep) char *prolog = slurm_setting_at(text, "Prolog", 1);
	uid_t uid;

	fuzz_check(!user || (*user && !strchr(user, '\n')));
	fuzz_check(!prolog || strcmp(prolog, "(null)") != 0);
	slurm_setting_uid(user, &uid);
	slurm_setting_has(prolog, "Alloc");
}

static void plugstack_check(char *text)
{
	_auto_(freep) char *value = NULL;
	struct plugstack_line line;
	enum plugstack_kind kind = plugstack_parse(text, &line);

	if (kind != PLUGSTACK_PLUGIN && kind != PLUGSTACK_INCLUDE)
		return;
	fuzz_check(*line.path && !strpbrk(line.path, " \t\r\n#"));
	value = plugstack_argument(line.arguments, "default");
	fuzz_check(!value || !strpbrk(value, " \t\r\n#"));
}

static void nodes_check(const uint8_t *data, size_t size)
{
	_auto_(freep) char *text = fuzz_text(data, size);
	_auto_(freep) char *nodes = NULL;
	struct fairlead_error error;

	if (slurm_nodes_free(text, &nodes, &error) < 0)
		fuzz_check(*error.text && !nodes);
	else
		fuzz_check(!nodes || *nodes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(freep) char *text = fuzz_text(data, size);

	list_check(data, size, listing_parse_slurm, listing_is_slurm_name);
	list_check(data, size, listing_parse_flux, listing_is_flux_name);
	nodes_check(data, size);
	settings_check(text);
	plugstack_check(text);
	return 0;
}
