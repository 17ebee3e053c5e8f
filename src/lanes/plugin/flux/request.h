/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a job asks for, by the options of its job shell:
 *
 *   -o cray-slingshot=off          no lane; its variables are the user's own
 *   -o cray-slingshot.vnicount=N   N VNIs of Slingshot, 0 to 4
 *   -o fairlead=OPTIONS            off, or NAME[=VALUE][,...]; interconnect=NAME
 *                                  is taken out, the rest is the interconnect's
 *
 * Texts of the first two are flux-coral2's. All come from users. Pure.
 */
#pragma once

#include <jansson.h>

#include "fairlead/error.h"
#include "fairlead_driver.h"

enum lane_request_kind {
	LANE_REQUEST_UNSET, /* the user has said nothing */
	LANE_REQUEST_OFF,   /* no lane, and nobody looks after the variables */
	LANE_REQUEST_NONE,  /* no lane */
	LANE_REQUEST_LANE,
};

struct lane_request {
	enum lane_request_kind kind;
	char interconnect[FAIRLEAD_DRIVER_NAME_MAX + 1]; /* "": the default */
	char options[FAIRLEAD_OPTIONS_MAX + 1];          /* "": none */
};

/*
 * options: attributes.system.shell.options of a jobspec; NULL: there are none.
 * -EINVAL: the text says which option is wrong, and how it is right.
 */
int lane_request_parse(const json_t *options, struct lane_request *ret_request,
		       struct fairlead_error *ret_error);
