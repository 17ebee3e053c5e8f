/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Key files on disk: read, changed as a whole, and never readable by others.
 * Functions return 0 or a negative errno with a text.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/error.h"
#include "lanes/proto/keyfile.h"

#define KEYRING_MANAGER_FILE "/etc/fairlead/manager.key"
#define KEYRING_NODE_FILE    "/etc/fairlead/node.key"

/* A key file that is open, with what stands in it. */
struct keyring {
	int fd;    /* has the lock, where it was asked for */
	uid_t uid; /* the file's; kept by keyring_write */
	gid_t gid;
	size_t size;
	char text[KEYFILE_SIZE_MAX];
};

enum keyring_lock {
	KEYRING_SHOW,
	KEYRING_CHANGE, /* waits until nobody else changes it */
};

/*
 * Open and read. -EPERM: others can read or write it, or it is no regular
 * file. On success hand it to keyring_fini, which wipes it.
 */
int keyring_open(const char *path, enum keyring_lock lock,
		 struct keyring *ret_keyring, struct fairlead_error *ret_error);
void keyring_fini(struct keyring *keyring);

enum keyring_write {
	KEYRING_CREATE,  /* -EEXIST when it is there */
	KEYRING_REPLACE, /* whole: after a crash the old or the new */
};

/* Write a file of mode 0600 that belongs to uid and gid; it is on disk. */
int keyring_write(const char *path, enum keyring_write how, uid_t uid,
		  gid_t gid, const struct writer *text,
		  struct fairlead_error *ret_error);
/* Wipe what was written to the writer, and free it. */
void keyring_wipe(struct writer *text);
