/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * External reservations: whose a lane's is, that it is there while the lane is,
 * or an event says that it has vanished, in which order it is asked for and
 * given back, how long it keeps the lane waiting, and that nobody else sees its
 * token.
 */
#include <stdlib.h>
#include <string.h>

#include "oracle_internal.h"

/* Rows come first, on a disk that may be slow. */
#define SLACK_MS 5000

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

/* --- the order of requests --- */

void oracle_outside_sent(struct oracle *oracle, const void *manager,
			 uint64_t epoch, const struct outside_request *request)
{
	const struct outside_asked key = {
		.key = { manager, epoch, request->grant_id },
	};
	struct outside_asked *asked;

	if (request->verb == OUTSIDE_LIST)
		return;
	HASH_FIND(hh, oracle->outside, &key.key, sizeof(key.key), asked);
	if (asked == NULL) {
		asked = world_allocate(sizeof(*asked));
		asked->key = key.key;
		HASH_ADD(hh, oracle->outside, key, sizeof(key.key), asked);
	}
	if (asked->request != 0)
		world_fail(oracle->world,
			   "ORDER: two requests for grant %llu are under way",
			   (unsigned long long)request->grant_id);
	if (asked->is_dropped && request->verb == OUTSIDE_MAKE)
		world_fail(oracle->world,
			   "ORDER: the reservation of grant %llu is made after "
			   "its release",
			   (unsigned long long)request->grant_id);
	asked->request = request->id;
	asked->is_dropped |= request->verb == OUTSIDE_DROP;
	coverage_hit(oracle->world->coverage, "check:order");
}

void oracle_outside_ended(struct oracle *oracle, uint64_t request)
{
	struct outside_asked *asked, *next;

	HASH_ITER (hh, oracle->outside, asked, next)
		if (asked->request == request)
			asked->request = 0;
}

void oracle_outside_left(struct oracle *oracle, const void *manager)
{
	struct outside_asked *asked, *next;

	HASH_ITER (hh, oracle->outside, asked, next) {
		if (manager != NULL && asked->key.manager != manager)
			continue;
		HASH_DEL(oracle->outside, asked);
		free(asked);
	}
}

/* --- reservations that vanish --- */

void oracle_outside_event(struct oracle *oracle, uint64_t grant_id,
			  const char *line, size_t size)
{
	static const char text[] = "reservation has vanished";
	struct lane *lane = oracle_lane_by_id(oracle, grant_id);

	if (memmem(line, size, text, strlen(text)) == NULL)
		return;
	if (fmsim_fate(oracle->world->fmsim, grant_id) == 0)
		world_fail(oracle->world,
			   "an event says that the reservation of grant %llu "
			   "has vanished, and it has not",
			   (unsigned long long)grant_id);
	if (lane != NULL)
		lane->has_exception = true;
	coverage_hit(oracle->world->coverage, "check:vanished");
}

const struct lane *oracle_outside_unnoticed(const struct oracle *oracle)
{
	const struct lane *lane;

	for (lane = oracle->lanes; lane != NULL; lane = lane->hh.next)
		if (lane_is_certain(lane) && lane->is_applied &&
		    lane->token[0] != '\0' && !lane->has_exception &&
		    fmsim_fate(oracle->world->fmsim, lane->grant_id) &
			    FMSIM_IS_FORGOTTEN)
			return lane;
	return NULL;
}
