/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of a grant's event log (doc/rfc/request-and-grant.md), written as text
 * since every reservation has two of them.
 *
 *	struct event event;
 *
 *	event_begin(&event, core, "apply");
 *	event_number(&event, "nodes", count);
 *	event_store(&event, core, job);
 */
#pragma once

#include <stdint.h>

#include "base/json_text.h"
#include "lanes/manager/core/job.h"

struct core;

#define EVENT_SEVERITY_FATAL   0
#define EVENT_SEVERITY_WARNING 4

struct event {
	struct json_text context;
};

void event_begin(struct event *event, struct core *core, const char *name);
/* Texts are made clean; NULL is written as "". */
void event_text(struct event *event, const char *member, const char *text);
void event_number(struct event *event, const char *member, uint64_t number);
/* The value is JSON already. */
void event_json(struct event *event, const char *member, const char *json);
/* The members of a JSON object's compact text. */
void event_context(struct event *event, const char *context);
/* Give the line out as the next row of the grant's log; the event is empty. */
void event_store(struct event *event, struct core *core, struct job *job);
/* The same where there is no job: number counts from 1. */
void event_store_as(struct event *event, struct core *core, uint64_t grant_id,
		    uint32_t number);

/* `exception`, with the interconnect's event name as its type. */
void event_exception(struct core *core, struct job *job, int severity,
		     const char *note);
