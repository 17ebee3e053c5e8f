/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/wire/frame.h"

#include <errno.h>

#include "base/le.h"

#define ERROR_MAX 4095

static bool has_rails(enum frame_kind kind)
{
	return kind == FRAME_READY || kind == FRAME_RAILS;
}

/* What is said again, and not kept: its place in the order is none. */
bool frame_is_counted(enum frame_kind kind)
{
	return kind != FRAME_ACK && kind != FRAME_RAILS &&
	       kind != FRAME_HELLO && kind != FRAME_NAME;
}

static void head_encode(const struct link_frame *f, uint8_t *bytes)
{
	bytes[0] = (uint8_t)f->kind;
	bytes[1] = (uint8_t)f->flags;
	bytes[2] = has_rails(f->kind) ? (uint8_t)f->rail_count : 0;
	bytes[3] = 0;
	le_put32(bytes + 4, f->sequence);
	le_put64(bytes + 8, f->sender);
}

static size_t message_encode(const struct link_frame *f, uint8_t *bytes)
{
	le_put64(bytes + 16, f->tag);
	le_put64(bytes + 24, f->data);
	le_put32(bytes + 32, f->kind == FRAME_EAGER ? 0 : f->request);
	if (f->kind == FRAME_EAGER) {
		le_put32(bytes + 36, (uint32_t)f->size);
		return FRAME_EAGER_SIZE;
	}
	le_put32(bytes + 36, 0);
	le_put64(bytes + 40, f->size);
	memcpy(bytes + 48, f->from, sizeof(f->from));
	for (unsigned int i = 0; i < f->rail_count; i++) {
		le_put64(bytes + 112 + 16 * i, f->rails[i].address);
		le_put64(bytes + 120 + 16 * i, f->rails[i].key);
	}
	return FRAME_READY_SIZE + 16 * (size_t)f->rail_count;
}

static size_t hello_encode(const struct link_frame *f, uint8_t *bytes)
{
	le_put32(bytes + 16, f->request);
	le_put32(bytes + 20, 0);
	memcpy(bytes + 24, f->from, sizeof(f->from));
	return FRAME_HELLO_SIZE;
}

size_t frame_encode(const struct link_frame *f, uint8_t *bytes)
{
	head_encode(f, bytes);
	switch (f->kind) {
	case FRAME_EAGER:
	case FRAME_READY:
		return message_encode(f, bytes);
	case FRAME_DONE:
	case FRAME_RESULT:
		le_put32(bytes + 16, f->request);
		le_put32(bytes + 20, (uint32_t)f->error);
		le_put64(bytes + 24, f->size);
		return FRAME_DONE_SIZE;
	case FRAME_PUSH:
		le_put32(bytes + 16, f->request);
		le_put32(bytes + 20, f->reader);
		le_put64(bytes + 24, f->size);
		return FRAME_PUSH_SIZE;
	case FRAME_PIECE:
		le_put32(bytes + 16, f->reader);
		le_put32(bytes + 20, (uint32_t)f->size);
		le_put64(bytes + 24, f->offset);
		return FRAME_PIECE_SIZE;
	case FRAME_ACK:
		le_put32(bytes + 16, f->up_to);
		le_put32(bytes + 20, f->probe);
		return FRAME_ACK_SIZE;
	case FRAME_KNOWN:
		return FRAME_KNOWN_SIZE;
	case FRAME_GREET:
		memcpy(bytes + 16, f->from, sizeof(f->from));
		return FRAME_GREET_SIZE;
	case FRAME_RAILS:
		le_put32(bytes + 16, f->probe);
		le_put32(bytes + 20, 0);
		memcpy(bytes + 24, f->from, sizeof(f->from));
		return FRAME_RAILS_SIZE;
	case FRAME_REACH:
		le_put32(bytes + 16, f->request);
		le_put32(bytes + 20, (uint32_t)f->size);
		return FRAME_REACH_SIZE;
	case FRAME_TOUCHED:
	case FRAME_FORGET:
		le_put64(bytes + 16, f->key);
		return FRAME_TOUCHED_SIZE;
	case FRAME_HELLO:
	case FRAME_NAME:
		return hello_encode(f, bytes);
	}
	return 0;
}

/* The size of a frame without its payload; 0 for what is none. */
static size_t fixed_size(const uint8_t *bytes)
{
	switch ((enum frame_kind)bytes[0]) {
	case FRAME_EAGER:
		return FRAME_EAGER_SIZE;
	case FRAME_READY:
		return bytes[2] == 0 || bytes[2] > RAILS_MAX
			       ? 0
			       : FRAME_READY_SIZE + 16 * (size_t)bytes[2];
	case FRAME_DONE:
		return FRAME_DONE_SIZE;
	case FRAME_PUSH:
		return FRAME_PUSH_SIZE;
	case FRAME_PIECE:
		return FRAME_PIECE_SIZE;
	case FRAME_ACK:
		return FRAME_ACK_SIZE;
	case FRAME_KNOWN:
		return FRAME_KNOWN_SIZE;
	case FRAME_GREET:
		return FRAME_GREET_SIZE;
	case FRAME_RAILS:
		return bytes[2] > RAILS_MAX ? 0 : FRAME_RAILS_SIZE;
	case FRAME_REACH:
		return FRAME_REACH_SIZE;
	case FRAME_RESULT:
		return FRAME_RESULT_SIZE;
	case FRAME_TOUCHED:
		return FRAME_TOUCHED_SIZE;
	case FRAME_HELLO:
	case FRAME_NAME:
		return FRAME_HELLO_SIZE;
	case FRAME_FORGET:
		return FRAME_FORGET_SIZE;
	}
	return 0;
}

