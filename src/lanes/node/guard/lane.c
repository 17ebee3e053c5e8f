/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lane is made in the order that survives a crash at any point:
 *
 *	APPLYING | driver, environment file | APPLIED | answer
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "lanes/node/guard/internal.h"

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

static void collector_add(struct fairlead_warnings *warnings, const char *line)
{
	struct guard_collector *collector = (struct guard_collector *)warnings;

	text_add(collector->text, line);
}

struct guard_collector collector_of(char text[GUARD_TEXT_MAX + 1])
{
	return (struct guard_collector){
		.warnings = { .add = collector_add },
		.text = text,
	};
}

int lane_driver(const struct guard *guard, const struct ledger_grant *grant,
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

int lane_environment(const struct guard *guard,
		     const struct ledger_grant *grant,
		     const struct fairlead_record *record,
		     struct writer *writer, struct fairlead_error *ret_error)
{
	struct environment environment = { .writer = writer };
	const struct guard_driver *driver;
	int result = lane_driver(guard, grant, &driver, ret_error);

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

static int environment_write(struct guard *guard,
			     const struct ledger_grant *grant,
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

/* --- apply --- */

static int driver_apply(const struct guard *guard,
			const struct ledger_grant *grant,
			struct fairlead_record *ret_record,
			char text[GUARD_TEXT_MAX + 1],
			struct fairlead_error *ret_error)
{
	struct guard_collector collector = collector_of(text);
	struct fairlead_lane lane = grant->lane;
	const struct guard_driver *driver;
	struct request_key key;
	int result = lane_driver(guard, grant, &driver, ret_error);

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
 * The lane could not be made: remove its objects. record: of those made, if it
 * is known.
 */
static void undo(struct guard *guard, struct ledger_grant *grant,
		 bool was_asked, const struct fairlead_record *record)
{
	struct revocation one = { .grant_id = grant->lane.grant_id };

	if (!was_asked) {
		lanes_bury(guard, &one, 1);
		if (one.result == 0)
			return;
		one = (struct revocation){ .grant_id = one.grant_id };
	}
	if (record)
		grant->record = memory_copy(record, sizeof(*record));
	/* A busy lane is REVOKING now: the agent will retry it. */
	lanes_revoke(guard, &one, 1);
}

int lane_apply(struct guard *guard, const struct ledger_grant *wanted,
	       char text[GUARD_TEXT_MAX + 1])
{
	struct fairlead_error error = { .text = "" };
	struct fairlead_record record = { .size = 0 };
	const struct guard_driver *driver;
	struct ledger_grant *grant;
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
	was_asked = lane_driver(guard, grant, &driver, &error) == 0;
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
