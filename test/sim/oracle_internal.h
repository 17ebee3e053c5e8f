/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the oracle share. */
#pragma once

#include "base/hash.h"
#include "oracle.h"

/* A service on a NIC somewhere. */
struct service {
	struct node *node;
	struct hardware_service made;
	struct lane *lane; /* NULL: somebody else's */
	uint64_t made_ms;
	struct service *prev, *next;
};

/* What one guard has obeyed since its boot. */
struct obeyed {
	bool has_epoch;
	uint64_t epoch, life;
	uint64_t listed_ms;     /* of the last REGISTER; 0: it has no list */
	uint64_t registered_ms; /* what its manager knows, and which one */
	uint64_t registered_epoch;
	uint64_t greeted_ms;
	/* Numbers of places: of the last REGISTER, and what its manager knows. */
	uint32_t listed_number, greeted_number;
};

/* The last two boots of a node in which a manager has greeted it. */
struct boots {
	unsigned int count;
	bool is_forgotten;
	uint8_t last[INCARNATION_SIZE];
	uint8_t before[INCARNATION_SIZE];
};

/* A command that a manager has sent, by a hash of its header. */
struct sent {
	uint64_t hash;
	UT_hash_handle hh;
};

/* When a manager first saw a key. */
struct asked {
	char key[REQUEST_KEY_MAX + 1];
	uint64_t first_ms;
	UT_hash_handle hh;
};

/* What a manager has asked of the fabric manager for a grant. */
struct outside_asked {
	struct {
		const void *manager;
		uint64_t epoch; /* of its journal's last reading */
		uint64_t grant_id;
	} key;
	uint64_t request; /* under way; 0: none */
	bool is_dropped;  /* or about to be */
	UT_hash_handle hh;
};

struct oracle {
	struct world *world;
	struct outside_asked *outside;
	struct lane *lanes; /* by key, in the order they were acknowledged */
	struct service *services;
	struct obeyed obeyed[WORLD_NODES_MAX];
	struct boots boots[WORLD_NODES_MAX];
	/* When a node last made a registration, or confirmed a lease. */
	uint64_t alive_ms[WORLD_NODES_MAX];
	struct sent *sent;
	struct asked *asked;
	bool is_recovering;
};

/*
 * The lane is acknowledged and nothing that was said since can have ended it:
 * the manager has to know it, and its identifiers are nobody else's.
 */
bool lane_is_certain(const struct lane *lane);
bool lane_has_id(const struct lane *lane, uint32_t id);
/*
 * No identifier may be both lanes': they are of one interconnect, and on an
 * Elan the ranges of their nodes meet.
 */
bool lanes_meet(const struct lane *a, const struct lane *b);
/* A service with this identifier of another lane that meets, or NULL. */
const struct service *oracle_find_id(const struct oracle *oracle, uint32_t id,
				     const struct lane *lane);
/* The same of its program, on any node. */
const struct service *oracle_find_program(const struct oracle *oracle,
					  const struct lane *lane);

/* --- what the manager says of a grant: oracle_grant.c --- */

/* What the manager's answer says of it. */
void oracle_lane_fill(struct oracle *oracle, struct lane *lane,
		      const json_t *public);
void oracle_reserved(struct oracle *oracle, const json_t *request, int result,
		     const json_t *answer);
void oracle_applied(struct oracle *oracle, const json_t *request, int result,
		    const json_t *answer);

/* --- external reservations: oracle_outside.c --- */

/* A lane with these secrets is being made on the node. */
void oracle_token_given(struct oracle *oracle, const struct node *node,
			struct lane *lane, const struct fairlead_lane *made);
/* Its nodes are asked, or it has failed. */
void oracle_apply_goes_on(struct oracle *oracle, struct lane *lane);

/* --- members of a message; "" and 0 where there is none --- */

static inline const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text == NULL ? "" : text;
}

static inline uint64_t number_of(const json_t *object, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(object, name));
}
