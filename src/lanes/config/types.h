/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of settings beyond those of base/settings.h. All but one are texts. */
#pragma once

#include "base/settings.h"

extern const struct fairlead_setting_type type_name;
extern const struct fairlead_setting_type type_node;    /* one host name */
extern const struct fairlead_setting_type type_nodes;   /* without duplicates */
extern const struct fairlead_setting_type type_address; /* HOST:PORT */
extern const struct fairlead_setting_type type_listen;  /* numeric */
/* As address_parse_listen() has it. */
extern const struct fairlead_setting_type type_endpoint;
extern const struct fairlead_setting_type type_provider; /* and its layers */
extern const struct fairlead_setting_type type_socket;   /* that it fits */
extern const struct fairlead_setting_type type_submitter;
extern const struct fairlead_setting_type type_manager;   /* path or tcp:// */
extern const struct fairlead_setting_type type_log_level; /* an enum */

/* -EINVAL with a text. */
int type_submitter_check(const char *name, struct fairlead_error *ret_error);
