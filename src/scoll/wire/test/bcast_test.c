/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "golden.h"

#define SEAL_SIZE 32

static void assert_same(const struct wire_bcast *got,
			const struct wire_bcast *sent)
{
	assert_int_equal(got->flags, sent->flags);
	assert_int_equal(got->service, sent->service);
	assert_int_equal(got->tree, sent->tree);
	assert_int_equal(got->root, sent->root);
	assert_int_equal(got->root_nonce, sent->root_nonce);
	assert_int_equal(got->number, sent->number);
	assert_int_equal(got->group_index, sent->group_index);
	assert_true(wire_digest_equals(&got->members, &sent->members));
	assert_int_equal(got->sender, sent->sender);
	assert_int_equal(got->tag, sent->tag);
	assert_int_equal(got->service_timeout_ns, sent->service_timeout_ns);
	assert_int_equal(got->rtt_us, sent->rtt_us);
	assert_int_equal(got->part_size, sent->part_size);
	assert_int_equal(got->part_count, sent->part_count);
	assert_int_equal(got->order, sent->order);
	assert_int_equal(got->creator, sent->creator);
	assert_int_equal(got->creator_nonce, sent->creator_nonce);
	assert_memory_equal(got->oob, sent->oob, sizeof(got->oob));
	assert_true(
		wire_digest_equals(&got->choice_digest, &sent->choice_digest));
	assert_true(wire_digest_equals(&got->addresses, &sent->addresses));
	assert_int_equal(got->address_size, sent->address_size);
	assert_memory_equal(got->address, sent->address, sent->address_size);
	assert_int_equal(got->start, sent->start);
	assert_int_equal(got->bulk_size, sent->bulk_size);
	assert_int_equal(got->bulk_there, sent->bulk_there);
	assert_int_equal(got->piece_count, sent->piece_count);
	assert_memory_equal(got->pieces, sent->pieces,
			    sent->piece_count * sizeof(got->pieces[0]));
	assert_int_equal(got->params_size, sent->params_size);
	assert_int_equal(got->choice_size, sent->choice_size);
	assert_int_equal(got->payload_size, sent->payload_size);
}

static void assert_body(const struct wire_bcast *got,
			const struct wire_bcast *sent)
{
	assert_memory_equal(got->params, sent->params, sent->params_size);
	assert_memory_equal(got->choice, sent->choice, sent->choice_size);
	assert_memory_equal(got->payload, sent->payload, sent->payload_size);
}

static void assert_round_trip(struct wire_bcast *sent)
{
	for (size_t seal_size = 0; seal_size <= SCOLL_SEAL_MAX;
	     seal_size += 32) {
		struct sample_node parent, child;
		uint8_t bytes[SCOLL_BCAST_MAX];
		struct wire_message message;
		bool is_sealed = seal_size > 0;
		size_t size;

		sample_node_init(&parent, SAMPLE_PARENT, seal_size);
		sample_node_init(&child, SAMPLE_CHILD, seal_size);
		size = sample_bcast_encode(
			sent, is_sealed ? &parent.auth : NULL, bytes);
		assert_int_equal(wire_message_open(bytes, size,
						   is_sealed ? &child.auth
							     : NULL,
						   &message),
				 WIRE_OK);
		assert_int_equal(message.kind, WIRE_BCAST);
		assert_same(&message.bcast, sent);
		assert_body(&message.bcast, sent);
	}
}

/* A header says all that a member needs, and comes back as it was. */
static void bcast_T07_carries_what_the_document_names(void **state)
{
	struct wire_bcast plain = sample_plain(), full = sample_full();
	struct wire_bcast oob = sample_plain(), alive = sample_plain();

	assert_round_trip(&plain);
	assert_round_trip(&full);
	oob.flags = WIRE_OOB;
	memcpy(oob.oob, "a Lustre FID....", 16);
	assert_round_trip(&oob);
	alive.flags = WIRE_SUBSET | WIRE_ALIVE;
	memset(alive.choice_digest.bytes, 3, WIRE_DIGEST_SIZE);
	assert_round_trip(&alive);
	full.flags |= WIRE_MEMBERS_BULK;
	assert_round_trip(&full);
}

