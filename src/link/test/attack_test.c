/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who speaks to an endpoint as its core's peer, and is none of its own: a broken
 * or hostile program. Its frames are true and false ones of each kind, cut and
 * changed, while messages between true peers arrive.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/address/address.h"
#include "link/test/raw.h"
#include "link/wire/frame.h"
#include "link/wire/reach.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define ROUNDS          150
#define FRAMES          20
#define LIES            8

static uint8_t out[100000], in[100000];

/*
 * With several fabric rails, who sends is known by having said who it is, and its
 * frames count. Who knows a true peer's number could take its place there: so
 * these lie in their own names, of which there are some.
 */
static struct liar {
	uint64_t number;
	uint32_t sequence;
} liars[LIES];

/* --- what it says --- */

static uint64_t state = 1;

static uint64_t any(void)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return state >> 16;
}

/* Each tells that it is at the place of the core: by all rails, or by one. */
static void liars_introduce(struct pair *pair, struct raw *raw)
{
	struct link_address address;
	uint8_t bytes[FRAME_READY_MAX];
	size_t size;

	for (unsigned int i = 0; i < LIES && raw->has_several; i++) {
		struct link_frame frame = { .kind = FRAME_RAILS };
		liars[i] = (struct liar){ any() >> 1, 0 };
		pair_do(link_address_decode(pair->peer_name, &address, NULL));
		address.number = frame.sender = liars[i].number;
		address.node = any();
		if (i % 2 == 1)
			address.rail_count = address.known_count = 1;
		for (unsigned int k = 0; k < address.rail_count; k++) {
			size = sizeof(address.rails[k].bytes);
			pair_do(fi_getname(&raw->ep->fid,
					   address.rails[k].bytes, &size));
			address.rails[k].size = (uint8_t)size;
		}
		link_address_encode(&address, frame.from);
		raw_send(pair, raw, bytes, frame_encode(&frame, bytes));
	}
}

/* Small, or anything, or at the end of what there is. */
static uint64_t number(void)
{
	switch (any() % 3) {
	case 0:
		return any() % 100;
	case 1:
		return any() * any();
	default:
		return UINT64_MAX - any() % 3;
	}
}

/* Some are the next of who sends, so that they are looked at. */
static void lie_of(struct link_frame *frame)
{
	struct liar *liar = &liars[any() % LIES];

	frame->sender = any() % 8 == 0 ? any() : liar->number;
	if (frame_is_counted(frame->kind) && any() % 4 != 0)
		frame->sequence = ++liar->sequence;
}

/* Messages have a tag that nobody receives; others speak as the true peer. */
static size_t frame_any(const struct pair *pair, const struct raw *raw,
			uint8_t *bytes)
{
	struct link_address us;
	struct link_frame frame = { .kind = (enum frame_kind)(1 + any() % 15),
				    .flags = (unsigned int)(any() % 2 * any() %
							    4),
				    .sequence = (uint32_t)number(),
				    .tag = UINT64_C(1) << 50 | any() % 16,
				    .data = number(),
				    .request = (uint32_t)number(),
				    .reader = (uint32_t)number(),
				    .up_to = (uint32_t)number(),
				    .error = (int)(any() % 200),
				    .size = number(),
				    .offset = number(),
				    .key = number(),
				    .rail_count = 1 + (unsigned int)any() % 3 };
	size_t size = sizeof(us), payload = any() % 200;
	uint8_t here[LINK_ADDRESS_SIZE];

	pair_do(fi_getname(&pair->ep->fid, here, &size));
	pair_do(link_address_decode(here, &us, NULL));
	frame.sender = us.number;
	if (frame.kind == FRAME_EAGER || frame.kind == FRAME_READY)
		frame.sender = any();
	if (raw->has_several)
		lie_of(&frame);
	if (frame.kind == FRAME_EAGER)
		frame.flags &= ~FRAME_UNTAGGED;
	if (frame.kind != FRAME_READY && any() % 2 == 0)
		frame.size = payload;
	memcpy(frame.from, here, sizeof(frame.from));
	for (unsigned int i = 0; i < sizeof(frame.from) && any() % 2 == 0; i++)
		frame.from[any() % sizeof(frame.from)] = (uint8_t)any();
	for (unsigned int i = 0; i < frame.rail_count; i++)
		frame.rails[i] = (struct frame_rail){ number(), number() };
	size = frame_encode(&frame, bytes);
	for (unsigned int i = 0; i < payload; i++)
		bytes[size + i] = (uint8_t)any();
	return size + payload;
}

