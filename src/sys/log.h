/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines on standard error, for a person or for the journal. */
#pragma once

#include "base/log.h"

/*
 * Make log write to standard error:
 *
 *	2025-03-01T12:00:00.123+01:00 fairleadd: warning: message key=value
 *
 * and, where standard error is the journal's (JOURNAL_STREAM names it), with a
 * priority and without what the journal adds itself:
 *
 *	<4>message key=value
 *
 * program: borrowed; it has to live as long as the log.
 */
void sys_log_init(struct log *log, const char *program, enum log_level level);
