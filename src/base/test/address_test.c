/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static void assert_parsed(const char *text, const char *host, uint16_t port)
{
	struct address address;
	struct fairlead_error error;

	assert_int_equal(address_parse(text, &address, &error), 0);
	assert_string_equal(address.host, host);
	assert_int_equal(address.port, port);
}

static void assert_refused(const char *text, const char *says)
{
	struct address address = { .host = "untouched" };
	struct fairlead_error error = { 0 };

	assert_int_equal(address_parse(text, &address, &error), -EINVAL);
	assert_int_equal(error.code, -EINVAL);
	assert_non_null(strstr(error.text, says));
	assert_string_equal(address.host, "untouched");
}

static void host_and_port_are_parted_at_the_last_colon(void **state)
{
	assert_parsed("manager:7171", "manager", 7171);
	assert_parsed("10.0.0.1:0", "10.0.0.1", 0);
	assert_parsed("[::1]:65535", "::1", 65535);
	assert_parsed("h:00080", "h", 80);
}

static void malformed_addresses_are_refused(void **state)
{
	char text[ADDRESS_HOST_MAX + 8];
	char host[ADDRESS_HOST_MAX + 1] = "";

	assert_refused("", "HOST:PORT");
	assert_refused("host", "HOST:PORT");
	assert_refused("::1:80", "brackets");
	assert_refused(":80", "1 to");
	assert_refused("[]:80", "1 to");
	assert_refused("host:", "port");
	assert_refused("host:65536", "port");
	assert_refused("host:-1", "port");
	assert_refused("host:80x", "port");
	assert_refused("host: 80", "port");
	assert_refused("host:000080", "port");
	memset(text, 'h', ADDRESS_HOST_MAX + 1);
	strcpy(text + ADDRESS_HOST_MAX + 1, ":80");
	assert_refused(text, "1 to");
	strcpy(text + ADDRESS_HOST_MAX, ":80");
	memset(host, 'h', ADDRESS_HOST_MAX);
	assert_parsed(text, host, 80);
}

static void assert_listen(const char *text, const char *host, uint16_t port)
{
	struct address address;

	assert_int_equal(address_parse_listen(text, &address, NULL), 0);
	assert_string_equal(address.host, host);
	assert_int_equal(address.port, port);
}

static void place_to_be_reached_needs_no_port(void **state)
{
	assert_listen("10.0.0.1", "10.0.0.1", 0);
	assert_listen("10.0.0.1:7172", "10.0.0.1", 7172);
	assert_listen("eth0", "eth0", 0);
	assert_listen("eth0:7172", "eth0", 7172);
	assert_listen("fd00::1", "fd00::1", 0);
	assert_listen("::1", "::1", 0);
	assert_listen("[fd00::1]", "fd00::1", 0);
	assert_listen("[fd00::1]:7172", "fd00::1", 7172);
}

static void malformed_place_to_be_reached_is_refused(void **state)
{
	static const char *const texts[] = { "",           "[]",    "[",
					     ":7172",      "eth0:", "eth0:x",
					     "[fd00::1]:", "[::1]7" };
	struct fairlead_error error;
	struct address address;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(address_parse_listen(texts[i], &address,
						      &error),
				 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_and_port_are_parted_at_the_last_colon),
		cmocka_unit_test(malformed_addresses_are_refused),
		cmocka_unit_test(place_to_be_reached_needs_no_port),
		cmocka_unit_test(malformed_place_to_be_reached_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
