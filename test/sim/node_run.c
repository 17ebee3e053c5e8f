/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /run of a node: the guard's journal as its shipped file code keeps it, on a
 * disk that survives the daemon and not the power, and the environment files.
 * Each operation is a step at which the daemon can die; a write is then cut
 * short anywhere.
 *
 * What the records of the journal do to each grant is followed from the bytes
 * that are written, for the edges of the guard's state machine.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lanes/node/guard/ledger.h"
#include "node_internal.h"

#define PATH_JOURNAL "/run/journal"
#define PATH_NEW     "/run/journal.new"
#define PATH_OLD     "/run/journal.old"

/* --- edges --- */

static const char *kind_name(uint8_t kind)
{
	switch (kind) {
	case 0:
		return "none";
	case LEDGER_APPLYING:
		return "applying";
	case LEDGER_APPLIED:
		return "applied";
	case LEDGER_REVOKING:
		return "revoking";
	case LEDGER_TOMBSTONE:
		return "tombstone";
	default:
		return "?";
	}
}

static void records_clear(struct node *node)
{
	struct record *record, *next;

	HASH_ITER (hh, node->records, record, next) {
		HASH_DEL(node->records, record);
		free(record);
	}
}

static void grant_moved(struct node *node, uint64_t grant_id, uint8_t kind,
			bool is_rewrite)
{
	struct record *record;
	uint8_t before = 0;

	HASH_FIND(hh, node->records, &grant_id, sizeof(grant_id), record);
	if (record == NULL) {
		record = world_allocate(sizeof(*record));
		record->grant_id = grant_id;
		HASH_ADD(hh, node->records, grant_id, sizeof(grant_id), record);
	} else {
		before = record->kind;
	}
	record->kind = kind;
	if (!is_rewrite)
		coverage_hit(node->world->coverage, "guard:%s->%s",
			     kind_name(before), kind_name(kind));
}

/* Size, kind, body, digest, one after the other. */
static void records_follow(struct node *node, const uint8_t *bytes, size_t size,
			   bool is_rewrite)
{
	struct coverage *coverage = node->world->coverage;
	struct reader reader = reader_of(bytes, size);

	while (reader.left > 0) {
		uint32_t length = read_u32(&reader);
		uint8_t kind = read_u8(&reader);
		const uint8_t *body = read_bytes(&reader, length);
		struct reader fields;

		read_bytes(&reader, 16);
		if (reader.failed)
			world_fail(node->world,
				   "%s: the journal is written with what is "
				   "no record",
				   node->name);
		fields = reader_of(body, length);
		switch (kind) {
		case LEDGER_APPLYING:
		case LEDGER_APPLIED:
		case LEDGER_REVOKING:
		case LEDGER_TOMBSTONE:
			grant_moved(node, read_u64(&fields), kind, is_rewrite);
			break;
		case LEDGER_EPOCH:
			coverage_add(coverage, "guard:epoch", !is_rewrite);
			break;
		case LEDGER_PENDING:
			coverage_add(coverage, "guard:pending", !is_rewrite);
			break;
		case LEDGER_ACKNOWLEDGED:
			coverage_add(coverage, "guard:acknowledged",
				     !is_rewrite);
			break;
		case LEDGER_FLOOR:
			coverage_add(coverage, "guard:floor", !is_rewrite);
			break;
		default:
			break;
		}
	}
}

/* --- the journal --- */

static int whole(struct node *node, int result)
{
	return node_step(node) ? -EIO : result;
}

static int run_read(void *ctx, uint8_t **ret_bytes, size_t *ret_size)
{
	struct node *node = ctx;
	uint8_t *bytes;
	int64_t size = 0;
	int result;

	if (node_step(node))
		return -EIO;
	sim_file_close(take_ptr(node->journal));
	result = sim_file_open(node->run, PATH_JOURNAL, false, &node->journal);
	if (result < 0 && result != -ENOENT)
		return result;
	if (result == 0)
		size = sim_file_size(node->journal);
	if (size < 0)
		return (int)size;
	bytes = world_allocate((size_t)size + 1);
	if (size > 0)
		size = sim_file_read(node->journal, 0, bytes, (size_t)size);
	if (size < 0) {
		free(bytes);
		return (int)size;
	}
	*ret_bytes = bytes;
	*ret_size = (size_t)size;
	return 0;
}

/* The daemon may die in the midst of a write: some of it is there. */
static void maybe_cut(struct node *node, unsigned int calls)
{
	if (node->crash_at != 1 || !sim_rng_chance(&node->rng, 500000))
		return;
	sim_disk_fail_at(node->run, SIM_DISK_STOP,
			 1 + sim_rng_below(&node->rng, calls));
	node->crash_at = 0;
	node->is_dead = true;
	hardware_kill(node->hardware);
	coverage_hit(node->world->coverage, "fault:daemon-dies-writing");
}

static int run_write(void *ctx, size_t offset, const void *bytes, size_t size)
{
	struct node *node = ctx;
	int result;

	maybe_cut(node, 1);
	if (!node->is_dead && node_step(node))
		return -EIO;
	result = sim_file_write(node->journal, offset, bytes, size);
	if (result == 0)
		result = sim_file_sync(node->journal);
	if (node->is_dead)
		return -EIO;
	if (result < 0) {
		coverage_hit(node->world->coverage, "fault:tmpfs-write");
		return result;
	}
	records_follow(node, bytes, size, false);
	return whole(node, 0);
}

