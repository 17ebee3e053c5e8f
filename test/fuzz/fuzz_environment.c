/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An environment file: what was accepted is written again as the same bytes,
 * and no name can be mistaken for more than a name.
 */
#include "lanes/client/env.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct env_variable variables[FAIRLEAD_VARIABLES_MAX];
	struct fairlead_error error = { 0 };
	char *text = fuzz_text(data, size);
	char *again = malloc(size + 1);
	size_t at = 0;
	int count;

	fuzz_check(again != NULL);
	count = env_parse(text, size, variables, &error);
	fuzz_check(count >= 0 || error.text[0] != 0);
	for (int i = 0; i < count; i++) {
		const char *name = variables[i].name;
		const char *value = variables[i].value;

		fuzz_check(*name != 0 && strpbrk(name, "=\n /") == NULL);
		fuzz_check(value == NULL || strchr(value, '\n') == NULL);
		at += (size_t)snprintf(again + at, size + 1 - at, "%s%s%s",
				       name, value == NULL ? "" : "=",
				       value == NULL ? "" : value);
		fuzz_check(at < size);
		again[at++] = '\n';
	}
	if (count >= 0)
		fuzz_check(at == size && memcmp(again, data, size) == 0);
	free(again);
	free(text);
	return 0;
}
