/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue of requests to munged: one task at a time is in a thread, the others
 * wait. Only tcp_clients.c includes this.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/bytes.h"
#include "base/error.h"
#include "sys/credential.h"
#include "lanes/proto/envelope.h"

struct munge_queue;

struct task {
	uv_work_t work;
	struct munge_queue *queue;
	uint64_t peer;
	/* Input of the thread. */
	uint8_t *bytes; /* a request's envelope, or an answer's text */
	size_t size;
	uid_t uid; /* of an answer: its reader; of a request: a result */
	uint8_t nonce[ENVELOPE_NONCE_SIZE]; /* likewise */
	/* Output of the thread. */
	int result;
	struct fairlead_error error;
	struct envelope envelope; /* of a request */
	struct writer frame;      /* of an answer */
	struct task *prev, *next;
};

struct munge_queue {
	uv_loop_t *loop;
	const struct munge *munge;
	/* In the thread. */
	void (*run)(const struct munge *munge, struct task *task);
	/* On the loop: the task is done, and is freed after the call. */
	void (*done)(void *ctx, const struct task *task);
	void (*empty)(void *ctx); /* the last call, when nothing waits */
	void *ctx;
	bool is_cut;
	struct task *tasks; /* the first one is in the thread */
	size_t count;
};

/* Put a task with a copy of the bytes at the end. */
void munge_queue_add(struct munge_queue *queue, uint64_t peer, uid_t uid,
		     const uint8_t nonce[ENVELOPE_NONCE_SIZE],
		     const void *bytes, size_t size);
/*
 * Drop all but the task in the thread, which ends without a `done`; `empty` is
 * called when it does, and not when there is none.
 */
void munge_queue_cut(struct munge_queue *queue);

/* For `run`. */
void task_open_request(const struct munge *munge, struct task *task);
void task_seal_answer(const struct munge *munge, struct task *task);
