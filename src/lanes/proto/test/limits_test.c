/* SPDX-License-Identifier: BSD-3-Clause */
/* The largest messages, and what is over a limit or out of a range. */
#include "lanes/proto/message.h"

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
#include "lanes/proto/test/samples.h"
#include "sim/heap.h"

static void registration_needs_a_whole_epoch_proof(void **state)
{
	static const uint8_t proof[COMMAND_HEADER_SIZE];
	struct registration sent;
	struct writer writer = { 0 };
	struct sample_keys keys;

	sample_keys_init(&keys);
	sample_registration_empty(&sent);
	sent.proof = proof;
	sent.proof_size = COMMAND_HEADER_SIZE - 1;
	assert_int_equal(registration_encode(&sent, &keys.node, &writer),
			 -EINVAL);
	assert_int_equal(writer.size, 0);
	sent.proof_size = COMMAND_HEADER_SIZE + 1;
	assert_int_equal(registration_encode(&sent, &keys.node, &writer),
			 -EINVAL);
	writer_fini(&writer);
}

static void largest_registration_fits_a_frame(void **state)
{
	_auto_(freep) struct registration_grant *grants =
		calloc(REGISTRATION_GRANTS_MAX + 1, sizeof(*grants));
	_auto_(freep) struct registration_object *objects =
		calloc(REGISTRATION_OBJECTS_MAX + 1, sizeof(*objects));
	struct registration_driver drivers[REGISTRATION_DRIVERS_MAX] = { 0 };
	static const uint8_t proof[COMMAND_HEADER_SIZE];
	static const uint8_t address[COLLECTIVE_ADDRESS_MAX + 1];
	struct registration sent, got;
	struct writer writer = { 0 }, inventory = { 0 };
	struct sample_keys keys;

	sample_keys_init(&keys);
	sample_registration_empty(&sent);
	memset(sent.node, 'n', NODE_NAME_MAX);
	memset(sent.software, 's', SOFTWARE_MAX);
	for (size_t i = 0; i < REGISTRATION_GRANTS_MAX + 1; i++) {
		grants[i] = (struct registration_grant){
			.grant_id = i + 1,
			.state = GRANT_APPLIED,
			.id_count = FAIRLEAD_LANE_IDS_MAX,
		};
		memset(grants[i].driver, 'd', FAIRLEAD_DRIVER_NAME_MAX);
	}
	for (size_t i = 0; i < REGISTRATION_OBJECTS_MAX + 1; i++) {
		objects[i].id_count = FAIRLEAD_OBJECT_IDS_MAX;
		memset(objects[i].driver, 'd', FAIRLEAD_DRIVER_NAME_MAX);
		memset(objects[i].device, 'c', DEVICE_NAME_MAX);
	}
	for (size_t i = 0; i < REGISTRATION_DRIVERS_MAX; i++) {
		memset(drivers[i].name, 'd', FAIRLEAD_DRIVER_NAME_MAX);
		memset(drivers[i].detail, 'x', DRIVER_DETAIL_MAX);
		drivers[i].place.size = FAIRLEAD_PLACE_MAX;
	}
	sent.address = address;
	sent.address_size = COLLECTIVE_ADDRESS_MAX;
	sent.proof = proof;
	sent.proof_size = sizeof(proof);
	sent.grants = grants;
	sent.grant_count = REGISTRATION_GRANTS_MAX;
	sent.objects = objects;
	sent.object_count = REGISTRATION_OBJECTS_MAX;
	sent.drivers = drivers;
	sent.driver_count = REGISTRATION_DRIVERS_MAX;
	frame_begin(&writer, FRAME_REGISTER);
	node_key_derive(&keys.master, sent.node, &keys.node);
	assert_int_equal(registration_encode(&sent, &keys.node, &writer), 0);
	assert_int_equal(registration_open(&keys.master, 1, sent.manager_nonce,
					   writer.data + 1, writer.size - 1,
					   &got),
			 0);
	registration_fini(&got);
	/* And the answer to a QUERY of the same. */
	assert_int_equal(inventory_encode(&sent, &inventory), 0);
	assert_in_range(inventory.size, 1, CONFIRM_ANSWER_MAX);
	assert_int_equal(inventory_decode(inventory.data, inventory.size, &got),
			 0);
	assert_int_equal(got.object_count, REGISTRATION_OBJECTS_MAX);
	registration_fini(&got);
	writer_fini(&inventory);
	writer.size = 1;
	sent.grant_count++;
	assert_int_equal(registration_encode(&sent, &keys.node, &writer),
			 -EMSGSIZE);
	sent.grant_count--;
	sent.object_count++;
	assert_int_equal(registration_encode(&sent, &keys.node, &writer),
			 -EMSGSIZE);
	sent.object_count--;
	sent.address_size++;
	assert_int_equal(registration_encode(&sent, &keys.node, &writer),
			 -EMSGSIZE);
	sent.address_size--;
	drivers[0].place.size++;
	assert_int_equal(registration_encode(&sent, &keys.node, &writer),
			 -EMSGSIZE);
	drivers[0].place.size--;
	assert_int_equal(registration_encode(&sent, &keys.node, &writer), 0);
	writer_fini(&writer);
}

