/* SPDX-License-Identifier: BSD-3-Clause */
/* A job's eventlog: a key is whole and ended, an open action was started. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "lanes/plugin/flux/eventlog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct eventlog log;
	int result = eventlog_read(text, &log);

	free(text);
	if (result < 0) {
		fuzz_check(result == -EBADMSG);
		return 0;
	}
	fuzz_check(strnlen(log.event.key, EVENTLOG_KEY_MAX) < EVENTLOG_KEY_MAX);
	fuzz_check(!log.is_prolog_open || log.has_begun);
	fuzz_check(!log.has_begun || log.has_prolog_start);
	return 0;
}
