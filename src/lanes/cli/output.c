/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Texts for people. Numbers and names that scripts want are in --json, so that
 * these may change; what a person reads has units and is local time.
 */
#include "lanes/cli/output.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"

int output_json(struct cli *cli, const json_t *json)
{
	_auto_(freep) char *text =
		json_dumps(json, JSON_INDENT(2) | JSON_ENCODE_ANY);

	if (!text)
		return cli_fail(cli, EXIT_FAILED,
				"what there is to print is not JSON");
	fprintf(cli->out, "%s\n", text);
	return EXIT_DONE;
}

int output_answer(struct cli *cli, const json_t *answer,
		  void (*show)(struct cli *cli, const json_t *answer))
{
	if (cli_flag(cli, "json"))
		return output_json(cli, answer);
	if (show)
		show(cli, answer);
	return EXIT_DONE;
}

const char *output_text(const json_t *json, const char *name)
{
	const char *text = json_string_value(json_object_get(json, name));

	return text ? text : "";
}

json_int_t output_number(const json_t *json, const char *name)
{
	return json_integer_value(json_object_get(json, name));
}

double output_real(const json_t *json, const char *name)
{
	return json_number_value(json_object_get(json, name));
}

bool output_is_live(const json_t *grant)
{
	static const char *const states[] = { "reserved", "applying",
					      "active" };
	const char *state = output_text(grant, "state");

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(state, states[i]) == 0)
			return true;
	return false;
}

void output_duration(double seconds, char text[OUTPUT_DURATION_MAX])
{
	unsigned long long whole = seconds > 0 && seconds < 1e15 ? seconds : 0;

	if (seconds > 0 && seconds < 1)
		snprintf(text, OUTPUT_DURATION_MAX, "%d ms",
			 (int)(seconds * 1000));
	else if (whole < 60)
		snprintf(text, OUTPUT_DURATION_MAX, "%llu s", whole);
	else if (whole < 3600)
		snprintf(text, OUTPUT_DURATION_MAX, "%llu m %llu s", whole / 60,
			 whole % 60);
	else if (whole < 86400)
		snprintf(text, OUTPUT_DURATION_MAX, "%llu h %llu m",
			 whole / 3600, whole % 3600 / 60);
	else
		snprintf(text, OUTPUT_DURATION_MAX, "%llu d %llu h",
			 whole / 86400, whole % 86400 / 3600);
}

void output_time(double since, char text[OUTPUT_TIME_MAX])
{
	time_t moment = since > 0 && since < 1e15 ? since : 0;
	struct tm local;

	if (moment == 0 || !localtime_r(&moment, &local) ||
	    strftime(text, OUTPUT_TIME_MAX, "%Y-%m-%d %H:%M:%S", &local) == 0)
		strcpy(text, "-");
}

char *output_moment(const json_t *since)
{
	char text[OUTPUT_TIME_MAX];

	output_time(json_number_value(since), text);
	return memory_text(text);
}

static void print_ids_array(FILE *stream, const json_t *ids)
{
	const json_t *id;
	size_t i;

	json_array_foreach (ids, i, id)
		fprintf(stream, "%s%lld", i > 0 ? "," : "",
			(long long)json_integer_value(id));
}

static void print_ids_object(FILE *stream, const json_t *ids)
{
	const char *separator = "";
	const char *pool;
	json_t *set;

	json_object_foreach ((json_t *)ids, pool, set) {
		const char *text = json_string_value(set);

		if (!text || !*text)
			continue;
		fprintf(stream, "%s%s %s", separator, pool, text);
		separator = ", ";
	}
}

/* What print() writes, or "-" when it writes nothing; the caller frees it. */
static char *collect(void (*print)(FILE *stream, const json_t *json),
		     const json_t *json, const char *nothing)
{
	_auto_(freep) char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		memory_end();
	print(stream, json);
	if (fclose(stream) != 0)
		memory_end();
	return size > 0 ? take_ptr(text) : memory_text(nothing);
}

char *output_ids(const json_t *ids)
{
	return collect(json_is_array(ids) ? print_ids_array : print_ids_object,
		       ids, "-");
}

static void print_counts(FILE *stream, const json_t *counts)
{
	const char *separator = "";
	const char *name;
	json_t *count;

	json_object_foreach ((json_t *)counts, name, count) {
		if (json_integer_value(count) == 0)
			continue;
		fprintf(stream, "%s%lld %s", separator,
			(long long)json_integer_value(count), name);
		separator = ", ";
	}
}

char *output_counts(const json_t *counts)
{
	return collect(print_counts, counts, "none");
}

static void print_joined(FILE *stream, const json_t *texts)
{
	const json_t *text;
	size_t i;

	if (json_is_string(texts))
		fputs(json_string_value(texts), stream);
	json_array_foreach (texts, i, text)
		fprintf(stream, "%s%s", i > 0 ? "," : "",
			json_is_string(text) ? json_string_value(text) : "?");
}

void output_quoted(FILE *out, const char *text)
{
	putc('\'', out);
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", out);
		else
			putc(*text, out);
	putc('\'', out);
}

char *output_join(const json_t *texts)
{
	return collect(print_joined, texts, "-");
}

char *output_user(json_int_t uid)
{
	const struct passwd *user = getpwuid(uid);

	return user ? memory_text(user->pw_name)
		    : memory_format("%lld", (long long)uid);
}

char *output_uid(const json_t *uid)
{
	return json_is_integer(uid) ? output_user(json_integer_value(uid))
				    : NULL;
}

bool output_parse_user(const char *text, uid_t *ret_uid)
{
	const struct passwd *user = getpwnam(text);
	unsigned long number;
	char *end;

	if (user) {
		*ret_uid = user->pw_uid;
		return true;
	}
	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || number >= UINT32_MAX)
		return false;
	*ret_uid = number;
	return true;
}

void output_lines(struct cli *cli, const char *subject, const char *text)
{
	const char *line;
	size_t size;

	while ((line = text_line(&text, &size)))
		cli_fail(cli, EXIT_DONE, "%s%s%.*s", subject,
			 *subject ? ": " : "", (int)size, line);
}
