/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes on the drivers, in the order that survives a crash at any point:
 *
 *	apply:  APPLYING | driver, environment file | APPLIED | answer
 *	revoke: REVOKING | environment file, driver | OWED, TOMBSTONE | answer
 *
 * A revoke does not wait for the journal: when that cannot be written the lane
 * is taken all the same, but is not said to be gone.
 */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "node/guard/internal.h"

void text_add(char text[GUARD_TEXT_MAX + 1], const char *line)
{
	size_t size = strlen(text);
	size_t left = GUARD_TEXT_MAX + 1 - size;

	if (size > 0 && left > 1) {
		text[size++] = '\n';
		text[size] = 0;
		left--;
	}
	strncpy(text + size, line, left);
	if (strlen(line) >= left)
		text_cut(text, GUARD_TEXT_MAX + 1);
}

/* The drivers' way to add lines to a text. */
struct collector {
	struct fairlead_warnings warnings;
	char *text;
};

static void collector_add(struct fairlead_warnings *warnings, const char *line)
{
	struct collector *collector = (struct collector *)warnings;

	text_add(collector->text, line);
}

static struct collector collector_of(char text[GUARD_TEXT_MAX + 1])
{
	return (struct collector){
		.warnings = { .add = collector_add },
		.text = text,
	};
}

static int driver_get(const struct guard *guard, const struct grant *grant,
		      const struct guard_driver **ret_driver,
		      struct fairlead_error *ret_error)
{
	const struct guard_driver *driver = guard_driver(guard, grant->driver);

	if (!driver)
		return error_set(ret_error, -ENODEV,
				 "this node has no driver '%s'", grant->driver);
	if (!driver->is_open)
		return error_set(ret_error, -ENODEV, "driver '%s': %s",
				 grant->driver, driver->detail);
	*ret_driver = driver;
	return 0;
}

/* --- environment --- */

struct environment {
	struct writer *writer;
	bool is_malformed;
};

static void environment_add(void *arg, const char *name, const char *value)
{
	struct environment *environment = arg;

	if (!*name || strpbrk(name, "=\n") || (value && strchr(value, '\n'))) {
		environment->is_malformed = true;
		return;
	}
	write_bytes(environment->writer, name, strlen(name));
	if (value) {
		write_u8(environment->writer, '=');
		write_bytes(environment->writer, value, strlen(value));
	}
	write_u8(environment->writer, '\n');
}

int lane_environment(const struct guard *guard, const struct grant *grant,
		     const struct fairlead_record *record,
		     struct writer *writer, struct fairlead_error *ret_error)
{
	struct environment environment = { .writer = writer };
	const struct guard_driver *driver;
	int result = driver_get(guard, grant, &driver, ret_error);

	if (result < 0 || !driver->driver->node->env)
		return result;
	result = driver->driver->node->env(driver->state, &grant->lane, record,
					   environment_add, &environment,
					   ret_error);
	if (result < 0)
		return result;
	if (environment.is_malformed)
		return error_set(ret_error, -EINVAL,
				 "driver '%s' has a variable with '=' or a "
				 "newline where none can be",
				 grant->driver);
	if (writer->result < 0)
		return error_set(ret_error, writer->result,
				 "the environment is too large");
	return 0;
}

static int environment_write(struct guard *guard, const struct grant *grant,
			     const struct fairlead_record *record,
			     struct fairlead_error *ret_error)
{
	struct writer content = { .limit = FRAME_SIZE_MAX };
	struct request_key key;
	int result = request_key_parse(grant->key, &key, ret_error);

	if (result == 0)
		result = lane_environment(guard, grant, record, &content,
					  ret_error);
	if (result == 0) {
		result = guard->config.ops->write_environment(
			guard->config.ops_ctx, &key, grant->lane.uid,
			grant->lane.gid, content.data, content.size);
		if (result < 0)
			error_set(ret_error, result,
				  "cannot write the environment file: %s",
				  strerror(-result));
	}
	writer_fini(&content);
	return result;
}

static int environment_remove(struct guard *guard, const struct grant *grant,
			      struct fairlead_error *ret_error)
{
	struct request_key key;
	int result;

	if (!*grant->key)
		return 0; /* lost here and forgotten by the manager */
	result = request_key_parse(grant->key, &key, ret_error);
	if (result < 0)
		return result;
	result = guard->config.ops->remove_environment(guard->config.ops_ctx,
						       &key);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot remove the environment file: %s",
				 strerror(-result));
	return 0;
}

/* --- revoke --- */

static int driver_revoke(const struct guard *guard, const struct grant *grant,
			 bool is_dry_run, char text[GUARD_TEXT_MAX + 1],
			 struct fairlead_error *ret_error)
{
	static const struct fairlead_record unknown;
	struct collector collector = collector_of(text);
	const struct guard_driver *driver;
	int result = driver_get(guard, grant, &driver, ret_error);

	if (result < 0)
		return result;
	return driver->driver->node->revoke(
		driver->state, &grant->lane,
		grant->record ? grant->record : &unknown, is_dry_run,
		&collector.warnings, ret_error);
}

