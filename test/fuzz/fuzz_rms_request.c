/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requests of program descriptions: a packet is refused and its connection
 * ends, or it decodes, encodes to itself and is done; whatever was done, a
 * start with what was saved knows the same, and nobody is in a cgroup of which
 * it does not.
 *
 * Input: packets: which process sends it, as root or as a user (one byte), its
 * size (u16) and its bytes. A size of 65535: the process ends; of 65534: it
 * forks the next one.
 */
#include "base/cleanup.h"
#include "fuzz.h"
#include "elan/core/test/world.h"
#include "elan/core/dispatch.h"

#define PACKET_COUNT_MAX 64
#define SIZE_ENDS        UINT16_MAX
#define SIZE_FORKS       (UINT16_MAX - 1)
#define ID_MAX           WORLD_PROCESSES

static void packet_run(struct world *world, const struct caller *caller,
		       const uint8_t *packet, size_t size)
{
	struct rms_request request;
	struct rms_reply reply;
	struct writer again = { 0 };
	struct writer writer = { 0 };
	int result = rms_request_decode(packet, size, &request);

	if (result == 0) {
		rms_request_encode(&request, &again);
		fuzz_check(again.size == size &&
			   memcmp(again.data, packet, size) == 0);
		/* The world has room for few. */
		if (request.op == RMS_PRGCREATE && request.id >= ID_MAX)
			size = 0;
	}
	writer_fini(&again);
	if (size == 0)
		return;
	fuzz_check(dispatch(world->registry, caller, packet, size, &writer) ==
		   result);
	fuzz_check(writer.result == 0 && writer.size <= RMS_REPLY_MAX);
	fuzz_check(rms_reply_decode(writer.data, writer.size, &reply) == 0);
	fuzz_check(reply.op == (result == 0 ? request.op : RMS_NONE));
	writer_fini(&writer);
}

static void records_compare(const struct world *before,
			    const struct world *after)
{
	for (int i = 0; i < WORLD_RECORDS; i++) {
		const struct world_record *one = &before->records[i];
		const struct world_record *two = &after->records[i];

		fuzz_check(one->bytes.size == two->bytes.size);
		fuzz_check(
			one->bytes.size == 0 ||
			(one->kind == two->kind && one->number == two->number));
	}
}

static void start_check(struct world *world)
{
	struct world before = *world;

	world_kill(world);
	fuzz_check(world_start(world) == 0);
	records_compare(&before, world);
	for (int i = 0; i < WORLD_PROCESSES; i++) {
		const struct world_process *process = &world->processes[i];

		if (process->is_alive && process->program != 0)
			fuzz_check(registry_program(world->registry,
						    process->program) != NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world world = { .steps_left = WORLD_FOREVER };
	struct reader reader = reader_of(data, size);

	for (int i = 0; i < WORLD_PROCESSES; i++)
		world.processes[i].is_alive = true;
	fuzz_check(world_start(&world) == 0);
	for (int n = 0; n < PACKET_COUNT_MAX && reader.left > 0; n++) {
		uint8_t who = read_u8(&reader);
		size_t length = read_u16(&reader);
		int32_t pid = who % WORLD_PROCESSES + 1;
		struct caller caller = world_caller(pid, who >= 128 ? 1 : 0);

		if (!world.processes[pid - 1].is_alive || reader.failed)
			continue;
		if (length == SIZE_ENDS) {
			world_end(&world, pid);
		} else if (length == SIZE_FORKS) {
			/* Whose place it takes has ended. */
			world_end(&world, pid % WORLD_PROCESSES + 1);
			world_fork(&world, pid, pid % WORLD_PROCESSES + 1);
		} else {
			if (length > reader.left)
				length = reader.left;
			packet_run(&world, &caller, read_bytes(&reader, length),
				   length);
		}
	}
	start_check(&world);
	world_fini(&world);
	return 0;
}
