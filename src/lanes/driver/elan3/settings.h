/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of the section. One file may serve manager and nodes, so that
 * each half checks all of them. Pure.
 */
#pragma once

#include "base/settings.h"
#include "lanes/driver/elan3/hosts.h"

struct elan3_settings {
	/* Files with the ElanIDs of the nodes; one of them is set. */
	const char *genders, *elanhosts;
	const char *attribute; /* of genders, that is an ElanID */
	uint32_t rail_count;
	/* The manager's. */
	const char *contexts, *programs; /* id sets */
	const char *down;                /* ElanIDs */
	const char *down_ports;          /* "RAIL:ELANIDS ..." */
	bool is_reserve_fatal;
	/* A node's. */
	const char *dir;  /* of fairlead-rms */
	const char *host; /* its name in the file; "": the host's name */
};

extern const struct fairlead_settings elan3_settings;

/*
 * Texts are those of the list. *ret_hosts, which the caller destroys, is NULL
 * where the file was not read. -EINVAL with all errors.
 */
int elan3_settings_read(const struct fairlead_setting *list, size_t count,
			struct elan3_settings *ret_settings,
			struct elan_hosts **ret_hosts,
			struct fairlead_error *ret_error);
