/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work that needs no trust (JSON, hashes) is done in the thread, too, so that
 * unidentified clients cost the loop no more than a copy. While a task is in
 * the thread, only the thread touches it.
 */
#include "base/memory.h"
#include "lanes/manager/munge_queue.h"

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

static void task_drop(struct munge_queue *queue, struct task *task)
{
	DL_DELETE(queue->tasks, task);
	queue->count--;
	task_free(task);
}

static void on_work(uv_work_t *work)
{
	struct task *task = work->data;

	task->queue->run(task->queue->munge, task);
}

static void task_next(struct munge_queue *queue);

static void on_worked(uv_work_t *work, int status)
{
	struct task *task = work->data;
	struct munge_queue *queue = task->queue;

	if (!queue->is_cut)
		queue->done(queue->ctx, task);
	task_drop(queue, task);
	if (queue->count > 0)
		task_next(queue);
	else
		queue->empty(queue->ctx);
}

static void task_next(struct munge_queue *queue)
{
	uv_queue_work(queue->loop, &queue->tasks->work, on_work, on_worked);
}

void munge_queue_add(struct munge_queue *queue, uint64_t peer, uid_t uid,
		     const uint8_t nonce[ENVELOPE_NONCE_SIZE],
		     const void *bytes, size_t size)
{
	struct task *task = memory_alloc(sizeof(*task));

	task->work.data = task;
	task->queue = queue;
	task->peer = peer;
	task->bytes = memory_copy(bytes, size);
	task->size = size;
	task->uid = uid;
	memcpy(task->nonce, nonce, sizeof(task->nonce));
	DL_APPEND(queue->tasks, task);
	queue->count++;
	if (queue->count == 1)
		task_next(queue);
}

void munge_queue_cut(struct munge_queue *queue)
{
	queue->is_cut = true;
	while (queue->tasks != NULL && queue->tasks->next != NULL)
		task_drop(queue, queue->tasks->next);
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
