/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/proto/grant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fairlead_driver.h"
#include "lanes/proto/client.h"
#include "sim/heap.h"

#define PUBLIC                                                         \
	"{\"grant_id\":42,\"key\":\"slurm/4711/0\",\"interconnect\":"  \
	"\"slingshot\",\"nodes\":\"n[0-3]\",\"uid\":1000,\"gid\":100," \
	"\"ids\":[1024],\"options\":\"vnis=1\",\"has_lane\":true,"     \
	"\"context\":{\"vnis\":[1024]}}"

static const struct grant sample = {
	.grant_id = 42,
	.epoch = 3,
	.public_text = PUBLIC,
	.sealed = (const uint8_t *)"sealed",
	.sealed_size = 6,
};

static const uint32_t sample_ids[] = { 1024 };

static const struct grant_public sample_public = {
	.grant_id = 42,
	.key = "slurm/4711/0",
	.interconnect = "slingshot",
	.nodes = "n[0-3]",
	.uid = 1000,
	.gid = 100,
	.id_count = 1,
	.ids = sample_ids,
	.options = "vnis=1",
	.has_lane = true,
	.context = "{\"vnis\":[1024]}",
};

static void encode(const struct grant *grant, struct writer *writer)
{
	assert_int_equal(grant_encode(grant, writer), 0);
}

static void assert_is_sample(const struct grant *grant)
{
	assert_int_equal(grant->grant_id, sample.grant_id);
	assert_int_equal(grant->epoch, sample.epoch);
	assert_string_equal(grant->public_text, sample.public_text);
	assert_int_equal(grant->sealed_size, sample.sealed_size);
	assert_memory_equal(grant->sealed, sample.sealed, sample.sealed_size);
}

static void public_part_is_one_line_of_json(void **state)
{
	_auto_(freep) char *text = NULL;

	assert_int_equal(grant_public_format(&sample_public, &text), 0);
	assert_string_equal(text, PUBLIC);
}

static void public_part_is_read_as_it_was_written(void **state)
{
	json_auto_t *object = json_loads(PUBLIC, 0, NULL);
	uint32_t ids[FAIRLEAD_LANE_IDS_MAX];
	struct grant_public public;

	assert_int_equal(grant_public_read(object, ids, &public, NULL), 0);
	assert_int_equal(public.grant_id, 42);
	assert_string_equal(public.key, "slurm/4711/0");
	assert_string_equal(public.interconnect, "slingshot");
	assert_string_equal(public.nodes, "n[0-3]");
	assert_string_equal(public.options, "vnis=1");
	assert_int_equal(public.uid, 1000);
	assert_int_equal(public.gid, 100);
	assert_int_equal(public.id_count, 1);
	assert_int_equal(public.ids[0], 1024);
	assert_true(public.has_lane);
}

static void public_part_that_lacks_or_bends_a_member_is_refused(void **state)
{
	static const char *const bent[] = {
		"{\"ids\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}",
		"{\"ids\":[-1]}",
		"{\"ids\":[4294967296]}",
		"{\"ids\":[\"1\"]}",
		"{\"grant_id\":0}",
		"{\"uid\":4294967296}",
		"{\"gid\":-1}",
		"{\"nodes\":7}",
		"{\"has_lane\":1}",
	};
	json_auto_t *whole = json_loads(PUBLIC, 0, NULL);
	uint32_t ids[FAIRLEAD_LANE_IDS_MAX];
	struct fairlead_error error;
	struct grant_public public;
	const char *name;
	json_t *value;

	for (size_t i = 0; i < sizeof(bent) / sizeof(*bent); i++) {
		json_auto_t *object = json_copy(whole);
		json_auto_t *change = json_loads(bent[i], 0, NULL);

		json_object_update(object, change);
		assert_int_equal(grant_public_read(object, ids, &public,
						   &error),
				 -EINVAL);
	}
	json_object_foreach (whole, name, value) {
		json_auto_t *object = json_copy(whole);

		json_object_del(object, name);
		assert_int_equal(grant_public_read(object, ids, &public,
						   &error),
				 strcmp(name, "context") == 0 ? 0 : -EINVAL);
	}
}

