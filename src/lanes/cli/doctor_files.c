/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be seen of keys, libraries, folders and disks without a daemon. */
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lanes/cli/doctor_beside.h"
#include "lanes/cli/keyring.h"
#include "lanes/proto/keyfile.h"

#define MIB             (1024 * 1024)
#define DISK_FAIL_BYTES (16ull * MIB)
#define DISK_WARN_BYTES (256ull * MIB)
#define DISK_WARN_SHARE 20 /* a twentieth */

/* True when the file could be read; else the reason is a finding. */
static bool open_key(struct doctor *doctor, const char *check, const char *path,
		     struct keyring *ret_keyring)
{
	struct fairlead_error error;
	int result = keyring_open(path, KEYRING_SHOW, ret_keyring, &error);

	if (result == 0)
		return true;
	if (result == -EACCES && geteuid() != 0)
		doctor_say(doctor, DOCTOR_SKIP, check, "retry as root",
			   "only root can read %s", path);
	else
		doctor_say(doctor, DOCTOR_FAIL, check,
			   result == -ENOENT ? "'fairlead key' makes key files"
					     : NULL,
			   "%s", error.text);
	return false;
}

static void say_bad_key(struct doctor *doctor, const char *check,
			const char *path, const struct fairlead_error *error)
{
	doctor_say(doctor, DOCTOR_FAIL, check,
		   "put the file back from where it was made", "%s: %s", path,
		   error->text);
}

static void say_rotation(struct doctor *doctor, const struct manager_keys *keys)
{
	const struct manager_key *active = manager_keys_find(keys, KEY_ACTIVE);
	const struct manager_key *staged = manager_keys_find(keys, KEY_STAGED);
	const struct manager_key *retiring =
		manager_keys_find(keys, KEY_RETIRING);

	if (staged)
		doctor_say(doctor, DOCTOR_WARN, "key rotation",
			   "when every node has its new file: 'fairlead key "
			   "activate'",
			   "key %" PRIu32 " is staged, %" PRIu32 " signs",
			   staged->id, active->id);
	if (retiring)
		doctor_say(doctor, DOCTOR_WARN, "key rotation",
			   "when every node has its new file: 'fairlead key "
			   "retire'",
			   "key %" PRIu32 " signs, %" PRIu32 " is retiring",
			   active->id, retiring->id);
	if (!staged && !retiring)
		doctor_say(doctor, DOCTOR_OK, "key rotation", NULL,
			   "none is under way, key %" PRIu32 " signs",
			   active->id);
}

static void check_manager_key(struct doctor *doctor, const char *path)
{
	struct fairlead_error error;
	struct manager_keys keys;
	struct keyring keyring;

	if (!open_key(doctor, "manager key", path, &keyring))
		return;
	if (manager_keys_parse(keyring.text, keyring.size, &keys, &error) < 0) {
		say_bad_key(doctor, "manager key", path, &error);
	} else {
		doctor_say(doctor, DOCTOR_OK, "manager key", NULL,
			   "%s is readable by its owner only", path);
		say_rotation(doctor, &keys);
		manager_keys_fini(&keys);
	}
	keyring_fini(&keyring);
}

/* The name that the node goes by: the host's up to the first dot. */
static void node_name(const struct config *config, char name[256])
{
	if (*config->node.name) {
		snprintf(name, 256, "%s", config->node.name);
		return;
	}
	doctor_host(name, 256);
	name[strcspn(name, ".")] = 0;
}

static void keep_ids(struct doctor *doctor, const struct node_keys *keys)
{
	doctor->node_keys = json_array();
	for (size_t i = 0; i < keys->command_count; i++)
		json_array_append_new(doctor->node_keys,
				      json_integer(keys->commands[i].id));
}

static void check_node_key(struct doctor *doctor, const char *path)
{
	struct fairlead_error error;
	struct node_keys keys;
	struct keyring keyring;
	char name[256];

	if (!open_key(doctor, "node key", path, &keyring))
		return;
	node_name(doctor->config, name);
	if (node_keys_parse(keyring.text, keyring.size, &keys, &error) < 0) {
		say_bad_key(doctor, "node key", path, &error);
	} else {
		if (strcmp(keys.name, name) != 0)
			doctor_say(doctor, DOCTOR_FAIL, "node key",
				   "'fairlead key node' makes a file for each "
				   "node",
				   "%s is of node '%s', this one is '%s'", path,
				   keys.name, name);
		else
			doctor_say(doctor, DOCTOR_OK, "node key", NULL,
				   "%s is readable by its owner only", path);
		keep_ids(doctor, &keys);
		node_keys_fini(&keys);
	}
	keyring_fini(&keyring);
}

static void check_disk(struct doctor *doctor, const char *check,
		       const char *path)
{
	struct statvfs disk;
	uint64_t free_bytes, total_bytes;
	enum doctor_level level = DOCTOR_OK;

	if (statvfs(path, &disk) < 0) {
		doctor_say(doctor, DOCTOR_FAIL, check,
			   "make the folder, or name another one", "%s: %s",
			   path, strerror(errno));
		return;
	}
	free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	total_bytes = (uint64_t)disk.f_blocks * disk.f_frsize;
	if (free_bytes < DISK_FAIL_BYTES ||
	    (disk.f_files > 0 && disk.f_favail == 0))
		level = DOCTOR_FAIL;
	else if (free_bytes < DISK_WARN_BYTES &&
		 free_bytes < total_bytes / DISK_WARN_SHARE)
		level = DOCTOR_WARN;
	doctor_say(doctor, level, check,
		   level == DOCTOR_OK ? NULL : "free space on that file system",
		   "%s has %" PRIu64 " MiB free of %" PRIu64, path,
		   free_bytes / MIB, total_bytes / MIB);
}

static void check_jobs_folder(struct doctor *doctor, const char *path)
{
	struct stat status;

	if (lstat(path, &status) < 0)
		doctor_say(doctor, DOCTOR_FAIL, "environments",
			   "start fairleadd on this node", "%s: %s", path,
			   strerror(errno));
	else if (!S_ISDIR(status.st_mode) ||
		 (status.st_mode & (S_IWGRP | S_IWOTH)) ||
		 (status.st_uid != 0 && status.st_uid != geteuid()))
		doctor_say(doctor, DOCTOR_FAIL, "environments",
			   "remove it, and start fairleadd again: it makes "
			   "the folder",
			   "%s can be changed by others (uid %u, mode %04o)",
			   path, status.st_uid, status.st_mode & 07777);
	else
		doctor_say(doctor, DOCTOR_OK, "environments", NULL,
			   "%s is there, and only its daemon writes it", path);
}

void doctor_check_files(struct doctor *doctor, unsigned int roles)
{
	const struct config *config = doctor->config;

	if (!config) {
		doctor_say(doctor, DOCTOR_SKIP, "files", NULL,
			   "which keys and folders are used is not known "
			   "without the configuration");
		return;
	}
	if (sodium_init() < 0) {
		doctor_say(doctor, DOCTOR_FAIL, "libsodium", NULL,
			   "it does not start");
		return;
	}
	if (roles & CONFIG_ROLE_MANAGER) {
		check_manager_key(doctor, config->manager.key);
		check_disk(doctor, "journal", config->manager.state);
	}
	if (roles & CONFIG_ROLE_NODE) {
		check_node_key(doctor, config->node.key);
		check_disk(doctor, "node journal", config->node.run);
		check_jobs_folder(doctor, config->node.jobs);
	}
}
