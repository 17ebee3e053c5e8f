/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/test/cables.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool shell(const char *format, ...)
{
	char command[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	return system(command) == 0;
}

bool cables_make(struct pair *pair, int count)
{
	bool is_well = geteuid() == 0 && unshare(CLONE_NEWNET) == 0 &&
		       shell("ip link set lo up");

	pair_meet(pair);
	for (int i = 0; i < count && pair->is_first && is_well; i++)
		is_well = shell("ip link add e%d type veth peer name e%d "
				"netns %d",
				i, i, pair->other);
	pair_meet(pair);
	for (int i = 0; i < count && is_well; i++)
		is_well = shell("ip addr add 10.9.%d.%d/24 dev e%d && "
				"ip link set e%d up",
				i, pair->is_first ? 1 : 2, i, i);
	pair_meet(pair);
	/* A device is offered when the kernel has seen its carrier. */
	for (int i = 0; i < count && is_well; i++)
		while (!shell("ip link show e%d | grep -q 'state UP'", i))
			;
	pair_meet(pair);
	return is_well;
}

uint64_t cable_bytes(int cable)
{
	unsigned long long bytes = 0, skipped;
	char line[256], name[32];
	FILE *file = fopen("/proc/self/net/dev", "re");

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		int index = -1;
		if (sscanf(line,
			   " %31[^:]: %llu %llu %llu %llu %llu %llu %llu "
			   "%llu %llu",
			   name, &skipped, &skipped, &skipped, &skipped,
			   &skipped, &skipped, &skipped, &skipped,
			   &bytes) == 10 &&
		    sscanf(name, "e%d", &index) == 1 && index == cable)
			break;
		bytes = 0;
	}
	if (file != NULL)
		fclose(file);
	return bytes;
}
