/* SPDX-License-Identifier: BSD-3-Clause */
/* Genders files: refused with a text, or each attribute is well formed. */
#include <errno.h>

#include "lanes/driver/elan3/genders.h"
#include "fuzz.h"

static int take(void *arg, const struct genders_attribute *attribute,
		struct fairlead_error *ret_error)
{
	size_t *count = arg;

	fuzz_check(attribute->node[0] != 0 && attribute->line > 0);
	fuzz_check(attribute->name[0] != 0 &&
		   strlen(attribute->name) <= GENDERS_ATTRIBUTE_MAX);
	fuzz_check(!strpbrk(attribute->name, " \t,=#\n"));
	fuzz_check(!attribute->value ||
		   (attribute->value[0] != 0 &&
		    strlen(attribute->value) <= GENDERS_VALUE_MAX));
	return ++*count < 4096 ? 0 : -E2BIG;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(elan_hosts_destroyp) struct elan_hosts *hosts = NULL;
	_auto_(freep) char *text = fuzz_text(data, size);
	struct fairlead_error error = { 0 };
	size_t count = 0;
	int result = genders_parse(text, size, take, &count, &error);

	if (count >= 4096)
		return 0;
	fuzz_check(result <= 0);
	fuzz_check(result == 0 || (error.code == result && error.text[0] != 0));
	if (genders_hosts(text, size, "elanid", &hosts, &error) == 0)
		fuzz_check(result == 0 && elan_hosts_count(hosts) <= count);
	return 0;
}
