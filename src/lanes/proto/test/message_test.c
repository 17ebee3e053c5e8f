/* SPDX-License-Identifier: BSD-3-Clause */
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
#include "lanes/proto/layout.h"
#include "lanes/proto/test/golden.h"
#include "lanes/proto/test/samples.h"
#include "sim/heap.h"

/* An exact-size copy, so that a read past the end is caught. */
static int open_copy(enum sample sample, const uint8_t *bytes, size_t size)
{
	_auto_(freep) uint8_t *copy = malloc(size > 0 ? size : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	return sample_open(sample, size > 0 ? copy : NULL, size);
}

static void encoders_write_the_golden_bytes(void **state)
{
	for (enum sample sample = 0; sample < SAMPLE_COUNT; sample++) {
		struct writer writer = { 0 };
		_auto_(freep) uint8_t *golden = NULL;
		size_t size;

		golden = sample_unhex(golden_messages[sample], &size);
		assert_int_equal(sample_encode(sample, &writer), 0);
		if (writer.size != size ||
		    memcmp(writer.data, golden, size) != 0)
			fail_msg("%s differs", sample_names[sample]);
		writer_fini(&writer);
	}
}

static void decoders_take_the_golden_bytes(void **state)
{
	for (enum sample sample = 0; sample < SAMPLE_COUNT; sample++) {
		_auto_(freep) uint8_t *golden = NULL;
		size_t size;

		golden = sample_unhex(golden_messages[sample], &size);
		assert_int_equal(open_copy(sample, golden, size), 0);
	}
}

static void decoders_refuse_every_truncation(void **state)
{
	for (enum sample sample = 0; sample < SAMPLE_COUNT; sample++) {
		_auto_(freep) uint8_t *golden = NULL;
		size_t size;

		golden = sample_unhex(golden_messages[sample], &size);
		for (size_t left = 0; left < size; left++)
			if (open_copy(sample, golden, left) >= 0)
				fail_msg("%s of %zu bytes was taken",
					 sample_names[sample], left);
	}
}

static void decoders_refuse_bytes_behind_the_last_field(void **state)
{
	for (enum sample sample = 0; sample < SAMPLE_COUNT; sample++) {
		struct writer writer = { 0 };

		assert_int_equal(sample_encode(sample, &writer), 0);
		write_u8(&writer, 0);
		if (open_copy(sample, writer.data, writer.size) >= 0)
			fail_msg("a longer %s was taken", sample_names[sample]);
		writer_fini(&writer);
	}
}

/* Run every decoder on a message whose n-th allocation fails. */
struct heap_case {
	enum sample sample;
	const uint8_t *bytes;
	size_t size;
};

static int open_case(void *ctx)
{
	const struct heap_case *heap_case = ctx;

	return sample_open(heap_case->sample, heap_case->bytes,
			   heap_case->size);
}

static void decoders_say_when_memory_is_out(void **state)
{
	for (enum sample sample = 0; sample < SAMPLE_COUNT; sample++) {
		struct heap_case heap_case = { .sample = sample };
		_auto_(freep) uint8_t *golden = NULL;
		unsigned int n = 1;
		int result;

		golden = sample_unhex(golden_messages[sample], &heap_case.size);
		heap_case.bytes = golden;
		while (sim_heap_fails(n++, &result, open_case, &heap_case))
			assert_int_equal(result, -ENOMEM);
		assert_int_equal(result, 0);
		assert_true(n > 2);
	}
}

static void registration_comes_back_as_it_was(void **state)
{
	struct registration sent, got;
	struct writer writer = { 0 };
	struct sample_keys keys;

	sample_keys_init(&keys);
	sample_registration(&sent);
	assert_int_equal(registration_encode(&sent, &keys.node, &writer), 0);
	assert_int_equal(registration_open(&keys.master, 1, sent.manager_nonce,
					   writer.data, writer.size, &got),
			 0);
	assert_int_equal(got.version, WIRE_VERSION);
	assert_string_equal(got.node, sent.node);
	assert_memory_equal(got.incarnation, sent.incarnation,
			    INCARNATION_SIZE);
	assert_memory_equal(got.node_nonce, sent.node_nonce, NONCE_SIZE);
	assert_string_equal(got.software, sent.software);
	assert_int_equal(got.address_size, sent.address_size);
	assert_memory_equal(got.address, sent.address, sent.address_size);
	assert_int_equal(got.pending_count, sent.pending_count);
	assert_int_equal(got.proof_size, sent.proof_size);
	assert_memory_equal(got.proof, sent.proof, sent.proof_size);
	assert_int_equal(got.grant_count, sent.grant_count);
	assert_memory_equal(got.grants, sent.grants,
			    sent.grant_count * sizeof(*sent.grants));
	assert_int_equal(got.object_count, sent.object_count);
	assert_memory_equal(got.objects, sent.objects,
			    sent.object_count * sizeof(*sent.objects));
	assert_int_equal(got.driver_count, sent.driver_count);
	assert_memory_equal(got.drivers, sent.drivers,
			    sent.driver_count * sizeof(*sent.drivers));
	registration_fini(&got);
	assert_null(got.grants);
	writer_fini(&writer);
}

static void registration_answers_one_challenge_only(void **state)
{
	struct registration sent, got;
	struct writer writer = { 0 };
	struct sample_keys keys;
	uint8_t fresh[NONCE_SIZE];

	sample_keys_init(&keys);
	sample_registration(&sent);
	assert_int_equal(registration_encode(&sent, &keys.node, &writer), 0);
	memcpy(fresh, sent.manager_nonce, sizeof(fresh));
	fresh[NONCE_SIZE - 1] ^= 1;
	assert_int_equal(registration_open(&keys.master, 1, fresh, writer.data,
					   writer.size, &got),
			 -ESTALE);
	writer_fini(&writer);
}

static void confirm_answers_its_command(void **state)
{
	uint8_t incarnation[INCARNATION_SIZE];
	struct command command;
	struct confirm confirm;

	sample_fill(incarnation, sizeof(incarnation), 1);
	sample_command(COMMAND_REVOKE, &command);
	confirm_answer(&command, "n1", incarnation, -EBUSY, &confirm);
	assert_int_equal(confirm.version, WIRE_VERSION);
	assert_string_equal(confirm.node, "n1");
	assert_memory_equal(confirm.incarnation, incarnation,
			    sizeof(incarnation));
	assert_int_equal(confirm.op, COMMAND_REVOKE);
	assert_int_equal(confirm.grant_id, command.grant_id);
	assert_int_equal(confirm.sequence, command.sequence);
	assert_int_equal(confirm.epoch, command.epoch);
	assert_int_equal(confirm.life, command.life);
	assert_int_equal(confirm.result, -EBUSY);
	assert_string_equal(confirm.reason, "");
	assert_int_equal(confirm.answer_size, 0);
}

static void texts_for_people_are_clean_once_decoded(void **state)
{
	struct confirm sent, got;
	struct writer writer = { 0 };
	struct sample_keys keys;

	sample_keys_init(&keys);
	sample_confirm(&sent);
	strcpy(sent.reason, "held by '\033[2J\xff'\nand by 'ü'");
	assert_int_equal(confirm_encode(&sent, &keys.node, &writer), 0);
	assert_int_equal(confirm_open(&keys.master, 1, writer.data, writer.size,
				      &got),
			 0);
	assert_string_equal(got.reason, "held by '?[2J?'\nand by 'ü'");
	confirm_fini(&got);
	writer_fini(&writer);
}

/* What a body that was written is; the next one may be written. */
static union command_body decoded(enum command_op op, struct writer *writer)
{
	union command_body body;

	assert_int_equal(
		command_body_decode(op, writer->data, writer->size, &body), 0);
	writer->size = 0;
	return body;
}

static void apply_comes_back_as_it_was(void **state)
{
	struct writer writer = { 0 };
	union command_body got;

	assert_int_equal(apply_body_encode(&sample_apply, &writer), 0);
	got = decoded(COMMAND_APPLY, &writer);
	assert_string_equal(got.apply.key, sample_apply.key);
	assert_string_equal(got.apply.driver, sample_apply.driver);
	assert_int_equal(got.apply.uid, sample_apply.uid);
	assert_int_equal(got.apply.gid, sample_apply.gid);
	assert_string_equal(got.apply.nodes, sample_apply.nodes);
	assert_string_equal(got.apply.cores, sample_apply.cores);
	assert_string_equal(got.apply.tasks, sample_apply.tasks);
	assert_int_equal(got.apply.id_count, sample_apply.id_count);
	assert_memory_equal(got.apply.ids, sample_apply.ids,
			    sizeof(got.apply.ids));
	assert_string_equal(got.apply.options, sample_apply.options);
	assert_int_equal(got.apply.sealed_size, sample_apply.sealed_size);
	assert_memory_equal(got.apply.sealed, sample_apply.sealed,
			    got.apply.sealed_size);
	assert_int_equal(got.apply.members_size, sample_apply.members_size);
	assert_memory_equal(got.apply.members, sample_apply.members,
			    got.apply.members_size);
	command_body_fini(COMMAND_APPLY, &got);
	assert_null(got.apply.nodes);
	writer_fini(&writer);
}

static void apply_refuses_names_that_are_no_names(void **state)
{
	static const struct {
		const char *key, *driver, *options;
	} cases[] = {
		{ "slurm/../0", "none", "" },
		{ "slurm/4711", "none", "" },
		{ "slurm/4711/00", "none", "" },
		{ "slurm/4711/0", "", "" },
		{ "slurm/4711/0", "../none", "" },
		{ "slurm/4711/0", "none", "a=\n" },
	};
	struct writer writer = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct apply_body body = sample_apply;
		union command_body got;

		strcpy(body.key, cases[i].key);
		strcpy(body.driver, cases[i].driver);
		strcpy(body.options, cases[i].options);
		assert_int_equal(apply_body_encode(&body, &writer), -EINVAL);
		assert_int_equal(writer.size, 0);
		write_text(&writer, cases[i].key);
		write_text(&writer, cases[i].driver);
		write_u64(&writer, 0);
		for (int text = 0; text < 3; text++)
			write_text(&writer, "1");
		write_u8(&writer, 0);
		write_text(&writer, cases[i].options);
		write_blob(&writer, NULL, 0);
		write_blob(&writer, NULL, 0);
		assert_int_equal(command_body_decode(COMMAND_APPLY, writer.data,
						     writer.size, &got),
				 -EBADMSG);
		writer.size = 0;
	}
	writer_fini(&writer);
}

