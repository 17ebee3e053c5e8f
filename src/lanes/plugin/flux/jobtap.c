/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fairlead-jobtap.so, in Flux's job manager: a job has its lane before its
 * tasks start, and gives it back before its nodes are another's. Callbacks
 * only; what they bring about is lane.h.
 *
 *   job.validate       refuses options that cannot be meant, or done by Flux
 *   job.new            goes on where it was before a restart
 *   job.state.run      begins
 *   job.state.cleanup  ends
 *   job.state.inactive forgets
 *   job.event.*        sees when tasks are over
 *   conf.update        table [fairlead], see settings.h
 *   service lane       tells job shells whether their job was given a lane
 *   plugin.query       for `flux jobtap query fairlead-jobtap.so`
 *
 * An instance that runs inside a job has no lanes to give: its jobs share that
 * of the job. There this does nothing, whatever is configured.
 */
#include <errno.h>
#include <flux/core.h>
#include <flux/jobtap.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "fairlead.h"
#include "lanes/driver/driver.h"
#include "lanes/plugin/flux/eventlog.h"
#include "lanes/plugin/flux/inside.h"
#include "lanes/plugin/flux/lane.h"
#include "lanes/plugin/flux/names.h"

struct plugin {
	struct lanes *lanes;
	const char *inside; /* what we are inside of; NULL: nothing */
};

struct jobtap_job {
	flux_jobid_t id;
	uint32_t uid;
	int state;
	const json_t *options; /* NULL: none */
	const json_t *R;
};

static int read_job(flux_plugin_t *p, flux_plugin_arg_t *args,
		    struct jobtap_job *job)
{
	json_int_t id = 0;
	json_int_t uid = 0;
	json_t *options = NULL;
	json_t *R = NULL;

	if (flux_plugin_arg_unpack(
		    args, FLUX_PLUGIN_ARG_IN,
		    "{s:I s:I s:i s?o s:{s?{s?{s?{s?o}}}}}", "id", &id,
		    "userid", &uid, "state", &job->state, "R", &R, "jobspec",
		    "attributes", "system", "shell", "options", &options) < 0) {
		flux_log(flux_jobtap_get_flux(p), LOG_ERR, "fairlead: %s",
			 flux_plugin_arg_strerror(args));
		return -1;
	}
	job->id = (flux_jobid_t)id;
	job->uid = (uint32_t)uid;
	job->options = options;
	job->R = R;
	return 0;
}

static struct flux_lane *current(void *arg)
{
	return lane_find(((struct plugin *)arg)->lanes,
			 FLUX_JOBTAP_CURRENT_JOB);
}

static int on_validate(flux_plugin_t *p, const char *topic,
		       flux_plugin_arg_t *args, void *arg)
{
	struct fairlead_error error;
	struct lane_request request;
	struct jobtap_job job;

	if (read_job(p, args, &job) < 0)
		return 0;
	if (lane_request_parse(job.options, &request, &error) < 0 ||
	    (request.kind == LANE_REQUEST_LANE &&
	     driver_check_launch(request.interconnect, request.options, "Flux",
				 &error) < 0))
		return flux_jobtap_reject_job(p, args, "%s", error.text);
	return 0;
}

/*
 * The manager is not asked, so that it is not known which interconnect it would
 * be: of the name for which tools look.
 */
static void post_none(struct lanes *lanes, flux_jobid_t id, const char *reason)
{
	json_t *context = lane_event_none(reason);

	if (!context || flux_jobtap_event_post_pack(
				lanes->plugin, id, NAME_CRAY, "O", context) < 0)
		flux_log_error(lanes->h, "fairlead: event_post");
	json_decref(context);
}

