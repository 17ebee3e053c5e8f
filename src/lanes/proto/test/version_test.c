/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same tests in three builds: of version 1, of version 2 that still speaks
 * 1, and of version 2 alone. The golden bytes are what passes between them.
 */
#include "lanes/proto/version.h"

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
#include "lanes/proto/layout.h"
#include "lanes/proto/test/golden.h"
#include "lanes/proto/test/samples.h"

#define VERSIONS 2

static const char *const *const golden[VERSIONS + 1] = { NULL, golden_v1,
							 golden_v2 };
static const char *const *const golden_commands[VERSIONS + 1] = {
	NULL, golden_commands_v1, golden_commands_v2
};

/* Its version stands in it, or in the header of its command. */
static bool has_version(enum sample sample)
{
	return sample != SAMPLE_CHALLENGE && sample != SAMPLE_REFUSE;
}

static bool is_registration(enum sample sample)
{
	return sample == SAMPLE_REGISTER || sample == SAMPLE_REGISTER_EMPTY;
}

static void this_build_speaks_what_it_says(void **state)
{
	for (uint16_t version = 0; version <= VERSIONS + 1; version++)
		assert_int_equal(version_is_spoken(version),
				 version >= WIRE_VERSION_MIN &&
					 version <= WIRE_VERSION);
	assert_true(version_is_readable(UINT16_MAX));
	assert_false(version_is_readable(0));
}

static void each_version_has_its_golden_bytes(void **state)
{
	for (uint16_t version = 1; version <= VERSIONS; version++) {
		for (enum sample sample = 0; sample < SAMPLE_COUNT; sample++) {
			struct writer writer = { 0 };
			_auto_(freep) uint8_t *bytes = NULL;
			size_t size;
			int result = sample_encode(sample, version, &writer);

			bytes = sample_unhex(golden[version][sample], &size);
			if (has_version(sample) &&
			    !version_is_spoken(version)) {
				assert_int_equal(result, -EINVAL);
				assert_int_equal(writer.size, 0);
			} else {
				assert_int_equal(result, 0);
				assert_int_equal(writer.size, size);
				assert_memory_equal(writer.data, bytes, size);
			}
			writer_fini(&writer);
		}
	}
}

static void messages_from_one_version_apart_are_read(void **state)
{
	for (uint16_t version = 1; version <= VERSIONS; version++) {
		for (enum sample sample = 0; sample < SAMPLE_COUNT; sample++) {
			_auto_(freep) uint8_t *bytes = NULL;
			size_t size;
			int result;

			bytes = sample_unhex(golden[version][sample], &size);
			result = sample_open(sample, version, bytes, size);
			if (!has_version(sample))
				assert_int_equal(result, 0);
			else if (!version_is_readable(version))
				assert_int_equal(result, -EPROTONOSUPPORT);
			else if (is_registration(sample) &&
				 !version_is_spoken(version))
				assert_int_equal(result, -EPROTONOSUPPORT);
			else
				assert_int_equal(result, 0);
		}
	}
}

static void commands_from_one_version_apart_are_verified(void **state)
{
	struct sample_keys keys;

	sample_keys_init(&keys);
	for (uint16_t version = 1; version <= VERSIONS; version++) {
		for (size_t i = 0; i < COMMAND_OP_MAX; i++) {
			_auto_(freep) uint8_t *bytes = NULL;
			struct command command;
			struct confirm confirm;
			uint8_t incarnation[INCARNATION_SIZE] = { 0 };
			size_t size;
			int result;

			bytes = sample_unhex(golden_commands[version][i],
					     &size);
			result = command_verify(bytes, size, &keys.public, 1,
						&command);
			if (!version_is_readable(version)) {
				assert_int_equal(result, -EPROTONOSUPPORT);
				continue;
			}
			assert_int_equal(result, 0);
			assert_int_equal(command.version, version);
			assert_int_equal(
				sample_open(SAMPLE_HELLO + (enum sample)i,
					    command.version, command.body,
					    command.body_size),
				0);
			confirm_answer(&command, "n3", incarnation, 0,
				       &confirm);
			assert_true(version_is_spoken(confirm.version));
		}
	}
}

