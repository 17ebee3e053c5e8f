/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client protocol's stream: however it is cut, the same objects come out
 * of it, up to the same error; each one is written and read again.
 *
 * Input: one byte for the size of the pieces, then the stream.
 */
#include <errno.h>

#include "fuzz.h"
#include "lanes/proto/client.h"

/* What came out of a stream. */
struct outcome {
	size_t count;
	int result;
};

static void object_check(json_t *object)
{
	struct writer writer = { 0 };
	struct client_answer answer;
	struct fairlead_error error;
	json_t *again = NULL;
	const char *op;
	uint64_t id;

	if (client_open(object, &id, &op, &error) == 0)
		fuzz_check(id > 0 && id == client_id(object));
	else
		fuzz_check(error.text[0] != 0);
	if (client_answer_open(object, &answer, NULL) == 0)
		fuzz_check(answer.result == 0 || answer.text != NULL);
	if (client_encode(object, &writer) == 0) {
		fuzz_check(client_parse(writer.data, writer.size, &again,
					&error) == 0);
		fuzz_check(json_equal(object, again));
		json_decref(again);
	}
	writer_fini(&writer);
}

/* One frame: 0, or a negative errno. */
static int frame_check(const uint8_t *frame, size_t size)
{
	struct fairlead_error error = { 0 };
	json_t *object;
	int result = client_parse(frame, size, &object, &error);

	if (result < 0) {
		fuzz_check(error.code == result && error.text[0] != 0);
		return result;
	}
	object_check(object);
	json_decref(object);
	return 0;
}

static struct outcome stream_read(const uint8_t *data, size_t size,
				  size_t piece)
{
	struct outcome outcome = { 0 };
	struct splitter splitter;

	splitter_init(&splitter, CLIENT_FRAME_MAX);
	for (size_t at = 0; at < size && outcome.result == 0; at += piece) {
		size_t left = size - at;
		const uint8_t *frame;
		size_t frame_size;

		outcome.result = splitter_feed(&splitter, data + at,
					       left < piece ? left : piece);
		while (outcome.result == 0) {
			int result =
				splitter_next(&splitter, &frame, &frame_size);

			if (result <= 0) {
				outcome.result = result;
				break;
			}
			outcome.result = frame_check(frame, frame_size);
			outcome.count += outcome.result == 0;
		}
	}
	splitter_fini(&splitter);
	return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, pieces;

	if (size < 2)
		return 0;
	whole = stream_read(data + 1, size - 1, size - 1);
	pieces = stream_read(data + 1, size - 1, 1 + data[0]);
	fuzz_check(whole.count == pieces.count);
	fuzz_check(whole.result == pieces.result);
	return 0;
}
