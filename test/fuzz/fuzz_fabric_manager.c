/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers of a fabric manager: each operation ends exactly once, after three
 * requests at most, with an error text that has no secret or with what can go
 * into variables and names.
 *
 * Input: the operation (m, d, f, l), then answers in turn: a line with the
 * status, and a line with the body; the last one is given again and again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "lanes/manager/outside/fabric_manager.h"

#define SECRET       "s3cretOfTheClient"
#define REQUESTS_MAX 8

struct world {
	uint64_t request; /* under way; 0: none */
	bool is_sent;
	int request_count, end_count;
	bool is_make;
};

static void on_send(void *ctx, uint64_t id, const struct http_request *request)
{
	struct world *world = ctx;

	fuzz_check(!world->is_sent);
	for (size_t i = 0; request->headers[i] != NULL; i++)
		fuzz_check(strpbrk(request->headers[i], "\r\n") == NULL);
	world->request = id;
	world->is_sent = true;
	world->request_count++;
}

static void on_done(void *ctx, uint64_t id,
		    const struct fabric_manager_outcome *outcome)
{
	struct world *world = ctx;

	world->end_count++;
	if (outcome->result < 0) {
		fuzz_check(strstr(outcome->error.text, SECRET) == NULL);
		fuzz_check(strchr(outcome->error.text, '\n') == NULL);
		return;
	}
	if (world->is_make) {
		fuzz_check(outcome->token != NULL);
		fuzz_check(strlen(outcome->token) <= FABRIC_MANAGER_TOKEN_MAX);
		fuzz_check(strpbrk(outcome->token, " \r\n'\"") == NULL);
	}
	for (size_t i = 0; i < outcome->name_count; i++)
		fuzz_check(strpbrk(outcome->names[i], "/ \n") == NULL);
}

static const struct http_ops ops = { .send = on_send };

static void begin(struct fabric_manager *manager, struct world *world,
		  char verb)
{
	world->is_make = verb == 'm';
	if (verb == 'm')
		fabric_manager_make(manager, 1, "cl-g1", 4);
	else if (verb == 'd')
		fabric_manager_drop(manager, 1, "cl-g1");
	else if (verb == 'f')
		fabric_manager_find(manager, 1, "cl-g1");
	else
		fabric_manager_list(manager, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct fabric_manager_config config = {
		.url = "https://fm",
		.auth = FABRIC_MANAGER_OAUTH,
		.endpoint = "https://auth",
		.client_id = "id",
		.client_secret = SECRET,
		.timeout_ms = 1000,
	};
	struct world world = { 0 };
	const struct http_seam seam = { &ops, &world };
	struct fabric_manager *manager =
		fabric_manager_create(&config, &seam, on_done, &world);
	char *text = strndup((const char *)data, size);
	char *rest = text;
	struct http_reply reply = { .result = -ETIMEDOUT, .text = "none" };

	begin(manager, &world, *text);
	strsep(&rest, "\n");
	while (world.is_sent && world.request_count < REQUESTS_MAX) {
		if (rest != NULL && *rest != '\0') {
			const char *status = strsep(&rest, "\n");
			const char *body = rest ? strsep(&rest, "\n") : "";

			reply = (struct http_reply){
				.status = (unsigned int)atoi(status),
				.body = body,
				.size = strlen(body),
			};
		}
		world.is_sent = false;
		fabric_manager_reply(manager, world.request, &reply);
	}
	fuzz_check(world.end_count == 1 && world.request_count < REQUESTS_MAX);
	fabric_manager_destroy(manager);
	free(text);
	return 0;
}