static void own_version_is_neither_longer_nor_shorter(void **state)
{
	for (enum sample sample = 0; sample < SAMPLE_COUNT; sample++) {
		_auto_(freep) uint8_t *bytes = NULL;
		_auto_(freep) uint8_t *longer = NULL;
		size_t size;

		bytes = sample_unhex(golden[WIRE_VERSION][sample], &size);
		for (size_t left = 0; left < size; left++) {
			_auto_(freep) uint8_t *cut = malloc(left + 1);

			memcpy(cut, bytes, left);
			assert_true(sample_open(sample, WIRE_VERSION, cut,
						left) < 0);
		}
		longer = calloc(1, size + 1);
		memcpy(longer, bytes, size);
		assert_true(sample_open(sample, WIRE_VERSION, longer,
					size + 1) < 0);
	}
}

/* Fields that this build does not know end up in no message of an older one. */
static void older_version_has_no_later_fields(void **state)
{
	_auto_(freep) uint8_t *later = NULL;
	size_t size;

	later = sample_unhex(golden_v2[SAMPLE_ACK], &size);
	if (version_is_readable(1))
		assert_int_equal(sample_open(SAMPLE_ACK, 1, later, size),
				 -EBADMSG);
	else
		assert_int_equal(sample_open(SAMPLE_ACK, 1, later, size),
				 -EPROTONOSUPPORT);
}

static void highest_shared_version_is_chosen(void **state)
{
	static const struct {
		uint16_t theirs_min, theirs;
		uint16_t chosen[3]; /* by build: 1, 1 and 2, 2 */
	} cases[] = {
		{ 1, 1, { 1, 1, 0 } }, { 1, 2, { 1, 2, 2 } },
		{ 2, 2, { 0, 2, 2 } }, { 1, 9, { 1, 2, 2 } },
		{ 2, 9, { 0, 2, 2 } }, { 3, 9, { 0, 0, 0 } },
	};
	const size_t build = WIRE_VERSION + WIRE_VERSION_MIN - 2;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct challenge challenge = {
			.version = cases[i].theirs,
			.version_min = cases[i].theirs_min,
		};
		uint16_t version = 0;
		int result = challenge_choose(&challenge, &version);

		assert_int_equal(version, cases[i].chosen[build]);
		assert_int_equal(result, version > 0 ? 0 : -EPROTONOSUPPORT);
	}
}

static void challenge_of_a_later_version_may_be_longer(void **state)
{
	struct writer writer = { 0 };
	struct challenge challenge;

	write_u16(&writer, WIRE_VERSION + 1);
	write_u16(&writer, 1);
	write_bytes(&writer, sample_challenge.nonce, NONCE_SIZE);
	write_text(&writer, "something new");
	assert_int_equal(challenge_decode(writer.data, writer.size, &challenge),
			 0);
	assert_int_equal(challenge.version, WIRE_VERSION + 1);
	assert_memory_equal(challenge.nonce, sample_challenge.nonce,
			    NONCE_SIZE);
	writer.data[0] = WIRE_VERSION;
	assert_int_equal(challenge_decode(writer.data, writer.size, &challenge),
			 -EBADMSG);
	writer_fini(&writer);
}

static void challenge_has_its_versions_in_order(void **state)
{
	struct challenge challenge = { .version = 1, .version_min = 2 };
	struct writer writer = { 0 };

	assert_int_equal(challenge_encode(&challenge, &writer), -EINVAL);
	write_u16(&writer, 1);
	write_u16(&writer, 2);
	write_bytes(&writer, sample_challenge.nonce, NONCE_SIZE);
	assert_int_equal(challenge_decode(writer.data, writer.size, &challenge),
			 -EBADMSG);
	writer_fini(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_build_speaks_what_it_says),
		cmocka_unit_test(each_version_has_its_golden_bytes),
		cmocka_unit_test(messages_from_one_version_apart_are_read),
		cmocka_unit_test(commands_from_one_version_apart_are_verified),
		cmocka_unit_test(own_version_is_neither_longer_nor_shorter),
		cmocka_unit_test(older_version_has_no_later_fields),
		cmocka_unit_test(highest_shared_version_is_chosen),
		cmocka_unit_test(challenge_of_a_later_version_may_be_longer),
		cmocka_unit_test(challenge_has_its_versions_in_order),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
