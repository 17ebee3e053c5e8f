/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flux, as its broker on this machine tells, beside our configuration. The job
 * manager, with our jobtap plugin, is the first broker's: any broker asks it, but
 * what is in files is looked at where it counts.
 */
#include "lanes/cli/doctor_flux.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/cli/child.h"
#include "lanes/cli/remote.h"
#include "lanes/cli/slurm/expect.h"
#include "lanes/driver/driver.h"

#define JOBTAP "jobtap plugin"

/* --- what Flux says --- */

static int ask(const struct doctor_flux *flux, char **ret_text,
	       struct fairlead_error *ret_error, const char *const *argv)
{
	return child_run(flux->config->flux.commands, argv, CHILD_TIMEOUT_MS,
			 ret_text, NULL, ret_error);
}

char *doctor_flux_attribute(const struct doctor_flux *flux, const char *name)
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
	_auto_(freep) char *text = doctor_flux_attribute(flux, name);

	return text && flux_number(text, ret_number);
}

/* Is there an instance that has lanes of its own? */
static bool read_instance(struct doctor_flux *flux)
{
	_auto_(freep) char *level =
		doctor_flux_attribute(flux, "instance-level");
	_auto_(freep) char *version = NULL;
	uint32_t owner;

	if (!level) {
		doctor_say(flux->doctor, DOCTOR_FAIL, "Flux",
			   "is a broker running here, and may you ask it? "
			   "'commands' of the section 'flux' is the folder of "
			   "'flux'",
			   "'%s/flux getattr instance-level' failed",
			   flux->config->flux.commands);
		return false;
	}
	if (strcmp(level, "0") != 0) {
		doctor_say(flux->doctor, DOCTOR_SKIP, "Flux",
			   "call this outside of the job",
			   "this is an instance of Flux within a job, whose "
			   "jobs share the lane of that job");
		return false;
	}
	if (!read_number(flux, "security.owner", &owner) ||
	    !read_number(flux, "rank", &flux->rank)) {
		doctor_say(flux->doctor, DOCTOR_FAIL, "Flux", NULL,
			   "it does not say whose the instance is, or which "
			   "broker this is");
		return false;
	}
	flux->owner = owner;
	version = doctor_flux_attribute(flux, "version");
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
			   "ask again where rank 0 is",
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
			   "jobtap load " FLUX_PLUGINS "/" FLUX_JOBTAP_FILE "'",
			   "Flux's configuration has it, and it is not loaded: "
			   "no job gets a lane");
	else
		doctor_say(flux->doctor,
			   flux->is_loaded ? DOCTOR_WARN : DOCTOR_FAIL, JOBTAP,
			   "in conf.d, where [job-manager] is: plugins = [ { "
			   "load = \"" FLUX_PLUGINS "/" FLUX_JOBTAP_FILE
			   "\" } ]",
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
			   " " FLUX_PLUGINS "/" FLUX_JOBTAP_FILE,
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
		doctor_say(flux->doctor, DOCTOR_FAIL, JOBTAP,
			   "be the instance's owner; root may ask where Flux "
			   "has access.allow-root-owner",
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
	_auto_(freep) char *advice = NULL;

	advice = memory_format("in [fairlead]: %s = \"%s\"; then 'flux config "
			       "reload'",
			       name, wanted);
	if (strcmp(value, wanted) == 0)
		doctor_say(flux->doctor, DOCTOR_OK, JOBTAP, NULL,
			   "%s is %s, as fairlead.conf has it", name, value);
	else
		doctor_say(flux->doctor, level, JOBTAP, advice,
			   "%s is %s, fairlead.conf has %s: %s", name, value,
			   wanted, why);
}

static void check_default(const struct doctor_flux *flux)
{
	const char *value = flux->jobtap.otherwise;
	const char *wanted = doctor_default(flux->config);
	bool is_none = strcmp(value, "none") == 0;

	if (is_none)
		check_setting(flux, DOCTOR_FAIL, "default", value, wanted,
			      "jobs that do not say get no lane");
	else if (strcmp(wanted, "none") == 0)
		check_setting(flux, DOCTOR_FAIL, "default", value, wanted,
			      "jobs that do not say wait for the manager, and "
			      "are refused when it is down, for no lane");
	else
		check_setting(flux, DOCTOR_WARN, "default", value, wanted,
			      "Flux does the same for both, and who reads it "
			      "expects otherwise");
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
	check_timeout(flux, "prolog-timeout", flux->jobtap.prolog_timeout_s,
		      "apply_timeout", manager->apply_timeout_ms);
	check_timeout(flux, "epilog-timeout", flux->jobtap.epilog_timeout_s,
		      "revoke_timeout", manager->revoke_timeout_ms);
	if (*flux->jobtap.inside)
		doctor_say(flux->doctor, DOCTOR_WARN, JOBTAP,
			   "if it is none, start Flux without FAIRLEAD_JOB and "
			   "SLURM_JOB_ID in its environment",
			   "it believes to be inside %s, and reserves nothing",
			   flux->jobtap.inside);
}

/* --- the manager --- */

#define REACH "manager of Flux"

/* Does the plugin look for it where our commands do? */
static void check_address(const struct doctor_flux *flux)
{
	const char *said = flux->jobtap.manager;
	const char *wanted =
		config_manager_of(flux->config, &flux->config->flux);
	_auto_(freep) char *advice = NULL;

	if (flux->rank != 0)
		return; /* other machines may reach it another way */
	advice = memory_format(
		"in [fairlead]: manager = \"%s\"; or 'manager' of the "
		"section 'flux'",
		wanted);
	if (*said && strcmp(said, wanted) != 0)
		doctor_say(flux->doctor, DOCTOR_FAIL, REACH, advice,
			   "the jobtap plugin asks %s, fairlead.conf has %s: "
			   "'fairlead reconcile' asks another one",
			   said, wanted);
	else if (!*said && strcmp(wanted, FAIRLEAD_MANAGER_SOCKET) != 0)
		doctor_say(flux->doctor, DOCTOR_WARN, REACH, advice,
			   "the jobtap plugin asks FAIRLEAD_SOCKET of the "
			   "broker's environment, or " FAIRLEAD_MANAGER_SOCKET
			   "; fairlead.conf has %s",
			   wanted);
}

/*
 * A request that changes nothing, and which the manager lets nobody make but root
 * and submitters: there is no grant 0. As the owner, whose connection stays his.
 */
static int try_owner(const struct doctor_beside *beside, uid_t owner,
		     struct fairlead_error *ret_error)
{
	_auto_(fairlead_closep) struct fairlead *handle = NULL;
	uid_t own = geteuid();
	int result;

	if (seteuid(owner) < 0)
		return error_set(ret_error, -errno, "cannot become uid %u: %s",
				 owner, strerror(errno));
	result = fairlead_open(doctor_beside_manager(beside), &handle,
			       ret_error);
	if (result == 0)
		result = fairlead_call(handle, "apply", "{\"grant_id\":0}",
				       NULL, ret_error);
	if (seteuid(own) < 0)
		abort();
	return handle && (result == -ENOENT || result == -EINVAL) ? 0 : result;
}

static void check_reach(const struct doctor_flux *flux,
			const struct doctor_beside *beside)
{
	const char *address = doctor_beside_manager(beside);
	struct fairlead_error error;
	int result;

	if (*flux->jobtap.trouble)
		doctor_say(flux->doctor, DOCTOR_FAIL, REACH,
			   "start it, or mend 'manager' of [fairlead]",
			   "the jobtap plugin: %s", flux->jobtap.trouble);
	else if (flux->jobtap.is_up)
		doctor_say(flux->doctor, DOCTOR_OK, REACH, NULL,
			   "it answers the jobtap plugin");
	if (flux->rank != 0) {
		doctor_say(flux->doctor, DOCTOR_SKIP, REACH,
			   "ask again where rank 0 is",
			   "the first broker asks it from its machine");
		return;
	}
	if (geteuid() != 0 && geteuid() != flux->owner) {
		doctor_say(flux->doctor, DOCTOR_SKIP, REACH,
			   "ask again as root or as that user",
			   "whether it answers uid %u is not known to others",
			   flux->owner);
		return;
	}
	result = try_owner(beside, flux->owner, &error);
	if (result < 0)
		doctor_say(flux->doctor,
			   result == -EAGAIN || result == -ESTALE ? DOCTOR_SKIP
								  : DOCTOR_FAIL,
			   REACH,
			   result == -EPERM
				   ? "a 'submitter' of the manager's "
				     "fairlead.conf has to have this uid; then "
				     "'fairlead manager reconfigure'"
				   : "start it; 'manager' of [fairlead] says "
				     "where it is",
			   "as uid %u: %s", flux->owner, error.text);
	else
		doctor_say(flux->doctor, DOCTOR_OK, REACH, NULL,
			   "%s takes requests of uid %u", address, flux->owner);
}

/* --- lanes that its shell cannot start tasks in --- */

static void check_interconnect(const struct doctor_flux *flux)
{
	const char *name = flux->config->manager.interconnect;
	struct fairlead_plan plan;
	struct fairlead_error error;

	/* Without a plan the driver is asked about no options. */
	(void)lane_plan(flux->config, name, "", &plan);
	if (driver_check_launch(name, plan.options, "Flux", &error) < 0)
		doctor_say(flux->doctor, DOCTOR_FAIL, "interconnect",
			   "let 'interconnect' of fairlead.conf be another "
			   "one, or change the section of the driver",
			   "each job that does not say is refused: %s",
			   error.text);
}

static void check_beside(const struct doctor_flux *flux)
{
	const struct doctor_beside beside = {
		.doctor = flux->doctor,
		.title = "Flux",
		.scripts = FLUX_PLUGINS,
		.section = &flux->config->flux,
		.manager = flux->is_loaded && *flux->jobtap.manager
				   ? flux->jobtap.manager
				   : NULL,
	};

	doctor_beside_user(&beside, "the instance's owner", flux->owner);
	if (flux->is_loaded) {
		check_address(flux);
		check_reach(flux, &beside);
	}
	check_interconnect(flux);
	doctor_beside_drain(&beside);
	doctor_beside_nodes(&beside, flux->nodes);
}

void doctor_check_flux(struct doctor *doctor)
{
	struct doctor_flux flux = { .doctor = doctor,
				    .config = doctor->config };

	if (!doctor->config) {
		doctor_say(doctor, DOCTOR_SKIP, "Flux", NULL,
			   "where it is is not known without the "
			   "configuration");
		return;
	}
	if (read_instance(&flux)) {
		read_nodes(&flux);
		if (read_jobtap(&flux)) {
			check_file(&flux);
			check_settings(&flux);
		}
		doctor_flux_shell(&flux);
		check_beside(&flux);
	}
	flux_jobtap_fini(&flux.jobtap);
	json_decref(flux.nodes);
}
