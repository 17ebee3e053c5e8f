/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups: made now, with the first broadcast, or known to the services. What
 * is handed to the library is freed as soon as the call has returned.
 */
#include "cluster.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAGS_MAX 3

uint32_t member_tag_count(uint32_t index)
{
	return 1 + index % TAGS_MAX;
}

void member_tag(uint32_t index, uint32_t number, scoll_tag_t *ret_tag)
{
	memset(ret_tag, 0, sizeof(*ret_tag));
	memcpy(ret_tag->bytes, &index, sizeof(index));
	memcpy(ret_tag->bytes + 8, &number, sizeof(number));
}

/* One block: the targets, then their tags. */
static scoll_target_t *targets_make(const struct cluster *cluster,
				    const uint32_t *nodes, uint32_t count,
				    uint32_t *ret_entities)
{
	size_t bytes = count * (sizeof(scoll_target_t) +
				TAGS_MAX * sizeof(scoll_tag_t));
	scoll_target_t *targets = must_calloc(1, bytes);
	scoll_tag_t *tags = (scoll_tag_t *)(targets + count);

	*ret_entities = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t tag_count = member_tag_count(nodes[i]);

		targets[i].nid = cluster->members[nodes[i]].nid;
		targets[i].tags = tags;
		targets[i].count = (int)tag_count;
		for (uint32_t j = 0; j < tag_count; j++)
			member_tag(nodes[i], j, tags++);
		*ret_entities += tag_count;
	}
	return targets;
}

static struct team *team_add(struct cluster *cluster, uint32_t owner,
			     const uint32_t *nodes, uint32_t count)
{
	struct team *team = must_calloc(1, sizeof(*team));

	cluster->teams = reallocarray(cluster->teams, cluster->team_count + 1,
				      sizeof(cluster->teams[0]));
	if (cluster->teams == NULL)
		abort();
	cluster->teams[cluster->team_count] = team;
	team->cluster = cluster;
	team->number = cluster->team_count++;
	team->owner = owner;
	team->made_ns = cluster_now_ns(cluster);
	team->owner_life = cluster->members[owner].life;
	team->nodes = must_calloc(count, sizeof(nodes[0]));
	memcpy(team->nodes, nodes, count * sizeof(nodes[0]));
	team->node_count = count;
	for (uint32_t i = 0; i < count; i++)
		team->entity_count += member_tag_count(nodes[i]);
	snprintf(team->name, sizeof(team->name), "team %" PRIu32, team->number);
	return team;
}

static void created(int status, scoll_group_t *group, const void *private)
{
	struct team *team = (struct team *)private;
	struct cluster *cluster = team->cluster;

	cluster_trace(cluster, "%s: %d", team->name, status);
	if (team->was_notified)
		cluster_fail(cluster, "%s: notified twice that it is there",
			     team->name);
	if ((group == NULL) != (status < 0))
		cluster_fail(cluster, "%s: status %d, group %p", team->name,
			     status, (void *)group);
	team->was_notified = true;
	team->status = status;
	team->group = group;
	if (group != NULL &&
	    (strcmp(scoll_group_name(group), team->name) != 0 ||
	     scoll_group_private(group) != team ||
	     scoll_core_group_nodes(group) != (int)team->node_count ||
	     scoll_core_group_entities(group) != (int)team->entity_count))
		cluster_fail(cluster, "%s: it is another group", team->name);
}

int team_create(struct cluster *cluster, uint32_t owner, const uint32_t *nodes,
		uint32_t count, bool populate_now, struct team **ret_team)
{
	struct member *member = &cluster->members[owner];
	struct core_callback callback = { 0 };
	uint32_t entities;
	scoll_target_t *targets =
		targets_make(cluster, nodes, count, &entities);
	struct team *team = team_add(cluster, owner, nodes, count);
	char name[sizeof(team->name)];
	int result;

	memcpy(name, team->name, sizeof(name));
	result = scoll_core_group_create(member->core, cluster_now_ns(cluster),
					 CLUSTER_SERVICE, name, targets,
					 (int)count, 0, populate_now, created,
					 team, &callback);
	memset(name, 'X', sizeof(name));
	free(targets);
	cluster_trace(cluster, "%" PRIu32 " makes %s of %" PRIu32 "%s: %d",
		      owner, team->name, count, populate_now ? " now" : "",
		      result);
	if (result == 0 && !populate_now)
		core_callback_call(&callback);
	else if (result < 0)
		team->status = result;
	*ret_team = team;
	member_go_on(member);
	return result;
}

static int oob_make(struct team *team, uint64_t id)
{
	struct cluster *cluster = team->cluster;
	struct member *member = &cluster->members[team->owner];
	scoll_oobgrp_id_t oobid = { .svid = CLUSTER_SERVICE };
	int result;

	memcpy(oobid.bytes, &id, sizeof(id));
	team->is_oob = true;
	team->was_notified = true;
	result = scoll_core_oob_group_create(member->core, CLUSTER_SERVICE,
					     team->name, &oobid, 0, team,
					     &team->group);
	team->status = result;
	cluster_trace(cluster, "%" PRIu32 " knows %s of %" PRIu32 ": %d",
		      team->owner, team->name, team->node_count, result);
	member_go_on(member);
	return result;
}

int team_oob(struct cluster *cluster, uint32_t owner, const uint32_t *nodes,
	     uint32_t count, struct team **ret_team)
{
	*ret_team = team_add(cluster, owner, nodes, count);
	return oob_make(*ret_team, (*ret_team)->number);
}

int team_oob_again(struct cluster *cluster, uint32_t owner,
		   const struct team *other, struct team **ret_team)
{
	*ret_team = team_add(cluster, owner, other->nodes, other->node_count);
	return oob_make(*ret_team, other->number);
}

int team_oobgrp(void *service_private, const scoll_oobgrp_id_t *oobid,
		const scoll_target_t **ret_targets)
{
	struct member *member = service_private;
	struct cluster *cluster = member->cluster;
	scoll_target_t *targets;
	struct team *team;
	uint64_t id;
	uint32_t count;
	uint32_t entities;

	member->oob_calls++;
	memcpy(&id, oobid->bytes, sizeof(id));
	if (oobid->svid != CLUSTER_SERVICE || id >= cluster->team_count)
		return -ENOENT;
	team = cluster->teams[id];
	count = team->node_count;
	if (member->drift > 0 && count > 1)
		count--;
	if (count == 0)
		return -ENOENT;
	targets = targets_make(cluster, team->nodes, count, &entities);
	free(member->oob_targets);
	member->oob_targets = targets;
	*ret_targets = targets;
	return (int)count;
}

void team_destroy(struct team *team)
{
	struct cluster *cluster = team->cluster;
	struct member *member = &cluster->members[team->owner];

	if (team->group == NULL)
		return;
	cluster_trace(cluster, "%s is destroyed", team->name);
	scoll_core_group_destroy(team->group, cluster_now_ns(cluster));
	team->group = NULL;
	member_go_on(member);
}

void teams_free(struct cluster *cluster)
{
	for (uint32_t i = 0; i < cluster->team_count; i++) {
		free(cluster->teams[i]->nodes);
		free(cluster->teams[i]);
	}
	free(cluster->teams);
}
