/* SPDX-License-Identifier: BSD-3-Clause */
/* Genders files: refused with a text, or a table of ElanIDs. */
#include <errno.h>

#include "lanes/driver/elan3/hosts.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(elan_hosts_destroyp) struct elan_hosts *hosts = NULL;
	_auto_(freep) char *text = fuzz_text(data, size);
	struct fairlead_error error = { 0 };
	int result = genders_hosts(text, size, "elanid", &hosts, &error);

	fuzz_check(result <= 0 && (result == 0) == (hosts != NULL));
	fuzz_check(result == 0 || (error.code == result && error.text[0] != 0));
	return 0;
}
