/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The store seam over virtual time, with the promises of the shipped worker:
 * requests are carried out in order, one at a time, and what stands behind a
 * commit that failed is cancelled. A process can die in any call of the disk,
 * and between a commit and the news of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "leader_internal.h"
#include "lanes/manager/store/row.h"
#include "oracle.h"

static void on_store(void *ctx);

static void op_destroy(struct store_op *op)
{
	store_batch_destroy(op->batch);
	free(op->key);
	free(op);
}

static void turn_later(struct process *process)
{
	struct leader *leader = process->leader;

	if (process->store_event != 0 || process->ops == NULL ||
	    process->is_hung)
		return;
	process->store_event = sim_queue_add(
		leader->world->queue,
		1 + sim_rng_below(&leader->rng, 1 + leader->delay_max_ms),
		on_store, process);
}

static void cancel_waiting(struct process *process)
{
	struct store_op *op;

	DL_FOREACH (process->ops, op)
		op->is_cancelled = op->commit_done != NULL;
}

static void note_error(struct process *process, int result,
		       const struct fairlead_error *error)
{
	snprintf(process->store_error, sizeof(process->store_error), "%s",
		 error->text);
	coverage_hit(process->leader->world->coverage, "store:%s",
		     strerrorname_np(-result));
}

/*
 * A recovery is over when that is on disk: a manager that fails before begins
 * again where it was, and awaits the same nodes.
 */
static void note_recovery(struct process *process,
			  const struct store_batch *batch)
{
	store_batch_foreach(batch, row)
	{
		if (row->table == STORE_META && row->verb == STORE_PUT &&
		    strcmp(row->key, "recovering") == 0 && row->id == 0)
			oracle_recovered(process->leader->world->oracle);
	}
}

static void check_rows(struct process *process, const struct store_batch *batch)
{
	struct oracle *oracle = process->leader->world->oracle;

	store_batch_foreach(batch, row)
	{
		oracle_no_token(oracle, "a row", row->body, row->size);
		if (row->table == STORE_EVENT && row->verb == STORE_PUT)
			oracle_outside_event(oracle, row->id, row->body,
					     row->size);
	}
}

static int carry_out_commit(struct process *process, struct store_op *op)
{
	struct fairlead_error error = { 0 };
	int result;

	if (op->is_cancelled) {
		coverage_hit(process->leader->world->coverage,
			     "store:ECANCELED");
		return -ECANCELED;
	}
	check_rows(process, op->batch);
	result = store_write(process->store, op->batch, &error);
	if (result < 0) {
		note_error(process, result, &error);
		cancel_waiting(process);
	} else {
		note_recovery(process, op->batch);
	}
	return result;
}

static void carry_out(struct process *process, struct store_op *op)
{
	struct leader *leader = process->leader;
	int result = carry_out_commit(process, op);

	if (!process_died(process) && result == 0 && leader->dies_committed &&
	    process == leader->current) {
		leader->dies_committed = false;
		coverage_hit(leader->world->coverage,
			     "fault:manager-dies-committed");
		op_destroy(op);
		leader_crash(leader, false, 1000);
		return;
	}
	if (!process_died(process))
		op->commit_done(op->arg, result);
	op_destroy(op);
	process_settle(process);
}

static int collect_row(void *arg, const struct store_row *row)
{
	return store_batch_add(arg, row);
}

static void carry_out_read(struct process *process, struct store_op *op)
{
	struct fairlead_error error = { 0 };
	int result;

	op->batch = store_batch_create();
	result = store_read(process->store, op->table, op->id, op->key,
			    collect_row, op->batch, &error);
	if (result < 0)
		note_error(process, result, &error);
	if (!process_died(process))
		op->read_done(op->arg, result,
			      result < 0 ? NULL : store_batch_rows(op->batch),
			      result < 0 ? 0 : store_batch_count(op->batch));
	op_destroy(op);
	process_settle(process);
}

