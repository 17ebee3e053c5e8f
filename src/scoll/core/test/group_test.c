/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/core/group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/seam.h"
#include "scoll/member/given.h"
#include "sim/heap.h"

#define COUNT    40
#define LIFETIME UINT64_C(1000)
#define NONCE    77
#define OSS      5 /* services */
#define MDS      6

static const struct group_oob no_oob;
static struct memberships *memberships;
static struct given *given;
static struct group_table *ours;   /* of node 0, the creator */
static struct group_table *theirs; /* of node 17, another member */

static scoll_target_t targets[COUNT];
static const scoll_tag_t tags[] = { { "a" }, { "b" } };

static struct group_table *table_of(scoll_nid_t nid, uint32_t count_max)
{
	const struct group_options options = {
		.nid = nid,
		.nonce = NONCE + nid,
		.lifetime_ns = LIFETIME,
		.memberships = memberships,
		.discovery = given_discovery(given),
		.owner = &memberships,
		.count_max = count_max,
	};
	struct group_table *table = NULL;

	assert_int_equal(group_table_create(&options, &table), 0);
	return table;
}

static int setup(void **state)
{
	for (uint64_t i = 0; i < COUNT; i++)
		targets[i] = (scoll_target_t){ i, tags, 1 + (int)(i % 2) };
	assert_int_equal(memberships_create(&memberships), 0);
	assert_int_equal(given_create(true, &given), 0);
	ours = table_of(0, 0);
	theirs = table_of(17, 0);
	return 0;
}

/* Whatever a test did: nothing is left. */
static int teardown(void **state)
{
	group_table_destroy(ours);
	group_table_destroy(theirs);
	given_destroy(given);
	assert_int_equal(memberships_count(memberships), 0);
	memberships_destroy(memberships);
	return 0;
}

/* A handle at the creator. */
static struct scoll_group *made_for(scoll_service_id_t service)
{
	struct membership *membership;
	struct scoll_group *group = NULL;

	assert_int_equal(memberships_from_targets(memberships, targets, COUNT,
						  NULL, NULL, &membership),
			 0);
	assert_int_equal(group_create(ours, service, "lane", membership,
				      SCOLL_TREE_BINOMIAL, "mine", &group),
			 0);
	membership_unref(membership);
	return group;
}

/* What a broadcast over it says, with the parameters in the body or not. */
struct message {
	struct wire_bcast bcast;
	uint8_t params[4096];
};

static const struct wire_bcast *message_of(struct message *message,
					   const struct scoll_group *group,
					   uint16_t flags)
{
	bool with_list = !(flags & WIRE_MEMBERS_BULK);
	size_t size = group_params_size(group, with_list);

	memset(message, 0, sizeof(*message));
	message->bcast.tree = SCOLL_TREE_BINOMIAL;
	message->bcast.flags = flags;
	group_id_write(group, 0, NONCE, &message->bcast);
	assert_true(size <= sizeof(message->params));
	group_params_encode(group, with_list, message->params);
	message->bcast.params = message->params;
	message->bcast.params_size = (uint16_t)size;
	return &message->bcast;
}

static int resolved(struct group_table *table, const struct wire_bcast *bcast,
		    uint64_t now_ns)
{
	struct scoll_group *group;
	int result = group_resolve(table, bcast, &no_oob, now_ns, &group);

	if (result == 0)
		group_unref(group, now_ns);
	return result;
}

static void handle_has_what_its_user_gave(void **state)
{
	struct scoll_group *group = made_for(OSS);

	assert_string_equal(group->name, "lane");
	assert_string_equal(group->private, "mine");
	assert_int_equal(group->membership->count, COUNT);
	assert_int_equal(group->service, OSS);
	assert_int_equal(group_table_count(ours), 1);
	assert_ptr_equal(group_table_owner(group->table), &memberships);
	group_end(group, 0);
	assert_int_equal(group_table_count(ours), 0);
}

static void group_G14_is_found_in_the_table_of_each_member(void **state)
{
	struct scoll_group *group = made_for(OSS), *other = made_for(OSS), *got;
	struct message message;
	const struct wire_bcast *bcast = message_of(&message, group, 0);

	/* Not known, but the message says who is in it. */
	message.bcast.params_size = 0;
	assert_int_equal(resolved(theirs, bcast, 1), -ENOENT);
	bcast = message_of(&message, group, 0);
	assert_int_equal(resolved(theirs, bcast, 1), 0);
	/* Now it is known. */
	message.bcast.params_size = 0;
	assert_int_equal(group_resolve(theirs, bcast, &no_oob, 1, &got), 0);
	assert_memory_equal(&got->id, &group->id, sizeof(got->id));
	assert_ptr_equal(got->membership, group->membership);
	assert_string_equal(got->name, "lane");
	assert_false(got->is_handle);
	group_unref(got, 1);
	/* A member is in many groups. */
	assert_int_equal(resolved(theirs, message_of(&message, other, 0), 1),
			 0);
	assert_int_equal(group_table_count(theirs), 2);
	/* The creator finds its own, when another member is the root. */
	assert_int_equal(group_resolve(ours, bcast, &no_oob, 1, &got), 0);
	assert_ptr_equal(got, other);
	group_unref(got, 1);
}

