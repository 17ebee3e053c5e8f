/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"

#define TEXTS ((size_t)4 * sizeof(char *))

static const struct fairlead_driver none = {
	.name = "none",
	.settings = &settings_none,
};

static const struct fairlead_setting_spec fast_specs[] = {
	{ "pool", &settings_text, 0, "1" },
	{ "library", &settings_text, sizeof(char *), "/lib",
	  FAIRLEAD_SETTING_RESTART_NODE },
	{ NULL },
};

static const struct fairlead_settings fast_settings = { fast_specs, TEXTS };

static const struct fairlead_driver fast = {
	.name = "fast",
	.settings = &fast_settings,
};

static int wide_configure(const struct fairlead_setting *settings, size_t count,
			  void **ret_state, struct fairlead_error *ret_error)
{
	struct fairlead_error error = { 0 };

	for (size_t i = 0; i < count; i++)
		if (strcmp(settings[i].value, "bad") == 0)
			error_add(&error, -EINVAL, "line %u: '%s': is bad",
				  settings[i].line, settings[i].name);
	*ret_error = error;
	return error.code;
}

static void wide_destroy(void *state)
{
}

static const struct fairlead_manager_ops wide_manager = {
	.configure = wide_configure,
	.destroy = wide_destroy,
};

static const struct fairlead_setting_spec wide_specs[] = {
	{ "pool", &settings_text, 0, "" },
	{ "width", &settings_text, 0, "" },
	{ "map", &settings_file, 0, "", FAIRLEAD_SETTING_FILE },
	{ NULL },
};

static const struct fairlead_settings wide_settings = { wide_specs, TEXTS };

static const struct fairlead_driver wide = {
	.name = "wide",
	.manager = &wide_manager,
	.settings = &wide_settings,
};

static const struct fairlead_driver *const drivers[] = { &none, &fast, &wide };

static int parse(const char *text, unsigned int roles,
		 struct config **ret_config, char **ret_errors)
{
	return config_parse(text, strlen(text), "f", roles, drivers, 3,
			    ret_config, ret_errors);
}

static struct config *assert_parsed(const char *text)
{
	struct config *config = NULL;
	char *errors = NULL;

	if (parse(text, 0, &config, &errors) < 0)
		fail_msg("%s", errors);
	return config;
}

/* The text has exactly these errors. */
static void assert_refused(const char *text, const char *expected)
{
	struct config *config = NULL;
	_auto_(freep) char *errors = NULL;

	assert_int_equal(parse(text, 0, &config, &errors), -EINVAL);
	assert_null(config);
	assert_string_equal(errors, expected);
}

static const char example[] =
	"cluster = \"alpha\"\n"
	"\n"
	"manager {\n"
	"    listen        = \"127.0.0.1:7171\"      # for nodes\n"
	"    socket        = /run/m.sock\n"
	"    state         = '/var/lib/f'   # single quotes\n"
	"    key           = \"/etc/f/manager.key\"\n"
	"    nodes         = \"n[0-127]\"\n"
	"    interconnect  = \"fast\"\n"
	"    user          = \"operator\"\n"
	"    apply_timeout  = 31\n"
	"    revoke_timeout = 11\n"
	"    drain_command = \"/bin/drain\"\n"
	"    undrain_command = \"\"\n"
	"    metrics       = \"[::1]:9471\"\n"
	"    listen_clients = \"[::]:7173\"\n"
	"    munge_socket  = \"/run/m\"\n"
	"    submitter \"slurm\" { uid = 64030 }\n"
	"    submitter flux { uid = 7 }\n"
	"}\n"
	"node {\n"
	"    name = n7\n"
	"    manager = \"manager-host:7171\"\n"
	"    socket = \"/run/n.sock\"\n"
	"    run = \"/run/n\"\n"
	"    jobs = \"/run/j\"\n"
	"    key = \"/etc/f/node.key\"\n"
	"    user = \"nobody\"\n"
	"    incarnation = \"/boot_id\"\n"
	"    epilog_timeout = 6\n"
	"    housekeeping_timeout = 86400\n"
	"}\n"
	"driver \"fast\" {\n"
	"    # a comment\n"
	"    pool = \"1024-2047\"\n"
	"    library = \"/usr/lib/#1\"\n"
	"}\n"
	"driver \"wide\" { }\n"
	"log { level = \"debug\" }\n";

