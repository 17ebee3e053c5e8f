/* SPDX-License-Identifier: BSD-3-Clause */
/* What a root signs, and what is no news of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sodium.h>
#include <string.h>

#include "golden.h"
#include "samples.h"

#define SEAL_SIZE 32

struct bed {
	struct sample_node root, parent, child;
	struct wire_bcast bcast; /* signed by the root */
	uint8_t bytes[SCOLL_BCAST_MAX];
	struct wire_message message;
};

static void bed_init(struct bed *bed)
{
	sample_node_init(&bed->root, SAMPLE_ROOT, SEAL_SIZE);
	sample_node_init(&bed->parent, SAMPLE_PARENT, SEAL_SIZE);
	sample_node_init(&bed->child, SAMPLE_CHILD, SEAL_SIZE);
	sample_node_sign(&bed->root);
	sample_node_sign(&bed->parent);
	sample_node_sign(&bed->child);
	bed->bcast = sample_signed();
	/* Its digests are there before it is signed. */
	sample_bcast_encode(&bed->bcast, &bed->root.auth, bed->bytes);
	assert_int_equal(wire_bcast_sign(&bed->bcast, &bed->root.auth), 0);
}

/* What the child says to it when its parent sends this. */
static enum wire_result sent(struct bed *bed, const struct wire_bcast *bcast)
{
	struct wire_bcast copy = *bcast;
	size_t size = sample_bcast_encode(&copy, &bed->parent.auth, bed->bytes);

	return wire_message_open(bed->bytes, size, &bed->child.auth,
				 &bed->message);
}

static void signed_bcast_is_its_golden_bytes(void **state)
{
	uint8_t golden[SCOLL_BCAST_MAX];
	struct bed bed;
	size_t size;

	bed_init(&bed);
	assert_int_equal(sent(&bed, &bed.bcast), WIRE_OK);
	assert_int_equal(sodium_hex2bin(golden, sizeof(golden), golden_signed,
					strlen(golden_signed), NULL, &size,
					NULL),
			 0);
	assert_memory_equal(bed.bytes, golden, size);
	assert_memory_equal(bed.message.bcast.signature, bed.bcast.signature,
			    SAMPLE_SIGNATURE);
}

/* Each node says who it is, where, and what it has. */
static void what_differs_from_node_to_node_is_not_signed(void **state)
{
	struct wire_bcast bcast;
	struct bed bed;

	bed_init(&bed);
	bcast = bed.bcast;
	bcast.tag = 0x7000;
	bcast.service_timeout_ns = 1;
	bcast.rtt_us = 7;
	bcast.part_size = 1;
	bcast.part_count = 1;
	bcast.address[0] ^= 1;
	bcast.start++;
	assert_int_equal(sent(&bed, &bcast), WIRE_OK);
	bcast.flags &= (uint16_t)~WIRE_SENDER;
	bcast.address_size = 0;
	assert_int_equal(sent(&bed, &bcast), WIRE_OK);
}

/* The pieces are each node's own, but how much it is in all is the root's. */
static void size_of_bulk_data_is_signed_and_not_its_place(void **state)
{
	struct wire_bcast bcast = sample_full();
	struct bed bed;

	bed_init(&bed);
	bcast.flags |= WIRE_SIGNED;
	sample_bcast_encode(&bcast, &bed.root.auth, bed.bytes);
	assert_int_equal(wire_bcast_sign(&bcast, &bed.root.auth), 0);
	assert_int_equal(sent(&bed, &bcast), WIRE_OK);
	bcast.pieces[0] = (struct remote_piece){ 0x1000, 7, 4000 };
	bcast.piece_count = 1;
	bcast.bulk_there = 0;
	assert_int_equal(sent(&bed, &bcast), WIRE_OK);
	bcast.bulk_size--;
	assert_int_equal(sent(&bed, &bcast), WIRE_SIGN);
}

/* Whoever has the key of all seals what it likes. */
static void what_the_root_has_said_nobody_changes(void **state)
{
	static const uint8_t other[] = "what else to do";
	struct bed bed;

	bed_init(&bed);
	for (int i = 0; i < 15; i++) {
		struct wire_bcast bcast = bed.bcast;

		switch (i) {
		case 0:
			bcast.number = UINT64_MAX - 1;
			break;
		case 1:
			bcast.root_nonce++;
			break;
		case 2:
			bcast.root = SAMPLE_PARENT;
			break;
		case 3:
			bcast.service++;
			break;
		case 4:
			bcast.tree++;
			break;
		case 5:
			bcast.order ^= 1;
			break;
		case 6:
			bcast.group_index++;
			break;
		case 7:
			bcast.members.bytes[15] ^= 1;
			break;
		case 8:
			bcast.creator++;
			break;
		case 9:
			bcast.creator_nonce++;
			break;
		case 10:
			bcast.choice_digest.bytes[0] ^= 1;
			break;
		case 11:
			bcast.addresses.bytes[0] ^= 1;
			break;
		case 12:
			bcast.flags |= WIRE_LAST;
			break;
		case 13:
			bcast.payload = other;
			bcast.payload_size = sizeof(other);
			break;
		case 14:
			bcast.signature[SAMPLE_SIGNATURE - 1] ^= 1;
			break;
		}
		assert_int_equal(sent(&bed, &bcast), WIRE_SIGN);
	}
}

static void bcast_without_a_signature_is_not_opened(void **state)
{
	struct bed bed;

	bed_init(&bed);
	bed.bcast.flags &= (uint16_t)~WIRE_SIGNED;
	assert_int_equal(sent(&bed, &bed.bcast), WIRE_SIGN);
	assert_int_equal(bed.child.check_count, 0);
}

/* Where nobody signs the flag is nobody's. */
static void signature_that_is_none_is_not_opened(void **state)
{
	struct bed bed;

	bed_init(&bed);
	bed.parent.auth.signature_size = 0;
	bed.child.auth.signature_size = 0;
	assert_int_equal(sent(&bed, &bed.bcast), WIRE_SIGN);
	bed.bcast.flags &= (uint16_t)~WIRE_SIGNED;
	assert_int_equal(sent(&bed, &bed.bcast), WIRE_OK);
}

/* A node without the key cannot have signatures checked. */
static void signature_is_looked_at_when_the_seal_is_right(void **state)
{
	struct wire_message message;
	struct bed bed;
	size_t size;

	bed_init(&bed);
	size = sample_bcast_encode(&bed.bcast, &bed.parent.auth, bed.bytes);
	bed.bytes[40] ^= 1;
	assert_int_equal(wire_message_open(bed.bytes, size, &bed.child.auth,
					   &message),
			 WIRE_SEAL);
	assert_int_equal(bed.child.check_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signed_bcast_is_its_golden_bytes),
		cmocka_unit_test(what_differs_from_node_to_node_is_not_signed),
		cmocka_unit_test(size_of_bulk_data_is_signed_and_not_its_place),
		cmocka_unit_test(what_the_root_has_said_nobody_changes),
		cmocka_unit_test(bcast_without_a_signature_is_not_opened),
		cmocka_unit_test(signature_that_is_none_is_not_opened),
		cmocka_unit_test(signature_is_looked_at_when_the_seal_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
