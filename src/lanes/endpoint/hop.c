/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A seal is u32 key id and the keyed BLAKE2b-256 of the domain text, u64 NID of
 * the sender, u64 NID of the receiver, and the message: so a message is no
 * other member's, and for no other member. A root's signature is that of
 * sign.h, and the manager is the only root.
 */
#include "lanes/endpoint/hop.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "lanes/proto/nid.h"

#define HOP_DOMAIN      "fairlead hop"
#define HOP_DOMAIN_SIZE 12

static void put_number(uint8_t *at, uint64_t number, size_t size)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(number >> 8 * i);
}

static void tag_make(const struct hop_key *key, uint64_t from, uint64_t to,
		     const void *bytes, size_t count, uint8_t ret_tag[MAC_SIZE])
{
	uint8_t head[HOP_DOMAIN_SIZE + 2 * sizeof(uint64_t)];
	crypto_generichash_state state;

	memcpy(head, HOP_DOMAIN, HOP_DOMAIN_SIZE);
	put_number(head + HOP_DOMAIN_SIZE, from, sizeof(from));
	put_number(head + HOP_DOMAIN_SIZE + sizeof(from), to, sizeof(to));
	crypto_generichash_init(&state, key->bytes, KEY_SIZE, MAC_SIZE);
	crypto_generichash_update(&state, head, sizeof(head));
	crypto_generichash_update(&state, bytes, count);
	crypto_generichash_final(&state, ret_tag, MAC_SIZE);
	sodium_memzero(&state, sizeof(state));
}

static void seal(void *ctx, scoll_nid_t to, const void *bytes, size_t count,
		 uint8_t *ret_seal)
{
	const struct hop *hop = ctx;

	if (hop->keys.hop_count == 0) {
		memset(ret_seal, 0, HOP_SEAL_SIZE);
		return;
	}
	put_number(ret_seal, hop->keys.hops[0].id, sizeof(uint32_t));
	tag_make(&hop->keys.hops[0], hop->nid, to, bytes, count,
		 ret_seal + sizeof(uint32_t));
}

static int verify(void *ctx, scoll_nid_t from, const void *bytes, size_t count,
		  const uint8_t *seal)
{
	const struct hop *hop = ctx;
	struct reader reader = reader_of(seal, HOP_SEAL_SIZE);
	uint32_t key_id = read_u32(&reader);
	uint8_t tag[MAC_SIZE];

	for (size_t i = 0; i < hop->keys.hop_count; i++) {
		if (hop->keys.hops[i].id != key_id)
			continue;
		tag_make(&hop->keys.hops[i], from, hop->nid, bytes, count, tag);
		return sodium_memcmp(tag, reader.at, MAC_SIZE) == 0 ? 0
								    : -EPERM;
	}
	return -EPERM;
}

static int sign(void *ctx, const void *bytes, size_t count,
		uint8_t *ret_signature)
{
	const struct hop *hop = ctx;

	if (!hop->keys.is_manager)
		return -EPERM;
	root_sign(&hop->keys.command, bytes, count, ret_signature);
	return 0;
}

static int check(void *ctx, scoll_nid_t root, const void *bytes, size_t count,
		 const uint8_t *signature)
{
	const struct hop *hop = ctx;

	if (root != NID_MANAGER ||
	    root_verify(hop->keys.commands, hop->keys.command_count, bytes,
			count, signature) < 0)
		return -EPERM;
	return 0;
}

void hop_init(struct hop *hop, uint64_t nid)
{
	*hop = (struct hop){
		.authenticator = {
			.size = sizeof(hop->authenticator),
			.seal_size = HOP_SEAL_SIZE,
			.seal = seal,
			.verify = verify,
			.ctx = hop,
			.signature_size = ROOT_SIGNATURE_SIZE,
			.sign = sign,
			.check = check,
		},
		.nid = nid,
	};
}

void hop_fini(struct hop *hop)
{
	keys_unlock(&hop->keys, sizeof(hop->keys));
}

void hop_take(struct hop *hop, const struct hop_keys *keys)
{
	hop->keys = *keys;
}
