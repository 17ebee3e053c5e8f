/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of links: refused with a text, or each link written and read again. */
#include <stdlib.h>

#include "fuzz.h"
#include "link/links/links.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char again[4096];
	struct links links, back;
	struct fairlead_error error = { 0 };
	char *text = strndup((const char *)data, size);

	fuzz_check(text != NULL);
	if (links_parse(text, &links, &error) != 0) {
		fuzz_check(error.code == -EINVAL && error.text[0] != '\0');
		free(text);
		return 0;
	}
	free(text);
	for (unsigned int i = 0; i < links.count; i++) {
		links_format(&links.links[i], again, sizeof(again));
		fuzz_check(links_parse(again, &back, &error) == 0);
		fuzz_check(back.count == 1);
		fuzz_check(memcmp(&back.links[0], &links.links[i],
				  sizeof(back.links[0])) == 0);
	}
	return 0;
}