static void every_setting_arrives(void **state)
{
	_auto_(config_destroyp) struct config *config = assert_parsed(example);
	const struct config_manager *manager = &config->manager;
	const struct config_node *node = &config->node;

	assert_string_equal(config->cluster, "alpha");
	assert_string_equal(manager->listen, "127.0.0.1:7171");
	assert_string_equal(manager->socket, "/run/m.sock");
	assert_string_equal(manager->state, "/var/lib/f");
	assert_string_equal(manager->key, "/etc/f/manager.key");
	assert_string_equal(manager->nodes, "n[0-127]");
	assert_string_equal(manager->interconnect, "fast");
	assert_string_equal(manager->user, "operator");
	assert_int_equal(manager->apply_timeout_ms, 31000);
	assert_int_equal(manager->revoke_timeout_ms, 11000);
	assert_string_equal(manager->drain_command, "/bin/drain");
	assert_string_equal(manager->undrain_command, "");
	assert_string_equal(manager->metrics, "[::1]:9471");
	assert_string_equal(manager->listen_clients, "[::]:7173");
	assert_string_equal(manager->munge_socket, "/run/m");
	assert_int_equal(manager->submitter_count, 2);
	assert_string_equal(manager->submitters[0].name, "slurm");
	assert_int_equal(manager->submitters[0].uid, 64030);
	assert_string_equal(manager->submitters[1].name, "flux");
	assert_int_equal(manager->submitters[1].uid, 7);
	assert_string_equal(node->name, "n7");
	assert_string_equal(node->manager, "manager-host:7171");
	assert_string_equal(node->socket, "/run/n.sock");
	assert_string_equal(node->run, "/run/n");
	assert_string_equal(node->jobs, "/run/j");
	assert_string_equal(node->key, "/etc/f/node.key");
	assert_string_equal(node->user, "nobody");
	assert_string_equal(node->incarnation, "/boot_id");
	assert_int_equal(node->epilog_timeout_ms, 6000);
	assert_int_equal(node->housekeeping_timeout_ms, 86400000);
	assert_int_equal(config->log_level, LOG_LEVEL_DEBUG);
}

static void driver_settings_keep_their_lines(void **state)
{
	_auto_(config_destroyp) struct config *config = assert_parsed(example);
	const struct config_driver *driver = config_driver_find(config, "fast");

	assert_non_null(driver);
	assert_ptr_equal(driver->driver, &fast);
	assert_int_equal(driver->line, 33);
	assert_int_equal(driver->setting_count, 2);
	assert_string_equal(driver->settings[0].name, "pool");
	assert_string_equal(driver->settings[0].value, "1024-2047");
	assert_int_equal(driver->settings[0].line, 35);
	assert_string_equal(driver->settings[1].value, "/usr/lib/#1");
	assert_int_equal(driver->settings[1].line, 36);
	driver = config_driver_find(config, "wide");
	assert_non_null(driver);
	assert_int_equal(driver->line, 38);
	assert_int_equal(driver->setting_count, 0);
}

static void an_empty_file_is_the_defaults(void **state)
{
	_auto_(config_destroyp) struct config *config =
		assert_parsed("# nothing\n");

	assert_string_equal(config->manager.listen, "0.0.0.0:7171");
	assert_string_equal(config->manager.nodes, "");
	assert_string_equal(config->manager.interconnect, "none");
	assert_string_equal(config->manager.metrics, "");
	assert_string_equal(config->manager.listen_clients, "");
	assert_string_equal(config->manager.munge_socket, "");
	assert_int_equal(config->manager.apply_timeout_ms, 30000);
	assert_int_equal(config->node.housekeeping_timeout_ms, 300000);
	assert_int_equal(config->log_level, LOG_LEVEL_INFO);
	assert_int_equal(config->driver_count, 1);
	assert_non_null(config_driver_find(config, "none"));
	assert_null(config_driver_find(config, "fast"));
}

static void unknown_names_are_all_reported_with_their_lines(void **state)
{
	assert_refused("colour = \"red\"\n"
		       "manager {\n"
		       "	# comments do not shift lines\n"
		       "	lisen = \"127.0.0.1:1\"\n"
		       "	shape { a = 1 }\n"
		       "	apply_timeout = 0\n"
		       "}\n"
		       "partition \"p\" { nodes = \"}\" }\n"
		       "driver \"fast\" { pol = 1 }\n"
		       "log { level = \"loud\" }\n",
		       "f:1: 'colour': no such setting\n"
		       "f:4: 'lisen': no such setting\n"
		       "f:5: 'shape': no such section\n"
		       "f:6: 'apply_timeout': '0' is not a number of seconds "
		       "from 1 to 3600\n"
		       "f:8: 'partition': no such section\n"
		       "f:9: 'pol': no such setting\n"
		       "f:10: 'level': 'loud' is not error, warning, info or "
		       "debug");
}

