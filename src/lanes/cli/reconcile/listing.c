/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/reconcile/listing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define DIGITS "0123456789"
#define BASE58 "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

struct listing_field {
	const char *text; /* not ended by a zero */
	size_t size;
};

static bool field_is(const struct listing_field *field, const char *word)
{
	return strlen(word) == field->size &&
	       memcmp(field->text, word, field->size) == 0;
}

static bool field_is_in(const struct listing_field *field,
			const char *const *words)
{
	for (; *words; words++)
		if (field_is(field, *words))
			return true;
	return false;
}

/* How many of its first bytes are of the set. */
static size_t span(const char *text, size_t size, const char *set)
{
	size_t length = 0;

	while (length < size && text[length] && strchr(set, text[length]))
		length++;
	return length;
}

/* Exactly so many, with '|' between. */
static bool split(const char *line, size_t size, struct listing_field *fields,
		  size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *bar = size > 0 ? memchr(line, '|', size) : NULL;
		size_t length = bar ? (size_t)(bar - line) : size;

		if ((bar != NULL) != (i + 1 < count))
			return false;
		fields[i] =
			(struct listing_field){ .text = line, .size = length };
		line += length + (bar ? 1 : 0);
		size -= length + (bar ? 1 : 0);
	}
	return true;
}

/* An id of Slurm's. */
static bool parse_number(const char *text, size_t size, uint32_t *ret_number)
{
	return text_number(text, size, ret_number) && *ret_number > 0;
}

/* --- the list --- */

struct builder {
	struct job_listing *listing;
	size_t capacity;
};

static void add(struct builder *builder, const char *name, size_t size,
		enum listed_state state)
{
	struct job_listing *listing = builder->listing;
	struct listed_job *job;

	if (listing->count == builder->capacity) {
		builder->capacity = builder->capacity * 2 + 64;
		listing->jobs = memory_resize(listing->jobs, builder->capacity,
					      sizeof(*listing->jobs));
	}
	job = &listing->jobs[listing->count++];
	memset(job, 0, sizeof(*job));
	memcpy(job->name, name, size);
	job->state = state;
}

static void add_number(struct builder *builder, uint32_t number,
		       enum listed_state state)
{
	char name[LISTED_NAME_MAX + 1];
	int size = snprintf(name, sizeof(name), "%" PRIu32, number);

	add(builder, name, (size_t)size, state);
}

static int by_name(const void *a, const void *b)
{
	const struct listed_job *left = a;
	const struct listed_job *right = b;

	return strcmp(left->name, right->name);
}

/* In order, each once, with the most that a line says of it. */
static void settle(struct job_listing *listing)
{
	size_t kept = 0;

	if (listing->count == 0)
		return;
	qsort(listing->jobs, listing->count, sizeof(*listing->jobs), by_name);
	for (size_t i = 1; i < listing->count; i++) {
		struct listed_job *last = &listing->jobs[kept];
		const struct listed_job *next = &listing->jobs[i];

		if (strcmp(last->name, next->name) != 0)
			listing->jobs[++kept] = *next;
		else if (next->state > last->state)
			last->state = next->state;
	}
	listing->count = kept + 1;
}

typedef int line_fn(struct builder *builder, const char *line, size_t size);

static int parse_lines(const char *text, size_t size, line_fn *parse_line,
		       struct builder *builder,
		       struct fairlead_error *ret_error)
{
	while (size > 0) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t)(end - text) : size;
		int quoted = length < 60 ? (int)length : 60;
		int result;

		if (!end)
			return error_set(
				ret_error, -EINVAL,
				"the list of jobs is cut off at '%.*s'", quoted,
				text);
		result = parse_line(builder, text, length);
		if (result < 0)
			return error_set(
				ret_error, result,
				"the list of jobs has an invalid line: "
				"'%.*s'",
				quoted, text);
		builder->listing->line_count++;
		text += length + 1;
		size -= length + 1;
	}
	return 0;
}

static int parse(const char *text, size_t size, line_fn *parse_line,
		 struct job_listing **ret_listing,
		 struct fairlead_error *ret_error)
{
	_auto_(listing_destroyp) struct job_listing *listing =
		memory_alloc(sizeof(*listing));
	struct builder builder = { .listing = listing };
	int result;

	result = parse_lines(text, size, parse_line, &builder, ret_error);
	if (result < 0)
		return result;
	settle(listing);
	*ret_listing = take_ptr(listing);
	return 0;
}

void listing_destroy(struct job_listing *listing)
{
	if (!listing)
		return;
	free(listing->jobs);
	free(listing);
}

