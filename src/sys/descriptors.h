/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many descriptors this process may have open, and what for. Anybody who
 * can connect can use up the descriptors for connections; so each part has its
 * own share, and clients and the daemon's own files keep theirs.
 */
#pragma once

#include <stddef.h>

/* The most of each that one role can use. */
#define DESCRIPTORS_OWN      128    /* 32 idle, 16 of metrics, 8 commands, .. */
#define DESCRIPTORS_CLIENTS  1024   /* CLIENT_CONNECTIONS_MAX */
#define DESCRIPTORS_LINKS    131072 /* twice a host list: who comes back */
#define DESCRIPTORS_ACCEPTED 65536  /* a host list: each may be a parent */
#define DESCRIPTORS_DIALED   65536  /* a host list: each may be a child */
#define DESCRIPTORS_OF_ROLE                                          \
	(DESCRIPTORS_OWN + DESCRIPTORS_CLIENTS + DESCRIPTORS_LINKS + \
	 DESCRIPTORS_ACCEPTED + DESCRIPTORS_DIALED)

/* Connections. What is in none of them is for a role itself. */
struct descriptor_shares {
	size_t clients;
	size_t links;    /* of nodes, at the manager */
	size_t accepted; /* at the endpoint, from other members */
};

/*
 * Have the limit raised to what is wanted, or as far as it can be; the limit
 * that holds then.
 */
size_t descriptors_want(size_t wanted);

/*
 * What one role has that may have so many: a quarter of them at most, and at
 * least 2, for each share, and a quarter for what the endpoint dials.
 */
struct descriptor_shares descriptors_share(size_t count);
/* The other way round: what a role needs to have so many links. */
size_t descriptors_need(size_t links);
