/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which groups there are, and when they go. No state stays for ever: what was
 * learned has a lifetime from its last use on, and what has ended leaves a
 * tombstone for twice as long, so that a late message does not make it again.
 * A group that goes because its creator seems dead leaves none: the creator
 * may make it known again if it was not.
 *
 * Tombstones and learned groups are kept in the order in which their time
 * comes. When memory is out a group ends without a tombstone: then a late
 * message can bring it back, for its lifetime.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include <utlist.h>

#include "base/seam.h"
#include "scoll/core/group_internal.h"
#include "scoll/member/discovery.h"

int group_table_create(const struct group_options *options,
		       struct group_table **ret_table)
{
	struct group_table *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return -ENOMEM;
	table->options = *options;
	if (table->options.count_max == 0)
		table->options.count_max = GROUP_COUNT_MAX;
	*ret_table = table;
	return 0;
}

void *group_table_owner(const struct group_table *table)
{
	return table->options.owner;
}

uint32_t group_table_count(const struct group_table *table)
{
	return table->count;
}

size_t group_table_size(const struct group_table *table)
{
	return table->size;
}

/* --- groups --- */

static struct scoll_group **list_of(struct scoll_group *group)
{
	if (group->is_handle)
		return &group->table->handles;
	return group->is_ended ? &group->table->ended : &group->table->learned;
}

static bool is_keyed(const struct scoll_group *group)
{
	return !(group->is_handle && group->id.is_oob);
}

static size_t group_size(const struct scoll_group *group)
{
	return sizeof(*group) + strlen(group->name) + 1;
}

static void group_free(struct scoll_group *group)
{
	group_forget(group);
	membership_unref(group->membership);
	addresses_unref(group->addresses);
	group->table->size -= group_size(group);
	free(group);
}

/* How often discovery has seen the creator die. */
static uint32_t deaths_of(const struct group_table *table,
			  const struct group_id *id)
{
	if (id->is_oob || table->options.discovery == NULL)
		return 0;
	return discovery_counter(table->options.discovery, id->owner[0]);
}

int group_add(struct group_table *table, const struct group_draft *draft,
	      struct scoll_group **ret_group)
{
	_auto_(freep) struct scoll_group *group = NULL;

	if (table->count >= table->options.count_max)
		return -E2BIG;
	group = malloc(sizeof(*group) + draft->name_length + 1);
	if (group == NULL)
		return -ENOMEM;
	*group = (struct scoll_group){
		.id = draft->id,
		.table = table,
		.membership = draft->membership,
		.service = draft->service,
		.tree = draft->tree,
		.reference_count = 1,
		.is_handle = draft->is_handle,
		.private = draft->private,
		.used_ns = draft->now_ns,
		.creator_deaths = deaths_of(table, &draft->id),
	};
	memcpy(group->name, draft->name, draft->name_length);
	group->name[draft->name_length] = 0;
	if (is_keyed(group)) {
		HASH_ADD(hh, table->by_id, id, sizeof(group->id), group);
		if (!hash_was_added(group))
			return -ENOMEM;
	}
	DL_APPEND(*list_of(group), group);
	if (group->membership != NULL)
		membership_ref(group->membership);
	table->count++;
	table->size += group_size(group);
	*ret_group = take_ptr(group);
	return 0;
}

struct scoll_group *group_of_id(const struct group_table *table,
				const struct group_id *id)
{
	struct scoll_group *group;

	HASH_FIND(hh, table->by_id, id, sizeof(*id), group);
	return group;
}

static void group_touch(struct scoll_group *group, uint64_t now_ns)
{
	struct scoll_group **list = list_of(group);

	group->used_ns = now_ns;
	if (group->is_ended || group->is_handle || (*list)->prev == group)
		return;
	DL_DELETE(*list, group);
	DL_APPEND(*list, group);
}

struct scoll_group *group_use(struct scoll_group *group, uint64_t now_ns)
{
	group_touch(group, now_ns);
	return group_ref(group);
}

struct scoll_group *group_ref(struct scoll_group *group)
{
	group->reference_count++;
	return group;
}

void group_unref(struct scoll_group *group, uint64_t now_ns)
{
	if (group == NULL)
		return;
	if (--group->reference_count == 0)
		group_free(group);
	else
		group_touch(group, now_ns);
}

/* Out of the table; gives its reference back. */
static void group_drop(struct scoll_group *group)
{
	struct group_table *table = group->table;

	if (is_keyed(group))
		HASH_DEL(table->by_id, group);
	DL_DELETE(*list_of(group), group);
	table->count--;
	group->is_ended = true;
	if (group->kept_count > 0)
		DL_APPEND(*list_of(group), group);
	if (--group->reference_count == 0)
		group_free(group);
}