static void same_list_twice_is_two_groups(void **state)
{
	struct scoll_group *one = made_for(OSS), *two = made_for(OSS);

	assert_ptr_equal(one->membership, two->membership);
	assert_memory_not_equal(&one->id, &two->id, sizeof(one->id));
}

static void id_G13_never_stands_for_two_memberships(void **state)
{
	struct scoll_group *group = made_for(OSS);
	struct message message;
	const struct wire_bcast *bcast = message_of(&message, group, 0);
	uint8_t *list = message.params + 1 + strlen("lane");

	/* A list with two nodes swapped, under this group's id. */
	memcpy(list + 4 + COUNT * 6, &(uint64_t){ 1 }, 8);
	memcpy(list + 4 + COUNT * 6 + 8, &(uint64_t){ 0 }, 8);
	group_end(group, 0); /* else its membership would be known */
	assert_int_equal(memberships_count(memberships), 0);
	assert_int_equal(resolved(theirs, bcast, 1), -ESTALE);
	/* The same index with another digest is another group. */
	group = made_for(OSS);
	bcast = message_of(&message, group, 0);
	assert_int_equal(resolved(theirs, bcast, 1), 0);
	message.bcast.members.bytes[0] ^= 1;
	message.bcast.params_size = 0;
	assert_int_equal(resolved(theirs, bcast, 1), -ENOENT);
}

static void objects_S08_of_two_services_are_two(void **state)
{
	struct scoll_group *oss = made_for(OSS), *mds = made_for(MDS);
	struct message message;
	const struct wire_bcast *bcast;

	/* The same nodes and tags, and yet not the same objects. */
	assert_ptr_equal(oss->membership, mds->membership);
	assert_memory_not_equal(&oss->id, &mds->id, sizeof(oss->id));
	bcast = message_of(&message, oss, 0);
	assert_int_equal(resolved(theirs, bcast, 1), 0);
	assert_int_equal(resolved(theirs, message_of(&message, mds, 0), 1), 0);
	assert_int_equal(group_table_count(theirs), 2);
	/* No service is run on another one's group. */
	bcast = message_of(&message, oss, 0);
	message.bcast.service = MDS;
	assert_int_equal(resolved(theirs, bcast, 1), -EBADMSG);
}

static void damaged_parameters_are_no_group(void **state)
{
	struct scoll_group *group = made_for(OSS);
	struct message message;
	const struct wire_bcast *bcast = message_of(&message, group, 0);

	group_end(group, 0);
	message.params[0] = 255; /* longer than a name may be */
	assert_int_equal(resolved(theirs, bcast, 1), -EBADMSG);
	message.params[0] = 4;
	message.params[2] = 0; /* a zero inside */
	assert_int_equal(resolved(theirs, bcast, 1), -EBADMSG);
	message.params[2] = 'a';
	message.bcast.params_size--;
	assert_int_equal(resolved(theirs, bcast, 1), -EBADMSG);
	message.bcast.params_size = 1;
	assert_int_equal(resolved(theirs, bcast, 1), -EBADMSG);
	assert_int_equal(group_table_count(theirs), 0);
}

static void list_in_bulk_data_is_read_only_if_it_is_not_known(void **state)
{
	struct scoll_group *group = made_for(OSS), *got;
	size_t size = membership_encoded_size(group->membership);
	uint8_t *list = malloc(size);
	struct message message;
	const struct wire_bcast *bcast =
		message_of(&message, group, WIRE_POPULATE | WIRE_MEMBERS_BULK);

	membership_encode(group->membership, list);
	assert_int_equal(message.bcast.params_size, 1 + 4);
	/* In a simulation it is known: the creator has it. */
	assert_int_equal(group_resolve(theirs, bcast, &no_oob, 1, &got), 0);
	assert_string_equal(got->name, "lane");
	group_unref(got, 1);
	group_end(got, 1);
	group_end(group, 1);
	assert_int_equal(memberships_count(memberships), 0);
	message.bcast.group_index++;
	assert_int_equal(resolved(theirs, bcast, 2), -ENODATA);
	list[8] ^= 1;
	assert_int_equal(group_learn(theirs, bcast, list, size, 2, &got),
			 -EBADMSG);
	list[8] ^= 1;
	list[size - 1] ^= 1;
	assert_int_equal(group_learn(theirs, bcast, list, size, 2, &got),
			 -ESTALE);
	list[size - 1] ^= 1;
	assert_int_equal(group_learn(theirs, bcast, list, size, 2, &got), 0);
	assert_string_equal(got->name, "lane");
	group_unref(got, 2);
	assert_int_equal(resolved(theirs, bcast, 2), 0);
	free(list);
}

