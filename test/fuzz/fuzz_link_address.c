/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of endpoints: refused, or encoded again to the same bytes. */
#include "fuzz.h"
#include "link/address/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct link_address address;
	struct fairlead_error error = { 0 };
	uint8_t bytes[LINK_ADDRESS_SIZE] = { 0 }, again[LINK_ADDRESS_SIZE];

	memcpy(bytes, data, size < sizeof(bytes) ? size : sizeof(bytes));
	if (link_address_decode(bytes, &address, &error) != 0) {
		fuzz_check(error.code == -EINVAL && error.text[0] != '\0');
		return 0;
	}
	/* Rails that were not given are unknown: they take no bytes. */
	unsigned int count = address.rail_count;
	address.rail_count = address.known_count;
	fuzz_check(link_address_encode(&address, again) ==
		   (int)address.known_count);
	again[3] |= (uint8_t)(count << 4);
	again[3] &= (uint8_t)(count << 4 | 15);
	fuzz_check(memcmp(bytes, again, sizeof(bytes)) == 0);
	return 0;
}