void group_keep(struct scoll_group *group)
{
	assert(!group->is_handle && !group->is_ended);
	group->kept_count++;
	group_ref(group);
}

void group_unkeep(struct scoll_group *group, uint64_t now_ns)
{
	assert(group->kept_count > 0);
	if (--group->kept_count == 0 && group->is_ended)
		DL_DELETE(*list_of(group), group);
	group_unref(group, now_ns);
}

/* Its user will not give it back any more. */
static void group_unkeep_all(struct scoll_group *group)
{
	uint32_t count = group->kept_count;

	for (uint32_t i = 0; i < count; i++)
		group_unkeep(group, 0);
}

/* --- tombstones --- */

static void tombstone_remove(struct group_table *table,
			     struct scoll_tombstone *tombstone)
{
	HASH_DEL(table->tombstones, tombstone);
	table->size -= sizeof(*tombstone);
	free(tombstone);
}

static void tombstone_add(struct group_table *table, const struct group_id *id,
			  uint64_t now_ns)
{
	struct scoll_tombstone *tombstone;

	if (group_is_buried(table, id))
		return;
	if (HASH_COUNT(table->tombstones) >= GROUP_TOMBSTONES_MAX)
		tombstone_remove(table, table->tombstones);
	tombstone = calloc(1, sizeof(*tombstone));
	if (tombstone == NULL)
		return;
	tombstone->id = *id;
	tombstone->until_ns = deadline_after(
		deadline_after(now_ns, table->options.lifetime_ns),
		table->options.lifetime_ns);
	HASH_ADD(hh, table->tombstones, id, sizeof(tombstone->id), tombstone);
	if (!hash_was_added(tombstone)) {
		free(tombstone);
		return;
	}
	table->size += sizeof(*tombstone);
}

bool group_is_buried(const struct group_table *table, const struct group_id *id)
{
	struct scoll_tombstone *tombstone;

	HASH_FIND(hh, table->tombstones, id, sizeof(*id), tombstone);
	return tombstone != NULL;
}

void group_end(struct scoll_group *group, uint64_t now_ns)
{
	if (group->is_ended)
		return;
	if (!group->id.is_oob)
		tombstone_add(group->table, &group->id, now_ns);
	group_drop(group);
}

void group_table_destroy(struct group_table *table)
{
	if (table == NULL)
		return;
	while (table->handles != NULL) {
		assert(table->handles->reference_count == 1);
		group_drop(table->handles);
	}
	while (table->ended != NULL)
		group_unkeep_all(table->ended);
	while (table->learned != NULL) {
		group_unkeep_all(table->learned);
		assert(table->learned->reference_count == 1);
		group_drop(table->learned);
	}
	while (table->tombstones != NULL)
		tombstone_remove(table, table->tombstones);
	assert(table->size == 0);
	free(table);
}

/* --- time --- */

static uint64_t idle_deadline_ns(const struct group_table *table)
{
	return table->learned == NULL
		       ? DEADLINE_NONE
		       : deadline_after(table->learned->used_ns,
					table->options.lifetime_ns);
}

static uint64_t tombstone_deadline_ns(const struct group_table *table)
{
	return table->tombstones == NULL ? DEADLINE_NONE
					 : table->tombstones->until_ns;
}

uint64_t group_table_deadline_ns(const struct group_table *table)
{
	uint64_t idle_ns = idle_deadline_ns(table);
	uint64_t tombstone_ns = tombstone_deadline_ns(table);

	return idle_ns < tombstone_ns ? idle_ns : tombstone_ns;
}

void group_table_tick(struct group_table *table, uint64_t now_ns)
{
	while (tombstone_deadline_ns(table) <= now_ns)
		tombstone_remove(table, table->tombstones);
	for (uint32_t left = table->count;
	     left > 0 && idle_deadline_ns(table) <= now_ns; left--) {
		if (table->learned->reference_count > 1)
			group_touch(table->learned, now_ns);
		else
			group_drop(table->learned);
	}
}

/* --- nodes that die or start again --- */

static bool is_created_by(const struct scoll_group *group, scoll_nid_t nid)
{
	return !group->id.is_oob && group->id.owner[0] == nid;
}

void group_table_peers_check(struct group_table *table)
{
	struct scoll_group *group, *next;

	DL_FOREACH_SAFE (table->learned, group, next)
		if (deaths_of(table, &group->id) > group->creator_deaths)
			group_drop(group);
}

void group_table_node_started(struct group_table *table, scoll_nid_t nid,
			      uint64_t nonce)
{
	struct scoll_group *group, *next;

	DL_FOREACH_SAFE (table->learned, group, next)
		if (is_created_by(group, nid) && group->id.owner[1] != nonce)
			group_drop(group);
}
