/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of the manager and of nodes (doc/rfc/keys.md). Nothing here prints a
 * secret, or takes one as an argument: keys go from file to file.
 */
#include <pwd.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/cli/keyring.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"
#include "lanes/proto/keyfile.h"
#include "sys/rng.h"

#define OPTION_KEY                                                          \
	{                                                                   \
		.name = "key", .letter = 'k', .value = "FILE",              \
		.help = "the manager's (default: " KEYRING_MANAGER_FILE ")" \
	}

static const char *key_path(const struct cli *cli)
{
	const char *path = cli_option(cli, "key");

	return path ? path : KEYRING_MANAGER_FILE;
}

static int start(struct cli *cli)
{
	if (sodium_init() < 0)
		return cli_fail(cli, EXIT_FAILED,
				"cannot initialize libsodium");
	return EXIT_DONE;
}

/* The error with the file that it is about. */
static int fail_about(struct cli *cli, const char *path,
		      struct fairlead_error *error)
{
	error_prefix(error, "%s", path);
	return cli_error(cli, error);
}

static int open_keys(struct cli *cli, enum keyring_lock lock,
		     struct keyring *ret_keyring, struct manager_keys *ret_keys)
{
	const char *path = key_path(cli);
	struct fairlead_error error;

	if (keyring_open(path, lock, ret_keyring, &error) < 0)
		return cli_error(cli, &error);
	if (manager_keys_parse(ret_keyring->text, ret_keyring->size, ret_keys,
			       &error) == 0)
		return EXIT_DONE;
	keyring_fini(ret_keyring);
	return fail_about(cli, path, &error);
}

static int write_keys(struct cli *cli, const struct manager_keys *keys,
		      enum keyring_write how, uid_t uid, gid_t gid)
{
	struct writer text = { 0 };
	struct fairlead_error error;
	int result;

	manager_keys_format(keys, &text);
	result = keyring_write(key_path(cli), how, uid, gid, &text, &error);
	keyring_wipe(&text);
	if (result < 0)
		cli_error(cli, &error);
	if (result == -EEXIST)
		cli_hint(cli, "'fairlead key rotate' makes a new key for a "
			      "cluster that has one");
	return cli_exit_code(result);
}

/* --- create --- */

static int run_create(struct cli *cli)
{
	const char *name = cli_option(cli, "user");
	const struct passwd *user = name ? getpwnam(name) : NULL;
	const struct rng_seam rng = sys_rng();
	struct manager_keys keys;
	int code = start(cli);

	if (code != EXIT_DONE)
		return code;
	if (name && !user)
		return cli_misuse(cli, "there is no user '%s'", name);
	manager_keys_create(&rng, &keys);
	code = write_keys(cli, &keys, KEYRING_CREATE,
			  user ? user->pw_uid : geteuid(),
			  user ? user->pw_gid : getegid());
	manager_keys_fini(&keys);
	if (code == EXIT_DONE)
		cli_hint(cli, "now make the nodes' files: 'fairlead key node "
			      "NODES --folder FOLDER'");
	return code;
}

/* --- node --- */

static int write_node(struct cli *cli, const struct manager_keys *keys,
		      const char *name, const char *path)
{
	struct node_keys node;
	struct writer text = { 0 };
	struct fairlead_error error;
	int result = node_keys_make(keys, name, &node, &error);

	if (result < 0)
		return cli_error(cli, &error);
	node_keys_format(&node, &text);
	result = keyring_write(path, KEYRING_REPLACE, geteuid(), getegid(),
			       &text, &error);
	keyring_wipe(&text);
	node_keys_fini(&node);
	if (result < 0)
		return cli_error(cli, &error);
	fprintf(cli->out, "%s\n", path);
	return EXIT_DONE;
}

static int write_nodes(struct cli *cli, const struct manager_keys *keys,
		       const struct hostlist *nodes)
{
	const char *folder = cli_option(cli, "folder");
	const char *output = cli_option(cli, "output");
	int code = EXIT_DONE;

	if (output)
		return write_node(cli, keys, nodes->names[0], output);
	for (size_t i = 0; i < nodes->count && code == EXIT_DONE; i++) {
		_auto_(freep) char *path =
			memory_format("%s/%s.key", folder, nodes->names[i]);

		code = write_node(cli, keys, nodes->names[i], path);
	}
	return code;
}

static int run_node(struct cli *cli)
{
	_auto_(hostlist_destroyp) struct hostlist *nodes = NULL;
	struct fairlead_error error;
	struct manager_keys keys;
	struct keyring keyring;
	int code = start(cli);

	if (code != EXIT_DONE)
		return code;
	if (hostlist_parse(cli_argument(cli, 0), &nodes, &error) < 0)
		return cli_misuse(cli, "%s", error.text);
	if (!cli_option(cli, "folder") == !cli_option(cli, "output"))
		return cli_misuse(cli, "give one of --output and --folder");
	if (cli_option(cli, "output") && nodes->count > 1)
		return cli_misuse(cli, "--output is for one node; --folder "
				       "takes many");
	code = open_keys(cli, KEYRING_SHOW, &keyring, &keys);
	if (code != EXIT_DONE)
		return code;
	code = write_nodes(cli, &keys, nodes);
	manager_keys_fini(&keys);
	keyring_fini(&keyring);
	return code;
}