static const struct listed_job *find(const struct job_listing *listing,
				     const char *name)
{
	struct listed_job wanted = { 0 };

	if (listing->count == 0 || strlen(name) > LISTED_NAME_MAX)
		return NULL;
	memcpy(wanted.name, name, strlen(name));
	return bsearch(&wanted, listing->jobs, listing->count, sizeof(wanted),
		       by_name);
}

enum listed_state listing_state(const struct job_listing *listing,
				const char *name)
{
	const struct listed_job *found = find(listing, name);

	return found ? found->state : LISTED_NOT;
}

bool listing_is_running(const struct job_listing *first,
			const struct job_listing *second, const char *name)
{
	return listing_state(first, name) == LISTED_RUNNING &&
	       listing_state(second, name) == LISTED_RUNNING;
}

bool listing_is_much(size_t forgotten, size_t count)
{
	if (forgotten > 1 && forgotten == count)
		return true;
	return forgotten > LISTING_MOST && forgotten * LISTING_SHARE > count;
}

/* --- Slurm --- */

/*
 * A job is COMPLETING until its epilogs are over, EpilogSlurmctld too. In an
 * unknown state it counts as live.
 */
static enum listed_state slurm_state(const struct listing_field *word)
{
	static const char *const over[] = {
		"BOOT_FAIL", "CANCELLED",     "COMPLETED", "DEADLINE", "FAILED",
		"NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT",  NULL,
	};
	static const char *const running[] = {
		"RESIZING", "RUNNING",   "SIGNALING",
		"STOPPED",  "SUSPENDED", NULL,
	};

	if (field_is_in(word, over))
		return LISTED_OVER;
	return field_is_in(word, running) ? LISTED_RUNNING : LISTED_LIVE;
}

/* 7 is a job, 7_1 and 7_[2-5] are of an array, 7+1 is 7's component. */
static bool parse_shown_id(const struct listing_field *field,
			   bool *ret_is_component, uint32_t *ret_number)
{
	size_t size = span(field->text, field->size, DIGITS);
	const char *rest = field->text + size;
	size_t left = field->size - size;

	if (!parse_number(field->text, size, ret_number))
		return false;
	*ret_is_component = left > 0 && *rest == '+';
	if (*ret_is_component)
		return left > 1 && span(rest + 1, left - 1, DIGITS) == left - 1;
	return left == 0 || (*rest == '_' && left > 1);
}

static int parse_slurm_line(struct builder *builder, const char *line,
			    size_t size)
{
	struct listing_field fields[3];
	uint32_t own = 0, shown = 0;
	bool is_component = false;
	enum listed_state state;

	if (!split(line, size, fields, 3) ||
	    !parse_number(fields[0].text, fields[0].size, &own) ||
	    !parse_shown_id(&fields[1], &is_component, &shown) ||
	    fields[2].size == 0 ||
	    span(fields[2].text, fields[2].size,
		 "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != fields[2].size)
		return -EINVAL;
	state = slurm_state(&fields[2]);
	/* The grant is the leader's: a component alone needs none. */
	if (is_component && own != shown) {
		add_number(builder, shown, state);
		if (state == LISTED_RUNNING)
			state = LISTED_LIVE;
	}
	add_number(builder, own, state);
	return 0;
}

int listing_parse_slurm(const char *text, size_t size,
			struct job_listing **ret_listing,
			struct fairlead_error *ret_error)
{
	return parse(text, size, parse_slurm_line, ret_listing, ret_error);
}

bool listing_is_slurm_name(const char *name)
{
	uint32_t number;

	return *name != '0' && parse_number(name, strlen(name), &number);
}

/* --- Flux --- */

static bool is_f58(const char *text, size_t size)
{
	return size > 1 && size <= LISTED_NAME_MAX && *text == 'f' &&
	       span(text + 1, size - 1, BASE58) == size - 1;
}

static int parse_flux_line(struct builder *builder, const char *line,
			   size_t size)
{
	struct listing_field fields[2];
	enum listed_state state = LISTED_LIVE;

	if (!split(line, size, fields, 2) ||
	    !is_f58(fields[0].text, fields[0].size) || fields[1].size == 0 ||
	    span(fields[1].text, fields[1].size,
		 "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != fields[1].size)
		return -EINVAL;
	if (field_is(&fields[1], "INACTIVE"))
		state = LISTED_OVER;
	else if (field_is(&fields[1], "RUN"))
		state = LISTED_RUNNING;
	add(builder, fields[0].text, fields[0].size, state);
	return 0;
}

int listing_parse_flux(const char *text, size_t size,
		       struct job_listing **ret_listing,
		       struct fairlead_error *ret_error)
{
	return parse(text, size, parse_flux_line, ret_listing, ret_error);
}

bool listing_is_flux_name(const char *name)
{
	return is_f58(name, strlen(name));
}