static void creator_is_written_when_it_is_not_the_root(void **state)
{
	struct scoll_group *group = made_for(OSS);
	struct wire_bcast bcast = { 0 };

	group_id_write(group, 0, NONCE, &bcast);
	assert_int_equal(bcast.flags, 0);
	group_id_write(group, 17, NONCE + 17, &bcast);
	assert_int_equal(bcast.flags, WIRE_CREATOR);
	assert_int_equal(bcast.creator, 0);
	assert_int_equal(bcast.creator_nonce, NONCE);
	/* Of an earlier start of the same node. */
	group_id_write(group, 0, NONCE + 1, &bcast);
	assert_int_equal(bcast.flags, WIRE_CREATOR);
}

static void arguments_are_checked(void **state)
{
	struct scoll_group *group = made_for(OSS), *other;
	char name[SCOLL_NAME_MAX + 2];

	memset(name, 'n', sizeof(name));
	name[SCOLL_NAME_MAX + 1] = 0;
	assert_int_equal(group_create(ours, OSS, name, group->membership, 0,
				      NULL, &other),
			 -EINVAL);
	assert_int_equal(group_create(ours, OSS, "n", group->membership,
				      SCOLL_TREE(99, 0), NULL, &other),
			 -EINVAL);
	name[SCOLL_NAME_MAX] = 0;
	assert_int_equal(group_create(ours, OSS, name, group->membership, 0,
				      NULL, &other),
			 0);
	assert_int_equal(group_create(ours, OSS, NULL, group->membership, 0,
				      NULL, &other),
			 0);
	assert_string_equal(other->name, "");
}

static void number_of_groups_has_a_limit(void **state)
{
	struct scoll_group *group = made_for(OSS), *other;
	struct group_table *small = table_of(17, 1);
	struct message message;

	assert_int_equal(resolved(small, message_of(&message, group, 0), 1), 0);
	other = made_for(OSS);
	assert_int_equal(resolved(small, message_of(&message, other, 0), 1),
			 -E2BIG);
	/* Those that are known are used on. */
	assert_int_equal(resolved(small, message_of(&message, group, 0), 1), 0);
	assert_int_equal(group_create(small, OSS, "", group->membership, 0,
				      NULL, &other),
			 -E2BIG);
	group_table_destroy(small);
}

/* --- how long they live --- */

static void ended_group_is_not_made_again_by_a_late_message(void **state)
{
	struct scoll_group *group = made_for(OSS), *got;
	struct message message;
	const struct wire_bcast *bcast = message_of(&message, group, 0);

	assert_int_equal(group_resolve(theirs, bcast, &no_oob, 5, &got), 0);
	group_end(got, 5);
	assert_true(got->is_ended);
	assert_int_equal(group_table_count(theirs), 0);
	/* Who has a reference keeps it. */
	assert_int_equal(got->membership->count, COUNT);
	group_unref(got, 6);
	assert_int_equal(resolved(theirs, bcast, 6), -ESHUTDOWN);
	assert_int_equal(group_table_deadline_ns(theirs), 5 + 2 * LIFETIME);
	group_table_tick(theirs, 4 + 2 * LIFETIME);
	assert_int_equal(resolved(theirs, bcast, 4 + 2 * LIFETIME), -ESHUTDOWN);
	group_table_tick(theirs, 5 + 2 * LIFETIME);
	assert_int_equal(group_table_deadline_ns(theirs), DEADLINE_NONE);
	assert_int_equal(group_table_size(theirs), 0);
	assert_int_equal(resolved(theirs, bcast, 5 + 2 * LIFETIME), 0);
}

static void idle_group_L06_goes_after_its_lifetime(void **state)
{
	struct scoll_group *one = made_for(OSS), *two = made_for(OSS), *got;
	struct message message, second;
	const struct wire_bcast *bcast = message_of(&message, one, 0);

	message_of(&second, two, 0);
	assert_int_equal(resolved(theirs, bcast, 10), 0);
	assert_int_equal(resolved(theirs, &second.bcast, 20), 0);
	assert_int_equal(group_table_deadline_ns(theirs), 10 + LIFETIME);
	/* Used again: the other one is next. */
	assert_int_equal(resolved(theirs, bcast, 500), 0);
	assert_int_equal(group_table_deadline_ns(theirs), 20 + LIFETIME);
	group_table_tick(theirs, 19 + LIFETIME);
	assert_int_equal(group_table_count(theirs), 2);
	group_table_tick(theirs, 20 + LIFETIME);
	assert_int_equal(group_table_count(theirs), 1);
	/* No tombstone: its creator may populate it again. */
	assert_int_equal(resolved(theirs, &second.bcast, 30 + LIFETIME), 0);
	group_table_tick(theirs, 500 + LIFETIME);
	assert_int_equal(group_table_count(theirs), 1);
	/* In use it stays, and its lifetime starts afterwards. */
	assert_int_equal(
		group_resolve(theirs, &second.bcast, &no_oob, 1600, &got), 0);
	group_table_tick(theirs, 1600 + 5 * LIFETIME);
	assert_false(got->is_ended);
	group_unref(got, 1600 + 6 * LIFETIME);
	group_table_tick(theirs, 1599 + 7 * LIFETIME);
	assert_int_equal(group_table_count(theirs), 1);
	group_table_tick(theirs, 1600 + 7 * LIFETIME);
	assert_int_equal(group_table_count(theirs), 0);
	assert_int_equal(group_table_size(theirs), 0);
	/* A handle is its user's. */
	group_table_tick(ours, UINT64_MAX - 1);
	assert_int_equal(group_table_count(ours), 2);
}

