/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whoever says who it is can do so under many names: what an endpoint keeps of them
 * does not grow.
 */
#include <malloc.h>
#include <string.h>

#include "link/setting.h"
#include "link/test/raw.h"
#include "link/wire/frame.h"
#include "link/wire/reach.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LITTLE          1000000 /* bytes */
#define PART            128     /* that are under way */
#define QUESTIONS       (200 * PART)
#define KEY             5

static uint8_t memory[64];

/* An address at the place of the core, of an endpoint with that number. */
static void address_make(const struct pair *pair, const struct raw *raw,
			 uint64_t number, uint8_t ret_bytes[LINK_ADDRESS_SIZE])
{
	struct link_address address;

	pair_do(link_address_decode(pair->peer_name, &address, NULL));
	address.number = number;
	address.node = number;
	for (unsigned int i = 0; i < address.rail_count; i++) {
		size_t size = sizeof(address.rails[i].bytes);
		pair_do(fi_getname(&raw->ep->fid, address.rails[i].bytes,
				   &size));
		address.rails[i].size = (uint8_t)size;
	}
	link_address_encode(&address, ret_bytes);
}

/* What the victim has answered last: then it has taken in all that was before. */
static void wait_for_answer(struct pair *pair, struct raw *raw,
			    uint32_t request)
{
	static uint8_t bytes[LINK_FRAME_SIZE];
	static struct fi_context2 context;
	struct link_frame frame = { .request = 0 };

	while (frame.request != request) {
		struct fi_cq_tagged_entry entry;
		pair_do(fi_recv(raw->ep, bytes, sizeof(bytes), NULL,
				FI_ADDR_UNSPEC, &context));
		while (fi_cq_read(raw->cq, &entry, 1) != 1 ||
		       entry.op_context != &context)
			pair_progress(pair);
		if (frame_decode(bytes, sizeof(bytes), true, &frame) != 0)
			frame.request = 0;
	}
}

static void introduce_many(struct pair *pair, struct raw *raw, uint64_t first)
{
	unsigned int count = raw->has_several ? LINK_FLOWS : LINK_UNLISTED_MAX;
	uint8_t bytes[FRAME_READY_MAX];

	for (uint64_t i = first; i < first + count; i++) {
		struct link_frame frame = { .kind = FRAME_HELLO,
					    .sender = i,
					    .request =
						    (uint32_t)(i - first + 1) };
		address_make(pair, raw, i, frame.from);
		raw_send(pair, raw, bytes, frame_encode(&frame, bytes));
		if (frame.request % PART == 0)
			wait_for_answer(pair, raw, frame.request);
	}
}

/* Under one name. */
static void ask_often(struct pair *pair, struct raw *raw)
{
	struct reach reach = { .kind = REACH_KEY,
			       .range_count = 1,
			       .ranges = { { .key = KEY } } };
	uint8_t bytes[FRAME_READY_MAX + REACH_HEAD_MAX];

	address_make(pair, raw, 1, reach.from);
	for (unsigned int i = 0; i < QUESTIONS; i++) {
		uint8_t head[REACH_HEAD_MAX];
		struct link_frame frame = { .kind = FRAME_REACH,
					    .sender = 1,
					    .sequence = 1,
					    .request = i + 1,
					    .size = reach_encode(&reach,
								 head) };
		size_t size = frame_encode(&frame, bytes);
		memcpy(bytes + size, head, frame.size);
		raw_send(pair, raw, bytes, size + frame.size);
		if (frame.request % PART == 0)
			wait_for_answer(pair, raw, frame.request);
	}
}

static size_t in_use(void)
{
	return mallinfo2().uordblks;
}

static void check_growth(struct pair *pair, size_t before)
{
	pair_meet(pair);
	if (pair->is_first)
		pair_check(in_use() < before + LITTLE);
	pair_meet(pair);
}

static void who_has_many_names_is_forgotten(struct pair *pair)
{
	struct raw raw;
	size_t before;

	if (!pair->is_first) {
		raw_open(&raw, pair);
		introduce_many(pair, &raw, 1);
	}
	pair_meet(pair);
	before = in_use();
	pair_meet(pair);
	if (!pair->is_first)
		introduce_many(pair, &raw, UINT64_C(1) << 32);
	check_growth(pair, before);
	if (!pair->is_first)
		raw_close(&raw);
}

static void who_asks_often_is_noted_once(struct pair *pair)
{
	struct raw raw;
	struct fid_mr *mr;
	size_t before;

	pair_do(fi_mr_reg(pair->domain, memory, sizeof(memory), FI_REMOTE_READ,
			  0, KEY, 0, &mr, NULL));
	pair_meet(pair);
	before = in_use();
	if (!pair->is_first) {
		raw_open(&raw, pair);
		if (!raw.has_several) /* who have to introduce themselves */
			ask_often(pair, &raw);
	}
	check_growth(pair, before);
	if (!pair->is_first)
		raw_close(&raw);
	pair_do(fi_close(&mr->fid));
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_DIRECTED_RECV |
			FI_SOURCE,
	};
	static const struct pair_case cases[] = {
		pair_case(who_has_many_names_is_forgotten),
		pair_case(who_asks_often_is_noted_once),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
