/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A round asks all nodes that live and have not answered; the first one by the
 * default tree, later ones by flat trees, without relays.
 *
 * STOP is repeated until all have answered: it may reach a node before the RUN
 * that it is to stop.
 */
#include "ask_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
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
	memory_check(frame->result);
	if (ask->client.send != NULL)
		ask->client.send(ask->client.ctx, frame->data, frame->size);
	writer_fini(frame);
}

void ask_results_send(struct exec_ask *ask)
{
	for (;;) {
		struct writer frame = { 0 };

		write_u8(&frame, EXEC_FRAME_RESULTS);
		if (results_take(ask->results, EXEC_FRAME_MAX - 1, &frame) <=
		    0) {
			writer_fini(&frame);
			break;
		}
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

static void failures_send(struct exec_ask *ask)
{
	for (int reason = 0; reason <= REASON_NONE; reason++) {
		struct writer frame = { 0 };
		bool has_nodes = false;

		write_u8(&frame, EXEC_FRAME_FAILED);
		write_text(&frame, reason_text(reason));
		for (uint32_t i = 0; i < ask->names->count; i++) {
			if (idset_has(results_known(ask->results), i) ||
			    ask->reasons[i] != reason)
				continue;
			write_u32(&frame, i);
			has_nodes = true;
		}
		if (has_nodes)
			send_frame(ask, &frame);
		else
			writer_fini(&frame);
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
	free(ask->indexes);
	free(ask->targets);
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
	results_add(ask->results, ask->indexes[config->self], outcome);
	ask_results_send(ask);
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
	ask = memory_alloc(sizeof(*ask));
	ask->credential = memory_copy(credential, size);
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

/* Put live nodes that have not answered in ask->targets; how many. */
static uint32_t missing(struct exec_ask *ask)
{
	const struct exec_config *config = ask->front->config;
	uint32_t count = 0;

	for (uint32_t i = 0; i < ask->names->count; i++) {
		scoll_nid_t nid = config->nodes[ask->nodes[i]].nid;

		if (idset_has(results_known(ask->results), i))
			continue;
		if (ask->nodes[i] == config->self) {
			if (ask->is_own_started && !ask->is_own_done)
				continue;
		} else if (scoll_peer_query(ask->front->scoll, nid) ==
			   SCOLL_DEAD) {
			ask->reasons[i] = REASON_DEAD;
			continue;
		}
		ask->targets[count++] = i;
	}
	return count;
}

static void ask_targets(struct exec_ask *ask, enum serve_op op,
			scoll_tree_type_t tree, uint32_t count)
{
	uint32_t most = tree == SCOLL_TREE_FLAT ? DELAYED_MAX : count;

	for (uint32_t i = 0; i < count; i += most)
		ask_collective_start(ask, op, tree, ask->targets + i,
				     count - i < most ? count - i : most);
}

static bool is_last_round(const struct exec_ask *ask)
{
	return ask->round >= ROUNDS_MAX || ask->stop_since_ns != 0 ||
	       sys_monotonic_ns() >= ask->deadline_ns;
}

/* False: no node is left. */
static bool next_round(struct exec_ask *ask)
{
	uint32_t count = is_last_round(ask) ? 0 : missing(ask);

	if (count == 0)
		return false;
	ask_targets(ask, SERVE_RUN,
		    ask->round == 0 ? SCOLL_TREE_DEFAULT : SCOLL_TREE_FLAT,
		    count);
	ask->round++;
	ask->again_ns = sys_monotonic_ns() + (AGAIN_NS << ask->round);
	return true;
}

static void stop_tick(struct exec_ask *ask, uint64_t now_ns)
{
	struct collective *collective;
	uint32_t count;

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
	count = missing(ask);
	if (ask->is_own_started && !ask->is_own_done)
		ask->targets[count++] = ask->indexes[ask->front->config->self];
	ask_targets(ask, SERVE_STOP, SCOLL_TREE_FLAT, count);
}

static void ask_step(struct exec_ask *ask, uint64_t now_ns)
{
	bool is_own_open = ask->is_own_started && !ask->is_own_done;

	if (ask->stop_since_ns != 0 && (ask->run_count > 0 || is_own_open))
		stop_tick(ask, now_ns);
	if (ask->run_count > 0)
		return;
	if (ask->again_ns > now_ns && !is_last_round(ask) && missing(ask) > 0)
		return;
	if (next_round(ask) || is_own_open || ask->stop_count > 0)
		return;
	missing(ask); /* notes the dead nodes */
	failures_send(ask);
	ask_over(ask, 0, "");
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
	int result = memory_check(hostlist_parse(text, &ask->names, ret_error));
	uint32_t nodes = (uint32_t)config->node_count;

	if (result < 0)
		return result;
	if (ask->names->count > EXEC_NODES_MAX)
		return error_set(ret_error, -E2BIG, "more than %d nodes",
				 EXEC_NODES_MAX);
	ask->nodes = memory_array(ask->names->count, sizeof(*ask->nodes));
	ask->indexes = memory_array(nodes, sizeof(*ask->indexes));
	ask->reasons = memory_array(ask->names->count, sizeof(*ask->reasons));
	ask->targets = memory_array(ask->names->count, sizeof(*ask->targets));
	memset(ask->indexes, 0xff, nodes * sizeof(*ask->indexes));
	for (uint32_t i = 0; i < ask->names->count; i++) {
		const char *name = ask->names->names[i];
		int node = config_find(config, name);

		if (node < 0)
			return error_set(ret_error, -EINVAL,
					 "no node has the name '%s'", name);
		if (ask->indexes[node] != UINT32_MAX)
			return error_set(ret_error, -EINVAL,
					 "'%s' is there twice", name);
		ask->nodes[i] = node;
		ask->indexes[node] = i;
		ask->reasons[i] = REASON_NONE;
	}
	ask->results = results_create((uint32_t)ask->names->count);
	return 0;
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
					 "the daemon is stopping");
		/* scoll_fini() has ended them. */
		assert(ask->collectives == NULL);
		ask_destroy(ask);
	}
}