static void every_kind_of_value_is_checked(void **state)
{
	assert_refused(
		"cluster = \"a b\"\n"
		"manager {\n"
		"	listen = \"localhost:7171\"\n"
		"	socket = \"manager.sock\"\n"
		"	state = \"\"\n"
		"	nodes = \"n[3-1]\"\n"
		"	interconnect = \"fast\"\n"
		"	user = \"\"\n"
		"	apply_timeout = 1.5\n"
		"	revoke_timeout = 3601\n"
		"	drain_command = \"drain\"\n"
		"	metrics = \"9471\"\n"
		"	listen_clients = \"host:7173\"\n"
		"	munge_socket = \"run\"\n"
		"}\n"
		"node {\n"
		"	name = \"n[1-2]\"\n"
		"	manager = \"host\"\n"
		"	housekeeping_timeout = -1\n"
		"}\n",
		"f:1: 'cluster': 'a b': use 1 to 64 of letters, digits, '.', "
		"'_' and '-'\n"
		"f:3: 'listen': 'localhost:7171' is not numeric; use "
		"0.0.0.0 or [::] to listen everywhere\n"
		"f:4: 'socket': 'manager.sock' is not an absolute path\n"
		"f:5: 'state': must not be empty\n"
		"f:6: 'nodes': backward range at '3-1]' in a host list\n"
		"f:7: 'interconnect': 'fast' is off: it has no section "
		"driver \"fast\" { }\n"
		"f:8: 'user': must not be empty\n"
		"f:9: 'apply_timeout': '1.5' is not a number of seconds "
		"from 1 to 3600\n"
		"f:10: 'revoke_timeout': '3601' is not a number of seconds "
		"from 1 to 3600\n"
		"f:11: 'drain_command': 'drain' is not an absolute path\n"
		"f:12: 'metrics': address '9471' is not HOST:PORT\n"
		"f:13: 'listen_clients': 'host:7173' is not numeric; use "
		"0.0.0.0 or [::] to listen everywhere\n"
		"f:14: 'munge_socket': 'run' is not an absolute path\n"
		"f:17: 'name': 'n[1-2]' is not the name of a node\n"
		"f:18: 'manager': address 'host' is not HOST:PORT\n"
		"f:19: 'housekeeping_timeout': '-1' is not a number of "
		"seconds from 1 to 86400");
}

static void duplicates_are_refused(void **state)
{
	assert_refused("manager { nodes = \"a,b,a\" }\n",
		       "f:1: 'nodes': 'a' is there twice");
	assert_refused("cluster = a\nlog { level = info\nlevel = debug }\n"
		       "cluster = b\n",
		       "f:3: 'level': is set in line 2 already\n"
		       "f:4: 'cluster': is set in line 1 already");
	assert_refused("driver \"fast\" { pool = 1 }\n"
		       "log { }\nlog { }\n"
		       "driver \"fast\" { pool = 2 }\n",
		       "f:3: 'log': the section is in line 2 already\n"
		       "f:4: 'driver': the section is in line 1 already");
}

static void only_lists_of_sections_have_names(void **state)
{
	assert_refused("driver { }\nlog \"a\" { }\n"
		       "manager { submitter { uid = 1 } }\n",
		       "f:1: 'driver': a name is missing, as in driver "
		       "\"NAME\" { }\n"
		       "f:2: 'log': the section has no name, as in log { }\n"
		       "f:3: 'submitter': a name is missing, as in submitter "
		       "\"NAME\" { }");
	assert_refused("submitter \"a\" { uid = 1 }\n",
		       "f:1: 'submitter': no such section");
}

static void submitters_are_checked(void **state)
{
	assert_refused("manager {\n"
		       "submitter \"a/b\" { uid = 1 }\n"
		       "submitter \"none\" { }\n"
		       "submitter \"text\" { uid = me }\n"
		       "submitter \"big\" { uid = 4294967295 }\n"
		       "submitter \"same\" { uid = 1 }\n"
		       "}\n",
		       "f:2: 'submitter': 'a/b': use 1 to 32 of letters, "
		       "digits, '_' and '-'\n"
		       "f:3: submitter 'none': 'uid' is missing\n"
		       "f:4: 'uid': 'me' is not a number from 0 to 4294967294\n"
		       "f:5: 'uid': '4294967295' is not a number from 0 to "
		       "4294967294\n"
		       "f:6: 'uid': 1 is submitter 'a/b' already");
}

static void drivers_are_checked(void **state)
{
	assert_refused("driver \"slow\" { }\n"
		       "driver \"fast\" { width = 3 }\n"
		       "driver \"none\" { pool = 3 }\n",
		       "f:1: driver 'slow' is not built in\n"
		       "f:2: 'width': no such setting\n"
		       "f:3: 'pool': no such setting");
}

