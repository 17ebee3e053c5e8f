/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/ethernet/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

static int read_all(const struct fairlead_setting *list, size_t count,
		    struct ethernet_settings *values,
		    struct fairlead_error *error)
{
	struct settings_errors errors = { 0 };
	const struct settings settings = { list, count, &errors };

	ethernet_settings_read(&settings, values);
	return settings_finish(&errors, error);
}

static int settings_take(const struct fairlead_setting *list, size_t count,
			 struct ethernet_networks *networks,
			 struct fairlead_error *error)
{
	struct ethernet_settings values;
	int result = read_all(list, count, &values, error);

	*networks = values.networks;
	return result;
}

static void assert_refused(const char *name, const char *value,
			   const char *part)
{
	const struct fairlead_setting list[] = { { name, value, 9 } };
	struct ethernet_networks networks;
	struct fairlead_error error = { 0 };
	char line[64] = "line 9: '";

	strcat(line, name);
	assert_int_equal(settings_take(list, 1, &networks, &error), -EINVAL);
	assert_non_null(strstr(error.text, line));
	if (!strstr(error.text, part))
		fail_msg("'%s' is not in '%s'", part, error.text);
	if (strchr(error.text, '\n'))
		fail_msg("more than one error: %s", error.text);
}

static void networks_are_read(void **state)
{
	const struct fairlead_setting list[] = {
		{ "ipv6_network", "fdab:cdef::/32", 1 },
		{ "ipv4_network", "10.128.0.0/9", 2 },
		{ "ipv4_lane_size", "24", 3 },
		{ "port", "8472", 4 },
	};
	struct ethernet_networks networks;
	char text[IP_NETWORK_TEXT_MAX];

	assert_int_equal(settings_take(NULL, 0, &networks, NULL), 0);
	assert_memory_equal(&networks, &ethernet_networks_default,
			    sizeof(networks));
	assert_int_equal(settings_take(list, 4, &networks, NULL), 0);
	ip_network_format(&networks.ipv6, text);
	assert_string_equal(text, "fdab:cdef::/32");
	ip_network_format(&networks.ipv4, text);
	assert_string_equal(text, "10.128.0.0/9");
	assert_int_equal(networks.ipv4_lane_size, 24);
	assert_int_equal(networks.port, 8472);
	assert_int_equal(ethernet_ipv4_lanes(&networks), 8192);
}

static void none_means_ipv6_only(void **state)
{
	const struct fairlead_setting list[] = { { "ipv4_network", "none" } };
	struct ethernet_networks networks;

	assert_int_equal(settings_take(list, 1, &networks, NULL), 0);
	assert_int_equal(networks.ipv4.address.family, 0);
	assert_int_equal(ethernet_ipv4_lanes(&networks), 0);
}

static void ipv6_is_a_32_of_a_site_s_own(void **state)
{
	assert_refused("ipv6_network", "fd46::/16", "no /32 within fc00::/7");
	assert_refused("ipv6_network", "fd46::/48", "no /32 within fc00::/7");
	assert_refused("ipv6_network", "2001:db8::/32", "within fc00::/7");
	assert_refused("ipv6_network", "10.0.0.0/32", "within fc00::/7");
	assert_refused("ipv6_network", "none", "is no network");
}

static void networks_that_hosts_need_are_refused(void **state)
{
	assert_refused("ipv4_network", "127.0.0.0/8", "which is loopback");
	assert_refused("ipv4_network", "127.16.0.0/12", "which is loopback");
	assert_refused("ipv4_network", "126.0.0.0/7", "which is loopback");
	assert_refused("ipv4_network", "224.0.0.0/4", "which is multicast");
	assert_refused("ipv4_network", "240.0.0.0/8", "and reserved");
	assert_refused("ipv4_network", "169.254.0.0/16", "link-local");
	assert_refused("ipv4_network", "0.0.0.0/0", "which no host can have");
	assert_refused("ipv4_network", "fd46:4c00::/32", "is not IPv4");
	assert_refused("ipv4_network", "100.64.0.0", "is no network");
	assert_refused("ipv4_network", "100.65.0.0/10", "100.64.0.0/10");
}

static void a_network_has_room_for_two_lanes_on_each_rail(void **state)
{
	const struct fairlead_setting list[] = {
		{ "ipv4_network", "10.0.0.0/19", 1 },
	};
	struct ethernet_networks networks;

	assert_refused("ipv4_network", "10.0.0.0/20", "a /20 is too small");
	assert_refused("ipv4_lane_size", "12", "a /10 is too small");
	assert_int_equal(settings_take(list, 1, &networks, NULL), 0);
	assert_int_equal(ethernet_ipv4_lanes(&networks), 2);
}

static void numbers_out_of_range_are_refused(void **state)
{
	assert_refused("ipv4_lane_size", "31", "from 8 to 30");
	assert_refused("ipv4_lane_size", "/22", "from 8 to 30");
	assert_refused("port", "1023", "from 1024 to 65500");
	assert_refused("port", "65501", "from 1024 to 65500");
	assert_refused("port", "4791", "4791 is RoCEv2's");
}

static void each_class_has_its_dscp(void **state)
{
	const struct fairlead_setting list[] = {
		{ "dscp_dedicated_access", "63", 1 },
		{ "dscp_best_effort", "0", 2 },
	};
	static const uint32_t expected[] = { 63, 32, 8, 0 };
	struct ethernet_settings values;

	assert_int_equal(read_all(list, 2, &values, NULL), 0);
	assert_memory_equal(values.dscp, expected, sizeof(expected));
}

static void a_dscp_has_six_bits(void **state)
{
	const struct fairlead_setting list[] = { { "dscp_bulk_data", "64",
						   7 } };
	struct fairlead_error error = { 0 };
	struct ethernet_settings values;

	assert_int_equal(read_all(list, 1, &values, &error), -EINVAL);
	assert_non_null(strstr(error.text, "line 7: 'dscp_bulk_data'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(networks_are_read),
		cmocka_unit_test(none_means_ipv6_only),
		cmocka_unit_test(ipv6_is_a_32_of_a_site_s_own),
		cmocka_unit_test(networks_that_hosts_need_are_refused),
		cmocka_unit_test(a_network_has_room_for_two_lanes_on_each_rail),
		cmocka_unit_test(numbers_out_of_range_are_refused),
		cmocka_unit_test(each_class_has_its_dscp),
		cmocka_unit_test(a_dscp_has_six_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
