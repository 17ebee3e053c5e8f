/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/ethernet/naming.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

static struct ip_address address_of(const char *text)
{
	struct ip_address address = { 0 };

	if (!ip_address_parse(text, &address))
		fail_msg("'%s' was refused", text);
	return address;
}

static struct ip_network network_of(const char *text)
{
	struct ip_network network = { 0 };
	struct fairlead_error error = { 0 };

	if (ip_network_parse(text, &network, &error) < 0)
		fail_msg("'%s' was refused: %s", text, error.text);
	return network;
}

static void assert_refused(const char *text, const char *part)
{
	struct ip_network network = { .prefix_size = 77 };
	struct fairlead_error error = { 0 };

	assert_int_equal(ip_network_parse(text, &network, &error), -EINVAL);
	if (!strstr(error.text, part))
		fail_msg("'%s' is not in '%s'", part, error.text);
	assert_int_equal(network.prefix_size, 77);
}

static void addresses_are_written_as_they_were_read(void **state)
{
	static const char *const texts[] = { "10.77.0.1", "255.255.255.255",
					     "::", "fd46:4c00:0:1092::1" };
	char text[IP_ADDRESS_TEXT_MAX];
	struct ip_address address;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		address = address_of(texts[i]);
		ip_address_format(&address, text);
		assert_string_equal(text, texts[i]);
	}
}

static void the_longest_address_fits(void **state)
{
	struct ip_address address = { .family = 6 };
	char text[IP_ADDRESS_TEXT_MAX];

	memset(address.bytes, 0xff, sizeof(address.bytes));
	ip_address_format(&address, text);
	assert_string_equal(text, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
}

static void no_address_is_an_empty_text(void **state)
{
	struct ip_address none = { .bytes = { 1, 2, 3, 4 } };
	struct ip_network network = { .address = none };
	char text[IP_NETWORK_TEXT_MAX] = "x";

	ip_address_format(&none, text);
	assert_string_equal(text, "");
	strcpy(text, "x");
	ip_network_format(&network, text);
	assert_string_equal(text, "");
}

static void other_texts_are_no_addresses(void **state)
{
	static const char *const texts[] = { "",           "10.0.0",
					     "10.0.0.256", "010.0.0.1",
					     "10.0.0.1 ",  "n1",
					     "fe80::1%fl", "::1::" };
	struct ip_address address = { .family = 77 };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (ip_address_parse(texts[i], &address))
			fail_msg("'%s' was taken", texts[i]);
	}
	assert_int_equal(address.family, 77);
}

static void addresses_are_equal_by_family_and_its_bytes(void **state)
{
	struct ip_address a = address_of("10.0.0.1");
	struct ip_address b = address_of("10.0.0.1");
	struct ip_address none = { 0 };

	b.bytes[4] = 1; /* behind what an IPv4 address has */
	assert_true(ip_address_equal(&a, &b));
	b.bytes[3] = 2;
	assert_false(ip_address_equal(&a, &b));
	b = a;
	b.family = 6;
	assert_false(ip_address_equal(&a, &b));
	assert_true(ip_address_equal(&none, &(struct ip_address){ 0 }));
}

static void networks_are_written_as_they_were_read(void **state)
{
	static const char *const texts[] = { "0.0.0.0/0", "100.64.0.0/10",
					     "10.0.0.1/32", "fd46:4c00::/32",
					     "::1/128" };
	char text[IP_NETWORK_TEXT_MAX];
	struct ip_network network;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		network = network_of(texts[i]);
		ip_network_format(&network, text);
		assert_string_equal(text, texts[i]);
	}
}

static void other_texts_are_no_networks(void **state)
{
	static const char *const texts[] = {
		"",
		"/8",
		"10.0.0.0",
		"10.0.0.0/",
		"10.0.0.0/33",
		"::/129",
		"::/-1",
		"10.0.0.0/8/8",
		"10.0.0.0/08",
		"fd46::/3x",
		"none",
		"1111:1111:1111:1111:1111:1111:1111:1111:1111:1111/8",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_refused(texts[i], "is no network ADDRESS/PREFIX");
}

static void bits_behind_the_prefix_are_refused_with_what_was_meant(void **state)
{
	assert_refused("100.65.0.0/10", "the network is 100.64.0.0/10");
	assert_refused("fd46:4c00:1::/32", "the network is fd46:4c00::/32");
	assert_refused("10.0.0.1/31", "the network is 10.0.0.0/31");
}

static void a_network_has_what_shares_its_prefix(void **state)
{
	struct ip_network network = network_of("100.64.0.0/10");
	struct ip_address address = address_of("100.127.255.255");

	assert_true(ip_network_has(&network, &address));
	address = address_of("100.128.0.0");
	assert_false(ip_network_has(&network, &address));
	address = address_of("6440::");
	assert_false(ip_network_has(&network, &address));
	network.address.family = 0;
	assert_false(ip_network_has(&network, &(struct ip_address){ 0 }));
}

static void the_network_of_an_address_has_nothing_behind_its_prefix(
	void **state)
{
	struct ip_address address = address_of("100.127.255.255");
	struct ip_network network = ip_network_of(&address, 10);
	char text[IP_NETWORK_TEXT_MAX];

	ip_network_format(&network, text);
	assert_string_equal(text, "100.64.0.0/10");
	address.family = 0;
	network = ip_network_of(&address, 0);
	assert_false(ip_network_meets(&network, &network));
}

static void networks_meet_when_one_has_the_other(void **state)
{
	struct ip_network wide = network_of("fd46::/16");
	struct ip_network narrow = network_of("fd46:4c00::/32");
	struct ip_network next = network_of("fd46:4c01::/32");
	struct ip_network all = network_of("0.0.0.0/0");

	assert_true(ip_network_meets(&wide, &narrow));
	assert_true(ip_network_meets(&narrow, &wide));
	assert_true(ip_network_meets(&narrow, &narrow));
	assert_false(ip_network_meets(&narrow, &next));
	assert_false(ip_network_meets(&all, &wide));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_written_as_they_were_read),
		cmocka_unit_test(the_longest_address_fits),
		cmocka_unit_test(no_address_is_an_empty_text),
		cmocka_unit_test(other_texts_are_no_addresses),
		cmocka_unit_test(addresses_are_equal_by_family_and_its_bytes),
		cmocka_unit_test(networks_are_written_as_they_were_read),
		cmocka_unit_test(other_texts_are_no_networks),
		cmocka_unit_test(
			bits_behind_the_prefix_are_refused_with_what_was_meant),
		cmocka_unit_test(a_network_has_what_shares_its_prefix),
		cmocka_unit_test(
			the_network_of_an_address_has_nothing_behind_its_prefix),
		cmocka_unit_test(networks_meet_when_one_has_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
