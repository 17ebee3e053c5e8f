/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The epoch: a row of the journal, and a file beside it that gives an old
 * journal away.
 *
 * The row is written before the file, so that no crash leaves the file above
 * the journal; only an older journal is below it. An epoch that reached the
 * journal alone was never used, and is skipped.
 */
#include "lanes/manager/store/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lanes/manager/store/row.h"

#define EPOCH_TEXT_MAX 24 /* 2^64 - 1, a newline, and room to see more */

int store_epoch_file_read(struct store *store, uint64_t *ret_epoch,
			  struct fairlead_error *ret_error)
{
	const struct file_seam *files = &store->files;
	char text[EPOCH_TEXT_MAX + 1];
	char *end = text;
	uint64_t epoch = 0;
	int size;

	size = files->ops->load(files->ctx, store->epoch_path, text,
				EPOCH_TEXT_MAX);
	if (size == -ENOENT) {
		*ret_epoch = 0;
		return 0;
	}
	if (size < 0 && size != -EFBIG)
		return store_file_fault(size, "read", store->epoch_path,
					ret_error);
	text[size < 0 ? 0 : size] = '\0';
	errno = 0;
	if (text[0] >= '1' && text[0] <= '9')
		epoch = strtoull(text, &end, 10);
	if (epoch == 0 || errno != 0 || strcmp(end, "\n") != 0)
		return error_set(ret_error, -EUCLEAN,
				 "epoch file '%s' is damaged: run 'fairlead "
				 "manager recover'",
				 store->epoch_path);
	*ret_epoch = epoch;
	return 0;
}

static int take_epoch(void *arg, const struct store_row *row)
{
	((struct store *)arg)->epoch = row->id;
	return 0;
}

int store_epoch_open(struct store *store, struct fairlead_error *ret_error)
{
	uint64_t file_epoch = 0;
	int result;

	result = store_read(store, STORE_META, 0, STORE_META_EPOCH, take_epoch,
			    store, ret_error);
	if (result < 0)
		return result;
	result = store_epoch_file_read(store, &file_epoch, ret_error);
	if (result == -EUCLEAN && store->is_recovery)
		return 0;
	if (result < 0 || file_epoch <= store->epoch)
		return result;
	if (!store->is_recovery && store->epoch == 0)
		return error_set(
			ret_error, -ESTALE,
			"journal '%s' is new or lost, and '%s' says "
			"that there was one: put it back, or, if it is "
			"lost, run 'fairlead manager recover'",
			store->journal_path, store->epoch_path);
	if (!store->is_recovery)
		return error_set(ret_error, -ESTALE,
				 "journal '%s' is old: its epoch is %" PRIu64
				 ", and '%s' says %" PRIu64
				 ": put the newer one back, or, if it is lost, "
				 "run 'fairlead manager recover'",
				 store->journal_path, store->epoch,
				 store->epoch_path, file_epoch);
	store->epoch = file_epoch;
	return 0;
}

uint64_t store_epoch(const struct store *store)
{
	return store->epoch;
}

static int epoch_rows_write(struct store *store, uint64_t epoch,
			    struct fairlead_error *ret_error)
{
	_auto_(store_batch_destroyp) struct store_batch *batch =
		store_batch_create();
	const struct store_row rows[] = {
		{ STORE_META, STORE_PUT, epoch, 0, STORE_META_EPOCH },
		{ STORE_META, STORE_PUT, epoch, 0, STORE_META_RECOVERING },
	};
	int count = store->is_recovery ? 2 : 1;

	for (int i = 0; i < count; i++)
		store_batch_add(batch, &rows[i]);
	return store_write(store, batch, ret_error);
}

int store_epoch_begin(struct store *store, uint64_t above, uint64_t *ret_epoch,
		      struct fairlead_error *ret_error)
{
	const struct file_seam *files = &store->files;
	uint64_t last = above > store->epoch ? above : store->epoch;
	char text[EPOCH_TEXT_MAX];
	int size;
	int result;

	if (last == UINT64_MAX)
		return error_set(ret_error, -EOVERFLOW,
				 "there is no epoch above %" PRIu64, last);
	result = epoch_rows_write(store, last + 1, ret_error);
	if (result < 0)
		return result;
	size = snprintf(text, sizeof(text), "%" PRIu64 "\n", last + 1);
	result = files->ops->replace(files->ctx, store->epoch_path, text,
				     (size_t)size);
	if (result < 0)
		return store_file_fault(result, "write", store->epoch_path,
					ret_error);
	store->epoch = last + 1;
	/* When it is over is the core's to say, also after later epochs. */
	store->is_recovery = false;
	*ret_epoch = store->epoch;
	return 0;
}
