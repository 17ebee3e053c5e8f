/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs: a limit of trees, and a token for those who make them. Links are
 * without the prefix: a gateway that adds one does not change bodies, and
 * Slurm skips as many characters as SOFTFM_JOBS_PATH has.
 */
#include "emu/fm/core/model.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

void softfm_job_list(struct softfm_exchange *exchange, bool is_cut)
{
	const json_t *jobs = exchange->softfm->jobs;
	size_t left = json_object_size(jobs) / (is_cut ? 2 : 1);
	json_t *links = memory_have(json_array());
	const char *key;
	json_t *job;

	json_object_foreach ((json_t *)jobs, key, job) {
		if (left-- == 0)
			break;
		memory_check(json_array_append_new(
			links, memory_have(json_sprintf(SOFTFM_JOBS_PATH "/%s",
							key))));
	}
	exchange_answer(exchange, 200,
			json_pack("{s:o}", "documentLinks", links));
}

static json_t *document(const struct softfm_exchange *exchange, const char *id)
{
	json_t *job = json_object_get(exchange->softfm->jobs, id);
	json_t *copy = memory_have(json_copy(job));

	json_object_set_new(copy, "documentSelfLink",
			    json_sprintf(SOFTFM_JOBS_PATH "/%s", id));
	return copy;
}

/* A text that can be the last part of a path. */
static bool is_job_id(const char *id)
{
	size_t size = strlen(id);

	if (size == 0 || size > SOFTFM_JOB_ID_MAX)
		return false;
	for (; *id != '\0'; id++)
		if ((unsigned char)*id <= ' ' || *id == '/' || *id == 0x7f)
			return false;
	return true;
}

void softfm_job_create(struct softfm_exchange *exchange)
{
	struct softfm *softfm = exchange->softfm;
	char token[SOFTFM_SECRET_SIZE];
	json_int_t limit;
	const char *id;

	if (json_unpack(exchange->body, "{s:s, s:I}", "jobID", &id,
			"mcastLimit", &limit) < 0 ||
	    !is_job_id(id) || limit < 1) {
		exchange_refuse(exchange, 400, 0,
				"needs jobID, a text, and mcastLimit above 0");
		return;
	}
	exchange_name_job(exchange, id);
	if (json_object_get(softfm->jobs, id) != NULL) {
		if (softfm->config->duplicate == SOFTFM_DUPLICATE_SAME)
			exchange_answer(exchange, 200, document(exchange, id));
		else
			exchange_refuse(exchange, 409, 0, "job exists");
		return;
	}
	softfm_secret_make(softfm, token);
	memory_check(json_object_set_new(
		softfm->jobs, id,
		json_pack("{s:s, s:I, s:s, s:{}}", "jobID", id, "mcastLimit",
			  limit, "sessionToken", token, "jobSteps")));
	memory_check(
		json_object_set_new(softfm->sessions, token, json_string(id)));
	exchange->answer->has_changed = true;
	exchange_answer(exchange, 201, document(exchange, id));
}

/* The job that the path names; it is refused where there is none. */
static json_t *job_find(struct softfm_exchange *exchange)
{
	json_t *job = json_object_get(exchange->softfm->jobs, exchange->id);

	exchange_name_job(exchange, exchange->id);
	if (job == NULL)
		exchange_refuse(exchange, 404, 0, "no such job");
	return job;
}

void softfm_job_get(struct softfm_exchange *exchange)
{
	if (job_find(exchange) != NULL)
		exchange_answer(exchange, 200,
				document(exchange, exchange->id));
}

static void step_remove(struct softfm *softfm, const json_t *job,
			const char *step)
{
	/* A copy: removing a tree changes the list. */
	json_t *list = json_copy(
		json_object_get(json_object_get(job, "jobSteps"), step));
	json_t *address;
	char text[24];
	size_t i;

	json_array_foreach (list, i, address) {
		snprintf(text, sizeof(text), "%lld",
			 (long long)json_integer_value(address));
		softfm_tree_remove(softfm, text);
	}
	json_decref(list);
}

void softfm_job_patch(struct softfm_exchange *exchange)
{
	const json_t *job = job_find(exchange);
	json_t *steps = json_object_get(exchange->body, "jobSteps");
	json_t *value;
	const char *step;

	if (job == NULL)
		return;
	if (json_object_size(exchange->body) != 1 || !json_is_object(steps)) {
		exchange_refuse(exchange, 400, 0,
				"only jobSteps can be changed");
		return;
	}
	json_object_foreach (steps, step, value) {
		if (json_is_null(value))
			continue;
		exchange_refuse(exchange, 400, 0,
				"a step can only be set to null");
		return;
	}
	json_object_foreach (steps, step, value)
		step_remove(exchange->softfm, job, step);
	exchange->answer->has_changed = true;
	exchange_answer(exchange, 200, document(exchange, exchange->id));
}

void softfm_job_remove(struct softfm *softfm, const char *id)
{
	json_t *job = json_incref(json_object_get(softfm->jobs, id));
	json_t *list;
	const char *step;
	void *next;

	json_object_foreach_safe (json_object_get(job, "jobSteps"), next, step,
				  list)
		step_remove(softfm, job, step);
	json_object_del(softfm->sessions, json_string_value(json_object_get(
						  job, "sessionToken")));
	json_object_del(softfm->jobs, id);
	json_decref(job);
}

void softfm_job_delete(struct softfm_exchange *exchange)
{
	if (job_find(exchange) == NULL)
		return;
	softfm_job_remove(exchange->softfm, exchange->id);
	exchange->answer->has_changed = true;
	exchange_answer(exchange, 200, json_object());
}

size_t softfm_job_tree_count(const json_t *job)
{
	json_t *list;
	const char *step;
	size_t count = 0;

	json_object_foreach (json_object_get(job, "jobSteps"), step, list)
		count += json_array_size(list);
	return count;
}
