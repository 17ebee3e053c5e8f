/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * u8 1, u32 key id, u8[24] nonce, u32 n, n wrapped content keys of 48 bytes,
 * blob of the encrypted secret. Every encryption is XChaCha20-Poly1305 with
 * the same nonce under another key: the content key is used once, a node's
 * sealing key with a random nonce. What is encrypted is bound to the grant and
 * to its place by the associated data.
 */
#include "lanes/proto/seal.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "base/hostlist.h"
#include "lanes/proto/message.h"

#define SEAL_VERSION       1
#define SEAL_DOMAIN        "fairlead seal"
#define SEAL_DOMAIN_SIZE   13
#define STREAM_DOMAIN      "fairlead seal stream"
#define STREAM_DOMAIN_SIZE 20
#define NONCE_BYTES        crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_BYTES          crypto_aead_xchacha20poly1305_ietf_ABYTES
#define WRAPPED_SIZE       (KEY_SIZE + TAG_BYTES)
#define PLACE_CONTENT      UINT32_MAX /* the place of the secret itself */

_Static_assert(KEY_SIZE == crypto_aead_xchacha20poly1305_ietf_KEYBYTES,
	       "libsodium's size");
_Static_assert(SEAL_SIZE(3, 5) == 1 + 4 + NONCE_BYTES + 4 + 3 * WRAPPED_SIZE +
					  4 + 5 + TAG_BYTES,
	       "the header's sizes are libsodium's");
_Static_assert(SEAL_SIZE(SEAL_NODES_MAX, SEAL_SECRET_MAX) <= SEALED_MAX,
	       "the largest sealed secret fits an APPLY");
_Static_assert(FAIRLEAD_PACKED_MAX <= SEAL_SECRET_MAX &&
		       HOSTLIST_COUNT_MAX <= SEAL_NODES_MAX,
	       "what a driver packs can be sealed to any job");

/* What an encryption is bound to. */
struct binding {
	uint8_t bytes[SEAL_DOMAIN_SIZE + sizeof(uint64_t) + sizeof(uint32_t)];
};

static void binding_make(uint64_t grant_id, uint32_t place,
			 struct binding *ret_binding)
{
	uint8_t *at = ret_binding->bytes;

	memcpy(at, SEAL_DOMAIN, SEAL_DOMAIN_SIZE);
	at += SEAL_DOMAIN_SIZE;
	for (size_t i = 0; i < sizeof(grant_id); i++)
		*at++ = (uint8_t)(grant_id >> (8 * i));
	for (size_t i = 0; i < sizeof(place); i++)
		*at++ = (uint8_t)(place >> (8 * i));
}

static void sealing_key_derive(const struct node_key *key,
			       uint8_t ret_key[KEY_SIZE])
{
	crypto_generichash(ret_key, KEY_SIZE, (const uint8_t *)SEAL_DOMAIN,
			   SEAL_DOMAIN_SIZE, key->bytes, KEY_SIZE);
}

/* Write `size` bytes encrypted, which are TAG_BYTES more. */
static void encrypt(const uint8_t key[KEY_SIZE], const uint8_t *nonce,
		    uint64_t grant_id, uint32_t place, const void *bytes,
		    size_t size, struct writer *writer)
{
	uint8_t encrypted[SEAL_SECRET_MAX + TAG_BYTES];
	struct binding binding;

	binding_make(grant_id, place, &binding);
	crypto_aead_xchacha20poly1305_ietf_encrypt(encrypted, NULL, bytes, size,
						   binding.bytes,
						   sizeof(binding.bytes), NULL,
						   nonce, key);
	write_bytes(writer, encrypted, size + TAG_BYTES);
}

static int decrypt(const uint8_t key[KEY_SIZE], const uint8_t *nonce,
		   uint64_t grant_id, uint32_t place, const uint8_t *encrypted,
		   size_t size, uint8_t *ret_bytes)
{
	struct binding binding;

	binding_make(grant_id, place, &binding);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(
		    ret_bytes, NULL, NULL, encrypted, size, binding.bytes,
		    sizeof(binding.bytes), nonce, key) != 0)
		return -EKEYREJECTED;
	return 0;
}

/* --- a stream of random bytes that a seed gives --- */

void seal_stream_init(struct seal_stream *stream, const void *seed,
		      size_t seed_size, uint64_t grant_id, const void *secret,
		      size_t secret_size)
{
	crypto_generichash_state state;
	struct binding binding;

	binding_make(grant_id, PLACE_CONTENT, &binding);
	crypto_generichash_init(&state, NULL, 0, sizeof(stream->key));
	crypto_generichash_update(&state, (const uint8_t *)STREAM_DOMAIN,
				  STREAM_DOMAIN_SIZE);
	crypto_generichash_update(&state, seed, seed_size);
	crypto_generichash_final(&state, stream->key, sizeof(stream->key));
	crypto_generichash_init(&state, stream->key, sizeof(stream->key),
				sizeof(stream->key));
	crypto_generichash_update(&state, binding.bytes, sizeof(binding.bytes));
	crypto_generichash_update(&state, secret, secret_size);
	crypto_generichash_final(&state, stream->key, sizeof(stream->key));
	sodium_memzero(&state, sizeof(state));
	stream->next = 0;
}

