/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes on the drivers, in the order that survives a crash at any point:
 *
 *	apply:  APPLYING | driver, environment file | APPLIED | answer
 *	revoke: REVOKING | driver, environment file | OWED, TOMBSTONE | answer
 *
 * Lanes that are taken back together go through each of these steps together.
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

static const struct fairlead_record unknown;

static const struct fairlead_record *record_of(const struct grant *grant)
{
	return grant->record ? grant->record : &unknown;
}

static int driver_revoke(const struct guard *guard, const struct grant *grant,
			 bool is_dry_run, char text[GUARD_TEXT_MAX + 1],
			 struct fairlead_error *ret_error)
{
	struct collector collector = collector_of(text);
	const struct guard_driver *driver;
	int result = driver_get(guard, grant, &driver, ret_error);

	if (result < 0)
		return result;
	return driver->driver->node->revoke(driver->state, &grant->lane,
					    record_of(grant), is_dry_run,
					    &collector.warnings, ret_error);
}

static void fail(struct revocation *revocation, int result, const char *why)
{
	revocation->result = result;
	text_add(revocation->text, why);
}

static struct grant *grant_of(const struct guard *guard,
			      const struct revocation *revocation)
{
	return ledger_grant(&guard->ledger, revocation->grant_id);
}

static void mark_revoking(struct guard *guard, struct revocation *list,
			  size_t count)
{
	bool is_any = false;
	struct writer batch;

	batch_begin(guard, &batch);
	for (size_t i = 0; i < count; i++) {
		if (grant_of(guard, &list[i])->state == GRANT_REVOKING)
			continue;
		ledger_write_revoking(&batch, list[i].grant_id);
		is_any = true;
	}
	if (!is_any) {
		writer_fini(&batch);
		return;
	}
	if (batch_commit(guard, &batch) == 0)
		return;
	for (size_t i = 0; i < count; i++)
		grant_of(guard, &list[i])->state = GRANT_REVOKING;
}

/* One after the other. */
static void drivers_revoke_each(struct guard *guard, struct revocation *list,
				size_t count)
{
	struct fairlead_error error;

	for (size_t i = 0; i < count; i++) {
		int result = driver_revoke(guard, grant_of(guard, &list[i]),
					   false, list[i].text, &error);

		if (result < 0)
			fail(&list[i], result, error.text);
	}
}

/* What one driver takes together. */
struct together {
	struct fairlead_revocation *asked;
	struct collector *collectors;
	struct revocation **of;
	size_t count;
};

static bool together_init(struct together *together, size_t max)
{
	*together = (struct together){
		.asked = calloc(max, sizeof(*together->asked)),
		.collectors = calloc(max, sizeof(*together->collectors)),
		.of = calloc(max, sizeof(*together->of)),
	};
	return together->asked && together->collectors && together->of;
}

static void together_fini(struct together *together)
{
	free(together->asked);
	free(together->collectors);
	free(together->of);
}

static void together_add(struct together *together, const struct grant *grant,
			 struct revocation *revocation)
{
	size_t i = together->count++;

	together->of[i] = revocation;
	together->collectors[i] = collector_of(revocation->text);
	together->asked[i] = (struct fairlead_revocation){
		.lane = &grant->lane,
		.record = record_of(grant),
		.warnings = &together->collectors[i].warnings,
	};
}

static void together_revoke(struct together *together,
			    const struct guard_driver *driver)
{
	if (together->count == 0)
		return;
	driver->driver->node->revoke_all(driver->state, together->asked,
					 together->count);
	for (size_t i = 0; i < together->count; i++) {
		if (together->asked[i].result < 0)
			fail(together->of[i], together->asked[i].result,
			     together->asked[i].error.text);
	}
	together->count = 0;
}

static void drivers_revoke(struct guard *guard, struct revocation *list,
			   size_t count)
{
	struct together together;

	if (!together_init(&together, count)) {
		drivers_revoke_each(guard, list, count);
		together_fini(&together);
		return;
	}
	for (size_t k = 0; k < guard->config.driver_count; k++) {
		const struct guard_driver *driver = &guard->config.drivers[k];

		if (!driver->is_open || !driver->driver->node->revoke_all)
			continue;
		for (size_t i = 0; i < count; i++) {
			const struct grant *grant = grant_of(guard, &list[i]);

			if (guard_driver(guard, grant->driver) == driver)
				together_add(&together, grant, &list[i]);
		}
		together_revoke(&together, driver);
	}
	for (size_t i = 0; i < count; i++) {
		const struct guard_driver *driver =
			guard_driver(guard, grant_of(guard, &list[i])->driver);

		if (!driver || !driver->is_open ||
		    !driver->driver->node->revoke_all)
			drivers_revoke_each(guard, &list[i], 1);
	}
	together_fini(&together);
}

static void environments_remove(struct guard *guard, struct revocation *list,
				size_t count)
{
	struct fairlead_error error;

	for (size_t i = 0; i < count; i++) {
		int result = environment_remove(
			guard, grant_of(guard, &list[i]), &error);

		if (result < 0 && list[i].result == 0)
			fail(&list[i], result, error.text);
	}
}

/* The end of grants whose lanes are gone: they are freed. */
static void bury(struct guard *guard, struct revocation *list, size_t count)
{
	uint64_t sequence = guard->ledger.next_sequence;
	struct fairlead_error error;
	struct writer batch;
	int result;

	batch_begin(guard, &batch);
	for (size_t i = 0; i < count; i++) {
		if (list[i].result < 0)
			continue;
		if (list[i].flags & LANE_OWES)
			ledger_write_owed(&batch, sequence++, list[i].grant_id,
					  0, "");
		ledger_write_tombstone(&batch, list[i].grant_id);
	}
	result = batch_commit(guard, &batch);
	if (result == 0)
		return;
	error_set(&error, result,
		  "it is taken back, but cannot be written to the journal: %s",
		  strerror(-result));
	for (size_t i = 0; i < count; i++) {
		if (list[i].result == 0)
			fail(&list[i], result, error.text);
	}
}

static void stay(struct guard *guard, const struct revocation *revocation)
{
	struct grant *grant = grant_of(guard, revocation);
	struct writer batch;

	free(grant->text);
	grant->text = strdup(revocation->text);
	if (!(revocation->flags & LANE_LAST))
		return;
	batch_begin(guard, &batch);
	ledger_write_owed(&batch, guard->ledger.next_sequence,
			  revocation->grant_id, -EBUSY, revocation->text);
	/* The reply fails in any case; the agent asks again. */
	(void)batch_commit(guard, &batch);
}

void lanes_revoke(struct guard *guard, struct revocation *list, size_t count)
{
	bool is_any_gone = false;

	mark_revoking(guard, list, count);
	drivers_revoke(guard, list, count);
	environments_remove(guard, list, count);
	for (size_t i = 0; i < count; i++)
		is_any_gone |= list[i].result == 0;
	if (is_any_gone)
		bury(guard, list, count);
	for (size_t i = 0; i < count; i++) {
		if (list[i].result < 0)
			stay(guard, &list[i]);
	}
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
	struct revocation one = { .grant_id = grant->lane.grant_id };

	if (!was_asked) {
		bury(guard, &one, 1);
		if (one.result == 0)
			return;
		one = (struct revocation){ .grant_id = one.grant_id };
	}
	if (record) {
		grant->record = malloc(sizeof(*record));
		if (grant->record)
			*grant->record = *record;
	}
	/* What is busy is REVOKING now: the agent will have it tried again. */
	lanes_revoke(guard, &one, 1);
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
