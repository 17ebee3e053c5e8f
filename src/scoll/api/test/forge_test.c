/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forged messages, byte by byte: one of each kind, well formed but for the
 * seal, from a process of the user nobody that has not got the key. A member
 * refuses each of them and is as it was. The provider is the argument.
 */
#include "scoll.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "scoll/api/test/crowd.h"
#include "base/bytes.h"
#include "scoll/member/age.h"
#include "scoll/member/message.h"
#include "scoll/transport/ofi/ofi.h"
#include "scoll/transport/test/child.h"
#include "scoll/wire/wire.h"
#include "sys/clock.h"
#include "sys/rng.h"
#include "sys/test/watchdog.h"

#define NOBODY 65534
#define VICTIM 1 /* NID, to the forger */
#define GOSSIP 0 /* a kind of ours: a message of gossip */

/* --- the forger: "KIND NID-OF-VICTIM TAG NONCE" sends one message --- */

static void seal(void *ctx, scoll_nid_t to, const void *bytes, size_t count,
		 uint8_t *ret_seal)
{
	memset(ret_seal, 0x5a, 16);
}

static int verify(void *ctx, scoll_nid_t from, const void *bytes, size_t count,
		  const uint8_t *bytes_seal)
{
	return 0;
}

static const struct scoll_authenticator forger = {
	.size = sizeof(forger),
	.seal_size = 16,
	.seal = seal,
	.verify = verify,
};

struct sending {
	struct transfer transfer; /* first */
	bool is_done;
	int result;
};

static void received(void *ctx, uint64_t now_ns, const void *bytes, size_t size)
{
}

static void done(void *ctx, uint64_t now_ns, struct transfer *transfer,
		 int result, size_t size)
{
	struct sending *sending = (struct sending *)(void *)transfer;

	sending->is_done = true;
	sending->result = result;
}

/* As node 1 would, were it alive. */
static size_t gossip_message(scoll_nid_t to, uint8_t bytes[SCOLL_BCAST_MAX])
{
	const scoll_nid_t nids[] = { crowd_nid(0), crowd_nid(1) };
	uint8_t signs[64] = { AGE_SELF, AGE_SELF };
	struct member_message message = { .nid = crowd_nid(1),
					  .boot_nonce = 1,
					  .cycle = 5,
					  .count = 2,
					  .signs = signs };
	struct writer writer = { 0 };
	struct roster *roster;
	size_t size;

	if (roster_create(nids, 2, &roster) < 0)
		return 0;
	roster_digest(roster, message.roster_digest);
	roster_destroy(roster);
	if (message_encode(&message, &writer) < 0)
		return 0;
	size = writer.size;
	memcpy(bytes, writer.data, size);
	writer_fini(&writer);
	seal(NULL, to, bytes, size, bytes + size);
	return size + forger.seal_size;
}

/* Bytes of a message of this kind, that says that it is from node 1. */
static size_t forged(unsigned kind, scoll_nid_t to, uint64_t tag,
		     uint8_t bytes[SCOLL_BCAST_MAX])
{
	struct wire_bcast bcast = {
		.service = CROWD_SERVICE,
		.tree = SCOLL_TREE_FLAT,
		.root = crowd_nid(1),
		.root_nonce = 1,
		.number = 1,
		.sender = crowd_nid(1),
		.tag = UINT64_C(4096),
		.rtt_us = 1000,
		.part_size = 100,
		.part_count = 1,
		.creator = crowd_nid(1),
		.creator_nonce = 1,
	};
	struct wire_child child = { .nid = to,
				    .tag = UINT64_C(4096),
				    .part_size = 100,
				    .part_count = 1 };
	struct wire_notice notice = { .root = to,
				      .root_nonce = 1,
				      .number = 1,
				      .sender = crowd_nid(1),
				      .amount = 1 };
	struct wire_reply reply = { .flags = WIRE_REPLY_LAST,
				    .tag = tag & ~WIRE_TAG_PART_MASK,
				    .sender = crowd_nid(1) };
	struct wire_failure failure = { .rank = 1,
					.status = -EIO,
					.type = SCOLL_ERROR_REQUEST };
	struct wire_report report = { .tag = tag & ~WIRE_TAG_PART_MASK,
				      .sender = crowd_nid(1),
				      .is_last = true,
				      .failure_count = 1 };
	int size = 0;

	switch (kind) {
	case GOSSIP:
		return gossip_message(to, bytes);
	case WIRE_BCAST:
		wire_digest_of(NULL, 0, &bcast.body_digest);
		size = wire_bcast_encode(&bcast, &forger, bytes);
		if (size < 0 || wire_bcast_seal(bytes, (size_t)size, &forger,
						&child, bytes) < 0)
			return 0;
		break;
	case WIRE_ABORT:
		notice.status = -ECANCELED;
		notice.amount = 0;
		size = wire_notice_encode(WIRE_ABORT, &notice, to, &forger,
					  bytes);
		break;
	case WIRE_BULK_READY:
	case WIRE_REPORTS_WANTED:
		size = wire_notice_encode((enum wire_kind)kind, &notice, to,
					  &forger, bytes);
		break;
	case WIRE_REPLY:
		size = wire_reply_encode(&reply, NULL, 0, to, &forger, bytes);
		size = size < 0 ? size : WIRE_REPLY_HEAD;
		break;
	case WIRE_REPORT:
		size = wire_report_encode(&report, &failure, to, &forger,
					  bytes);
		break;
	}
	return size < 0 ? 0 : (size_t)size;
}

