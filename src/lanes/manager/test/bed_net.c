/* SPDX-License-Identifier: BSD-3-Clause */
/* The nets of a test bed: what is sent stands in a queue until it is taken. */
#include "bed_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

void bed_net_fini(struct bed_net *net)
{
	for (size_t i = 0; i < net->frame_count; i++)
		free(net->frames[i].bytes);
	net->frame_count = 0;
}

static int on_send(void *ctx, uint64_t peer, const void *frame, size_t size)
{
	struct bed_net *net = ctx;
	struct bed_frame *entry;

	if (net->send_result < 0)
		return net->send_result;
	assert_true(size > 0 && size <= FRAME_SIZE_MAX);
	assert_true(net->frame_count < BED_FRAMES_MAX);
	entry = &net->frames[net->frame_count++];
	entry->peer = peer;
	entry->size = size;
	entry->bytes = malloc(size);
	memcpy(entry->bytes, frame, size);
	return 0;
}

static void on_close(void *ctx, uint64_t peer)
{
	struct bed_net *net = ctx;

	assert_true(net->closed_count < BED_FRAMES_MAX);
	net->closed[net->closed_count++] = peer;
}

static bool is_over(void *ctx, uint64_t peer)
{
	const struct bed_net *net = ctx;

	return peer == net->over;
}

const struct net_ops bed_net_ops = {
	.send = on_send,
	.close = on_close,
	.is_over = is_over,
};

bool bed_was_closed(const struct bed_net *net, uint64_t peer)
{
	for (size_t i = 0; i < net->closed_count; i++) {
		if (net->closed[i] == peer)
			return true;
	}
	return false;
}

uint8_t *bed_net_take(struct bed_net *net, uint64_t peer, size_t *ret_size)
{
	for (size_t i = 0; i < net->frame_count; i++) {
		struct bed_frame frame = net->frames[i];

		if (frame.peer != peer)
			continue;
		net->frame_count--;
		memmove(&net->frames[i], &net->frames[i + 1],
			(net->frame_count - i) * sizeof(frame));
		*ret_size = frame.size;
		return frame.bytes;
	}
	return NULL;
}
