/* SPDX-License-Identifier: BSD-3-Clause */
/* Giving up privileges. */
#pragma once

#include "base/error.h"
#include "lanes/config/config.h"

/* The user that this process becomes. -EINVAL when its roles want two. */
int user_choose(const struct config *config, unsigned int roles,
		const char **ret_name, struct fairlead_error *ret_error);
/*
 * Make the directories that the roles keep sockets and state in, as root for
 * the user that will use them. What is there is left as it is.
 */
int user_prepare(const struct config *config, unsigned int roles,
		 struct fairlead_error *ret_error);
/*
 * Become the configured user for good, with its groups. A node never gains
 * privileges again; a manager runs the site's commands, which may be allowed to
 * (sudo). Nothing happens without privileges.
 */
int user_become(const char *name, unsigned int roles,
		struct fairlead_error *ret_error);