/* Blocks of keyed hashes of their number; none is used in part twice. */
static void stream_fill(void *ctx, void *bytes, size_t size)
{
	struct seal_stream *stream = ctx;
	uint8_t *at = bytes;

	while (size > 0) {
		uint8_t number[sizeof(uint64_t)], block[KEY_SIZE];
		size_t piece = size < sizeof(block) ? size : sizeof(block);

		for (size_t i = 0; i < sizeof(number); i++)
			number[i] = (uint8_t)(stream->next >> (8 * i));
		stream->next++;
		crypto_generichash(block, sizeof(block), number, sizeof(number),
				   stream->key, sizeof(stream->key));
		memcpy(at, block, piece);
		sodium_memzero(block, sizeof(block));
		at += piece;
		size -= piece;
	}
}

struct rng_seam seal_stream_seam(struct seal_stream *stream)
{
	static const struct rng_ops ops = { .fill = stream_fill };

	return (struct rng_seam){ .ops = &ops, .ctx = stream };
}

void seal_stream_fini(struct seal_stream *stream)
{
	sodium_memzero(stream, sizeof(*stream));
}

/* --- sealed secrets --- */

void secret_fini(struct secret *secret)
{
	sodium_memzero(secret, sizeof(*secret));
}

int seal_make(const struct rng_seam *rng, const struct node_master *master,
	      uint64_t grant_id, const char *const *nodes, size_t node_count,
	      const void *secret, size_t secret_size, struct writer *writer)
{
	uint8_t content_key[KEY_SIZE], sealing_key[KEY_SIZE];
	size_t start = writer->size;
	uint8_t nonce[NONCE_BYTES];
	struct node_key node_key;

	if (node_count == 0)
		return -EINVAL;
	if (node_count > SEAL_NODES_MAX || secret_size > SEAL_SECRET_MAX)
		return -E2BIG;
	rng_fill(rng, content_key, sizeof(content_key));
	rng_fill(rng, nonce, sizeof(nonce));
	write_u8(writer, SEAL_VERSION);
	write_u32(writer, master->id);
	write_bytes(writer, nonce, sizeof(nonce));
	write_u32(writer, (uint32_t)node_count);
	for (size_t i = 0; i < node_count; i++) {
		node_key_derive(master, nodes[i], &node_key);
		sealing_key_derive(&node_key, sealing_key);
		encrypt(sealing_key, nonce, grant_id, (uint32_t)i, content_key,
			KEY_SIZE, writer);
	}
	write_u32(writer, (uint32_t)(secret_size + TAG_BYTES));
	encrypt(content_key, nonce, grant_id, PLACE_CONTENT, secret,
		secret_size, writer);
	sodium_memzero(content_key, sizeof(content_key));
	sodium_memzero(sealing_key, sizeof(sealing_key));
	node_key_fini(&node_key);
	if (writer->result < 0)
		writer->size = start;
	return writer->result;
}

/* A view of the parts of sealed secrets. */
struct parts {
	uint32_t key_id;
	const uint8_t *nonce;
	size_t node_count;
	const uint8_t *wrapped;
	const uint8_t *secret;
	size_t secret_size; /* encrypted */
};

static int parts_read(const void *sealed, size_t size, struct parts *ret_parts)
{
	struct reader reader = reader_of(sealed, size);
	struct parts parts;

	if (read_u8(&reader) != SEAL_VERSION)
		return -EBADMSG;
	parts.key_id = read_u32(&reader);
	parts.nonce = read_bytes(&reader, NONCE_BYTES);
	parts.node_count = read_u32(&reader);
	if (parts.node_count == 0 || parts.node_count > SEAL_NODES_MAX)
		return -EBADMSG;
	parts.wrapped = read_bytes(&reader, parts.node_count * WRAPPED_SIZE);
	parts.secret = read_blob(&reader, SEAL_SECRET_MAX + TAG_BYTES,
				 &parts.secret_size);
	if (!reader_is_done(&reader) || parts.secret_size < TAG_BYTES)
		return -EBADMSG;
	*ret_parts = parts;
	return 0;
}

int seal_open(const struct node_key *keys, size_t key_count, uint64_t grant_id,
	      size_t index, const void *sealed, size_t size,
	      struct secret *ret_secret)
{
	uint8_t content_key[KEY_SIZE], sealing_key[KEY_SIZE];
	const struct node_key *key = NULL;
	struct secret secret = { 0 };
	struct parts parts;
	int result;

	result = parts_read(sealed, size, &parts);
	if (result < 0)
		return result;
	for (size_t i = 0; i < key_count && key == NULL; i++)
		if (keys[i].id == parts.key_id)
			key = &keys[i];
	if (key == NULL)
		return -ENOKEY;
	if (index >= parts.node_count)
		return -EPERM;
	sealing_key_derive(key, sealing_key);
	result = decrypt(sealing_key, parts.nonce, grant_id, (uint32_t)index,
			 parts.wrapped + index * WRAPPED_SIZE, WRAPPED_SIZE,
			 content_key);
	if (result == 0)
		result = decrypt(content_key, parts.nonce, grant_id,
				 PLACE_CONTENT, parts.secret, parts.secret_size,
				 secret.bytes);
	secret.size = parts.secret_size - TAG_BYTES;
	sodium_memzero(content_key, sizeof(content_key));
	sodium_memzero(sealing_key, sizeof(sealing_key));
	if (result == 0)
		*ret_secret = secret;
	secret_fini(&secret);
	return result;
}
