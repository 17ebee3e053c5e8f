/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes and limits of the provider, and the variables that change them. Users
 * read of these in fi_fairlead(7).
 */
#pragma once

#include <stdint.h>

#define LINK_TAG_BITS 63 /* the upper one says: untagged */
#define LINK_UNTAGGED (UINT64_C(1) << LINK_TAG_BITS)
#define LINK_KEY_SIZE 7 /* of memory; others are the provider's own */
/* Keys with this byte are the provider's own; this one is none's. */
#define LINK_KEY_OF_OURS (UINT64_C(0xff) << 56)
#define LINK_KEYS_KNOWN  65536 /* of peers' memory, at a rail */
#define LINK_IOV_MAX     4
#define LINK_INJECT_SIZE 4096
#define LINK_FRAME_SIZE  16384 /* with what comes in it, at most */
/* Of a message as it is, by a core that sends one after another as a stream. */
#define LINK_STREAM_SIZE  65536
#define LINK_CORE_CQ_SIZE 8192
/* What shm takes of /dev/shm for an endpoint: without it, SIGBUS. */
#define LINK_SHARED_SIZE (UINT64_C(16) << 20)
/*
 * Buffers for what comes by a rail: more would never be in the cache. Of the
 * largest these are 8, which is no slower than 32.
 */
#define LINK_BUFFERS_SIZE (512 << 10)
#define LINK_ASKS         1024  /* of an endpoint that wait for results */
#define LINK_UNLISTED_MAX 4096  /* peers not in the vector, on a rail */
#define LINK_REMEMBERED   65536 /* peers that have left it, on a rail */
#define LINK_FLOWS        16384 /* with these, where there are several rails */
#define LINK_ASKERS       65536 /* peers that know a core's key of a region */
#define LINK_EVENTS_MAX   65536 /* of control that nobody reads */
#define LINK_EVENT_SIZE   4096  /* of one that a program writes */
/*
 * For peers of which only node and service are known, in ms:
 * FI_FAIRLEAD_NAME_WAIT.
 */
#define LINK_NAME_WAIT_MS     30000
#define LINK_NAME_WAIT_MAX_MS UINT64_C(1000000000)
#define LINK_POLL_BATCH       16
#define LINK_SENDS_MAX        1024 /* frames to one peer that a core has */
#define LINK_SENDS_WAITING    16   /* and that it does not take yet */
#define LINK_SENDS_UNREPORTED 64   /* of them those that it tells no end of */
/*
 * A fabric rail is looked at again after this part of the time since something
 * came by it, but after no more ticks than these: 4 to 8 us.
 */
#define LINK_POLL_PART      128
#define LINK_POLL_PAUSE_MAX (1 << 14)
/* How much unexpected data is kept, in bytes: FI_FAIRLEAD_UNEXPECTED_MAX. */
#define LINK_UNEXPECTED_MAX (UINT64_C(16) << 30)

/* How ends of a link speak to each other: others are no peers. */
#define LINK_PROTOCOL 2

/* Whether cores match tags themselves: "auto", "always" or "never". */
#define LINK_OFFLOAD_VARIABLE "FI_FAIRLEAD_OFFLOAD"

/* Where the text of the links is looked for, in this order. */
#define LINK_TEXT_VARIABLES                               \
	{                                                 \
		"FI_FAIRLEAD_LINKS", "FI_LNX_PROV_LINKS", \
			"FI_LINKX_PROV_LINKS"             \
	}

/*
 * What a variable says; `otherwise`, with a warning, where that is no number.
 */
uint64_t setting_number(const char *variable, uint64_t otherwise);
