/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the core gives out: answers to clients, rows for the journal, and
 * events, which are rows of JSON.
 *
 * A job's record takes in what its parts' rows say, so these need not be
 * deleted before the job is gone. An event is
 * {"timestamp":S.UUUUUU,"name":"..","context":{..}} without spaces and without
 * a newline. Its row has the number epoch * 2^32 + N, so that no counter has to
 * be kept on disk (doc/rfc/journals.md).
 */
#include "lanes/manager/core/out.h"

#include <assert.h>
#include <stdio.h>
#include <utlist.h>

#include "base/text.h"
#include "lanes/manager/core/grant.h"
#include "lanes/manager/core/record.h"

#define EVENTS_TRIM_MAX 2 /* grants that lose their events at once */

/* --- answers --- */

void core_reply_done(struct core *core, uint64_t token, const char *members)
{
	struct core_reply reply = { .members = members };

	core->ops->reply(core->ops_ctx, token, &reply);
}

char *core_json_text(json_t *tree_owned)
{
	char *text = memory_have(json_dumps(tree_owned, JSON_COMPACT));

	json_decref(tree_owned);
	return text;
}

void core_reply_failed(struct core *core, uint64_t token, int code,
		       const char *hint, const char *text, const char *members)
{
	struct core_reply reply = {
		.result = code,
		.text = text,
		.hint = hint,
		.members = members,
	};

	core->ops->reply(core->ops_ctx, token, &reply);
}

void core_reply_error(struct core *core, uint64_t token, enum edge edge,
		      int code, const char *hint, const char *format, ...)
{
	char text[FAIRLEAD_ERROR_TEXT_MAX];
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (size >= (int)sizeof(text))
		text_cut(text, sizeof(text));
	text_clean(text);
	core_hit(core, edge);
	core_reply_failed(core, token, code, hint, text, NULL);
}

/* --- rows --- */

static void put(struct core *core, enum store_table table, uint64_t id,
		uint64_t sub, const char *key, struct writer *writer)
{
	struct store_row row = {
		.table = table,
		.verb = STORE_PUT,
		.id = id,
		.sub = sub,
		.key = key,
		.body = writer->data,
		.size = writer->size,
	};

	core->ops->store(core->ops_ctx, &row);
	writer_return(&core->scratch, writer);
}

static void delete (struct core *core, enum store_table table, uint64_t id,
		    uint64_t sub, const char *key)
{
	struct store_row row = {
		.table = table,
		.verb = STORE_DELETE,
		.id = id,
		.sub = sub,
		.key = key,
	};

	core->ops->store(core->ops_ctx, &row);
}

void core_store_meta(struct core *core, const char *key, uint64_t number)
{
	struct store_row row = {
		.table = STORE_META,
		.verb = STORE_PUT,
		.id = number,
		.key = key,
	};

	core->ops->store(core->ops_ctx, &row);
}

void core_cursor_set(struct core *core, const char *key, uint64_t id)
{
	struct core_cursor *cursor;

	DL_FOREACH (core->cursors, cursor)
		if (strcmp(cursor->key, key) == 0)
			break;
	if (cursor == NULL) {
		cursor = memory_array(1, sizeof(*cursor));
		strncpy(cursor->key, key, sizeof(cursor->key) - 1);
		DL_APPEND(core->cursors, cursor);
	}
	cursor->id = id;
}

void core_cursors_apply(struct core *core)
{
	const struct core_cursor *cursor;

	DL_FOREACH (core->cursors, cursor)
		interconnects_foreach(ic, &core->interconnects) for (
			size_t i = 0; i < ic->pool_count;
			i++) if (strcmp(ic->pools[i].cursor_key, cursor->key) ==
				 0) pool_set_cursor(&ic->pools[i], cursor->id);
}

void core_store_cursor(struct core *core, const struct pool *pool)
{
	core_cursor_set(core, pool->cursor_key, pool->cursor);
	core_store_meta(core, pool->cursor_key, pool->cursor);
}

void core_store_job(struct core *core, struct job *job)
{
	struct writer writer = writer_borrow(&core->scratch);

	record_encode_job(job, core_interconnect(core, job)->driver->name,
			  &writer);
	put(core, STORE_JOB, job->grant_id, 0, job->key, &writer);
	/* Older news of parts must not overrule the record. */
	if (job->has_part_rows)
		delete (core, STORE_PART, job->grant_id, STORE_SUB_ALL, "");
	job->has_part_rows = false;
}

