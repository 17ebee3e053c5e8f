/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard's directories, which nobody else may change, and its files: the
 * journal, and the environment files of jobs.
 */
#pragma once

#include "lanes/node/guard/core.h"

/*
 * Open a directory, which is made with this mode unless it is there. It and
 * the one above it have to be root's or ours and writable by nobody else (but
 * for a sticky one above). The caller closes *ret_fd. -EPERM, ... with a text
 * that says what to do.
 */
int directory_open(const char *path, mode_t mode, int *ret_fd,
		   struct fairlead_error *ret_error);

/*
 * Open the directory `name` below fd, which has to be ours; links are not
 * followed. mode: make it with this mode unless it is there; 0: do not. A file
 * descriptor, or a negative errno.
 */
int directory_enter(int fd, const char *name, mode_t mode);

#define JOURNAL_STORE_NAME "journal"

/* The caller's memory. */
struct journal_store {
	int dir_fd; /* borrowed; holds journal, journal.new, journal.old */
	int fd;     /* of the journal, or -1 */
};

/* The seam; the store has to outlive it. */
struct journal_file journal_store_begin(struct journal_store *store,
					int dir_fd);
void journal_store_end(struct journal_store *store);

/*
 * SUBMITTER/JOB/ATTEMPT below a directory that is ours: mode 0600, the
 * owner's, by rename. Links that somebody has put there are not followed.
 * Directories go with the last file in them. 0 or a negative errno.
 */
int environment_file_write(int dir_fd, const struct request_key *key, uid_t uid,
			   gid_t gid, const void *bytes, size_t size);
int environment_file_remove(int dir_fd, const struct request_key *key);

/* path: a file with a UUID, or a directory with a file `boot_id`. -EINVAL. */
int incarnation_file_read(const char *path,
			  uint8_t ret_incarnation[INCARNATION_SIZE],
			  struct fairlead_error *ret_error);