static void what_makes_sense_is_checked_beside_errors_of_the_grammar(
	void **state)
{
	assert_refused("log { level = loud }\nmanager = 3\nfabric on\n"
		       "node { name = / }",
		       "f:1: 'level': 'loud' is not error, warning, info or "
		       "debug\n"
		       "f:2: 'manager': no such setting\n"
		       "f:3: 'fabric': = and a value, or { is missing\n"
		       "f:4: 'name': '/' is not the name of a node");
}

static void the_node_role_needs_its_manager(void **state)
{
	_auto_(freep) char *errors = NULL;
	struct config *config = NULL;

	assert_int_equal(parse("", CONFIG_ROLE_NODE, &config, &errors),
			 -EINVAL);
	assert_string_equal(errors,
			    "f: node: 'manager' (HOST:PORT) is missing");
	assert_int_equal(parse("node { manager = \"m:1\" }", CONFIG_ROLE_NODE,
			       &config, &errors),
			 0);
	config_destroy(config);
}

static void restart_is_needed_for_what_cannot_change_live(void **state)
{
	_auto_(config_destroyp) struct config *old = assert_parsed(example);
	_auto_(config_destroyp) struct config *new = assert_parsed(
		"manager { listen = \"127.0.0.1:1\" nodes = \"x\" }\n");
	_auto_(freep) char *manager =
		config_restart_needed(old, new, CONFIG_ROLE_MANAGER);
	_auto_(freep) char *node =
		config_restart_needed(old, new, CONFIG_ROLE_NODE);
	_auto_(freep) char *same =
		config_restart_needed(old, old, CONFIG_ROLE_MANAGER);

	assert_non_null(strstr(manager, "manager listen: '127.0.0.1:1' instead "
					"of '127.0.0.1:7171' needs a restart"));
	assert_null(strstr(manager, "nodes"));
	assert_null(strstr(manager, "node name"));
	assert_non_null(strstr(node, "node socket"));
	assert_string_equal(same, "");
}

static void job_managers_have_a_submitter_and_find_the_manager(void **state)
{
	_auto_(config_destroyp) struct config *plain = assert_parsed("");
	_auto_(config_destroyp) struct config *config = assert_parsed(
		"slurm { submitter = \"west\"\n"
		" conf = /etc/slurm.conf\n grace = 90\n"
		" answer_timeout = 5\n manager = \"tcp://0@head:7172\" }\n"
		"flux { manager = \"/run/m.sock\"\n"
		" commands = \"/opt/flux/bin\" }");

	assert_string_equal(plain->slurm.submitter, "slurm");
	assert_string_equal(plain->slurm.manager, "");
	assert_string_equal(plain->slurm.commands, "/usr/bin");
	assert_string_equal(plain->slurm.conf, "");
	assert_int_equal(plain->slurm.grace_ms, 60000);
	assert_int_equal(config->slurm.grace_ms, 90000);
	assert_int_equal(plain->slurm.answer_timeout_ms, 60000);
	assert_int_equal(config->slurm.answer_timeout_ms, 5000);
	assert_string_equal(plain->flux.submitter, "flux");
	assert_string_equal(config->slurm.submitter, "west");
	assert_string_equal(config->slurm.manager, "tcp://0@head:7172");
	assert_string_equal(config->slurm.conf, "/etc/slurm.conf");
	assert_string_equal(config->flux.manager, "/run/m.sock");
	assert_string_equal(config->flux.commands, "/opt/flux/bin");
	assert_refused(
		"slurm {\n submitter = 'a/b'\n manager = 'head:7172'\n"
		" commands = 'bin'\n hook = x\n}",
		"f:2: 'submitter': 'a/b': use 1 to 32 of letters, "
		"digits, '_' and '-'\n"
		"f:3: 'manager': 'head:7172' is neither an absolute path "
		"nor tcp://[USER@]HOST:PORT\n"
		"f:4: 'commands': 'bin' is not an absolute path\n"
		"f:5: 'hook': no such setting");
}

