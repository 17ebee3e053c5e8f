/* SPDX-License-Identifier: BSD-3-Clause */
/* What a text becomes, and which errors it has. */
#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
	_auto_(config_destroyp) struct config *config =
		config_test_parsed(example);
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
	_auto_(config_destroyp) struct config *config =
		config_test_parsed(example);
	const struct config_driver *driver = config_driver_find(config, "fast");

	assert_non_null(driver);
	assert_ptr_equal(driver->driver, config_test_drivers[1]);
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
		config_test_parsed("# nothing\n");

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
	config_test_refused(
		"colour = \"red\"\n"
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
	config_test_refused(
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

static void sockets_have_paths_that_fit(void **state)
{
	char long_path[120], text[256];

	memset(long_path, 'x', sizeof(long_path));
	long_path[0] = '/';
	long_path[108] = '\0';
	snprintf(text, sizeof(text), "manager { socket = \"%s\" }\n",
		 long_path);
	config_test_refused(text, "f:1: 'socket': path of a socket is longer "
				  "than 107 bytes");
	snprintf(text, sizeof(text), "slurm { manager = \"%s\" }\n", long_path);
	config_test_refused(text, "f:1: 'manager': path of a socket is longer "
				  "than 107 bytes");
	long_path[107] = '\0';
	snprintf(text, sizeof(text), "manager { socket = \"%s\" }\n",
		 long_path);
	config_destroy(config_test_parsed(text));
}

static void duplicates_are_refused(void **state)
{
	config_test_refused("manager { nodes = \"a,b,a\" }\n",
			    "f:1: 'nodes': 'a' is there twice");
	config_test_refused("cluster = a\nlog { level = info\nlevel = debug }\n"
			    "cluster = b\n",
			    "f:3: 'level': is set in line 2 already\n"
			    "f:4: 'cluster': is set in line 1 already");
	config_test_refused("driver \"fast\" { pool = 1 }\n"
			    "log { }\nlog { }\n"
			    "driver \"fast\" { pool = 2 }\n",
			    "f:3: 'log': the section is in line 2 already\n"
			    "f:4: 'driver': the section is in line 1 already");
}

static void only_lists_of_sections_have_names(void **state)
{
	config_test_refused(
		"driver { }\nlog \"a\" { }\n"
		"manager { submitter { uid = 1 } }\n",
		"f:1: 'driver': a name is missing, as in driver "
		"\"NAME\" { }\n"
		"f:2: 'log': the section has no name, as in log { }\n"
		"f:3: 'submitter': a name is missing, as in submitter "
		"\"NAME\" { }");
	config_test_refused("submitter \"a\" { uid = 1 }\n",
			    "f:1: 'submitter': no such section");
}

static void submitters_are_checked(void **state)
{
	config_test_refused(
		"manager {\n"
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
	config_test_refused("driver \"slow\" { }\n"
			    "driver \"fast\" { width = 3 }\n"
			    "driver \"none\" { pool = 3 }\n",
			    "f:1: driver 'slow' is not built in\n"
			    "f:2: 'width': no such setting\n"
			    "f:3: 'pool': no such setting");
}

static void what_makes_sense_is_checked_beside_errors_of_the_grammar(
	void **state)
{
	config_test_refused(
		"log { level = loud }\nmanager = 3\nfabric on\n"
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

	assert_int_equal(config_test_parse("", CONFIG_ROLE_NODE, &config,
					   &errors),
			 -EINVAL);
	assert_string_equal(errors,
			    "f: node: 'manager' (HOST:PORT) is missing");
	assert_int_equal(config_test_parse("node { manager = \"m:1\" }",
					   CONFIG_ROLE_NODE, &config, &errors),
			 0);
	config_destroy(config);
}

static void restart_is_needed_for_what_cannot_change_live(void **state)
{
	_auto_(config_destroyp) struct config *old =
		config_test_parsed(example);
	_auto_(config_destroyp) struct config *new = config_test_parsed(
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
	_auto_(config_destroyp) struct config *plain = config_test_parsed("");
	_auto_(config_destroyp) struct config *config = config_test_parsed(
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
	config_test_refused(
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
	_auto_(config_destroyp) struct config *plain = config_test_parsed("");
	_auto_(config_destroyp) struct config *config = config_test_parsed(
		"fabric { provider = net\n listen = \"[fd00::1]:7172\" }");
	_auto_(freep) char *restart =
		config_restart_needed(plain, config, CONFIG_ROLE_NODE);

	assert_string_equal(plain->fabric.provider, "tcp");
	assert_string_equal(plain->fabric.listen, "");
	assert_string_equal(config->fabric.provider, "net");
	assert_string_equal(config->fabric.listen, "[fd00::1]:7172");
	assert_string_equal(restart,
			    "fabric provider: 'net' instead of 'tcp' "
			    "needs a restart\n"
			    "fabric listen: '[fd00::1]:7172' instead of '' "
			    "needs a restart");
	config_test_refused(
		"fabric {\n provider = 'a,b'\n listen = 'eth0:'\n"
		" port = 1\n}",
		"f:2: 'provider': 'a,b' is neither tcp nor the name of a "
		"provider of libfabric, such as verbs;ofi_rxm\n"
		"f:3: 'listen': address 'eth0:': the port is a number "
		"from 0 to 65535\n"
		"f:4: 'port': no such setting");
}

static void endpoints_of_both_roles_have_a_port_each(void **state)
{
	static const char one[] = "node { manager = \"m:1\" }\n"
				  "fabric { listen = \"eth0:7172\" }";
	static const char two[] = "node { manager = \"m:1\" }\n"
				  "fabric { listen = \"eth0:7172\"\n"
				  " listen_manager = \"eth0:7173\" }";
	_auto_(config_destroyp) struct config *config = NULL;
	_auto_(config_destroyp) struct config *alone = NULL;
	_auto_(freep) char *errors = NULL;

	assert_int_equal(config_test_parse(one, CONFIG_ROLE_MANAGER, &alone,
					   &errors),
			 0);
	assert_string_equal(config_fabric_of_manager(&alone->fabric),
			    "eth0:7172");
	assert_int_equal(
		config_test_parse(one, CONFIG_ROLE_MANAGER | CONFIG_ROLE_NODE,
				  &config, &errors),
		-EINVAL);
	assert_non_null(strstr(errors, "f:2: 'listen': "));
	assert_non_null(strstr(errors, "'listen_manager'"));
	free(take_ptr(errors));
	assert_int_equal(
		config_test_parse(two, CONFIG_ROLE_MANAGER | CONFIG_ROLE_NODE,
				  &config, &errors),
		0);
	assert_string_equal(config_fabric_of_manager(&config->fabric),
			    "eth0:7173");
}

static void assert_ports(const char *text, const char *error)
{
	_auto_(config_destroyp) struct config *config = NULL;
	_auto_(freep) char *errors = NULL;
	int result =
		config_test_parse(text, CONFIG_ROLE_MANAGER, &config, &errors);

	if (*error == 0) {
		assert_int_equal(result, 0);
	} else {
		assert_int_equal(result, -EINVAL);
		assert_non_null(strstr(errors, error));
	}
}

static void listeners_of_a_manager_have_a_port_each(void **state)
{
	_auto_(config_destroyp) struct config *config = NULL;
	_auto_(freep) char *errors = NULL;

	assert_ports("fabric { listen = \"10.0.0.1:7171\" }",
		     "f:1: 'listen': port 7171 is that of 'listen' in the "
		     "section 'manager'");
	assert_ports("manager { listen = \"127.0.0.1:7391\" }\n"
		     "fabric { listen_manager = \"127.0.0.1:7391\" }",
		     "f:2: 'listen_manager': port 7391 ");
	assert_ports("manager { listen = \"127.0.0.1:7391\" }\n"
		     "fabric { listen = \"lo:7391\" }",
		     "f:2: 'listen': port 7391 ");
	assert_ports("manager { listen = \"[::]:7391\"\n"
		     " metrics = \"127.0.0.1:7391\" }",
		     "f:2: 'metrics': port 7391 ");
	assert_ports("manager { listen_clients = \"[fd00::1]:8\"\n"
		     " metrics = \"[fd00::1]:8\" }",
		     "f:2: 'metrics': port 8 is that of 'listen_clients' ");
	assert_ports("manager { listen = \"127.0.0.1:7391\"\n"
		     " metrics = \"[::1]:7391\" }",
		     "");
	assert_ports("manager { listen = \"10.0.0.1:7391\" }\n"
		     "fabric { listen = \"10.0.0.2:7391\" }",
		     "");
	assert_ports("manager { listen = \"10.0.0.1:7391\" }\n"
		     "fabric { listen = \"lo:7391\"\n"
		     " listen_manager = \"lo:7392\" }",
		     "");
	assert_int_equal(config_test_parse("manager { listen = \"[::1]:8\"\n"
					   " metrics = \"[::1]:8\" }",
					   0, &config, &errors),
			 -EINVAL);
	assert_ports("manager { listen = \"127.0.0.1:0\"\n"
		     " metrics = \"127.0.0.1:0\" }",
		     "");
}

static void a_nodes_drivers_need_a_restart(void **state)
{
	_auto_(config_destroyp) struct config *old =
		config_test_parsed("driver \"fast\" { pool = \"1\" }\n"
				   "driver \"wide\" { }\n");
	_auto_(config_destroyp) struct config *new = config_test_parsed(
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
	_auto_(config_destroyp) struct config *old = config_test_parsed(
		"cluster = \"a\"\n"
		"manager { undrain_command = \"/bin/false\"\n"
		"submitter \"slurm\" { uid = 1 }\n"
		"submitter \"pbs\" { uid = 2 } }\n");
	_auto_(config_destroyp) struct config *new = config_test_parsed(
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

	config_test_refused(text,
			    "f:1: 'cluster': 'a b': use 1 to 64 of letters, "
			    "digits, '.', '_' and '-'\n"
			    "f:3: 'pool': is bad\n"
			    "f:4: 'colour': no such setting\n"
			    "f:5: 'width': is bad\n"
			    "f:6: 'width': is set in line 5 already\n"
			    "f:6: 'width': is bad");
	/* A node has nothing to do with what the manager decides. */
	assert_int_equal(config_test_parse("node { manager = \"m:1\" }\n"
					   "driver \"wide\" { pool = bad }",
					   CONFIG_ROLE_NODE, &config, &errors),
			 0);
	config_destroy(config);
	/* And so has who only asks. */
	assert_int_equal(config_test_parse("driver \"wide\" { pool = bad }",
					   CONFIG_ROLE_CLIENT, &config,
					   &errors),
			 0);
	config_destroy(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_setting_arrives),
		cmocka_unit_test(driver_settings_keep_their_lines),
		cmocka_unit_test(an_empty_file_is_the_defaults),
		cmocka_unit_test(
			unknown_names_are_all_reported_with_their_lines),
		cmocka_unit_test(every_kind_of_value_is_checked),
		cmocka_unit_test(sockets_have_paths_that_fit),
		cmocka_unit_test(duplicates_are_refused),
		cmocka_unit_test(submitters_are_checked),
		cmocka_unit_test(drivers_are_checked),
		cmocka_unit_test(only_lists_of_sections_have_names),
		cmocka_unit_test(
			what_makes_sense_is_checked_beside_errors_of_the_grammar),
		cmocka_unit_test(what_drivers_say_stands_at_its_line),
		cmocka_unit_test(the_node_role_needs_its_manager),
		cmocka_unit_test(restart_is_needed_for_what_cannot_change_live),
		cmocka_unit_test(
			job_managers_have_a_submitter_and_find_the_manager),
		cmocka_unit_test(fabric_is_tcp_where_the_machine_is_known),
		cmocka_unit_test(endpoints_of_both_roles_have_a_port_each),
		cmocka_unit_test(listeners_of_a_manager_have_a_port_each),
		cmocka_unit_test(a_nodes_drivers_need_a_restart),
		cmocka_unit_test(what_changes_live_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
