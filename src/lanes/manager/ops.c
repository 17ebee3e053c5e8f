/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ops of the client protocol: read the members, call the core. What the
 * core answers comes back as outputs; views and errors of the members go the
 * same way, so that nobody sees what is not on disk.
 */
#include <errno.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/manager/clients.h"
#include "lanes/manager/commit.h"
#include "lanes/manager/live.h"
#include "lanes/proto/request.h"

#define GRACE_MAX_S 86400
#define SELECT_MAX  CORE_JOB_GRANTS_MAX /* grants whose events one answer has */

static void answer(const struct manager_call *call, int result,
		   const char *text, const char *hint, const char *members)
{
	const struct core_reply reply = {
		.result = result,
		.text = text,
		.hint = hint,
		.members = members,
	};

	commit_core_ops.reply(call->engine, call->token, &reply);
}

static void answer_view(const struct manager_call *call, json_t *members_owned)
{
	_auto_(freep) char *text =
		memory_have(json_dumps(members_owned, JSON_COMPACT));

	json_decref(members_owned);
	answer(call, 0, NULL, NULL, text);
}

static int run_reserve(struct manager_call *call, struct fairlead_error *error)
{
	_auto_(request_destroyp) struct request *request = NULL;

	if (request_parse_json(json_object_get(call->message, "request"),
			       call->engine->config->core.interconnect,
			       &request, error) < 0)
		return error->code;
	core_reserve(call->engine->core, &call->caller, request, call->token);
	return 0;
}

static int run_apply(struct manager_call *call, struct fairlead_error *error)
{
	int64_t grant_id;

	if (members_number(call->message, "grant_id", MEMBER_REQUIRED, 1,
			   INT64_MAX, &grant_id, error) < 0)
		return error->code;
	core_apply(call->engine->core, &call->caller, (uint64_t)grant_id,
		   call->token);
	return 0;
}

/* Selected by grant_id, key or job; `key` holds its normal form. */
struct manager_selection {
	struct core_selector selector;
	char key[REQUEST_KEY_MAX + 1];
};

static int read_selection(const struct manager_call *call,
			  struct manager_selection *ret,
			  struct fairlead_error *ret_error)
{
	const char *key = NULL;
	const char *job = NULL;
	int64_t grant_id = 0;
	struct request_key parsed;
	int result;

	*ret = (struct manager_selection){ 0 };
	result = members_number(call->message, "grant_id", MEMBER_OPTIONAL, 1,
				INT64_MAX, &grant_id, ret_error);
	if (result == 0)
		result = members_text(call->message, "key", MEMBER_OPTIONAL,
				      &key, ret_error);
	if (result == 0)
		result = members_text(call->message, "job", MEMBER_OPTIONAL,
				      &job, ret_error);
	if (result < 0)
		return result;
	if ((grant_id != 0) + (key != NULL) + (job != NULL) != 1)
		return error_set(ret_error, -EINVAL,
				 "one of 'grant_id', 'key' and 'job' is to be "
				 "given");
	if (key != NULL) {
		result = request_key_parse(key, &parsed, ret_error);
		if (result < 0)
			return result;
		request_key_format(&parsed, ret->key);
		ret->selector.key = ret->key;
	}
	if (job != NULL) {
		result = request_key_parse(job, &parsed, ret_error);
		if (result == 0 && parsed.has_attempt)
			result = error_set(ret_error, -EINVAL,
					   "job '%s' is not SUBMITTER/JOB; an "
					   "attempt is a 'key'",
					   job);
		if (result < 0)
			return result;
		ret->selector.job = job;
	}
	ret->selector.grant_id = (uint64_t)grant_id;
	return 0;
}

static int run_release(struct manager_call *call, struct fairlead_error *error)
{
	struct manager_selection selection;
	int64_t grace_s = 0;

	if (read_selection(call, &selection, error) < 0 ||
	    members_number(call->message, "grace", MEMBER_OPTIONAL, 0,
			   GRACE_MAX_S, &grace_s, error) < 0)
		return error->code;
	core_release(call->engine->core, &call->caller, &selection.selector,
		     (uint32_t)grace_s * 1000, call->token);
	return 0;
}