static void fabric_is_tcp_where_the_machine_is_known(void **state)
{
	_auto_(config_destroyp) struct config *plain = assert_parsed("");
	_auto_(config_destroyp) struct config *config = assert_parsed(
		"fabric { provider = net\n listen = \"[fd00::1]:7172\" }");
	_auto_(freep) char *restart =
		config_restart_needed(plain, config, CONFIG_ROLE_NODE);

	assert_string_equal(plain->fabric.provider, "tcp;ofi_rxm");
	assert_string_equal(plain->fabric.listen, "");
	assert_string_equal(config->fabric.provider, "net");
	assert_string_equal(config->fabric.listen, "[fd00::1]:7172");
	assert_string_equal(restart,
			    "fabric provider: 'net' instead of 'tcp;ofi_rxm' "
			    "needs a restart\n"
			    "fabric listen: '[fd00::1]:7172' instead of '' "
			    "needs a restart");
	assert_refused("fabric {\n provider = 'a,b'\n listen = 'eth0:'\n"
		       " port = 1\n}",
		       "f:2: 'provider': 'a,b' is not the name of a provider, "
		       "such as tcp;ofi_rxm\n"
		       "f:3: 'listen': address 'eth0:': the port is a number "
		       "from 0 to 65535\n"
		       "f:4: 'port': no such setting");
}

static void the_managers_endpoint_may_have_another_address(void **state)
{
	static const char one[] = "node { manager = \"m:1\" }\n"
				  "fabric { listen = \"eth0:7172\" }";
	static const char two[] = "node { manager = \"m:1\" }\n"
				  "fabric { listen = \"eth0:7172\"\n"
				  " listen_manager = \"eth0:7173\" }";
	_auto_(config_destroyp) struct config *config = NULL;
	_auto_(config_destroyp) struct config *alone = NULL;
	_auto_(freep) char *errors = NULL;

	assert_int_equal(parse(one, CONFIG_ROLE_MANAGER, &alone, &errors), 0);
	assert_string_equal(config_fabric_of_manager(&alone->fabric),
			    "eth0:7172");
	assert_int_equal(parse(two, CONFIG_ROLE_MANAGER | CONFIG_ROLE_NODE,
			       &config, &errors),
			 0);
	assert_string_equal(config_fabric_of_manager(&config->fabric),
			    "eth0:7173");
}

static void a_nodes_drivers_need_a_restart(void **state)
{
	_auto_(config_destroyp) struct config *old =
		assert_parsed("driver \"fast\" { pool = \"1\" }\n"
			      "driver \"wide\" { }\n");
	_auto_(config_destroyp) struct config *new = assert_parsed(
		"driver \"fast\" { pool = \"2\" library = \"/lib/x\" }\n");
	_auto_(freep) char *node =
		config_restart_needed(old, new, CONFIG_ROLE_NODE);
	_auto_(freep) char *back =
		config_restart_needed(new, old, CONFIG_ROLE_NODE);
	_auto_(freep) char *same =
		config_restart_needed(new, new, CONFIG_ROLE_NODE);
	_auto_(freep) char *manager =
		config_restart_needed(old, new, CONFIG_ROLE_MANAGER);

	assert_string_equal(node, "driver 'fast' library: '/lib/x' instead "
				  "of '/lib' needs a restart\n"
				  "driver 'wide': off instead of on needs a "
				  "restart");
	assert_string_equal(back, "driver 'fast' library: '/lib' instead of "
				  "'/lib/x' needs a restart\n"
				  "driver 'wide': on instead of off needs a "
				  "restart");
	assert_string_equal(same, "");
	assert_string_equal(manager, "");
}

static void what_changes_live_is_said(void **state)
{
	_auto_(config_destroyp) struct config *old =
		assert_parsed("cluster = \"a\"\n"
			      "manager { undrain_command = \"/bin/false\"\n"
			      "submitter \"slurm\" { uid = 1 }\n"
			      "submitter \"pbs\" { uid = 2 } }\n");
	_auto_(config_destroyp) struct config *new = assert_parsed(
		"cluster = \"b\"\n"
		"manager { drain_command = \"/bin/true\" nodes = \"x\"\n"
		"metrics = \"127.0.0.1:1\"\n"
		"submitter \"slurm\" { uid = 3 }\n"
		"submitter \"flux\" { uid = 2 } }\n"
		"node { name = \"n7\" }\n"
		"log { level = \"debug\" }\n");
	_auto_(freep) char *changes = config_changes(old, new);
	_auto_(freep) char *same = config_changes(new, new);

	assert_string_equal(changes, "cluster: 'a' -> 'b'\n"
				     "manager drain_command: '' -> "
				     "'/bin/true'\n"
				     "manager undrain_command: '/bin/false' -> "
				     "''\n"
				     "log level: 'info' -> 'debug'\n"
				     "submitter 'slurm': uid 1 -> 3\n"
				     "submitter 'flux': added, uid 2\n"
				     "submitter 'pbs': removed");
	assert_string_equal(same, "");
}

struct folder {
	char path[32];
	char file[64];
	char key[64];
};

