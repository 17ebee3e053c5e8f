/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/inherit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lanes/cli/remote.h"
#include "lanes/driver/driver.h"

json_t *environment_clear(void)
{
	json_t *variables = json_object();

	for (size_t i = 0; driver_table[i]; i++)
		for (const char *const *name = driver_table[i]->variables;
		     name && *name; name++)
			json_object_set_new(variables, *name, json_null());
	return variables;
}

/* Names that only lanes have; users set the others by themselves, too. */
static bool is_own(const char *name)
{
	return strncmp(name, "FAIRLEAD_", 9) == 0 ||
	       strncmp(name, "SLINGSHOT_", 10) == 0;
}

static bool has_lane(const char *const *names)
{
	for (; names && *names; names++)
		if (is_own(*names) && getenv(*names))
			return true;
	return false;
}

static int add_inherited(struct cli *cli, const char *name, json_t *inherited)
{
	const char *text = getenv(name);

	if (text && json_array_append_new(inherited,
					  json_pack("[s, s]", name, text)) < 0)
		return cli_fail(cli, EXIT_FAILED,
				"the inherited %s is not UTF-8", name);
	return EXIT_DONE;
}

/* What this process has of lanes' variables: [[name, value], ...]. */
static int find_inherited(struct cli *cli, json_t *inherited)
{
	int code = EXIT_DONE;

	for (size_t i = 0; driver_table[i]; i++) {
		const char *const *name = driver_table[i]->variables;

		if (!has_lane(name))
			continue;
		for (; *name && code == EXIT_DONE; name++)
			code = add_inherited(cli, *name, inherited);
	}
	return code;
}

int environment_inherit(struct cli *cli, json_t *variables,
			bool *ret_is_inherited)
{
	json_auto_t *inherited = json_array();
	const json_t *pair;
	size_t i;
	int code = find_inherited(cli, inherited);

	*ret_is_inherited = false;
	if (code != EXIT_DONE || json_array_size(inherited) == 0)
		return code;
	code = remote_ask(cli, REMOTE_NODE, REMOTE_TIMEOUT_MS, "inherit",
			  json_pack("{s:O}", "variables", inherited), NULL);
	if (code != EXIT_DONE)
		return code;
	json_array_foreach (inherited, i, pair)
		json_object_set(variables,
				json_string_value(json_array_get(pair, 0)),
				json_array_get(pair, 1));
	*ret_is_inherited = true;
	return EXIT_DONE;
}

int environment_run(struct cli *cli, const json_t *variables)
{
	const char *name;
	json_t *value;
	int code;

	json_object_foreach ((json_t *)variables, name, value) {
		if (json_is_null(value))
			unsetenv(name);
		else
			setenv(name, json_string_value(value), 1);
	}
	fflush(cli->out);
	execvp(cli->arguments[0], cli->arguments);
	code = errno == ENOENT ? EXIT_NO_PROGRAM : EXIT_CANNOT_RUN;
	return cli_fail(cli, code, "cannot run '%s': %s", cli->arguments[0],
			strerror(errno));
}
