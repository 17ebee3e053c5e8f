/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes, each in a network of its own, with cables between them. */
#pragma once

#include "link/test/pair.h"

/* Whether a command of the shell, as of printf(), ended well. */
bool shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * Both call this before anything else. Devices are e0, e1, ...; the address on
 * e1 is 10.9.1.1 in the first process, 10.9.1.2 in the second. Returns false when
 * that cannot be had here.
 */
bool cables_make(struct pair *pair, int count);
/* What this process's end of a cable has sent. */
uint64_t cable_bytes(int cable);
