/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Id sets: a text is refused with a text, or its set is written in a form that
 * reads back as the same set and is written the same again.
 */
#include "base/cleanup.h"
#include "base/idset.h"
#include "fuzz.h"

static void text_check(const char *text, uint32_t limit)
{
	_auto_(idset_destroyp) struct idset *set = NULL;
	_auto_(idset_destroyp) struct idset *back = NULL;
	_auto_(freep) char *formatted = NULL;
	_auto_(freep) char *again = NULL;
	struct fairlead_error error = { 0 };
	uint32_t count = 0;

	if (idset_parse(text, limit, &set, &error) < 0) {
		fuzz_check(error.code == -EINVAL && error.text[0] != 0);
		return;
	}
	idset_foreach (id, set) {
		fuzz_check(id < limit && idset_has(set, id));
		count++;
	}
	fuzz_check(count == idset_count(set));
	formatted = idset_format(set);
	fuzz_check(idset_parse(formatted, limit, &back, &error) == 0);
	fuzz_check(idset_equal(set, back));
	again = idset_format(back);
	fuzz_check(strcmp(formatted, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t limits[] = { 0, 1, 64, 100, 65536 };
	_auto_(freep) char *text = fuzz_text(data, size);

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		text_check(text, limits[i]);
	return 0;
}