/* --- rotation --- */

static int rotate(struct manager_keys *keys, struct fairlead_error *ret_error)
{
	const struct rng_seam rng = sys_rng();

	return manager_keys_rotate(keys, &rng, ret_error);
}

static int change(struct cli *cli,
		  int (*fn)(struct manager_keys *keys,
			    struct fairlead_error *ret_error),
		  const char *next)
{
	struct fairlead_error error;
	struct manager_keys keys;
	struct keyring keyring;
	int code = start(cli);

	if (code == EXIT_DONE)
		code = open_keys(cli, KEYRING_CHANGE, &keyring, &keys);
	if (code != EXIT_DONE)
		return code;
	if (fn(&keys, &error) < 0)
		code = fail_about(cli, key_path(cli), &error);
	else
		code = write_keys(cli, &keys, KEYRING_REPLACE, keyring.uid,
				  keyring.gid);
	manager_keys_fini(&keys);
	keyring_fini(&keyring);
	if (code == EXIT_DONE)
		cli_hint(cli, next);
	return code;
}

static int run_rotate(struct cli *cli)
{
	return change(cli, rotate,
		      "1. 'fairlead manager reconfigure'; 2. 'fairlead key "
		      "node' for every node, and reload each; 3. 'fairlead key "
		      "activate'");
}

static int run_activate(struct cli *cli)
{
	return change(cli, manager_keys_activate,
		      "a node without this key obeys nothing once the manager "
		      "signs with it; "
		      "1. 'fairlead manager reconfigure'; 2. 'fairlead key "
		      "node' for every node, and reload each; 3. 'fairlead key "
		      "retire'");
}

/*
 * The manager says which key each node has shown to have (doc/rfc/keys.md). A
 * node that is down or has never registered has shown none, and counts as one
 * that needs the old key.
 */
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

static int check_nodes(struct cli *cli, uint32_t active)
{
	json_auto_t *answer = NULL;
	_auto_(freep) char *behind = NULL;
	int code = remote_ask(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS,
			      "node-list", NULL, &answer);

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
	cli_hint(cli, "run 'fairlead manager reconfigure' after 'fairlead key "
		      "activate'; make the file of each node by 'fairlead key "
		      "node', install it, reload its daemon, and retry; with "
		      "--force these nodes are refused until they have their "
		      "file");
	return EXIT_LATER;
}

static int run_retire(struct cli *cli)
{
	struct manager_keys keys;
	struct keyring keyring;
	uint32_t active = 0;
	bool is_rotating = false;
	int code = start(cli);

	if (code == EXIT_DONE)
		code = open_keys(cli, KEYRING_SHOW, &keyring, &keys);
	if (code != EXIT_DONE)
		return code;
	for (size_t i = 0; i < keys.count; i++) {
		is_rotating |= keys.keys[i].state == KEY_RETIRING;
		if (keys.keys[i].state == KEY_ACTIVE)
			active = keys.keys[i].id;
	}
	manager_keys_fini(&keys);
	keyring_fini(&keyring);
	/* Where there is nothing to retire that is what is wrong. */
	if (is_rotating && !cli_flag(cli, "force"))
		code = check_nodes(cli, active);
	if (code != EXIT_DONE)
		return code;
	return change(cli, manager_keys_retire,
		      "'fairlead manager reconfigure' ends the rotation");
}

/* --- show --- */

static json_t *hex(const uint8_t *bytes, size_t size)
{
	char text[2 * CLUSTER_ID_SIZE + 1];

	sodium_bin2hex(text, sizeof(text), bytes, size);
	return json_string(text);
}

static json_t *show_manager(const struct manager_keys *keys)
{
	struct command_public publics[KEYS_MAX];
	size_t count = manager_keys_publics(keys, publics);
	json_t *list = json_array();

	for (size_t i = 0; i < keys->count && i < count; i++)
		json_array_append_new(
			list,
			json_pack("{s:I, s:s, s:o}", "id",
				  (json_int_t)keys->keys[i].id, "state",
				  key_state_name(keys->keys[i].state), "public",
				  hex(publics[i].bytes, KEY_SIZE)));
	return json_pack("{s:s, s:o, s:o}", "kind", "manager", "cluster",
			 hex(keys->cluster, CLUSTER_ID_SIZE), "keys", list);
}