static void revoke_comes_back_as_it_was(void **state)
{
	struct writer writer = { 0 };
	union command_body got;

	assert_int_equal(revoke_body_encode(&sample_revoke, &writer), 0);
	got = decoded(COMMAND_REVOKE, &writer);
	assert_string_equal(got.revoke.nodes, sample_revoke.nodes);
	assert_string_equal(got.revoke.key, sample_revoke.key);
	assert_string_equal(got.revoke.driver, sample_revoke.driver);
	assert_int_equal(got.revoke.uid, sample_revoke.uid);
	assert_int_equal(got.revoke.gid, sample_revoke.gid);
	assert_int_equal(got.revoke.id_count, sample_revoke.id_count);
	assert_memory_equal(got.revoke.ids, sample_revoke.ids,
			    sizeof(got.revoke.ids));
	command_body_fini(COMMAND_REVOKE, &got);
	writer_fini(&writer);
}

static void revoke_may_have_no_key(void **state)
{
	struct revoke_body body = sample_revoke;
	union command_body got;
	struct writer writer = { 0 };

	strcpy(body.key, "");
	assert_int_equal(revoke_body_encode(&body, &writer), 0);
	got = decoded(COMMAND_REVOKE, &writer);
	assert_string_equal(got.revoke.key, "");
	command_body_fini(COMMAND_REVOKE, &got);
	strcpy(body.key, "slurm/1");
	assert_int_equal(revoke_body_encode(&body, &writer), -EINVAL);
	writer_fini(&writer);
}

