/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of frames: however a stream is cut, the same frames come out of it,
 * up to the same error. Each frame is of a known type and is opened as what
 * it claims to be.
 *
 * Input: one byte for the size of the pieces, then the stream.
 */
#include <errno.h>
#include <sodium.h>

#include "fuzz.h"
#include "lanes/proto/message.h"

#define SIZE_MAX_HERE 4096

/* What came out of a stream. */
struct outcome {
	size_t count;
	int result;
	uint8_t digest[DIGEST_SIZE]; /* of the frames, one after another */
};

static void frame_check(const uint8_t *bytes, size_t size)
{
	struct challenge challenge;
	struct refuse refuse;
	struct frame frame;
	int result = frame_parse(bytes, size, &frame);

	fuzz_check(result == 0 || result == -EBADMSG);
	if (result < 0)
		return;
	fuzz_check(frame.size == size - 1);
	if (frame.type == FRAME_CHALLENGE &&
	    challenge_decode(frame.payload, frame.size, &challenge) == 0)
		fuzz_check(challenge.version == WIRE_VERSION);
	if (frame.type == FRAME_REFUSE &&
	    refuse_decode(frame.payload, frame.size, &refuse) == 0)
		fuzz_check(strlen(refuse.text) == frame.size - 4);
}

static struct outcome stream_read(const uint8_t *data, size_t size,
				  size_t piece)
{
	crypto_generichash_state state;
	struct outcome outcome = { 0 };
	struct splitter splitter;
	const uint8_t *bytes;
	size_t frame_size;

	crypto_generichash_init(&state, NULL, 0, DIGEST_SIZE);
	splitter_init(&splitter, SIZE_MAX_HERE);
	for (size_t at = 0; at < size && outcome.result == 0; at += piece) {
		size_t left = size - at;

		outcome.result = splitter_feed(&splitter, data + at,
					       left < piece ? left : piece);
		while (splitter_next(&splitter, &bytes, &frame_size) > 0) {
			fuzz_check(frame_size > 0 &&
				   frame_size <= SIZE_MAX_HERE);
			frame_check(bytes, frame_size);
			crypto_generichash_update(&state, bytes, frame_size);
			outcome.count++;
		}
		if (outcome.result == 0)
			outcome.result =
				splitter_next(&splitter, &bytes, &frame_size);
	}
	fuzz_check(outcome.result < 0 ||
		   splitter.end - splitter.begin <
			   SIZE_MAX_HERE + FRAME_LENGTH_SIZE);
	splitter_fini(&splitter);
	crypto_generichash_final(&state, outcome.digest, DIGEST_SIZE);
	return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, pieces;

	fuzz_check(sodium_init() >= 0);
	if (size < 2)
		return 0;
	whole = stream_read(data + 1, size - 1, size - 1);
	pieces = stream_read(data + 1, size - 1, 1 + data[0]);
	fuzz_check(whole.count == pieces.count);
	fuzz_check(whole.result == pieces.result);
	fuzz_check(memcmp(whole.digest, pieces.digest, DIGEST_SIZE) == 0);
	return 0;
}
