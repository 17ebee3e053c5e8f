/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monotonic clock of this process. A test that wants a time-out waits until
 * all that can come has come, however long that takes, and skips the rest.
 */
#pragma once

#include <sys/types.h>

/* It is so much later than it was. */
void clock_skip(time_t seconds);
