/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The service of every member: it adds up how many have run the request. Its
 * buffers are its own memory and are freed at the first moment at which the
 * interface says that they may be.
 */
#include "cast.h"

#include <stdlib.h>

static const char *const type_names[SCOLL_ERROR_COUNT] = {
	"NONE",       "NET_SEND", "PEER_DEAD", "PEER_REBOOT",   "TIMEOUT",
	"NO_SERVICE", "NO_GROUP", "DIGEST",    "NOT_PARENT",    "PRE_REQUEST",
	"REQUEST",    "BULK",     "ABORTED",   "PROTO_VERSION", "NOMEM",
	"REPLY_SIZE", "STEALTH",
};

static struct member *member_of(scoll_request_t *request)
{
	return scoll_request_service(request);
}

static void note(struct member *member, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void note(struct member *member, const char *format, ...)
{
	size_t length = strlen(member->script);
	va_list arguments;

	if (length > 0)
		member->script[length++] = ' ';
	va_start(arguments, format);
	vsnprintf(member->script + length, CAST_SCRIPT - length, format,
		  arguments);
	va_end(arguments);
}

static struct work *work_create(struct member *member)
{
	struct work *work = cast_alloc(sizeof(*work));

	work->member = member;
	return work;
}

static void work_destroy(struct work *work)
{
	for (int i = 0; i < 64; i++)
		free(work->buffers[i]);
	free(work->answer);
	free(work->bulk);
	free(work);
}

int cast_buffers_post(struct member *member, scoll_request_t *request)
{
	struct work *work = request->srq_private;
	int count = scoll_request_nchildren(request);

	if (member->posts_nothing)
		return 0;
	for (int i = 0; i < count; i++) {
		work->buffers[i] = cast_alloc(
			(size_t)member->buffer_count * member->buffer_len + 1);
		for (int k = 0; k < member->buffer_count; k++) {
			uint8_t *buf = work->buffers[i] +
				       (size_t)k * member->buffer_len;
			int result = scoll_core_reply_buffer_post(
				i, buf, member->buffer_len, request, work);

			assert_true(result == 0 || result == -ENOMEM);
			if (result < 0)
				return result;
		}
	}
	return 0;
}

static int pre_request(scoll_request_t *request)
{
	struct member *member = member_of(request);
	struct work *work;
	int result;

	note(member, "pre");
	member->request = request;
	if (member->pre_result < 0)
		return member->pre_result;
	work = work_create(member);
	request->srq_private = work;
	result = cast_buffers_post(member, request);
	if (result < 0) {
		work_destroy(work);
		return result;
	}
	if (request->srq_bulk_len > 0 && !member->no_bulk_buffer) {
		size_t size = request->srq_bulk_len - member->bulk_short;

		work->bulk = cast_alloc(size + 1);
		work->bulk_iov = (struct iovec){ work->bulk, size };
		request->srq_bulk_iovs = &work->bulk_iov;
		request->srq_bulk_niov = 1;
	}
	if (member->timeout >= 0)
		request->srq_service_timeout = member->timeout;
	if (member->on_pre != NULL)
		member->on_pre(member, request);
	return 0;
}

static int incoming_request(scoll_request_t *request,
			    const scoll_target_t *target)
{
	struct member *member = member_of(request);
	struct work *work = request->srq_private;

	note(member, request->srq_bulk_status < 0 ? "request!" : "request");
	member->request = request;
	member->request_count++;
	assert_int_equal(target->nid, member->nid);
	assert_in_range(target->count, 1, SCOLL_ENTITIES_MAX);
	member->payload_len = request->srq_len;
	if (request->srq_len > 0) {
		memcpy(member->payload, request->srq_buf,
		       (size_t)request->srq_len);
		/* P-09: it is ours. */
		memset(request->srq_buf, 0xaa, (size_t)request->srq_len);
	}
	work->sum++;
	if (member->on_request != NULL)
		member->on_request(member, request);
	return member->request_result;
}

static void incoming_reply(scoll_reply_t *reply)
{
	scoll_request_t *request = reply->srp_request;
	struct member *member = member_of(request);
	struct work *work = request->srq_private;
	uint32_t value;

	if (reply->srp_status < 0)
		note(member, "reply:%d(%s)", reply->srp_child,
		     type_names[reply->srp_error_type]);
	else if (reply->srp_is_last)
		note(member, "reply:%d", reply->srp_child);
	else
		note(member, "part:%d.%d", reply->srp_child, reply->srp_part);
	member->reply = *reply;
	assert_int_equal(reply->srp_src,
			 scoll_request_child_nid(request, reply->srp_child));
	assert_ptr_equal(reply->srp_private, work);
	if (reply->srp_status == 0 && reply->srp_len == sizeof(value)) {
		memcpy(&value, reply->srp_buf, sizeof(value));
		work->sum += value;
	}
	if (member->on_reply != NULL)
		member->on_reply(member, reply);
	if (reply->srp_is_last) {
		free(work->buffers[reply->srp_child]);
		work->buffers[reply->srp_child] = NULL;
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "2:TIMEOUT 3:TIMEOUT": members by number; + stands for reached. */
static void failures_note(struct member *member, const scoll_request_t *request)
{
	struct cast *cast = member->cast;
	char *words[CAST_MEMBERS_MAX];
	struct scoll_failure failure;
	uint64_t cursor = 0;
	size_t at = 0;
	int count = 0;

	member->failures[0] = '\0';
	while (scoll_core_request_failure_next(request, &cursor, &failure)) {
		struct member *failed = cast_find(cast, failure.nid);

		assert_true(count < CAST_MEMBERS_MAX);
		words[count] = cast_alloc(64);
		snprintf(words[count++], 64, "%02d:%s%s",
			 failed != NULL ? (int)(failed - cast->members) : -1,
			 type_names[failure.type],
			 failure.is_reached ? "+" : "");
	}
	qsort(words, (size_t)count, sizeof(words[0]), by_text);
	for (int i = 0; i < count; i++) {
		at += (size_t)snprintf(member->failures + at,
				       sizeof(member->failures) - at, "%s%s",
				       i > 0 ? " " : "", words[i]);
		free(words[i]);
	}
}

static void post_reply(scoll_request_t *request)
{
	struct member *member = member_of(request);
	struct work *work = request->srq_private;

	note(member, "post");
	member->request = request;
	if (member->on_post != NULL)
		member->on_post(member, request);
	member->status = scoll_core_request_status(request);
	member->sum = work->sum;
	failures_note(member, request);
	if (scoll_request_is_root(request)) {
		work_destroy(work);
		member->request = NULL;
		return;
	}
	/* K-05: the bulk buffer, too. */
	free(take_ptr(work->bulk));
	if (work->answer == NULL) {
		work->answer_len = sizeof(work->sum);
		work->answer = cast_alloc(work->answer_len);
		memcpy(work->answer, &work->sum, work->answer_len);
	}
	if (!member->keeps_quiet)
		scoll_core_reply(request, member->cast->now_ns, work->answer,
				 work->answer_len);
}

static void reply_out(scoll_request_t *request)
{
	struct member *member = member_of(request);

	note(member, "out");
	work_destroy(request->srq_private);
	member->request = NULL;
}

static int oobgrp(void *service_private, const scoll_oobgrp_id_t *oobid,
		  const scoll_target_t **ret_targets)
{
	struct member *member = service_private;

	assert_int_equal(oobid->svid, CAST_SERVICE);
	member->oob_calls++;
	*ret_targets = member->oob_targets;
	return member->oob_count;
}

const struct scoll_service_ops cast_service_ops = {
	.size = sizeof(cast_service_ops),
	.pre_request = pre_request,
	.incoming_request = incoming_request,
	.incoming_reply = incoming_reply,
	.post_reply = post_reply,
	.reply_out = reply_out,
	.oobgrp = oobgrp,
};

void cast_callbacks(struct cast *cast)
{
	bool was_one = true;

	while (was_one) {
		was_one = false;
		for (int i = 0; i < cast->count; i++) {
			struct scoll_core *core = cast->members[i].core;
			struct core_callback callback;

			if (core == NULL ||
			    !scoll_core_callback_take(core, &callback))
				continue;
			was_one = true;
			scoll_core_callback_done(core, cast->now_ns, &callback,
						 core_callback_call(&callback));
		}
	}
}

/* --- users --- */

static const scoll_tag_t cast_tag = { "entity" };

int cast_targets(int from, int to, scoll_target_t *ret_targets)
{
	for (int i = from; i < to; i++)
		ret_targets[i - from] = (scoll_target_t){
			.nid = cast_nid(i),
			.tags = &cast_tag,
			.count = 1,
		};
	return to - from;
}

static void created(int status, scoll_group_t *group, const void *private)
{
	struct member *member = (struct member *)private;

	note(member, status < 0 ? "group!" : "group");
	member->group_status = status;
	member->group = group;
	if (member->on_group != NULL)
		member->on_group(member);
}

static int group_try(struct cast *cast, int root, const scoll_target_t *targets,
		     int count, bool is_now)
{
	struct member *member = &cast->members[root];
	struct core_callback callback = { 0 };
	int result;

	member->group = NULL;
	member->group_status = 1;
	result = scoll_core_group_create(member->core, cast->now_ns,
					 CAST_SERVICE, "the cast", targets,
					 count, cast->tree, is_now, created,
					 member, &callback);
	if (result == 0 && !is_now)
		core_callback_call(&callback);
	return result;
}

int cast_group_try(struct cast *cast, int root, int from, int to, bool is_now)
{
	scoll_target_t targets[CAST_MEMBERS_MAX];
	int count = cast_targets(from, to, targets);

	return group_try(cast, root, targets, count, is_now);
}

int cast_group_large(struct cast *cast, int root, int from, int to, bool is_now)
{
	scoll_tag_t tags[CAST_LARGE_TAGS] = { 0 };
	scoll_target_t targets[CAST_MEMBERS_MAX];
	int count = cast_targets(from, to, targets);

	for (int i = 0; i < CAST_LARGE_TAGS; i++)
		tags[i].bytes[3] = (uint8_t)i;
	for (int i = 0; i < count; i++) {
		targets[i].tags = tags;
		targets[i].count = CAST_LARGE_TAGS;
	}
	return group_try(cast, root, targets, count, is_now);
}

scoll_group_t *cast_group(struct cast *cast, int root, int from, int to)
{
	assert_int_equal(cast_group_try(cast, root, from, to, false), 0);
	assert_int_equal(cast->members[root].group_status, 0);
	assert_non_null(cast->members[root].group);
	cast->members[root].script[0] = '\0';
	return cast->members[root].group;
}

scoll_group_t *cast_group_now(struct cast *cast, int root, int from, int to)
{
	assert_int_equal(cast_group_try(cast, root, from, to, true), 0);
	assert_null(cast->members[root].group);
	cast_run(cast);
	return cast->members[root].group;
}

scoll_request_t *cast_request(struct cast *cast, int root, scoll_group_t *group,
			      const void *buf, int len, unsigned int flags,
			      scoll_duration_t timeout)
{
	struct member *member = &cast->members[root];
	scoll_request_t *request;

	assert_int_equal(scoll_core_bcast_new(group, cast->now_ns, NULL, 0, buf,
					      len, NULL, 0, flags, timeout,
					      work_create(member), &request),
			 0);
	assert_int_equal(cast_buffers_post(member, request), 0);
	member->request = request;
	return request;
}

int cast_request_try(struct cast *cast, int root, scoll_group_t *group,
		     const struct iovec *iovs, int count,
		     scoll_request_t **ret_request)
{
	struct member *member = &cast->members[root];
	struct work *work = work_create(member);
	scoll_request_t *request;
	int result;

	result = scoll_core_bcast_new(group, cast->now_ns, NULL, 0, "try", 3,
				      iovs, count, 0, 0, work, &request);
	if (result < 0) {
		work_destroy(work);
		return result;
	}
	result = cast_buffers_post(member, request);
	if (result < 0) {
		cast_request_free(cast, request);
		return result;
	}
	*ret_request = request;
	return 0;
}

scoll_request_t *cast_bulk_request(struct cast *cast, int root,
				   scoll_group_t *group,
				   const struct iovec *iovs, int count)
{
	struct member *member = &cast->members[root];
	scoll_request_t *request;

	assert_int_equal(scoll_core_bcast_new(group, cast->now_ns, NULL, 0, "x",
					      1, iovs, count, 0, 0,
					      work_create(member), &request),
			 0);
	assert_int_equal(cast_buffers_post(member, request), 0);
	return request;
}

scoll_request_t *cast_request_of(struct cast *cast, int root,
				 scoll_group_t *group, const scoll_nid_t *nids,
				 int count)
{
	struct member *member = &cast->members[root];
	scoll_request_t *request;

	assert_int_equal(scoll_core_bcast_new(group, cast->now_ns, nids, count,
					      "x", 1, NULL, 0, 0, 0,
					      work_create(member), &request),
			 0);
	assert_int_equal(cast_buffers_post(member, request), 0);
	return request;
}

void cast_request_free(struct cast *cast, scoll_request_t *request)
{
	work_destroy(request->srq_private);
	scoll_core_request_free(request, cast->now_ns);
}

void cast_send(struct cast *cast, scoll_request_t *request)
{
	assert_int_equal(scoll_core_bcast_send(request, cast->now_ns), 0);
}

void cast_bcast(struct cast *cast, int root, scoll_group_t *group,
		const char *text)
{
	cast_send(cast, cast_request(cast, root, group, text, (int)strlen(text),
				     0, 0));
	cast_run(cast);
}

/*
 * [pre] (request | reply | part)* post [out]; when refused, pre alone, or pre
 * out, which reports here that the request went no further.
 */
static void script_check(const struct member *member)
{
	int refused = member->posts_nothing || member->no_bulk_buffer ||
		      member->bulk_short > 0;
	char script[CAST_SCRIPT], *rest = NULL;
	int started = 0, requests = 0, posts = 0, outs = 0;

	memcpy(script, member->script, sizeof(script));
	for (char *word = strtok_r(script, " ", &rest); word != NULL;
	     word = strtok_r(NULL, " ", &rest)) {
		started += strcmp(word, "pre") == 0;
		requests += strncmp(word, "request", 7) == 0;
		posts += strcmp(word, "post") == 0;
		outs += strcmp(word, "out") == 0;
		assert_true(posts <= requests && outs <= posts + refused);
	}
	assert_int_equal(requests, posts);
	assert_true(started == 0 || outs == posts + refused);
}

void cast_assert_grammar(struct cast *cast)
{
	for (int i = 0; i < cast->count; i++)
		script_check(&cast->members[i]);
}

void cast_script_clear(struct cast *cast)
{
	for (int i = 0; i < cast->count; i++)
		cast->members[i].script[0] = '\0';
}
