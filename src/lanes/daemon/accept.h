/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libfabric accepts. Its listener is in our process and takes all who
 * connect, for as long as they like: descriptors that our clients, the journal
 * and the links of nodes need. So libfabric's accept(2) is ours (it finds the
 * program's before the C library's; nothing else in a daemon calls it), and has
 * a maximum.
 *
 * Some slots below the maximum are kept free: when no other is left, a newcomer
 * displaces a connection. That is the first one that libfabric has not
 * answered, since it has not sent a member's first message; else one that has
 * sent nothing for ACCEPT_SILENCE_MS. It is shut down, and libfabric closes it.
 * At the maximum, and without a descriptor, the newcomer is closed. So the
 * listener's queue gets empty whoever connects, and does not wake the daemon
 * without end.
 *
 * One thread: the one that calls libfabric.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "base/log.h"

#define ACCEPT_LEAST 2    /* connections that a maximum allows */
#ifndef ACCEPT_SILENCE_MS /* a test has another */
#define ACCEPT_SILENCE_MS 60000
#endif

/*
 * Once, before there is an endpoint. The maximum is the process's, as accept(2)
 * has no context. The log is kept by reference. -EINVAL: below ACCEPT_LEAST;
 * -EMFILE, ...: with a text.
 */
int accept_limit(size_t connections_max, const struct log *log,
		 struct fairlead_error *ret_error);
