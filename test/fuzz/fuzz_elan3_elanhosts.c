/* SPDX-License-Identifier: BSD-3-Clause */
/* Elanhosts files: refused with a text, or a table that agrees with itself. */
#include <errno.h>

#include "lanes/driver/elan3/hosts.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(elan_hosts_destroyp) struct elan_hosts *hosts = NULL;
	_auto_(freep) char *text = fuzz_text(data, size);
	struct fairlead_error error = { 0 };
	size_t count = 0;
	int result = elanhosts_parse(text, size, &hosts, &error);

	fuzz_check(result <= 0);
	if (result < 0) {
		fuzz_check(error.code == result && error.text[0] != 0);
		return 0;
	}
	for (int kind = 0; kind < ELAN_HOST_KINDS; kind++) {
		for (uint32_t id = 0; id <= ELAN_ID_MAX; id++) {
			const char *name = elan_hosts_name(
				hosts, (enum elan_host_kind)kind, id);

			count += name != NULL;
			fuzz_check(!name ||
				   elan_hosts_find(hosts, name) == (int)id);
		}
	}
	fuzz_check(count == elan_hosts_count(hosts));
	return 0;
}
