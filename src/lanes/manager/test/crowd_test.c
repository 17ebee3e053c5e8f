/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that only connects keeps no node out, and costs none its slot. */
#include "bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#define NODES_MAX 4

/* An engine for so many connections of nodes. */
static struct bed *narrow(void **state)
{
	struct bed *bed = *state;

	bed_crash(bed);
	bed->sessions_max = NODES_MAX;
	bed_start(bed, BED_EPOCH + 1, false);
	return bed;
}

static uint64_t silent_peer(struct bed *bed)
{
	engine_node_opened(bed->engine, ++bed->peer_last, "10.9.9.9:1");
	return bed->peer_last;
}

static bool is_refused(struct bed *bed, uint64_t peer, const char *words)
{
	for (size_t i = 0; i < bed->nodes.frame_count; i++) {
		const struct bed_frame *sent = &bed->nodes.frames[i];
		struct refuse refuse;
		struct frame frame;

		if (sent->peer == peer &&
		    frame_parse(sent->bytes, sent->size, &frame) == 0 &&
		    frame.type == FRAME_REFUSE &&
		    refuse_decode(frame.payload, frame.size, &refuse) == 0)
			return strstr(refuse.text, words) != NULL;
	}
	return false;
}

static void silent_peers_make_way_for_a_node(void **state)
{
	struct bed *bed = narrow(state);
	uint64_t peers[NODES_MAX];
	struct bed_node node;

	for (size_t i = 0; i < NODES_MAX; i++)
		peers[i] = silent_peer(bed);
	bed_node_up(bed, "n0", &node);
	assert_true(bed_was_closed(&bed->nodes, peers[0]));
	assert_true(is_refused(bed, peers[0], "while others waited"));
	for (size_t i = 1; i < NODES_MAX; i++)
		assert_false(bed_was_closed(&bed->nodes, peers[i]));
}

static void silent_peers_take_slots_of_silent_peers_only(void **state)
{
	struct bed *bed = narrow(state);
	struct bed_node nodes[NODES_MAX - 1];
	static const char *const names[] = { "n0", "n1", "n2" };
	uint64_t last;

	for (size_t i = 0; i < NODES_MAX - 1; i++)
		bed_node_up(bed, names[i], &nodes[i]);
	last = silent_peer(bed);
	for (size_t i = 0; i < 100; i++) {
		uint64_t next = silent_peer(bed);

		assert_true(bed_was_closed(&bed->nodes, last));
		assert_false(bed_was_closed(&bed->nodes, next));
		/* Every other one takes its time to be gone. */
		if (i % 2 == 0)
			engine_node_closed(bed->engine, last);
		last = next;
	}
	for (size_t i = 0; i < NODES_MAX - 1; i++)
		assert_false(bed_was_closed(&bed->nodes, nodes[i].peer));
	assert_true(bed->warning_count < 30);
}

static void one_too_many_is_closed_when_all_are_nodes(void **state)
{
	struct bed *bed = narrow(state);
	struct bed_node nodes[NODES_MAX];
	static const char *const names[] = { "n0", "n1", "n2", "n3" };
	uint64_t late;

	for (size_t i = 0; i < NODES_MAX; i++)
		bed_node_up(bed, names[i], &nodes[i]);
	bed->warning_count = 0;
	late = silent_peer(bed);
	assert_true(bed_was_closed(&bed->nodes, late));
	assert_int_equal(bed->warning_count, 1);
	silent_peer(bed);
	assert_int_equal(bed->warning_count, 1);
	for (size_t i = 0; i < NODES_MAX; i++)
		assert_false(bed_was_closed(&bed->nodes, nodes[i].peer));
	/* One that leaves leaves its place. */
	engine_node_closed(bed->engine, nodes[0].peer);
	late = silent_peer(bed);
	assert_false(bed_was_closed(&bed->nodes, late));
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, bed_set_up, bed_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(silent_peers_make_way_for_a_node),
		TEST(silent_peers_take_slots_of_silent_peers_only),
		TEST(one_too_many_is_closed_when_all_are_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
