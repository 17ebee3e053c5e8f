/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What clients send: frames (u16 length and bytes, one after the other) reach
 * an engine with a node and a job, from root. Whatever they are, the engine
 * goes on: each is answered, what is asked afterwards too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "fuzz.h"
#include "lanes/manager/test/bed.h"

#define FRAMES_MAX 32
#define ROUNDS     5 /* of waiting: nodes, then the revoke, then the end */
#define ROUND_MS   15000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader reader = reader_of(data, size);
	struct bed *bed = bed_create();
	uint64_t other = bed_client(bed, BED_SUBMITTER);
	struct bed_node node;
	json_t *answer;

	bed_node_up(bed, "n0", &node);
	bed_reserve(bed, other, "slurm/1/0", "n0");
	for (int i = 0; i < FRAMES_MAX && reader.left > 0; i++) {
		uint64_t client = bed_client(bed, BED_ROOT);
		size_t length = read_u16(&reader);
		const uint8_t *bytes;

		if (length > reader.left)
			length = reader.left;
		bytes = read_bytes(&reader, length);
		engine_client_received(bed->engine, client, bytes, length);
		bed_commit(bed);
		for (int round = 0; round < ROUNDS; round++) {
			bed_advance(bed, ROUND_MS);
			bed_commit(bed);
		}
		answer = bed_answer(bed, client);
		fuzz_check(answer != NULL);
		json_decref(answer);
	}
	bed_ask(bed, other, "status", NULL);
	bed_commit(bed);
	answer = bed_answer(bed, other);
	fuzz_check(json_integer_value(json_object_get(answer, "result")) == 0);
	json_decref(answer);
	bed_destroy(bed);
	return 0;
}
