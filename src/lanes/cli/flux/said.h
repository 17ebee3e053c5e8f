/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Flux says of its job manager's plugins. Its texts may be of a release
 * that is not known here: what is not understood is left out, never assumed.
 * Pure.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define FLUX_JOBTAP_FILE "fairlead-jobtap.so"
#define FLUX_SHELL_FILE  "fairlead-shell.so"

/*
 * Of a list of files, one a line, as `flux jobtap list` prints it: is this one
 * there?
 */
bool flux_list_has(const char *text, const char *file);
/*
 * The first in it that makes lanes on Slingshot and is not ours, by its name;
 * NULL: there is none. The caller frees it.
 */
char *flux_list_rival(const char *text);
/* By its name alone. */
bool flux_is_rival(const char *file);

/*
 * Does the configuration, as `flux config get` prints it, have the job manager
 * load a plugin of that file name? -EINVAL: it is no such text.
 */
int flux_config_loads(const char *text, const char *file, bool *ret_loads,
		      struct fairlead_error *ret_error);

/* What our jobtap plugin says of itself: `flux jobtap query`. */
struct flux_jobtap {
	json_t *root;        /* owns the texts */
	const char *path;    /* of its file */
	const char *version; /* "" in this, as in others: it does not say */
	const char *submitter;
	const char *otherwise; /* its setting `default` */
	const char *inside;    /* of what the instance is inside, or "" */
	const char *manager; /* "": FAIRLEAD_SOCKET of the broker, or default */
	const char *trouble; /* why the manager does not answer, or "" */
	bool is_up;          /* it has answered */
	double prolog_timeout_s; /* 0, in this and the next: it does not say */
	double epilog_timeout_s;
};

/* -EINVAL: it is no such text. flux_jobtap_fini() in any case. */
int flux_jobtap_parse(const char *text, struct flux_jobtap *ret_jobtap,
		      struct fairlead_error *ret_error);
void flux_jobtap_fini(struct flux_jobtap *jobtap);

/* A number in a line, such as an uid or a rank; false: it is none. */
bool flux_number(const char *text, uint32_t *ret_number);