/* A text of size bytes; the caller frees it. */
static char *long_text(char byte, size_t size)
{
	char *text = malloc(size + 1);

	assert_non_null(text);
	memset(text, byte, size);
	text[size] = 0;
	return text;
}

static void largest_apply_fits_a_command(void **state)
{
	_auto_(freep) char *nodes = long_text('n', NODES_TEXT_MAX);
	_auto_(freep) char *runs = long_text('1', RUNS_TEXT_MAX);
	_auto_(freep) char *sealed = long_text('s', SEALED_MAX + 1);
	_auto_(freep) char *members = long_text('m', FAIRLEAD_MEMBERS_MAX + 1);
	struct apply_body body = sample_apply;
	struct writer part = { 0 }, whole = { 0 };
	struct command command;
	struct sample_keys keys;
	union command_body got;

	sample_keys_init(&keys);
	body.nodes = nodes;
	body.cores = runs;
	body.tasks = runs;
	body.sealed = (const uint8_t *)sealed;
	body.sealed_size = SEALED_MAX;
	body.members = (const uint8_t *)members;
	body.members_size = FAIRLEAD_MEMBERS_MAX;
	memset(body.options, 'o', FAIRLEAD_OPTIONS_MAX);
	body.id_count = FAIRLEAD_LANE_IDS_MAX;
	assert_int_equal(apply_body_encode(&body, &part), 0);
	sample_command(COMMAND_APPLY, &command);
	command.body = part.data;
	command.body_size = part.size;
	whole.limit = COMMAND_SIZE_MAX;
	assert_int_equal(command_seal(&keys.command, &command, &whole), 0);
	assert_int_equal(command_verify(whole.data, whole.size, &keys.public, 1,
					&command),
			 0);
	assert_int_equal(command_body_decode(COMMAND_APPLY, command.body,
					     command.body_size, &got),
			 0);
	assert_int_equal(got.apply.sealed_size, SEALED_MAX);
	command_body_fini(COMMAND_APPLY, &got);
	body.sealed_size++;
	assert_int_equal(apply_body_encode(&body, &part), -EMSGSIZE);
	body.sealed_size--;
	body.members_size++;
	assert_int_equal(apply_body_encode(&body, &part), -EMSGSIZE);
	writer_fini(&part);
	writer_fini(&whole);
}

static void largest_confirm_fits_a_frame(void **state)
{
	_auto_(freep) char *answer = long_text('j', CONFIRM_ANSWER_MAX + 1);
	struct confirm sent, got;
	struct writer writer = { 0 };
	struct sample_keys keys;

	sample_keys_init(&keys);
	sample_confirm(&sent);
	memset(sent.reason, 'r', CONFIRM_REASON_MAX);
	sent.answer = (const uint8_t *)answer;
	sent.answer_size = CONFIRM_ANSWER_MAX;
	frame_begin(&writer, FRAME_CONFIRM);
	assert_int_equal(confirm_encode(&sent, &keys.node, &writer), 0);
	assert_int_equal(confirm_open(&keys.master, 1, writer.data + 1,
				      writer.size - 1, &got),
			 0);
	assert_int_equal(strlen(got.reason), CONFIRM_REASON_MAX);
	assert_int_equal(strlen((const char *)got.answer), CONFIRM_ANSWER_MAX);
	confirm_fini(&got);
	sent.answer_size++;
	assert_int_equal(confirm_encode(&sent, &keys.node, &writer), -EMSGSIZE);
	writer_fini(&writer);
}

static void frame_limit_holds_for_encoders(void **state)
{
	struct writer writer = { .limit = 40 };
	struct sample_keys keys;
	struct confirm confirm;

	sample_keys_init(&keys);
	sample_confirm(&confirm);
	write_u32(&writer, 1);
	assert_int_equal(confirm_encode(&confirm, &keys.node, &writer),
			 -EMSGSIZE);
	assert_int_equal(writer.size, sizeof(uint32_t));
	writer_fini(&writer);
}