static void small_bodies_come_back_as_they_were(void **state)
{
	struct writer writer = { 0 };
	union command_body got;

	assert_int_equal(hello_body_encode(&sample_hello, &writer), 0);
	got = decoded(COMMAND_HELLO, &writer);
	assert_memory_equal(got.hello.nonce, sample_hello.nonce, NONCE_SIZE);
	assert_string_equal(got.hello.node, sample_hello.node);
	assert_memory_equal(got.hello.cluster, sample_hello.cluster,
			    CLUSTER_ID_SIZE);
	assert_int_equal(query_body_encode(&sample_query, &writer), 0);
	got = decoded(COMMAND_QUERY, &writer);
	assert_string_equal(got.query.nodes, sample_query.nodes);
	assert_int_equal(got.query.what, QUERY_OBJECTS);
	command_body_fini(COMMAND_QUERY, &got);
	assert_int_equal(clean_body_encode(&sample_clean, &writer), 0);
	got = decoded(COMMAND_CLEAN, &writer);
	assert_string_equal(got.clean.nodes, sample_clean.nodes);
	assert_true(got.clean.is_all);
	assert_false(got.clean.is_dry_run);
	command_body_fini(COMMAND_CLEAN, &got);
	assert_int_equal(ack_body_encode(&sample_ack, &writer), 0);
	got = decoded(COMMAND_ACK, &writer);
	assert_string_equal(got.ack.node, sample_ack.node);
	assert_int_equal(got.ack.sequence, sample_ack.sequence);
	assert_int_equal(drain_body_encode(&sample_drain, &writer), 0);
	got = decoded(COMMAND_DRAIN, &writer);
	assert_string_equal(got.drain.node, sample_drain.node);
	assert_true(got.drain.is_drained);
	assert_string_equal(got.drain.reason, sample_drain.reason);
	assert_int_equal(lease_body_encode(&sample_lease, &writer), 0);
	got = decoded(COMMAND_LEASE, &writer);
	assert_string_equal(got.lease.nodes, sample_lease.nodes);
	assert_int_equal(got.lease.lease_s, sample_lease.lease_s);
	command_body_fini(COMMAND_LEASE, &got);
	writer_fini(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encoders_write_the_golden_bytes),
		cmocka_unit_test(decoders_take_the_golden_bytes),
		cmocka_unit_test(decoders_refuse_every_truncation),
		cmocka_unit_test(decoders_refuse_bytes_behind_the_last_field),
		cmocka_unit_test(decoders_say_when_memory_is_out),
		cmocka_unit_test(registration_comes_back_as_it_was),
		cmocka_unit_test(registration_answers_one_challenge_only),
		cmocka_unit_test(confirm_answers_its_command),
		cmocka_unit_test(texts_for_people_are_clean_once_decoded),
		cmocka_unit_test(apply_comes_back_as_it_was),
		cmocka_unit_test(apply_refuses_names_that_are_no_names),
		cmocka_unit_test(revoke_comes_back_as_it_was),
		cmocka_unit_test(revoke_may_have_no_key),
		cmocka_unit_test(small_bodies_come_back_as_they_were),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
