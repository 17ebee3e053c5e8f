/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What somebody can try who has a shell on a node, or a host on the network;
 * and what must pass whoever is kept out. The numbers are those of the threat
 * model.
 */
#pragma once

#include "world.h"

struct attack {
	const char *name; /* begins with its number */
	/* True: it works. family: 4 or 6, of what travels in the lane. */
	bool (*works)(const struct world *world, uint8_t family);
	enum world_level closed_by; /* LEVEL_NEVER: nothing is to close it */
};

/* Each list ends with a name of NULL. */
extern const struct attack attacks_by_socket[];
extern const struct attack attacks_by_vxlan[];
extern const struct attack attacks_by_kernel[];
/* Not attacks: they work always. */
extern const struct attack passages[];

#define ATTACK_TEXT "forged"

/* --- for all --- */

/* Somebody's socket of UDP, or one that listens; -errno when refused. */
int attack_listen(struct probe_actor actor, int type, struct probe_end at);
/* True: the text comes to the socket. */
bool attack_has_come(const struct world *world, int receiver);
/* It comes, or there is a connection, to somebody who listens there and may. */
bool attack_reaches(const struct world *world, int type,
		    struct probe_actor sender, struct probe_end from,
		    struct probe_actor receiver, struct probe_end to);
/* "add", "del": the host has another's address, to send from. */
void attack_lend(const struct world *world, enum world_host host,
		 const char *verb, const struct ip_address *address);
