/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's directory, and what it keeps there over its own end:
 *
 *	socket          where requests go (anyone may connect)
 *	pid             the daemon's process id, locked while it runs
 *	state/          0700: secrets are in there
 *	  boot_id       of the kernel that the rest is of; of another one it goes
 *	  node          rails and attachments
 *	  program-ID    a program
 *	  deposit-N     a deposit
 *
 * Each file is replaced as a whole. The directory is root's, and nobody else
 * may write to it: it is refused otherwise.
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "elan/core/registry.h"

struct notes;

/* As rundir_open. */
int notes_open(const char *dir, struct notes **ret_notes,
	       struct fairlead_error *ret_error);
/* Takes the socket away; the rest stays. NULL is allowed. */
void notes_close(struct notes *notes);
DEFINE_AUTO(struct notes, notes_close)

/* Its directory. Valid as long as notes are. */
const char *notes_dir(const struct notes *notes);
/* Borrows notes. */
struct notes_seam notes_seam(struct notes *notes);
/* Give the registry all that was saved under this kernel; the rest goes. */
int notes_load(struct notes *notes, struct registry *registry,
	       struct fairlead_error *ret_error);
