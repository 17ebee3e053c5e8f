/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/proto/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/heap.h"

static json_t *parsed(const char *text)
{
	struct fairlead_error error;
	json_t *object = NULL;

	if (client_parse(text, strlen(text), &object, &error) < 0)
		fail_msg("%s: %s", text, error.text);
	return object;
}

static void assert_text_in(const char *part, const char *text)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' is not in '%s'", part, text);
}

static void frame_is_one_json_object(void **state)
{
	static const struct {
		const char *text, *part;
	} cases[] = {
		{ "", "not JSON" },
		{ "{", "not JSON" },
		{ "{}x", "not JSON" },
		{ "{\"a\":1,\"a\":2}", "not JSON: duplicate" },
		{ "{\"a\":\"\\u0000\"}", "not JSON" },
		{ "{\"a\":\"\xff\"}", "not JSON" },
		{ "[]", "not a JSON object" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fairlead_error error;
		json_t *object = NULL;

		assert_int_equal(client_parse(cases[i].text,
					      strlen(cases[i].text), &object,
					      &error),
				 -EBADMSG);
		assert_text_in(cases[i].part, error.text);
		assert_null(object);
	}
}

static void zero_byte_is_not_json(void **state)
{
	static const char text[] = "{\"a\":1\0}";
	struct fairlead_error error;
	json_t *object;

	assert_int_equal(client_parse(text, sizeof(text) - 1, &object, &error),
			 -EBADMSG);
	assert_string_equal(error.text, "not JSON: zero byte");
}

static void deep_nesting_is_refused(void **state)
{
	struct fairlead_error error;
	struct writer writer = { 0 };
	json_t *object;

	write_bytes(&writer, "{\"a\":", 5);
	for (size_t i = 0; i < CLIENT_FRAME_MAX - 5; i++)
		write_u8(&writer, '[');
	assert_int_equal(client_parse(writer.data, writer.size, &object,
				      &error),
			 -EBADMSG);
	writer_fini(&writer);
}

/* The next object of a stream. */
static json_t *next(struct splitter *splitter)
{
	struct fairlead_error error;
	const uint8_t *frame;
	json_t *object;
	size_t size;

	assert_int_equal(splitter_next(splitter, &frame, &size), 1);
	assert_int_equal(client_parse(frame, size, &object, &error), 0);
	return object;
}

static void request_comes_back_as_it_was(void **state)
{
	json_t *sent = client_request(CLIENT_ID_MAX, "reserve"), *got;
	struct fairlead_error error;
	struct writer stream = { 0 };
	struct splitter splitter;
	const uint8_t *frame;
	const char *op;
	size_t size;
	uint64_t id;

	assert_int_equal(client_encode_stream(sent, &stream), 0);
	assert_int_equal(client_encode_stream(sent, &stream), 0);
	splitter_init(&splitter, CLIENT_FRAME_MAX);
	assert_int_equal(splitter_feed(&splitter, stream.data, stream.size), 0);
	for (int i = 0; i < 2; i++) {
		got = next(&splitter);
		assert_int_equal(client_open(got, &id, &op, &error), 0);
		assert_int_equal(id, CLIENT_ID_MAX);
		assert_string_equal(op, "reserve");
		assert_int_equal(client_id(got), CLIENT_ID_MAX);
		json_decref(got);
	}
	assert_int_equal(splitter_next(&splitter, &frame, &size), 0);
	splitter_fini(&splitter);
	writer_fini(&stream);
	json_decref(sent);
}

static void stream_has_the_golden_bytes(void **state)
{
	static const char golden[] = "\x1c\0\0\0{\"v\":1,\"id\":7,\"op\":"
				     "\"status\"}";
	json_t *request = client_request(7, "status");
	struct writer stream = { 0 };

	assert_int_equal(client_encode_stream(request, &stream), 0);
	assert_int_equal(stream.size, sizeof(golden) - 1);
	assert_memory_equal(stream.data, golden, stream.size);
	json_decref(request);
	writer_fini(&stream);
}

static void bad_requests_are_refused_with_the_reason(void **state)
{
	static const struct {
		const char *text, *part;
		int result;
		uint64_t id;
	} cases[] = {
		{ "{}", "'v' is missing", -EINVAL, 0 },
		{ "{\"v\":2,\"id\":5,\"op\":\"x\"}",
		  "another version than 1 is not spoken", -EPROTONOSUPPORT, 5 },
		{ "{\"v\":\"1\",\"id\":5,\"op\":\"x\"}", "version",
		  -EPROTONOSUPPORT, 5 },
		{ "{\"v\":1,\"op\":\"x\"}", "'id' is missing", -EINVAL, 0 },
		{ "{\"v\":1,\"id\":0,\"op\":\"x\"}", "'id'", -EINVAL, 0 },
		{ "{\"v\":1,\"id\":-1,\"op\":\"x\"}", "'id'", -EINVAL, 0 },
		{ "{\"v\":1,\"id\":\"5\",\"op\":\"x\"}", "'id'", -EINVAL, 0 },
		{ "{\"v\":1,\"id\":5}", "'op' is missing", -EINVAL, 5 },
		{ "{\"v\":1,\"id\":5,\"op\":7}", "'op' is not a text", -EINVAL,
		  5 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *object = parsed(cases[i].text);
		struct fairlead_error error;
		const char *op = NULL;
		uint64_t id = 99;

		assert_int_equal(client_open(object, &id, &op, &error),
				 cases[i].result);
		assert_text_in(cases[i].part, error.text);
		assert_int_equal(id, 99);
		assert_null(op);
		assert_int_equal(client_id(object), cases[i].id);
		json_decref(object);
	}
}

static void unknown_members_are_named(void **state)
{
	static const char *const names[] = { "uid", "state", NULL };
	static const char *const none[] = { NULL };
	json_t *object = parsed("{\"v\":1,\"id\":1,\"op\":\"list\",\"uid\":0}");
	struct fairlead_error error;

	assert_int_equal(client_members_check(object, names, &error), 0);
	assert_int_equal(client_members_check(object, none, &error), -EINVAL);
	assert_text_in("unknown member 'uid'", error.text);
	assert_int_equal(members_check(object, names, &error), -EINVAL);
	assert_text_in("unknown member 'v'", error.text);
	json_decref(object);
}

static void members_are_read_by_their_type(void **state)
{
	json_t *object = parsed("{\"text\":\"x\",\"number\":5,\"bool\":true,"
				"\"null\":null}");
	struct fairlead_error error;
	const char *text = "default";
	int64_t number = 9;
	bool is_true = false;

	assert_int_equal(members_text(object, "none", MEMBER_OPTIONAL, &text,
				      &error),
			 0);
	assert_string_equal(text, "default");
	assert_int_equal(members_text(object, "null", MEMBER_OPTIONAL, &text,
				      &error),
			 -EINVAL);
	assert_int_equal(members_text(object, "text", MEMBER_REQUIRED, &text,
				      &error),
			 0);
	assert_string_equal(text, "x");
	assert_int_equal(members_number(object, "number", MEMBER_REQUIRED, 0, 4,
					&number, &error),
			 -EINVAL);
	assert_text_in("'number' is not a number from 0 to 4", error.text);
	assert_int_equal(number, 9);
	assert_int_equal(members_number(object, "number", MEMBER_REQUIRED, 5, 5,
					&number, &error),
			 0);
	assert_int_equal(number, 5);
	assert_int_equal(members_number(object, "text", MEMBER_REQUIRED, 0, 9,
					&number, &error),
			 -EINVAL);
	assert_int_equal(members_bool(object, "number", MEMBER_OPTIONAL,
				      &is_true, &error),
			 -EINVAL);
	assert_int_equal(members_bool(object, "none", MEMBER_REQUIRED, &is_true,
				      &error),
			 -EINVAL);
	assert_text_in("'none' is missing", error.text);
	assert_false(is_true);
	assert_int_equal(members_bool(object, "bool", MEMBER_REQUIRED, &is_true,
				      &error),
			 0);
	assert_true(is_true);
	json_decref(object);
}

static void answer_is_paired_by_its_id(void **state)
{
	json_t *sent = client_answer(17);
	struct client_answer answer;

	assert_int_equal(client_answer_open(sent, &answer, NULL), 0);
	assert_int_equal(answer.id, 17);
	assert_int_equal(answer.result, 0);
	assert_null(answer.text);
	assert_null(answer.hint);
	json_decref(sent);
}

static void error_has_a_text_and_perhaps_a_hint(void **state)
{
	json_t *sent = client_error(0, -EPERM, "not \xff allowed", "ask root");
	struct client_answer answer;

	assert_int_equal(client_answer_open(sent, &answer, NULL), 0);
	assert_int_equal(answer.id, 0);
	assert_int_equal(answer.result, -EPERM);
	assert_string_equal(answer.text, "not ? allowed");
	assert_string_equal(answer.hint, "ask root");
	json_decref(sent);
	sent = client_error(3, -EPERM, "no", NULL);
	assert_int_equal(client_answer_open(sent, &answer, NULL), 0);
	assert_null(answer.hint);
	json_decref(sent);
}

static json_t *encoded(uint64_t id, int code, const char *text,
		       const char *hint, const char *warning,
		       const char *members)
{
	struct writer writer = { 0 };
	json_t *object;

	assert_int_equal(client_answer_encode(id, code, text, hint, warning,
					      members, &writer),
			 0);
	assert_int_equal(client_parse(writer.data, writer.size, &object, NULL),
			 0);
	writer_fini(&writer);
	return object;
}

static void answer_at_once_says_the_same(void **state)
{
	json_t *trees[] = {
		client_answer(17),
		client_answer(17),
		client_error(0, -EPERM, "not \xff allowed", "ask root"),
		client_error(3, -EPERM, "no", NULL),
		client_answer(4),
	};
	json_t *texts[] = {
		encoded(17, 0, NULL, NULL, NULL, NULL),
		encoded(17, 0, NULL, "unused", NULL, "{\"a\":{\"b\":1}}"),
		encoded(0, -EPERM, "not \xff allowed", "ask root", NULL, "{}"),
		encoded(3, -EPERM, "no", NULL, NULL, NULL),
		encoded(4, 0, NULL, NULL, "no nodes", NULL),
	};

	json_object_set_new(trees[1], "a", json_pack("{s:i}", "b", 1));
	json_object_set_new(trees[4], "warning", json_string("no nodes"));
	for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++) {
		assert_true(json_equal(trees[i], texts[i]));
		json_decref(trees[i]);
		json_decref(texts[i]);
	}
}

static void answer_over_a_frame_leaves_the_writer(void **state)
{
	_auto_(freep) char *members = malloc(CLIENT_FRAME_MAX + 1);
	struct writer writer = { 0 };

	memset(members, 'a', CLIENT_FRAME_MAX);
	memcpy(members, "{\"t\":\"", 6);
	memcpy(members + CLIENT_FRAME_MAX - 2, "\"}", 3);
	write_u8(&writer, 7);
	assert_int_equal(client_answer_encode(1, 0, NULL, NULL, NULL, members,
					      &writer),
			 -EMSGSIZE);
	assert_int_equal(writer.size, 1);
	assert_int_equal(writer.data[0], 7);
	writer_fini(&writer);
}

static void bad_answers_are_refused(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"v\":2,\"id\":1,\"result\":0}",
		"{\"v\":1,\"result\":0}",
		"{\"v\":1,\"id\":1}",
		"{\"v\":1,\"id\":1,\"result\":1}",
		"{\"v\":1,\"id\":1,\"result\":-4096}",
		"{\"v\":1,\"id\":1,\"result\":-1}",
		"{\"v\":1,\"id\":1,\"result\":-1,\"error\":7}",
		"{\"v\":1,\"id\":1,\"result\":0,\"hint\":7}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		json_t *object = parsed(texts[i]);
		struct client_answer answer;

		assert_int_equal(client_answer_open(object, &answer, NULL),
				 -EBADMSG);
		json_decref(object);
	}
}

