/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whatever needs no trust (JSON, hashes) is done in the thread, too, so that
 * unidentified clients cost the loop no more than a copy. A task that is in the thread
 * is touched by nobody else.
 */
#include "base/memory.h"
#include "lanes/manager/gate_lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"

static void task_free(struct task *task)
{
	free(task->bytes);
	envelope_fini(&task->envelope);
	writer_fini(&task->frame);
	free(task);
}

static void lane_drop(struct lane *lane, struct task *task)
{
	DL_DELETE(lane->tasks, task);
	lane->count--;
	task_free(task);
}

static void on_work(uv_work_t *work)
{
	struct task *task = work->data;

	task->lane->run(task->lane->munge, task);
}

static void lane_next(struct lane *lane);

static void on_worked(uv_work_t *work, int status)
{
	struct task *task = work->data;
	struct lane *lane = task->lane;

	if (!lane->is_cut)
		lane->done(lane->ctx, task);
	lane_drop(lane, task);
	if (lane->count > 0)
		lane_next(lane);
	else
		lane->empty(lane->ctx);
}

static void lane_next(struct lane *lane)
{
	uv_queue_work(lane->loop, &lane->tasks->work, on_work, on_worked);
}

void lane_add(struct lane *lane, uint64_t peer, uid_t uid,
	      const uint8_t nonce[ENVELOPE_NONCE_SIZE], const void *bytes,
	      size_t size)
{
	struct task *task = memory_alloc(sizeof(*task));

	task->work.data = task;
	task->lane = lane;
	task->peer = peer;
	task->bytes = memory_copy(bytes, size);
	task->size = size;
	task->uid = uid;
	memcpy(task->nonce, nonce, sizeof(task->nonce));
	DL_APPEND(lane->tasks, task);
	lane->count++;
	if (lane->count == 1)
		lane_next(lane);
}

void lane_cut(struct lane *lane)
{
	lane->is_cut = true;
	while (lane->tasks != NULL && lane->tasks->next != NULL)
		lane_drop(lane, lane->tasks->next);
}

void task_open_request(const struct munge *munge, struct task *task)
{
	_auto_(freep) void *payload = NULL;
	struct envelope *envelope = &task->envelope;
	size_t size;

	task->result = envelope_parse(ENVELOPE_REQUEST, task->bytes, task->size,
				      envelope, &task->error);
	if (task->result == 0)
		task->result =
			munge_unseal(munge, envelope->credential, &payload,
				     &size, &task->uid, &task->error);
	if (task->result == 0)
		task->result = envelope_check(ENVELOPE_REQUEST, payload, size,
					      envelope->text, envelope->size,
					      task->nonce, &task->error);
}

void task_seal_answer(const struct munge *munge, struct task *task)
{
	_auto_(freep) char *credential = NULL;
	uint8_t payload[ENVELOPE_PAYLOAD_SIZE];
	const char *text = (const char *)task->bytes;

	envelope_vouch(ENVELOPE_ANSWER, task->nonce, text, task->size, payload);
	task->result = munge_seal(munge, task->uid, payload, sizeof(payload),
				  &credential, &task->error);
	if (task->result < 0)
		return;
	task->result = envelope_encode(ENVELOPE_ANSWER, credential, text,
				       task->size, &task->frame);
	if (task->result < 0)
		error_set(&task->error, task->result,
			  "the answer does not fit into an envelope");
}
