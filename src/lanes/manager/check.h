/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --check-journal: replay the events of every grant, and compare what comes
 * out with the records of jobs and with the pools. For people who have restored
 * a disk, and for tests that have killed a manager.
 */
#pragma once

#include <stdio.h>

#include "base/error.h"
#include "lanes/config/config.h"

#define CHECK_LINES_MAX 100 /* contradictions that are written out */

/*
 * Write each contradiction and a summary, one a line. 0: all agrees; -EUCLEAN:
 * something does not; else the journal cannot be read (the text says why; a
 * manager that runs has it).
 */
int manager_check_journal(const struct config *config, FILE *out,
			  struct fairlead_error *ret_error);
