/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The software fabric manager's requests and control commands: each request has
 * an answer with a status and an object, and whatever was done, what it saves
 * can be loaded, and each tree is in the list of one step of its job.
 *
 * Input: lines. "!" and a control command; or a letter for the method (GPCD),
 * one for the caller (a administrator, s the first job's session, n nobody),
 * the path up to a blank, and the body.
 */
#include <stdlib.h>
#include <string.h>

#include "emu/fm/daemon/control.h"
#include "fuzz.h"
#include "sim/rng.h"

#define LINES_MAX 64

static const struct softfm_config config = {
	.prefix = "",
	.client_id = "id",
	.client_secret = "secret",
	.password = "pw",
	.address_count = 4,
	.token_life_s = 60,
	.token_may_get = true,
	.token_may_patch = true,
};

static const char *method_of(char letter)
{
	switch (letter) {
	case 'G':
		return "GET";
	case 'P':
		return "POST";
	case 'C':
		return "PATCH";
	default:
		return "DELETE";
	}
}

static void session_header(const struct softfm *softfm, char *header,
			   size_t size)
{
	json_t *state = softfm_save(softfm);
	json_t *jobs = json_object_get(state, "jobs");
	const json_t *job = json_object_iter_value(json_object_iter(jobs));
	const char *token =
		json_string_value(json_object_get(job, "sessionToken"));

	snprintf(header, size, "Bearer %s", token != NULL ? token : "");
	json_decref(state);
}

static void request_run(struct softfm *softfm, char *line)
{
	char header[256] = "Basic Y3hpOnB3";
	char *path = line + 2;
	char *body = path + strcspn(path, " ");
	struct softfm_answer answer;
	struct softfm_request request = {
		.method = method_of(line[0]),
		.path = path,
		.authorization = line[1] == 'n' ? NULL : header,
		.content_type = strstr(path, "token") != NULL
					? "application/x-www-form-urlencoded"
					: "application/json",
	};

	if (line[1] == 's')
		session_header(softfm, header, sizeof(header));
	if (*body != '\0')
		*body++ = '\0';
	request.body = body;
	request.size = strlen(body);
	softfm_handle(softfm, &request, 1000, &answer);
	fuzz_check(answer.status >= 200 && answer.status < 600);
	fuzz_check(json_is_object(answer.body));
	json_decref(answer.body);
}

static void line_run(struct softfm *softfm, char *line)
{
	struct fairlead_error error;
	struct writer output = { 0 };

	if (line[0] == '!') {
		softfm_control_run(softfm, line + 1, &output, &error);
		writer_fini(&output);
	} else if (strlen(line) > 2) {
		request_run(softfm, line);
	}
}

static void trees_check(const json_t *state)
{
	json_t *tree, *item;
	const char *address;
	size_t i;

	json_object_foreach (json_object_get(state, "multicasts"), address,
			     tree) {
		const json_t *job = json_object_get(
			json_object_get(state, "jobs"),
			json_string_value(json_object_get(tree, "jobID")));
		const json_t *list = json_object_get(
			json_object_get(job, "jobSteps"),
			json_string_value(json_object_get(tree, "jobStepID")));
		size_t found = 0;

		json_array_foreach ((json_t *)list, i, item)
			found += json_integer_value(item) == atoi(address);
		fuzz_check(found == 1);
	}
}

static void state_check(const struct softfm *softfm)
{
	struct sim_rng rng;
	struct rng_seam seam = sim_rng_seam(&rng);
	struct softfm *other = softfm_create(&config, &seam);
	json_t *state = softfm_save(softfm);
	struct fairlead_error error;
	struct writer page = { 0 };

	trees_check(state);
	fuzz_check(softfm_load(other, state, &error) == 0);
	softfm_page(other, &page);
	fuzz_check(page.result == 0);
	writer_fini(&page);
	softfm_destroy(other);
	json_decref(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_rng rng;
	struct rng_seam seam = sim_rng_seam(&rng);
	struct softfm *softfm;
	char *text = strndup((const char *)data, size);
	char *rest = text;

	sim_rng_init(&rng, 1);
	softfm = softfm_create(&config, &seam);
	for (int i = 0; i < LINES_MAX && rest != NULL; i++)
		line_run(softfm, strsep(&rest, "\n"));
	state_check(softfm);
	softfm_destroy(softfm);
	free(text);
	return 0;
}