void core_store_part(struct core *core, struct job *job,
		     const struct part *part)
{
	struct writer writer = writer_borrow(&core->scratch);

	record_encode_part(part, &writer);
	put(core, STORE_PART, job->grant_id, (uint64_t)(part - job->parts), "",
	    &writer);
	job->has_part_rows = true;
}

void core_store_node(struct core *core, struct node *node)
{
	struct writer writer = writer_borrow(&core->scratch);

	record_encode_node(node, &writer);
	put(core, STORE_NODE, 0, 0, node->name, &writer);
	node->is_stored = true;
}

void core_delete_node(struct core *core, const struct node *node)
{
	if (node->is_stored)
		delete (core, STORE_NODE, 0, 0, node->name);
}

void core_store_names(struct core *core)
{
	for (uint32_t chunk = 0; chunk < nodes_chunk_count(&core->nodes);
	     chunk++) {
		struct writer writer;
		char key[16];

		if (!core->nodes.dirty_chunks[chunk])
			continue;
		core->nodes.dirty_chunks[chunk] = false;
		writer = writer_borrow(&core->scratch);
		snprintf(key, sizeof(key), "#%u", chunk);
		record_encode_names(&core->nodes, chunk, &writer);
		put(core, STORE_NODE, 0, 0, key, &writer);
	}
}

/* A lower `events_keep` is reached step by step: a batch has a maximum. */
static void events_trim(struct core *core)
{
	uint64_t id;

	for (int i = 0; i < EVENTS_TRIM_MAX &&
			tombstones_has_old_key(&core->tombstones, &id);
	     i++) {
		delete (core, STORE_EVENT, id, STORE_SUB_ALL, "");
		tombstones_forget_old_key(&core->tombstones);
		core_hit(core, EDGE_LIMIT_EVENTS);
	}
}

void core_store_tombstone(struct core *core, const struct job *job)
{
	struct record_tombstone tombstone = { .uid = job->uid,
					      .gid = job->gid };
	struct writer writer = writer_borrow(&core->scratch);
	uint64_t number, id;

	if (tombstones_is_full(&core->tombstones, &id)) {
		delete (core, STORE_TOMBSTONE, id, 0, "");
		/* A lower `events_keep` and a restart may have left some. */
		delete (core, STORE_EVENT, id, STORE_SUB_ALL, "");
		tombstones_forget_oldest(&core->tombstones);
		core_hit(core, EDGE_LIMIT_TOMBSTONES);
	}
	number = tombstones_next(&core->tombstones);
	if (tombstones_add(&core->tombstones, job->grant_id, job->key, job->uid,
			   job->gid) < 0)
		abort();
	delete (core, STORE_JOB, job->grant_id, 0, "");
	if (job->has_part_rows)
		delete (core, STORE_PART, job->grant_id, STORE_SUB_ALL, "");
	record_encode_tombstone(&tombstone, &writer);
	put(core, STORE_TOMBSTONE, job->grant_id, number, job->key, &writer);
	events_trim(core);
}

static void trace_remove(struct core *core, struct trace *trace)
{
	delete (core, STORE_TOMBSTONE, trace->grant_id, 0, "");
	delete (core, STORE_EVENT, trace->grant_id, STORE_SUB_ALL, "");
	DL_DELETE(core->traces, trace);
	core->trace_count--;
	free(trace->key);
	free(trace);
}

void core_trace_add(struct core *core, uint64_t grant_id, const char *key,
		    uid_t uid)
{
	struct trace *trace = memory_array(1, sizeof(*trace));

	trace->grant_id = grant_id;
	trace->key = memory_text_or_null(key);
	trace->uid = uid;
	DL_APPEND(core->traces, trace);
	core->trace_count++;
}

void core_store_trace(struct core *core, const struct job *job)
{
	struct record_tombstone tombstone = { .is_trace = true,
					      .uid = job->uid,
					      .gid = job->gid };
	struct writer writer = writer_borrow(&core->scratch);
	struct trace *trace, *next;

	DL_FOREACH_SAFE (core->traces, trace, next)
		if (strcmp(trace->key, job->key) == 0)
			trace_remove(core, trace);
	if (core->trace_count == CORE_TRACES_MAX)
		trace_remove(core, core->traces);
	core_trace_add(core, job->grant_id, job->key, job->uid);
	record_encode_tombstone(&tombstone, &writer);
	put(core, STORE_TOMBSTONE, job->grant_id, 0, job->key, &writer);
}

/* --- events --- */

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

void event_json(struct event *event, const char *member, const char *json)
{
	json_text_raw(&event->context, member, json);
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