static json_t *show_node(const struct node_keys *keys)
{
	json_t *list = json_array();

	for (size_t i = 0; i < keys->command_count; i++)
		json_array_append_new(
			list,
			json_pack("{s:I, s:s, s:o}", "id",
				  (json_int_t)keys->commands[i].id, "state",
				  "accepted", "public",
				  hex(keys->commands[i].bytes, KEY_SIZE)));
	return json_pack("{s:s, s:o, s:s, s:o}", "kind", "node", "cluster",
			 hex(keys->cluster, CLUSTER_ID_SIZE), "name",
			 keys->name, "keys", list);
}

static void print_keys(struct cli *cli, const json_t *shown)
{
	static const struct column columns[] = {
		{ "ID", COLUMN_RIGHT, "id" },
		{ "STATE", 0, "state" },
		{ "PUBLIC", 0, "public" },
		{ 0 },
	};
	const char *name = output_text(shown, "name");

	fprintf(cli->out, "%s%s%s of cluster %s\n", output_text(shown, "kind"),
		*name ? " " : "", name, output_text(shown, "cluster"));
	output_table(cli, columns, json_object_get(shown, "keys"));
}

static int run_show(struct cli *cli)
{
	static const char node_title[] = "fairlead-node-key";
	const char *path = cli_argument(cli, 0);
	json_auto_t *shown = NULL;
	struct fairlead_error error;
	struct manager_keys manager;
	struct node_keys node;
	struct keyring keyring;
	int result;
	int code = start(cli);

	if (code != EXIT_DONE)
		return code;
	if (!path)
		path = KEYRING_MANAGER_FILE;
	if (keyring_open(path, KEYRING_SHOW, &keyring, &error) < 0)
		return cli_error(cli, &error);
	if (keyring.size >= strlen(node_title) &&
	    memcmp(keyring.text, node_title, strlen(node_title)) == 0) {
		result = node_keys_parse(keyring.text, keyring.size, &node,
					 &error);
		shown = result < 0 ? NULL : show_node(&node);
		sodium_memzero(&node, sizeof(node));
	} else {
		result = manager_keys_parse(keyring.text, keyring.size,
					    &manager, &error);
		shown = result < 0 ? NULL : show_manager(&manager);
		sodium_memzero(&manager, sizeof(manager));
	}
	keyring_fini(&keyring);
	if (result < 0)
		return fail_about(cli, path, &error);
	return output_answer(cli, shown, print_keys);
}

static const struct option_spec create_options[] = {
	OPTION_KEY,
	{ .name = "user",
	  .letter = 'u',
	  .value = "USER",
	  .help = "owner of the file: the user that the manager runs as" },
	{ 0 },
};

static const struct option_spec node_options[] = {
	OPTION_KEY,
	{ .name = "output", .value = "FILE", .help = "the file for one node" },
	{ .name = "folder",
	  .value = "FOLDER",
	  .help = "folder for a file NODE.key for each node" },
	{ 0 },
};

static const struct option_spec key_options[] = { OPTION_KEY, { 0 } };

static const struct option_spec retire_options[] = {
	OPTION_KEY,
	{ .name = "force",
	  .help = "do not ask the manager which nodes have the active key" },
	OPTION_SOCKET,
	OPTION_TIMEOUT,
	{ 0 },
};

static const struct option_spec show_options[] = {
	OPTION_JSON,
	OPTION_NO_HEADER,
	{ 0 },
};

static const struct subcommand create_command = {
	.name = "create",
	.summary = "Make the manager's key file, for a new cluster",
	.options = create_options,
	.run = run_create,
};

static const struct subcommand node_command = {
	.name = "node",
	.summary = "Make key files for nodes",
	.arguments = "NODES",
	.details = "On a node the file is " KEYRING_NODE_FILE ", mode 0600. "
		   "Each node has its own, and no\nnode may see another's.",
	.options = node_options,
	.run = run_node,
};

static const struct subcommand rotate_command = {
	.name = "rotate",
	.summary = "Stage a new key",
	.options = key_options,
	.run = run_rotate,
};

static const struct subcommand activate_command = {
	.name = "activate",
	.summary = "Sign with the staged key; the old one is retiring",
	.details = "Nodes without the staged key will refuse the manager's "
		   "commands.",
	.options = key_options,
	.run = run_activate,
};

static const struct subcommand retire_command = {
	.name = "retire",
	.summary = "Forget the retiring key",
	.details =
		"First asks the manager which nodes have shown that they have "
		"the active key. While some\nhave not, the exit code is 75, "
		"and nothing changes.",
	.options = retire_options,
	.run = run_retire,
};

static const struct subcommand show_command = {
	.name = "show",
	.summary = "Show what is in a key file, without secrets",
	.arguments = "[FILE]",
	.options = show_options,
	.run = run_show,
};

static const struct subcommand *const commands[] = {
	&create_command,
	&node_command,
	&rotate_command,
	&activate_command,
	&retire_command,
	&show_command,
	NULL,
};

const struct subcommand command_key = {
	.name = "key",
	.summary = "Make and rotate the keys of manager and nodes",
	.commands = commands,
};