static void bcast_says_where_members_and_sender_are(void **state)
{
	struct wire_bcast bcast = sample_addresses();

	assert_round_trip(&bcast);
	memset(bcast.address, 0xff, WIRE_ADDRESS_MAX);
	bcast.address_size = WIRE_ADDRESS_MAX;
	assert_round_trip(&bcast);
	bcast.address_size = 0; /* it does not know */
	assert_round_trip(&bcast);
	bcast = sample_plain();
	bcast.flags = WIRE_SENDER;
	bcast.address[0] = 1;
	bcast.address_size = 1;
	assert_round_trip(&bcast);
	bcast.flags |= WIRE_OOB;
	assert_round_trip(&bcast);
}

static void addresses_of_a_head_are_in_range(void **state)
{
	struct wire_bcast bcast = sample_addresses();
	uint8_t bytes[SCOLL_BCAST_MAX], head[WIRE_BCAST_HEAD_MAX];
	struct wire_message message;
	size_t size = sample_bcast_encode(&bcast, NULL, bytes);

	bytes[128] = WIRE_ADDRESS_MAX + 1;
	assert_int_equal(open_at(bytes, size, NULL, &message), WIRE_LENGTH);
	bytes[128] = 7;
	assert_int_equal(open_at(bytes, size, NULL, &message), WIRE_LENGTH);
	bytes[128] = 8;
	bytes[136] = 0; /* a zero at the end */
	assert_int_equal(open_at(bytes, size, NULL, &message), WIRE_FIELD);
	bytes[136] = 1;
	assert_int_equal(open_at(bytes, size, NULL, &message), WIRE_OK);
	/* The flag, and nothing behind the head's first part. */
	bcast = sample_plain();
	bcast.payload_size = 0;
	size = sample_bcast_encode(&bcast, NULL, bytes);
	bytes[5] = WIRE_SENDER >> 8;
	assert_int_equal(open_at(bytes, size, NULL, &message), WIRE_LENGTH);

	bcast = sample_addresses();
	bcast.address[7] = 0;
	assert_int_equal(wire_bcast_encode(&bcast, NULL, head), -EINVAL);
	bcast.address_size = WIRE_ADDRESS_MAX + 1;
	assert_int_equal(wire_bcast_encode(&bcast, NULL, head), -EINVAL);
	bcast = sample_addresses();
	bcast.flags &= (uint16_t)~WIRE_SENDER;
	assert_int_equal(wire_bcast_encode(&bcast, NULL, head), -EINVAL);
	bcast = sample_addresses();
	bcast.params_size = 0;
	assert_int_equal(wire_bcast_encode(&bcast, NULL, head), -EINVAL);
}

static void head_is_small_without_options(void **state)
{
	struct wire_bcast bcast = sample_plain();

	assert_int_equal(wire_bcast_head_size(&bcast, NULL), 128);
	bcast = sample_full();
	bcast.piece_count = SCOLL_BULK_IOVS_MAX;
	bcast.flags |= WIRE_ADDRESSES | WIRE_SENDER | WIRE_SIGNED | WIRE_START;
	bcast.address_size = WIRE_ADDRESS_MAX;
	assert_int_equal(wire_bcast_head_size(&bcast, NULL) + SCOLL_SEAL_MAX +
				 SCOLL_SIGNATURE_MAX,
			 WIRE_BCAST_HEAD_MAX);
}

static void bcast_T08_is_at_most_4096_bytes(void **state)
{
	static const uint8_t payload[SCOLL_BCAST_MAX];
	struct wire_bcast bcast = sample_plain();
	uint8_t bytes[SCOLL_BCAST_MAX + 1] = { 0 };
	uint8_t head[WIRE_BCAST_HEAD_MAX];
	struct wire_message message;

	assert_int_equal(SCOLL_BCAST_MAX, 4096);
	assert_int_equal(SCOLL_REPLY_PART_MAX, 1 << 20);
	assert_int_equal(sizeof(scoll_tag_t) * 8, 128);
	bcast.payload = payload;
	bcast.payload_size = SCOLL_BCAST_MAX - 128;
	assert_int_equal(sample_bcast_encode(&bcast, NULL, bytes),
			 SCOLL_BCAST_MAX);
	assert_int_equal(open_at(bytes, SCOLL_BCAST_MAX, NULL, &message),
			 WIRE_OK);
	assert_int_equal(open_at(bytes, SCOLL_BCAST_MAX + 1, NULL, &message),
			 WIRE_LENGTH);
	bcast.payload_size++;
	assert_int_equal(wire_bcast_encode(&bcast, NULL, head), -EMSGSIZE);
	bcast.payload_size = SIZE_MAX;
	assert_int_equal(wire_bcast_encode(&bcast, NULL, head), -EMSGSIZE);
}

