/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What squeue prints of a job's components: it is refused with a text, or what
 * is taken from it is in bounds.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "lanes/cli/slurm/components.h"
#include "fuzz.h"

static void listing_check(char *text)
{
	_auto_(components_destroyp) struct components *components = NULL;
	_auto_(freep) char *nodes = NULL;
	_auto_(freep) char *cores = NULL;
	struct fairlead_error error = { 0 };

	components_is_over(text, 7);
	if (components_parse(text, &components, &error) < 0) {
		fuzz_check(error.text[0] != 0);
		return;
	}
	fuzz_check(components->count > 0);
	if (components_join(components, &nodes, &cores, NULL) == 0)
		fuzz_check(hostlist_count(nodes) > 0 && *cores != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(freep) char *text = strndup((const char *)data, size);

	listing_check(text);
	return 0;
}
