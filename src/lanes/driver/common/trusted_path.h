/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of the site that we load or run with our privileges: whoever can
 * replace one has them too.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/*
 * Resolve an absolute path to a file that only root can replace; use the
 * resolved one, since a link that is changed afterwards then leads nowhere.
 * what: begins the error's text. may_be_users: it and its folders may be a
 * user's, if only nobody else can write them. The caller frees the path.
 * -EPERM: others can replace it, or it is not absolute; -ELIBBAD: no file;
 * -ENAMETOOLONG; -ENOENT, ... of the system.
 */
int trusted_path_resolve(const char *what, const char *path, bool may_be_users,
			 char **ret_path, struct fairlead_error *ret_error);
