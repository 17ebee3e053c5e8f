/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/slurm/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/memory.h"

#define NAME   "NodeName="
#define STATE  " State="
#define REASON " Reason="

/* The state is one word; the reason may be any text, and comes after it. */
static bool is_taken(const char *state)
{
	static const char *const words[] = { "DRAIN", "DOWN", "FAIL" };
	const char *reason = strstr(state, REASON);
	size_t size = strcspn(state, " ");
	bool is_out = false;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		is_out |=
			memmem(state, size, words[i], strlen(words[i])) != NULL;
	if (!is_out)
		return false;
	return !reason || strncmp(reason + strlen(REASON), SLURM_NODES_OURS,
				  strlen(SLURM_NODES_OURS)) != 0;
}

static int parse_line(char *line, const char **ret_name, bool *ret_is_taken,
		      struct fairlead_error *ret_error)
{
	const char *state = strstr(line, STATE);
	char *name = line + strlen(NAME);

	if (strncmp(line, NAME, strlen(NAME)) != 0 || !state || *name == ' ')
		return error_set(ret_error, -EINVAL,
				 "cannot parse the node '%.60s' of scontrol",
				 line);
	*ret_is_taken = is_taken(state + strlen(STATE));
	name[strcspn(name, " ")] = 0;
	*ret_name = name;
	return 0;
}

static size_t count_lines(const char *text)
{
	size_t count = 1;

	while ((text = strchr(text, '\n'))) {
		text++;
		count++;
	}
	return count;
}

int slurm_nodes_free(char *text, char **ret_nodes,
		     struct fairlead_error *ret_error)
{
	_auto_(freep) const char **names =
		memory_array(count_lines(text), sizeof(*names));
	size_t count = 0;
	char *line;

	*ret_nodes = NULL;
	while ((line = strsep(&text, "\n"))) {
		bool is_taken_already = false;
		int result = 0;

		if (*line == 0)
			continue;
		result = parse_line(line, &names[count], &is_taken_already,
				    ret_error);
		if (result < 0)
			return result;
		count += !is_taken_already;
	}
	if (count > 0)
		*ret_nodes = memory_have(hostlist_format(names, count));
	return 0;
}
