/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line is {"timestamp":S.UUUUUU,"name":"..","context":{..}} without spaces
 * and without a newline. Its row has the number epoch * 2^32 + N, so that no
 * counter has to be kept on disk (doc/rfc/journals.md).
 */
#include "lanes/manager/core/event.h"

#include <assert.h>

#include "lanes/manager/core/grants.h"

void event_begin(struct event *event, struct core *core, const char *name)
{
	uint64_t now_us = clock_wall_us(core->clock);
	struct writer *writer = &event->context.writer;

	*event = (struct event){ .context.writer =
					 writer_borrow(&core->scratch) };
	write_plain(writer, "{\"timestamp\":");
	write_decimal(writer, now_us / 1000000, 0);
	write_plain(writer, ".");
	write_decimal(writer, now_us % 1000000, 6);
	write_plain(writer, ",\"name\":\"");
	write_plain(writer, name);
	write_plain(writer, "\",\"context\":");
	json_text_begin(&event->context);
}

void event_text(struct event *event, const char *member, const char *text)
{
	json_text_string(&event->context, member, text);
}

void event_number(struct event *event, const char *member, uint64_t number)
{
	json_text_number(&event->context, member, number);
}

void event_json(struct event *event, const char *member, const json_t *value)
{
	char *text =
		memory_have(json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY));

	json_text_raw(&event->context, member, text);
	free(text);
}

void event_context(struct event *event, const char *context)
{
	json_text_members(&event->context, context);
}

void event_store_as(struct event *event, struct core *core, uint64_t grant_id,
		    uint32_t number)
{
	struct writer *writer = &event->context.writer;
	struct store_row row = {
		.table = STORE_EVENT,
		.verb = STORE_PUT,
		.id = grant_id,
		.sub = core->epoch << 32 | number,
		.key = "",
	};

	json_text_end(&event->context);
	write_plain(writer, "}");
	memory_have(writer->result == 0 ? writer->data : NULL);
	row.body = writer->data;
	row.size = writer->size;
	core->ops->store(core->ops_ctx, &row);
	writer_return(&core->scratch, writer);
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
