/* SPDX-License-Identifier: BSD-3-Clause */
/* Telling whoever started us that we serve, or stop. */
#pragma once

/* A byte to fd (unless -1), which is closed, and READY=1 to the manager of
 * services that NOTIFY_SOCKET names. What fails is nobody's loss. */
void ready_tell(int fd);
/* STOPPING=1. */
void ready_tell_stopping(void);