/* The events of these grants are wanted, as of what is on its way to disk. */
static void answer_events(struct manager_call *call, const uint64_t *grants,
			  size_t count, json_t *view_owned)
{
	struct output *output = memory_alloc(sizeof(*output));

	output->grants = memory_copy(grants, count * sizeof(*grants));
	output->kind = OUTPUT_EVENTS;
	output->token = call->token;
	output->grant_count = count;
	output->view = view_owned;
	commit_output(call->engine, output);
}

/* How many of its grants are gone: all, or none. */
static size_t gone_grants(const json_t *view, uint64_t ids[SELECT_MAX])
{
	const json_t *grants = json_object_get(view, "grants");
	const json_t *grant;
	size_t index;

	json_array_foreach (grants, index, grant) {
		const char *state =
			json_string_value(json_object_get(grant, "state"));

		if (index == SELECT_MAX || state == NULL ||
		    strcmp(state, "gone") != 0)
			return 0;
		ids[index] = (uint64_t)json_integer_value(
			json_object_get(grant, "grant_id"));
	}
	return json_array_size(grants);
}

static int run_explain(struct manager_call *call, struct fairlead_error *error)
{
	struct manager_selection selection;
	uint64_t gone[SELECT_MAX];
	size_t gone_count;
	json_t *view;

	if (read_selection(call, &selection, error) < 0 ||
	    core_view_explain(call->engine->core, &call->caller,
			      &selection.selector, &view, error) < 0)
		return error->code;
	gone_count = gone_grants(view, gone);
	if (gone_count > 0)
		answer_events(call, gone, gone_count, view);
	else
		answer_view(call, view);
	return 0;
}

static int run_eventlog(struct manager_call *call, struct fairlead_error *error)
{
	struct manager_selection selection;
	uint64_t grants[SELECT_MAX];
	int count = -EINVAL;

	if (read_selection(call, &selection, error) == 0)
		count = core_select(call->engine->core, &call->caller,
				    &selection.selector, grants, SELECT_MAX,
				    error);
	if (count < 0)
		return error->code;
	answer_events(call, grants, (size_t)count, NULL);
	return 0;
}

static int run_status(struct manager_call *call, struct fairlead_error *error)
{
	const struct engine *engine = call->engine;
	uint64_t uptime_ms = engine_now_ms(engine) - engine->started_ms;
	json_t *view = core_view_status(engine->core);
	json_t *more =
		json_pack("{s:s, s:s, s:I, s:I, s:b, s:O}", "version",
			  FAIRLEAD_VERSION, "cluster",
			  engine->config->core.cluster, "uptime_s",
			  (json_int_t)(uptime_ms / 1000), "time_us",
			  (json_int_t)clock_wall_us(&engine->clock), "halted",
			  engine->halted_epoch != 0, "levels", engine->levels);

	if (json_object_update(more, view) < 0)
		memory_end();
	json_decref(view);
	answer_view(call, more);
	return 0;
}

static int run_list(struct manager_call *call, struct fairlead_error *error)
{
	struct core_filter filter = { 0 };
	int64_t uid = -1;
	int64_t limit = 0;
	int64_t after = 0;

	if (members_text(call->message, "state", MEMBER_OPTIONAL, &filter.state,
			 error) < 0 ||
	    members_text(call->message, "interconnect", MEMBER_OPTIONAL,
			 &filter.interconnect, error) < 0 ||
	    members_number(call->message, "uid", MEMBER_OPTIONAL, 0, UINT32_MAX,
			   &uid, error) < 0 ||
	    members_number(call->message, "limit", MEMBER_OPTIONAL, 0,
			   INT32_MAX, &limit, error) < 0 ||
	    members_number(call->message, "after", MEMBER_OPTIONAL, 0,
			   INT64_MAX, &after, error) < 0)
		return error->code;
	if (core_filter_check(call->engine->core, &filter, error) < 0)
		return error->code;
	filter.has_uid = uid >= 0;
	filter.uid = (uid_t)uid;
	filter.limit = (size_t)limit;
	filter.after = (uint64_t)after;
	answer_view(call,
		    core_view_list(call->engine->core, &call->caller, &filter));
	return 0;
}

static int run_pools(struct manager_call *call, struct fairlead_error *error)
{
	answer_view(call, core_view_pools(call->engine->core));
	return 0;
}

