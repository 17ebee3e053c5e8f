/* SPDX-License-Identifier: BSD-3-Clause */
/* What a job was given, as a request for a lane wants it. */
#pragma once

#include <jansson.h>

#include "fairlead/error.h"

/*
 * R: a resource set of Flux (RFC 20). *ret_nodes: host list in the order of the
 * ranks; *ret_cores: cores of each, "4(x3),2". Brokers of one host count as one
 * node. The caller frees both. -EINVAL, -ENOMEM.
 */
int resources_read(const json_t *R, char **ret_nodes, char **ret_cores,
		   struct fairlead_error *ret_error);
