/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command without a byte, a list without one, and a time of 0 are refused:
 * what is decoded can be carried out.
 */
#include "order.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1

void order_encode(const struct exec_order *order, struct writer *writer)
{
	write_u8(writer, VERSION);
	write_bytes(writer, order->id, sizeof(order->id));
	write_bytes(writer, order->stop_digest, sizeof(order->stop_digest));
	write_u32(writer, order->timeout_ms);
	write_text(writer, order->nodes);
	write_text(writer, order->command);
}

int order_decode(const void *bytes, size_t size, struct exec_order *ret_order)
{
	struct reader reader = reader_of(bytes, size);
	struct exec_order order = { 0 };
	const uint8_t *id, *digest;

	if (read_u8(&reader) != VERSION)
		return reader.failed ? -EBADMSG : -EPROTONOSUPPORT;
	id = read_bytes(&reader, sizeof(order.id));
	digest = read_bytes(&reader, sizeof(order.stop_digest));
	order.timeout_ms = read_u32(&reader);
	order.nodes = read_text_alloc(&reader, EXEC_LIST_MAX);
	order.command = read_text_alloc(&reader, EXEC_COMMAND_MAX);
	if (!reader_is_done(&reader) || *order.nodes == 0 ||
	    *order.command == 0 || order.timeout_ms == 0 ||
	    order.timeout_ms > EXEC_TIMEOUT_MS_MAX) {
		order_fini(&order);
		return -EBADMSG;
	}
	memcpy(order.id, id, sizeof(order.id));
	memcpy(order.stop_digest, digest, sizeof(order.stop_digest));
	*ret_order = order;
	return 0;
}

void order_fini(struct exec_order *order)
{
	free(order->nodes);
	free(order->command);
	*order = (struct exec_order){ 0 };
}

void exec_digest(const void *bytes, size_t size,
		 uint8_t ret_digest[EXEC_ID_BYTES])
{
	crypto_generichash(ret_digest, EXEC_ID_BYTES, bytes, size, NULL, 0);
}