static void on_store(void *ctx)
{
	struct process *process = ctx;
	struct store_op *op = process->ops;

	process->store_event = 0;
	DL_DELETE(process->ops, op);
	turn_later(process);
	if (op->commit_done != NULL)
		carry_out(process, op);
	else
		carry_out_read(process, op);
}

static void seam_commit(void *ctx, struct store_batch *batch_owned,
			void (*done)(void *arg, int result), void *arg)
{
	struct process *process = ctx;
	struct store_op *op = world_allocate(sizeof(*op));

	op->batch = batch_owned;
	op->commit_done = done;
	op->arg = arg;
	DL_APPEND(process->ops, op);
	turn_later(process);
}

static void seam_read(void *ctx, enum store_table table, uint64_t id,
		      const char *key,
		      void (*done)(void *arg, int result,
				   const struct store_row *rows, size_t count),
		      void *arg)
{
	struct process *process = ctx;
	struct store_op *op = world_allocate(sizeof(*op));

	op->read_done = done;
	op->arg = arg;
	op->table = table;
	op->id = id;
	op->key = world_text("%s", key == NULL ? "" : key);
	DL_APPEND(process->ops, op);
	turn_later(process);
}

const struct store_ops process_store_ops = {
	.commit = seam_commit,
	.read = seam_read,
};

void process_store_fini(struct process *process)
{
	struct store_op *op, *next;

	sim_queue_cancel(process->leader->world->queue, process->store_event);
	process->store_event = 0;
	DL_FOREACH_SAFE (process->ops, op, next) {
		DL_DELETE(process->ops, op);
		op_destroy(op);
	}
}

/* --- the files beside the journal: not there for a process without disk --- */

static struct file_seam disk_files(struct process *process)
{
	return sim_disk_files(process->leader->disk);
}

static int make_directory(void *ctx, const char *path)
{
	struct process *process = ctx;
	struct file_seam files = disk_files(process);

	return process->is_fenced ? -EIO
				  : files.ops->make_directory(files.ctx, path);
}

static int make_file(void *ctx, const char *path)
{
	struct process *process = ctx;
	struct file_seam files = disk_files(process);

	return process->is_fenced ? -EIO
				  : files.ops->make_file(files.ctx, path);
}

static int load(void *ctx, const char *path, void *bytes, size_t capacity)
{
	struct process *process = ctx;
	struct file_seam files = disk_files(process);

	return process->is_fenced
		       ? -EIO
		       : files.ops->load(files.ctx, path, bytes, capacity);
}

static int replace(void *ctx, const char *path, const void *bytes, size_t size)
{
	struct process *process = ctx;
	struct file_seam files = disk_files(process);

	return process->is_fenced
		       ? -EIO
		       : files.ops->replace(files.ctx, path, bytes, size);
}

static int rename_file(void *ctx, const char *from, const char *to)
{
	struct process *process = ctx;
	struct file_seam files = disk_files(process);

	return process->is_fenced ? -EIO
				  : files.ops->rename(files.ctx, from, to);
}

static int lock(void *ctx, const char *path, void **ret_lock,
		uint64_t *ret_holder)
{
	struct process *process = ctx;
	struct file_seam files = disk_files(process);

	return process->is_fenced
		       ? -EIO
		       : files.ops->lock(files.ctx, path, ret_lock, ret_holder);
}

static void unlock(void *ctx, void *lock)
{
	struct process *process = ctx;
	struct file_seam files = disk_files(process);

	files.ops->unlock(files.ctx, lock);
}

struct file_seam process_files(struct process *process)
{
	static const struct file_ops ops = {
		.make_directory = make_directory,
		.make_file = make_file,
		.load = load,
		.replace = replace,
		.rename = rename_file,
		.lock = lock,
		.unlock = unlock,
	};

	return (struct file_seam){ .ops = &ops, .ctx = process };
}
