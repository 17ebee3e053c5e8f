/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/inherit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lanes/cli/remote.h"
#include "lanes/driver/driver.h"

static void clear(void *arg, const char *name)
{
	json_object_set_new(arg, name, json_null());
}

json_t *environment_clear(void)
{
	json_t *variables = json_object();

	driver_visit_variables(NULL, clear, variables);
	return variables;
}

static bool is_set(void *arg, const char *name)
{
	return getenv(name);
}

static void add_pair(void *arg, const char *name)
{
	const char *text = getenv(name);

	if (text)
		json_array_append_new(arg, json_pack("[s, o?]", name,
						     json_string(text)));
}

json_t *environment_own(void)
{
	json_t *pairs = json_array();

	driver_visit_inherited(is_set, add_pair, pairs);
	return pairs;
}

int environment_inherit(struct cli *cli, json_t *variables,
			bool *ret_is_inherited)
{
	json_auto_t *inherited = environment_own();
	const json_t *pair;
	size_t i;
	int code;

	*ret_is_inherited = false;
	json_array_foreach (inherited, i, pair)
		if (json_is_null(json_array_get(pair, 1)))
			return cli_fail(
				cli, EXIT_FAILED,
				"the inherited %s is not UTF-8",
				json_string_value(json_array_get(pair, 0)));
	if (json_array_size(inherited) == 0)
		return EXIT_DONE;
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