static void confirm_result_is_never_positive(void **state)
{
	struct writer writer = { 0 };
	struct sample_keys keys;
	struct confirm confirm;
	static const struct {
		int result, encoded;
	} cases[] = { { 0, 0 },
		      { -1, 0 },
		      { -4095, 0 },
		      { 1, -EINVAL },
		      { -4096, -EINVAL } };

	sample_keys_init(&keys);
	sample_confirm(&confirm);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct confirm got;

		confirm.result = cases[i].result;
		writer.size = 0;
		assert_int_equal(confirm_encode(&confirm, &keys.node, &writer),
				 cases[i].encoded);
		if (cases[i].encoded < 0)
			continue;
		assert_int_equal(confirm_open(&keys.master, 1, writer.data,
					      writer.size, &got),
				 0);
		assert_int_equal(got.result, cases[i].result);
		confirm_fini(&got);
	}
	writer_fini(&writer);
}

static void numbers_out_of_range_are_refused(void **state)
{
	struct query_body query = { .nodes = "n1", .what = 5 };
	union command_body got;
	struct writer writer = { 0 };

	assert_int_equal(query_body_encode(&query, &writer), -EINVAL);
	query.what = 0;
	assert_int_equal(query_body_encode(&query, &writer), -EINVAL);
	write_text(&writer, "n1");
	write_u8(&writer, 0);
	write_u8(&writer, 4);
	assert_int_equal(command_body_decode(COMMAND_QUERY, writer.data,
					     writer.size - 1, &got),
			 -EBADMSG);
	assert_int_equal(command_body_decode(COMMAND_CLEAN, writer.data,
					     writer.size, &got),
			 -EBADMSG);
	writer_fini(&writer);
}

/* A registration, tagged rightly, that announces more than it has. */
/* --- what no encoder writes, tagged rightly all the same --- */

static void tag_write(struct writer *writer, const char *domain)
{
	struct sample_keys keys;
	uint8_t tag[MAC_SIZE];

	sample_keys_init(&keys);
	write_u32(writer, SAMPLE_KEY_ID);
	mac_make(domain, &keys.node, writer->data, writer->size, tag);
	write_bytes(writer, tag, sizeof(tag));
}

/* A registration that has `rest` behind its address, which is empty. */
static void registration_write(const struct writer *rest, struct writer *writer)
{
	struct registration registration;
	struct sample_keys keys;

	sample_keys_init(&keys);
	sample_registration_empty(&registration);
	assert_int_equal(registration_encode(&registration, &keys.node, writer),
			 0);
	/* empty proof, nothing pending, three empty lists, key id, tag */
	writer->size -= 4 + 4 + 3 * 4 + 4 + MAC_SIZE;
	write_bytes(writer, rest->data, rest->size);
	tag_write(writer, MAC_DOMAIN_REGISTER);
}

static int open_register(void *ctx)
{
	const struct writer *writer = ctx;

	return sample_open(SAMPLE_REGISTER, writer->data, writer->size);
}

static void epoch_proof_of_another_size_is_refused(void **state)
{
	static const uint8_t proof[COMMAND_HEADER_SIZE + 1];
	static const struct {
		size_t size;
		int result;
	} cases[] = {
		{ 0, 0 },
		{ 1, -EBADMSG },
		{ COMMAND_HEADER_SIZE - 1, -EBADMSG },
		{ COMMAND_HEADER_SIZE, 0 },
		{ COMMAND_HEADER_SIZE + 1, -EBADMSG },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct writer rest = { 0 }, writer = { 0 };

		write_blob(&rest, proof, cases[i].size);
		write_u32(&rest, 0);
		for (int list = 0; list < 3; list++)
			write_u32(&rest, 0);
		registration_write(&rest, &writer);
		assert_int_equal(open_register(&writer), cases[i].result);
		writer_fini(&rest);
		writer_fini(&writer);
	}
}

static void list_over_its_maximum_is_refused(void **state)
{
	for (uint32_t count = REGISTRATION_DRIVERS_MAX;
	     count <= REGISTRATION_DRIVERS_MAX + 1; count++) {
		struct writer rest = { 0 }, writer = { 0 };

		write_text(&rest, "");
		write_u32(&rest, 0);
		write_u32(&rest, 0);
		write_u32(&rest, 0);
		write_u32(&rest, count);
		for (uint32_t i = 0; i < count; i++) {
			write_text(&rest, "none");
			write_u8(&rest, 1);
			write_text(&rest, "");
			write_blob(&rest, NULL, 0);
		}
		registration_write(&rest, &writer);
		assert_int_equal(open_register(&writer),
				 count == REGISTRATION_DRIVERS_MAX ? 0
								   : -EBADMSG);
		writer_fini(&rest);
		writer_fini(&writer);
	}
}