/*
 * Over streams a reply comes by the connection of its request: one that comes
 * by another closes that one.
 */
static int reply_raw(const uint8_t *address, size_t address_size, uint64_t tag,
		     const uint8_t *bytes, size_t size)
{
	uint8_t head[16] = { (uint8_t)size, (uint8_t)(size >> 8), 0, 0, 2, 1 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int result = 0;

	memcpy(head + 8, &tag, sizeof(tag));
	if (connect(fd, (const struct sockaddr *)address,
		    (socklen_t)address_size) < 0 ||
	    send(fd, head, sizeof(head), 0) != sizeof(head) ||
	    send(fd, bytes, size, MSG_NOSIGNAL) < 0)
		result = -errno;
	while (result == 0 && recv(fd, head, 1, 0) > 0)
		;
	close(fd);
	return result == -EPIPE || result == -ECONNRESET ? 0 : result;
}

static int forger_main(int argc, char **argv)
{
	static const struct transport_events events = { received, done };
	struct transport_options options = { .node = "127.0.0.1",
					     .rng = sys_rng() };
	uint8_t address[TRANSPORT_ADDRESS_MAX];
	uint8_t bytes[SCOLL_BCAST_MAX];
	size_t address_size;
	struct transport t;
	struct transport_seam seam;
	unsigned kind;
	uint64_t nid, tag;

	if (argc != 4 || strcmp(argv[1], "forger") != 0)
		return -1;
	child_prepare();
	options.provider = argv[2];
	address_size = child_hex_read(argv[3], address, sizeof(address));
	/* Opened first: nobody may not load the plug-in from a home. */
	if (transport_open(&options, &t, NULL) < 0 || setuid(NOBODY) != 0 ||
	    t.kind->peer_set(t.ctx, VICTIM, address, address_size) < 0)
		abort();
	t.kind->listen(t.ctx, &events, NULL);
	seam = transport_seam_of(&t);
	printf("ok %u\n", (unsigned)geteuid());
	while (scanf("%u %" SCNu64 " %" SCNu64, &kind, &nid, &tag) == 3) {
		struct sending sending = { .is_done = false };
		size_t size = forged(kind, nid, tag, bytes);
		struct iovec piece = { bytes, size };
		int result;

		if (size == 0)
			abort();
		if (strcmp(argv[2], "tcp") == 0 &&
		    (kind == WIRE_REPLY || kind == WIRE_REPORT)) {
			printf("ok %d\n", reply_raw(address, address_size, tag,
						    bytes, size));
			continue;
		}
		if (kind == WIRE_REPLY || kind == WIRE_REPORT)
			result = seam.ops->reply_send(seam.ctx, VICTIM, tag,
						      &piece, 1,
						      &sending.transfer);
		else
			result = seam.ops->send(seam.ctx, VICTIM, &piece, 1,
						&sending.transfer);
		while (result == 0 && !sending.is_done) {
			struct pollfd fd = { .fd = t.kind->fd(t.ctx),
					     .events = POLLIN };

			poll(&fd, 1, 1);
			t.kind->progress(t.ctx, sys_monotonic_ns());
		}
		printf("ok %d\n", result < 0 ? result : sending.result);
	}
	transport_close(&t);
	return 0;
}

/* --- the test --- */

static const char *provider = "tcp;ofi_rxm";
static struct person people[2];
static struct child child;
static char answer[CHILD_ANSWER_MAX];

static int setup(void **state)
{
	watchdog_start(NULL);
	return 0;
}

static int teardown(void **state)
{
	child_stop(&child);
	for (int i = 0; i < 2; i++) {
		if (people[i].scoll != NULL)
			person_close(&people[i]);
	}
	watchdog_stop();
	return 0;
}

static const char *hear(void)
{
	struct pollfd fd = { .fd = fileno(child.out), .events = POLLIN };

	while (poll(&fd, 1, 0) == 0) {
		scoll_wait(people[0].scoll, 1000000);
		scoll_progress(people[1].scoll);
	}
	return child_hear(&child, answer);
}

/* It sends to where gossip is, or to where all else is. */
static void start_forger(bool is_gossip)
{
	char hex[2 * TRANSPORT_ADDRESS_MAX + 1] = "";
	const char *argv[] = { "forger", provider, hex, NULL };
	uint8_t bytes[2 * TRANSPORT_ADDRESS_MAX + 2], *address = bytes;
	size_t size = sizeof(bytes);

	assert_int_equal(scoll_address(people[0].scoll, bytes, &size), 0);
	if (is_gossip) { /* the second one */
		address += 2 + bytes[0];
		size -= 2 + bytes[0];
	}
	for (size_t i = 0; i < size; i++)
		snprintf(hex + 2 * i, 3, "%02x", address[i]);
	child_start(&child, argv);
	assert_int_equal(atoi(hear()), NOBODY);
}

static void stats_get(struct scoll_stats *ret_stats)
{
	ret_stats->size = sizeof(*ret_stats);
	scoll_stats(people[0].scoll, ret_stats);
}

static void message_of_each_kind_without_the_key_changes_nothing(void **state)
{
	static const unsigned kinds[] = { WIRE_BCAST, WIRE_BULK_READY,
					  WIRE_ABORT, WIRE_REPORTS_WANTED };
	struct scoll_stats before, after;
	struct outcome outcome;
	scoll_group_t *group;

	if (geteuid() != 0) {
		print_message("only root can become somebody else\n");
		skip();
	}
	for (int i = 0; i < 2; i++)
		person_open(&people[i], i, provider, "127.0.0.1", NULL,
			    SCOLL_DISCOVERY_GIVEN);
	crowd_meet(people, 2);
	start_forger(false);
	group = crowd_group(people, 2, 0, true);
	stats_get(&before);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		child_tell(&child, "%u %" PRIu64 " 0", kinds[i], people[0].nid);
		assert_string_equal(hear(), "0");
		do {
			scoll_wait(people[0].scoll, 1000000);
			stats_get(&after);
		} while (after.messages_refused <
			 before.messages_refused + i + 1);
	}
	assert_int_equal(after.messages_refused, before.messages_refused + 4);
	assert_int_equal(after.groups, before.groups);
	assert_int_equal(after.group_bytes, before.group_bytes);
	assert_int_equal(after.requests, before.requests);
	assert_int_equal(after.requests_active, 0);
	/* Not even an error is sent back. */
	assert_int_equal(after.messages_sent, before.messages_sent);
	assert_int_equal(people[0].request_count, 0);
	assert_int_equal(crowd_send(&people[0], group, "still", 5, NULL, 0, 0,
				    &outcome),
			 0);
	crowd_until(people, 2, &outcome.is_done);
	assert_int_equal(outcome.status, 0);
	scoll_group_destroy(group);
}

