/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A round asks all whose answer is missing and who are not known to be dead;
 * the first one by the default tree, later ones by flat trees, in which nobody
 * stands between.
 *
 * STOP is repeated until all have answered: it may be at a node before what it
 * is to stop.
 */
#include "ask_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "order.h"
#include "serve.h"
#include "sys/clock.h"

#define SLACK_NS     (10 * SECOND_NS) /* over a command's own time */
#define AGAIN_NS     (SECOND_NS / 10) /* between rounds, doubled each time */
#define STOP_NS      SECOND_NS        /* between two STOPs */
#define STOP_LAST_NS (15 * SECOND_NS) /* then we wait no more */
#define ROUNDS_MAX   6

/* --- to the client --- */

static void send_frame(struct exec_ask *ask, struct writer *frame)
{
	if (ask->client.send != NULL && frame->result == 0)
		ask->client.send(ask->client.ctx, frame->data, frame->size);
	writer_fini(frame);
}

static char *names_format(const struct exec_ask *ask, const uint32_t *places,
			  uint32_t count)
{
	_auto_(freep) const char **names = calloc(count, sizeof(*names));

	if (names == NULL)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		names[i] = ask->names->names[places[i]];
	return hostlist_format(names, count);
}

/* All that is there. */
void ask_pass_on(struct exec_ask *ask)
{
	const uint32_t *places;
	struct outcome outcome;
	uint32_t count;

	while (results_next(ask->results, &outcome, &places, &count)) {
		_auto_(freep) char *names = names_format(ask, places, count);
		struct writer frame = { 0 };

		if (names == NULL)
			continue;
		write_u8(&frame, EXEC_FRAME_RESULT);
		write_text(&frame, names);
		write_u8(&frame, outcome.kind);
		write_u32(&frame, outcome.code);
		write_u8(&frame, outcome.flags);
		write_blob(&frame, outcome.output, outcome.size);
		send_frame(ask, &frame);
	}
}

static const char *reason_text(int reason)
{
	switch (reason) {
	case REASON_DEAD:
		return "is dead";
	case REASON_NONE:
		return "no answer";
	default:
		return scoll_error_type_text((enum scoll_error_type)reason);
	}
}

static void pass_on_failures(struct exec_ask *ask)
{
	_auto_(freep) uint32_t *places =
		calloc(ask->names->count, sizeof(*places));

	for (int reason = 0; places != NULL && reason <= REASON_NONE;
	     reason++) {
		_auto_(freep) char *names = NULL;
		struct writer frame = { 0 };
		uint32_t count = 0;

		for (uint32_t i = 0; i < ask->names->count; i++) {
			if (!idset_has(results_known(ask->results), i) &&
			    ask->reasons[i] == reason)
				places[count++] = i;
		}
		names = count > 0 ? names_format(ask, places, count) : NULL;
		if (names == NULL)
			continue;
		write_u8(&frame, EXEC_FRAME_FAILED);
		write_text(&frame, names);
		write_text(&frame, reason_text(reason));
		send_frame(ask, &frame);
	}
}

/* --- life --- */

static void ask_destroy(struct exec_ask *ask)
{
	if (ask == NULL)
		return;
	DL_DELETE(ask->front->asks, ask);
	runs_leave(&ask->own);
	hostlist_destroy(ask->names);
	results_destroy(ask->results);
	free(ask->credential);
	free(ask->nodes);
	free(ask->places);
	free(ask->reasons);
	free(ask);
}

static void ask_over(struct exec_ask *ask, int result, const char *text)
{
	if (ask->client.over != NULL)
		ask->client.over(ask->client.ctx, result, text);
	ask_destroy(ask);
}

static void own_done(struct exec_waiter *waiter, const struct outcome *outcome)
{
	struct exec_ask *ask = (struct exec_ask *)waiter;
	const struct exec_config *config = ask->front->config;

	ask->is_own_done = true;
	results_add(ask->results, ask->places[config->self], outcome);
	ask_pass_on(ask);
}

