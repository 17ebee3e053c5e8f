/* SPDX-License-Identifier: BSD-3-Clause */
/* The test's own end of the transport. */
#include "scoll/transport/test/node.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sys/rng.h"

const char *test_provider = "tcp;ofi_rxm";

bool test_provider_is(const char *name)
{
	return strcmp(test_provider, name) == 0;
}

uint64_t test_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint8_t test_byte(size_t offset)
{
	return (uint8_t)(offset * 167 >> 3 ^ offset);
}

const char *test_host(void)
{
	return "127.0.0.1";
}

uint64_t node_now_ns(const struct node *node)
{
	return test_now_ns() + node->skew_ns;
}

/* These run in puppets too, where there is no test to fail. */
static void must(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	abort();
}

static void received(void *ctx, uint64_t now_ns, const void *bytes, size_t size)
{
	struct node *node = ctx;
	const uint8_t *at = bytes;
	uint32_t sender = 0;

	uint64_t until_ns = test_now_ns() + node->burn_ns;

	if (size == GREETING_SIZE) {
		memcpy(&sender, bytes, sizeof(sender));
		if (node->ops->sent_by != NULL)
			node->ops->sent_by(node->t,
					   node->parent != 0
						   ? node->parent
						   : PUPPET_NID(sender));
		node->greeting_count++;
		return;
	}

	while (node->burn_ns > 0 && test_now_ns() < until_ns)
		;
	node->received_count++;
	node->last_size = size;
	memcpy(node->last, bytes, size);
	if (size >= sizeof(sender))
		memcpy(&sender, bytes, sizeof(sender));
	if (sender < SENDERS_MAX)
		node->from[sender]++;
	else
		node->damaged_count++;
	for (size_t i = sizeof(sender); i < size; i++)
		node->damaged_count += at[i] != test_byte(i);
}

static void done(void *ctx, uint64_t now_ns, struct transfer *transfer,
		 int result, size_t size)
{
	struct move *move = (struct move *)transfer;

	must(!move->is_done, "a transfer has two ends");
	move->is_done = true;
	move->result = result;
	move->size = size;
}

void node_open(struct node *node, const char *host, const char *service,
	       unsigned flags)
{
	static const struct transport_events events = { received, done };
	struct transport_options options = {
		.provider = test_provider,
		.node = host,
		.service = service,
		.rng = sys_rng(),
		.flags = flags,
	};
	struct fairlead_error error = { 0 };
	struct transport transport;
	int result;

	memset(node, 0, sizeof(*node));
	result = transport_open(&options, &transport, &error);
	if (result < 0)
		fprintf(stderr, "%s\n", error.text);
	must(result == 0, "transport_open");
	node->kind = transport.kind;
	node->t = transport.ctx;
	node->kind->listen(node->t, &events, node);
	node->ops = node->kind->ops;
}

void node_close(struct node *node)
{
	node->kind->close(node->t);
	node->t = NULL;
}

static void progress(struct node *node)
{
	node->progress_count++;
	node->kind->progress(node->t, node_now_ns(node));
}

void node_step(struct node *node, uint64_t limit_ns)
{
	struct pollfd fd = { .fd = node->kind->fd(node->t), .events = POLLIN };
	uint64_t at_ns = node->kind->deadline_ns(node->t);
	uint64_t now_ns = node_now_ns(node);
	struct timespec wait = { 0 };

	if (limit_ns != DEADLINE_NONE && at_ns > limit_ns + node->skew_ns)
		at_ns = limit_ns + node->skew_ns;
	if (at_ns > now_ns) {
		wait.tv_sec = (time_t)((at_ns - now_ns) / 1000000000);
		wait.tv_nsec = (long)((at_ns - now_ns) % 1000000000);
	}
	ppoll(&fd, 1, at_ns == DEADLINE_NONE ? NULL : &wait, NULL);
	progress(node);
}

int node_finish(struct node *node, struct move *move)
{
	while (!move->is_done)
		node_step(node, DEADLINE_NONE);
	return move->result;
}

void node_until(struct node *node, const uint64_t *counter, uint64_t value)
{
	while (*counter < value)
		node_step(node, DEADLINE_NONE);
}

void node_skip(struct node *node, uint64_t duration_ns)
{
	node->skew_ns += duration_ns;
	progress(node);
}

size_t node_address(struct node *node, uint8_t *ret_address)
{
	size_t size = TRANSPORT_ADDRESS_MAX;

	must(node->kind->address(node->t, ret_address, &size) == 0, "address");
	return size;
}

void node_meet(struct node *node, scoll_nid_t nid, const uint8_t *address,
	       size_t size)
{
	must(node->kind->peer_set(node->t, nid, address, size) == 0,
	     "peer_set");
}

int node_send(struct node *node, scoll_nid_t to, uint32_t sender, size_t size,
	      struct move *move)
{
	static uint8_t bytes[SENDERS_MAX][SCOLL_BCAST_MAX];
	struct iovec pieces[] = {
		{ bytes[sender], size / 2 },
		{ bytes[sender] + size / 2, size - size / 2 },
	};
	int result;

	for (size_t i = 0; i < size; i++)
		bytes[sender][i] = test_byte(i);
	memcpy(bytes[sender], &sender,
	       size < sizeof(sender) ? size : sizeof(sender));
	memset(move, 0, sizeof(*move));
	do {
		result = node->ops->send(node->t, to, pieces, 2,
					 &move->transfer);
		if (result == -EAGAIN || result == -EBUSY)
			node_step(node, test_now_ns() + 1000000);
	} while (result == -EAGAIN || result == -EBUSY);
	return result;
}
