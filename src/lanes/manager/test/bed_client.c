/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients of a test bed, which speak the client protocol. */
#include "bed_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "lanes/proto/client.h"

uint64_t bed_client(struct bed *bed, uid_t uid)
{
	uint64_t peer = ++bed->peer_last;

	engine_client_opened(bed->engine, peer, uid, false);
	return peer;
}

uint64_t bed_remote_client(struct bed *bed, uid_t uid)
{
	uint64_t peer = ++bed->peer_last;

	engine_client_opened(bed->engine, peer, uid, true);
	return peer;
}

void bed_client_send(struct bed *bed, uint64_t client, const char *text)
{
	engine_client_received(bed->engine, client, text, strlen(text));
}

uint64_t bed_ask(struct bed *bed, uint64_t client, const char *op,
		 const char *format, ...)
{
	json_t *request = client_request(++bed->id_last, op);
	json_t *members;
	va_list args;
	char *text;

	if (format != NULL) {
		va_start(args, format);
		members = json_vpack_ex(NULL, 0, format, args);
		va_end(args);
		assert_non_null(members);
		json_object_update(request, members);
		json_decref(members);
	}
	text = json_dumps(request, JSON_COMPACT);
	bed_client_send(bed, client, text);
	free(text);
	json_decref(request);
	return bed->id_last;
}

json_t *bed_answer(struct bed *bed, uint64_t client)
{
	size_t size;
	uint8_t *bytes = bed_net_take(&bed->clients, client, &size);
	struct fairlead_error error;
	json_t *answer;

	if (bytes == NULL)
		return NULL;
	assert_int_equal(client_parse(bytes, size, &answer, &error), 0);
	free(bytes);
	return answer;
}

json_t *bed_expect(struct bed *bed, uint64_t client, int result)
{
	json_t *answer = bed_answer(bed, client);
	struct client_answer opened;
	struct fairlead_error error;

	if (answer == NULL)
		fail_msg("no answer to client %d", (int)client);
	assert_int_equal(client_answer_open(answer, &opened, &error), 0);
	if (opened.result != result)
		fail_msg("result %d (%s) instead of %d", opened.result,
			 opened.text == NULL ? "" : opened.text, result);
	return answer;
}

void bed_expect_done(struct bed *bed, uint64_t client, int result)
{
	json_decref(bed_expect(bed, client, result));
}

json_t *bed_node_shown(struct bed *bed, const char *name)
{
	uint64_t client = bed_client(bed, BED_ROOT);
	json_t *found = NULL;
	json_t *answer;
	json_t *node;
	size_t index;

	bed_ask(bed, client, "node-list", NULL);
	bed_commit(bed);
	answer = bed_expect(bed, client, 0);
	json_array_foreach (json_object_get(answer, "nodes"), index, node) {
		if (strcmp(json_string_value(json_object_get(node, "name")),
			   name) == 0)
			found = json_incref(node);
	}
	json_decref(answer);
	engine_client_closed(bed->engine, client);
	assert_non_null(found);
	return found;
}

uint64_t bed_reserve(struct bed *bed, uint64_t client, const char *key,
		     const char *nodes)
{
	json_t *answer;
	uint64_t grant_id;

	bed_ask(bed, client, "reserve", "{s:{s:s, s:i, s:i, s:s}}", "request",
		"key", key, "uid", BED_USER, "gid", BED_USER, "nodes", nodes);
	bed_commit(bed);
	answer = bed_expect(bed, client, 0);
	grant_id = (uint64_t)json_integer_value(
		json_object_get(answer, "grant_id"));
	assert_int_not_equal(grant_id, 0);
	json_decref(answer);
	return grant_id;
}
