/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's directory, by which clients find their node; beside those of
 * sys/rundir.h:
 *
 *	boot_id   the node's incarnation, another one after each start or reboot
 *	dev/cxiN  a file for each NIC that is present; who has it open holds it
 */
#pragma once

#include "base/cleanup.h"
#include "emu/cxi/daemon/dispatch.h"
#include "sys/rundir.h"

struct softnic_dir {
	struct rundir rundir;
	char boot_id[BOOT_ID_SIZE];
};

/* As rundir_open, and removes what an earlier daemon left. */
int softnic_dir_open(const char *path, struct softnic_dir **ret_dir,
		     struct fairlead_error *ret_error);
/* Removes all files: a node without its daemon is off. NULL is allowed. */
void softnic_dir_close(struct softnic_dir *dir);
DEFINE_AUTO(struct softnic_dir, softnic_dir_close)

/* A new incarnation. */
int softnic_dir_new_boot_id(struct softnic_dir *dir);
/* Make dev/cxiN, or remove it. What is already so is no error. */
int softnic_dir_set_device(struct softnic_dir *dir, uint32_t nic,
			   bool is_present);
