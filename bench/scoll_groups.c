/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What groups cost in memory, and finding one of them: the tables of a creator
 * and of a member that learns them from messages.
 *
 *	scoll_groups GROUPS NODES own|shared|oob
 *
 * Each group has a membership of its own, or all have one; oob: one that the
 * service tells, with a version. Prints a name and a
 * number a line: bytes of a group at the creator and at the member, as malloc
 * counts them, and as the tables say; bytes of the head of a broadcast over
 * one that is known, plain and with seals of SEAL_BYTES; ns to find one, best
 * and median of rounds over all of them in a random order.
 */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/seam.h"
#include "rounds.h"
#include "scoll/core/group.h"
#include "scoll/member/given.h"

#define CREATOR    1
#define MEMBER     2
#define NONCE      7
#define SERVICE    5
#define ROUNDS     9
#define NODES_MAX  160
#define SEAL_BYTES 16 /* of scoll_key_authenticator_create */
#define LIFETIME   (UINT64_C(3600) * 1000000000)

struct table {
	struct memberships *memberships;
	struct group_table *groups;
};

struct service {
	scoll_target_t targets[NODES_MAX];
	uint32_t nodes;
	struct group_oob oob;
};

/* What is said of each group, without its parameters; and the order. */
struct known {
	struct wire_bcast *bcasts;
	uint32_t *order;
};

static void must(int result, const char *what)
{
	if (result >= 0)
		return;
	errno = -result;
	rounds_die(what);
}

static void table_open(struct table *table, scoll_nid_t nid,
		       struct given *given)
{
	struct group_options options = {
		.nid = nid,
		.nonce = NONCE,
		.lifetime_ns = LIFETIME,
		.discovery = given_discovery(given),
	};

	must(memberships_create(&table->memberships), "make a table");
	options.memberships = table->memberships;
	must(group_table_create(&options, &table->groups), "make a table");
}

static size_t bytes_now(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static int members_tell(void *ctx, const scoll_oobgrp_id_t *oobid,
			const scoll_target_t **ret_targets)
{
	struct service *service = ctx;

	*ret_targets = service->targets;
	return (int)service->nodes;
}

static uint64_t version_tell(void *ctx, const scoll_oobgrp_id_t *oobid)
{
	return 1;
}

static void service_init(struct service *service, uint32_t nodes, bool is_oob)
{
	static const scoll_tag_t tag = { "bench" };

	memset(service, 0, sizeof(*service));
	service->nodes = nodes;
	for (uint32_t i = 0; i < nodes; i++)
		service->targets[i] = (scoll_target_t){ CREATOR + i, &tag, 1 };
	if (is_oob)
		service->oob = (struct group_oob){
			.members = members_tell,
			.version = version_tell,
			.private = service,
		};
}

static struct scoll_group *make_oob(struct table *table, uint32_t index,
				    const struct service *service)
{
	scoll_oobgrp_id_t id = { .svid = SERVICE };
	struct scoll_group *group;

	memcpy(id.bytes, &index, sizeof(index));
	must(group_oob_create(table->groups, SERVICE, "", &id,
			      SCOLL_TREE_KNOMIAL(4), NULL, &group),
	     "make a group");
	must(group_oob_refresh(group, &service->oob), "ask for a group");
	return group;
}

static struct scoll_group *make(struct table *table, uint32_t index,
				struct service *service, bool is_own)
{
	struct membership *membership;
	struct scoll_group *group;

	if (service->oob.members != NULL)
		return make_oob(table, index, service);
	if (is_own)
		service->targets[service->nodes - 1].nid = 1000000 + index;
	must(memberships_from_targets(table->memberships, service->targets,
				      (int)service->nodes, NULL, NULL,
				      &membership),
	     "make a membership");
	must(group_create(table->groups, SERVICE, "", membership,
			  SCOLL_TREE_KNOMIAL(4), NULL, &group),
	     "make a group");
	membership_unref(membership);
	return group;
}

static void tell(struct table *member, const struct service *service,
		 const struct scoll_group *group, struct wire_bcast *ret_bcast)
{
	uint8_t params[SCOLL_BCAST_MAX * 2];
	struct scoll_group *learned;

	memset(ret_bcast, 0, sizeof(*ret_bcast));
	ret_bcast->service = SERVICE;
	ret_bcast->tree = SCOLL_TREE_KNOMIAL(4);
	ret_bcast->root = CREATOR;
	ret_bcast->root_nonce = NONCE;
	group_id_write(group, CREATOR, NONCE, ret_bcast);
	ret_bcast->members = group->membership->digest;
	if (service->oob.members == NULL) {
		ret_bcast->params_size =
			(uint16_t)group_params_size(group, true);
		group_params_encode(group, true, params);
		ret_bcast->params = params;
	}
	must(group_resolve(member->groups, ret_bcast, &service->oob, 1,
			   &learned),
	     "learn a group");
	group_unref(learned, 1);
	ret_bcast->params_size = 0;
}

static void head_say(struct wire_bcast bcast)
{
	static const struct scoll_authenticator auth = {
		.size = sizeof(auth),
		.seal_size = SEAL_BYTES,
	};
	size_t plain = wire_bcast_head_size(&bcast, NULL);

	bcast.flags |= wire_auth_flags(&auth);
	printf("head_bytes %zu\nhead_sealed_bytes %zu\n", plain,
	       wire_bcast_head_size(&bcast, &auth));
}

static void find_all(struct table *member, const struct service *service,
		     const struct known *known, uint32_t count)
{
	uint64_t times[ROUNDS];
	struct rounds_summary summary;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start_ns = rounds_now_ns();

		for (uint32_t i = 0; i < count; i++) {
			struct scoll_group *group;

			must(group_resolve(member->groups,
					   &known->bcasts[known->order[i]],
					   &service->oob, 2, &group),
			     "find a group");
			group_unref(group, 2);
		}
		times[round] = rounds_now_ns() - start_ns;
	}
	summary = rounds_summarize(times, ROUNDS);
	printf("find_best_ns %.1f\nfind_median_ns %.1f\n",
	       (double)summary.best / count, (double)summary.median / count);
}