/* The tag of a request under way, as one who listens on the wire has it. */
static uint64_t tag_seen;

static void tapped_seal(void *ctx, scoll_nid_t to, const void *bytes,
			size_t count, uint8_t *ret_seal)
{
	const struct scoll_authenticator *auth = ctx;
	const uint8_t *at = bytes;

	if (count >= WIRE_BCAST_BASE && at[3] == WIRE_BCAST) {
		tag_seen = 0;
		for (int i = 7; i >= 0; i--)
			tag_seen = tag_seen << 8 | at[72 + i];
	}
	auth->seal(auth->ctx, to, bytes, count, ret_seal);
}

static int tapped_verify(void *ctx, scoll_nid_t from, const void *bytes,
			 size_t count, const uint8_t *bytes_seal)
{
	const struct scoll_authenticator *auth = ctx;

	return auth->verify(auth->ctx, from, bytes, count, bytes_seal);
}

static void reply_of_either_kind_without_the_key_changes_nothing(void **state)
{
	static const uint8_t key[32] = "thirty-two bytes known to all..";
	struct scoll_authenticator *auth = NULL;
	struct scoll_authenticator tap = { .size = sizeof(tap),
					   .seal = tapped_seal,
					   .verify = tapped_verify };
	struct scoll_stats before, after;
	struct outcome outcome;
	scoll_group_t *group;
	struct tally tally = { .node_count = 1 };

	if (geteuid() != 0) {
		print_message("only root can become somebody else\n");
		skip();
	}
	assert_int_equal(
		scoll_key_authenticator_create(crowd_nid(0), key, &auth), 0);
	tap.seal_size = auth->seal_size;
	tap.ctx = auth;
	person_open_as(&people[0], 0, provider, "127.0.0.1", NULL,
		       SCOLL_DISCOVERY_GIVEN, &tap);
	person_open(&people[1], 1, provider, "127.0.0.1", NULL,
		    SCOLL_DISCOVERY_GIVEN);
	crowd_meet(people, 2);
	start_forger(false);
	group = crowd_group(people, 2, 0, true);
	people[0].timeout = INT64_C(600000000000);
	people[1].is_mute = true;
	assert_int_equal(
		crowd_send(&people[0], group, "x", 1, NULL, 0, 0, &outcome), 0);
	while (people[1].last == NULL) {
		scoll_wait(people[0].scoll, 1000000);
		scoll_progress(people[1].scoll);
	}
	stats_get(&before);
	/* The right tag, and a good guess at that of a report. */
	child_tell(&child, "%u %" PRIu64 " %" PRIu64, WIRE_REPLY, people[0].nid,
		   tag_seen);
	assert_string_equal(hear(), "0");
	do {
		scoll_wait(people[0].scoll, 1000000);
		stats_get(&after);
	} while (after.messages_refused == before.messages_refused);
	child_tell(&child, "%u %" PRIu64 " %" PRIu64, WIRE_REPORT,
		   people[0].nid, tag_seen + WIRE_TAG_REPORT);
	assert_string_equal(hear(), "0");
	/* Again where a buffer is: a report is no reply. */
	child_tell(&child, "%u %" PRIu64 " %" PRIu64, WIRE_REPORT,
		   people[0].nid, tag_seen);
	assert_string_equal(hear(), "0");
	do {
		scoll_wait(people[0].scoll, 1000000);
		stats_get(&after);
	} while (after.messages_refused < before.messages_refused + 2);
	assert_false(outcome.is_done);
	/* And the true one is taken. */
	assert_int_equal(scoll_reply(people[1].last, &tally, sizeof(tally)), 0);
	crowd_until(people, 2, &outcome.is_done);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.failure_count, 0);
	assert_int_equal(outcome.tally.node_count, 2);
	scoll_group_destroy(group);
	child_stop(&child);
	person_close(&people[0]);
	scoll_key_authenticator_destroy(auth);
}

