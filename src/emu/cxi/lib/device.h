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

/* What callers see, and its device. */
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

/*
 * Ask the daemon, one thread at a time. Returns the reply's result, or -EIO
 * when daemon and library do not understand each other or it is gone. The
 * exchange is to be finished in any case.
 */
int device_exchange(struct device *device, const struct wire_request *request,
		    struct exchange *ret_exchange);
/* As device_exchange, for replies without a body. -EINVAL: dev is NULL. */
int device_call(struct cxil_dev *dev, const struct wire_request *request);
/* For replies with a body of this size, written on success only. -EINVAL: NULL. */
int device_read(struct cxil_dev *dev, enum wire_op op, uint32_t id,
		void *ret_body, size_t size);
