/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Key files: a text is refused with an error, or has all that a manager or a
 * node needs and reads back the same.
 */
#include <errno.h>

#include "fuzz.h"
#include "lanes/proto/keyfile.h"

static void refused_check(int result, const struct fairlead_error *error)
{
	fuzz_check(result == -EINVAL || result == -E2BIG);
	fuzz_check(error->code == result && error->text[0] != 0);
}

static void manager_check(const char *text, size_t size)
{
	struct manager_keys keys, again;
	struct writer writer = { 0 };
	struct fairlead_error error;
	int result = manager_keys_parse(text, size, &keys, &error);

	if (result < 0) {
		refused_check(result, &error);
		return;
	}
	fuzz_check(keys.count >= 1 && keys.count <= KEYS_MAX);
	fuzz_check(manager_keys_find(&keys, KEY_ACTIVE) != NULL);
	fuzz_check(manager_keys_format(&keys, &writer) == 0);
	fuzz_check(manager_keys_parse((const char *)writer.data, writer.size,
				      &again, NULL) == 0);
	fuzz_check(memcmp(&keys, &again, sizeof(keys)) == 0);
	writer_fini(&writer);
}

static void node_check(const char *text, size_t size)
{
	struct node_keys keys, again;
	struct writer writer = { 0 };
	struct fairlead_error error;
	int result = node_keys_parse(text, size, &keys, &error);

	if (result < 0) {
		refused_check(result, &error);
		return;
	}
	fuzz_check(keys.command_count >= 1 && keys.command_count <= KEYS_MAX);
	fuzz_check(keys.confirm_count >= 1 && keys.confirm_count <= KEYS_MAX);
	fuzz_check(keys.hop_count >= 1 && keys.hop_count <= KEYS_MAX);
	fuzz_check(name_is_node(keys.name));
	fuzz_check(node_keys_format(&keys, &writer) == 0);
	fuzz_check(node_keys_parse((const char *)writer.data, writer.size,
				   &again, NULL) == 0);
	fuzz_check(memcmp(&keys, &again, sizeof(keys)) == 0);
	writer_fini(&writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	manager_check((const char *)data, size);
	node_check((const char *)data, size);
	return 0;
}
