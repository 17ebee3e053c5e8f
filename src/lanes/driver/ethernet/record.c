/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a record says goes into a job's environment, so names that are not ours
 * are refused.
 */
#include "lanes/driver/ethernet/record.h"

#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"

#define RECORD_VERSION    1
#define RECORD_HEAD_BYTES 3
#define RECORD_ITEM_BYTES (4 + IFNAMSIZ - 1 + 2 * (1 + 16))

_Static_assert(RECORD_HEAD_BYTES + ETHERNET_DEVICES_MAX * RECORD_ITEM_BYTES <=
		       FAIRLEAD_RECORD_MAX,
	       "a record holds every device");

void ethernet_record_encode(const struct ethernet_made *made,
			    struct fairlead_record *ret_record)
{
	struct writer writer = { 0 };

	write_u8(&writer, RECORD_VERSION);
	write_u8(&writer, (uint8_t)made->isolation);
	write_u8(&writer, (uint8_t)made->count);
	for (uint32_t i = 0; i < made->count; i++) {
		write_text(&writer, made->devices[i].name);
		ip_address_write(&made->devices[i].ipv4, &writer);
		ip_address_write(&made->devices[i].ipv6, &writer);
	}
	memory_check(writer.result);
	memcpy(ret_record->bytes, writer.data, writer.size);
	ret_record->size = writer.size;
	writer_fini(&writer);
}

static int check_device(const char *name, const struct ip_address *ipv4,
			const struct ip_address *ipv6,
			struct fairlead_error *ret_error)
{
	uint32_t vni, rail;

	if (!ethernet_device_parse(name, &vni, &rail))
		return error_set(ret_error, -EBADMSG,
				 "record of the lane names a device '%s', "
				 "which is not ours",
				 name);
	if (ipv4->family == 6 || ipv6->family == 4)
		return error_set(ret_error, -EBADMSG,
				 "record of the lane has another family of "
				 "addresses for '%s'",
				 name);
	return 0;
}

static int read_devices(struct reader *reader, struct ethernet_made *made,
			struct fairlead_error *ret_error)
{
	for (uint32_t i = 0; i < made->count; i++) {
		char *name = made->devices[i].name;
		struct ip_address *ipv4 = &made->devices[i].ipv4;
		struct ip_address *ipv6 = &made->devices[i].ipv6;
		int result;

		read_text(reader, name, IFNAMSIZ);
		ip_address_read(reader, ipv4);
		ip_address_read(reader, ipv6);
		result = reader->failed
				 ? 0
				 : check_device(name, ipv4, ipv6, ret_error);
		if (result < 0)
			return result;
	}
	return 0;
}

int ethernet_record_decode(const struct fairlead_record *record,
			   struct ethernet_made *ret_made,
			   struct fairlead_error *ret_error)
{
	struct reader reader = reader_of(record->bytes, record->size);
	struct ethernet_made made = { 0 };
	uint8_t version, isolation;
	int result;

	if (record->size == 0) {
		*ret_made = made;
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
	isolation = read_u8(&reader);
	made.isolation = isolation;
	made.count = read_u8(&reader);
	if (isolation > ETHERNET_NETNS || made.count > ETHERNET_DEVICES_MAX)
		return error_set(ret_error, -EBADMSG,
				 "record of the lane has isolation %u and %u "
				 "devices, which cannot be",
				 isolation, made.count);
	result = read_devices(&reader, &made, ret_error);
	if (result < 0)
		return result;
	if (!reader_is_done(&reader))
		return error_set(ret_error, -EBADMSG,
				 "record of the lane is cut or has more than "
				 "it should");
	*ret_made = made;
	return 0;
}
