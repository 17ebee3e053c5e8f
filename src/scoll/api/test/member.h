/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A member of a crowd in a process of its own:
 *
 *	peer NID HEX      where somebody is
 *	count             requests that it ran, messages that it refused, groups,
 *	                  requests that are not over
 *	replies           that it got, as a parent
 *	skip SECONDS      its clock
 *	mute 0|1          whether it replies
 *	attack            as root: a group of all peers, a request, an abort
 *	settle NODE N     answers when it takes part, and the node lives and has
 *	                  died N times: how often, and the news of it, bits
 *	                  by enum scoll_liveness
 */
#pragma once

#include "scoll/api/test/crowd.h"
#include "scoll/transport/test/child.h"

#define MEMBER_ADDRESS_MAX 600

struct member {
	struct child child;
	uint8_t address[MEMBER_ADDRESS_MAX];
	size_t address_size;
};

/*
 * Start it as node `index`. A forger has no key, believes everybody, and is
 * the user nobody.
 */
void member_start(struct member *member, int index, const char *provider,
		  const char *host, const char *service, bool is_forger);
/* The same, to be waited for later: for many. */
void member_start_begin(struct member *member, int index, const char *provider,
			const char *host, const char *service, bool is_forger);
/* One that gossips. */
void member_start_gossip(struct member *member, int index, const char *provider,
			 const char *host);
/*
 * In a network of its own, which member_start_end's caller has to give an
 * interface e0 with the address `host` when this has returned.
 */
void member_start_apart(struct member *member, int index, const char *provider,
			const char *host);
/* It has the interface. */
void member_start_joined(struct member *member);
void member_start_end(struct member *member);
/* Tell members and the first person about each other. */
void members_meet(struct member *members, int count, struct person *root);
/* Tell members of one of them that is new. */
void members_welcome(struct member *members, int count, int index,
		     struct person *root);
/* The answer, while the person goes on. */
const char *member_hear(struct member *member, struct person *root,
			char answer[CHILD_ANSWER_MAX]);

/*
 * What main calls: a member's life, or -1 when this is to be the test: its
 * arguments, if there are any, are the provider and which tests to run.
 */
int member_main(int argc, char **argv, const char **ret_provider);