static void groups_L03_go_when_their_creator_is_dead(void **state)
{
	struct scoll_group *group = made_for(OSS), *got;
	struct message message;
	const struct wire_bcast *bcast = message_of(&message, group, 0);

	assert_int_equal(group_resolve(theirs, bcast, &no_oob, 1, &got), 0);
	/* The death of a member is the root's business. */
	group_table_node_dead(theirs, 3);
	group_table_node_dead(ours, 3);
	assert_int_equal(group_table_count(theirs), 1);
	assert_int_equal(group_table_count(ours), 1);
	group_table_node_dead(theirs, 0);
	assert_int_equal(group_table_count(theirs), 0);
	assert_true(got->is_ended);
	group_unref(got, 2);
	/* If it was not dead after all, it makes it known again. */
	message.bcast.params_size = 0;
	assert_int_equal(resolved(theirs, bcast, 3), -ENOENT);
	bcast = message_of(&message, group, 0);
	assert_int_equal(resolved(theirs, bcast, 3), 0);
}

/* Also trees of which the dead node was the root. */
static void trees_L03_go_when_their_root_is_dead(void **state)
{
	struct scoll_group *group = made_for(OSS);
	struct group_tree *tree, *again;
	struct choice *all;

	assert_int_equal(choice_all(group->membership, &all), 0);
	assert_int_equal(group_tree_get(group, all, 9, SCOLL_TREE_BINOMIAL,
					SCOLL_ORDER_DEPTH, &tree),
			 0);
	group_table_node_dead(ours, 8);
	assert_int_equal(group->tree_count, 1);
	group_table_node_dead(ours, 9);
	assert_int_equal(group->tree_count, 0);
	assert_int_equal(tree->seating.root, 9);
	assert_int_equal(group_tree_get(group, all, 9, SCOLL_TREE_BINOMIAL,
					SCOLL_ORDER_DEPTH, &again),
			 0);
	assert_ptr_not_equal(again, tree);
	group_tree_unref(tree);
	group_tree_unref(again);
	choice_unref(all);
}

static void groups_L04_of_earlier_starts_go_and_no_others(void **state)
{
	struct scoll_group *group = made_for(OSS);
	struct message earlier, later;

	message_of(&earlier, group, WIRE_CREATOR);
	message_of(&later, group, WIRE_CREATOR);
	later.bcast.creator_nonce = NONCE + 1;
	assert_int_equal(resolved(theirs, &earlier.bcast, 1), 0);
	assert_int_equal(resolved(theirs, &later.bcast, 1), 0);
	/* Of another node: nothing happens. */
	group_table_node_started(theirs, 3, NONCE + 1);
	assert_int_equal(group_table_count(theirs), 2);
	group_table_node_started(theirs, 0, NONCE + 1);
	assert_int_equal(group_table_count(theirs), 1);
	later.bcast.params_size = 0;
	earlier.bcast.params_size = 0;
	assert_int_equal(resolved(theirs, &later.bcast, 2), 0);
	assert_int_equal(resolved(theirs, &earlier.bcast, 2), -ENOENT);
}

static void oldest_tombstone_goes_out(void **state)
{
	struct scoll_group *group, *kept = made_for(OSS);
	struct message first, second;

	group = made_for(OSS);
	message_of(&first, group, 0);
	group_end(group, 1);
	group = made_for(OSS);
	message_of(&second, group, 0);
	group_end(group, 1);
	for (int i = 2; i < GROUP_TOMBSTONES_MAX; i++) {
		assert_int_equal(group_create(ours, OSS, "", kept->membership,
					      0, NULL, &group),
				 0);
		group_end(group, 1);
	}
	first.bcast.params_size = 0;
	second.bcast.params_size = 0;
	assert_int_equal(resolved(ours, &first.bcast, 1), -ESHUTDOWN);
	group_end(made_for(OSS), 1);
	assert_int_equal(resolved(ours, &first.bcast, 1), -ENOENT);
	assert_int_equal(resolved(ours, &second.bcast, 1), -ESHUTDOWN);
}

/* --- out-of-band --- */

struct service {
	const scoll_target_t *targets;
	int count; /* or an errno */
	int call_count;
	scoll_oobgrp_id_t asked;
	uint64_t version;
};

static int service_oobgrp(void *service_private, const scoll_oobgrp_id_t *oobid,
			  const scoll_target_t **ret_targets)
{
	struct service *service = service_private;

	service->call_count++;
	service->asked = *oobid;
	*ret_targets = service->targets;
	return service->count;
}

static uint64_t service_version(void *service_private,
				const scoll_oobgrp_id_t *oobid)
{
	const struct service *service = service_private;

	assert_int_equal(oobid->svid, OSS);
	return service->version;
}

