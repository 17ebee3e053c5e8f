/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: their ids, and how long they live. */
#include "scoll/core/test/group_bed.h"

#include <sodium.h>

static struct group_bed bed;

static int setup(void **state)
{
	group_bed_init(&bed);
	return 0;
}

static int teardown(void **state)
{
	group_bed_fini(&bed);
	return 0;
}

static void handle_has_what_its_user_gave(void **state)
{
	struct scoll_group *group = group_bed_made(&bed, OSS);

	assert_string_equal(group->name, "lane");
	assert_string_equal(group->private, "mine");
	assert_int_equal(group->membership->count, COUNT);
	assert_int_equal(group->service, OSS);
	assert_int_equal(group_table_count(bed.ours), 1);
	assert_ptr_equal(group_table_owner(group->table), &bed.memberships);
	group_end(group, 0);
	assert_int_equal(group_table_count(bed.ours), 0);
}

static void group_G14_is_found_in_the_table_of_each_member(void **state)
{
	struct scoll_group *group = group_bed_made(&bed, OSS),
			   *other = group_bed_made(&bed, OSS), *got;
	struct group_message message;
	const struct wire_bcast *bcast = group_message_of(&message, group, 0);

	/* Not known, but the message says who is in it. */
	message.bcast.params_size = 0;
	assert_int_equal(group_resolved(bed.theirs, bcast, 1), -ENOENT);
	bcast = group_message_of(&message, group, 0);
	assert_int_equal(group_resolved(bed.theirs, bcast, 1), 0);
	/* Now it is known. */
	message.bcast.params_size = 0;
	assert_int_equal(
		group_resolve(bed.theirs, bcast, &group_no_oob, 1, &got), 0);
	assert_memory_equal(&got->id, &group->id, sizeof(got->id));
	assert_ptr_equal(got->membership, group->membership);
	assert_string_equal(got->name, "lane");
	assert_false(got->is_handle);
	group_unref(got, 1);
	/* A member is in many groups. */
	assert_int_equal(group_resolved(bed.theirs,
					group_message_of(&message, other, 0),
					1),
			 0);
	assert_int_equal(group_table_count(bed.theirs), 2);
	/* The creator finds its own, when another member is the root. */
	assert_int_equal(group_resolve(bed.ours, bcast, &group_no_oob, 1, &got),
			 0);
	assert_ptr_equal(got, other);
	group_unref(got, 1);
}

static void same_list_twice_is_two_groups(void **state)
{
	struct scoll_group *one = group_bed_made(&bed, OSS),
			   *two = group_bed_made(&bed, OSS);

	assert_ptr_equal(one->membership, two->membership);
	assert_memory_not_equal(&one->id, &two->id, sizeof(one->id));
}

static void id_G13_never_stands_for_two_memberships(void **state)
{
	struct scoll_group *group = group_bed_made(&bed, OSS);
	struct group_message message;
	const struct wire_bcast *bcast = group_message_of(&message, group, 0);
	uint8_t *list = message.params + 1 + strlen("lane");

	/* A list with two nodes swapped, under this group's id. */
	memcpy(list + 4 + COUNT * 6, &(uint64_t){ 1 }, 8);
	memcpy(list + 4 + COUNT * 6 + 8, &(uint64_t){ 0 }, 8);
	group_end(group, 0); /* else its membership would be known */
	assert_int_equal(memberships_count(bed.memberships), 0);
	assert_int_equal(group_resolved(bed.theirs, bcast, 1), -ESTALE);
	/* The same index with another digest is another group. */
	group = group_bed_made(&bed, OSS);
	bcast = group_message_of(&message, group, 0);
	assert_int_equal(group_resolved(bed.theirs, bcast, 1), 0);
	message.bcast.members.bytes[0] ^= 1;
	message.bcast.params_size = 0;
	assert_int_equal(group_resolved(bed.theirs, bcast, 1), -ENOENT);
}

