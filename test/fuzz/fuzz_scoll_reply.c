/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replies, from the child and to the tag that they name: a head that is opened
 * is written the same again. The digest of the payload is put right first.
 */
#include <sodium.h>

#include "base/bytes.h"
#include "fuzz.h"
#include "scoll/wire/wire.h"

#define OFFSET_TAG    8
#define OFFSET_DIGEST 36

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t head[WIRE_REPLY_HEAD] = { 0 }, again[WIRE_REPLY_HEAD];
	size_t payload_size = size > sizeof(head) ? size - sizeof(head) : 0;
	struct reader names = reader_of(head + OFFSET_TAG, 16);
	struct wire_digest digest;
	const uint8_t *payload;
	struct wire_reply reply;
	enum wire_result result;
	scoll_nid_t sender;
	uint64_t tag;

	fuzz_check(sodium_init() >= 0);
	if (size > 0)
		memcpy(head, data, size - payload_size);
	payload = payload_size > 0 ? data + sizeof(head) : NULL;
	tag = read_u64(&names);
	sender = read_u64(&names);
	wire_body_digest(NULL, payload, payload_size, &digest);
	memcpy(head + OFFSET_DIGEST, digest.bytes, sizeof(digest.bytes));
	result =
		wire_reply_open(head, payload, size, sender, tag, NULL, &reply);
	fuzz_check(result < WIRE_RESULT_COUNT && result != WIRE_SEAL &&
		   result != WIRE_DIGEST);
	if (result != WIRE_OK)
		return 0;
	fuzz_check(reply.failure_count <= WIRE_REPLY_FAILURES_MAX);
	fuzz_check(wire_reply_encode(&reply, payload, payload_size, 1, NULL,
				     again) == 0);
	fuzz_check(memcmp(again, head, sizeof(head)) == 0);
	fuzz_check(wire_reply_open(head, payload, size, sender + 1, tag, NULL,
				   &reply) == WIRE_FIELD);
	return 0;
}
