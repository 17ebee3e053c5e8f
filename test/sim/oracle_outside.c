/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * External reservations: whose a lane's is, that it is there while the lane is,
 * how long it keeps the lane waiting, and that nobody else sees its token.
 */
#include <string.h>

#include "oracle_internal.h"

/* Rows come first, on a disk that may be slow. */
#define SLACK_MS 30000

void oracle_no_token(const struct oracle *oracle, const char *where,
		     const void *bytes, size_t size)
{
	if (size > 0 && memmem(bytes, size, FMSIM_MARK, strlen(FMSIM_MARK)))
		world_fail(oracle->world, "NO TOKEN: there is one in %s: %.*s",
			   where, (int)size, (const char *)bytes);
}

void oracle_token_given(struct oracle *oracle, const struct node *node,
			struct lane *lane, const struct fairlead_lane *made)
{
	struct world *world = oracle->world;
	char token[FMSIM_TOKEN_MAX + 1];
	const struct lane *other;

	if (made->secrets_size == 0) {
		if (strstr(made->options, "must") != NULL)
			world_fail(world,
				   "'%s' is made on %s without the reservation "
				   "that it must have",
				   lane->key, node_name(node));
		return;
	}
	snprintf(token, sizeof(token), "%.*s", (int)made->secrets_size,
		 (const char *)made->secrets);
	if (lane->token[0] != '\0' && strcmp(lane->token, token) != 0)
		world_fail(world, "%s is given another token of '%s'",
			   node_name(node), lane->key);
	strcpy(lane->token, token);
	if (fmsim_token_grant(world->fmsim, token) != lane->grant_id)
		world_fail(world,
			   "NEVER SHARED: '%s' (grant %llu) has the "
			   "reservation of grant %llu",
			   lane->key, (unsigned long long)lane->grant_id,
			   (unsigned long long)fmsim_token_grant(world->fmsim,
								 token));
	for (other = oracle->lanes; other != NULL; other = other->hh.next)
		if (other != lane && strcmp(other->token, token) == 0)
			world_fail(world,
				   "NEVER SHARED: '%s' has the reservation of "
				   "'%s'",
				   lane->key, other->key);
	coverage_hit(world->coverage, "check:token");
}

void oracle_outside_dropped(struct oracle *oracle, uint64_t grant_id)
{
	const struct lane *lane = oracle_lane_by_id(oracle, grant_id);

	if (lane != NULL && lane->token[0] != '\0' && lane->is_applied &&
	    lane_is_certain(lane))
		world_fail(oracle->world,
			   "the reservation of '%s' (grant %llu) is deleted, "
			   "which lives",
			   lane->key, (unsigned long long)grant_id);
	coverage_hit(oracle->world->coverage, "check:dropped");
}

void oracle_apply_waits(struct oracle *oracle, const json_t *request)
{
	struct lane *lane = NULL;

	if (strcmp(text_of(request, "op"), "apply") == 0)
		lane = oracle_lane_by_id(oracle,
					 number_of(request, "grant_id"));
	if (lane != NULL && lane->waits_ms == 0 &&
	    strcmp(lane->interconnect, "fabric") == 0)
		lane->waits_ms = world_now_ms(oracle->world);
}

void oracle_apply_goes_on(struct oracle *oracle, struct lane *lane)
{
	uint64_t since_ms = lane->waits_ms;

	lane->waits_ms = 0;
	if (since_ms == 0)
		return;
	if (world_now_ms(oracle->world) > since_ms + FMSIM_WAIT_MS + SLACK_MS)
		world_fail(oracle->world,
			   "the apply of '%s' waits since %.3f s for its "
			   "external reservation",
			   lane->key, (double)since_ms / 1000);
	coverage_hit(oracle->world->coverage, "check:wait");
}