static void place_over_its_maximum_is_refused(void **state)
{
	static const uint8_t place[FAIRLEAD_PLACE_MAX + 1];

	for (size_t size = FAIRLEAD_PLACE_MAX; size <= sizeof(place); size++) {
		struct writer rest = { 0 }, writer = { 0 };

		write_text(&rest, "");
		write_u32(&rest, 0);
		write_u32(&rest, 0);
		write_u32(&rest, 0);
		write_u32(&rest, 1);
		write_text(&rest, "none");
		write_u8(&rest, 1);
		write_text(&rest, "");
		write_blob(&rest, place, size);
		registration_write(&rest, &writer);
		assert_int_equal(open_register(&writer),
				 size == FAIRLEAD_PLACE_MAX ? 0 : -EBADMSG);
		writer_fini(&rest);
		writer_fini(&writer);
	}
}

/* One allocation each for the struct, the address and the proof; no fourth. */
static void list_that_lies_is_refused_before_memory_is_taken(void **state)
{
	static const uint32_t counts[] = { 1, REGISTRATION_GRANTS_MAX,
					   REGISTRATION_GRANTS_MAX + 1,
					   UINT32_MAX };

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		struct writer rest = { 0 }, writer = { 0 };
		int result;

		write_text(&rest, "");
		write_u32(&rest, 0);
		write_u32(&rest, counts[i]);
		write_u64(&rest, 0);
		registration_write(&rest, &writer);
		assert_true(sim_heap_fails(3, &result, open_register, &writer));
		assert_int_equal(result, -ENOMEM);
		assert_false(
			sim_heap_fails(4, &result, open_register, &writer));
		assert_int_equal(result, -EBADMSG);
		writer_fini(&rest);
		writer_fini(&writer);
	}
}

static void result_out_of_range_is_refused(void **state)
{
	const size_t offset = 2 + 4 + 2 + INCARNATION_SIZE + 1 + 4 * 8;
	static const struct {
		uint32_t word;
		int result;
	} cases[] = {
		{ 0, 0 },
		{ 0xffffffff, 0 },
		{ 0xfffff001, 0 },
		{ 0xfffff000, -EBADMSG },
		{ 0x80000000, -EBADMSG },
		{ 1, -EBADMSG },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct writer writer = { 0 };

		assert_int_equal(sample_encode(SAMPLE_CONFIRM_OWN, &writer), 0);
		writer.size -= 4 + MAC_SIZE;
		for (size_t byte = 0; byte < 4; byte++)
			writer.data[offset + byte] =
				(uint8_t)(cases[i].word >> (8 * byte));
		tag_write(&writer, MAC_DOMAIN_CONFIRM);
		assert_int_equal(sample_open(SAMPLE_CONFIRM_OWN, writer.data,
					     writer.size),
				 cases[i].result);
		writer_fini(&writer);
	}
}

static void too_many_ids_are_refused(void **state)
{
	for (uint8_t count = FAIRLEAD_LANE_IDS_MAX;
	     count <= FAIRLEAD_LANE_IDS_MAX + 1; count++) {
		struct writer writer = { 0 };

		write_text(&writer, "n1");
		write_text(&writer, "slurm/1/0");
		write_text(&writer, "none");
		write_u64(&writer, 0);
		write_u8(&writer, count);
		for (uint8_t i = 0; i < count; i++)
			write_u32(&writer, i);
		assert_int_equal(sample_open(SAMPLE_REVOKE, writer.data,
					     writer.size),
				 count == FAIRLEAD_LANE_IDS_MAX ? 0 : -EBADMSG);
		writer_fini(&writer);
	}
}

static void text_with_a_zero_inside_is_refused(void **state)
{
	struct writer writer = { 0 };

	write_blob(&writer, "n1\0n2", 5);
	write_u8(&writer, QUERY_GRANTS);
	assert_int_equal(sample_open(SAMPLE_QUERY, writer.data, writer.size),
			 -EBADMSG);
	writer_fini(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registration_needs_a_whole_epoch_proof),
		cmocka_unit_test(largest_registration_fits_a_frame),
		cmocka_unit_test(largest_apply_fits_a_command),
		cmocka_unit_test(largest_confirm_fits_a_frame),
		cmocka_unit_test(frame_limit_holds_for_encoders),
		cmocka_unit_test(confirm_result_is_never_positive),
		cmocka_unit_test(numbers_out_of_range_are_refused),
		cmocka_unit_test(epoch_proof_of_another_size_is_refused),
		cmocka_unit_test(list_over_its_maximum_is_refused),
		cmocka_unit_test(place_over_its_maximum_is_refused),
		cmocka_unit_test(
			list_that_lies_is_refused_before_memory_is_taken),
		cmocka_unit_test(result_out_of_range_is_refused),
		cmocka_unit_test(too_many_ids_are_refused),
		cmocka_unit_test(text_with_a_zero_inside_is_refused),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
