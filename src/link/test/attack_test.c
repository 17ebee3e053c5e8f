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

#include "link/address/address.h"
#include "link/test/pair.h"
#include "link/wire/frame.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define HIDDEN          (UINT64_C(1) << 60) /* by FI_PROVIDER */
#define ROUNDS          150
#define FRAMES          20
#define LIES            8

static uint8_t out[100000], in[100000];

/* --- an endpoint of a core --- */

struct raw {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t to;
};

/*
 * With several fabric rails, who sends is known by having said who it is, and its
 * frames count. Who knows a true peer's number could take its place there: so
 * these lie in their own names, of which there are some.
 */
static bool has_several;
static struct liar {
	uint64_t number;
	uint32_t sequence;
} liars[LIES];

static struct fi_info *raw_find(const char *provider)
{
	struct fi_info *hints = fi_allocinfo(), *list = NULL, *info;

	hints->caps = FI_MSG | FI_TAGGED;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup(provider);
	pair_do(fi_getinfo(fi_version(), NULL, NULL, HIDDEN, hints, &list));
	fi_freeinfo(hints);
	info = list;
	while (strcmp(info->fabric_attr->prov_name, provider) != 0)
		info = info->next;
	info = fi_dupinfo(info);
	fi_freeinfo(list);
	return info;
}

/* Where the core of the victim's first fabric rail is, by the victim's address. */
static void raw_insert(struct raw *raw, const struct pair *pair)
{
	struct link_address address;
	char name[64];
	const void *bytes = name;

	pair_do(link_address_decode(pair->peer_name, &address, NULL));
	snprintf(name, sizeof(name), "fairlead-%016llx",
		 (unsigned long long)address.number);
	if (address.told_count > 0)
		bytes = address.rails[0].bytes;
	pair_check(fi_av_insert(raw->av, bytes, 1, &raw->to, 0, NULL) == 1);
}

/* The first provider that the link names, but for shared memory. */
static void raw_open(struct raw *raw, const struct pair *pair)
{
	const char *text = getenv("FI_FAIRLEAD_LINKS");
	char provider[64];
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av = { .type = FI_AV_TABLE };

	if (strncmp(text, "shm+", 4) == 0)
		text += 4;
	has_several = strchr(text, '+') != NULL;
	snprintf(provider, sizeof(provider), "%.*s", (int)strcspn(text, "+:"),
		 text);
	raw->info = raw_find(provider);
	pair_do(fi_fabric(raw->info->fabric_attr, &raw->fabric, NULL));
	pair_do(fi_domain(raw->fabric, raw->info, &raw->domain, NULL));
	pair_do(fi_cq_open(raw->domain, &cq, &raw->cq, NULL));
	pair_do(fi_av_open(raw->domain, &av, &raw->av, NULL));
	pair_do(fi_endpoint(raw->domain, raw->info, &raw->ep, NULL));
	pair_do(fi_ep_bind(raw->ep, &raw->cq->fid, FI_TRANSMIT | FI_RECV));
	pair_do(fi_ep_bind(raw->ep, &raw->av->fid, 0));
	pair_do(fi_enable(raw->ep));
	raw_insert(raw, pair);
}

static void raw_close(struct raw *raw)
{
	pair_do(fi_close(&raw->ep->fid));
	pair_do(fi_close(&raw->av->fid));
	pair_do(fi_close(&raw->cq->fid));
	/* Not with a message that was too large to be taken. */
	if (fi_close(&raw->domain->fid) == 0)
		pair_do(fi_close(&raw->fabric->fid));
	fi_freeinfo(raw->info);
}

static void raw_progress(struct pair *pair, struct raw *raw)
{
	struct fi_cq_err_entry failure = { 0 };
	struct fi_cq_tagged_entry entry;

	if (fi_cq_read(raw->cq, &entry, 1) == -FI_EAVAIL)
		fi_cq_readerr(raw->cq, &failure, 0);
	pair_progress(pair);
}

static void raw_send(struct pair *pair, struct raw *raw, const void *bytes,
		     size_t size)
{
	static struct fi_context2 context;

	while (fi_send(raw->ep, bytes, size, NULL, raw->to, &context) ==
	       -FI_EAGAIN)
		raw_progress(pair, raw);
	raw_progress(pair, raw);
}

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

	for (unsigned int i = 0; i < LIES && has_several; i++) {
		struct frame frame = { .kind = FRAME_RAILS };
		liars[i] = (struct liar){ any() >> 1, 0 };
		pair_do(link_address_decode(pair->peer_name, &address, NULL));
		address.number = frame.sender = liars[i].number;
		address.node = any();
		if (i % 2 == 1)
			address.rail_count = address.told_count = 1;
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
static void lie_of(struct frame *frame)
{
	struct liar *liar = &liars[any() % LIES];

	frame->sender = any() % 8 == 0 ? any() : liar->number;
	if (frame_is_counted(frame->kind) && any() % 4 != 0)
		frame->sequence = ++liar->sequence;
}

/* Messages have a tag that nobody receives; others speak as the true peer. */
static size_t frame_any(const struct pair *pair, uint8_t *bytes)
{
	struct link_address us;
	struct frame frame = { .kind = (enum frame_kind)(1 + any() % 15),
			       .flags = (unsigned int)(any() % 2 * any() % 4),
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
	if (has_several)
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
	size_t size = frame_any(pair, bytes);

	if (any() % 4 == 0)
		size = any() % (size + 1);
	/* Not what makes it a message that somebody receives. */
	if (any() % 4 == 0 && size > 0)
		bytes[1 + any() % 7 % size] ^= (uint8_t)(1 << any() % 8);
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
		struct frame frame = { .kind = FRAME_READY,
				       .sequence = 1,
				       .sender = has_several ? liars[i].number
							     : any(),
				       .tag = 70,
				       .size = 1 + number() % (1 << 20),
				       .rail_count = 1 };
		if (has_several)
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
	struct frame frame = { .kind = FRAME_EAGER,
			       .sequence = 2,
			       .sender = has_several ? liars[LIES - 1].number
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
	while (poll(&other, 1, 0) == 0)
		raw_progress(pair, &raw);
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
			raw_send(pair, &raw, out, 5000 * i);
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

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE,
	};
	static const struct pair_case cases[] = {
		pair_case(messages_arrive_while_others_lie),
		pair_case(what_is_not_there_to_be_read_is_a_failed_receive),
		pair_case(what_is_too_large_is_left_out),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
