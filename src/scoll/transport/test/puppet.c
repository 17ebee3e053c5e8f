/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The other process. It reads a line, does it, and says "ok" and what came of
 * it; while it waits for the next line it goes on as any program would:
 *
 *	peer NID HEX            where somebody is
 *	send NID SENDER COUNT SIZE   messages, all of them ended
 *	reply NID TAG SIZE      the result
 *	post TAG SIZE           wait for a reply (one at a time)
 *	posted                  its result, once it has ended
 *	open SIZE...            pieces for peers: ADDRESS KEY SIZE of each
 *	close                   them
 *	fill                    go on until a read of them fills a connection
 *	leave NID WHAT          close them while NID reads; their memory is then
 *				"gone", or "reused": it holds LEFT_BYTE
 *	count                   messages received, damaged bytes
 *	sleep                   nothing goes on until the next line
 */
#include "scoll/transport/test/node.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/sockios.h>

#define MEMORY_BYTES (64u << 20)
#define FDS_MAX      256
#define REPLY_MAX    (SCOLL_REPLY_PART_MAX + 4096)
#define WINDOW       64

struct stage {
	struct node node;
	struct region region;
	uint8_t *memory;
	uint8_t *reply;
	struct move post;
	bool is_asleep;
};

static void fail(const char *what)
{
	fprintf(stderr, "puppet: %s\n", what);
	abort();
}

static void on_peer(struct stage *stage, char *words)
{
	uint8_t address[TRANSPORT_ADDRESS_MAX];
	char hex[2 * TRANSPORT_ADDRESS_MAX + 1];
	uint64_t nid;

	if (sscanf(words, "%" SCNu64 " %512s", &nid, hex) != 2)
		fail(words);
	node_meet(&stage->node, nid, address,
		  child_hex_read(hex, address, sizeof(address)));
	printf("ok\n");
}

static void on_send(struct stage *stage, char *words)
{
	static struct move moves[WINDOW];
	unsigned sender, count, size, errors = 0;
	int last = 0;
	uint64_t nid;

	if (sscanf(words, "%" SCNu64 " %u %u %u", &nid, &sender, &count,
		   &size) != 4)
		fail(words);
	memset(moves, 0, sizeof(moves));
	for (unsigned i = 0; i < count + WINDOW; i++) {
		struct move *move = &moves[i % WINDOW];

		if (i >= WINDOW && i - WINDOW < count &&
		    node_finish(&stage->node, move) < 0) {
			errors++;
			last = move->result;
		}
		if (i < count &&
		    node_send(&stage->node, nid, sender, size, move) < 0)
			fail("send");
	}
	printf("ok %u %d\n", errors, last);
}

static void on_reply(struct stage *stage, char *words)
{
	struct move move = { .is_done = false };
	struct iovec pieces[2];
	uint64_t nid, tag;
	size_t size;
	int result;

	if (sscanf(words, "%" SCNu64 " %" SCNu64 " %zu", &nid, &tag, &size) !=
	    3)
		fail(words);
	for (size_t i = 0; i < size; i++)
		stage->reply[i] = test_byte(i);
	pieces[0] = (struct iovec){ stage->reply, size / 3 };
	pieces[1] = (struct iovec){ stage->reply + size / 3, size - size / 3 };
	if (stage->node.ops->sent_by != NULL)
		node_until(&stage->node, &stage->node.greeting_count, 1);
	result = stage->node.ops->reply_send(stage->node.t, nid, tag, pieces, 2,
					     &move.transfer);
	if (result == 0)
		result = node_finish(&stage->node, &move);
	printf("ok %d\n", result);
}

static void on_post(struct stage *stage, char *words)
{
	struct iovec piece = { stage->reply, 0 };
	uint64_t tag;

	if (sscanf(words, "%" SCNu64 " %zu", &tag, &piece.iov_len) != 2)
		fail(words);
	memset(&stage->post, 0, sizeof(stage->post));
	if (stage->node.ops->reply_post(stage->node.t, 0, tag, &piece, 1,
					&stage->post.transfer) < 0)
		fail("reply_post");
	printf("ok\n");
}

