/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line is {"timestamp":S.UUUUUU,"name":"..","context":{..}} without spaces
 * and without a newline. Its row has the number epoch * 2^32 + N, so that no
 * counter has to be kept on disk (doc/rfc/journals.md).
 */
#include "manager/core/event.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "manager/core/state.h"

static void put(struct event *event, const char *text)
{
	write_bytes(&event->writer, text, strlen(text));
}

/* Bytes that stand in JSON as they are, from the begin of the text. */
static size_t plain_size(const char *text)
{
	size_t size = 0;

	while (text[size] >= ' ' && text[size] < 0x7f && text[size] != '"' &&
	       text[size] != '\\')
		size++;
	return size;
}

/* A clean text; what is not ASCII in it is valid UTF-8. */
static void put_escaped(struct event *event, const char *text)
{
	while (*text != 0) {
		size_t plain = strcspn(text, "\"\\\n");

		write_bytes(&event->writer, text, plain);
		text += plain;
		if (*text == 0)
			return;
		put(event, *text == '\n' ? "\\n" : "\\");
		if (*text != '\n')
			write_bytes(&event->writer, text, 1);
		text++;
	}
}

static void put_quoted(struct event *event, const char *text)
{
	size_t plain;

	if (text == NULL)
		text = "";
	plain = plain_size(text);
	put(event, "\"");
	write_bytes(&event->writer, text, plain);
	if (text[plain] != 0) {
		char *clean = memory_text(text + plain);

		text_clean(clean);
		put_escaped(event, clean);
		free(clean);
	}
	put(event, "\"");
}

static void put_member(struct event *event, const char *member)
{
	if (event->has_members)
		put(event, ",");
	event->has_members = true;
	put(event, "\"");
	put(event, member);
	put(event, "\":");
}

void event_begin(struct event *event, const struct core *core, const char *name)
{
	uint64_t now_us = clock_wall_us(core->clock);
	char stamp[64];

	*event = (struct event){ 0 };
	snprintf(stamp, sizeof(stamp),
		 "{\"timestamp\":%" PRIu64 ".%06" PRIu64 ",\"name\":\"",
		 now_us / 1000000, now_us % 1000000);
	put(event, stamp);
	put(event, name);
	put(event, "\",\"context\":{");
}

void event_text(struct event *event, const char *member, const char *text)
{
	put_member(event, member);
	put_quoted(event, text);
}

void event_number(struct event *event, const char *member, uint64_t number)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, number);
	put_member(event, member);
	put(event, digits);
}

void event_json(struct event *event, const char *member, const json_t *value)
{
	char *text =
		memory_check(json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY));

	put_member(event, member);
	put(event, text);
	free(text);
}

void event_context(struct event *event, const char *context)
{
	size_t size = strlen(context);

	assert(!event->has_members);
	assert(size >= 2 && context[0] == '{' && context[size - 1] == '}');
	write_bytes(&event->writer, context + 1, size - 2);
}

void event_store_as(struct event *event, struct core *core, uint64_t grant_id,
		    uint32_t number)
{
	struct store_row row = {
		.table = STORE_EVENT,
		.verb = STORE_PUT,
		.id = grant_id,
		.sub = core->epoch << 32 | number,
		.key = "",
	};

	put(event, "}}");
	memory_check(event->writer.result == 0 ? event->writer.data : NULL);
	row.body = event->writer.data;
	row.size = event->writer.size;
	core->ops->store(core->ops_ctx, &row);
	writer_fini(&event->writer);
}

void event_store(struct event *event, struct core *core, struct job *job)
{
	assert(job->event_count < UINT32_MAX);
	event_store_as(event, core, job->grant_id, ++job->event_count);
}

void event_exception(struct core *core, struct job *job, int severity,
		     const char *note)
{
	_auto_(freep) char *context = NULL;
	const char *type;
	struct event event;

	core_describe(core, job, job->empty_reason, &type, &context);
	event_begin(&event, core, "exception");
	event_text(&event, "type", type);
	event_number(&event, "severity", (uint64_t)severity);
	event_text(&event, "note", note);
	event_store(&event, core, job);
}
