/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sealed secrets: what the manager did not seal is refused by every node, at
 * every place.
 */
#include <errno.h>
#include <sodium.h>

#include "fuzz.h"
#include "lanes/proto/seal.h"

static const uint8_t seed[KEY_SIZE] = { 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct node_master master;
	struct secret secret;
	struct node_key key;

	fuzz_check(sodium_init() >= 0);
	node_master_derive(1, seed, &master);
	node_key_derive(&master, "n0", &key);
	for (size_t index = 0; index < 4; index++) {
		int result = seal_open(&key, 1, 1, index, data, size, &secret);

		fuzz_check(result == -EBADMSG || result == -ENOKEY ||
			   result == -EPERM || result == -EKEYREJECTED);
	}
	return 0;
}
