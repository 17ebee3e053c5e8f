/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sealed secrets: what the manager did not seal is refused by every node, at
 * every place. What it did seal, and somebody has changed, a node opens only
 * where the change is in other nodes' keys.
 *
 * Input: sealed secrets; and once more the bits that are changed in some.
 */
#include <errno.h>
#include <sodium.h>

#include "fuzz.h"
#include "lanes/proto/seal.h"

#define NODES  4
#define SECRET "token"
#define HEADER (1 + 4 + 24 + 4)
#define SLOT   48

static const uint8_t seed[KEY_SIZE] = { 1 };

static void rng_zero(void *ctx, void *bytes, size_t size)
{
	memset(bytes, 0, size);
}

static void foreign_check(const struct node_key *key, const uint8_t *data,
			  size_t size)
{
	struct secret secret;

	for (size_t index = 0; index < NODES; index++) {
		int result = seal_open(key, 1, 1, index, data, size, &secret);

		fuzz_check(result == -EBADMSG || result == -ENOKEY ||
			   result == -EPERM || result == -EKEYREJECTED);
	}
}

/* Has anything that this node reads been changed? */
static bool is_changed(const uint8_t *changes, size_t size, size_t index)
{
	for (size_t i = 0; i < size; i++) {
		bool is_key = i >= HEADER && i < HEADER + NODES * SLOT;

		if (changes[i] != 0 &&
		    (!is_key || (i - HEADER) / SLOT == index))
			return true;
	}
	return false;
}

static void changed_check(const struct node_master *master, const uint8_t *data,
			  size_t size)
{
	static const char *const names[NODES] = { "n0", "n1", "n2", "n3" };
	static const struct rng_ops ops = { .fill = rng_zero };
	const struct rng_seam rng = { .ops = &ops };
	struct writer sealed = { 0 };
	struct secret secret;
	struct node_key key;

	fuzz_check(seal_make(&rng, master, 1, names, NODES, SECRET,
			     strlen(SECRET), &sealed) == 0);
	if (size > sealed.size)
		size = sealed.size;
	for (size_t i = 0; i < size; i++)
		sealed.data[i] ^= data[i];
	for (size_t index = 0; index < NODES; index++) {
		int result;

		node_key_derive(master, names[index], &key);
		result = seal_open(&key, 1, 1, index, sealed.data, sealed.size,
				   &secret);
		fuzz_check((result < 0) == is_changed(data, size, index));
		if (result == 0)
			fuzz_check(secret.size == strlen(SECRET) &&
				   memcmp(secret.bytes, SECRET, secret.size) ==
					   0);
	}
	writer_fini(&sealed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct node_master master;
	struct node_key key;

	fuzz_check(sodium_init() >= 0);
	node_master_derive(1, seed, &master);
	node_key_derive(&master, "n0", &key);
	foreign_check(&key, data, size);
	changed_check(&master, data, size);
	return 0;
}