static void on_open(struct stage *stage, char *words)
{
	struct remote_piece remote[SCOLL_BULK_IOVS_MAX];
	struct iovec pieces[SCOLL_BULK_IOVS_MAX];
	size_t at = 0;
	int count = 0, used;

	while (count < SCOLL_BULK_IOVS_MAX &&
	       sscanf(words, "%zu%n", &pieces[count].iov_len, &used) == 1) {
		words += used;
		/* A gap between any two. */
		pieces[count].iov_base = stage->memory + at + 64 * count;
		for (size_t i = 0; i < pieces[count].iov_len; i++, at++)
			stage->memory[at + 64 * count] = test_byte(at);
		count++;
	}
	if (stage->node.ops->region_open(stage->node.t, pieces, count,
					 &stage->region, remote) < 0)
		fail("region_open");
	printf("ok");
	for (int i = 0; i < count; i++)
		printf(" %" PRIu64 " %" PRIu64 " %" PRIu64, remote[i].address,
		       remote[i].key, remote[i].size);
	printf("\n");
}

/* What the system has been given, and no peer has taken. */
static bool is_filled(void)
{
	for (int fd = 0; fd < FDS_MAX; fd++) {
		int count = 0;

		if (ioctl(fd, SIOCOUTQ, &count) == 0 && count > 0)
			return true;
	}
	return false;
}

static void on_fill(struct stage *stage)
{
	while (!is_filled())
		node_step(&stage->node, test_now_ns() + 1000000);
	printf("ok\n");
}

static void on_leave(struct stage *stage, char *words)
{
	struct node *node = &stage->node;
	char what[16];
	uint64_t nid;

	if (sscanf(words, "%" SCNu64 " %15s", &nid, what) != 2)
		fail(words);
	if (node->ops->disconnect != NULL)
		node->ops->disconnect(node->t, nid);
	node->ops->region_close(node->t, &stage->region);
	if (strcmp(what, "reused") == 0)
		memset(stage->memory, LEFT_BYTE, MEMORY_BYTES);
	else if (mprotect(stage->memory, MEMORY_BYTES, PROT_NONE) < 0)
		fail("mprotect");
	printf("ok\n");
}

static void command(struct stage *stage, char *line)
{
	char verb[16];
	int used = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%15s %n", verb, &used) != 1)
		fail(line);
	stage->is_asleep = false;
	if (strcmp(verb, "peer") == 0) {
		on_peer(stage, line + used);
	} else if (strcmp(verb, "send") == 0) {
		on_send(stage, line + used);
	} else if (strcmp(verb, "reply") == 0) {
		on_reply(stage, line + used);
	} else if (strcmp(verb, "post") == 0) {
		on_post(stage, line + used);
	} else if (strcmp(verb, "posted") == 0) {
		int result = node_finish(&stage->node, &stage->post);

		printf("ok %d\n", result);
	} else if (strcmp(verb, "open") == 0) {
		on_open(stage, line + used);
	} else if (strcmp(verb, "close") == 0) {
		stage->node.ops->region_close(stage->node.t, &stage->region);
		printf("ok\n");
	} else if (strcmp(verb, "fill") == 0) {
		on_fill(stage);
	} else if (strcmp(verb, "leave") == 0) {
		on_leave(stage, line + used);
	} else if (strcmp(verb, "count") == 0) {
		printf("ok %" PRIu64 " %" PRIu64 "\n",
		       stage->node.received_count, stage->node.damaged_count);
	} else if (strcmp(verb, "sleep") == 0) {
		stage->is_asleep = true;
		printf("ok\n");
	} else {
		fail(verb);
	}
}

static void wait_for_line(struct stage *stage)
{
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = stage->node.kind->fd(stage->node.t), .events = POLLIN },
	};

	for (;;) {
		uint64_t at_ns = stage->node.kind->deadline_ns(stage->node.t);
		uint64_t now_ns = test_now_ns();
		int wait_ms = 1000;

		if (at_ns < now_ns + 1000000000)
			wait_ms = at_ns <= now_ns
					  ? 0
					  : (int)((at_ns - now_ns) / 1000000);
		if (stage->is_asleep)
			wait_ms = -1;
		poll(fds, stage->is_asleep ? 1 : 2, wait_ms);
		if (fds[0].revents != 0)
			return;
		stage->node.kind->progress(stage->node.t,
					   node_now_ns(&stage->node));
	}
}

