/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parcels: what is taken is encoded as it came, and a command's host list is
 * read from it or not at all.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "fuzz.h"
#include "lanes/proto/collective.h"

static void nodes_check(const uint8_t *bytes, size_t size)
{
	_auto_(freep) char *nodes = NULL;
	int result = command_nodes_read(bytes, size, &nodes);

	fuzz_check(result == 0 || result == -EBADMSG);
	fuzz_check((nodes != NULL) == (result == 0));
	if (nodes != NULL)
		fuzz_check(strlen(nodes) <= NODES_TEXT_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct writer again = { 0 };
	struct parcel parcel;
	int result = parcel_decode(data, size, &parcel);

	nodes_check(data, size);
	fuzz_check(result == 0 || result == -EBADMSG);
	if (result < 0)
		return 0;
	fuzz_check(parcel.is_bulk == (parcel.command == NULL));
	fuzz_check(parcel_encode(&parcel, &again) == 0);
	fuzz_check(again.size == size);
	fuzz_check(memcmp(again.data, data, size) == 0);
	if (!parcel.is_bulk)
		nodes_check(parcel.command, parcel.command_size);
	writer_fini(&again);
	return 0;
}