int ask_create(struct front *front, const struct ask_client *client, uid_t uid,
	       const void *credential, size_t size,
	       const uint8_t secret[EXEC_ID_BYTES], struct exec_ask **ret_ask)
{
	int count = 0, of_user = 0, result;
	uint64_t tag = 0;
	struct exec_ask *ask;

	DL_FOREACH (front->asks, ask) {
		count++;
		of_user += ask->uid == uid;
		tag = ask->tag > tag ? ask->tag : tag;
	}
	if (count >= ASKS_MAX || of_user >= ASKS_OF_USER_MAX)
		return -EBUSY;
	ask = calloc(1, sizeof(*ask));
	if (ask == NULL)
		return -ENOMEM;
	ask->credential = malloc(size);
	if (ask->credential == NULL) {
		free(ask);
		return -ENOMEM;
	}
	memcpy(ask->credential, credential, size);
	memcpy(ask->secret, secret, EXEC_ID_BYTES);
	ask->size = size;
	ask->front = front;
	ask->client = *client;
	ask->uid = uid;
	ask->tag = tag + 1;
	ask->own.done = own_done;
	DL_APPEND(front->asks, ask);
	result = runs_check(front->runs, ask->tag, uid, ask->credential, size);
	if (result < 0) {
		ask_destroy(ask);
		return result;
	}
	*ret_ask = ask;
	return 0;
}

void ask_orphan(struct exec_ask *ask)
{
	ask->client = (struct ask_client){ 0 };
	ask_stop(ask);
}

void ask_stop(struct exec_ask *ask)
{
	if (ask->stop_since_ns == 0)
		ask->stop_since_ns = sys_monotonic_ns();
}

/* --- rounds --- */

/* Who has not answered and may yet: as places; how many. */
static uint32_t missing(struct exec_ask *ask, uint32_t *ret_places)
{
	const struct exec_config *config = ask->front->config;
	uint32_t count = 0;

	for (uint32_t i = 0; i < ask->names->count; i++) {
		scoll_nid_t nid = config->nodes[ask->nodes[i]].nid;

		if (idset_has(results_known(ask->results), i))
			continue;
		if (ask->nodes[i] == config->self) {
			if (ask->is_own_asked && !ask->is_own_done)
				continue;
		} else if (scoll_peer_query(ask->front->scoll, nid) ==
			   SCOLL_DEAD) {
			ask->reasons[i] = REASON_DEAD;
			continue;
		}
		ret_places[count++] = i;
	}
	return count;
}

static void ask_places(struct exec_ask *ask, enum serve_op op,
		       scoll_tree_type_t tree, const uint32_t *places,
		       uint32_t count)
{
	uint32_t most = tree == SCOLL_TREE_FLAT ? DELAYED_MAX : count;

	for (uint32_t i = 0; i < count; i += most)
		ask_collective_start(ask, op, tree, places + i,
				     count - i < most ? count - i : most);
}

static bool is_last_round(const struct exec_ask *ask)
{
	return ask->round >= ROUNDS_MAX || ask->stop_since_ns != 0 ||
	       sys_monotonic_ns() >= ask->deadline_ns;
}

/* False: there is nobody left to be asked. */
static bool next_round(struct exec_ask *ask)
{
	_auto_(freep) uint32_t *places =
		calloc(ask->names->count, sizeof(*places));
	uint32_t count;

	if (places == NULL || is_last_round(ask))
		return false;
	count = missing(ask, places);
	if (count == 0)
		return false;
	ask_places(ask, SERVE_RUN,
		   ask->round == 0 ? SCOLL_TREE_DEFAULT : SCOLL_TREE_FLAT,
		   places, count);
	ask->round++;
	ask->again_ns = sys_monotonic_ns() + (AGAIN_NS << ask->round);
	return true;
}

static void stop_tick(struct exec_ask *ask, uint64_t now_ns)
{
	_auto_(freep) uint32_t *places =
		calloc(ask->names->count, sizeof(*places));
	struct collective *collective;
	uint32_t count;

	if (places == NULL)
		return;
	if (now_ns > ask->stop_since_ns + STOP_LAST_NS && !ask->is_aborted) {
		ask->is_aborted = true;
		DL_FOREACH (ask->collectives, collective) {
			if (collective->request != NULL)
				scoll_bcast_abort(collective->request);
		}
	}
	if (ask->stop_count > 0 || now_ns < ask->stop_next_ns)
		return;
	ask->stop_next_ns = now_ns + STOP_NS;
	count = missing(ask, places);
	if (ask->is_own_asked && !ask->is_own_done)
		places[count++] = ask->places[ask->front->config->self];
	ask_places(ask, SERVE_STOP, SCOLL_TREE_FLAT, places, count);
}

static void finish(struct exec_ask *ask)
{
	_auto_(freep) uint32_t *places =
		calloc(ask->names->count, sizeof(*places));

	if (places != NULL)
		missing(ask, places); /* notes who is dead */
	pass_on_failures(ask);
	ask_over(ask, 0, "");
}

