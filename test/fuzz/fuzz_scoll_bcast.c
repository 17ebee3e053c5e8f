/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that nobody expects: what is opened is written the same again. The
 * digest of the body is put right first, or hardly any would be opened.
 */
#include <sodium.h>

#include "fuzz.h"
#include "scoll/wire/wire.h"

#define OFFSET_HEAD_SIZE 6
#define OFFSET_DIGEST    112

static void digest_mend(uint8_t *bytes, size_t size)
{
	struct wire_digest digest;
	size_t head_size;

	if (size < WIRE_BCAST_BASE || bytes[3] != WIRE_BCAST)
		return;
	head_size = bytes[OFFSET_HEAD_SIZE] |
		    (size_t)bytes[OFFSET_HEAD_SIZE + 1] << 8;
	if (head_size < WIRE_BCAST_BASE || head_size > size)
		return;
	wire_body_digest(NULL, bytes + head_size, size - head_size, &digest);
	memcpy(bytes + OFFSET_DIGEST, digest.bytes, sizeof(digest.bytes));
}

static void bcast_check(const struct wire_bcast *bcast, const uint8_t *bytes,
			size_t size)
{
	const struct wire_child child = {
		.nid = 1,
		.tag = bcast->tag,
		.part_size = bcast->part_size,
		.part_count = bcast->part_count,
		.start = bcast->start,
		.bulk_there = bcast->bulk_there,
	};
	uint8_t head[WIRE_BCAST_HEAD_MAX];
	int head_size = wire_bcast_encode(bcast, NULL, head);

	fuzz_check(head_size > 0);
	fuzz_check((size_t)head_size + bcast->params_size + bcast->choice_size +
			   bcast->payload_size ==
		   size);
	fuzz_check(memcmp(head, bytes, (size_t)head_size) == 0);
	fuzz_check(bcast->payload + bcast->payload_size == bytes + size);
	fuzz_check(wire_bcast_seal(head, (size_t)head_size, NULL, &child,
				   head) == 0);
	fuzz_check(memcmp(head, bytes, (size_t)head_size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[WIRE_NOTICE_MAX];
	struct wire_message message;
	enum wire_result result;
	uint8_t *bytes = malloc(size > 0 ? size : 1);
	scoll_nid_t sender;
	uint64_t tag;

	fuzz_check(sodium_init() >= 0 && bytes != NULL);
	if (size > 0)
		memcpy(bytes, data, size);
	digest_mend(bytes, size);
	result = wire_message_open(bytes, size, NULL, &message);
	fuzz_check(result < WIRE_RESULT_COUNT && result != WIRE_SEAL);
	if (wire_bcast_origin(bytes, size, &sender, &tag))
		fuzz_check(result == WIRE_VERSION);
	if (result == WIRE_OK && message.kind == WIRE_BCAST) {
		bcast_check(&message.bcast, bytes, size);
	} else if (result == WIRE_OK) {
		fuzz_check(wire_notice_encode(message.kind, &message.notice, 1,
					      NULL, again) == (int)size);
		fuzz_check(memcmp(again, bytes, size) == 0);
	}
	free(bytes);
	return 0;
}