static int refreshed(struct scoll_group *group, struct service *service)
{
	struct group_oob oob = { service_oobgrp, NULL, service };

	if (service->version != 0)
		oob.version = service_version;
	return group_oob_refresh(group, &oob);
}

/* By a member that asks its service. */
static int asked(const struct wire_bcast *bcast, struct service *service,
		 struct scoll_group **ret_group)
{
	struct group_oob oob = { service_oobgrp, NULL, service };

	if (service->version != 0)
		oob.version = service_version;
	return group_resolve(theirs, bcast, &oob, 1, ret_group);
}

static const scoll_oobgrp_id_t fid = { OSS, "a Lustre FID..." };

static struct scoll_group *oob_made(void)
{
	struct scoll_group *group = NULL;

	assert_int_equal(group_oob_create(ours, OSS, "layout", &fid,
					  SCOLL_TREE_BINOMIAL, NULL, &group),
			 0);
	return group;
}

static void oob_G06_id_is_the_service_and_its_own_bytes(void **state)
{
	struct service service = { .targets = targets, .count = COUNT };
	struct scoll_group *group = oob_made(), *got, *other;
	struct wire_bcast bcast = { .tree = SCOLL_TREE_BINOMIAL };

	/* Made without asking. */
	assert_int_equal(service.call_count, 0);
	assert_null(group->membership);
	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(service.call_count, 1);
	assert_memory_equal(&service.asked, &fid, sizeof(fid));
	assert_int_equal(group->membership->count, COUNT);
	/* A member asks its own service, by what the message carries. */
	group_id_write(group, 0, NONCE, &bcast);
	assert_int_equal(bcast.flags, WIRE_OOB);
	assert_int_equal(bcast.service, OSS);
	assert_memory_equal(bcast.oob, fid.bytes, sizeof(fid.bytes));
	assert_int_equal(asked(&bcast, &service, &got), 0);
	assert_int_equal(service.call_count, 2);
	assert_memory_equal(&service.asked, &fid, sizeof(fid));
	/* The same bytes of another service are another group. */
	bcast.service = MDS;
	assert_int_equal(asked(&bcast, &service, &other), 0);
	assert_int_equal(service.asked.svid, MDS);
	assert_ptr_not_equal(other, got);
	group_unref(got, 1);
	group_unref(other, 1);
	assert_int_equal(group_oob_create(ours, MDS, "", &fid, 0, NULL, &got),
			 -EINVAL);
}

static void oob_needs_a_service_that_knows_it(void **state)
{
	struct service service = { .targets = targets, .count = COUNT };
	struct scoll_group *group = oob_made(), *got;
	struct wire_bcast bcast = { 0 };

	assert_int_equal(refreshed(group, &service), 0);
	group_id_write(group, 0, NONCE, &bcast);
	assert_int_equal(resolved(theirs, &bcast, 1), -ENOENT);
	service.count = -ENXIO;
	assert_int_equal(asked(&bcast, &service, &got), -ENXIO);
	assert_int_equal(refreshed(group, &service), -ENXIO);
	service.count = 0;
	assert_int_equal(asked(&bcast, &service, &got), -EINVAL);
	assert_int_equal(group_table_count(theirs), 0);
}

static void oob_member_with_another_list_refuses(void **state)
{
	struct service service = { .targets = targets, .count = COUNT };
	struct scoll_group *group = oob_made(), *got;
	scoll_target_t changed[COUNT];
	struct wire_bcast bcast = { 0 };

	assert_int_equal(refreshed(group, &service), 0);
	group_id_write(group, 0, NONCE, &bcast);
	/* Before it knows the group, and afterwards. */
	memcpy(changed, targets, sizeof(changed));
	changed[7].nid = 1000;
	service.targets = changed;
	assert_int_equal(asked(&bcast, &service, &got), -ESTALE);
	service.targets = targets;
	assert_int_equal(asked(&bcast, &service, &got), 0);
	group_unref(got, 1);
	service.targets = changed;
	assert_int_equal(asked(&bcast, &service, &got), -ESTALE);
	/* The root, too, sees the change, and then they agree. */
	assert_int_equal(refreshed(group, &service), 0);
	group_id_write(group, 0, NONCE, &bcast);
	assert_int_equal(asked(&bcast, &service, &got), 0);
	assert_int_equal(membership_index(got->membership, 1000), 7);
	group_unref(got, 1);
}

static void oob_targets_of_one_node_may_be_apart(void **state)
{
	const scoll_target_t apart[] = { { 1, &tags[0], 1 },
					 { 2, &tags[0], 1 },
					 { 1, &tags[1], 1 } };
	struct service service = { .targets = apart, .count = 3 };
	struct scoll_group *group = oob_made(), *got;
	struct membership *membership;
	struct wire_bcast bcast = { 0 };

	assert_int_equal(refreshed(group, &service), 0);
	membership = group->membership;
	assert_int_equal(membership->count, 2);
	assert_int_equal(refreshed(group, &service), 0);
	assert_ptr_equal(group->membership, membership);
	group_id_write(group, 0, NONCE, &bcast);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(asked(&bcast, &service, &got), 0);
		group_unref(got, 1);
	}
	assert_int_equal(group_table_count(theirs), 1);
}

