/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A role is looked at where there is a trace of it: its key file or its socket.
 * On a machine with neither there is nothing that could be well, but for a job
 * manager's own.
 */
#include "lanes/cli/doctor_beside.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"
#include "lanes/cli/config_path.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"
#include "lanes/driver/driver.h"

static const struct option_spec options[] = {
	{ .name = "slurm",
	  .help = "also check Slurm and its calls of Fairlead" },
	{ .name = "flux", .help = "also check Flux and its Fairlead plugins" },
	OPTION_CONFIG,
	OPTION_JSON,
	OPTION_NO_HEADER,
	{ 0 },
};

static const char *const level_names[] = {
	[DOCTOR_OK] = "OK",
	[DOCTOR_SKIP] = "SKIP",
	[DOCTOR_WARN] = "WARN",
	[DOCTOR_FAIL] = "FAIL",
};

void doctor_say(struct doctor *doctor, enum doctor_level level,
		const char *check, const char *advice, const char *format, ...)
{
	_auto_(freep) char *clean_advice = memory_text(advice ? advice : "");
	_auto_(freep) char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		memory_end();
	va_end(args);
	text_clean(text);
	text_clean(clean_advice);
	if (level == DOCTOR_FAIL)
		doctor->failed_count++;
	json_array_append_new(doctor->findings,
			      json_pack("{s:s, s:s, s:s, s:s}", "level",
					level_names[level], "check", check,
					"text", text, "advice", clean_advice));
}

static void check_config(struct doctor *doctor, struct config **ret_config)
{
	_auto_(freep) char *path = config_path(doctor->cli);
	_auto_(freep) char *errors = NULL;

	if (config_read(doctor->cli, 0, ret_config, &errors) == 0) {
		doctor->config = *ret_config;
		doctor->cli->manager = (*ret_config)->manager.socket;
		doctor->cli->node = (*ret_config)->node.socket;
		doctor_say(doctor, DOCTOR_OK, "configuration", NULL,
			   "%s is good", path);
		return;
	}
	doctor_say(doctor, DOCTOR_FAIL, "configuration",
		   "fix the file; 'fairleadd --check-config' checks it", "%s",
		   errors);
}

static bool is_there(const char *path)
{
	return path && *path &&
	       (doctor_is_url(path) || access(path, F_OK) == 0);
}

/* The manager's munged on its machine, else the one of clients. */
static void check_munge(struct doctor *doctor, const char *manager)
{
	const struct config *config = doctor->config;
	const char *path = secure_getenv("FAIRLEAD_MUNGE_SOCKET");

	if (config && *config->manager.listen_clients)
		doctor_check_munge(doctor, config->manager.munge_socket);
	else if (doctor_is_url(manager))
		doctor_check_munge(doctor, path ? path : "");
}

static void check_roles(struct doctor *doctor)
{
	const struct config *config = doctor->config;
	const char *manager = remote_socket(doctor->cli, REMOTE_MANAGER);
	const char *node = remote_socket(doctor->cli, REMOTE_NODE);
	unsigned int roles = 0;

	if (is_there(manager) || (config && is_there(config->manager.key)))
		roles |= CONFIG_ROLE_MANAGER;
	if (is_there(node) || (config && is_there(config->node.key)))
		roles |= CONFIG_ROLE_NODE;
	if (!roles && !cli_flag(doctor->cli, "slurm") &&
	    !cli_flag(doctor->cli, "flux"))
		doctor_say(doctor, DOCTOR_FAIL, "roles",
			   "start fairleadd, or look at the machine where it "
			   "runs",
			   "no trace of a manager or a node: no key, and no "
			   "socket at %s or %s",
			   manager, node);
	doctor_check_files(doctor, roles);
	if (roles & CONFIG_ROLE_MANAGER) {
		check_munge(doctor, manager);
		doctor_check_manager(doctor, manager);
	}
	if (roles & CONFIG_ROLE_NODE)
		doctor_check_node(doctor, node);
	json_decref(doctor->node_keys);
	doctor->node_keys = NULL;
}

static void print_findings(struct cli *cli, const json_t *answer)
{
	static const struct column columns[] = {
		{ "LEVEL", COLUMN_STATE, "level" },
		{ "CHECK", 0, "check" },
		{ "FOUND", COLUMN_WRAP, "text" },
		{ "WHAT TO DO", COLUMN_WRAP, "advice" },
		{ 0 },
	};

	output_table(cli, columns, json_object_get(answer, "findings"));
}

static int doctor_run(struct cli *cli)
{
	_auto_(config_destroyp) struct config *config = NULL;
	json_auto_t *findings = json_array();
	json_auto_t *answer = NULL;
	json_auto_t *seen_nodes = json_object();
	json_auto_t *known_objects = json_object();
	struct doctor doctor = { .cli = cli,
				 .findings = findings,
				 .seen_nodes = seen_nodes,
				 .known_objects = known_objects };

	check_config(&doctor, &config);
	check_roles(&doctor);
	if (cli_flag(cli, "slurm"))
		doctor_check_slurm(&doctor);
	if (cli_flag(cli, "flux"))
		doctor_check_flux(&doctor);
	cli->manager = cli->node = NULL;
	answer = json_pack("{s:O, s:i}", "findings", findings, "failed",
			   doctor.failed_count);
	if (output_answer(cli, answer, print_findings) != EXIT_DONE)
		return EXIT_FAILED;
	return doctor.failed_count > 0 ? EXIT_FAILED : EXIT_DONE;
}

const struct subcommand command_doctor = {
	.name = "doctor",
	.summary = "Find what is wrong on this machine and how to fix it",
	.details =
		"Each check is OK, SKIP (it could not be made, mostly for want "
		"of root), WARN or FAIL. The\nexit code is 1 when one is "
		"FAIL.",
	.options = options,
	.run = doctor_run,
};
