/* SPDX-License-Identifier: BSD-3-Clause */
/* The guard's real files: its journal, and the environment files of jobs. */
#pragma once

#include "lanes/node/guard/core.h"

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
