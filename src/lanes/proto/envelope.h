/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests and answers over TCP (doc/rfc/client-protocol.md): the text of an
 * object, and beside it a MUNGE credential whose payload vouches for the text.
 *
 *	sender:   envelope_vouch -> (credential) -> envelope_encode
 *	receiver: envelope_parse -> (payload)    -> envelope_check
 *
 * Making and reading credentials is the caller's
 * (sys/credential.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "lanes/proto/client.h"

#define ENVELOPE_NONCE_SIZE     16
#define ENVELOPE_PAYLOAD_SIZE   64
#define ENVELOPE_CREDENTIAL_MAX 4096 /* bytes */
/* Bytes of a frame: each byte of the text may be escaped by one more. */
#define ENVELOPE_FRAME_MAX (2 * CLIENT_FRAME_MAX + 8192)

enum envelope_kind {
	ENVELOPE_REQUEST,
	ENVELOPE_ANSWER,
};

/* Owned texts. */
struct envelope {
	char *credential;
	char *text;
	size_t size; /* bytes of text, without its zero */
};

void envelope_fini(struct envelope *envelope);

/* The payload of a text's credential. */
void envelope_vouch(enum envelope_kind kind,
		    const uint8_t nonce[ENVELOPE_NONCE_SIZE], const char *text,
		    size_t size, uint8_t ret_payload[ENVELOPE_PAYLOAD_SIZE]);
/*
 * Does a credential's payload vouch for this text? -EKEYREJECTED with a text
 * when it does not. ret_nonce: the payload's.
 */
int envelope_check(enum envelope_kind kind, const void *payload,
		   size_t payload_size, const char *text, size_t size,
		   uint8_t ret_nonce[ENVELOPE_NONCE_SIZE],
		   struct fairlead_error *ret_error);

/*
 * Append the frame, without its length. -EMSGSIZE when text or credential is
 * too long, -EINVAL when one is not UTF-8, -ENOMEM; the writer is then as
 * before.
 */
int envelope_encode(enum envelope_kind kind, const char *credential,
		    const char *text, size_t size, struct writer *writer);
/*
 * Read a frame. -EBADMSG, -EPROTONOSUPPORT (another version), -EINVAL,
 * -EMSGSIZE: it is no envelope of this kind; -ENOMEM. All with a text.
 */
int envelope_parse(enum envelope_kind kind, const void *bytes, size_t size,
		   struct envelope *ret_envelope,
		   struct fairlead_error *ret_error);