/* While its version is the same the service is not asked for the list. */
static void oob_G11_list_of_the_same_version_is_not_compared(void **state)
{
	struct service service = { .targets = targets,
				   .count = COUNT,
				   .version = 7 };
	struct scoll_group *group = oob_made(), *got;
	struct wire_bcast bcast = { 0 };

	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(service.call_count, 1);
	group_id_write(group, 0, NONCE, &bcast);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(asked(&bcast, &service, &got), 0);
		group_unref(got, 1);
	}
	assert_int_equal(service.call_count, 2);
	/* Another version, and other members. */
	service.version = 8;
	service.count = COUNT / 2;
	assert_int_equal(asked(&bcast, &service, &got), -ESTALE);
	assert_int_equal(service.call_count, 3);
	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(group->membership->count, COUNT / 2);
	/* What a service does not number is asked for each time. */
	service.version = 0;
	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(service.call_count, 6);
	/* An error is no list to stay with. */
	service.version = 9;
	service.count = -ENXIO;
	assert_int_equal(refreshed(group, &service), -ENXIO);
	service.count = COUNT;
	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(group->membership->count, COUNT);
}

static void oob_change_leaves_requests_what_they_have(void **state)
{
	struct service service = { .targets = targets, .count = COUNT };
	struct scoll_group *group = oob_made();
	struct group_tree *tree;
	struct choice *all;

	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(choice_all(group->membership, &all), 0);
	assert_int_equal(group_tree_get(group, all, 0, SCOLL_TREE_BINOMIAL,
					SCOLL_ORDER_DEPTH, &tree),
			 0);
	choice_unref(all);
	service.count = COUNT / 2;
	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(group->membership->count, COUNT / 2);
	assert_int_equal(group->tree_count, 0);
	assert_int_equal(tree->nodes, COUNT);
	assert_int_equal(tree->choice->membership->count, COUNT);
	group_tree_unref(tree);
}

/* --- choices --- */

static void choice_is_everybody_unless_the_message_says_else(void **state)
{
	const scoll_nid_t nids[] = { 3, 4, 17 };
	struct scoll_group *group = made_for(OSS);
	struct wire_bcast bcast = { 0 };
	struct choice *all, *some, *got;
	uint8_t bytes[64];

	assert_int_equal(group_choice(group, &bcast, &all), 0);
	assert_true(choice_is_all(all));
	assert_int_equal(choice_of_nids(group->membership, nids, 3, &some), 0);
	choice_encode(some, bytes);
	bcast.flags = WIRE_SUBSET;
	bcast.choice_digest = some->digest;
	bcast.choice = bytes;
	bcast.choice_size = (uint16_t)choice_encoded_size(some);
	assert_int_equal(group_choice(group, &bcast, &got), 0);
	assert_ptr_equal(got, some);
	choice_unref(got);
	bcast.choice_digest = all->digest;
	bcast.choice_digest.bytes[0] ^= 1;
	assert_int_equal(group_choice(group, &bcast, &got), -ESTALE);
	choice_unref(all);
	choice_unref(some);
}

static void choice_G16_of_the_living_is_agreed_upon_by_digest(void **state)
{
	const scoll_nid_t nids[] = { 1, 2, 3 };
	struct scoll_group *group = made_for(OSS);
	struct wire_bcast bcast = { .flags = WIRE_SUBSET | WIRE_ALIVE };
	struct choice *living, *again, *within;

	given_dead(given, 2);
	given_dead(given, 30);
	assert_int_equal(group_alive(group, NULL, &living), 0);
	assert_int_equal(living->count, COUNT - 2);
	assert_int_equal(choice_place(living, 30), -ENOENT);
	bcast.choice_digest = living->digest;
	assert_int_equal(group_choice(group, &bcast, &again), 0);
	assert_ptr_equal(again, living);
	choice_unref(again);
	/* Part of a choice. */
	assert_int_equal(choice_of_nids(group->membership, nids, 3, &within),
			 0);
	assert_int_equal(group_alive(group, within, &again), 0);
	assert_int_equal(again->count, 2);
	choice_unref(again);
	choice_unref(within);
	/* Somebody else is dead, or nobody: the views differ. */
	given_dead(given, 5);
	assert_int_equal(group_choice(group, &bcast, &again), -EAGAIN);
	given_alive(given, 5);
	assert_int_equal(group_choice(group, &bcast, &again), 0);
	choice_unref(again);
	for (scoll_nid_t nid = 0; nid < COUNT; nid++)
		given_dead(given, nid);
	assert_int_equal(group_alive(group, NULL, &again), -EHOSTDOWN);
	assert_int_equal(group_choice(group, &bcast, &again), -EAGAIN);
	choice_unref(living);
}

/* --- trees --- */

