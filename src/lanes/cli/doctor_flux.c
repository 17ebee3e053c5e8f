/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flux, as its broker on this machine tells, beside our configuration. The job
 * manager, with our jobtap plugin, is the first broker's: any broker asks it,
 * but what is in files is looked at where it counts.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/memory.h"
#include "fairlead.h"
#include "lanes/cli/child.h"
#include "lanes/cli/doctor_beside.h"
#include "lanes/cli/doctor_flux_shell.h"
#include "lanes/cli/flux/said.h"
#include "lanes/cli/remote.h"

#define PLUGINS "/usr/lib/fairlead/flux" /* where ours are installed */
#define JOBTAP  "jobtap plugin"
#define MANAGER "manager of Flux"

struct doctor_flux {
	struct doctor *doctor;
	const struct config *config;
	uid_t owner;   /* the instance's */
	uint32_t rank; /* of the broker on this machine; 0 is the first */
	json_t *nodes; /* Flux's, an object; NULL: not known */
	bool is_node;  /* this machine is one */
	bool is_loaded;
	struct flux_jobtap jobtap; /* when is_loaded */
};

/* --- what Flux says --- */

static int ask(const struct doctor_flux *flux, char **ret_text,
	       struct fairlead_error *ret_error, const char *const *argv)
{
	return child_run(flux->config->flux.commands, argv, CHILD_TIMEOUT_MS,
			 ret_text, NULL, ret_error);
}

/* The value of a broker's attribute; NULL: it has none. The caller frees it. */
static char *attribute(const struct doctor_flux *flux, const char *name)
{
	const char *const argv[] = { "flux", "getattr", name, NULL };
	struct fairlead_error error;
	char *text = NULL;

	if (ask(flux, &text, &error, argv) < 0)
		return NULL;
	text[strcspn(text, "\n")] = 0;
	return text;
}

static bool read_number(const struct doctor_flux *flux, const char *name,
			uint32_t *ret_number)
{
	_auto_(freep) char *text = attribute(flux, name);

	return text && flux_number(text, ret_number);
}

/* Is there an instance that has lanes of its own? */
static bool read_instance(struct doctor_flux *flux)
{
	_auto_(freep) char *level = attribute(flux, "instance-level");
	_auto_(freep) char *version = NULL;
	uint32_t owner;

	if (!level) {
		doctor_say(flux->doctor, DOCTOR_FAIL, "Flux",
			   "run this where a broker runs, as a user that it "
			   "answers; 'commands' of the section 'flux' is the "
			   "folder of 'flux'",
			   "'%s/flux getattr instance-level' failed",
			   flux->config->flux.commands);
		return false;
	}
	if (strcmp(level, "0") != 0) {
		doctor_say(flux->doctor, DOCTOR_SKIP, "Flux",
			   "run this outside of the job",
			   "this is an instance of Flux within a job, whose "
			   "jobs share the lane of that job");
		return false;
	}
	if (!read_number(flux, "security.owner", &owner) ||
	    !read_number(flux, "rank", &flux->rank)) {
		doctor_say(flux->doctor, DOCTOR_FAIL, "Flux", NULL,
			   "'flux getattr' prints no owner of the instance, or "
			   "no rank of this broker");
		return false;
	}
	flux->owner = owner;
	version = attribute(flux, "version");
	doctor_say(flux->doctor, DOCTOR_OK, "Flux", NULL,
		   "version %s, an instance of uid %u; broker %" PRIu32
		   " is here",
		   version ? version : "unknown", flux->owner, flux->rank);
	return true;
}

static void read_nodes(struct doctor_flux *flux)
{
	static const char *const argv[] = { "flux", "resource",   "list",
					    "-s",   "all",        "--no-header",
					    "-o",   "{nodelist}", NULL };
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;
	_auto_(freep) char *text = NULL;
	struct fairlead_error error;
	char host[256];
	int result = ask(flux, &text, &error, argv);

	if (result == 0) {
		text[strcspn(text, "\n")] = 0;
		result = hostlist_parse(text, &list, &error);
	}
	if (result < 0) {
		doctor_say(flux->doctor, DOCTOR_FAIL, "Flux's nodes",
			   "'flux resource list' has to list them", "%s",
			   error.text);
		return;
	}
	doctor_host(host, sizeof(host));
	flux->nodes = json_object();
	for (size_t i = 0; i < list->count; i++) {
		json_object_set_new(flux->nodes, list->names[i], json_true());
		if (doctor_is_host(host, list->names[i]))
			flux->is_node = true;
	}
}