/* The end of a grant: it is freed when this returns 0. */
static int bury(struct guard *guard, const struct grant *grant, bool owes,
		struct fairlead_error *ret_error)
{
	uint64_t grant_id = grant->lane.grant_id;
	struct writer batch;
	int result;

	batch_begin(guard, &batch);
	if (owes)
		ledger_write_owed(&batch, guard->ledger.next_sequence, grant_id,
				  0, "");
	ledger_write_tombstone(&batch, grant_id);
	result = batch_commit(guard, &batch);
	if (result < 0)
		return error_set(ret_error, result,
				 "it is taken back, but cannot be written to "
				 "the journal: %s",
				 strerror(-result));
	return 0;
}

static void mark_revoking(struct guard *guard, struct grant *grant)
{
	struct writer batch;

	if (grant->state == GRANT_REVOKING)
		return;
	batch_begin(guard, &batch);
	ledger_write_revoking(&batch, grant->lane.grant_id);
	if (batch_commit(guard, &batch) < 0)
		grant->state = GRANT_REVOKING;
}

int lane_revoke(struct guard *guard, struct grant *grant, unsigned int flags,
		char text[GUARD_TEXT_MAX + 1])
{
	struct fairlead_error error;
	struct writer batch;
	int result, removed;

	mark_revoking(guard, grant);
	result = driver_revoke(guard, grant, false, text, &error);
	removed = environment_remove(guard, grant, result < 0 ? NULL : &error);
	if (result == 0)
		result = removed;
	if (result == 0)
		result = bury(guard, grant, flags & LANE_OWES, &error);
	if (result == 0)
		return 0;
	text_add(text, error.text);
	free(grant->text);
	grant->text = strdup(text);
	if (flags & LANE_LAST) {
		batch_begin(guard, &batch);
		ledger_write_owed(&batch, guard->ledger.next_sequence,
				  grant->lane.grant_id, -EBUSY, text);
		/* The reply fails in any case; the agent asks again. */
		(void)batch_commit(guard, &batch);
	}
	return result;
}

int lane_try_revoke(const struct guard *guard, const struct grant *grant,
		    char text[GUARD_TEXT_MAX + 1])
{
	struct fairlead_error error;
	int result = driver_revoke(guard, grant, true, text, &error);

	if (result < 0)
		text_add(text, error.text);
	return result;
}

/* --- apply --- */

static int driver_apply(const struct guard *guard, const struct grant *grant,
			struct fairlead_record *ret_record,
			char text[GUARD_TEXT_MAX + 1],
			struct fairlead_error *ret_error)
{
	struct collector collector = collector_of(text);
	struct fairlead_lane lane = grant->lane;
	const struct guard_driver *driver;
	struct request_key key;
	int result = driver_get(guard, grant, &driver, ret_error);

	if (result == 0)
		result = request_key_parse(grant->key, &key, ret_error);
	if (result < 0)
		return result;
	lane.job = key.job;
	return driver->driver->node->apply(driver->state, &lane, false,
					   ret_record, &collector.warnings,
					   ret_error);
}

/*
 * The lane could not be made, and what is there of it goes. record: what was
 * made, if it is known.
 */
static void undo(struct guard *guard, struct grant *grant, bool was_asked,
		 const struct fairlead_record *record)
{
	char text[GUARD_TEXT_MAX + 1] = "";

	if (!was_asked && bury(guard, grant, false, NULL) == 0)
		return;
	if (record) {
		grant->record = malloc(sizeof(*record));
		if (grant->record)
			*grant->record = *record;
	}
	/* What is busy is REVOKING now: the agent will have it tried again. */
	(void)lane_revoke(guard, grant, 0, text);
}

int lane_apply(struct guard *guard, const struct grant *wanted,
	       char text[GUARD_TEXT_MAX + 1])
{
	struct fairlead_error error = { .text = "" };
	struct fairlead_record record = { .size = 0 };
	const struct guard_driver *driver;
	struct grant *grant;
	struct writer batch;
	bool was_asked, is_made;
	int result;

	batch_begin(guard, &batch);
	ledger_write_applying(&batch, wanted);
	result = batch_commit(guard, &batch);
	if (result < 0) {
		error_set(&error, result, "cannot write the journal: %s",
			  strerror(-result));
		text_add(text, error.text);
		return result;
	}
	grant = ledger_grant(&guard->ledger, wanted->lane.grant_id);
	was_asked = driver_get(guard, grant, &driver, &error) == 0;
	/* The ledger's has no members. */
	result = driver_apply(guard, wanted, &record, text, &error);
	is_made = result == 0;
	if (is_made)
		result = environment_write(guard, grant, &record, &error);
	if (result == 0) {
		batch_begin(guard, &batch);
		ledger_write_applied(&batch, wanted->lane.grant_id, &record,
				     text);
		result = batch_commit(guard, &batch);
		if (result == 0)
			return 0;
		error_set(&error, result, "cannot write the journal: %s",
			  strerror(-result));
	}
	undo(guard, grant, was_asked, is_made ? &record : NULL);
	text[0] = 0;
	text_add(text, error.text);
	return result;
}