static void bcast_is_its_golden_bytes(void **state)
{
	struct wire_bcast bcast = sample_plain();
	uint8_t bytes[SCOLL_BCAST_MAX];
	struct sample_node parent;

	assert_golden(golden_plain, bytes,
		      sample_bcast_encode(&bcast, NULL, bytes));
	bcast = sample_full();
	sample_node_init(&parent, SAMPLE_PARENT, SEAL_SIZE);
	assert_golden(golden_full, bytes,
		      sample_bcast_encode(&bcast, &parent.auth, bytes));
	bcast = sample_addresses();
	assert_golden(golden_addresses, bytes,
		      sample_bcast_encode(&bcast, &parent.auth, bytes));
}

static void children_differ_in_what_is_theirs_alone(void **state)
{
	uint8_t head[WIRE_BCAST_HEAD_MAX], one[WIRE_BCAST_HEAD_MAX];
	struct wire_bcast bcast = sample_full();
	uint8_t bytes[SCOLL_BCAST_MAX];
	struct sample_node parent, other;
	struct wire_message message;
	struct wire_child child = {
		.nid = SAMPLE_CREATOR,
		.tag = 0x1000,
		.part_size = 1,
		.part_count = 2,
		.start = 0x3132333435363738,
		.bulk_there = 3000,
	};
	size_t size, head_size;

	bcast.flags |= WIRE_START;
	bcast.start = 1;
	sample_node_init(&parent, SAMPLE_PARENT, SEAL_SIZE);
	sample_node_init(&other, SAMPLE_CREATOR, SEAL_SIZE);
	size = sample_bcast_encode(&bcast, &parent.auth, bytes);
	head_size = wire_bcast_head_size(&bcast, &parent.auth);
	assert_int_equal(wire_bcast_encode(&bcast, &parent.auth, head),
			 head_size);
	assert_int_equal(
		wire_bcast_seal(head, head_size, &parent.auth, &child, one), 0);
	memcpy(bytes, one, head_size);
	assert_int_equal(wire_message_open(bytes, size, &other.auth, &message),
			 WIRE_OK);
	bcast.tag = 0x1000;
	bcast.part_size = 1;
	bcast.part_count = 2;
	bcast.start = 0x3132333435363738;
	bcast.bulk_there = 3000;
	assert_same(&message.bcast, &bcast);
	assert_body(&message.bcast, &bcast);
	/* In place it is the same. */
	assert_int_equal(wire_bcast_seal(head, head_size, &parent.auth, &child,
					 head),
			 0);
	assert_memory_equal(head, one, head_size);
}

static void child_has_fields_in_range(void **state)
{
	struct wire_bcast bcast = sample_full();
	uint8_t head[WIRE_BCAST_HEAD_MAX];
	struct wire_child child;
	size_t size = (size_t)wire_bcast_encode(&bcast, NULL, head);

	child = sample_child();
	child.tag |= 1;
	assert_int_equal(wire_bcast_seal(head, size, NULL, &child, head),
			 -EINVAL);
	child = sample_child();
	child.part_size = SCOLL_REPLY_PART_MAX + 1;
	assert_int_equal(wire_bcast_seal(head, size, NULL, &child, head),
			 -EINVAL);
	child = sample_child();
	child.part_count = SCOLL_REPLY_PARTS_MAX + 1;
	assert_int_equal(wire_bcast_seal(head, size, NULL, &child, head),
			 -EINVAL);
	child = sample_child();
	child.bulk_there = bcast.bulk_size + 1;
	assert_int_equal(wire_bcast_seal(head, size, NULL, &child, head),
			 -EINVAL);
}