static int on_run(flux_plugin_t *p, const char *topic, flux_plugin_arg_t *args,
		  void *arg)
{
	struct lanes *lanes = ((struct plugin *)arg)->lanes;
	struct fairlead_error error;
	struct lane_request request;
	struct jobtap_job job;

	if (read_job(p, args, &job) < 0)
		return -1;
	if (lane_request_parse(job.options, &request, &error) < 0) {
		lane_refuse(lanes, job.id, error.text);
		return 0;
	}
	if (request.kind == LANE_REQUEST_OFF)
		post_none(lanes, job.id, "disabled by user request");
	else if (request.kind == LANE_REQUEST_NONE)
		post_none(lanes, job.id, "none requested");
	else if (request.kind == LANE_REQUEST_LANE ||
		 lanes->settings.otherwise != LANE_NONE)
		lane_begin(lanes, job.id, job.uid, &request, job.R);
	return 0;
}

static int on_cleanup(flux_plugin_t *p, const char *topic,
		      flux_plugin_arg_t *args, void *arg)
{
	struct flux_lane *lane = current(arg);

	if (lane)
		lane_end(lane);
	return 0;
}

/* Of jobs that have a lane: it has subscribed. */
static int on_event(flux_plugin_t *p, const char *topic,
		    flux_plugin_arg_t *args, void *arg)
{
	struct flux_lane *lane = current(arg);
	json_t *entry = NULL;

	if (lane &&
	    flux_plugin_arg_unpack(args, FLUX_PLUGIN_ARG_IN, "{s:o}", "entry",
				   &entry) == 0 &&
	    entry_ends_tasks(entry))
		lane_tasks_over(lane);
	return 0;
}

static int on_inactive(flux_plugin_t *p, const char *topic,
		       flux_plugin_arg_t *args, void *arg)
{
	struct flux_lane *lane = current(arg);

	if (lane)
		lane_forget(lane);
	return 0;
}

static int on_new(flux_plugin_t *p, const char *topic, flux_plugin_arg_t *args,
		  void *arg)
{
	struct lane_request request = { 0 };
	struct jobtap_job job;

	if (read_job(p, args, &job) < 0)
		return 0;
	if (job.state != FLUX_JOB_STATE_RUN &&
	    job.state != FLUX_JOB_STATE_CLEANUP)
		return 0;
	lane_request_parse(job.options, &request, NULL);
	lane_resume(((struct plugin *)arg)->lanes, job.id, job.uid, &request,
		    job.R, job.state == FLUX_JOB_STATE_CLEANUP);
	return 0;
}

/* --- settings --- */

static int read_settings(flux_plugin_t *p, flux_plugin_arg_t *args,
			 struct flux_settings *settings,
			 struct fairlead_error *ret_error)
{
	const char *own = flux_plugin_get_conf(p);
	json_t *table = NULL;
	json_t *conf = NULL;
	int result;

	flux_plugin_arg_unpack(args, FLUX_PLUGIN_ARG_IN, "{s:{s?o}}", "conf",
			       "fairlead", &table);
	result = settings_take(settings, table, ret_error);
	if (result == 0 && own) {
		conf = json_loads(own, JSON_DECODE_ANY, NULL);
		result = settings_take(settings, conf, ret_error);
		json_decref(conf);
	}
	return result;
}

static int on_conf(flux_plugin_t *p, const char *topic, flux_plugin_arg_t *args,
		   void *arg)
{
	struct fairlead_error error;
	struct flux_settings settings;

	settings_init(&settings);
	if (read_settings(p, args, &settings, &error) < 0)
		return flux_jobtap_error(p, args, "fairlead: %s", error.text);
	lanes_configure(((struct plugin *)arg)->lanes, &settings);
	return 0;
}

static int on_query(flux_plugin_t *p, const char *topic,
		    flux_plugin_arg_t *args, void *arg)
{
	const struct plugin *plugin = arg;
	const struct lanes *lanes = plugin->lanes;
	const struct flux_link *link = lanes->link;

	return flux_plugin_arg_pack(
		args, FLUX_PLUGIN_ARG_OUT,
		"{s:s, s:s, s:s, s:f, s:f, s:s, s:{s:s, s:b, s:s}, s:o}",
		"version", FAIRLEAD_VERSION, "submitter",
		lanes->settings.submitter, "default",
		lane_expectation_name(lanes->settings.otherwise),
		"prolog_timeout_s", lanes->settings.prolog_timeout_s,
		"epilog_timeout_s", lanes->settings.epilog_timeout_s, "inside",
		plugin->inside ? plugin->inside : "", "manager", "address",
		link_manager(link), "is_up", link_is_up(link), "trouble",
		link_trouble(link), "jobs", lanes_describe(lanes));
}

