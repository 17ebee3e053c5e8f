/* SPDX-License-Identifier: BSD-3-Clause */
/* Envelopes: what vouches for a text, and what does not. */
#include "lanes/proto/envelope.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t nonce[ENVELOPE_NONCE_SIZE] = "0123456789abcdef";

#define TEXT "{\"v\":1,\"id\":7,\"op\":\"status\"}"

static int check(enum envelope_kind kind, const uint8_t *payload, size_t size,
		 const char *text)
{
	uint8_t seen[ENVELOPE_NONCE_SIZE];
	struct fairlead_error error = { 0 };
	int result = envelope_check(kind, payload, size, text, strlen(text),
				    seen, &error);

	if (result == 0)
		assert_memory_equal(seen, nonce, sizeof(nonce));
	else
		assert_true(error.text[0] != 0);
	return result;
}

static void a_payload_vouches_for_its_text_only(void **state)
{
	uint8_t payload[ENVELOPE_PAYLOAD_SIZE];

	envelope_vouch(ENVELOPE_REQUEST, nonce, TEXT, strlen(TEXT), payload);
	assert_int_equal(
		check(ENVELOPE_REQUEST, payload, sizeof(payload), TEXT), 0);
	assert_int_equal(check(ENVELOPE_REQUEST, payload, sizeof(payload),
			       TEXT " "),
			 -EKEYREJECTED);
	assert_int_equal(check(ENVELOPE_ANSWER, payload, sizeof(payload), TEXT),
			 -EKEYREJECTED);
	for (size_t size = 0; size < sizeof(payload); size++)
		assert_int_equal(check(ENVELOPE_REQUEST, payload, size, TEXT),
				 -EKEYREJECTED);
	for (size_t i = 0; i < sizeof(payload); i++) {
		if (i >= 16 && i < 32)
			continue; /* the nonce is the receiver's to compare */
		payload[i] ^= 1;
		assert_int_equal(check(ENVELOPE_REQUEST, payload,
				       sizeof(payload), TEXT),
				 -EKEYREJECTED);
		payload[i] ^= 1;
	}
}

static void an_envelope_is_read_as_it_was_written(void **state)
{
	struct writer writer = { 0 };
	struct envelope envelope;

	assert_int_equal(envelope_encode(ENVELOPE_REQUEST, "MUNGE:x:", TEXT,
					 strlen(TEXT), &writer),
			 0);
	assert_int_equal(envelope_parse(ENVELOPE_REQUEST, writer.data,
					writer.size, &envelope, NULL),
			 0);
	assert_string_equal(envelope.credential, "MUNGE:x:");
	assert_string_equal(envelope.text, TEXT);
	assert_int_equal(envelope.size, strlen(TEXT));
	envelope_fini(&envelope);
	assert_int_equal(envelope_parse(ENVELOPE_ANSWER, writer.data,
					writer.size, &envelope, NULL),
			 -EINVAL);
	writer_fini(&writer);
}

static void the_longest_text_fits_however_it_is_escaped(void **state)
{
	char *text = malloc(CLIENT_FRAME_MAX + 1);
	char credential[ENVELOPE_CREDENTIAL_MAX + 1];
	struct writer writer = { 0 };
	struct envelope envelope;

	assert_non_null(text);
	memset(text, '"', CLIENT_FRAME_MAX);
	text[CLIENT_FRAME_MAX] = 0;
	memset(credential, 'x', sizeof(credential) - 1);
	credential[sizeof(credential) - 1] = 0;
	assert_int_equal(envelope_encode(ENVELOPE_ANSWER, credential, text,
					 CLIENT_FRAME_MAX, &writer),
			 0);
	assert_int_equal(envelope_parse(ENVELOPE_ANSWER, writer.data,
					writer.size, &envelope, NULL),
			 0);
	assert_int_equal(envelope.size, CLIENT_FRAME_MAX);
	envelope_fini(&envelope);
	assert_int_equal(envelope_encode(ENVELOPE_ANSWER, credential, text,
					 CLIENT_FRAME_MAX + 1, &writer),
			 -EMSGSIZE);
	writer_fini(&writer);
	free(text);
}

static void what_is_no_text_is_not_written(void **state)
{
	struct writer writer = { 0 };
	char credential[ENVELOPE_CREDENTIAL_MAX + 2];

	assert_int_equal(envelope_encode(ENVELOPE_REQUEST, "MUNGE:x:", "\xff",
					 1, &writer),
			 -EINVAL);
	memset(credential, 'x', sizeof(credential) - 1);
	credential[sizeof(credential) - 1] = 0;
	assert_int_equal(envelope_encode(ENVELOPE_REQUEST, credential, TEXT,
					 strlen(TEXT), &writer),
			 -EMSGSIZE);
	assert_int_equal(writer.size, 0);
	writer_fini(&writer);
}

static void what_is_no_envelope_is_refused_with_a_reason(void **state)
{
	static const struct {
		const char *frame;
		int result;
		const char *reason;
	} cases[] = {
		{ "{", -EBADMSG, "not JSON" },
		{ "[]", -EBADMSG, "not a JSON object" },
		{ "{\"v\":1}", -EINVAL, "munge" },
		{ "{\"munge\":\"x\",\"request\":\"{}\"}", -EINVAL, "'v'" },
		{ "{\"v\":2,\"munge\":\"x\",\"request\":\"{}\"}",
		  -EPROTONOSUPPORT, "version" },
		{ "{\"v\":1,\"munge\":\"x\"}", -EINVAL, "request" },
		{ "{\"v\":1,\"munge\":7,\"request\":\"{}\"}", -EINVAL,
		  "munge" },
		{ "{\"v\":1,\"munge\":\"x\",\"request\":{}}", -EINVAL,
		  "request" },
		{ "{\"v\":1,\"munge\":\"x\",\"request\":\"\",\"uid\":0}",
		  -EINVAL, "uid" },
		{ TEXT, -EINVAL, "id" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fairlead_error error = { 0 };
		struct envelope envelope;

		assert_int_equal(envelope_parse(ENVELOPE_REQUEST,
						cases[i].frame,
						strlen(cases[i].frame),
						&envelope, &error),
				 cases[i].result);
		assert_non_null(strstr(error.text, cases[i].reason));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_payload_vouches_for_its_text_only),
		cmocka_unit_test(an_envelope_is_read_as_it_was_written),
		cmocka_unit_test(the_longest_text_fits_however_it_is_escaped),
		cmocka_unit_test(what_is_no_text_is_not_written),
		cmocka_unit_test(what_is_no_envelope_is_refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