static void ask_step(struct exec_ask *ask, uint64_t now_ns)
{
	bool is_own_open = ask->is_own_asked && !ask->is_own_done;

	if (ask->stop_since_ns != 0 && (ask->run_count > 0 || is_own_open))
		stop_tick(ask, now_ns);
	if (ask->run_count > 0)
		return;
	if (ask->again_ns > now_ns && !is_last_round(ask)) {
		_auto_(freep) uint32_t *places =
			calloc(ask->names->count, sizeof(*places));

		if (places == NULL || missing(ask, places) > 0)
			return;
	}
	if (next_round(ask) || is_own_open || ask->stop_count > 0)
		return;
	finish(ask);
}

void ask_tick(struct front *front)
{
	uint64_t now_ns = sys_monotonic_ns();
	struct exec_ask *ask, *next;

	DL_FOREACH_SAFE (front->asks, ask, next) {
		if (ask->is_begun)
			ask_step(ask, now_ns);
	}
}

/* --- the beginning --- */

static int take_names(struct exec_ask *ask, const char *text,
		      struct fairlead_error *ret_error)
{
	const struct exec_config *config = ask->front->config;
	int result = hostlist_parse(text, &ask->names, ret_error);
	uint32_t nodes = (uint32_t)config->node_count;

	if (result < 0)
		return result;
	if (ask->names->count > EXEC_NODES_MAX)
		return error_set(ret_error, -E2BIG, "more than %d nodes",
				 EXEC_NODES_MAX);
	ask->nodes = calloc(ask->names->count, sizeof(*ask->nodes));
	ask->places = calloc(nodes, sizeof(*ask->places));
	ask->reasons = calloc(ask->names->count, sizeof(*ask->reasons));
	if (ask->nodes == NULL || ask->places == NULL || ask->reasons == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	memset(ask->places, 0xff, nodes * sizeof(*ask->places));
	for (uint32_t i = 0; i < ask->names->count; i++) {
		const char *name = ask->names->names[i];
		int node = config_find(config, name);

		if (node < 0)
			return error_set(ret_error, -EINVAL,
					 "no node has the name '%s'", name);
		if (ask->places[node] != UINT32_MAX)
			return error_set(ret_error, -EINVAL,
					 "'%s' is there twice", name);
		ask->nodes[i] = node;
		ask->places[node] = i;
		ask->reasons[i] = REASON_NONE;
	}
	return results_create((uint32_t)ask->names->count, &ask->results);
}

static int begin(struct exec_ask *ask, const struct launcher_answer *answer,
		 struct fairlead_error *ret_error)
{
	uint8_t digest[EXEC_ID_BYTES];
	int result = take_names(ask, answer->nodes, ret_error);

	if (result < 0)
		return result;
	exec_digest(ask->secret, EXEC_ID_BYTES, digest);
	if (memcmp(digest, answer->stop_digest, EXEC_ID_BYTES) != 0)
		return error_set(ret_error, -EINVAL,
				 "the secret is of another command");
	if (scoll_is_stealthy(ask->front->scoll))
		return error_set(ret_error, -EAGAIN,
				 "the daemon of this node has just started, "
				 "and does not know the others yet");
	ask->deadline_ns = sys_monotonic_ns() +
			   answer->timeout_ms * UINT64_C(1000000) + SLACK_NS;
	return 0;
}

void ask_checked(struct front *front, uint64_t tag,
		 const struct launcher_answer *answer)
{
	struct fairlead_error error = { 0 };
	struct exec_ask *ask;
	int result;

	DL_SEARCH_SCALAR(front->asks, ask, tag, tag);
	if (ask == NULL)
		return;
	result = answer->result;
	if (result < 0)
		error_set(&error, result, "%s", answer->text);
	else if (ask->stop_since_ns != 0)
		result = error_set(&error, -ECANCELED, "stopped");
	else
		result = begin(ask, answer, &error);
	if (result < 0) {
		ask_over(ask, result, error.text);
		return;
	}
	ask->is_begun = true;
	ask_step(ask, sys_monotonic_ns());
}

void ask_destroy_all(struct front *front)
{
	while (front->asks != NULL) {
		struct exec_ask *ask = front->asks;

		if (ask->client.over != NULL)
			ask->client.over(ask->client.ctx, -ESHUTDOWN,
					 "the daemon ends");
		/* scoll_fini() has ended them, and they could not end now. */
		assert(ask->collectives == NULL);
		ask_destroy(ask);
	}
}
