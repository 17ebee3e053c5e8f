/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An envelope is refused with a text, or is the same when it is written and
 * read again; and its credential's payload, whatever it is, vouches for no
 * text but its own.
 *
 * Input: one byte for the kind, one for the payload's size, the payload, then
 * the frame.
 */
#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "lanes/proto/envelope.h"

static void payload_check(enum envelope_kind kind,
			  const struct envelope *envelope,
			  const uint8_t *payload, size_t size)
{
	uint8_t own[ENVELOPE_PAYLOAD_SIZE];
	uint8_t nonce[ENVELOPE_NONCE_SIZE];
	struct fairlead_error error = { 0 };

	if (envelope_check(kind, payload, size, envelope->text, envelope->size,
			   nonce, &error) < 0) {
		fuzz_check(error.code == -EKEYREJECTED && error.text[0] != 0);
		return;
	}
	envelope_vouch(kind, nonce, envelope->text, envelope->size, own);
	fuzz_check(size == sizeof(own) && memcmp(own, payload, size) == 0);
}

static void again_check(enum envelope_kind kind,
			const struct envelope *envelope)
{
	struct writer writer = { 0 };
	struct envelope again;

	fuzz_check(envelope_encode(kind, envelope->credential, envelope->text,
				   envelope->size, &writer) == 0);
	fuzz_check(envelope_parse(kind, writer.data, writer.size, &again,
				  NULL) == 0);
	fuzz_check(strcmp(envelope->text, again.text) == 0 &&
		   strcmp(envelope->credential, again.credential) == 0);
	envelope_fini(&again);
	writer_fini(&writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fairlead_error error = { 0 };
	struct envelope envelope;
	enum envelope_kind kind;
	size_t payload_size;

	if (size < 2 || size - 2 < data[1])
		return 0;
	kind = data[0] % 2 ? ENVELOPE_ANSWER : ENVELOPE_REQUEST;
	payload_size = data[1];
	if (envelope_parse(kind, data + 2 + payload_size,
			   size - 2 - payload_size, &envelope, &error) < 0) {
		fuzz_check(error.code < 0 && error.text[0] != 0);
		return 0;
	}
	payload_check(kind, &envelope, data + 2, payload_size);
	again_check(kind, &envelope);
	envelope_fini(&envelope);
	return 0;
}
