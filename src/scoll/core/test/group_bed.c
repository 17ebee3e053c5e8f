/* SPDX-License-Identifier: BSD-3-Clause */
/* Its members, and what they say to each other. */
#include "scoll/core/test/group_bed.h"

const scoll_tag_t group_bed_tags[2] = { { "a" }, { "b" } };
const struct group_oob group_no_oob;

struct group_table *group_bed_table(struct group_bed *bed, scoll_nid_t nid,
				    uint32_t count_max)
{
	const struct group_options options = {
		.nid = nid,
		.nonce = NONCE + nid,
		.lifetime_ns = LIFETIME,
		.memberships = bed->memberships,
		.discovery = given_discovery(bed->given),
		.owner = &bed->memberships,
		.count_max = count_max,
		.tree_types = &bed->tree_types,
	};
	struct group_table *table = NULL;

	assert_int_equal(group_table_create(&options, &table), 0);
	return table;
}

void group_bed_init(struct group_bed *bed)
{
	for (uint64_t i = 0; i < COUNT; i++)
		bed->targets[i] =
			(scoll_target_t){ i, group_bed_tags, 1 + (int)(i % 2) };
	assert_int_equal(memberships_create(&bed->memberships), 0);
	assert_int_equal(given_create(true, &bed->given), 0);
	bed->ours = group_bed_table(bed, 0, 0);
	bed->theirs = group_bed_table(bed, 17, 0);
}

void group_bed_fini(struct group_bed *bed)
{
	group_table_destroy(bed->ours);
	group_table_destroy(bed->theirs);
	given_destroy(bed->given);
	assert_int_equal(memberships_count(bed->memberships), 0);
	memberships_destroy(bed->memberships);
}

struct scoll_group *group_bed_made(struct group_bed *bed,
				   scoll_service_id_t service)
{
	struct membership *membership;
	struct scoll_group *group = NULL;

	assert_int_equal(memberships_from_targets(bed->memberships,
						  bed->targets, COUNT, NULL,
						  NULL, &membership),
			 0);
	assert_int_equal(group_create(bed->ours, service, "lane", membership,
				      SCOLL_TREE_BINOMIAL, "mine", &group),
			 0);
	membership_unref(membership);
	return group;
}

const struct wire_bcast *group_message_of(struct group_message *message,
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

int group_resolved(struct group_table *table, const struct wire_bcast *bcast,
		   uint64_t now_ns)
{
	struct scoll_group *group;
	int result = group_resolve(table, bcast, &group_no_oob, now_ns, &group);

	if (result == 0)
		group_unref(group, now_ns);
	return result;
}