static unsigned int flags_known(enum frame_kind kind)
{
	if (kind == FRAME_EAGER)
		return FRAME_UNTAGGED | FRAME_HAS_DATA | FRAME_URGENT;
	if (kind == FRAME_ACK)
		return FRAME_MISSING;
	if (kind == FRAME_TOUCHED)
		return FRAME_WRITTEN;
	return kind == FRAME_READY ? FRAME_UNTAGGED | FRAME_HAS_DATA : 0;
}

static bool head_is_sound(const struct link_frame *f, const uint8_t *bytes)
{
	return (f->flags & ~flags_known(f->kind)) == 0 &&
	       (has_rails(f->kind) || bytes[2] == 0) && bytes[3] == 0 &&
	       frame_is_counted(f->kind) == (f->sequence != 0);
}

static int message_decode(const uint8_t *bytes, struct link_frame *f)
{
	f->tag = le_get64(bytes + 16);
	f->data = le_get64(bytes + 24);
	f->request = le_get32(bytes + 32);
	f->size = le_get32(bytes + 36);
	if (f->kind == FRAME_EAGER)
		return f->request == 0 ? 0 : -EPROTO;
	if (f->size != 0)
		return -EPROTO;
	f->size = le_get64(bytes + 40);
	memcpy(f->from, bytes + 48, sizeof(f->from));
	f->rail_count = bytes[2];
	for (unsigned int i = 0; i < f->rail_count; i++) {
		f->rails[i].address = le_get64(bytes + 112 + 16 * i);
		f->rails[i].key = le_get64(bytes + 120 + 16 * i);
	}
	return 0;
}

static int body_decode(const uint8_t *bytes, struct link_frame *f)
{
	switch (f->kind) {
	case FRAME_EAGER:
	case FRAME_READY:
		return message_decode(bytes, f);
	case FRAME_DONE:
	case FRAME_RESULT:
		f->request = le_get32(bytes + 16);
		if (le_get32(bytes + 20) > ERROR_MAX)
			return -EPROTO;
		f->error = (int)le_get32(bytes + 20);
		f->size = le_get64(bytes + 24);
		return 0;
	case FRAME_PUSH:
		f->request = le_get32(bytes + 16);
		f->reader = le_get32(bytes + 20);
		f->size = le_get64(bytes + 24);
		return 0;
	case FRAME_PIECE:
		f->reader = le_get32(bytes + 16);
		f->size = le_get32(bytes + 20);
		f->offset = le_get64(bytes + 24);
		return f->offset > UINT64_MAX - f->size ? -EPROTO : 0;
	case FRAME_ACK:
		f->up_to = le_get32(bytes + 16);
		f->probe = le_get32(bytes + 20);
		return 0;
	case FRAME_KNOWN:
		return 0;
	case FRAME_GREET:
		memcpy(f->from, bytes + 16, sizeof(f->from));
		return 0;
	case FRAME_RAILS:
		f->probe = le_get32(bytes + 16);
		f->rail_count = bytes[2];
		memcpy(f->from, bytes + 24, sizeof(f->from));
		return le_get32(bytes + 20) == 0 ? 0 : -EPROTO;
	case FRAME_REACH:
		f->request = le_get32(bytes + 16);
		f->size = le_get32(bytes + 20);
		return 0;
	case FRAME_TOUCHED:
	case FRAME_FORGET:
		f->key = le_get64(bytes + 16);
		return 0;
	case FRAME_HELLO:
	case FRAME_NAME:
		f->request = le_get32(bytes + 16);
		memcpy(f->from, bytes + 24, sizeof(f->from));
		return le_get32(bytes + 20) == 0 ? 0 : -EPROTO;
	}
	return -EPROTO;
}

static bool has_payload(enum frame_kind kind)
{
	return kind == FRAME_EAGER || kind == FRAME_PIECE ||
	       kind == FRAME_REACH || kind == FRAME_RESULT;
}

int frame_decode(const uint8_t *bytes, size_t size, bool is_within,
		 struct link_frame *f)
{
	size_t fixed = size < FRAME_HEAD_SIZE ? 0 : fixed_size(bytes);
	if (fixed == 0 || size < fixed)
		return -EPROTO;
	*f = (struct link_frame){ .kind = (enum frame_kind)bytes[0],
				  .flags = bytes[1],
				  .sequence = le_get32(bytes + 4),
				  .sender = le_get64(bytes + 8) };
	if (!head_is_sound(f, bytes) || body_decode(bytes, f) != 0)
		return -EPROTO;
	size_t payload = 0;
	if (has_payload(f->kind)) {
		if (f->size > size - fixed)
			return -EPROTO;
		payload = (size_t)f->size;
		f->payload = bytes + fixed;
	}
	if (f->kind == FRAME_RAILS) {
		payload = f->rail_count * (size_t)FRAME_RAIL_SIZE;
		if (payload > size - fixed)
			return -EPROTO;
		f->size = payload;
		f->payload = bytes + fixed;
	}
	return is_within || fixed + payload == size ? 0 : -EPROTO;
}

void frame_put_rail(const struct rail_address *address,
		    uint8_t bytes[FRAME_RAIL_SIZE])
{
	memset(bytes, 0, FRAME_RAIL_SIZE);
	bytes[0] = address->size;
	memcpy(bytes + 1, address->bytes, address->size);
}

int frame_get_rail(const struct link_frame *f, unsigned int place,
		   struct rail_address *ret_address)
{
	const uint8_t *at = f->payload + place * (size_t)FRAME_RAIL_SIZE;

	if (place >= f->rail_count || at[0] == 0 || at[0] > RAIL_ADDRESS_MAX)
		return -EPROTO;
	*ret_address = (struct rail_address){ .size = at[0] };
	memcpy(ret_address->bytes, at + 1, at[0]);
	return 0;
}
