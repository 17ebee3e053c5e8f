/* SPDX-License-Identifier: BSD-3-Clause */
/* Tags of what nodes send, one by one and combined. */
#include "lanes/proto/sign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "lanes/proto/test/samples.h"

static void sample_tagged(bool is_confirm, struct writer *writer)
{
	assert_int_equal(sample_encode(is_confirm ? SAMPLE_CONFIRM
						  : SAMPLE_REGISTER,
				       writer),
			 0);
}

static int open_confirm(const struct node_master *master, const uint8_t *bytes,
			size_t size)
{
	struct confirm confirm;
	int result = confirm_open(master, 1, bytes, size, &confirm);

	if (result == 0)
		confirm_fini(&confirm);
	return result;
}

static void every_bit_flip_of_a_confirm_is_refused(void **state)
{
	struct writer writer = { 0 };
	struct sample_keys keys;

	sample_keys_init(&keys);
	sample_tagged(true, &writer);
	for (size_t bit = 0; bit < 8 * writer.size; bit++) {
		writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (open_confirm(&keys.master, writer.data, writer.size) >= 0)
			fail_msg("a flip of bit %zu was taken", bit);
		writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_int_equal(open_confirm(&keys.master, writer.data, writer.size),
			 0);
	writer_fini(&writer);
}

static void every_bit_flip_of_a_registration_is_refused(void **state)
{
	struct writer writer = { 0 };

	sample_tagged(false, &writer);
	for (size_t bit = 0; bit < 8 * writer.size; bit++) {
		writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (sample_open(SAMPLE_REGISTER, writer.data, writer.size) >= 0)
			fail_msg("a flip of bit %zu was taken", bit);
		writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	writer_fini(&writer);
}

static void confirm_of_another_key_is_refused(void **state)
{
	struct writer writer = { 0 };
	struct node_master other;
	uint8_t seed[KEY_SIZE];

	sample_fill(seed, sizeof(seed), 1);
	sample_tagged(true, &writer);
	node_master_derive(SAMPLE_KEY_ID + 1, seed, &other);
	assert_int_equal(open_confirm(&other, writer.data, writer.size),
			 -ENOKEY);
	node_master_derive(SAMPLE_KEY_ID, seed, &other);
	assert_int_equal(open_confirm(&other, writer.data, writer.size),
			 -EKEYREJECTED);
	writer_fini(&writer);
}

static void confirm_is_taken_under_each_of_the_masters(void **state)
{
	struct node_master masters[2];
	struct writer writer = { 0 };
	struct sample_keys keys;
	struct confirm confirm;
	uint8_t seed[KEY_SIZE];

	sample_keys_init(&keys);
	sample_fill(seed, sizeof(seed), 1);
	node_master_derive(1, seed, &masters[0]);
	masters[1] = keys.master;
	sample_tagged(true, &writer);
	assert_int_equal(confirm_open(masters, 2, writer.data, writer.size,
				      &confirm),
			 0);
	confirm_fini(&confirm);
	writer_fini(&writer);
}

static void node_cannot_answer_for_another_one(void **state)
{
	struct writer writer = { 0 };
	struct sample_keys keys;
	struct confirm confirm;

	sample_keys_init(&keys);
	sample_confirm(&confirm);
	strcpy(confirm.node, "n4");
	assert_int_equal(confirm_encode(&confirm, &keys.node, &writer), 0);
	assert_int_equal(open_confirm(&keys.master, writer.data, writer.size),
			 -EKEYREJECTED);
	writer_fini(&writer);
}

static void tag_of_one_domain_is_none_of_another(void **state)
{
	struct sample_keys keys;
	uint8_t confirm[MAC_SIZE], registration[MAC_SIZE];

	sample_keys_init(&keys);
	mac_make(MAC_DOMAIN_CONFIRM, &keys.node, "x", 1, confirm);
	mac_make(MAC_DOMAIN_REGISTER, &keys.node, "x", 1, registration);
	assert_int_equal(
		mac_verify(MAC_DOMAIN_CONFIRM, &keys.node, "x", 1, confirm), 0);
	assert_int_equal(mac_verify(MAC_DOMAIN_CONFIRM, &keys.node, "x", 1,
				    registration),
			 -EKEYREJECTED);
	assert_int_equal(mac_verify(MAC_DOMAIN_REGISTER, &keys.node, "x", 1,
				    confirm),
			 -EKEYREJECTED);
}

static void registration_is_no_confirm(void **state)
{
	struct writer writer = { 0 };
	struct sample_keys keys;

	sample_keys_init(&keys);
	sample_tagged(false, &writer);
	assert_int_equal(open_confirm(&keys.master, writer.data, writer.size),
			 -EKEYREJECTED);
	writer.size = 0;
	sample_tagged(true, &writer);
	assert_int_equal(sample_open(SAMPLE_REGISTER, writer.data, writer.size),
			 -EKEYREJECTED);
	writer_fini(&writer);
}

static void tags_combine_in_any_order(void **state)
{
	static const uint8_t zero[MAC_SIZE];
	uint8_t one[MAC_SIZE], other[MAC_SIZE];
	uint8_t forth[MAC_SIZE] = { 0 }, back[MAC_SIZE] = { 0 };

	sample_fill(one, sizeof(one), 0x35);
	sample_fill(other, sizeof(other), 0x53);
	mac_combine(forth, one);
	assert_memory_equal(forth, one, MAC_SIZE);
	mac_combine(forth, other);
	mac_combine(back, other);
	mac_combine(back, one);
	assert_memory_equal(forth, back, MAC_SIZE);
	assert_int_equal(forth[0], 0x35 ^ 0x53);
	mac_combine(forth, back);
	assert_memory_equal(forth, zero, MAC_SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bit_flip_of_a_confirm_is_refused),
		cmocka_unit_test(every_bit_flip_of_a_registration_is_refused),
		cmocka_unit_test(confirm_of_another_key_is_refused),
		cmocka_unit_test(confirm_is_taken_under_each_of_the_masters),
		cmocka_unit_test(node_cannot_answer_for_another_one),
		cmocka_unit_test(tag_of_one_domain_is_none_of_another),
		cmocka_unit_test(registration_is_no_confirm),
		cmocka_unit_test(tags_combine_in_any_order),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