static void attack(struct pair *pair, struct raw *raw)
{
	uint8_t bytes[FRAME_READY_MAX + 4096];
	size_t size = frame_any(pair, raw, bytes);

	if (any() % 4 == 0)
		size = any() % (size + 1);
	/* Not what makes it a message that somebody receives. */
	if (any() % 4 == 0 && size > 0)
		bytes[1 + any() % 7 % size] ^= (uint8_t)(1 << any() % 8);
	if (any() % 8 == 0 && raw_is_direct())
		raw_send_direct(pair, raw, bytes, size, UINT64_C(1) << 50);
	else
		raw_send(pair, raw, bytes, size);
}

/* --- cases --- */

static void messages_arrive_while_others_lie(struct pair *pair)
{
	struct raw raw;

	if (!pair->is_first) {
		raw_open(&raw, pair);
		liars_introduce(pair, &raw);
	}
	for (unsigned int i = 0; i < ROUNDS; i++) {
		size_t size = i % 3 == 0 ? sizeof(out) : i * 20;
		if (pair->is_first) {
			memset(in, 0, sizeof(in));
			pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL,
					 pair->peer, 3, 0, NULL));
			pair_wait(pair, pair->receive_cq, NULL);
			pair_check(pair_is_filled(in, size, i));
			continue;
		}
		for (unsigned int k = 0; k < FRAMES; k++)
			attack(pair, &raw);
		pair_fill(out, size, i);
		pair_retry(pair, fi_tsend(pair->ep, out, size, NULL, pair->peer,
					  3, NULL));
		pair_wait(pair, pair->send_cq, NULL);
	}
	pair_meet(pair);
	if (!pair->is_first)
		raw_close(&raw);
}

/* Addresses, keys and processes that are none; of some there are too few. */
static void lies_send(struct pair *pair, struct raw *raw)
{
	for (unsigned int i = 0; i < LIES; i++) {
		uint8_t bytes[FRAME_READY_MAX];
		struct link_frame frame = { .kind = FRAME_READY,
					    .sequence = 1,
					    .sender = raw->has_several
							      ? liars[i].number
							      : any(),
					    .tag = 70,
					    .size = 1 + number() % (1 << 20),
					    .rail_count = 1 };
		if (raw->has_several)
			frame.rail_count = 1 + i % 3;
		for (unsigned int k = 0; k < frame.rail_count; k++)
			frame.rails[k] =
				(struct frame_rail){ number(), number() };
		raw_send(pair, raw, bytes, frame_encode(&frame, bytes));
	}
}

/* What comes behind the lies: all have been taken in. */
static void last_send(struct pair *pair, struct raw *raw)
{
	uint8_t bytes[FRAME_READY_MAX];
	struct link_frame frame = { .kind = FRAME_EAGER,
				    .sequence = 2,
				    .sender = raw->has_several
						      ? liars[LIES - 1].number
						      : any(),
				    .tag = 71 };

	raw_send(pair, raw, bytes, frame_encode(&frame, bytes));
}

static void lies_fail(struct pair *pair)
{
	struct fi_cq_tagged_entry entry;
	unsigned int failed = 0, came = 0;

	for (unsigned int i = 0; i < LIES; i++)
		pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC,
				 70, 0, NULL));
	pair_do(fi_trecv(pair->ep, in, 0, NULL, FI_ADDR_UNSPEC, 71, 0, NULL));
	while (failed < LIES || came == 0) {
		struct fi_cq_err_entry failure = { 0 };
		ssize_t result = fi_cq_read(pair->receive_cq, &entry, 1);
		if (result == -FI_EAVAIL) {
			fi_cq_readerr(pair->receive_cq, &failure, 0);
			pair_check(failure.err != 0 && failure.tag == 70);
			failed++;
		} else if (result == 1) {
			pair_check(entry.tag == 71 && came++ == 0);
			pair_meet(pair);
		}
		pair_progress(pair);
	}
}