static void too_long_a_frame_is_neither_sent_nor_read(void **state)
{
	_auto_(freep) char *text = malloc(CLIENT_FRAME_MAX + 1);
	struct writer stream = { 0 };
	struct splitter splitter;
	json_t *object = json_object();

	memset(text, 'x', CLIENT_FRAME_MAX);
	text[CLIENT_FRAME_MAX - 8] = 0; /* {"a":"x..."} */
	json_object_set_new(object, "a", json_string(text));
	assert_int_equal(client_encode_stream(object, &stream), 0);
	assert_int_equal(stream.size, CLIENT_FRAME_MAX + 4);
	text[CLIENT_FRAME_MAX - 8] = 'x';
	text[CLIENT_FRAME_MAX - 7] = 0;
	json_object_set_new(object, "a", json_string(text));
	assert_int_equal(client_encode_stream(object, &stream), -EMSGSIZE);
	assert_int_equal(stream.size, CLIENT_FRAME_MAX + 4);
	json_decref(object);

	splitter_init(&splitter, CLIENT_FRAME_MAX);
	assert_int_equal(splitter_feed(&splitter, stream.data, stream.size), 0);
	json_decref(next(&splitter));
	frame_length(CLIENT_FRAME_MAX + 1, stream.data);
	assert_int_equal(splitter_feed(&splitter, stream.data, 4), -EMSGSIZE);
	splitter_fini(&splitter);
	writer_fini(&stream);
}

