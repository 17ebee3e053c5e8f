/* SPDX-License-Identifier: BSD-3-Clause */
/* Node ids, trees and errors as text; the authenticator of one key. */
#include "scoll.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void nid_S09_is_written_as_address_and_net(void **state)
{
	static const struct {
		const char *text;
		scoll_nid_t nid;
		const char *written; /* NULL: the same */
	} cases[] = {
		{ "10.0.0.1@tcp", UINT64_C(0x000200000a000001), NULL },
		{ "192.168.10.124@o2ib0", UINT64_C(0x00050000c0a80a7c),
		  "192.168.10.124@o2ib" },
		{ "192.168.10.124@o2ib1", UINT64_C(0x00050001c0a80a7c), NULL },
		{ "0.0.0.0@lo", UINT64_C(0x0009000000000000), NULL },
		{ "255.255.255.255@tcp65535", UINT64_C(0x0002ffffffffffff),
		  NULL },
		{ "17@gni4", UINT64_C(0x000d000400000011), NULL },
		{ "4294967295@kfi", UINT64_C(0x00100000ffffffff), NULL },
		{ "5@net77.3", UINT64_C(0x004d000300000005), NULL },
		{ "4294967295@net65535.65535", SCOLL_NID_ANY, NULL },
	};
	char text[SCOLL_NID_TEXT];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		scoll_nid_t nid = 0;

		assert_int_equal(scoll_nid_parse(cases[i].text, &nid), 0);
		assert_int_equal(nid, cases[i].nid);
		assert_string_equal(scoll_nid_format(nid, text),
				    cases[i].written != NULL ? cases[i].written
							     : cases[i].text);
	}
}

static void nid_parse_refuses_what_is_none(void **state)
{
	static const char *const texts[] = {
		"",
		"@",
		"@tcp",
		"10.0.0.1",
		"10.0.0.1@",
		"10.0.0.1@tcpx",
		"10.0.0.1@tcp-1",
		"10.0.0.1@tcp65536",
		"10.0.0.1@tcp01",
		"10.0.0@tcp",
		"10.0.0.0.1@tcp",
		"10.0.0.256@tcp",
		"10.0.0.01@tcp",
		"10..0.1@tcp",
		" 10.0.0.1@tcp",
		"10.0.0.1 @tcp",
		"1@tcp",
		"1.2.3.4@gni",
		"4294967296@gni",
		"5@net77",
		"5@net77.",
		"5@net.3",
		"5@net65536.3",
		"10.0.0.1@tcp@tcp",
		"10.0.0.1@tcp000000000000000000000000000000000000000000000000",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		scoll_nid_t nid = 42;

		assert_int_equal(scoll_nid_parse(texts[i], &nid), -EINVAL);
		assert_int_equal(nid, 42);
	}
}

static void tree_text_is_that_of_the_shapes(void **state)
{
	scoll_tree_type_t tree = 0;
	char text[SCOLL_TREE_TEXT];
	struct fairlead_error error = { 0 };

	assert_int_equal(scoll_tree_parse(NULL, "knomial:4", &tree, &error), 0);
	assert_int_equal(tree, SCOLL_TREE_KNOMIAL(4));
	assert_string_equal(scoll_tree_format(NULL, tree, text), "knomial:4");
	assert_string_equal(scoll_tree_format(NULL, SCOLL_TREE_FLAT, text),
			    "flat");
	assert_string_equal(scoll_tree_format(NULL, SCOLL_TREE(99, 1), text),
			    "?");
	assert_int_equal(scoll_tree_parse(NULL, "oak", &tree, &error), -EINVAL);
	assert_non_null(strstr(error.text, "oak"));
}

static void every_error_type_has_a_text_of_its_own(void **state)
{
	for (int i = 0; i < SCOLL_ERROR_COUNT; i++) {
		const char *text =
			scoll_error_type_text((enum scoll_error_type)i);

		assert_string_not_equal(text, "unknown error");
		for (int j = 0; j < i; j++)
			assert_string_not_equal(
				text, scoll_error_type_text(
					      (enum scoll_error_type)j));
	}
	assert_string_equal(scoll_error_type_text(SCOLL_ERROR_COUNT),
			    "unknown error");
	assert_string_equal(scoll_error_type_text((enum scoll_error_type) - 1),
			    "unknown error");
}

static void seal_is_for_one_sender_one_receiver_and_one_key(void **state)
{
	static const uint8_t key[32] = { 1 }, other_key[32] = { 2 };
	struct scoll_authenticator *a = NULL, *b = NULL, *c = NULL, *d = NULL;
	uint8_t seal[SCOLL_SEAL_MAX], bytes[] = "hold fast";

	assert_int_equal(scoll_key_authenticator_create(1, key, &a), 0);
	assert_int_equal(scoll_key_authenticator_create(2, key, &b), 0);
	assert_int_equal(scoll_key_authenticator_create(3, key, &c), 0);
	assert_int_equal(scoll_key_authenticator_create(2, other_key, &d), 0);
	assert_in_range(a->seal_size, 16, SCOLL_SEAL_MAX);
	a->seal(a->ctx, 2, bytes, sizeof(bytes), seal);
	assert_int_equal(b->verify(b->ctx, 1, bytes, sizeof(bytes), seal), 0);
	assert_int_equal(b->verify(b->ctx, 3, bytes, sizeof(bytes), seal),
			 -EPERM);
	assert_int_equal(b->verify(b->ctx, 1, bytes, sizeof(bytes) - 1, seal),
			 -EPERM);
	assert_int_equal(c->verify(c->ctx, 1, bytes, sizeof(bytes), seal),
			 -EPERM);
	assert_int_equal(d->verify(d->ctx, 1, bytes, sizeof(bytes), seal),
			 -EPERM);
	for (size_t i = 0; i < a->seal_size * 8; i++) {
		seal[i / 8] ^= (uint8_t)(1 << i % 8);
		assert_int_equal(b->verify(b->ctx, 1, bytes, sizeof(bytes),
					   seal),
				 -EPERM);
		seal[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	bytes[0] ^= 1;
	assert_int_equal(b->verify(b->ctx, 1, bytes, sizeof(bytes), seal),
			 -EPERM);
	scoll_key_authenticator_destroy(a);
	scoll_key_authenticator_destroy(b);
	scoll_key_authenticator_destroy(c);
	scoll_key_authenticator_destroy(d);
	scoll_key_authenticator_destroy(NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(nid_S09_is_written_as_address_and_net),
		cmocka_unit_test(nid_parse_refuses_what_is_none),
		cmocka_unit_test(tree_text_is_that_of_the_shapes),
		cmocka_unit_test(every_error_type_has_a_text_of_its_own),
		cmocka_unit_test(
			seal_is_for_one_sender_one_receiver_and_one_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
