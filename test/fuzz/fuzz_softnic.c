/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The software NIC's requests: a packet is refused and its connection ends,
 * or it decodes, encodes to itself and is done; whatever was done, each NIC
 * has reserved what its services reserve, and holds the LNIs they count.
 *
 * Input: one byte for the driver's generation, then packets: who sends it (0
 * root, 1 a user), its size (u16) and its bytes; one millisecond passes
 * between two.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "emu/cxi/daemon/dispatch.h"
#include "fuzz.h"

#define BOOT_ID          "01234567-89ab-4cde-8f01-23456789abcd"
#define SESSION_COUNT    2
#define PACKET_COUNT_MAX 64

static int nic_changed(void *ctx, uint32_t nic)
{
	fuzz_check(nic < SOFTNIC_NIC_MAX);
	return 0;
}

static int reboot_node(void *ctx, char ret_boot_id[BOOT_ID_SIZE])
{
	strcpy(ret_boot_id, BOOT_ID);
	return softnic_reboot(ctx);
}

static const char *boot_id(void *ctx)
{
	return BOOT_ID;
}

static const struct control_ops control_ops = {
	.nic_changed = nic_changed,
	.reboot = reboot_node,
	.boot_id = boot_id,
};

static void request_check(const uint8_t *packet, size_t size, int result)
{
	struct wire_request request;
	struct writer writer = { 0 };

	fuzz_check(wire_request_decode(packet, size, &request) == result);
	if (result < 0)
		return;
	wire_request_encode(&request, &writer);
	fuzz_check(writer.result == 0 && writer.size <= WIRE_REQUEST_MAX);
	/* Flags may be any byte that is not zero; all else is the same. */
	fuzz_check(writer.size == size);
	writer_fini(&writer);
}

static void packet_run(struct softnic_session *session, const uint8_t *packet,
		       size_t size)
{
	struct softnic_answer answer = { 0 };
	struct writer reply = { 0 };
	struct softnic_wire_reply decoded;
	int result = dispatch(session, packet, size, &answer);

	request_check(packet, size, result);
	answer_encode(&answer, &reply);
	fuzz_check(reply.result == 0 && reply.size <= WIRE_REPLY_MAX);
	fuzz_check(wire_reply_decode(reply.data, reply.size, &decoded) == 0);
	fuzz_check(decoded.op == answer.op);
	writer_fini(&reply);
	answer_fini(&answer);
	if (result < 0)
		session_fini(session);
}

static json_int_t number_at(json_t *object, const char *key)
{
	json_t *number = json_object_get(object, key);

	fuzz_check(json_is_integer(number));
	return json_integer_value(number);
}

static void type_check(json_t *device, const char *type)
{
	json_t *services = json_object_get(device, "services");
	json_t *resource =
		json_object_get(json_object_get(device, "resources"), type);
	json_int_t reserved = 0;
	json_t *service;
	size_t i;

	json_array_foreach (services, i, service) {
		json_t *limits = json_object_get(service, "limits");

		reserved += number_at(json_object_get(limits, type), "res");
	}
	fuzz_check(reserved == number_at(resource, "reserved"));
	fuzz_check(reserved <= number_at(resource, "total"));
}

static void device_check(json_t *device)
{
	json_t *services = json_object_get(device, "services");
	json_int_t lnis = 0;
	json_t *service;
	size_t i;

	for (unsigned int type = 0; type < CXI_RSRC_TYPE_MAX; type++)
		type_check(device, softnic_type_format(type));
	json_array_foreach (services, i, service)
		lnis += number_at(service, "lni_count");
	fuzz_check((size_t)lnis ==
		   json_array_size(json_object_get(device, "lnis")));
	fuzz_check(number_at(device, "rgids") <= lnis);
	fuzz_check(number_at(device, "receive_entries") <=
		   (json_int_t)(CXI_SVC_MAX_VNIS * json_array_size(services)));
}

static void model_check(const struct softnic *softnic)
{
	json_t *dump = softnic_dump(softnic);
	json_t *device;
	size_t i;

	fuzz_check(dump != NULL);
	json_array_foreach (json_object_get(dump, "devices"), i, device)
		device_check(device);
	json_decref(dump);
}

static void packets_run(struct softnic *softnic, struct reader *reader)
{
	struct softnic_session sessions[SESSION_COUNT];

	for (uint32_t i = 0; i < SESSION_COUNT; i++)
		sessions[i] = (struct softnic_session){
			.softnic = softnic,
			.caller = { .uid = i, .is_privileged = i == 0 },
			.is_owner = i == 0,
			.control = &control_ops,
			.control_ctx = softnic,
		};
	for (uint64_t n = 1; n <= PACKET_COUNT_MAX && reader->left > 0; n++) {
		struct softnic_session *session =
			&sessions[read_u8(reader) % SESSION_COUNT];
		size_t size = read_u16(reader);
		const uint8_t *packet;

		if (size > reader->left)
			size = reader->left;
		packet = read_bytes(reader, size);
		if (packet == NULL || size > WIRE_REQUEST_MAX)
			break;
		softnic_advance(softnic, n);
		packet_run(session, packet, size);
	}
	model_check(softnic);
	for (uint32_t i = 0; i < SESSION_COUNT; i++)
		session_fini(&sessions[i]);
	model_check(softnic);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(softnic_destroyp) struct softnic *softnic = NULL;
	struct reader reader = reader_of(data, size);
	struct softnic_config config;

	softnic_config_init(&config);
	config.generation = 12 + read_u8(&reader) % 3;
	config.nic_count = 2;
	config.cleanup_ms = 2;
	fuzz_check(softnic_create(&config, &softnic) == 0);
	packets_run(softnic, &reader);
	return 0;
}