static void objects_S08_of_two_services_are_two(void **state)
{
	struct scoll_group *oss = group_bed_made(&bed, OSS),
			   *mds = group_bed_made(&bed, MDS);
	struct group_message message;
	const struct wire_bcast *bcast;

	/* The same nodes and tags, and yet not the same objects. */
	assert_ptr_equal(oss->membership, mds->membership);
	assert_memory_not_equal(&oss->id, &mds->id, sizeof(oss->id));
	bcast = group_message_of(&message, oss, 0);
	assert_int_equal(group_resolved(bed.theirs, bcast, 1), 0);
	assert_int_equal(group_resolved(bed.theirs,
					group_message_of(&message, mds, 0), 1),
			 0);
	assert_int_equal(group_table_count(bed.theirs), 2);
	/* No service is run on another one's group. */
	bcast = group_message_of(&message, oss, 0);
	message.bcast.service = MDS;
	assert_int_equal(group_resolved(bed.theirs, bcast, 1), -EBADMSG);
}

static void damaged_parameters_are_no_group(void **state)
{
	struct scoll_group *group = group_bed_made(&bed, OSS);
	struct group_message message;
	const struct wire_bcast *bcast = group_message_of(&message, group, 0);

	group_end(group, 0);
	message.params[0] = 255; /* longer than a name may be */
	assert_int_equal(group_resolved(bed.theirs, bcast, 1), -EBADMSG);
	message.params[0] = 4;
	message.params[2] = 0; /* a zero inside */
	assert_int_equal(group_resolved(bed.theirs, bcast, 1), -EBADMSG);
	message.params[2] = 'a';
	message.bcast.params_size--;
	assert_int_equal(group_resolved(bed.theirs, bcast, 1), -EBADMSG);
	message.bcast.params_size = 1;
	assert_int_equal(group_resolved(bed.theirs, bcast, 1), -EBADMSG);
	assert_int_equal(group_table_count(bed.theirs), 0);
}

static void list_in_bulk_data_is_read_only_if_it_is_not_known(void **state)
{
	struct scoll_group *group = group_bed_made(&bed, OSS), *got;
	size_t size = membership_encoded_size(group->membership);
	uint8_t *list = malloc(size);
	struct group_message message;
	const struct wire_bcast *bcast = group_message_of(
		&message, group, WIRE_POPULATE | WIRE_MEMBERS_BULK);

	membership_encode(group->membership, list);
	assert_int_equal(message.bcast.params_size, 1 + 4);
	/* In a simulation it is known: the creator has it. */
	assert_int_equal(
		group_resolve(bed.theirs, bcast, &group_no_oob, 1, &got), 0);
	assert_string_equal(got->name, "lane");
	group_unref(got, 1);
	group_end(got, 1);
	group_end(group, 1);
	assert_int_equal(memberships_count(bed.memberships), 0);
	message.bcast.group_index++;
	assert_int_equal(group_resolved(bed.theirs, bcast, 2), -ENODATA);
	list[8] ^= 1;
	assert_int_equal(group_learn(bed.theirs, bcast, list, size, 2, &got),
			 -EBADMSG);
	list[8] ^= 1;
	list[size - 1] ^= 1;
	assert_int_equal(group_learn(bed.theirs, bcast, list, size, 2, &got),
			 -ESTALE);
	list[size - 1] ^= 1;
	assert_int_equal(group_learn(bed.theirs, bcast, list, size, 2, &got),
			 0);
	assert_string_equal(got->name, "lane");
	group_unref(got, 2);
	assert_int_equal(group_resolved(bed.theirs, bcast, 2), 0);
	free(list);
}

