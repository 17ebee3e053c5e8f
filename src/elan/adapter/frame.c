/* SPDX-License-Identifier: BSD-3-Clause */
#include "elan/adapter/frame.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#define VERSION 1
#define PURPOSE "fairlead elan3 frame 1"

_Static_assert(FRAME_KEY_SIZE == crypto_aead_xchacha20poly1305_ietf_KEYBYTES &&
		       FRAME_NONCE_SIZE ==
			       crypto_aead_xchacha20poly1305_ietf_NPUBBYTES &&
		       FRAME_TAG_SIZE ==
			       crypto_aead_xchacha20poly1305_ietf_ABYTES,
	       "sizes of the construction");

static void put(uint8_t **at, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		*(*at)++ = (uint8_t)(value >> 8 * i);
}

void frame_key(const struct elan_userkey *userkey,
	       uint8_t ret_key[FRAME_KEY_SIZE])
{
	uint8_t key[16];
	uint8_t *at = key;

	for (size_t i = 0; i < 4; i++)
		put(&at, userkey->key_values[i], 4);
	crypto_generichash(ret_key, FRAME_KEY_SIZE, (const uint8_t *)PURPOSE,
			   strlen(PURPOSE), key, sizeof(key));
	sodium_memzero(key, sizeof(key));
}

size_t frame_seal(const struct rms_frame *frame,
		  const uint8_t key[FRAME_KEY_SIZE],
		  const uint8_t nonce[FRAME_NONCE_SIZE], const void *payload,
		  size_t size, uint8_t *ret_bytes)
{
	uint8_t *at = ret_bytes;

	put(&at, VERSION, 1);
	put(&at, frame->type, 1);
	put(&at, frame->rail, 1);
	put(&at, 0, 1);
	put(&at, frame->program, 4);
	put(&at, frame->from, 2);
	put(&at, frame->to, 2);
	put(&at, frame->epoch, 8);
	put(&at, frame->sequence, 8);
	put(&at, frame->incarnation, 8);
	memcpy(at, nonce, FRAME_NONCE_SIZE);
	at += FRAME_NONCE_SIZE;
	crypto_aead_xchacha20poly1305_ietf_encrypt(at, NULL, payload, size,
						   ret_bytes, FRAME_HEAD_SIZE,
						   NULL, nonce, key);
	return FRAME_SIZE_MIN + size;
}

int frame_peek(const void *bytes, size_t size, struct rms_frame *ret_frame)
{
	struct reader reader = reader_of(bytes, size);
	struct rms_frame frame = { 0 };
	uint8_t version = read_u8(&reader);
	uint8_t type = read_u8(&reader);
	uint8_t reserved;

	frame.type = (enum rms_frame_type)type;
	frame.rail = read_u8(&reader);
	reserved = read_u8(&reader);
	frame.program = read_u32(&reader);
	frame.from = read_u16(&reader);
	frame.to = read_u16(&reader);
	frame.epoch = read_u64(&reader);
	frame.sequence = read_u64(&reader);
	frame.incarnation = read_u64(&reader);
	if (size < FRAME_SIZE_MIN || size > FRAME_SIZE_MAX ||
	    version != VERSION || type < FRAME_MESSAGE || type >= FRAME_TYPES ||
	    reserved != 0 || frame.rail >= ELAN_MAX_RAILS ||
	    (type != FRAME_MESSAGE && size != FRAME_SIZE_MIN))
		return -EBADMSG;
	*ret_frame = frame;
	return 0;
}

int frame_open(const void *bytes, size_t size,
	       const uint8_t key[FRAME_KEY_SIZE], uint8_t *ret_payload)
{
	const uint8_t *head = bytes;
	const uint8_t *nonce = head + FRAME_HEAD_SIZE;
	const uint8_t *sealed = nonce + FRAME_NONCE_SIZE;
	unsigned long long opened = 0;

	if (crypto_aead_xchacha20poly1305_ietf_decrypt(
		    ret_payload, &opened, NULL, sealed,
		    size - FRAME_HEAD_SIZE - FRAME_NONCE_SIZE, head,
		    FRAME_HEAD_SIZE, nonce, key) != 0)
		return -EBADMSG;
	return (int)opened;
}
