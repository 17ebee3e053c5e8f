/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What devices are called and say of themselves, which any program of root's
 * can have set: it is refused, or is what we would have written.
 */
#include "base/cleanup.h"
#include "lanes/driver/ethernet/naming.h"
#include "fuzz.h"

static void device_check(const char *text)
{
	struct ethernet_names names;
	uint32_t vni, rail;

	if (!ethernet_device_parse(text, &vni, &rail))
		return;
	ethernet_name(&ethernet_networks_default, vni, rail, 1, &names);
	fuzz_check(strcmp(names.device, text) == 0);
}

static void network_check(const char *text)
{
	struct ip_network network = { 0 };
	struct ip_network again = { 0 };
	char written[IP_NETWORK_TEXT_MAX];

	if (ip_network_parse(text, &network, NULL) < 0)
		return;
	ip_network_format(&network, written);
	fuzz_check(ip_network_parse(written, &again, NULL) == 0);
	fuzz_check(memcmp(&network, &again, sizeof(again)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(freep) char *text = fuzz_text(data, size);
	char written[ETHERNET_ALIAS_MAX];
	struct ethernet_alias alias;

	device_check(text);
	network_check(text);
	if (!ethernet_alias_parse(text, &alias))
		return 0;
	ethernet_alias_format(&alias, written);
	fuzz_check(strcmp(written, text) == 0);
	return 0;
}
