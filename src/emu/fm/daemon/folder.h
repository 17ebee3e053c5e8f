/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The folder of a fabric manager, where its clients find what they need:
 *
 *	url                      where it serves
 *	ca.pem                   what verifies its certificate
 *	client.pem, -key.pem     a certificate of an administrator
 *	auth/endpoint, client-id, client-secret
 *	basic/passwd             the password of the user cxi
 *	socket, pid              of `ctl`
 *
 * What is there is used again.
 */
#pragma once

#include "base/error.h"

struct softfm_credentials {
	char *client_id;
	char *client_secret;
	char *password;
};

/* Read them from the folder, or make them. */
int softfm_credentials_get(const char *dir,
			   struct softfm_credentials *ret_credentials,
			   struct fairlead_error *ret_error);
void softfm_credentials_fini(struct softfm_credentials *credentials);

/* Write the files that name the URL, and that of the tokens. */
int softfm_url_write(const char *dir, const char *url,
		     struct fairlead_error *ret_error);

/* A state as JSON text. -ENOENT: there is no such file. */
struct softfm;
int softfm_state_load(struct softfm *softfm, const char *path,
		      struct fairlead_error *ret_error);
int softfm_state_save(const struct softfm *softfm, const char *path);