static void gossip_without_the_key_makes_no_node_live(void **state)
{
	struct scoll_stats before, after;

	if (geteuid() != 0) {
		print_message("only root can become somebody else\n");
		skip();
	}
	for (int i = 0; i < 2; i++)
		person_open(&people[i], i, provider, "127.0.0.1", NULL,
			    SCOLL_DISCOVERY_GOSSIP);
	start_forger(true);
	stats_get(&before);
	child_tell(&child, "%u %" PRIu64 " 0", GOSSIP, people[0].nid);
	assert_string_equal(hear(), "0");
	do {
		scoll_wait(people[0].scoll, 1000000);
		stats_get(&after);
	} while (after.messages_refused == before.messages_refused);
	assert_int_equal(scoll_peer_query(people[0].scoll, crowd_nid(1)),
			 SCOLL_DEAD);
	/* The same from the one who has the key is believed. */
	crowd_meet(people, 2);
	while (scoll_peer_query(people[0].scoll, crowd_nid(1)) != SCOLL_ALIVE) {
		scoll_wait(people[0].scoll, 1000000);
		scoll_wait(people[1].scoll, 1000000);
	}
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			message_of_each_kind_without_the_key_changes_nothing,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			reply_of_either_kind_without_the_key_changes_nothing,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			gossip_without_the_key_makes_no_node_live, setup,
			teardown),
	};
	int result = forger_main(argc, argv);

	if (result >= 0)
		return result;
	if (argc > 1)
		provider = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
