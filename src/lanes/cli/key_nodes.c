/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Before a key is retired: the manager says which key each node has shown to
 * have (doc/rfc/keys.md). A node that is down or was never there has shown
 * none, and counts as one that needs the old key.
 */
#include "lanes/cli/key_nodes.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"

/* The nodes that have not shown the active key, as a host list. */
static char *list_behind(const json_t *nodes, uint32_t active)
{
	_auto_(freep) const char **names =
		memory_array(json_array_size(nodes) + 1, sizeof(*names));
	const json_t *node;
	size_t count = 0;
	size_t i;

	json_array_foreach (nodes, i, node)
		if (output_number(node, "key") != active)
			names[count++] = output_text(node, "name");
	return memory_have(hostlist_format(names, count));
}

int key_check_nodes(struct cli *cli, uint32_t active)
{
	json_auto_t *answer = NULL;
	_auto_(freep) char *behind = NULL;
	int code = remote_ask_all(cli, "node-list", NULL, "nodes", &answer);

	if (code != EXIT_DONE) {
		cli_hint(cli, "--force retires the key without asking");
		return code;
	}
	behind = list_behind(json_object_get(answer, "nodes"), active);
	if (!*behind)
		return EXIT_DONE;
	cli_fail(cli, EXIT_LATER,
		 "these nodes have not shown that they have key %u: %s", active,
		 behind);
	cli_hint(cli, "was 'fairlead manager reconfigure' said after 'fairlead "
		      "key activate'? 'fairlead key node' for each of them, "
		      "put the file there, reload it, and try again; --force "
		      "leaves them behind: they are refused until they have "
		      "their file");
	return EXIT_LATER;
}
