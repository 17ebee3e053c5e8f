/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events go out as they are, one JSON object a line, for jq. With --human the
 * same in words: moment, time since the first one, name, and the context's
 * members as name=value.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"

static const struct option_spec options[] = {
	{ .name = "human", .letter = 'H', .help = "print sentences, not JSON" },
	OPTION_SOCKET,
	OPTION_TIMEOUT,
	{ 0 },
};

static void print_context(FILE *out, const json_t *context)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)context, name, value) {
		_auto_(freep) char *text = NULL;

		if (json_is_string(value)) {
			text = memory_text(json_string_value(value));
			text_clean(text);
			fprintf(out, " %s=\"%s\"", name, text);
			continue;
		}
		text = memory_have(
			json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY));
		fprintf(out, " %s=%s", name, text);
	}
}

/* *first is the moment of the first event, 0 before it. */
static void print_human(struct cli *cli, const char *line, double *first)
{
	json_auto_t *event = json_loads(line, 0, NULL);
	/* To the nearest millisecond. */
	double moment = output_real(event, "timestamp") + 0.0005;
	char time[OUTPUT_TIME_MAX];

	if (!event) {
		fprintf(cli->out, "%s\n", line);
		return;
	}
	if (*first == 0)
		*first = moment;
	output_time(moment, time);
	fprintf(cli->out, "%s.%03d %+12.3f s  %s", time,
		(int)((moment - (long long)moment) * 1000), moment - *first,
		output_text(event, "name"));
	print_context(cli->out, json_object_get(event, "context"));
	putc('\n', cli->out);
}

static void print_events(struct cli *cli, const json_t *answer)
{
	const json_t *event;
	double first = 0;
	size_t i;

	json_array_foreach (json_object_get(answer, "events"), i, event) {
		const char *line = json_string_value(event);

		if (line && cli_flag(cli, "human"))
			print_human(cli, line, &first);
		else if (line)
			fprintf(cli->out, "%s\n", line);
	}
}

const struct subcommand command_eventlog = {
	.name = "eventlog",
	.summary = "Print the events of a grant or a job, one JSON object a "
		   "line",
	.arguments = "GRANT|KEY|JOB",
	.options = options,
	.run = remote_run,
	.op = "eventlog",
	.members = remote_selector_members,
	.show = print_events,
};