static struct group_tree *tree_at(struct group_table *table,
				  struct scoll_group *group,
				  struct choice *choice, scoll_nid_t root,
				  scoll_tree_type_t type)
{
	struct message message;
	struct scoll_group *known = NULL;
	struct group_tree *tree = NULL;

	message_of(&message, group, 0);
	assert_int_equal(
		group_resolve(table, &message.bcast, &no_oob, 1, &known), 0);
	assert_int_equal(group_tree_get(known, choice, root, type,
					SCOLL_ORDER_DEPTH, &tree),
			 0);
	group_unref(known, 1);
	return tree;
}

/*
 * All members compute the same tree: each one's parent has it as a child, with
 * as many nodes and entities below as it counts itself.
 */
static void tree_check(struct scoll_group *group, struct choice *choice,
		       scoll_nid_t root, scoll_tree_type_t type)
{
	struct group_tree *trees[COUNT + 1] = { NULL };
	struct group_table *tables[COUNT + 1];
	uint32_t nodes = 0, entities = 0;
	struct seating seating;

	seating_init(choice, root, &seating);
	for (uint32_t rank = 0; rank < seating.count; rank++) {
		tables[rank] = table_of(seating_nid(&seating, rank), 0);
		trees[rank] = tree_at(tables[rank], group, choice, root, type);
	}
	for (uint32_t rank = 0; rank < seating.count; rank++) {
		const struct group_tree *tree = trees[rank], *parent;
		struct scoll_tree_range ranges[TREE_RANGES_MAX];
		uint32_t below = 0;
		int child;

		assert_int_equal(tree->rank, rank);
		nodes += tree->rank == 0 ? tree->nodes : 0;
		entities += tree->rank == 0 ? tree->entities : 0;
		for (uint32_t i = group_tree_ranges(tree, rank, ranges);
		     i-- > 0;)
			below += ranges[i].count;
		assert_int_equal(below, tree->nodes);
		if (rank == 0)
			continue;
		parent = trees[tree->parent_rank];
		assert_int_equal(tree->parent,
				 seating_nid(&seating, tree->parent_rank));
		child = group_tree_child(parent, seating_nid(&seating, rank));
		assert_true(child >= 0);
		assert_int_equal(parent->children[child].rank, rank);
		assert_int_equal(parent->children[child].nodes, tree->nodes);
		assert_int_equal(parent->children[child].entities,
				 tree->entities);
		assert_int_equal(parent->children[child].depth, tree->depth);
		assert_int_equal(group_tree_child(tree, tree->parent), -ENOENT);
	}
	assert_int_equal(nodes, seating.count);
	assert_int_equal(entities, choice->entity_count);
	for (uint32_t rank = 0; rank < seating.count; rank++) {
		group_tree_unref(trees[rank]);
		group_table_destroy(tables[rank]);
	}
}

static void trees_G15_over_one_group_have_any_root(void **state)
{
	static const scoll_tree_type_t types[] = {
		SCOLL_TREE_FLAT, SCOLL_TREE_BINOMIAL, SCOLL_TREE_KNOMIAL(4),
		SCOLL_TREE_KARY(3), SCOLL_TREE_LOGP(4)
	};
	uint64_t words[1] = { 0xf0f0f0f0ff };
	struct scoll_group *group = made_for(OSS);
	struct choice *all, *some;

	assert_int_equal(choice_all(group->membership, &all), 0);
	assert_int_equal(choice_of_bits(group->membership, words, NULL, &some),
			 0);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		tree_check(group, all, 0, types[i]);
		tree_check(group, all, 23, types[i]);
		tree_check(group, all, 4711, types[i]); /* no member */
		tree_check(group, some, 7, types[i]);
		tree_check(group, some, 8, types[i]); /* not chosen */
	}
	choice_unref(all);
	choice_unref(some);
}

static int tree_get_again(void *ctx)
{
	struct scoll_group *group = ctx;
	struct group_tree *tree;
	struct choice *all;
	int result = choice_all(group->membership, &all);

	if (result < 0)
		return result;
	result = group_tree_get(group, all, 9, SCOLL_TREE_BINOMIAL,
				SCOLL_ORDER_DEPTH, &tree);
	choice_unref(all);
	if (result == 0)
		group_tree_unref(tree);
	return result;
}

static void tree_that_is_kept_costs_no_memory(void **state)
{
	struct scoll_group *group = made_for(OSS);
	int result;

	assert_int_equal(tree_get_again(group), 0);
	assert_false(sim_heap_fails(1, &result, tree_get_again, group));
	assert_int_equal(result, 0);
	assert_int_equal(group->tree_count, 1);
}