/* --- the job shells --- */

/* {id} -> {has_lane, grant_id}: of a job of one's own that has been started. */
static void on_lane(flux_t *h, flux_msg_handler_t *handler,
		    const flux_msg_t *message, void *arg)
{
	const struct plugin *plugin = arg;
	const struct flux_lane *lane;
	struct flux_msg_cred cred;
	json_int_t id;

	if (flux_request_unpack(message, NULL, "{s:I}", "id", &id) < 0 ||
	    flux_msg_get_cred(message, &cred) < 0) {
		flux_respond_error(h, message, errno, NULL);
		return;
	}
	lane = lane_find(plugin->lanes, (flux_jobid_t)id);
	if (lane && flux_msg_cred_authorize(cred, lane->uid) < 0)
		flux_respond_error(h, message, EPERM, NULL);
	else if (lane && lane->step == LANE_LOOKUP)
		flux_respond_error(h, message, EAGAIN,
				   "the job's eventlog is being read");
	else
		flux_respond_pack(h, message, "{s:b s:I}", "has_lane",
				  lane && lane->has_lane, "grant_id",
				  lane ? (json_int_t)lane->grant_id : 0);
}

/* --- where we are --- */

/* The job manager has the broker's environment. */
static bool is_in_environment(void *arg, const char *name)
{
	return getenv(name) != NULL;
}

static void plugin_destroy(void *arg)
{
	struct plugin *plugin = arg;

	if (!plugin)
		return;
	lanes_destroy(plugin->lanes);
	free(plugin);
}

static const struct flux_plugin_handler handlers[] = {
	{ "job.validate", on_validate, NULL },
	{ "job.new", on_new, NULL },
	{ "job.event.*", on_event, NULL },
	{ "job.state.run", on_run, NULL },
	{ "job.state.cleanup", on_cleanup, NULL },
	{ "job.state.inactive", on_inactive, NULL },
	{ 0 },
};

/* What the job manager looks for. */
__attribute__((visibility("default"))) int flux_plugin_init(flux_plugin_t *p);

int flux_plugin_init(flux_plugin_t *p)
{
	flux_t *h = flux_jobtap_get_flux(p);
	struct plugin *plugin = calloc(1, sizeof(*plugin));

	if (!plugin || flux_plugin_set_name(p, "fairlead") < 0 ||
	    !(plugin->lanes = lanes_create(p)) ||
	    flux_plugin_aux_set(p, NULL, plugin, plugin_destroy) < 0) {
		plugin_destroy(plugin);
		return -1;
	}
	plugin->inside = inside_find(flux_attr_get(h, "instance-level"),
				     is_in_environment, NULL);
	if (plugin->inside)
		flux_log(h, LOG_INFO,
			 "fairlead: this instance is inside %s: nothing is "
			 "reserved",
			 plugin->inside);
	for (const struct flux_plugin_handler *handler = handlers;
	     handler->topic && !plugin->inside; handler++)
		if (flux_plugin_add_handler(p, handler->topic, handler->cb,
					    plugin) < 0)
			return -1;
	if (!plugin->inside &&
	    flux_jobtap_service_register_ex(p, "lane", FLUX_ROLE_USER, on_lane,
					    plugin) < 0)
		return -1;
	if (flux_plugin_add_handler(p, "conf.update", on_conf, plugin) < 0 ||
	    flux_plugin_add_handler(p, "plugin.query", on_query, plugin) < 0)
		return -1;
	return 0;
}