static void creator_is_written_when_it_is_not_the_root(void **state)
{
	struct scoll_group *group = group_bed_made(&bed, OSS);
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
	struct scoll_group *group = group_bed_made(&bed, OSS), *other;
	char name[SCOLL_NAME_MAX + 2];

	memset(name, 'n', sizeof(name));
	name[SCOLL_NAME_MAX + 1] = 0;
	assert_int_equal(group_create(bed.ours, OSS, name, group->membership, 0,
				      NULL, &other),
			 -EINVAL);
	assert_int_equal(group_create(bed.ours, OSS, "n", group->membership,
				      SCOLL_TREE(99, 0), NULL, &other),
			 -EINVAL);
	name[SCOLL_NAME_MAX] = 0;
	assert_int_equal(group_create(bed.ours, OSS, name, group->membership, 0,
				      NULL, &other),
			 0);
	assert_int_equal(group_create(bed.ours, OSS, NULL, group->membership, 0,
				      NULL, &other),
			 0);
	assert_string_equal(other->name, "");
}

static void number_of_groups_has_a_limit(void **state)
{
	struct scoll_group *group = group_bed_made(&bed, OSS), *other;
	struct group_table *small = group_bed_table(&bed, 17, 1);
	struct group_message message;

	assert_int_equal(
		group_resolved(small, group_message_of(&message, group, 0), 1),
		0);
	other = group_bed_made(&bed, OSS);
	assert_int_equal(
		group_resolved(small, group_message_of(&message, other, 0), 1),
		-E2BIG);
	/* Those that are known are used on. */
	assert_int_equal(
		group_resolved(small, group_message_of(&message, group, 0), 1),
		0);
	assert_int_equal(group_create(small, OSS, "", group->membership, 0,
				      NULL, &other),
			 -E2BIG);
	group_table_destroy(small);
}

/* --- how long they live --- */

static void ended_group_is_not_made_again_by_a_late_message(void **state)
{
	struct scoll_group *group = group_bed_made(&bed, OSS), *got;
	struct group_message message;
	const struct wire_bcast *bcast = group_message_of(&message, group, 0);

	assert_int_equal(
		group_resolve(bed.theirs, bcast, &group_no_oob, 5, &got), 0);
	group_end(got, 5);
	assert_true(got->is_ended);
	assert_int_equal(group_table_count(bed.theirs), 0);
	/* Who has a reference keeps it. */
	assert_int_equal(got->membership->count, COUNT);
	group_unref(got, 6);
	assert_int_equal(group_resolved(bed.theirs, bcast, 6), -ESHUTDOWN);
	assert_int_equal(group_table_deadline_ns(bed.theirs), 5 + 2 * LIFETIME);
	group_table_tick(bed.theirs, 4 + 2 * LIFETIME);
	assert_int_equal(group_resolved(bed.theirs, bcast, 4 + 2 * LIFETIME),
			 -ESHUTDOWN);
	group_table_tick(bed.theirs, 5 + 2 * LIFETIME);
	assert_int_equal(group_table_deadline_ns(bed.theirs), DEADLINE_NONE);
	assert_int_equal(group_table_size(bed.theirs), 0);
	assert_int_equal(group_resolved(bed.theirs, bcast, 5 + 2 * LIFETIME),
			 0);
}