static int write_new(struct node *node, const void *bytes, size_t size,
		     struct sim_file **ret_file)
{
	struct sim_file *file;
	int result = sim_file_open(node->run, PATH_NEW, true, &file);

	if (result < 0)
		return result;
	result = sim_file_truncate(file, 0);
	if (result == 0)
		result = sim_file_write(file, 0, bytes, size);
	if (result == 0)
		result = sim_file_sync(file);
	if (result == 0)
		result = sim_disk_rename(node->run, PATH_NEW, PATH_JOURNAL);
	if (result < 0) {
		sim_file_close(file);
		if (!node->is_dead)
			(void)sim_disk_unlink(node->run, PATH_NEW);
		return result;
	}
	*ret_file = file;
	return 0;
}

static int run_replace(void *ctx, const void *bytes, size_t size)
{
	struct node *node = ctx;
	struct sim_file *file;
	int result;

	maybe_cut(node, 5);
	if (!node->is_dead && node_step(node))
		return -EIO;
	result = write_new(node, bytes, size, &file);
	if (result < 0) {
		if (!node->is_dead)
			coverage_hit(node->world->coverage,
				     "fault:tmpfs-replace");
		return node->is_dead ? -EIO : result;
	}
	sim_file_close(node->journal);
	node->journal = file;
	if (node->is_dead)
		return -EIO;
	coverage_hit(node->world->coverage, "guard:rewrite");
	records_clear(node);
	records_follow(node, bytes, size, true);
	return whole(node, sim_disk_sync_directory(node->run));
}

static int run_set_aside(void *ctx)
{
	struct node *node = ctx;
	int result;

	if (node_step(node))
		return -EIO;
	result = sim_disk_rename(node->run, PATH_JOURNAL, PATH_OLD);
	if (result == 0)
		coverage_hit(node->world->coverage, "guard:set-aside");
	return whole(node, result == -ENOENT ? 0 : result);
}

struct journal_file node_journal(struct node *node)
{
	static const struct journal_file_ops ops = {
		.read = run_read,
		.write = run_write,
		.replace = run_replace,
		.set_aside = run_set_aside,
	};

	return (struct journal_file){ .ops = &ops, .ctx = node };
}

/* --- environment files --- */

static struct environment *environment_find(const struct node *node,
					    const char *key)
{
	struct environment *environment;

	DL_FOREACH (node->environments, environment) {
		if (strcmp(environment->key, key) == 0)
			return environment;
	}
	return NULL;
}

static void environment_drop(struct node *node, struct environment *environment)
{
	DL_DELETE(node->environments, environment);
	free(environment->content);
	free(environment);
}

static int write_environment(void *ctx, const struct request_key *key,
			     uid_t uid, gid_t gid, const void *bytes,
			     size_t size)
{
	struct node *node = ctx;
	struct environment *environment;
	char text[REQUEST_KEY_MAX + 1];

	if (node_step(node))
		return -EIO;
	if (node->environment_error < 0) {
		coverage_hit(node->world->coverage, "fault:environment-write");
		return node->environment_error;
	}
	request_key_format(key, text);
	environment = environment_find(node, text);
	if (environment != NULL)
		environment_drop(node, environment);
	environment = world_allocate(sizeof(*environment));
	strcpy(environment->key, text);
	environment->uid = uid;
	environment->content = world_text("%.*s", (int)size,
					  size > 0 ? (const char *)bytes : "");
	DL_APPEND(node->environments, environment);
	return whole(node, 0);
}

static int remove_environment(void *ctx, const struct request_key *key)
{
	struct node *node = ctx;
	struct environment *environment;
	char text[REQUEST_KEY_MAX + 1];

	if (node_step(node))
		return -EIO;
	request_key_format(key, text);
	environment = environment_find(node, text);
	if (environment != NULL)
		environment_drop(node, environment);
	return whole(node, 0);
}

static int load_keys(void *ctx, struct node_keys *ret_keys,
		     struct fairlead_error *ret_error)
{
	const struct node *node = ctx;

	*ret_keys = node->keys;
	return 0;
}

const struct guard_ops node_guard_ops = {
	.load_keys = load_keys,
	.write_environment = write_environment,
	.remove_environment = remove_environment,
};

const char *node_environment(const struct node *node, const char *key,
			     uid_t *ret_uid)
{
	const struct environment *environment = environment_find(node, key);

	if (environment == NULL)
		return NULL;
	*ret_uid = environment->uid;
	return environment->content;
}

unsigned int node_environment_count(const struct node *node)
{
	const struct environment *environment;
	unsigned int count;

	DL_COUNT(node->environments, environment, count);
	return count;
}

/* --- with the power --- */

void node_run_begin(struct node *node)
{
	node->run = sim_disk_create(sim_rng_seam(&node->rng),
				    sim_clock_seam(&node->world->clock));
}

void node_run_end(struct node *node)
{
	struct environment *environment, *next;

	sim_file_close(take_ptr(node->journal));
	sim_disk_destroy(take_ptr(node->run));
	records_clear(node);
	DL_FOREACH_SAFE (node->environments, environment, next)
		environment_drop(node, environment);
}
