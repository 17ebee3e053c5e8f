/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's inside: an open device is a connection of its own to the
 * daemon, and the open file that shows who holds it.
 */
#pragma once

#include <pthread.h>

#include "emu/cxi/wire/peer.h"

struct device {
	struct cxil_dev dev;  /* what callers see; first */
	pthread_mutex_t lock; /* one request at a time */
	int socket;
	int file; /* dev/cxiN, held for /proc/PID/fd */
};

/* What callers see, and to whom it belongs. */
struct logical_nic {
	struct cxil_lni lni; /* first */
	struct device *device_ref;
};

/* A reply whose body outlives the call; fini it. */
struct exchange {
	struct softnic_wire_reply reply;
	uint8_t *packet;
};

void exchange_fini(struct exchange *exchange);

/* Where the daemon of this process is. Not to be freed. */
const char *node_dir(void);

/*
 * Ask the daemon through a socket. Returns the reply's result, or -EIO when
 * daemon and library do not understand each other or it is gone.
 */
int exchange_on(int socket, const struct wire_request *request,
		struct exchange *ret_exchange);
/* As exchange_on, locked. The exchange is to be finished in any case. */
int device_exchange(struct device *device, const struct wire_request *request,
		    struct exchange *ret_exchange);
/* As device_exchange, for replies without a body. -EINVAL: dev is NULL. */
int device_call(struct cxil_dev *dev, const struct wire_request *request);
