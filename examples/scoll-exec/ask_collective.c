/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One collective to some of the nodes: its group, its payload, its failures. A
 * group that cannot be populated because a node is dying is made in halves.
 */
#include "ask_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "order.h"
#include "sys/clock.h"

#define INLINE_MAX 2048 /* bytes of a credential that is in the payload */

static void ask_collective_end(struct collective *collective)
{
	struct exec_ask *ask = collective->ask;

	if (collective->op == SERVE_STOP)
		ask->stop_count--;
	else
		ask->run_count--;
	DL_DELETE(ask->collectives, collective);
	if (collective->group != NULL)
		scoll_group_destroy(collective->group);
	writer_fini(&collective->payload);
	free(collective);
}

static void note_reason(struct collective *collective, uint32_t i, int reason)
{
	if (collective->op == SERVE_RUN)
		collective->ask->reasons[collective->targets[i]] =
			(uint8_t)reason;
}

/* The client may stop it while its group is made. */
static bool is_stopped(const struct collective *collective)
{
	return collective->op == SERVE_RUN &&
	       collective->ask->stop_since_ns != 0;
}

static void collective_failed(struct collective *collective, int result)
{
	struct exec_ask *ask = collective->ask;
	int reason = result == -EHOSTDOWN ? SCOLL_ERROR_PEER_DEAD
		     : result == -EAGAIN  ? SCOLL_ERROR_STEALTH
		     : result == -ENOMEM  ? SCOLL_ERROR_NOMEM
					  : SCOLL_ERROR_NET_SEND;

	log_info(ask->front->log, "collective not sent nodes=%u error=%d",
		 collective->count, -result);
	if (collective->is_populated && collective->count > 1 &&
	    !is_stopped(collective) && result != -EAGAIN && result != -ENOMEM) {
		uint32_t half = collective->count / 2;

		ask_collective_start(ask, collective->op, collective->tree,
				     collective->targets, half);
		ask_collective_start(ask, collective->op, collective->tree,
				     collective->targets + half,
				     collective->count - half);
	} else {
		for (uint32_t i = 0; i < collective->count; i++)
			note_reason(collective, i, reason);
	}
	ask_collective_end(collective);
}

static void on_merged(void *ctx)
{
	ask_results_send(((struct collective *)ctx)->ask);
}

static void on_start(void *ctx)
{
	struct collective *collective = ctx;
	struct exec_ask *ask = collective->ask;
	struct front *front = ask->front;
	uint8_t key[EXEC_ID_BYTES];

	if (collective->op == SERVE_STOP) {
		exec_digest(ask->credential, ask->size, key);
		runs_stop(front->runs, key, ask->secret);
	} else if (!ask->is_own_started) {
		ask->is_own_started = true;
		runs_join(front->runs, ask->credential, ask->size,
			  front->config->nodes[front->config->self].nid,
			  &ask->own);
	}
}

static void on_over(void *ctx, const scoll_request_t *request)
{
	struct collective *collective = ctx;
	struct exec_ask *ask = collective->ask;
	struct scoll_failure failure;
	uint64_t cursor = 0;

	while (collective->op == SERVE_RUN &&
	       scoll_request_failure_next(request, &cursor, &failure) > 0) {
		int node = config_find_nid(ask->front->config, failure.nid);
		uint32_t index = node < 0 ? UINT32_MAX : ask->indexes[node];

		if (index != UINT32_MAX)
			ask->reasons[index] = (uint8_t)failure.type;
	}
	ask_collective_end(collective);
}

static scoll_duration_t patience(const struct collective *collective)
{
	uint64_t now_ns = sys_monotonic_ns();
	uint64_t deadline_ns = collective->ask->deadline_ns;

	if (collective->op == SERVE_STOP)
		return 5 * SECOND_NS;
	return now_ns < deadline_ns ? (scoll_duration_t)(deadline_ns - now_ns)
				    : (scoll_duration_t)SECOND_NS;
}