/* --- the jobtap plugin: is it there? --- */

/* Does the first broker's configuration load it? */
static void check_config(const struct doctor_flux *flux)
{
	static const char *const argv[] = { "flux", "config", "get", NULL };
	_auto_(freep) char *text = NULL;
	struct fairlead_error error;
	bool loads = false;
	int result;

	if (flux->rank != 0) {
		doctor_say(flux->doctor, DOCTOR_SKIP, JOBTAP,
			   "retry on the machine of rank 0",
			   "the configuration that loads it is the first "
			   "broker's");
		return;
	}
	result = ask(flux, &text, &error, argv);
	if (result == 0)
		result = flux_config_loads(text, FLUX_JOBTAP_FILE, &loads,
					   &error);
	if (result < 0)
		doctor_say(flux->doctor, DOCTOR_FAIL, JOBTAP, NULL, "%s",
			   error.text);
	else if (loads && flux->is_loaded)
		doctor_say(flux->doctor, DOCTOR_OK, JOBTAP, NULL,
			   "it is loaded, and Flux's configuration has it");
	else if (loads)
		doctor_say(flux->doctor, DOCTOR_FAIL, JOBTAP,
			   "'flux dmesg' says why not; restart Flux, or 'flux "
			   "jobtap load " PLUGINS "/" FLUX_JOBTAP_FILE "'",
			   "Flux's configuration has it, and it is not loaded: "
			   "no job gets a lane");
	else
		doctor_say(flux->doctor,
			   flux->is_loaded ? DOCTOR_WARN : DOCTOR_FAIL, JOBTAP,
			   "in conf.d, where [job-manager] is: plugins = [ { "
			   "load = \"" PLUGINS "/" FLUX_JOBTAP_FILE "\" } ]",
			   flux->is_loaded
				   ? "it was loaded by hand, and is gone when "
				     "Flux starts again"
				   : "it is not loaded: no job gets a lane");
}

static void check_file(const struct doctor_flux *flux)
{
	const char *path = flux->jobtap.path;

	if (flux->rank == 0 && *path == '/' &&
	    doctor_is_open(path, flux->owner))
		doctor_say(flux->doctor, DOCTOR_FAIL, JOBTAP,
			   "chown root and chmod go-w it and its folder: the "
			   "first broker loads it",
			   "%s can be changed by others", path);
	if (strcmp(flux->jobtap.version, FAIRLEAD_VERSION) != 0)
		doctor_say(flux->doctor, DOCTOR_WARN, "version",
			   "flux jobtap load --remove=" FLUX_JOBTAP_FILE
			   " " PLUGINS "/" FLUX_JOBTAP_FILE,
			   "the jobtap plugin is version %s, this "
			   "program " FAIRLEAD_VERSION,
			   flux->jobtap.version);
}

/* Do others make lanes beside ours? */
static void check_rivals(const struct doctor_flux *flux, const char *list)
{
	_auto_(freep) char *rival = flux_list_rival(list);

	if (rival)
		doctor_say(flux->doctor, DOCTOR_FAIL, "other plugins",
			   "take it out of [job-manager] plugins, and 'flux "
			   "jobtap remove' it",
			   "%s is loaded: both would make lanes, and answer "
			   "-o cray-slingshot",
			   rival);
	else
		doctor_say(flux->doctor, DOCTOR_OK, "other plugins", NULL,
			   "no jobtap plugin makes lanes beside ours");
}