static void trees_used_last_are_kept(void **state)
{
	struct scoll_group *group = made_for(OSS);
	struct group_tree *tree, *first = NULL;
	struct choice *all;

	assert_int_equal(choice_all(group->membership, &all), 0);
	for (scoll_nid_t root = 0; root <= GROUP_TREES_MAX; root++) {
		assert_int_equal(group_tree_get(group, all, root,
						SCOLL_TREE_BINOMIAL,
						SCOLL_ORDER_DEPTH, &tree),
				 0);
		if (root == 0)
			first = group_tree_ref(tree);
		group_tree_unref(tree);
		assert_int_equal(group_tree_get(group, all, 0,
						SCOLL_TREE_BINOMIAL,
						SCOLL_ORDER_DEPTH, &tree),
				 0);
		assert_ptr_equal(tree, first);
		group_tree_unref(tree);
	}
	assert_int_equal(group->tree_count, GROUP_TREES_MAX);
	/* Another order is another tree. */
	assert_int_equal(group_tree_get(group, all, 0, SCOLL_TREE_BINOMIAL,
					SCOLL_ORDER_RANK, &tree),
			 0);
	assert_ptr_not_equal(tree, first);
	assert_int_equal(group->tree_count, GROUP_TREES_MAX);
	group_tree_unref(tree);
	group_tree_unref(first);
	choice_unref(all);
}

static void tree_that_cannot_be_is_refused(void **state)
{
	const scoll_nid_t nids[] = { 3, 4 };
	struct scoll_group *group = made_for(OSS);
	struct group_tree *tree;
	struct choice *choice;

	assert_int_equal(choice_of_nids(group->membership, nids, 2, &choice),
			 0);
	assert_int_equal(group_tree_get(group, choice, 3, SCOLL_TREE_BINOMIAL,
					SCOLL_ORDER_DEPTH, &tree),
			 -ENOENT); /* node 0 is not in it */
	assert_int_equal(group_tree_get(group, choice, 0, SCOLL_TREE(99, 1),
					SCOLL_ORDER_DEPTH, &tree),
			 -EINVAL);
	assert_int_equal(group_tree_get(group, choice, 0, SCOLL_TREE_BINOMIAL,
					2, &tree),
			 -EINVAL);
	choice_unref(choice);
}

static int group_lives(void *ctx)
{
	const struct message *message = ctx;
	struct scoll_group *group;
	struct choice *living;
	int result;

	result = group_resolve(theirs, &message->bcast, &no_oob, 1, &group);
	if (result < 0)
		return result;
	result = group_alive(group, NULL, &living);
	if (result == 0) {
		struct group_tree *tree;

		result = group_tree_get(group, living, 0, SCOLL_TREE_BINOMIAL,
					SCOLL_ORDER_DEPTH, &tree);
		if (result == 0)
			group_tree_unref(tree);
		choice_unref(living);
	}
	group_unref(group, 1);
	return result;
}

static void end_of_memory_leaves_no_group_half_made(void **state)
{
	struct scoll_group *group = made_for(OSS);
	struct message message;
	unsigned int n = 1;
	int result;

	message_of(&message, group, 0);
	group_end(group, 0);
	for (; sim_heap_fails(n, &result, group_lives, &message); n++) {
		assert_int_equal(result, -ENOMEM);
		group_table_tick(theirs, 1 + LIFETIME);
		assert_int_equal(group_table_count(theirs), 0);
		assert_int_equal(group_table_size(theirs), 0);
		assert_int_equal(memberships_count(memberships), 0);
	}
	assert_int_equal(result, 0);
	assert_true(n > 8);
}

#define test_of(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		test_of(handle_has_what_its_user_gave),
		test_of(group_G14_is_found_in_the_table_of_each_member),
		test_of(same_list_twice_is_two_groups),
		test_of(id_G13_never_stands_for_two_memberships),
		test_of(objects_S08_of_two_services_are_two),
		test_of(damaged_parameters_are_no_group),
		test_of(list_in_bulk_data_is_read_only_if_it_is_not_known),
		test_of(creator_is_written_when_it_is_not_the_root),
		test_of(arguments_are_checked),
		test_of(number_of_groups_has_a_limit),
		test_of(ended_group_is_not_made_again_by_a_late_message),
		test_of(idle_group_L06_goes_after_its_lifetime),
		test_of(groups_L03_go_when_their_creator_is_dead),
		test_of(trees_L03_go_when_their_root_is_dead),
		test_of(groups_L04_of_earlier_starts_go_and_no_others),
		test_of(oldest_tombstone_goes_out),
		test_of(oob_G06_id_is_the_service_and_its_own_bytes),
		test_of(oob_needs_a_service_that_knows_it),
		test_of(oob_member_with_another_list_refuses),
		test_of(oob_targets_of_one_node_may_be_apart),
		test_of(oob_G11_list_of_the_same_version_is_not_compared),
		test_of(oob_change_leaves_requests_what_they_have),
		test_of(choice_is_everybody_unless_the_message_says_else),
		test_of(choice_G16_of_the_living_is_agreed_upon_by_digest),
		test_of(trees_G15_over_one_group_have_any_root),
		test_of(tree_that_is_kept_costs_no_memory),
		test_of(trees_used_last_are_kept),
		test_of(tree_that_cannot_be_is_refused),
		test_of(end_of_memory_leaves_no_group_half_made),
	};

	return sodium_init() < 0 ||
	       cmocka_run_group_tests_name("scoll_group", tests, NULL, NULL);
}