static int members_case(void *ctx)
{
	static const char *const none[] = { NULL };

	return client_members_check(ctx, none, NULL);
}

static void members_check_says_when_memory_is_out(void **state)
{
	json_t *object = client_request(1, "status");
	int result;

	assert_true(sim_heap_fails(1, &result, members_case, object));
	assert_int_equal(result, -ENOMEM);
	assert_false(sim_heap_fails(2, &result, members_case, object));
	assert_int_equal(result, 0);
	json_decref(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_is_one_json_object),
		cmocka_unit_test(zero_byte_is_not_json),
		cmocka_unit_test(deep_nesting_is_refused),
		cmocka_unit_test(request_comes_back_as_it_was),
		cmocka_unit_test(stream_has_the_golden_bytes),
		cmocka_unit_test(bad_requests_are_refused_with_the_reason),
		cmocka_unit_test(unknown_members_are_named),
		cmocka_unit_test(members_are_read_by_their_type),
		cmocka_unit_test(answer_is_paired_by_its_id),
		cmocka_unit_test(error_has_a_text_and_perhaps_a_hint),
		cmocka_unit_test(answer_at_once_says_the_same),
		cmocka_unit_test(answer_over_a_frame_leaves_the_writer),
		cmocka_unit_test(bad_answers_are_refused),
		cmocka_unit_test(too_long_a_frame_is_neither_sent_nor_read),
		cmocka_unit_test(members_check_says_when_memory_is_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
