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

enum wish_kind {
	WISH_DEFAULT, /* the user has said nothing */
	WISH_OFF,     /* no lane, and nobody looks after the variables */
	WISH_NONE,    /* no lane */
	WISH_LANE,
};

struct wish {
	enum wish_kind kind;
	char interconnect[FAIRLEAD_DRIVER_NAME_MAX + 1]; /* "": the default */
	char options[FAIRLEAD_OPTIONS_MAX + 1];          /* "": none */
};

/*
 * options: attributes.system.shell.options of a jobspec; NULL: there are none.
 * -EINVAL: the text says which option is wrong, and how it is right.
 */
int wish_parse(const json_t *options, struct wish *ret_wish,
	       struct fairlead_error *ret_error);
