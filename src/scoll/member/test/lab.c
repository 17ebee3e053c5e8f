/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab.h"

#include <assert.h>
#include <string.h>

#include "scoll/member/age.h"

static int on_send(void *ctx, uint64_t nid, const void *bytes, size_t size)
{
	struct lab *lab = ctx;

	assert(size <= GOSSIP_MESSAGE_SIZE_MAX);
	if (lab->sent_count < LAB_SENT_MAX) {
		struct lab_sent *sent = &lab->sent[lab->sent_count];

		sent->nid = nid;
		sent->size = size;
		memcpy(sent->bytes, bytes, size);
	}
	lab->sent_count++;
	return lab->send_result;
}

void lab_init(struct lab *lab, size_t node_count)
{
	lab_init_at(lab, node_count, 0);
}

void lab_init_at(struct lab *lab, size_t node_count, uint64_t cycle)
{
	static const struct gossip_ops ops = { .send = on_send };
	struct gossip_options options = {
		.nid = lab_nid(0),
		.boot_nonce = LAB_NONCE,
		.cycle_ns = LAB_CYCLE_NS,
		.first_cycle = cycle,
		.ops = &ops,
		.ctx = lab,
	};
	uint32_t index;
	int result;

	memset(lab, 0, sizeof(*lab));
	lab->now_ns = 123456789;
	lab->bounds = gossip_bounds_of(node_count);
	sim_rng_init(&lab->rng, 7);
	result = roster_create(NULL, 0, &lab->roster);
	assert(result == 0);
	for (uint32_t i = 0; i < node_count; i++) {
		result = roster_add(lab->roster, lab_nid(i), &index);
		assert(result == 0 && index == i);
	}
	options.roster = lab->roster;
	options.rng = sim_rng_seam(&lab->rng);
	result = gossip_create(&options, lab->now_ns, &lab->gossip);
	assert(result == 0);
	lab->discovery = gossip_discovery(lab->gossip);
}

void lab_fini(struct lab *lab)
{
	gossip_destroy(lab->gossip);
	roster_destroy(lab->roster);
}

void lab_pass(struct lab *lab, unsigned int cycles)
{
	uint64_t end_ns = lab->now_ns + cycles * LAB_CYCLE_NS;
	uint64_t due_ns;

	while ((due_ns = gossip_deadline_ns(lab->gossip)) <= end_ns) {
		lab->now_ns = due_ns;
		gossip_run(lab->gossip, due_ns);
	}
	lab->now_ns = end_ns;
}

void lab_surface(struct lab *lab)
{
	while (discovery_is_stealthy(lab->discovery))
		lab_pass(lab, 1);
}

void lab_message(struct lab *lab, uint32_t index, uint64_t cycle)
{
	memset(lab->signs, AGE_UNKNOWN, sizeof(lab->signs));
	lab->message = (struct member_message){
		.nid = lab_nid(index),
		.boot_nonce = 1000 + index,
		.cycle = cycle,
		.asker_nonce = LAB_NONCE,
		.count = (uint32_t)roster_count(lab->roster),
		.signs = lab->signs,
	};
	roster_digest(lab->roster, lab->message.roster_digest);
	lab_say(lab, index, 0);
}

void lab_say(struct lab *lab, uint32_t index, unsigned int age)
{
	lab->signs[index] = (uint8_t)(2 * age + 1);
}

int lab_receive(struct lab *lab)
{
	struct writer writer = { 0 };
	int result;

	if (lab->message.is_request || lab->message.is_leave)
		lab->message.asker_nonce = 0;
	result = message_encode(&lab->message, &writer);
	assert(result == 0);
	result = gossip_receive(lab->gossip, lab->now_ns, writer.data,
				writer.size);
	writer_fini(&writer);
	return result;
}

int lab_hear(struct lab *lab, uint32_t index, uint64_t cycle)
{
	lab_message(lab, index, cycle);
	return lab_receive(lab);
}

bool lab_is_alive(struct lab *lab, uint32_t index)
{
	return discovery_is_alive(lab->discovery, lab_nid(index));
}

uint32_t lab_counter(struct lab *lab, uint32_t index)
{
	return discovery_counter(lab->discovery, lab_nid(index));
}
