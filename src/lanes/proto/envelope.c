/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The payload names its direction, so that a request's credential never vouches
 * for an answer. Only the text and the credential of an envelope are trusted:
 * it has no id and no op of its own.
 */
#include "lanes/proto/envelope.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define DOMAIN_SIZE 16
#define HASH_SIZE   32

static const struct {
	const char *member;
	char domain[DOMAIN_SIZE + 1];
} kinds[] = {
	[ENVELOPE_REQUEST] = { "request", "fairlead-request" },
	[ENVELOPE_ANSWER] = { "answer", "fairlead-answer" },
};

void envelope_fini(struct envelope *envelope)
{
	free(envelope->credential);
	free(envelope->text);
	*envelope = (struct envelope){ 0 };
}

void envelope_vouch(enum envelope_kind kind,
		    const uint8_t nonce[ENVELOPE_NONCE_SIZE], const char *text,
		    size_t size, uint8_t ret_payload[ENVELOPE_PAYLOAD_SIZE])
{
	uint8_t *at = ret_payload;

	memcpy(at, kinds[kind].domain, DOMAIN_SIZE);
	at += DOMAIN_SIZE;
	memcpy(at, nonce, ENVELOPE_NONCE_SIZE);
	at += ENVELOPE_NONCE_SIZE;
	crypto_generichash(at, HASH_SIZE, (const uint8_t *)text, size, NULL, 0);
}

int envelope_check(enum envelope_kind kind, const void *payload,
		   size_t payload_size, const char *text, size_t size,
		   uint8_t ret_nonce[ENVELOPE_NONCE_SIZE],
		   struct fairlead_error *ret_error)
{
	uint8_t expected[ENVELOPE_PAYLOAD_SIZE];
	const uint8_t *nonce = (const uint8_t *)payload + DOMAIN_SIZE;

	if (payload_size != ENVELOPE_PAYLOAD_SIZE ||
	    memcmp(payload, kinds[kind].domain, DOMAIN_SIZE) != 0)
		return error_set(ret_error, -EKEYREJECTED,
				 "the credential is not that of a Fairlead %s",
				 kinds[kind].member);
	envelope_vouch(kind, nonce, text, size, expected);
	if (memcmp(payload, expected, sizeof(expected)) != 0)
		return error_set(ret_error, -EKEYREJECTED,
				 "the credential is that of another %s",
				 kinds[kind].member);
	memcpy(ret_nonce, nonce, ENVELOPE_NONCE_SIZE);
	return 0;
}

int envelope_encode(enum envelope_kind kind, const char *credential,
		    const char *text, size_t size, struct writer *writer)
{
	json_auto_t *object = NULL;

	if (size > CLIENT_FRAME_MAX ||
	    strlen(credential) > ENVELOPE_CREDENTIAL_MAX)
		return -EMSGSIZE;
	object = json_pack("{s:i, s:s, s:s%}", "v", CLIENT_VERSION, "munge",
			   credential, kinds[kind].member, text, size);
	if (object == NULL)
		return -EINVAL;
	return members_encode(object, ENVELOPE_FRAME_MAX, writer);
}

static int read_members(enum envelope_kind kind, const json_t *object,
			const char **ret_credential, const char **ret_text,
			struct fairlead_error *ret_error)
{
	const char *const names[] = { "v", "munge", kinds[kind].member, NULL };
	int64_t version;
	int result = members_number(object, "v", MEMBER_REQUIRED, INT64_MIN,
				    INT64_MAX, &version, ret_error);

	if (result == 0 && version != CLIENT_VERSION)
		return error_set(ret_error, -EPROTONOSUPPORT,
				 "another version than %d is not spoken",
				 CLIENT_VERSION);
	if (result == 0)
		result = members_check(object, names, ret_error);
	if (result == 0)
		result = members_text(object, "munge", MEMBER_REQUIRED,
				      ret_credential, ret_error);
	if (result == 0)
		result = members_text(object, kinds[kind].member,
				      MEMBER_REQUIRED, ret_text, ret_error);
	return result;
}

int envelope_parse(enum envelope_kind kind, const void *bytes, size_t size,
		   struct envelope *ret_envelope,
		   struct fairlead_error *ret_error)
{
	json_auto_t *object = NULL;
	struct envelope envelope;
	const char *credential;
	const char *text;
	int result = client_parse(bytes, size, &object, ret_error);

	if (result == 0)
		result = read_members(kind, object, &credential, &text,
				      ret_error);
	if (result < 0)
		return result;
	if (strlen(credential) > ENVELOPE_CREDENTIAL_MAX)
		return error_set(ret_error, -EMSGSIZE,
				 "a credential is longer than %d bytes",
				 ENVELOPE_CREDENTIAL_MAX);
	if (strlen(text) > CLIENT_FRAME_MAX)
		return error_set(ret_error, -EMSGSIZE,
				 "%s: longer than %d bytes", kinds[kind].member,
				 CLIENT_FRAME_MAX);
	envelope = (struct envelope){
		.credential = strdup(credential),
		.text = strdup(text),
		.size = strlen(text),
	};
	if (envelope.credential == NULL || envelope.text == NULL) {
		envelope_fini(&envelope);
		return error_set(ret_error, -ENOMEM, "out of memory");
	}
	*ret_envelope = envelope;
	return 0;
}
