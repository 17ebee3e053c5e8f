/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of members, choices of them and their addresses, read as they were sent, and made from
 * the same bytes: what is made comes back the same from the wire.
 *
 * Input: one byte that says which, then the bytes.
 */
#include <errno.h>
#include <sodium.h>

#include "base/bytes.h"
#include "fuzz.h"
#include "scoll/core/addresses.h"
#include "scoll/core/choice.h"

#define NODES 200
#define WORDS 4

static struct membership *nodes_make(struct memberships *memberships)
{
	static const scoll_tag_t tag = { "a" };
	scoll_target_t targets[NODES];
	struct membership *membership = NULL;

	for (uint64_t i = 0; i < NODES; i++)
		targets[i] = (scoll_target_t){ NODES - i, &tag, 1 };
	fuzz_check(memberships_from_targets(memberships, targets, NODES, NULL,
					    NULL, &membership) == 0);
	return membership;
}

/* A byte a target: which node, and which of a few tags. */
static void members_make(struct memberships *memberships, const uint8_t *data,
			 size_t size)
{
	struct membership *membership, *again;
	scoll_target_t targets[256];
	scoll_tag_t tags[256];
	struct wire_digest digest;
	size_t encoded_size;
	uint8_t *bytes;
	int result;

	size = size < 256 ? size : 256;
	for (size_t i = 0; i < size; i++) {
		memset(&tags[i], data[i] & 7, sizeof(tags[i]));
		targets[i] = (scoll_target_t){ data[i] >> 3, &tags[i], 1 };
	}
	result = memberships_from_targets(memberships, targets, (int)size, NULL,
					  NULL, &membership);
	fuzz_check(result == 0 || result == -EINVAL);
	if (result < 0)
		return;
	digest = membership->digest;
	encoded_size = membership_encoded_size(membership);
	bytes = malloc(encoded_size);
	fuzz_check(bytes != NULL);
	membership_encode(membership, bytes);
	membership_unref(membership);
	fuzz_check(memberships_count(memberships) == 0);
	fuzz_check(memberships_decode(memberships, &digest, bytes, encoded_size,
				      &again) == 0);
	fuzz_check(again->entity_count == size);
	membership_unref(again);
	free(bytes);
}

static void choice_make(struct membership *membership, const uint8_t *data,
			size_t size)
{
	struct reader reader = reader_of(data, size);
	uint64_t words[WORDS];
	struct wire_digest digest;
	struct choice *choice;
	uint8_t bytes[256];
	size_t encoded_size;
	uint32_t count;

	for (size_t i = 0; i < WORDS; i++)
		words[i] = read_u64(&reader);
	if (choice_of_bits(membership, words, NULL, &choice) < 0)
		return;
	digest = choice->digest;
	count = choice->count;
	encoded_size = choice_encoded_size(choice);
	fuzz_check(encoded_size <= sizeof(bytes));
	choice_encode(choice, bytes);
	choice_unref(choice);
	fuzz_check(choice_decode(membership, &digest, bytes, encoded_size,
				 &choice) == 0);
	fuzz_check(choice->count == count);
	choice_unref(choice);
}

/* A byte that says of how many nodes; their digest is put right. */
static void addresses_read(struct memberships *memberships, const uint8_t *data,
			   size_t size)
{
	struct addresses *addresses;
	struct wire_digest digest;
	const uint8_t *at;
	int result;

	if (size < 1)
		return;
	wire_digest_of(data + 1, size - 1, &digest);
	result = addresses_decode(memberships, &digest, data[0], data + 1,
				  size - 1, &addresses);
	fuzz_check(result == 0 || result == -EBADMSG);
	if (result < 0)
		return;
	for (uint32_t i = 0; i < addresses->count; i++) {
		size_t length = addresses_at(addresses, i, &at);

		fuzz_check(length <= WIRE_ADDRESS_MAX);
		fuzz_check(at + length <= addresses->bytes + addresses->size);
		fuzz_check(address_trim(at, length) == length);
	}
	addresses_unref(addresses);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct wire_digest none = { 0 };
	struct memberships *memberships;
	struct membership *membership;
	struct choice *choice;
	int result = -ESTALE;

	fuzz_check(sodium_init() >= 0);
	if (size < 1)
		return 0;
	fuzz_check(memberships_create(&memberships) == 0);
	switch (data[0] % 5) {
	case 0:
		result = memberships_decode(memberships, &none, data + 1,
					    size - 1, &membership);
		break;
	case 1:
		members_make(memberships, data + 1, size - 1);
		break;
	case 2:
		membership = nodes_make(memberships);
		result = choice_decode(membership, &none, data + 1, size - 1,
				       &choice);
		membership_unref(membership);
		break;
	case 3:
		membership = nodes_make(memberships);
		choice_make(membership, data + 1, size - 1);
		membership_unref(membership);
		break;
	default:
		addresses_read(memberships, data + 1, size - 1);
		break;
	}
	/* Well-formed, but of another digest, is the best that can be. */
	fuzz_check(result == -ESTALE || result == -EBADMSG || result == -E2BIG);
	memberships_destroy(memberships);
	return 0;
}