static int run_quarantine(struct manager_call *call,
			  struct fairlead_error *error)
{
	int64_t after = 0;

	if (members_number(call->message, "after", MEMBER_OPTIONAL, 0,
			   INT64_MAX, &after, error) < 0)
		return error->code;
	answer_view(call,
		    core_view_quarantine(call->engine->core, (uint64_t)after));
	return 0;
}

/* Record an operator's request with its uid, even if it fails. */
void call_log_act(const struct manager_call *call)
{
	_auto_(freep) char *text = json_dumps(call->message, JSON_COMPACT);

	log_info(call->engine->log, "request of an operator uid=%u request=%s",
		 call->caller.uid, text == NULL ? "" : text);
}

/* The operator, and whether by force. */
static int read_operator(const struct manager_call *call,
			 struct core_operator *ret_operator,
			 struct fairlead_error *ret_error)
{
	call_log_act(call);
	*ret_operator = (struct core_operator){ .uid = call->caller.uid };
	return members_bool(call->message, "force", MEMBER_OPTIONAL,
			    &ret_operator->is_forced, ret_error);
}

static int run_quarantine_release(struct manager_call *call,
				  struct fairlead_error *error)
{
	const char *interconnect = NULL;
	struct core_operator by;
	const char *pool;
	const char *ids;

	if (members_text(call->message, "interconnect", MEMBER_OPTIONAL,
			 &interconnect, error) < 0 ||
	    members_text(call->message, "pool", MEMBER_REQUIRED, &pool, error) <
		    0 ||
	    members_text(call->message, "ids", MEMBER_REQUIRED, &ids, error) <
		    0 ||
	    read_operator(call, &by, error) < 0)
		return error->code;
	core_quarantine_release(call->engine->core, &by, interconnect, pool,
				ids, call->token);
	return 0;
}

/* When each node answered last, its key, and how its drivers work. */
static void add_contacts(const struct engine *engine, json_t *view)
{
	uint64_t now_ms = engine_now_ms(engine);
	size_t index;
	json_t *node;

	json_array_foreach (json_object_get(view, "nodes"), index, node) {
		const char *name =
			json_string_value(json_object_get(node, "name"));
		const struct live_node *live =
			name == NULL ? NULL : live_find(engine, name);

		if (live == NULL)
			continue;
		json_object_set_new(
			node, "seen_ms",
			json_integer((json_int_t)(now_ms - live->seen_ms)));
		if (live->key_id != 0)
			json_object_set_new(node, "key",
					    json_integer(live->key_id));
		if (live->drivers != NULL)
			json_object_set_new(node, "drivers",
					    json_loads(live->drivers, 0, NULL));
	}
}

static int run_node_list(struct manager_call *call,
			 struct fairlead_error *error)
{
	const char *after = NULL;
	json_t *view;

	if (members_text(call->message, "after", MEMBER_OPTIONAL, &after,
			 error) < 0)
		return error->code;
	view = core_view_nodes(call->engine->core, &call->caller, after);
	add_contacts(call->engine, view);
	answer_view(call, view);
	return 0;
}

static int change_drain(struct manager_call *call, bool is_drained,
			struct fairlead_error *error)
{
	const char *reason = "";
	const char *nodes;

	call_log_act(call);
	if (members_text(call->message, "nodes", MEMBER_REQUIRED, &nodes,
			 error) < 0 ||
	    members_text(call->message, "reason",
			 is_drained ? MEMBER_REQUIRED : MEMBER_OPTIONAL,
			 &reason, error) < 0)
		return error->code;
	core_node_drain(call->engine->core, nodes, is_drained, reason,
			call->token);
	return 0;
}

static int run_node_drain(struct manager_call *call,
			  struct fairlead_error *error)
{
	return change_drain(call, true, error);
}

static int run_node_undrain(struct manager_call *call,
			    struct fairlead_error *error)
{
	return change_drain(call, false, error);
}

/* An operator's assertion about nodes. */
static int act_on_nodes(struct manager_call *call,
			void (*act)(struct core *core,
				    const struct core_operator *by,
				    const char *nodes, uint64_t token),
			struct fairlead_error *error)
{
	struct core_operator by;
	const char *nodes;

