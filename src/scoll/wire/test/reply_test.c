/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "golden.h"

static const char payload[] = "what came of it";

#define PAYLOAD_SIZE (sizeof(payload) - 1)
#define WHOLE        (WIRE_REPLY_HEAD + PAYLOAD_SIZE)

static const struct wire_failure failures[] = {
	{ .rank = 3,
	  .status = -EHOSTDOWN,
	  .type = SCOLL_ERROR_PEER_DEAD,
	  .is_subtree = true },
	{ .rank = 900000,
	  .status = -ETIMEDOUT,
	  .type = SCOLL_ERROR_TIMEOUT,
	  .is_reached = true },
};

static struct wire_reply reply_sample(void)
{
	return (struct wire_reply){
		.flags = WIRE_REPLY_LAST | WIRE_REPLY_MORE,
		.tag = SAMPLE_TAG,
		.sender = SAMPLE_CHILD,
		.part = 4,
		.failure_total = 5,
		.failure_count = 2,
		.failures = { failures[0], failures[1] },
	};
}

static struct wire_report report_sample(void)
{
	return (struct wire_report){
		.tag = SAMPLE_TAG,
		.sender = SAMPLE_CHILD,
		.number = 1,
		.is_last = true,
		.failure_count = 2,
	};
}

static void assert_failure(const struct wire_failure *got,
			   const struct wire_failure *sent)
{
	assert_int_equal(got->rank, sent->rank);
	assert_int_equal(got->status, sent->status);
	assert_int_equal(got->type, sent->type);
	assert_int_equal(got->is_subtree, sent->is_subtree);
	assert_int_equal(got->is_reached, sent->is_reached);
}

/* Of what was for an earlier start. */
static struct wire_reply refusal_sample(void)
{
	return (struct wire_reply){
		.flags = WIRE_REPLY_LAST | WIRE_REPLY_START,
		.tag = SAMPLE_TAG,
		.sender = SAMPLE_CHILD,
		.status = -ESTALE,
		.type = SCOLL_ERROR_PEER_REBOOT,
		.start = 0x3132333435363738,
	};
}

static void reply_and_report_are_their_golden_bytes(void **state)
{
	struct wire_reply reply = reply_sample();
	struct wire_report report = report_sample();
	uint8_t bytes[WIRE_REPORT_MAX];
	struct sample_node child;

	sample_node_init(&child, SAMPLE_CHILD, SCOLL_SEAL_MAX);
	assert_int_equal(wire_reply_encode(&reply, payload, PAYLOAD_SIZE,
					   SAMPLE_PARENT, &child.auth, bytes),
			 0);
	memcpy(bytes + WIRE_REPLY_HEAD, payload, PAYLOAD_SIZE);
	assert_golden(golden_reply, bytes, WHOLE);
	reply = refusal_sample();
	assert_int_equal(wire_reply_encode(&reply, NULL, 0, SAMPLE_PARENT,
					   &child.auth, bytes),
			 0);
	assert_golden(golden_refusal, bytes, WIRE_REPLY_HEAD);
	assert_golden(golden_report, bytes,
		      (size_t)wire_report_encode(&report, failures,
						 SAMPLE_PARENT, &child.auth,
						 bytes));
}

