/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's end of a connection, played by a test. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "fairlead.h"

struct peer {
	int fd; /* the daemon's end; -1 once it is closed */
	struct fairlead *handle;
};

void peer_init(struct peer *peer);
void peer_fini(struct peer *peer);
void peer_close(struct peer *peer);

/* The next request that was sent; the test drops it. Waits for it. */
json_t *peer_request(int fd);
/* The id of the next request, whose op has to be this one. */
json_int_t peer_expect(int fd, const char *op);
/* Send bytes as they are. */
void peer_send(int fd, const void *bytes, size_t size);
/* Send a frame of a formatted text. */
void peer_answer(int fd, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The last answer that was delivered, and how many there were. */
struct seen {
	int count;
	int result;
	char error[256];
	char hint[256];
	char json[4096]; /* "" when none came */
};

void seen_answer(void *arg, const struct fairlead_answer *answer);
