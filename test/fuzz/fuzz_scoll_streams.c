/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a peer sends by a connection that it opened, or that we did: an instance
 * with a reply and a read expected and memory open to peers. No byte goes where
 * none was expected, each transfer ends once, and nothing is left.
 *
 * Input: bit 0 of the first byte: who opened the connection; the other bits and
 * the second byte: how many bytes a read of the stream gives; then the stream.
 */
#include <errno.h>

#include "fuzz.h"
#include "scoll/transport/tcp/stream.h"
#include "scoll/transport/tcp/tcp.h"
#include "sim/rng.h"

#define PEER  2
#define TAG   4096
#define BYTES 100
#define GUARD 0x5a

struct stream_set {
	const struct stream_events *events;
	void *ctx;
	struct tcp_stream *streams;
	size_t piece;
};

struct tcp_stream {
	struct stream_set *set;
	void *owner;
	const uint8_t *at; /* what it has to give */
	size_t left;
	struct tcp_stream *next;
	bool is_watched;
};

/* --- streams of this test --- */

static struct stream_set set;

int stream_set_open(const char *node, const char *service,
		    const struct stream_events *events, void *ctx,
		    struct stream_set **ret_set, void *ret_address,
		    size_t *ret_size, struct fairlead_error *ret_error)
{
	set.events = events;
	set.ctx = ctx;
	memset(ret_address, 1, 16);
	*ret_size = 16;
	*ret_set = &set;
	return 0;
}

void stream_set_close(struct stream_set *closed)
{
	fuzz_check(closed->streams == NULL);
}

void stream_set_stop(struct stream_set *stopped)
{
}

int stream_set_fd(const struct stream_set *of)
{
	return -1;
}

void stream_set_run(struct stream_set *run, uint64_t now_ns)
{
	struct tcp_stream *next;

	for (struct tcp_stream *stream = run->streams; stream != NULL;
	     stream = next) {
		next = stream->next;
		run->events->ready(run->ctx, stream->owner, true,
				   stream->is_watched);
	}
}

uint64_t stream_set_deadline_ns(const struct stream_set *of)
{
	return DEADLINE_NONE;
}

static struct tcp_stream *stream_add(void *owner)
{
	struct tcp_stream *stream = calloc(1, sizeof(*stream));

	fuzz_check(stream != NULL);
	stream->set = &set;
	stream->owner = owner;
	stream->is_watched = true;
	stream->next = set.streams;
	set.streams = stream;
	return stream;
}

int stream_connect(struct stream_set *to, const uint8_t *address, size_t size,
		   void *owner, struct tcp_stream **ret_stream)
{
	*ret_stream = stream_add(owner);
	return 0;
}

void stream_own(struct tcp_stream *stream, void *owner)
{
	stream->owner = owner;
}

int stream_error(struct tcp_stream *stream)
{
	return 0;
}

ssize_t stream_read(struct tcp_stream *stream, const struct iovec *pieces,
		    int count)
{
	size_t most = stream->set->piece, size = 0;

	for (int i = 0; i < count && most > 0 && stream->left > 0; i++) {
		size_t part = pieces[i].iov_len;

		part = part < most ? part : most;
		part = part < stream->left ? part : stream->left;
		memcpy(pieces[i].iov_base, stream->at, part);
		stream->at += part;
		stream->left -= part;
		most -= part;
		size += part;
	}
	return size > 0 ? (ssize_t)size : -EAGAIN;
}

ssize_t stream_write(struct tcp_stream *stream, const struct iovec *pieces,
		     int count)
{
	size_t size = 0;

	for (int i = 0; i < count; i++)
		size += pieces[i].iov_len;
	return size > 0 ? (ssize_t)size : -EAGAIN;
}

void stream_watch(struct tcp_stream *stream, bool is_writable)
{
	stream->is_watched = is_writable;
}

void stream_close(struct tcp_stream *stream)
{
	struct tcp_stream **at = &set.streams;

	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	free(stream);
}

bool stream_address_is_valid(const uint8_t *address, size_t size)
{
	return true;
}

size_t stream_address_size(const uint8_t *address, size_t size)
{
	return size;
}