static void reply_comes_back_as_it_was(void **state)
{
	for (size_t seal_size = 0; seal_size <= SCOLL_SEAL_MAX;
	     seal_size += 32) {
		struct wire_reply sent = reply_sample(), got;
		struct sample_node child, parent;
		uint8_t head[WIRE_REPLY_HEAD];
		bool is_sealed = seal_size > 0;

		sample_node_init(&child, SAMPLE_CHILD, seal_size);
		sample_node_init(&parent, SAMPLE_PARENT, seal_size);
		assert_int_equal(
			wire_reply_encode(&sent, payload, PAYLOAD_SIZE,
					  SAMPLE_PARENT,
					  is_sealed ? &child.auth : NULL, head),
			0);
		assert_int_equal(
			wire_reply_open(head, payload, WHOLE, SAMPLE_CHILD,
					SAMPLE_TAG,
					is_sealed ? &parent.auth : NULL, &got),
			WIRE_OK);
		assert_int_equal(got.flags, sent.flags);
		assert_int_equal(got.tag, sent.tag);
		assert_int_equal(got.sender, sent.sender);
		assert_int_equal(got.status, 0);
		assert_int_equal(got.type, SCOLL_ERROR_NONE);
		assert_int_equal(got.part, 4);
		assert_int_equal(got.failure_total, 5);
		assert_int_equal(got.failure_count, 2);
		assert_failure(&got.failures[0], &failures[0]);
		assert_failure(&got.failures[1], &failures[1]);
	}
}

static void error_reply_comes_back_as_it_was(void **state)
{
	struct wire_reply got, sent = {
		.flags = WIRE_REPLY_LAST,
		.tag = SAMPLE_TAG,
		.sender = SAMPLE_CHILD,
		.status = -ESHUTDOWN,
		.type = SCOLL_ERROR_NO_GROUP,
	};
	uint8_t head[WIRE_REPLY_HEAD];

	assert_int_equal(wire_reply_encode(&sent, NULL, 0, SAMPLE_PARENT, NULL,
					   head),
			 0);
	assert_int_equal(wire_reply_open(head, NULL, WIRE_REPLY_HEAD,
					 SAMPLE_CHILD, SAMPLE_TAG, NULL, &got),
			 WIRE_OK);
	assert_int_equal(got.status, -ESHUTDOWN);
	assert_int_equal(got.type, SCOLL_ERROR_NO_GROUP);
	/* With an error there is no data. */
	assert_int_equal(wire_reply_encode(&sent, payload, 1, SAMPLE_PARENT,
					   NULL, head),
			 -EINVAL);
}

static void start_is_said_in_a_refusal_only(void **state)
{
	struct wire_reply got, sent = refusal_sample();
	uint8_t head[WIRE_REPLY_HEAD];

	assert_int_equal(wire_reply_encode(&sent, NULL, 0, SAMPLE_PARENT, NULL,
					   head),
			 0);
	assert_int_equal(wire_reply_open(head, NULL, WIRE_REPLY_HEAD,
					 SAMPLE_CHILD, SAMPLE_TAG, NULL, &got),
			 WIRE_OK);
	assert_int_equal(got.flags, sent.flags);
	assert_int_equal(got.start, sent.start);
	/* Without the flag the place is not empty. */
	head[4] &= (uint8_t)~WIRE_REPLY_START;
	assert_int_equal(wire_reply_open(head, NULL, WIRE_REPLY_HEAD,
					 SAMPLE_CHILD, SAMPLE_TAG, NULL, &got),
			 WIRE_FIELD);
	for (int i = 0; i < 5; i++) {
		sent = refusal_sample();
		switch (i) {
		case 0:
			sent.start = 0;
			break;
		case 1:
			sent.status = 0;
			sent.type = SCOLL_ERROR_NONE;
			break;
		case 2:
			sent.part = 1;
			break;
		case 3:
			sent.failure_total = sent.failure_count = 1;
			sent.failures[0] = failures[0];
			break;
		default:
			sent.flags = WIRE_REPLY_START;
			break;
		}
		assert_int_equal(wire_reply_encode(&sent, NULL, 0,
						   SAMPLE_PARENT, NULL, head),
				 -EINVAL);
	}
}

