/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host lists: a list is refused with a text, or all its names are in bounds,
 * are found where they stand first, and read back the same.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "fuzz.h"

#define NAME_CHARACTERS              \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789._-"
#define FIND_MAX 16 /* names that are looked for */

static void find_check(const struct hostlist *list, const char *text, size_t i)
{
	int index = hostlist_find(text, list->names[i]);

	fuzz_check(index >= 0 && (size_t)index <= i);
	fuzz_check(strcmp(list->names[index], list->names[i]) == 0);
	for (int k = 0; k < index; k++)
		fuzz_check(strcmp(list->names[k], list->names[i]) != 0);
}

static void list_check(const struct hostlist *list, const char *text)
{
	size_t step = list->count / FIND_MAX + 1;
	int duplicate = hostlist_duplicate(list);

	fuzz_check(list->count > 0 && list->count <= HOSTLIST_COUNT_MAX);
	fuzz_check(hostlist_count(text) == (int)list->count);
	for (size_t i = 0; i < list->count; i++) {
		size_t size = strlen(list->names[i]);

		fuzz_check(size > 0 && size <= HOSTLIST_NAME_MAX);
		fuzz_check(strspn(list->names[i], NAME_CHARACTERS) == size);
		fuzz_check(strchr("._-", list->names[i][0]) == NULL);
		if (i % step == 0)
			find_check(list, text, i);
	}
	fuzz_check(duplicate == -ENOENT || duplicate > 0);
	if (duplicate > 0)
		fuzz_check(hostlist_find(text, list->names[duplicate]) <
			   duplicate);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(freep) char *text = fuzz_text(data, size);
	_auto_(freep) char *formatted = NULL;
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;
	_auto_(hostlist_destroyp) struct hostlist *back = NULL;
	struct fairlead_error error = { 0 };
	int result = hostlist_parse(text, &list, &error);

	if (result < 0) {
		fuzz_check(result == -EINVAL || result == -E2BIG);
		fuzz_check(error.code == result && error.text[0] != 0);
		fuzz_check(hostlist_find(text, "?") == result);
		return 0;
	}
	fuzz_check(hostlist_find(text, "?") == -ENOENT);
	list_check(list, text);
	formatted =
		hostlist_format((const char *const *)list->names, list->count);
	fuzz_check(hostlist_parse(formatted, &back, &error) == 0);
	fuzz_check(back->count == list->count);
	for (size_t i = 0; i < list->count; i++)
		fuzz_check(strcmp(back->names[i], list->names[i]) == 0);
	return 0;
}
