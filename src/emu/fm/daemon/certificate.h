/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The certificate authority of the software fabric manager, and certificates
 * that it signs. Keys in the folder are used again, so that clients go on
 * trusting them; missing ones are made.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* PEM texts, the caller's. */
struct certificates {
	char *ca;     /* of clients' certificates and, mostly, of ours */
	char *server; /* our certificate */
	char *server_key;
};

/*
 * Make or read DIR/ca.pem, ca-key.pem, client.pem and client-key.pem, and make a
 * certificate for the server: for localhost, the address, and name unless NULL.
 * is_foreign: another authority signs it, which ca.pem does not verify.
 */
int certificates_make(const char *dir, const char *address, const char *name,
		      bool is_foreign, struct certificates *ret_certificates,
		      struct fairlead_error *ret_error);
void certificates_fini(struct certificates *certificates);