static void head_has_room_for_17_failures_beside_a_long_seal(void **state)
{
	struct wire_reply sent = { .flags = WIRE_REPLY_LAST }, got;
	struct sample_node child, parent;
	uint8_t head[WIRE_REPLY_HEAD];

	sample_node_init(&child, SAMPLE_CHILD, SCOLL_SEAL_MAX);
	sample_node_init(&parent, SAMPLE_PARENT, SCOLL_SEAL_MAX);
	assert_int_equal(wire_reply_capacity(&child.auth), 17);
	assert_int_equal(wire_reply_capacity(NULL), WIRE_REPLY_FAILURES_MAX);
	sent.sender = SAMPLE_CHILD;
	for (uint32_t i = 0; i < WIRE_REPLY_FAILURES_MAX; i++)
		sent.failures[i] =
			(struct wire_failure){ i, -EIO, SCOLL_ERROR_BULK, false,
					       false };
	sent.failure_count = 17;
	sent.failure_total = 17;
	assert_int_equal(wire_reply_encode(&sent, NULL, 0, SAMPLE_PARENT,
					   &child.auth, head),
			 0);
	assert_int_equal(wire_reply_open(head, NULL, WIRE_REPLY_HEAD,
					 SAMPLE_CHILD, 0, &parent.auth, &got),
			 WIRE_OK);
	assert_int_equal(got.failure_count, 17);
	assert_failure(&got.failures[16], &sent.failures[16]);
	sent.failure_count = 18;
	sent.failure_total = 18;
	assert_int_equal(wire_reply_encode(&sent, NULL, 0, SAMPLE_PARENT,
					   &child.auth, head),
			 -EINVAL);
}

static void reply_is_rejected_at_every_shorter_length(void **state)
{
	struct wire_reply reply = reply_sample(), got;
	uint8_t head[WIRE_REPLY_HEAD];

	wire_reply_encode(&reply, payload, PAYLOAD_SIZE, SAMPLE_PARENT, NULL,
			  head);
	for (size_t cut = 0; cut < WHOLE; cut++)
		assert_int_equal(
			wire_reply_open(head, payload, cut, SAMPLE_CHILD,
					SAMPLE_TAG, NULL, &got),
			cut < WIRE_REPLY_HEAD ? WIRE_SHORT : WIRE_LENGTH);
	assert_int_equal(wire_reply_open(head, payload, WHOLE + 1, SAMPLE_CHILD,
					 SAMPLE_TAG, NULL, &got),
			 WIRE_LENGTH);
}

