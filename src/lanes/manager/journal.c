/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The epoch is taken before the rows are read, so that what is read includes
 * what the store has noted with it.
 */
#include "lanes/manager/journal.h"

#include <errno.h>
#include <inttypes.h>

static int on_halted(void *arg, const struct store_row *row)
{
	*(uint64_t *)arg = row->id;
	return 0;
}

struct load {
	struct engine *engine;
	struct fairlead_error *error;
};

static int on_row(void *arg, const struct store_row *row)
{
	const struct load *load = arg;

	return engine_load(load->engine, row, load->error);
}

/* Only load the rows. */
static int journal_load(struct store *store, struct engine *engine,
			struct fairlead_error *ret_error)
{
	struct fairlead_error error = { 0 };
	struct load load = { .engine = engine, .error = &error };

	for (size_t i = 0; i < CORE_LOAD_COUNT; i++) {
		int result = store_scan(store, core_load_order[i], on_row,
					&load, ret_error);

		if (result < 0)
			return error.code == 0
				       ? result
				       : error_set(ret_error, error.code, "%s",
						   error.text);
	}
	return 0;
}

int journal_begin(struct store *store, bool is_recovery, struct engine *engine,
		  uint64_t *ret_epoch, struct fairlead_error *ret_error)
{
	uint64_t halted_epoch = 0;
	uint64_t epoch;
	int result = store_read(store, STORE_META, 0, ENGINE_META_HALTED,
				on_halted, &halted_epoch, ret_error);

	if (result < 0)
		return result;
	if (halted_epoch != 0 && !is_recovery && !engine_is_halted(engine))
		return error_set(ret_error, -ESTALE,
				 "a node has obeyed a newer manager (epoch "
				 "%" PRIu64 "), so this journal is old; stop "
				 "the other manager; if there is none, run "
				 "'fairlead manager recover'",
				 halted_epoch);
	result = store_epoch_begin(store, is_recovery ? halted_epoch : 0,
				   &epoch, ret_error);
	if (result == 0)
		result = journal_load(store, engine, ret_error);
	if (result < 0)
		return result;
	*ret_epoch = epoch;
	return 0;
}

int journal_replay(struct store *store, struct engine *engine,
		   uint64_t *ret_epoch, struct fairlead_error *ret_error)
{
	return journal_begin(store, engine_is_recovery(engine), engine,
			     ret_epoch, ret_error);
}