static void idle_group_L06_goes_after_its_lifetime(void **state)
{
	struct scoll_group *one = group_bed_made(&bed, OSS),
			   *two = group_bed_made(&bed, OSS), *got;
	struct group_message message, second;
	const struct wire_bcast *bcast = group_message_of(&message, one, 0);

	group_message_of(&second, two, 0);
	assert_int_equal(group_resolved(bed.theirs, bcast, 10), 0);
	assert_int_equal(group_resolved(bed.theirs, &second.bcast, 20), 0);
	assert_int_equal(group_table_deadline_ns(bed.theirs), 10 + LIFETIME);
	/* Used again: the other one is next. */
	assert_int_equal(group_resolved(bed.theirs, bcast, 500), 0);
	assert_int_equal(group_table_deadline_ns(bed.theirs), 20 + LIFETIME);
	group_table_tick(bed.theirs, 19 + LIFETIME);
	assert_int_equal(group_table_count(bed.theirs), 2);
	group_table_tick(bed.theirs, 20 + LIFETIME);
	assert_int_equal(group_table_count(bed.theirs), 1);
	/* No tombstone: its creator may populate it again. */
	assert_int_equal(
		group_resolved(bed.theirs, &second.bcast, 30 + LIFETIME), 0);
	group_table_tick(bed.theirs, 500 + LIFETIME);
	assert_int_equal(group_table_count(bed.theirs), 1);
	/* In use it stays, and its lifetime starts afterwards. */
	assert_int_equal(group_resolve(bed.theirs, &second.bcast, &group_no_oob,
				       1600, &got),
			 0);
	group_table_tick(bed.theirs, 1600 + 5 * LIFETIME);
	assert_false(got->is_ended);
	group_unref(got, 1600 + 6 * LIFETIME);
	group_table_tick(bed.theirs, 1599 + 7 * LIFETIME);
	assert_int_equal(group_table_count(bed.theirs), 1);
	group_table_tick(bed.theirs, 1600 + 7 * LIFETIME);
	assert_int_equal(group_table_count(bed.theirs), 0);
	assert_int_equal(group_table_size(bed.theirs), 0);
	/* A handle is its user's. */
	group_table_tick(bed.ours, UINT64_MAX - 1);
	assert_int_equal(group_table_count(bed.ours), 2);
}

static void groups_L04_of_earlier_starts_go_and_no_others(void **state)
{
	struct scoll_group *group = group_bed_made(&bed, OSS);
	struct group_message earlier, later;

	group_message_of(&earlier, group, WIRE_CREATOR);
	group_message_of(&later, group, WIRE_CREATOR);
	later.bcast.creator_nonce = NONCE + 1;
	assert_int_equal(group_resolved(bed.theirs, &earlier.bcast, 1), 0);
	assert_int_equal(group_resolved(bed.theirs, &later.bcast, 1), 0);
	/* Of another node: nothing happens. */
	group_table_node_started(bed.theirs, 3, NONCE + 1);
	assert_int_equal(group_table_count(bed.theirs), 2);
	group_table_node_started(bed.theirs, 0, NONCE + 1);
	assert_int_equal(group_table_count(bed.theirs), 1);
	later.bcast.params_size = 0;
	earlier.bcast.params_size = 0;
	assert_int_equal(group_resolved(bed.theirs, &later.bcast, 2), 0);
	assert_int_equal(group_resolved(bed.theirs, &earlier.bcast, 2),
			 -ENOENT);
}

static void oldest_tombstone_goes_out(void **state)
{
	struct scoll_group *group, *kept = group_bed_made(&bed, OSS);
	struct group_message first, second;

	group = group_bed_made(&bed, OSS);
	group_message_of(&first, group, 0);
	group_end(group, 1);
	group = group_bed_made(&bed, OSS);
	group_message_of(&second, group, 0);
	group_end(group, 1);
	for (int i = 2; i < GROUP_TOMBSTONES_MAX; i++) {
		assert_int_equal(group_create(bed.ours, OSS, "",
					      kept->membership, 0, NULL,
					      &group),
				 0);
		group_end(group, 1);
	}
	first.bcast.params_size = 0;
	second.bcast.params_size = 0;
	assert_int_equal(group_resolved(bed.ours, &first.bcast, 1), -ESHUTDOWN);
	group_end(group_bed_made(&bed, OSS), 1);
	assert_int_equal(group_resolved(bed.ours, &first.bcast, 1), -ENOENT);
	assert_int_equal(group_resolved(bed.ours, &second.bcast, 1),
			 -ESHUTDOWN);
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
		test_of(groups_L04_of_earlier_starts_go_and_no_others),
		test_of(oldest_tombstone_goes_out),
	};

	return sodium_init() < 0 ||
	       cmocka_run_group_tests_name("scoll_group", tests, NULL, NULL);
}
