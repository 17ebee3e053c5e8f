/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which processes have a NIC open. A service cannot be destroyed, nor even
 * disabled, while a process uses it: whoever has to end the process wants to
 * know which one it is.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HOLDERS_ANY_UID UINT32_MAX

/*
 * Describe the processes of uid (real or effective) that have the device file
 * open: "pid 4711 (mpi-hello), pid 4712 (mpi-hello) and 3 more". Returns how
 * many there are, this process not counted. With none, and also when /proc
 * cannot be read, the text is "". A longer text is cut between processes.
 */
size_t holders_format(const char *device, uint32_t uid, char *text,
		      size_t capacity);
