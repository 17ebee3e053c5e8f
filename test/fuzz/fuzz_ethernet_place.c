/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places, as nodes tell them: refused, or encoded again to the same bytes; and
 * members made of such a place, or refused with a text.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/members.h"
#include "fuzz.h"

static void members_check(const struct ethernet_place *place)
{
	static const char *const names[] = { "n0" };
	struct ethernet_members members = {
		.networks = ethernet_networks_default,
	};
	struct fairlead_error error = { 0 };
	int result = ethernet_members_make(place, names, 1, &members, &error);

	if (result < 0) {
		fuzz_check(error.code == result && error.text[0] != 0);
		return;
	}
	fuzz_check(members.rail_count <= place->rail_count);
	for (uint8_t i = 0; i < members.rail_count; i++)
		fuzz_check(place->rails[members.rails[i]].address.family != 0);
	fuzz_check(ethernet_members_has(&members, 0) ==
		   (place->rail_count > 0));
	fuzz_check(members.rail_count == 0 ||
		   members.mtu[0] >= ETHERNET_MTU_MIN);
	ethernet_members_fini(&members);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(freep) uint8_t *bytes = NULL;
	struct writer writer = { 0 };
	struct ethernet_place place;
	size_t again;

	if (ethernet_place_decode(data, size, &place) < 0)
		return 0;
	fuzz_check(size <= ETHERNET_PLACE_MAX);
	fuzz_check(ethernet_place_encode(&place, &writer) == 0);
	bytes = writer_take(&writer, &again);
	fuzz_check(bytes != NULL && again == size);
	fuzz_check(memcmp(bytes, data, size) == 0);
	members_check(&place);
	return 0;
}