static void on_group(int status, scoll_group_t *group, const void *private)
{
	struct collective *collective = (struct collective *)private;
	struct exec_ask *ask = collective->ask;
	struct serve_root root = { .merged = on_merged,
				   .start = on_start,
				   .over = on_over,
				   .ctx = collective };
	bool has_bulk = collective->bulk.iov_len > 0;
	scoll_request_t *request;
	int result;

	if (status < 0) {
		collective_failed(collective, status);
		return;
	}
	collective->group = group;
	if (is_stopped(collective)) {
		ask_collective_end(collective);
		return;
	}
	request = scoll_bcast_new(group, collective->payload.data,
				  (int)collective->payload.size,
				  has_bulk ? &collective->bulk : NULL,
				  has_bulk ? 1 : 0, SCOLL_LAST,
				  patience(collective), NULL);
	if (request == NULL) {
		collective_failed(collective, -errno);
		return;
	}
	result = serve_root_begin(
		ask->front, request,
		collective->op == SERVE_RUN ? ask->results : NULL, &root);
	if (result == 0) {
		result = scoll_bcast_send(request);
		if (result < 0)
			serve_root_cancel(request);
	}
	if (result < 0) {
		scoll_request_free(request);
		collective_failed(collective, result);
		return;
	}
	collective->request = request;
}

static void payload_write(struct collective *collective)
{
	struct exec_ask *ask = collective->ask;
	struct writer *payload = &collective->payload;
	uint8_t key[EXEC_ID_BYTES];

	write_u8(payload, SERVE_VERSION);
	write_u8(payload, (uint8_t)collective->op);
	if (collective->op == SERVE_STOP) {
		exec_digest(ask->credential, ask->size, key);
		write_bytes(payload, key, sizeof(key));
		write_bytes(payload, ask->secret, sizeof(ask->secret));
		return;
	}
	write_u32(payload, (uint32_t)ask->names->count);
	if (ask->size <= INLINE_MAX) {
		write_blob(payload, ask->credential, ask->size);
	} else {
		write_u32(payload, 0);
		collective->bulk = (struct iovec){ ask->credential, ask->size };
	}
}

static int group_make(struct collective *collective)
{
	const struct exec_ask *ask = collective->ask;
	const struct exec_config *config = ask->front->config;
	_auto_(freep) scoll_target_t *targets =
		memory_array(collective->count, sizeof(*targets));
	_auto_(freep) scoll_tag_t *tags =
		memory_array(collective->count, sizeof(*tags));

	memory_check(collective->payload.result);
	for (uint32_t i = 0; i < collective->count; i++) {
		uint32_t index = collective->targets[i];

		serve_tag(index, &tags[i]);
		targets[i] = (scoll_target_t){
			.nid = config->nodes[ask->nodes[index]].nid,
			.tags = &tags[i],
			.count = 1,
		};
	}
	return scoll_group_create(ask->front->scoll, SERVE_ID, "scoll-exec",
				  targets, (int)collective->count,
				  collective->tree, collective->is_populated,
				  on_group, collective);
}

void ask_collective_start(struct exec_ask *ask, enum serve_op op,
			  scoll_tree_type_t tree, const uint32_t *targets,
			  uint32_t count)
{
	struct collective *collective =
		memory_alloc(sizeof(*collective) + count * sizeof(*targets));
	int result;

	collective->ask = ask;
	collective->op = op;
	collective->tree = tree;
	collective->count = count;
	collective->is_populated = count > DELAYED_MAX;
	memcpy(collective->targets, targets, count * sizeof(*targets));
	DL_APPEND(ask->collectives, collective);
	if (op == SERVE_STOP)
		ask->stop_count++;
	else
		ask->run_count++;
	payload_write(collective);
	result = group_make(collective);
	if (result < 0)
		collective_failed(collective, result);
}
