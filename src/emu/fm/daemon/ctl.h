/* SPDX-License-Identifier: BSD-3-Clause */
/* `fairlead-softfm ctl`: send a control command, print what comes back. */
#pragma once

/* Bytes before the text of an answer: its result. */
#define SOFTFM_RESULT_SIZE 4

/* The exit code, as that of `fairlead-softnic ctl`. */
int softfm_ctl(const char *dir, const char *command);