static void shuffle(uint32_t *order, uint32_t count)
{
	uint64_t state = 1;

	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	for (uint32_t i = count; i > 1; i--) {
		uint32_t other, kept = order[i - 1];

		state = state * UINT64_C(6364136223846793005) + 1;
		other = (uint32_t)((state >> 33) % i);
		order[i - 1] = order[other];
		order[other] = kept;
	}
}

int main(int argc, char **argv)
{
	struct table creator, member;
	struct scoll_group **groups;
	static struct service service;
	uint32_t count;
	struct known known;
	struct given *given;
	bool is_own;
	size_t before, made, learned;

	if (argc != 4) {
		fprintf(stderr, "usage: scoll_groups GROUPS NODES "
				"own|shared|oob\n");
		return 2;
	}
	count = (uint32_t)rounds_number(argv[1], 1, GROUP_COUNT_MAX);
	is_own = strcmp(argv[3], "own") == 0;
	service_init(&service, (uint32_t)rounds_number(argv[2], 2, NODES_MAX),
		     strcmp(argv[3], "oob") == 0);
	groups = calloc(count, sizeof(struct scoll_group *));
	known.bcasts = calloc(count, sizeof(*known.bcasts));
	known.order = calloc(count, sizeof(*known.order));
	if (groups == NULL || known.bcasts == NULL || known.order == NULL)
		rounds_die("allocate");
	must(given_create(true, &given), "make a discovery");
	table_open(&creator, CREATOR, given);
	table_open(&member, MEMBER, given);
	before = bytes_now();
	for (uint32_t i = 0; i < count; i++)
		groups[i] = make(&creator, i, &service, is_own);
	made = bytes_now();
	for (uint32_t i = 0; i < count; i++)
		tell(&member, &service, groups[i], &known.bcasts[i]);
	learned = bytes_now();
	printf("creator_bytes %.1f\nmember_bytes %.1f\n",
	       (double)(made - before) / count,
	       (double)(learned - made) / count);
	printf("table_bytes %.1f\nmembership_bytes %.1f\n",
	       (double)group_table_size(member.groups) / count,
	       (double)memberships_size(member.memberships) /
		       (double)memberships_count(member.memberships));
	head_say(known.bcasts[0]);
	shuffle(known.order, count);
	find_all(&member, &service, &known, count);
	for (uint32_t i = 0; i < count; i++)
		group_end(groups[i], 3);
	group_table_destroy(creator.groups);
	group_table_destroy(member.groups);
	memberships_destroy(creator.memberships);
	memberships_destroy(member.memberships);
	given_destroy(given);
	free(groups);
	free(known.bcasts);
	free(known.order);
	return 0;
}
