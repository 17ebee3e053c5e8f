/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams to an adapter, from anybody: refused, or what they say is sealed to
 * the same; and an adapter with two attached processes does not deliver one
 * that nobody sealed. Input: one datagram; its first byte is changed to the
 * version. A first byte above 127: it is sealed with the key before it is
 * received, and may be delivered.
 */
#include <sodium.h>

#include "fuzz.h"
#include "elan/adapter/adapter.h"
#include "sim/rng.h"

struct seen {
	bool is_sealed;
	uint64_t now_ms;
};

static void transmit(void *ctx, const struct route *to, const void *bytes,
		     size_t size)
{
	struct rms_frame frame;

	fuzz_check(frame_peek(bytes, size, &frame) == 0);
}

static int deliver(void *ctx, void *port_ctx, uint32_t from, const void *bytes,
		   size_t size)
{
	const struct seen *seen = ctx;

	fuzz_check(seen->is_sealed && size <= RMS_MESSAGE_MAX && from >= 2);
	return 0;
}

static void answer(void *ctx, void *port_ctx, int result)
{
	const struct seen *seen = ctx;

	fuzz_check(seen->is_sealed && result == 0);
}

static uint64_t monotonic_ms(void *ctx)
{
	const struct seen *seen = ctx;

	return seen->now_ms;
}

static const struct elan_capability cap = {
	.cap_userkey.key_values = { 1, 2, 3, 4 },
	.cap_version = ELAN_CAP_VERSION_NUMBER,
	.cap_type = ELAN_CAP_TYPE_BLOCK,
	.cap_lowcontext = 0x400,
	.cap_highcontext = 0x401,
	.cap_mycontext = ELAN_CAP_UNINITIALISED,
	.cap_lownode = 0,
	.cap_highnode = 1,
	.cap_railmask = 1,
	.cap_bitmap = { 0xf },
};

static struct adapter *adapter_make(struct seen *seen, struct sim_rng *rng)
{
	static const struct adapter_ops ops = { transmit, deliver, answer };
	static const struct clock_ops clock_ops = {
		.monotonic_ms = monotonic_ms,
	};
	static const struct route routes[] = { { 0, 4, { 1 }, 1 },
					       { 1, 4, { 2 }, 1 } };
	const struct adapter_seams seams = {
		&ops, seen, { &clock_ops, seen }, sim_rng_seam(rng)
	};
	struct adapter *adapter = NULL;

	adapter = adapter_create(&seams);
	adapter_rails_set(adapter, 1);
	for (int context = 0; context < 2; context++) {
		const struct adapter_place place = {
			.program = 1,
			.context = 0x400 + context,
			.node = 0,
			.cap = &cap,
			.routes = routes,
			.route_count = 2,
		};
		struct adapter_port *port;

		fuzz_check(adapter_open(adapter, &place, NULL, &port) == 0);
		adapter_send(port, 2, ADAPTER_FOREVER, "x", 1);
	}
	return adapter;
}

/* What the input says to be, as somebody who has the key would send it. */
static size_t seal(const uint8_t *data, size_t size, uint8_t *ret_bytes)
{
	static const uint8_t nonce[FRAME_NONCE_SIZE];
	uint8_t key[FRAME_KEY_SIZE], payload[RMS_MESSAGE_MAX];
	struct rms_frame frame, again;

	if (frame_peek(data, size, &frame) < 0)
		return 0;
	frame_key(&cap.cap_userkey, key);
	size = frame_seal(&frame, key, nonce, data + FRAME_SIZE_MIN,
			  size - FRAME_SIZE_MIN, ret_bytes);
	fuzz_check(frame_peek(ret_bytes, size, &again) == 0);
	fuzz_check(memcmp(ret_bytes, data, FRAME_HEAD_SIZE) == 0);
	fuzz_check(frame_open(ret_bytes, size, key, payload) ==
		   (int)(size - FRAME_SIZE_MIN));
	return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen seen = { .now_ms = 5 };
	uint8_t bytes[FRAME_SIZE_MAX + 1], sealed[FRAME_SIZE_MAX];
	struct adapter *adapter;
	struct sim_rng rng;

	if (size < 1 || size > sizeof(bytes) || sodium_init() < 0)
		return 0;
	memcpy(bytes, data, size);
	seen.is_sealed = data[0] > 127;
	bytes[0] = 1;
	sim_rng_init(&rng, 1);
	adapter = adapter_make(&seen, &rng);
	if (seen.is_sealed) {
		size = seal(bytes, size, sealed);
		memcpy(bytes, sealed, size);
	}
	adapter_receive(adapter, bytes, size);
	adapter_receive(adapter, bytes, size);
	adapter_destroy(adapter);
	return 0;
}