static void open_rejects_every_shorter_message(void **state)
{
	struct wire_bcast bcast = sample_full();
	uint8_t bytes[SCOLL_BCAST_MAX];
	struct sample_node parent, child;
	struct wire_message message;
	size_t size, head_size;

	sample_node_init(&parent, SAMPLE_PARENT, SEAL_SIZE);
	sample_node_init(&child, SAMPLE_CHILD, SEAL_SIZE);
	size = sample_bcast_encode(&bcast, &parent.auth, bytes);
	head_size = wire_bcast_head_size(&bcast, &parent.auth);
	for (size_t cut = 0; cut < size; cut++) {
		enum wire_result result = open_at(bytes, cut, &child, &message);

		if (cut < 128 + SEAL_SIZE)
			assert_int_equal(result, WIRE_SHORT);
		else if (cut <
			 head_size + bcast.params_size + bcast.choice_size)
			assert_int_equal(result, WIRE_LENGTH);
		else
			assert_int_equal(result, WIRE_DIGEST);
	}
	bytes[size] = 0;
	assert_int_equal(open_at(bytes, size + 1, &child, &message),
			 WIRE_DIGEST);
}

static void open_rejects_every_changed_bit(void **state)
{
	struct wire_bcast bcast = sample_full();
	uint8_t bytes[SCOLL_BCAST_MAX];
	struct sample_node parent, child;
	struct wire_message message;
	size_t size, head_size;

	sample_node_init(&parent, SAMPLE_PARENT, SEAL_SIZE);
	sample_node_init(&child, SAMPLE_CHILD, SEAL_SIZE);
	size = sample_bcast_encode(&bcast, &parent.auth, bytes);
	head_size = wire_bcast_head_size(&bcast, &parent.auth);
	for (size_t bit = 0; bit < 8 * size; bit++) {
		enum wire_result result;

		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		result = open_at(bytes, size, &child, &message);
		if (bit < 16)
			assert_int_equal(result, WIRE_MAGIC);
		else if (bit < 24)
			assert_int_equal(result, WIRE_VERSION);
		else if (bit >= 64 && bit < 8 * head_size && bit / 8 != 98)
			assert_int_equal(result, WIRE_SEAL);
		else if (bit >= 8 * head_size)
			assert_int_equal(result, WIRE_DIGEST);
		else
			assert_int_not_equal(result, WIRE_OK);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_int_equal(open_at(bytes, size, &child, &message), WIRE_OK);
}

static void open_believes_the_sender_and_receiver_only(void **state)
{
	struct wire_bcast bcast = sample_plain();
	uint8_t bytes[SCOLL_BCAST_MAX];
	struct sample_node parent, other;
	struct wire_message message;
	size_t size;

	bcast.flags |= WIRE_START;
	bcast.start = 1;
	sample_node_init(&parent, SAMPLE_PARENT, SEAL_SIZE);
	sample_node_init(&other, SAMPLE_CREATOR, SEAL_SIZE);
	size = sample_bcast_encode(&bcast, &parent.auth, bytes);
	/* It is for the child, not for others. */
	assert_int_equal(open_at(bytes, size, &other, &message), WIRE_SEAL);
	/* Another member cannot speak for the parent. */
	size = sample_bcast_encode(&bcast, &other.auth, bytes);
	sample_node_init(&other, SAMPLE_CHILD, SEAL_SIZE);
	assert_int_equal(open_at(bytes, size, &other, &message), WIRE_SEAL);
	assert_int_equal(other.verify_count, 1);
}

static void seal_is_verified_before_fields_are_judged(void **state)
{
	struct wire_bcast bcast = sample_plain();
	uint8_t bytes[SCOLL_BCAST_MAX];
	struct sample_node parent, child;
	struct wire_message message;
	size_t size;

	sample_node_init(&parent, SAMPLE_PARENT, SEAL_SIZE);
	sample_node_init(&child, SAMPLE_CHILD, SEAL_SIZE);
	size = sample_bcast_encode(&bcast, &parent.auth, bytes);
	bytes[99] = 200; /* order */
	assert_int_equal(open_at(bytes, size, &child, &message), WIRE_SEAL);
	parent.auth.seal(parent.auth.ctx, SAMPLE_CHILD, bytes, 128,
			 bytes + 128);
	assert_int_equal(open_at(bytes, size, &child, &message), WIRE_FIELD);
}

static enum wire_result open_unsealed(const uint8_t *bytes, size_t size)
{
	struct wire_message message;

	return open_at(bytes, size, NULL, &message);
}

static void open_rejects_fields_out_of_range(void **state)
{
	static const struct change changes[] = {
		{ 0, 2, 0x6c74, WIRE_MAGIC },
		{ 2, 1, 0, WIRE_VERSION },
		{ 2, 1, 2, WIRE_VERSION },
		{ 3, 1, 0, WIRE_KIND },
		{ 3, 1, WIRE_REPLY, WIRE_KIND },
		{ 3, 1, 255, WIRE_KIND },
		{ 4, 2, 0x100, WIRE_LENGTH }, /* options that are not there */
		{ 6, 2, 0, WIRE_LENGTH },
		{ 6, 2, 0xffff, WIRE_LENGTH },
		{ 16, 8, UINT64_MAX, WIRE_FIELD }, /* root */
		{ 64, 8, UINT64_MAX, WIRE_FIELD }, /* sender */
		{ 72, 8, SAMPLE_TAG | 1, WIRE_FIELD },
		{ 72, 8, SAMPLE_TAG | 0x800, WIRE_FIELD },
		{ 72, 8, SAMPLE_TAG | UINT64_C(1) << 63, WIRE_FIELD },
		{ 80, 8, UINT64_C(1) << 63, WIRE_FIELD }, /* P */
		{ 92, 4, SCOLL_REPLY_PART_MAX + 1, WIRE_FIELD },
		{ 96, 2, SCOLL_REPLY_PARTS_MAX + 1, WIRE_FIELD },
		{ 98, 1, 33, WIRE_LENGTH }, /* pieces */
		{ 98, 1, 0, WIRE_LENGTH },
		{ 99, 1, 2, WIRE_FIELD },           /* order */
		{ 100, 8, 0, WIRE_FIELD },          /* bulk, no bytes */
		{ 100, 8, 3001, WIRE_FIELD },       /* more than its pieces */
		{ 100, 8, 999, WIRE_FIELD },        /* less than is there */
		{ 108, 2, 0xffff, WIRE_LENGTH },    /* parameters */
		{ 110, 2, 0xffff, WIRE_LENGTH },    /* choice */
		{ 110, 2, 0, WIRE_FIELD },          /* choice without bytes */
		{ 112, 1, 0xff, WIRE_DIGEST },      /* of the body */
		{ 176, 8, UINT64_MAX, WIRE_FIELD }, /* size of a piece */
		{ 208, 8, 3001, WIRE_FIELD },       /* more than there is */
	};
	struct wire_bcast bcast = sample_full();
	uint8_t bytes[SCOLL_BCAST_MAX];
	size_t size = sample_bcast_encode(&bcast, NULL, bytes);
	uint8_t copy[SCOLL_BCAST_MAX];
	struct wire_message message;

	memcpy(copy, bytes, size);
	copy[5] |= 0x80; /* an unknown flag beside the known ones */
	assert_int_equal(open_at(copy, size, NULL, &message), WIRE_FIELD);
	assert_changes(bytes, size, changes,
		       sizeof(changes) / sizeof(changes[0]), open_unsealed);
}

static void flags_assert(uint16_t flags, bool is_valid)
{
	struct wire_bcast bcast = sample_full();
	uint8_t head[WIRE_BCAST_HEAD_MAX];

	bcast.flags = flags;
	if (flags & WIRE_OOB)
		bcast.params_size = 0;
	if (!(flags & WIRE_SUBSET) || (flags & WIRE_ALIVE))
		bcast.choice_size = 0;
	if (is_valid)
		assert_true(wire_bcast_encode(&bcast, NULL, head) > 0);
	else
		assert_int_equal(wire_bcast_encode(&bcast, NULL, head),
				 -EINVAL);
}

static void flags_do_not_contradict_each_other(void **state)
{
	flags_assert(0, true);
	flags_assert(WIRE_OOB | WIRE_LAST, true);
	flags_assert(WIRE_OOB | WIRE_CREATOR, false);
	flags_assert(WIRE_OOB | WIRE_POPULATE, false);
	flags_assert(WIRE_OOB | WIRE_ADDRESSES, false);
	flags_assert(WIRE_ALIVE, false);
	flags_assert(WIRE_ALIVE | WIRE_SUBSET, true);
	flags_assert(WIRE_MEMBERS_BULK, false);
	flags_assert(WIRE_MEMBERS_BULK | WIRE_POPULATE, true);
	flags_assert(WIRE_FLAGS_ALL + 1, false);
}

static void encode_refuses_what_open_would(void **state)
{
	uint8_t head[WIRE_BCAST_HEAD_MAX];
	struct wire_bcast bcast;

	bcast = sample_full();
	bcast.piece_count = SCOLL_BULK_IOVS_MAX + 1;
	assert_int_equal(wire_bcast_encode(&bcast, NULL, head), -EINVAL);
	bcast = sample_full();
	bcast.pieces[0].size = UINT64_MAX;
	assert_int_equal(wire_bcast_encode(&bcast, NULL, head), -EINVAL);
	bcast = sample_full();
	bcast.flags |= WIRE_MEMBERS_BULK;
	bcast.params_size = 0; /* no name */
	assert_int_equal(wire_bcast_encode(&bcast, NULL, head), -EINVAL);
	bcast = sample_plain();
	bcast.flags = WIRE_POPULATE | WIRE_MEMBERS_BULK;
	bcast.params_size = 1;
	assert_int_equal(wire_bcast_encode(&bcast, NULL, head), -EINVAL);
}

static void origin_is_known_of_another_version(void **state)
{
	struct wire_bcast bcast = sample_plain();
	uint8_t bytes[SCOLL_BCAST_MAX];
	size_t size = sample_bcast_encode(&bcast, NULL, bytes);
	scoll_nid_t sender = 0;
	uint64_t tag = 0;

	assert_false(wire_bcast_origin(bytes, size, &sender, &tag));
	bytes[2] = SCOLL_PROTOCOL_VERSION + 1;
	assert_true(wire_bcast_origin(bytes, size, &sender, &tag));
	assert_int_equal(sender, SAMPLE_PARENT);
	assert_int_equal(tag, SAMPLE_TAG);
	for (size_t cut = 0; cut < 80; cut++)
		assert_false(wire_bcast_origin(bytes, cut, &sender, &tag));
	assert_true(wire_bcast_origin(bytes, 80, &sender, &tag));
	bytes[3] = WIRE_ABORT;
	assert_false(wire_bcast_origin(bytes, size, &sender, &tag));
	bytes[3] = WIRE_BCAST;
	bytes[72] = 1; /* no tag of ours */
	assert_false(wire_bcast_origin(bytes, size, &sender, &tag));
	bytes[72] = 0;
	memset(bytes + 64, 0xff, 8);
	assert_false(wire_bcast_origin(bytes, size, &sender, &tag));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(bcast_T07_carries_what_the_document_names),
		cmocka_unit_test(bcast_says_where_members_and_sender_are),
		cmocka_unit_test(addresses_of_a_head_are_in_range),
		cmocka_unit_test(head_is_small_without_options),
		cmocka_unit_test(bcast_T08_is_at_most_4096_bytes),
		cmocka_unit_test(bcast_is_its_golden_bytes),
		cmocka_unit_test(children_differ_in_what_is_theirs_alone),
		cmocka_unit_test(child_has_fields_in_range),
		cmocka_unit_test(open_rejects_every_shorter_message),
		cmocka_unit_test(open_rejects_every_changed_bit),
		cmocka_unit_test(open_believes_the_sender_and_receiver_only),
		cmocka_unit_test(seal_is_verified_before_fields_are_judged),
		cmocka_unit_test(open_rejects_fields_out_of_range),
		cmocka_unit_test(flags_do_not_contradict_each_other),
		cmocka_unit_test(encode_refuses_what_open_would),
		cmocka_unit_test(origin_is_known_of_another_version),
	};

	return sodium_init() < 0 ||
	       cmocka_run_group_tests_name("scoll_wire_bcast", tests, NULL,
					   NULL);
}