int puppet_main(int argc, char **argv)
{
	struct stage stage = { .is_asleep = false };
	uint8_t address[TRANSPORT_ADDRESS_MAX];
	char line[CHILD_ANSWER_MAX];
	size_t size;

	if (argc > 1 && strcmp(argv[1], "puppet") != 0)
		test_provider = argv[1];
	if (argc != 5 || strcmp(argv[1], "puppet") != 0)
		return -1;
	child_prepare();
	test_provider = argv[2];
	node_open(&stage.node, argv[3][0] != '\0' ? argv[3] : NULL,
		  argv[4][0] != '\0' ? argv[4] : NULL, 0);
	stage.node.parent = SELF_NID;
	stage.memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stage.memory == MAP_FAILED)
		fail("mmap");
	stage.reply = calloc(1, REPLY_MAX);
	size = node_address(&stage.node, address);
	printf("ok ");
	child_hex_write(stdout, address, size);
	printf("\n");
	for (;;) {
		wait_for_line(&stage);
		if (fgets(line, sizeof(line), stdin) == NULL)
			break;
		command(&stage, line);
	}
	if (stage.region.handle != NULL)
		stage.node.ops->region_close(stage.node.t, &stage.region);
	node_close(&stage.node);
	munmap(stage.memory, MEMORY_BYTES);
	free(stage.reply);
	return 0;
}

/* --- the test's side --- */

void puppet_start(struct puppet *puppet, const char *host, const char *service)
{
	const char *argv[] = { "puppet", test_provider,
			       host != NULL ? host : "",
			       service != NULL ? service : "", NULL };
	char answer[CHILD_ANSWER_MAX];

	child_start(&puppet->child, argv);
	child_hear(&puppet->child, answer);
	puppet->address_size = child_hex_read(answer, puppet->address,
					      sizeof(puppet->address));
}

const char *puppet_hear(struct puppet *puppet, struct node *node,
			char answer[CHILD_ANSWER_MAX])
{
	struct pollfd fd = { .fd = fileno(puppet->child.out),
			     .events = POLLIN };

	while (poll(&fd, 1, 0) == 0)
		node_step(node, test_now_ns() + 1000000);
	return child_hear(&puppet->child, answer);
}

void puppet_meet(struct puppet *puppet, scoll_nid_t nid, const uint8_t *address,
		 size_t size)
{
	char answer[CHILD_ANSWER_MAX];

	fprintf(puppet->child.in, "peer %" PRIu64 " ", nid);
	child_hex_write(puppet->child.in, address, size);
	child_tell(&puppet->child, "%s", "");
	child_hear(&puppet->child, answer);
}

void puppet_meet_quietly(struct puppet *puppet, int index, struct node *node)
{
	uint8_t address[TRANSPORT_ADDRESS_MAX];
	size_t size = node_address(node, address);

	puppet_start(puppet, test_host(), NULL);
	node_meet(node, PUPPET_NID(index), puppet->address,
		  puppet->address_size);
	puppet_meet(puppet, SELF_NID, address, size);
}

void puppet_meet_new(struct puppet *puppet, int index, struct node *node)
{
	uint64_t count = node->greeting_count;
	char answer[CHILD_ANSWER_MAX];
	struct move move;

	puppet_meet_quietly(puppet, index, node);
	if (node->ops->sent_by == NULL)
		return;
	if (node_send(node, PUPPET_NID(index), 0, GREETING_SIZE, &move) < 0)
		fail("greeting");
	node_finish(node, &move);
	child_tell(&puppet->child, "send 1 %d 1 %d", index, GREETING_SIZE);
	puppet_hear(puppet, node, answer);
	node_until(node, &node->greeting_count, count + 1);
}