static bool read_jobtap(struct doctor_flux *flux)
{
	static const char *const list_argv[] = { "flux", "jobtap", "list",
						 NULL };
	static const char *const query_argv[] = { "flux", "jobtap", "query",
						  FLUX_JOBTAP_FILE, NULL };
	_auto_(freep) char *list = NULL;
	_auto_(freep) char *text = NULL;
	struct fairlead_error error;
	int result = ask(flux, &list, &error, list_argv);

	if (result == 0 && flux_list_has(list, FLUX_JOBTAP_FILE)) {
		result = ask(flux, &text, &error, query_argv);
		if (result == 0)
			result = flux_jobtap_parse(text, &flux->jobtap, &error);
		flux->is_loaded = result == 0;
	}
	if (result < 0) {
		doctor_say(
			flux->doctor, DOCTOR_FAIL, JOBTAP,
			"run this as the instance's owner; root may ask where "
			"Flux has access.allow-root-owner",
			"%s", error.text);
		return false;
	}
	check_config(flux);
	check_rivals(flux, list);
	return flux->is_loaded;
}

/* --- its settings beside ours --- */

static void check_setting(const struct doctor_flux *flux,
			  enum doctor_level level, const char *name,
			  const char *value, const char *wanted,
			  const char *why)
{
	doctor_check_setting(flux->doctor, level, JOBTAP,
			     "[fairlead], then 'flux config reload'", name,
			     value, wanted, why);
}

static void check_default(const struct doctor_flux *flux)
{
	const char *value = flux->jobtap.otherwise;
	const char *wanted = doctor_default(flux->config);
	bool is_none = strcmp(value, "none") == 0;

	if (is_none)
		check_setting(flux, DOCTOR_FAIL, "default", value, wanted,
			      "jobs without an option get no lane");
	else if (strcmp(wanted, "none") == 0)
		check_setting(
			flux, DOCTOR_FAIL, "default", value, wanted,
			"jobs without an option wait for the manager, and "
			"are refused when it is down, for no lane");
	else
		check_setting(flux, DOCTOR_WARN, "default", value, wanted,
			      "Flux does the same for both, but readers of its "
			      "configuration are misled");
}

static void check_timeout(const struct doctor_flux *flux, const char *name,
			  double seconds, const char *ours, uint32_t ours_ms)
{
	_auto_(freep) char *advice = NULL;

	advice = memory_format("in [fairlead]: %s = \"%" PRIu32
			       "s\"; or make '%s' of fairlead.conf shorter",
			       name, ours_ms / 1000 + 30, ours);
	if (seconds > 0 && seconds * 1000 <= ours_ms)
		doctor_say(
			flux->doctor, DOCTOR_WARN, JOBTAP, advice,
			"%s is %g s, and the manager may take %" PRIu32
			" s (%s): a node that does not answer is never named",
			name, seconds, ours_ms / 1000, ours);
}

static void check_settings(const struct doctor_flux *flux)
{
	const struct config_manager *manager = &flux->config->manager;

	check_default(flux);
	check_setting(flux, DOCTOR_FAIL, "submitter", flux->jobtap.submitter,
		      flux->config->flux.submitter,
		      "'fairlead reconcile' looks for others' jobs");
	/* Other machines may reach the manager in another way. */
	if (flux->rank == 0)
		check_setting(
			flux, *flux->jobtap.manager ? DOCTOR_FAIL : DOCTOR_WARN,
			"manager",
			*flux->jobtap.manager ? flux->jobtap.manager
					      : FAIRLEAD_MANAGER_SOCKET,
			config_manager_of(flux->config, &flux->config->flux),
			"'fairlead reconcile' asks another manager");
	check_timeout(flux, "prolog-timeout", flux->jobtap.prolog_timeout_s,
		      "apply_timeout", manager->apply_timeout_ms);
	check_timeout(flux, "epilog-timeout", flux->jobtap.epilog_timeout_s,
		      "revoke_timeout", manager->revoke_timeout_ms);
	if (*flux->jobtap.inside)
		doctor_say(
			flux->doctor, DOCTOR_WARN, JOBTAP,
			"if that is wrong, start Flux without FAIRLEAD_JOB and "
			"SLURM_JOB_ID in its environment",
			"it takes the instance for one inside %s, and "
			"reserves nothing",
			flux->jobtap.inside);
}

/*
 * A request that changes nothing, and that the manager takes of root and
 * submitters only: there is no grant 0. The connection stays the owner's.
 */