/* Who lies may go on, and answer nothing, as if it was stopped: so it ends. */
static void what_is_not_there_to_be_read_is_a_failed_receive(struct pair *pair)
{
	struct pollfd other = { .fd = pair->fd, .events = POLLIN };
	struct raw raw;

	if (pair->is_first) {
		lies_fail(pair);
		pair_meet(pair);
		return;
	}
	raw_open(&raw, pair);
	liars_introduce(pair, &raw);
	lies_send(pair, &raw);
	last_send(pair, &raw);
	for (unsigned int i = 1; poll(&other, 1, 0) == 0; i++) {
		raw_progress(pair, &raw);
		/* A lie may cost the connection, and what was on its way. */
		if (raw.has_several && i % 10000 == 0) {
			lies_send(pair, &raw);
			last_send(pair, &raw);
		}
	}
	pair_meet(pair);
	raw_close(&raw);
	pair_meet(pair);
}

/* Larger than any frame, and tagged ones that no peer sends so. */
static void what_is_too_large_is_left_out(struct pair *pair)
{
	struct raw raw;

	if (!pair->is_first) {
		raw_open(&raw, pair);
		for (unsigned int i = 0; i < 10; i++)
			raw_send(pair, &raw, out, 10000 * i);
		if (raw_is_direct())
			raw_send_direct(pair, &raw, out, sizeof(out), 5);
	}
	pair_meet(pair);
	if (pair->is_first) {
		pair_do(fi_trecv(pair->ep, in, 8, NULL, pair->peer, 5, 0,
				 NULL));
		pair_wait(pair, pair->receive_cq, NULL);
	} else {
		pair_retry(pair,
			   fi_tinject(pair->ep, "message", 8, pair->peer, 5));
		raw_progress(pair, &raw);
	}
	pair_meet(pair);
	if (!pair->is_first)
		raw_close(&raw);
}

/* Who speaks as a peer would, and is none, is none for those who receive. */
static void a_message_without_a_frame_is_from_who_is_known(struct pair *pair)
{
	struct raw raw;

	if (!raw_is_direct())
		return;
	if (pair->is_first) {
		fi_addr_t sources[2] = { 0, 0 };
		pair_do(fi_trecv(pair->ep, in, 8, NULL, pair->peer, 9, 0,
				 NULL));
		pair_meet(pair);
		pair_wait(pair, pair->receive_cq, &sources[0]);
		pair_check(sources[0] == pair->peer);
		pair_check(memcmp(in, "of peers", 8) == 0);
		pair_do(fi_trecv(pair->ep, in, 8, NULL, FI_ADDR_UNSPEC, 9, 0,
				 NULL));
		pair_wait(pair, pair->receive_cq, &sources[1]);
		pair_check(memcmp(in, "a lie...", 8) == 0);
		pair_check(sources[1] == FI_ADDR_NOTAVAIL);
		pair_meet(pair);
		return;
	}
	raw_open(&raw, pair);
	pair_meet(pair);
	raw_send_direct(pair, &raw, "a lie...", 8, 9);
	pair_retry(pair, fi_tinject(pair->ep, "of peers", 8, pair->peer, 9));
	pair_meet(pair);
	raw_close(&raw);
}

/* --- memory --- */

#define LOCKED   5 /* a key of what may be read only */
#define OPEN     6
#define REACHES  3000
#define OPEN_AT  1024
#define OPEN_END 1088

static uint8_t memory[2048], canary[64];

static uint64_t address_any(void)
{
	static const uint64_t places[] = { 0, 8, 60, 64, UINT64_MAX - 3 };
	unsigned int i = (unsigned int)(any() % (COUNT_OF(places) + 1));

	return i == COUNT_OF(places) ? number() : places[i];
}