static int make_folder(void **state)
{
	struct folder *folder = calloc(1, sizeof(*folder));

	strcpy(folder->path, "/tmp/fairlead-config-XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	snprintf(folder->file, sizeof(folder->file), "%s/f", folder->path);
	snprintf(folder->key, sizeof(folder->key), "%s/key", folder->path);
	*state = folder;
	return 0;
}

static int remove_folder(void **state)
{
	struct folder *folder = *state;

	unlink(folder->file);
	unlink(folder->key);
	assert_int_equal(rmdir(folder->path), 0);
	free(folder);
	return 0;
}

static void write_file(const char *path, mode_t mode, const char *text)
{
	_auto_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
}

static int load(const struct folder *folder, struct config **ret_config,
		char **ret_errors)
{
	return config_load(folder->file, 0, drivers, 3, ret_config, ret_errors);
}

static void a_missing_file_is_said(void **state)
{
	const struct folder *folder = *state;
	_auto_(freep) char *errors = NULL;
	struct config *config;

	assert_int_equal(load(folder, &config, &errors), -ENOENT);
	assert_non_null(strstr(errors, folder->file));
	assert_non_null(strstr(errors, "No such file"));
}

static void a_huge_file_is_refused(void **state)
{
	const struct folder *folder = *state;
	_auto_(freep) char *errors = NULL;
	struct config *config;

	write_file(folder->file, 0600, "");
	assert_int_equal(truncate(folder->file, FAIRLEAD_FILE_MAX + 1), 0);
	assert_int_equal(load(folder, &config, &errors), -EFBIG);
	assert_non_null(strstr(errors, "over 1 MiB"));
}

static void a_file_that_others_can_write_is_refused_to_root(void **state)
{
	const struct folder *folder = *state;
	_auto_(freep) char *errors = NULL;
	_auto_(freep) char *owner_errors = NULL;
	struct config *config;

	if (geteuid() != 0) {
		print_message("needs root, to give a file away\n");
		skip();
	}
	write_file(folder->file, 0664, "cluster = a\n");
	assert_int_equal(load(folder, &config, &errors), -EINVAL);
	assert_non_null(strstr(errors, "can be written by others"));
	write_file(folder->file, 0644, "cluster = a\n");
	assert_int_equal(load(folder, &config, &owner_errors), 0);
	config_destroy(config);
	assert_int_equal(chown(folder->file, 65534, 65534), 0);
	assert_int_equal(load(folder, &config, &owner_errors), -EINVAL);
	assert_non_null(strstr(owner_errors, "uid 65534"));
}

/* A manager reads it again when it has given its privileges up. */
static void a_file_that_others_can_write_is_refused_to_its_reader(void **state)
{
	const struct folder *folder = *state;
	static const struct {
		mode_t mode;
		uid_t owner;
		const char *error; /* NULL: none */
	} cases[] = {
		{ 0644, 0, NULL },
		{ 0664, 0, "can be written by others" },
		{ 0646, 0, "can be written by others" },
		{ 0644, 1, "uid 1" },
		{ 0664, 65534, NULL },
	};

	if (geteuid() != 0) {
		print_message("needs root, to be somebody else\n");
		skip();
	}
	assert_int_equal(chmod(folder->path, 0711), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_auto_(freep) char *errors = NULL;
		struct config *config = NULL;
		int result;

		write_file(folder->file, cases[i].mode, "cluster = a\n");
		assert_int_equal(chown(folder->file, cases[i].owner, 0), 0);
		assert_int_equal(seteuid(65534), 0);
		result = load(folder, &config, &errors);
		assert_int_equal(seteuid(0), 0);
		if (cases[i].error == NULL) {
			assert_int_equal(result, 0);
			config_destroy(config);
		} else {
			assert_int_equal(result, -EINVAL);
			assert_non_null(strstr(errors, cases[i].error));
		}
	}
}

static void files_of_a_role_are_checked(void **state)
{
	const struct folder *folder = *state;
	_auto_(freep) char *errors = NULL;
	_auto_(freep) char *more_errors = NULL;
	char text[512];
	_auto_(config_destroyp) struct config *config = NULL;

	snprintf(text, sizeof(text),
		 "manager { key = \"%s\" user = root drain_command = \"%s\" }\n"
		 "node { manager = \"m:1\" key = \"%s\" user = root }\n",
		 folder->key, folder->file, folder->path);
	config = assert_parsed(text);
	assert_int_equal(config_check_files(
				 config, CONFIG_ROLE_MANAGER | CONFIG_ROLE_NODE,
				 &errors),
			 -EINVAL);
	assert_non_null(strstr(errors, "/key: No such file"));
	assert_non_null(strstr(errors, "drain_command: "));
	assert_non_null(strstr(errors, "is not a regular file"));
	write_file(folder->file, 0755, "#!/bin/sh\n");
	write_file(folder->key, 0640, "");
	assert_int_equal(config_check_files(config, CONFIG_ROLE_MANAGER,
					    &more_errors),
			 -EINVAL);
	assert_non_null(strstr(more_errors, "mode 0640"));
	write_file(folder->key, 0600, "");
	assert_int_equal(config_check_files(config, CONFIG_ROLE_MANAGER, NULL),
			 0);
}

/* The manager runs as its user; a node's key is read by the guard only. */
static void a_nodes_key_is_roots(void **state)
{
	const struct folder *folder = *state;
	_auto_(freep) char *errors = NULL;
	_auto_(config_destroyp) struct config *config = NULL;
	char text[512];

	if (geteuid() != 0) {
		print_message("needs root, whose key it is\n");
		skip();
	}
	snprintf(text, sizeof(text),
		 "manager { key = \"%s\" user = nobody }\n"
		 "node { manager = \"m:1\" key = \"%s\" user = nobody }\n",
		 folder->key, folder->key);
	config = assert_parsed(text);
	write_file(folder->key, 0600, "");
	assert_int_equal(config_check_files(
				 config, CONFIG_ROLE_MANAGER | CONFIG_ROLE_NODE,
				 NULL),
			 0);
	assert_int_equal(chown(folder->key, 65534, 65534), 0);
	assert_int_equal(config_check_files(config, CONFIG_ROLE_MANAGER, NULL),
			 0);
	assert_int_equal(config_check_files(config, CONFIG_ROLE_NODE, &errors),
			 -EINVAL);
	assert_non_null(strstr(errors, "belongs to uid 65534"));
}

static void what_drivers_say_stands_at_its_line(void **state)
{
	static const char text[] = "cluster = \"a b\"\n"
				   "driver \"wide\" {\n"
				   "    pool = bad\n"
				   "    colour = red\n"
				   "    width = bad\n"
				   "    width = bad\n"
				   "}\n";
	struct config *config = NULL;
	char *errors = NULL;

	assert_refused(text, "f:1: 'cluster': 'a b': use 1 to 64 of letters, "
			     "digits, '.', '_' and '-'\n"
			     "f:3: 'pool': is bad\n"
			     "f:4: 'colour': no such setting\n"
			     "f:5: 'width': is bad\n"
			     "f:6: 'width': is set in line 5 already\n"
			     "f:6: 'width': is bad");
	/* A node has nothing to do with what the manager decides. */
	assert_int_equal(parse("node { manager = \"m:1\" }\n"
			       "driver \"wide\" { pool = bad }",
			       CONFIG_ROLE_NODE, &config, &errors),
			 0);
	config_destroy(config);
	/* And so has who only asks. */
	assert_int_equal(parse("driver \"wide\" { pool = bad }",
			       CONFIG_ROLE_CLIENT, &config, &errors),
			 0);
	config_destroy(config);
}

/* --- files that settings of drivers name --- */

static void what_a_setting_names_is_read_for_the_manager(void **state)
{
	struct folder *folder = *state;
	const struct config_driver *driver;
	struct config *config = NULL;
	char *errors = NULL;
	char text[512];

	write_file(folder->file, 0644, "n0 elanid=0\n");
	snprintf(text, sizeof(text), "driver \"wide\" { map = \"%s\" }",
		 folder->file);
	config = assert_parsed(text);
	driver = config_driver_find(config, "wide");
	assert_int_equal(driver->settings[0].content_size, 12);
	assert_memory_equal(driver->settings[0].content, "n0 elanid=0\n", 12);
	config_destroy(config);
	snprintf(
		text, sizeof(text),
		"node { manager = \"m:1\" }\ndriver \"wide\" { map = \"/x\" }");
	assert_int_equal(parse(text, CONFIG_ROLE_NODE, &config, &errors), 0);
	driver = config_driver_find(config, "wide");
	assert_null(driver->settings[0].content);
	config_destroy(config);
	/* Where it is not known which role this is it may be elsewhere. */
	config = assert_parsed(text);
	config_destroy(config);
	assert_int_equal(parse(text, CONFIG_ROLE_MANAGER, &config, &errors),
			 -EINVAL);
	assert_non_null(strstr(errors, "'map': /x: No such file"));
	free(errors);
}

static void a_node_does_without_what_it_does_not_have(void **state)
{
	struct folder *folder = *state;
	const struct config_driver *driver;
	struct config *config = NULL;
	char *errors = NULL;
	char text[1024];

	write_file(folder->file, 0644, "n0 elanid=0\n");
	snprintf(text, sizeof(text),
		 "node { manager = \"m:1\" }\n"
		 "driver \"wide\" { map = \"%s\" }",
		 folder->file);
	assert_int_equal(parse(text, CONFIG_ROLE_NODE, &config, &errors), 0);
	driver = config_driver_find(config, "wide");
	assert_int_equal(driver->settings[0].content_size, 12);
	config_destroy(config);
	/* It serves other drivers without; what others can write is refused. */
	assert_int_equal(parse("node { manager = \"m:1\" }\n"
			       "driver \"wide\" { map = \"/x\" }",
			       CONFIG_ROLE_NODE, &config, &errors),
			 0);
	driver = config_driver_find(config, "wide");
	assert_null(driver->settings[0].content);
	config_destroy(config);
	if (geteuid() != 0)
		return;
	assert_int_equal(chmod(folder->file, 0646), 0);
	assert_int_equal(parse(text, CONFIG_ROLE_NODE, &config, &errors),
			 -EINVAL);
	assert_non_null(strstr(errors, "'map'"));
	free(errors);
}

static void refuse_map(const char *path, const char *what)
{
	char text[512], expected[600];

	snprintf(text, sizeof(text), "\ndriver \"wide\" { map = \"%s\" }",
		 path);
	snprintf(expected, sizeof(expected), "f:2: 'map': %s", what);
	assert_refused(text, expected);
}

static void a_file_that_cannot_be_believed_is_refused(void **state)
{
	struct folder *folder = *state;
	char expected[512];

	refuse_map("etc/genders", "'etc/genders' is not an absolute path");
	refuse_map("/", "/: is not a regular file");
	write_file(folder->file, 0646, "n0 elanid=0\n");
	snprintf(expected, sizeof(expected),
		 "%s: can be written by others than root (chmod go-w)",
		 folder->file);
	if (geteuid() == 0)
		refuse_map(folder->file, expected);
	assert_int_equal(chmod(folder->file, 0644), 0);
	assert_int_equal(truncate(folder->file, FAIRLEAD_FILE_MAX + 1), 0);
	snprintf(expected, sizeof(expected), "%s: is over 1 MiB", folder->file);
	refuse_map(folder->file, expected);
	if (geteuid() != 0)
		return;
	assert_int_equal(truncate(folder->file, 5), 0);
	assert_int_equal(chown(folder->file, 65534, 65534), 0);
	snprintf(expected, sizeof(expected),
		 "%s: belongs to uid 65534; it has to be root's (chown root)",
		 folder->file);
	refuse_map(folder->file, expected);
}

int main(void)
{
#define WITH_FOLDER(test) \
	cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_setting_arrives),
		cmocka_unit_test(driver_settings_keep_their_lines),
		cmocka_unit_test(an_empty_file_is_the_defaults),
		cmocka_unit_test(
			unknown_names_are_all_reported_with_their_lines),
		cmocka_unit_test(every_kind_of_value_is_checked),
		cmocka_unit_test(duplicates_are_refused),
		cmocka_unit_test(submitters_are_checked),
		cmocka_unit_test(drivers_are_checked),
		cmocka_unit_test(only_lists_of_sections_have_names),
		cmocka_unit_test(
			what_makes_sense_is_checked_beside_errors_of_the_grammar),
		cmocka_unit_test(what_drivers_say_stands_at_its_line),
		WITH_FOLDER(what_a_setting_names_is_read_for_the_manager),
		WITH_FOLDER(a_node_does_without_what_it_does_not_have),
		WITH_FOLDER(a_file_that_cannot_be_believed_is_refused),
		cmocka_unit_test(the_node_role_needs_its_manager),
		cmocka_unit_test(restart_is_needed_for_what_cannot_change_live),
		cmocka_unit_test(
			job_managers_have_a_submitter_and_find_the_manager),
		cmocka_unit_test(fabric_is_tcp_where_the_machine_is_known),
		cmocka_unit_test(
			the_managers_endpoint_may_have_another_address),
		cmocka_unit_test(a_nodes_drivers_need_a_restart),
		cmocka_unit_test(what_changes_live_is_said),
		WITH_FOLDER(a_missing_file_is_said),
		WITH_FOLDER(a_huge_file_is_refused),
		WITH_FOLDER(a_file_that_others_can_write_is_refused_to_root),
		WITH_FOLDER(
			a_file_that_others_can_write_is_refused_to_its_reader),
		WITH_FOLDER(files_of_a_role_are_checked),
		WITH_FOLDER(a_nodes_key_is_roots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
