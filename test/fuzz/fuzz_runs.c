/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run-length lists: reading by index and expanding agree on every text, and
 * the values read back from the text that they are written as.
 */
#include <errno.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/runs.h"
#include "fuzz.h"

#define COUNT_MAX 512 /* values that are expanded */

static void values_check(const char *text, size_t count)
{
	_auto_(freep) uint32_t *values = NULL;
	_auto_(freep) uint32_t *back = NULL;
	_auto_(freep) char *formatted = NULL;
	struct fairlead_error error = { 0 };

	fuzz_check(runs_parse(text, count, &values, &error) == 0);
	for (size_t i = 0; i < count; i++) {
		fuzz_check(values[i] <= RUNS_VALUE_MAX);
		fuzz_check(runs_at(text, i) == values[i]);
	}
	formatted = runs_format(values, count);
	fuzz_check(strlen(formatted) <= strlen(text));
	fuzz_check(runs_parse(formatted, count, &back, &error) == 0);
	fuzz_check(memcmp(values, back, count * sizeof(*values)) == 0);
}

static void refusal_check(const char *text, size_t count)
{
	struct fairlead_error error = { 0 };
	uint32_t *values = NULL;

	fuzz_check(runs_parse(text, count, &values, &error) == -EINVAL);
	fuzz_check(error.code == -EINVAL && error.text[0] != 0);
	fuzz_check(values == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(freep) char *text = fuzz_text(data, size);
	size_t count = 0;
	int64_t value;

	refusal_check(text, 0);
	while ((value = runs_at(text, count)) >= 0 && count < COUNT_MAX)
		count++;
	if (value == -ERANGE) {
		values_check(text, count);
		refusal_check(text, count + 1);
	} else if (value == -EINVAL) {
		refusal_check(text, count + 1);
		refusal_check(text, COUNT_MAX);
	} else if (strpbrk(text, ",(") == NULL) {
		values_check(text, COUNT_MAX);
	} else {
		refusal_check(text, COUNT_MAX);
	}
	return 0;
}