	if (members_text(call->message, "nodes", MEMBER_REQUIRED, &nodes,
			 error) < 0 ||
	    read_operator(call, &by, error) < 0)
		return error->code;
	act(call->engine->core, &by, nodes, call->token);
	return 0;
}

static int run_node_fence(struct manager_call *call,
			  struct fairlead_error *error)
{
	return act_on_nodes(call, core_node_fence, error);
}

static int run_recover_waive(struct manager_call *call,
			     struct fairlead_error *error)
{
	return act_on_nodes(call, core_recover_waive, error);
}

static int run_reconfigure(struct manager_call *call,
			   struct fairlead_error *error)
{
	struct engine *engine = call->engine;
	_auto_(freep) char *text = NULL;
	int result = engine->ops->reconfigure(engine->ops_ctx, engine, &text);

	if (result < 0)
		answer(call, result, text,
		       "mend the configuration and ask again; the old one "
		       "stays",
		       NULL);
	else
		answer_view(call, json_pack("{s:s}", "changes", text));
	return 0;
}

/* At once, since it is wanted most when the journal cannot be written. */
static int run_metrics(struct manager_call *call, struct fairlead_error *error)
{
	_auto_(freep) char *text = engine_metrics(call->engine);

	clients_answer_json(call->engine, call->token,
			    json_pack("{s:s}", "text", text));
	return 0;
}

static const char *const no_members[] = { NULL };
static const char *const reserve_members[] = { "request", NULL };
static const char *const apply_members[] = { "grant_id", NULL };
static const char *const selector_members[] = { "grant_id", "key", "job",
						NULL };
static const char *const release_members[] = { "grant_id", "key", "job",
					       "grace", NULL };
static const char *const list_members[] = { "uid",   "state", "interconnect",
					    "limit", "after", NULL };
static const char *const after_members[] = { "after", NULL };
static const char *const ids_members[] = { "interconnect", "pool", "ids",
					   "force", NULL };
static const char *const drain_members[] = { "nodes", "reason", NULL };
static const char *const force_members[] = { "nodes", "force", NULL };
static const char *const query_members[] = { "nodes", "what", NULL };
static const char *const clean_members[] = { "nodes", "dry_run", NULL };

const struct manager_op ops[] = {
	{ "reserve", OP_FOR_SUBMITTERS, true, true, reserve_members,
	  run_reserve, .needs_caller = true },
	{ "apply", OP_FOR_SUBMITTERS, true, true, apply_members, run_apply },
	{ "release", OP_FOR_SUBMITTERS, true, true, release_members,
	  run_release },
	{ "status", OP_FOR_ALL, false, true, no_members, run_status },
	{ "list", OP_FOR_ALL, false, true, list_members, run_list },
	{ "explain", OP_FOR_ALL, false, true, selector_members, run_explain },
	{ "eventlog", OP_FOR_ALL, false, true, selector_members, run_eventlog },
	{ "quarantine", OP_FOR_ALL, false, true, after_members,
	  run_quarantine },
	{ "quarantine-release", OP_FOR_ROOT, true, true, ids_members,
	  run_quarantine_release },
	{ "pools", OP_FOR_ALL, false, true, no_members, run_pools },
	{ "node-list", OP_FOR_ALL, false, true, after_members, run_node_list },
	{ "node-drain", OP_FOR_ROOT, true, true, drain_members,
	  run_node_drain },
	{ "node-undrain", OP_FOR_ROOT, true, true, drain_members,
	  run_node_undrain },
	{ "node-fence", OP_FOR_ROOT, true, true, force_members,
	  run_node_fence },
	{ "node-query", OP_FOR_ROOT, true, true, query_members,
	  run_node_query },
	{ "node-clean", OP_FOR_ROOT, true, true, clean_members,
	  run_node_clean },
	{ "reconfigure", OP_FOR_ROOT, true, true, no_members, run_reconfigure },
	{ "recover-waive", OP_FOR_ROOT, true, true, force_members,
	  run_recover_waive },
	{ "metrics", OP_FOR_ALL, false, false, no_members, run_metrics },
};

const size_t op_count = sizeof(ops) / sizeof(ops[0]);

_Static_assert(sizeof(ops) / sizeof(ops[0]) <= OPS_MAX,
	       "counters have room for every op");
