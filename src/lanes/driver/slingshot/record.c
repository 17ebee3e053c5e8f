/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A record is a hint of where to look first: whoever takes a service back
 * still compares it with the lane, since ids are reused at once.
 */
#include "lanes/driver/slingshot/record.h"

#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"

#define RECORD_VERSION    1
#define RECORD_HEAD_BYTES 2
#define RECORD_ITEM_BYTES 9

_Static_assert(RECORD_HEAD_BYTES + SLINGSHOT_DEVICES_MAX * RECORD_ITEM_BYTES <=
		       FAIRLEAD_RECORD_MAX,
	       "a record holds every device");

void slingshot_record_encode(const struct slingshot_services *services,
			     struct fairlead_record *ret_record)
{
	struct writer writer = { 0 };

	write_u8(&writer, RECORD_VERSION);
	write_u8(&writer, (uint8_t)services->count);
	for (uint32_t i = 0; i < services->count; i++) {
		write_u32(&writer, services->list[i].device);
		write_u32(&writer, services->list[i].id);
		write_u8(&writer, (uint8_t)services->list[i].tcs);
	}
	memory_check(writer.result);
	memcpy(ret_record->bytes, writer.data, writer.size);
	ret_record->size = writer.size;
	writer_fini(&writer);
}

int slingshot_record_decode(const struct fairlead_record *record,
			    struct slingshot_services *ret_services,
			    struct fairlead_error *ret_error)
{
	struct reader reader = reader_of(record->bytes, record->size);
	struct slingshot_services services = { 0 };
	uint8_t version;

	if (record->size == 0) {
		ret_services->count = 0;
		return 0;
	}
	if (record->size > FAIRLEAD_RECORD_MAX)
		return error_set(ret_error, -EBADMSG,
				 "record of the lane has %zu bytes",
				 record->size);
	version = read_u8(&reader);
	if (version != RECORD_VERSION)
		return error_set(ret_error, -EBADMSG,
				 "record of the lane has version %u, not %d",
				 version, RECORD_VERSION);
	services.count = read_u8(&reader);
	if (services.count > SLINGSHOT_DEVICES_MAX)
		return error_set(ret_error, -EBADMSG,
				 "record of the lane has %u devices, at most "
				 "%d can be",
				 services.count, SLINGSHOT_DEVICES_MAX);
	for (uint32_t i = 0; i < services.count; i++) {
		struct slingshot_service *service = &services.list[i];

		service->device = read_u32(&reader);
		service->id = read_u32(&reader);
		service->tcs = read_u8(&reader);
	}
	if (!reader_is_done(&reader))
		return error_set(ret_error, -EBADMSG,
				 "record of the lane is cut or has more than "
				 "it should");
	*ret_services = services;
	return 0;
}
