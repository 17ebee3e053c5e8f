/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Texts of /proc: they are refused, or what is read of them is within bounds.
 * Input: which text it is (one byte), then the text.
 */
#include "base/cleanup.h"
#include "fuzz.h"
#include "elan/service/proc.h"

static void path_check(int result, const char *path, size_t capacity)
{
	if (result < 0)
		return;
	fuzz_check(strnlen(path, capacity) < capacity);
	fuzz_check(strchr(path, '\n') == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(freep) char *text = NULL;
	struct proc_stat stat;
	char path[64];

	if (size == 0)
		return 0;
	text = fuzz_text(data + 1, size - 1);
	switch (data[0] % 4) {
	case 0:
		if (proc_stat_parse(text, &stat) == 0)
			fuzz_check(stat.pid > 0 && stat.state != '\0');
		break;
	case 1:
		path_check(proc_cgroup_parse(text, path, sizeof(path)), path,
			   sizeof(path));
		break;
	case 2:
		path_check(proc_mount_parse(text, path, sizeof(path)), path,
			   sizeof(path));
		break;
	case 3:
		proc_is_users(text, 7);
		break;
	}
	return 0;
}