static int try_owner(const char *manager, uid_t owner,
		     struct fairlead_error *ret_error)
{
	_auto_(fairlead_closep) struct fairlead *handle = NULL;
	uid_t own = geteuid();
	int result;

	if (seteuid(owner) < 0)
		return error_set(ret_error, -errno, "cannot become uid %u: %s",
				 owner, strerror(errno));
	result = fairlead_open(manager, &handle, ret_error);
	if (result == 0)
		result = fairlead_call(handle, "apply", "{\"grant_id\":0}",
				       NULL, ret_error);
	if (seteuid(own) < 0)
		abort();
	return handle && (result == -ENOENT || result == -EINVAL) ? 0 : result;
}

/* As the first broker's plugin has found it, and as its owner finds it. */
static void check_manager(const struct doctor_flux *flux,
			  const struct doctor_beside *beside)
{
	const char *manager = doctor_beside_manager(beside);
	struct fairlead_error error;
	int result;

	if (*flux->jobtap.trouble)
		doctor_say(flux->doctor, DOCTOR_FAIL, MANAGER,
			   "start it, or fix 'manager' of [fairlead]",
			   "the jobtap plugin: %s", flux->jobtap.trouble);
	else if (flux->jobtap.is_up)
		doctor_say(flux->doctor, DOCTOR_OK, MANAGER, NULL,
			   "it answers the jobtap plugin");
	if (flux->rank != 0 || (geteuid() != 0 && geteuid() != flux->owner)) {
		doctor_say(flux->doctor, DOCTOR_SKIP, MANAGER,
			   "retry on the machine of rank 0, as root or the "
			   "instance's owner",
			   "whether it answers uid %u is not known here",
			   flux->owner);
		return;
	}
	result = try_owner(manager, flux->owner, &error);
	if (result == 0)
		doctor_say(flux->doctor, DOCTOR_OK, MANAGER, NULL,
			   "%s takes requests of uid %u", manager, flux->owner);
	else
		doctor_say(flux->doctor,
			   result == -EAGAIN || result == -ESTALE ? DOCTOR_SKIP
								  : DOCTOR_FAIL,
			   MANAGER,
			   result == -EPERM
				   ? "give this uid to a 'submitter' of the "
				     "manager's fairlead.conf, then 'fairlead "
				     "manager reconfigure'"
				   : "start it, or fix 'manager' of [fairlead]",
			   "as uid %u: %s", flux->owner, error.text);
}

/* --- the shell plugin --- */

static void check_shell(const struct doctor_flux *flux)
{
	_auto_(freep) char *initrc = attribute(flux, "conf.shell_initrc");
	_auto_(freep) char *folders = attribute(flux, "conf.shell_pluginpath");

	if (flux->is_node)
		doctor_flux_shell(flux->doctor, flux->owner, initrc, folders);
	else
		doctor_say(flux->doctor, DOCTOR_SKIP, "shell plugin",
			   "retry on a node",
			   "Flux runs no jobs on this machine");
}

static void check_beside(const struct doctor_flux *flux)
{
	const struct doctor_beside beside = {
		.doctor = flux->doctor,
		.title = "Flux",
		.scripts = PLUGINS,
		.section = &flux->config->flux,
		.manager = flux->is_loaded && *flux->jobtap.manager
				   ? flux->jobtap.manager
				   : NULL,
	};

	doctor_beside_user(&beside, "the instance's owner", flux->owner);
	if (flux->is_loaded)
		check_manager(flux, &beside);
	doctor_beside_drain(&beside);
	doctor_beside_nodes(&beside, flux->nodes);
}

void doctor_check_flux(struct doctor *doctor)
{
	struct doctor_flux flux = { .doctor = doctor,
				    .config = doctor->config };

	if (!doctor->config) {
		doctor_say(doctor, DOCTOR_SKIP, "Flux", NULL,
			   "without the configuration its commands are not "
			   "known");
		return;
	}
	if (read_instance(&flux)) {
		read_nodes(&flux);
		if (read_jobtap(&flux)) {
			check_file(&flux);
			check_settings(&flux);
		}
		check_shell(&flux);
		check_beside(&flux);
	}
	flux_jobtap_fini(&flux.jobtap);
	json_decref(flux.nodes);
}