/* Most are what a peer could ask, with a process that is not its own. */
static size_t reach_any(const struct pair *pair, const struct raw *raw,
			uint8_t *bytes)
{
	struct reach reach = { .kind = (enum reach_kind)(1 + any() % 6),
			       .range_count = 1,
			       .data = any() };
	struct link_frame frame = { .kind = FRAME_REACH,
				    .sequence = 1,
				    .request = (uint32_t)any() };
	uint8_t head[REACH_HEAD_MAX + 2 * REACH_DATA_MAX];
	size_t size = sizeof(reach.from), name_size = size;

	pair_do(fi_getname(&pair->ep->fid, reach.from, &name_size));
	frame.sender = any();
	if (raw->has_several) {
		struct liar *liar = &liars[any() % LIES];
		frame.sender = liar->number;
		frame.sequence = ++liar->sequence;
	}
	if (reach.kind > REACH_WRITE) {
		reach.type = (enum atomic_type)(any() % 16);
		reach.op = (enum atomic_op)(any() % 20);
	} else if (any() % 2 == 0) {
		reach.process = (uint64_t)getppid();
		reach.place_count = 1;
	}
	reach.ranges[0] =
		(struct reach_range){ address_any(),
				      1 + any() % 64 / (1 + any() % 16),
				      LOCKED + any() % 3 };
	reach.places[0] = (struct reach_place){ (uintptr_t)canary,
						reach.ranges[0].count };
	memset(head, 0x55, sizeof(head));
	size = reach_encode(&reach, head);
	if (reach.kind != REACH_READ && reach.place_count == 0)
		size += reach_size(&reach);
	if (reach.kind == REACH_COMPARE)
		size += reach_size(&reach);
	if (any() % 8 == 0)
		size = any() % size;
	frame.size = size;
	name_size = frame_encode(&frame, bytes);
	memcpy(bytes + name_size, head, size);
	return name_size + size;
}

static bool is_all(const uint8_t *bytes, size_t size, uint8_t value)
{
	while (size > 0 && bytes[size - 1] == value)
		size--;
	return size == 0;
}

/* What may be written by who knows its key is, and nothing else. */
static void memory_is_reached_by_its_keys_only(struct pair *pair)
{
	static uint8_t
		bytes[FRAME_READY_MAX + REACH_HEAD_MAX + 2 * REACH_DATA_MAX];
	struct fid_mr *locked, *open;
	struct raw raw;

	memset(memory, 0xee, sizeof(memory));
	memset(canary, 0xee, sizeof(canary));
	pair_do(fi_mr_reg(pair->domain, memory, OPEN_AT, FI_REMOTE_READ, 0,
			  LOCKED, 0, &locked, NULL));
	pair_do(fi_mr_reg(pair->domain, memory + OPEN_AT, OPEN_END - OPEN_AT,
			  FI_REMOTE_READ | FI_REMOTE_WRITE, 0, OPEN, 0, &open,
			  NULL));
	pair_meet(pair);
	if (pair->is_first) {
		while (is_all(memory + OPEN_AT, OPEN_END - OPEN_AT, 0xee))
			pair_progress(pair); /* till one was well */
	} else {
		struct pollfd other = { .fd = pair->fd, .events = POLLIN };
		raw_open(&raw, pair);
		liars_introduce(pair, &raw);
		for (unsigned int i = 0; i < REACHES || poll(&other, 1, 0) == 0;
		     i++)
			raw_send(pair, &raw, bytes,
				 reach_any(pair, &raw, bytes));
	}
	pair_meet(pair);
	if (pair->is_first) {
		/* Who shares memory is believed where its own is. */
		pair_check(strcmp(getenv("FI_FAIRLEAD_LINKS"), "shm") == 0 ||
			   is_all(canary, sizeof(canary), 0xee));
		pair_check(is_all(memory, OPEN_AT, 0xee));
		pair_check(is_all(memory + OPEN_END, sizeof(memory) - OPEN_END,
				  0xee));
	}
	pair_meet(pair);
	if (!pair->is_first)
		raw_close(&raw);
	pair_do(fi_close(&locked->fid));
	pair_do(fi_close(&open->fid));
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC |
			FI_DIRECTED_RECV | FI_SOURCE,
	};
	static const struct pair_case cases[] = {
		pair_case(messages_arrive_while_others_lie),
		pair_case(what_is_not_there_to_be_read_is_a_failed_receive),
		pair_case(memory_is_reached_by_its_keys_only),
		pair_case(what_is_too_large_is_left_out),
		pair_case(a_message_without_a_frame_is_from_who_is_known),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
