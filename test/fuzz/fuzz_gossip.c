/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gossip: a message is refused, or is the same when it is encoded again; and
 * whatever a node receives, in whatever order, it does not trip over it.
 *
 * Input: for each message one byte for how much time passes, two for its size,
 * and its bytes. The roster's digest is put in where a first byte asks for it:
 * nobody guesses that.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "fuzz.h"
#include "scoll/member/gossip.h"
#include "scoll/member/message.h"

#define NODE_COUNT 100
#define STEP_NS    (GOSSIP_CYCLE_NS / 8)
#define DIGEST_AT  8

struct bed {
	struct roster *roster;
	struct gossip *gossip;
	uint64_t now_ns;
	uint64_t number;
};

static void fill(void *ctx, void *bytes, size_t size)
{
	struct bed *bed = ctx;
	uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++) {
		bed->number = bed->number * UINT64_C(6364136223846793005) + 1;
		at[i] = (uint8_t)(bed->number >> 56);
	}
}

static void message_check(const struct member_message *message,
			  const uint8_t *bytes, size_t size)
{
	struct writer writer = { 0 };

	fuzz_check(message_encode(message, &writer) == 0);
	fuzz_check(writer.size == size);
	fuzz_check(memcmp(writer.data, bytes, size) == 0);
	writer_fini(&writer);
}

/* What a node sends, any node can read. */
static int on_send(void *ctx, uint64_t nid, const void *bytes, size_t size)
{
	struct bed *bed = ctx;
	struct member_message message;
	uint64_t sender;

	fuzz_check(size <= GOSSIP_MESSAGE_SIZE_MAX);
	fuzz_check(nid >= 2 && nid <= NODE_COUNT);
	fuzz_check(gossip_sender(bytes, size, &sender) == 0 && sender == 1);
	fuzz_check(message_decode(bytes, size, &message) == 0);
	fuzz_check(!discovery_is_stealthy(gossip_discovery(bed->gossip)));
	return 0;
}

static void receive(struct bed *bed, const uint8_t *bytes, size_t size)
{
	struct discovery *discovery = gossip_discovery(bed->gossip);
	struct member_message message;
	int result = message_decode(bytes, size, &message);

	fuzz_check(result == 0 || result == -EBADMSG ||
		   result == -EPROTONOSUPPORT);
	if (result == 0)
		message_check(&message, bytes, size);
	if (gossip_receive(bed->gossip, bed->now_ns, bytes, size) == 0)
		fuzz_check(result == 0);
	fuzz_check(discovery_is_alive(discovery, 1));
	fuzz_check(discovery_alive_count(discovery) <= NODE_COUNT);
	if (gossip_deadline_ns(bed->gossip) <= bed->now_ns)
		gossip_run(bed->gossip, bed->now_ns);
	fuzz_check(gossip_deadline_ns(bed->gossip) > bed->now_ns);
}

static void bed_init(struct bed *bed)
{
	static const struct gossip_ops ops = { .send = on_send };
	static const struct rng_ops rng = { .fill = fill };
	struct gossip_options options = {
		.nid = 1,
		.boot_nonce = 1,
		.ops = &ops,
		.ctx = bed,
		.rng = { .ops = &rng, .ctx = bed },
	};
	uint32_t place;

	*bed = (struct bed){ .now_ns = 1 };
	fuzz_check(roster_create(NULL, 0, &bed->roster) == 0);
	for (uint64_t nid = 1; nid <= NODE_COUNT; nid++)
		fuzz_check(roster_add(bed->roster, nid, &place) == 0);
	options.roster = bed->roster;
	fuzz_check(gossip_create(&options, bed->now_ns, &bed->gossip) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bed bed;

	bed_init(&bed);
	while (size >= 4) {
		size_t count = (size_t)data[2] | (size_t)data[3] << 8;
		uint8_t *bytes;

		if (count > size - 4)
			count = size - 4;
		bed.now_ns += data[1] * STEP_NS;
		bytes = malloc(count > 0 ? count : 1);
		fuzz_check(bytes != NULL);
		memcpy(bytes, data + 4, count);
		if (data[0] % 2 == 1 && count >= DIGEST_AT + ROSTER_DIGEST_SIZE)
			roster_digest(bed.roster, bytes + DIGEST_AT);
		receive(&bed, bytes, count);
		free(bytes);
		data += 4 + count;
		size -= 4 + count;
	}
	gossip_destroy(bed.gossip);
	roster_destroy(bed.roster);
	return 0;
}