int stream_resolve(const char *node, const char *service, void *ret_address,
		   size_t *size, struct fairlead_error *ret_error)
{
	return -EINVAL;
}

/* --- the instance --- */

struct wait {
	struct transfer transfer;
	bool is_done;
	int result;
	size_t size;
	uint8_t bytes[BYTES + 1];
};

static void *instance;

static void received(void *ctx, uint64_t now_ns, const void *bytes, size_t size)
{
	fuzz_check(size > 0 && size <= SCOLL_BCAST_MAX);
	/* As of a message that was verified. */
	if (*(const uint8_t *)bytes % 2 == 0)
		transport_tcp_kind.ops->sent_by(instance, PEER);
}

static void done(void *ctx, uint64_t now_ns, struct transfer *transfer,
		 int result, size_t size)
{
	struct wait *wait = (struct wait *)(void *)transfer;

	fuzz_check(!wait->is_done && size <= BYTES);
	wait->is_done = true;
	wait->result = result;
	wait->size = size;
}

static void run(void)
{
	for (int i = 0; i < 4096 + 64; i++) {
		size_t left = 0;

		transport_tcp_kind.progress(instance, 1);
		for (const struct tcp_stream *stream = set.streams;
		     stream != NULL; stream = stream->next)
			left += stream->left;
		if (left == 0)
			break;
	}
}

static void expect(struct wait *reply)
{
	struct iovec piece = { reply->bytes, BYTES };

	reply->bytes[BYTES] = GUARD;
	fuzz_check(transport_tcp_kind.ops->reply_post(instance, PEER, TAG,
						      &piece, 1,
						      &reply->transfer) == 0);
}

/* Their requests come by the first stream, so that we may read from them. */
static void read_expect(struct wait *read, struct region *ret_region)
{
	static const uint8_t greeting[17] = { 1, 0, 0, 0, 1, 1 };
	struct remote_piece remote = { .key = 7, .size = BYTES };
	struct iovec piece = { read->bytes, BYTES };
	const struct transport_ops *ops = transport_tcp_kind.ops;

	set.streams->at = greeting;
	set.streams->left = sizeof(greeting);
	run();
	read->bytes[BYTES] = GUARD;
	fuzz_check(ops->region_open(instance, &piece, 1, ret_region, NULL) ==
		   0);
	fuzz_check(ops->read(instance, PEER, &remote, 1, 0, ret_region, 0,
			     BYTES, &read->transfer) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t address[16] = { 2 };
	static const struct transport_events events = { received, done };
	uint8_t memory[BYTES] = { 0 };
	struct iovec piece = { memory, sizeof(memory) };
	struct sim_rng rng;
	struct transport_options options = { 0 };
	struct wait reply = { .is_done = false }, read = { .is_done = false };
	struct region ours, theirs = { 0 };
	struct remote_piece shown;
	const struct transport_ops *ops = transport_tcp_kind.ops;
	bool is_ours;

	if (size < 2)
		return 0;
	memset(&set, 0, sizeof(set));
	is_ours = data[0] % 2 == 1;
	set.piece = (data[0] / 2 * 256u + data[1]) % 4096 + 1;
	sim_rng_init(&rng, 1);
	options.rng = sim_rng_seam(&rng);
	fuzz_check(transport_tcp_kind.open(&options, &instance, NULL) == 0);
	transport_tcp_kind.listen(instance, &events, NULL);
	transport_tcp_kind.peer_set(instance, PEER, address, sizeof(address));
	ops->region_open(instance, &piece, 1, &ours, &shown);
	if (is_ours) {
		ops->connect(instance, PEER);
		run();
		expect(&reply);
	} else {
		set.events->accepted(set.ctx, stream_add(NULL));
		read_expect(&read, &theirs);
	}
	if (set.streams != NULL) {
		set.streams->at = data + 2;
		set.streams->left = size - 2;
		run();
	}
	fuzz_check(reply.bytes[BYTES] == GUARD || !is_ours);
	fuzz_check(read.bytes[BYTES] == GUARD || is_ours);
	ops->region_close(instance, &ours);
	if (read.is_done)
		ops->region_close(instance, &theirs);
	transport_tcp_kind.close(instance);
	return 0;
}
