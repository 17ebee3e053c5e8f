/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client protocol's stream: however it is cut, the same objects come out
 * of it, up to the same error; each one is written and read again.
 *
 * Input: one byte for the size of the pieces, then the stream.
 */
#include <errno.h>

#include "fuzz.h"
#include "manager/wire/client.h"

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

static struct outcome stream_read(const uint8_t *data, size_t size,
				  size_t piece)
{
	struct outcome outcome = { 0 };
	struct client_decoder decoder;
	struct fairlead_error error = { 0 };

	client_decoder_init(&decoder);
	for (size_t at = 0; at < size && outcome.result == 0; at += piece) {
		size_t left = size - at;
		json_t *object;

		outcome.result =
			client_decoder_feed(&decoder, data + at,
					    left < piece ? left : piece,
					    &error);
		while (outcome.result == 0) {
			int result =
				client_decoder_next(&decoder, &object, &error);

			if (result <= 0) {
				outcome.result = result;
				break;
			}
			object_check(object);
			json_decref(object);
			outcome.count++;
		}
	}
	if (outcome.result < 0)
		fuzz_check(error.code == outcome.result && error.text[0] != 0);
	client_decoder_fini(&decoder);
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
