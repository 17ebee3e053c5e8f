/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The authenticator of one key: BLAKE2b-128 with the key, over sender and
 * receiver (u64 each, little-endian) and the bytes. Without the receiver in it
 * a message to one node could be shown to another.
 */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "scoll.h"

#define KEY_BYTES  32
#define SEAL_BYTES 16

struct key_authenticator {
	struct scoll_authenticator public; /* first */
	scoll_nid_t self;
	uint8_t key[KEY_BYTES];
};

static void nid_write(scoll_nid_t nid, uint8_t *ret_bytes)
{
	for (int i = 0; i < 8; i++)
		ret_bytes[i] = (uint8_t)(nid >> 8 * i);
}

static void compute(const struct key_authenticator *auth, scoll_nid_t from,
		    scoll_nid_t to, const void *bytes, size_t count,
		    uint8_t ret_seal[SEAL_BYTES])
{
	crypto_generichash_state state;
	uint8_t ends[16];

	nid_write(from, ends);
	nid_write(to, ends + 8);
	crypto_generichash_init(&state, auth->key, KEY_BYTES, SEAL_BYTES);
	crypto_generichash_update(&state, ends, sizeof(ends));
	crypto_generichash_update(&state, bytes, count);
	crypto_generichash_final(&state, ret_seal, SEAL_BYTES);
}

static void seal(void *ctx, scoll_nid_t to, const void *bytes, size_t count,
		 uint8_t *ret_seal)
{
	const struct key_authenticator *auth = ctx;

	compute(auth, auth->self, to, bytes, count, ret_seal);
}

static int verify(void *ctx, scoll_nid_t from, const void *bytes, size_t count,
		  const uint8_t *bytes_seal)
{
	const struct key_authenticator *auth = ctx;
	uint8_t expected[SEAL_BYTES];

	compute(auth, from, auth->self, bytes, count, expected);
	return sodium_memcmp(expected, bytes_seal, SEAL_BYTES) == 0 ? 0
								    : -EPERM;
}

int scoll_key_authenticator_create(scoll_nid_t self, const uint8_t key[32],
				   struct scoll_authenticator **ret_auth)
{
	struct key_authenticator *auth;

	/* It chooses the fastest code for this processor; once is enough. */
	if (sodium_init() < 0)
		return -ENOMEM;
	auth = calloc(1, sizeof(*auth));
	if (auth == NULL)
		return -ENOMEM;
	auth->public = (struct scoll_authenticator){
		.size = sizeof(auth->public),
		.seal_size = SEAL_BYTES,
		.seal = seal,
		.verify = verify,
		.ctx = auth,
	};
	auth->self = self;
	memcpy(auth->key, key, KEY_BYTES);
	*ret_auth = &auth->public;
	return 0;
}

void scoll_key_authenticator_destroy(struct scoll_authenticator *auth)
{
	if (auth == NULL)
		return;
	sodium_memzero(auth, sizeof(struct key_authenticator));
	free(auth);
}