static void making_it_at_once_gives_the_same(void **state)
{
	struct grant grant = { .grant_id = sample_public.grant_id, .epoch = 3 };
	struct grant_public public = sample_public;
	char *public_text = NULL, *made_public = NULL;
	char *text = NULL, *made = NULL;

	assert_int_equal(grant_public_format(&public, &public_text), 0);
	grant.public_text = public_text;
	assert_int_equal(grant_format(&grant, &text), 0);
	assert_int_equal(grant_make(&public, 3, NULL, 0, &made_public, &made),
			 0);
	assert_string_equal(made, text);
	assert_string_equal(made_public, public_text);
	free(made_public);
	free(made);
	made_public = made = NULL;
	public.grant_id = 0;
	assert_int_equal(grant_make(&public, 3, NULL, 0, &made_public, &made),
			 -EINVAL);
	assert_null(made_public);
	assert_null(made);
	free(public_text);
	free(text);
}

static void text_of_any_length_is_base64(void **state)
{
	const size_t prefix_size = strlen(GRANT_TEXT_PREFIX);
	char name[64] = "";

	for (size_t length = 0; length < sizeof(name) - 1; length++) {
		struct grant grant = { .grant_id = 42, .epoch = UINT64_MAX };
		_auto_(freep) char *public_text = NULL;
		_auto_(freep) char *text = NULL;
		struct writer writer = { 0 };
		char expected[1024];

		assert_true(asprintf(&public_text, "{\"a\":\"%s\"}", name) > 0);
		grant.public_text = public_text;
		assert_int_equal(grant_encode(&grant, &writer), 0);
		assert_int_equal(grant_format(&grant, &text), 0);
		sodium_bin2base64(expected, sizeof(expected), writer.data,
				  writer.size,
				  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
		assert_string_equal(text + prefix_size, expected);
		writer_fini(&writer);
		name[length] = (char)('0' + length);
		if (name[length] == '"' || name[length] == '\\')
			name[length] = '~';
	}
}

static void grant_has_the_golden_bytes(void **state)
{
	static const char expected[] = "FRGT\1\0\0\0"
				       "\x2a\0\0\0\0\0\0\0"
				       "\x03\0\0\0\0\0\0\0"
				       "\xaf\0\0\0" PUBLIC "\x06\0\0\0sealed";
	const size_t size = sizeof(expected) - 1;
	struct writer writer = { 0 };
	uint8_t digest[32];

	encode(&sample, &writer);
	assert_int_equal(writer.size, size + sizeof(digest));
	assert_memory_equal(writer.data, expected, size);
	crypto_generichash(digest, sizeof(digest), writer.data, size, NULL, 0);
	assert_memory_equal(writer.data + size, digest, sizeof(digest));
	writer_fini(&writer);
}

static void grant_comes_back_as_it_was(void **state)
{
	struct writer writer = { 0 };
	struct grant got;

	encode(&sample, &writer);
	assert_int_equal(grant_decode(writer.data, writer.size, &got, NULL), 0);
	assert_is_sample(&got);
	grant_fini(&got);
	assert_null(got.public_text);
	writer_fini(&writer);
}

static void grant_without_secrets_has_an_empty_sealed_part(void **state)
{
	struct grant sent = sample, got;
	struct writer writer = { 0 };

	sent.sealed = NULL;
	sent.sealed_size = 0;
	encode(&sent, &writer);
	assert_int_equal(grant_decode(writer.data, writer.size, &got, NULL), 0);
	assert_int_equal(got.sealed_size, 0);
	grant_fini(&got);
	writer_fini(&writer);
}

static void text_form_is_one_word(void **state)
{
	_auto_(freep) char *text = NULL;
	struct grant got;

	assert_int_equal(grant_format(&sample, &text), 0);
	assert_memory_equal(text, "fairlead-grant:1:RlJHVAEAAAAqAAAA", 33);
	assert_int_equal(strspn(text + 17, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "abcdefghijklmnopqrstuvwxyz"
					   "0123456789-_"),
			 strlen(text + 17));
	assert_int_equal(grant_parse(text, &got, NULL), 0);
	assert_is_sample(&got);
	grant_fini(&got);
}

static void assert_refused(const char *text, const char *part)
{
	struct grant got = { .grant_id = 99 };
	struct fairlead_error error;

	assert_int_equal(grant_parse(text, &got, &error), -EBADMSG);
	if (strstr(error.text, part) == NULL)
		fail_msg("'%s' is not in '%s'", part, error.text);
	assert_int_equal(got.grant_id, 99);
}

static void bad_text_forms_are_refused(void **state)
{
	_auto_(freep) char *text = NULL;
	size_t size;

	assert_int_equal(grant_format(&sample, &text), 0);
	assert_refused("", "begins with");
	assert_refused("fairlead-grant:2:RlJH", "begins with");
	assert_refused("fairlead-grant:1:", "not a grant");
	assert_refused("fairlead-grant:1:RlJH+", "base64");
	assert_refused("fairlead-grant:1:RlJH=", "base64");
	assert_refused("fairlead-grant:1:RlJHV", "base64");
	assert_refused("fairlead-grant:1:RlJH VAEA", "base64");
	size = strlen(text);
	text[size - 1] = text[size - 1] == 'A' ? 'Q' : 'A';
	assert_refused(text, "damaged");
	while (size-- > strlen(GRANT_TEXT_PREFIX)) {
		text[size] = 0;
		assert_refused(text, "grant");
	}
}

static void every_bit_flip_of_a_grant_is_refused(void **state)
{
	struct writer writer = { 0 };
	struct grant got;

	encode(&sample, &writer);
	for (size_t bit = 0; bit < 8 * writer.size; bit++) {
		writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (grant_decode(writer.data, writer.size, &got, NULL) >= 0)
			fail_msg("a flip of bit %zu was taken", bit);
		writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	writer_fini(&writer);
}

static void every_truncation_of_a_grant_is_refused(void **state)
{
	struct writer writer = { 0 };
	struct grant got;

	encode(&sample, &writer);
	for (size_t size = 0; size < writer.size; size++) {
		_auto_(freep) uint8_t *copy = malloc(size + 1);

		memcpy(copy, writer.data, size);
		assert_int_equal(grant_decode(copy, size, &got, NULL),
				 -EBADMSG);
	}
	writer_fini(&writer);
}

/* Make the digest right again after a change. */
static void redigest(struct writer *writer)
{
	const size_t size = writer->size - 32;

	crypto_generichash(writer->data + size, 32, writer->data, size, NULL,
			   0);
}

static void digested_nonsense_is_refused(void **state)
{
	static const struct {
		size_t offset;
		uint8_t byte;
		int result;
	} cases[] = {
		{ 0, 'f', -EBADMSG },       /* magic */
		{ 4, 2, -EPROTONOSUPPORT }, /* version */
		{ 6, 1, -EBADMSG },         /* reserved */
		{ 8, 0, -EBADMSG },         /* grant id 42 */
		{ 15, 0x80, -EBADMSG },     /* grant id over 2^63 */
		{ 24, 0x72, -EBADMSG },     /* size of the public part */
		{ 26, 0xff, -EBADMSG },     /* likewise */
		{ 28 + 113, 0, -EBADMSG },  /* behind a number in it */
		{ 28, '[', -EBADMSG },      /* public part */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct writer writer = { 0 };
		struct grant got;

		encode(&sample, &writer);
		redigest(&writer);
		assert_int_equal(
			grant_decode(writer.data, writer.size, &got, NULL), 0);
		grant_fini(&got);
		writer.data[cases[i].offset] = cases[i].byte;
		redigest(&writer);
		assert_int_equal(grant_decode(writer.data, writer.size, &got,
					      NULL),
				 cases[i].result);
		writer_fini(&writer);
	}
}

static void senseless_grants_are_not_written(void **state)
{
	struct writer writer = { 0 };
	struct grant grant = sample;

	grant.grant_id = 0;
	assert_int_equal(grant_encode(&grant, &writer), -EINVAL);
	grant.grant_id = (uint64_t)GRANT_ID_MAX + 1;
	assert_int_equal(grant_encode(&grant, &writer), -EINVAL);
	grant.grant_id = GRANT_ID_MAX;
	grant.public_text = "[]";
	assert_int_equal(grant_encode(&grant, &writer), -EINVAL);
	grant.public_text = "{}";
	assert_int_equal(grant_encode(&grant, &writer), 0);
	writer_fini(&writer);
}

/* The public part of that many bytes. */
static char *public_of(size_t size)
{
	struct grant_public public = sample_public;
	_auto_(freep) char *nodes = calloc(1, size);
	char *text = NULL;
	size_t rest;

	public.nodes = nodes;
	assert_int_equal(grant_public_format(&public, &text), 0);
	rest = size - strlen(text);
	free(text);
	memset(nodes, 'n', rest);
	if (grant_public_format(&public, &text) < 0)
		return NULL;
	assert_int_equal(strlen(text), size);
	return text;
}

static void largest_answer_to_a_reserve_fits_a_frame(void **state)
{
	_auto_(freep) char *public = public_of(GRANT_PUBLIC_MAX);
	_auto_(freep) uint8_t *sealed = calloc(1, GRANT_SEALED_MAX + 1);
	_auto_(freep) char *text = NULL;
	struct writer writer = { 0 };
	struct grant grant = sample;
	json_t *answer = client_answer(CLIENT_ID_MAX);

	grant.grant_id = GRANT_ID_MAX;
	grant.public_text = public;
	grant.sealed = sealed;
	grant.sealed_size = GRANT_SEALED_MAX;
	assert_int_equal(grant_format(&grant, &text), 0);
	json_object_set_new(answer, "grant", json_string(text));
	json_object_set_new(answer, "grant_id", json_integer(GRANT_ID_MAX));
	json_object_set_new(answer, "public", json_loads(public, 0, NULL));
	assert_int_equal(client_encode(answer, &writer), 0);
	json_decref(answer);
	writer.size = 0;
	grant.sealed_size++;
	assert_int_equal(grant_encode(&grant, &writer), -EMSGSIZE);
	writer_fini(&writer);
	assert_null(public_of(GRANT_PUBLIC_MAX + 1));
}

static int decode_case(void *ctx)
{
	const struct writer *writer = ctx;
	struct grant got;
	int result = grant_decode(writer->data, writer->size, &got, NULL);

	if (result == 0)
		grant_fini(&got);
	return result;
}

static int format_case(void *ctx)
{
	_auto_(freep) char *text = NULL;

	return grant_format(ctx, &text);
}

static void grant_says_when_memory_is_out(void **state)
{
	struct writer writer = { 0 };
	unsigned int n = 1;
	int result;

	encode(&sample, &writer);
	while (sim_heap_fails(n++, &result, decode_case, &writer))
		assert_int_equal(result, -ENOMEM);
	assert_int_equal(result, 0);
	assert_true(n > 2);
	n = 1;
	while (sim_heap_fails(n++, &result, format_case, (void *)&sample))
		assert_int_equal(result, -ENOMEM);
	assert_int_equal(result, 0);
	assert_true(n > 2);
	writer_fini(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(public_part_is_one_line_of_json),
		cmocka_unit_test(public_part_is_read_as_it_was_written),
		cmocka_unit_test(
			public_part_that_lacks_or_bends_a_member_is_refused),
		cmocka_unit_test(making_it_at_once_gives_the_same),
		cmocka_unit_test(text_of_any_length_is_base64),
		cmocka_unit_test(grant_has_the_golden_bytes),
		cmocka_unit_test(grant_comes_back_as_it_was),
		cmocka_unit_test(
			grant_without_secrets_has_an_empty_sealed_part),
		cmocka_unit_test(text_form_is_one_word),
		cmocka_unit_test(bad_text_forms_are_refused),
		cmocka_unit_test(every_bit_flip_of_a_grant_is_refused),
		cmocka_unit_test(every_truncation_of_a_grant_is_refused),
		cmocka_unit_test(digested_nonsense_is_refused),
		cmocka_unit_test(senseless_grants_are_not_written),
		cmocka_unit_test(largest_answer_to_a_reserve_fits_a_frame),
		cmocka_unit_test(grant_says_when_memory_is_out),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