static void reply_is_rejected_with_every_changed_bit(void **state)
{
	struct wire_reply reply = reply_sample(), got;
	struct sample_node child, parent;
	uint8_t head[WIRE_REPLY_HEAD];
	char copy[PAYLOAD_SIZE];

	sample_node_init(&child, SAMPLE_CHILD, 32);
	sample_node_init(&parent, SAMPLE_PARENT, 32);
	wire_reply_encode(&reply, payload, PAYLOAD_SIZE, SAMPLE_PARENT,
			  &child.auth, head);
	for (size_t bit = 32; bit < 8 * sizeof(head); bit++) {
		enum wire_result result;

		head[bit / 8] ^= (uint8_t)(1u << bit % 8);
		result = wire_reply_open(head, payload, WHOLE, SAMPLE_CHILD,
					 SAMPLE_TAG, &parent.auth, &got);
		assert_int_equal(result,
				 bit / 32 == 8 ? WIRE_LENGTH : WIRE_SEAL);
		head[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	memcpy(copy, payload, sizeof(copy));
	copy[3] ^= 1;
	assert_int_equal(wire_reply_open(head, copy, WHOLE, SAMPLE_CHILD,
					 SAMPLE_TAG, &parent.auth, &got),
			 WIRE_DIGEST);
}

static void reply_is_of_the_child_and_request_that_were_expected(void **state)
{
	struct wire_reply reply = reply_sample(), got;
	struct sample_node child, parent;
	uint8_t head[WIRE_REPLY_HEAD];

	sample_node_init(&child, SAMPLE_CHILD, 32);
	sample_node_init(&parent, SAMPLE_PARENT, 32);
	wire_reply_encode(&reply, payload, PAYLOAD_SIZE, SAMPLE_PARENT,
			  &child.auth, head);
	assert_int_equal(wire_reply_open(head, payload, WHOLE, SAMPLE_CREATOR,
					 SAMPLE_TAG, &parent.auth, &got),
			 WIRE_SEAL);
	assert_int_equal(wire_reply_open(head, payload, WHOLE, SAMPLE_CHILD,
					 SAMPLE_TAG + 4096, &parent.auth, &got),
			 WIRE_FIELD);
	/* Sealed by the child as if it were another one. */
	reply.sender = SAMPLE_CREATOR;
	wire_reply_encode(&reply, payload, PAYLOAD_SIZE, SAMPLE_PARENT,
			  &child.auth, head);
	assert_int_equal(wire_reply_open(head, payload, WHOLE, SAMPLE_CHILD,
					 SAMPLE_TAG, &parent.auth, &got),
			 WIRE_FIELD);
}

static enum wire_result open_reply(const uint8_t *head, size_t size)
{
	struct wire_reply reply;

	return wire_reply_open(head, payload, WHOLE, SAMPLE_CHILD, SAMPLE_TAG,
			       NULL, &reply);
}

static void reply_has_fields_in_range(void **state)
{
	static const struct change changes[] = {
		{ 0, 1, 0, WIRE_MAGIC },
		{ 2, 1, 9, WIRE_VERSION },
		{ 3, 1, WIRE_REPORT, WIRE_KIND },
		{ 3, 1, WIRE_BCAST, WIRE_KIND },
		{ 4, 2, 7, WIRE_FIELD },  /* a flag that there is not */
		{ 4, 2, 0, WIRE_FIELD },  /* failures before the last part */
		{ 4, 2, 2, WIRE_FIELD },  /* more, but not the last part */
		{ 4, 2, 1, WIRE_FIELD },  /* more in all than here */
		{ 6, 2, 26, WIRE_FIELD }, /* failures here */
		{ 6, 2, 0xffff, WIRE_FIELD },
		{ 6, 2, 1, WIRE_FIELD },           /* the rest is not zero */
		{ 6, 2, 3, WIRE_FIELD },           /* the third is all zero */
		{ 24, 4, 1, WIRE_FIELD },          /* status */
		{ 24, 4, 0xffffff00, WIRE_FIELD }, /* without a type */
		{ 28, 1, SCOLL_ERROR_BULK, WIRE_FIELD }, /* without a status */
		{ 28, 1, SCOLL_ERROR_COUNT, WIRE_FIELD },
		{ 29, 1, 1, WIRE_FIELD },
		{ 30, 2, SCOLL_REPLY_PARTS_MAX, WIRE_FIELD },
		{ 32, 4, 14, WIRE_LENGTH },
		{ 36, 1, 0xff, WIRE_DIGEST },
		{ 52, 4, 1, WIRE_FIELD }, /* fewer in all than here */
		{ 52, 4, SCOLL_NODES_MAX + 2, WIRE_FIELD },
		{ 56, 4, SCOLL_NODES_MAX + 1, WIRE_FIELD }, /* rank */
		{ 60, 2, 0, WIRE_FIELD },                   /* its status */
		{ 60, 2, 5, WIRE_FIELD },
		{ 60, 2, 0x8000, WIRE_FIELD },
		{ 62, 1, 0, WIRE_FIELD }, /* its type */
		{ 62, 1, SCOLL_ERROR_COUNT, WIRE_FIELD },
		{ 63, 1, 3, WIRE_FIELD }, /* its flags */
		{ 63, 1, 4, WIRE_FIELD },
		{ 255, 1, 1, WIRE_FIELD },
	};
	struct wire_reply reply = reply_sample();
	uint8_t head[WIRE_REPLY_HEAD];

	wire_reply_encode(&reply, payload, PAYLOAD_SIZE, SAMPLE_PARENT, NULL,
			  head);
	assert_changes(head, sizeof(head), changes,
		       sizeof(changes) / sizeof(changes[0]), open_reply);
}

static void reply_T08_has_parts_of_at_most_1_mib(void **state)
{
	struct wire_reply got, reply = { .sender = SAMPLE_CHILD };
	uint8_t *part = calloc(1, SCOLL_REPLY_PART_MAX + 1);
	uint8_t head[WIRE_REPLY_HEAD];

	assert_int_equal(wire_reply_encode(&reply, part, SCOLL_REPLY_PART_MAX,
					   SAMPLE_PARENT, NULL, head),
			 0);
	assert_int_equal(wire_reply_open(head, part,
					 WIRE_REPLY_HEAD + SCOLL_REPLY_PART_MAX,
					 SAMPLE_CHILD, 0, NULL, &got),
			 WIRE_OK);
	assert_int_equal(wire_reply_encode(&reply, part,
					   SCOLL_REPLY_PART_MAX + 1,
					   SAMPLE_PARENT, NULL, head),
			 -EMSGSIZE);
	head[34]++; /* its length, as if there were more */
	assert_int_equal(
		wire_reply_open(head, part,
				WIRE_REPLY_HEAD + SCOLL_REPLY_PART_MAX + 65536,
				SAMPLE_CHILD, 0, NULL, &got),
		WIRE_LENGTH);
	free(part);
}

/* --- reports --- */

static enum wire_result report_open(const uint8_t *bytes, size_t size,
				    struct sample_node *node)
{
	struct wire_report report;
	uint8_t *copy = malloc(size > 0 ? size : 1);
	enum wire_result result;

	memcpy(copy, bytes, size);
	result = wire_report_open(copy, size, SAMPLE_CHILD, SAMPLE_TAG,
				  node != NULL ? &node->auth : NULL, &report);
	free(copy);
	return result;
}

static void report_of_500_fills_a_message(void **state)
{
	struct wire_failure many[WIRE_REPORT_FAILURES_MAX], got;
	struct sample_node child, parent;
	struct wire_report report = {
		.tag = SAMPLE_TAG,
		.sender = SAMPLE_CHILD,
		.number = WIRE_REPORTS_MAX - 1,
		.failure_count = WIRE_REPORT_FAILURES_MAX,
	};
	uint8_t bytes[WIRE_REPORT_MAX];

	sample_node_init(&child, SAMPLE_CHILD, SCOLL_SEAL_MAX);
	sample_node_init(&parent, SAMPLE_PARENT, SCOLL_SEAL_MAX);
	for (uint32_t i = 0; i < WIRE_REPORT_FAILURES_MAX; i++)
		many[i] = (struct wire_failure){ i, (int16_t) - (i + 1),
						 SCOLL_ERROR_REQUEST, i % 2,
						 false };
	assert_int_equal(wire_report_encode(&report, many, SAMPLE_PARENT,
					    &child.auth, bytes),
			 WIRE_REPORT_MAX);
	assert_int_equal(wire_report_open(bytes, sizeof(bytes), SAMPLE_CHILD,
					  SAMPLE_TAG, &parent.auth, &report),
			 WIRE_OK);
	assert_false(report.is_last);
	assert_int_equal(report.number, WIRE_REPORTS_MAX - 1);
	assert_int_equal(report.failure_count, WIRE_REPORT_FAILURES_MAX);
	for (unsigned int i = 0; i < WIRE_REPORT_FAILURES_MAX; i++) {
		wire_failure_at(&report, i, &got);
		assert_failure(&got, &many[i]);
	}
	/* All nodes of the largest group can be named. */
	assert_true(WIRE_REPORTS_MAX * WIRE_REPORT_FAILURES_MAX >
		    SCOLL_NODES_MAX);
	assert_int_equal(WIRE_TAG_REPORT + WIRE_REPORTS_MAX,
			 WIRE_TAG_PART_MASK + 1);
	assert_int_equal(WIRE_TAG_REPORT, SCOLL_REPLY_PARTS_MAX);
}

static void report_is_rejected_when_cut_or_changed(void **state)
{
	struct wire_report report = report_sample();
	struct sample_node child, parent;
	uint8_t bytes[WIRE_REPORT_MAX];
	size_t size;

	sample_node_init(&child, SAMPLE_CHILD, 32);
	sample_node_init(&parent, SAMPLE_PARENT, 32);
	size = (size_t)wire_report_encode(&report, failures, SAMPLE_PARENT,
					  &child.auth, bytes);
	assert_int_equal(report_open(bytes, size, &parent), WIRE_OK);
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(report_open(bytes, cut, &parent),
				 cut < 64 ? WIRE_SHORT : WIRE_LENGTH);
	assert_int_equal(report_open(bytes, size + 1, &parent), WIRE_LENGTH);
	for (size_t bit = 32; bit < 8 * size; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(report_open(bytes, size, &parent),
				 bit / 16 == 3 ? WIRE_LENGTH : WIRE_SEAL);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

static enum wire_result open_report(const uint8_t *bytes, size_t size)
{
	return report_open(bytes, size, NULL);
}

static void report_has_fields_in_range(void **state)
{
	static const struct change changes[] = {
		{ 0, 1, 0, WIRE_MAGIC },
		{ 2, 1, 0, WIRE_VERSION },
		{ 3, 1, WIRE_REPLY, WIRE_KIND },
		{ 4, 2, 2, WIRE_FIELD },
		{ 6, 2, 0xffff, WIRE_LENGTH },
		{ 8, 8, 1, WIRE_FIELD },
		{ 8, 8, 0, WIRE_FIELD },
		{ 16, 8, 1, WIRE_FIELD },
		{ 24, 2, WIRE_REPORTS_MAX, WIRE_FIELD },
		{ 26, 1, 1, WIRE_FIELD },
		{ 31, 1, 1, WIRE_FIELD },
		{ 47, 1, 8, WIRE_FIELD }, /* flags of the second failure */
	};
	struct wire_report report = report_sample();
	uint8_t bytes[WIRE_REPORT_MAX];
	size_t size = (size_t)wire_report_encode(&report, failures,
						 SAMPLE_PARENT, NULL, bytes);

	assert_changes(bytes, size, changes,
		       sizeof(changes) / sizeof(changes[0]), open_report);
	memset(bytes + 6, 0, 2); /* an empty one */
	assert_int_equal(report_open(bytes, 32, NULL), WIRE_FIELD);
	report.failure_count = 0;
	assert_int_equal(wire_report_encode(&report, failures, SAMPLE_PARENT,
					    NULL, bytes),
			 -EINVAL);
	report.failure_count = WIRE_REPORT_FAILURES_MAX + 1;
	assert_int_equal(wire_report_encode(&report, failures, SAMPLE_PARENT,
					    NULL, bytes),
			 -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reply_and_report_are_their_golden_bytes),
		cmocka_unit_test(reply_comes_back_as_it_was),
		cmocka_unit_test(error_reply_comes_back_as_it_was),
		cmocka_unit_test(start_is_said_in_a_refusal_only),
		cmocka_unit_test(
			head_has_room_for_17_failures_beside_a_long_seal),
		cmocka_unit_test(reply_is_rejected_at_every_shorter_length),
		cmocka_unit_test(reply_is_rejected_with_every_changed_bit),
		cmocka_unit_test(
			reply_is_of_the_child_and_request_that_were_expected),
		cmocka_unit_test(reply_has_fields_in_range),
		cmocka_unit_test(reply_T08_has_parts_of_at_most_1_mib),
		cmocka_unit_test(report_of_500_fills_a_message),
		cmocka_unit_test(report_is_rejected_when_cut_or_changed),
		cmocka_unit_test(report_has_fields_in_range),
	};

	return sodium_init() < 0 ||
	       cmocka_run_group_tests_name("scoll_wire_reply", tests, NULL,
					   NULL);
}
