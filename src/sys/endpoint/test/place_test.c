/* SPDX-License-Identifier: BSD-3-Clause */
/* Against the addresses of the machine that runs it, which are read here too. */
#include "sys/endpoint/place.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *text_of(const struct sockaddr *address,
			   char text[INET6_ADDRSTRLEN])
{
	const void *bytes =
		address->sa_family == AF_INET6
			? (const void *)&((const struct sockaddr_in6 *)address)
				  ->sin6_addr
			: &((const struct sockaddr_in *)address)->sin_addr;

	return inet_ntop(address->sa_family, bytes, text, INET6_ADDRSTRLEN);
}

/* IPv4 addresses that other machines could use: how many; the first one. */
static int externals(char first[INET6_ADDRSTRLEN])
{
	struct ifaddrs *addresses;
	int count = 0;

	assert_int_equal(getifaddrs(&addresses), 0);
	for (struct ifaddrs *each = addresses; each; each = each->ifa_next) {
		if (each->ifa_addr && each->ifa_addr->sa_family == AF_INET &&
		    (each->ifa_flags & IFF_UP) &&
		    strncmp(each->ifa_name, "fl", 2) != 0 &&
		    !(each->ifa_flags & IFF_LOOPBACK) && count++ == 0)
			text_of(each->ifa_addr, first);
	}
	freeifaddrs(addresses);
	return count;
}

static void assert_place(const char *listen, const char *bound,
			 const char *host, uint16_t port)
{
	const struct place_terms terms = { listen, bound, "" };
	struct fairlead_error error;
	struct endpoint_place place;

	if (place_choose(&terms, &place, &error) < 0)
		fail_msg("%s", error.text);
	assert_string_equal(place.host, host);
	assert_int_equal(place.port, port);
}

static void assert_refused(const char *listen, const char *bound, int result,
			   const char *part)
{
	const struct place_terms terms = { listen, bound, "" };
	struct fairlead_error error;
	struct endpoint_place place;

	assert_int_equal(place_choose(&terms, &place, &error), result);
	if (strstr(error.text, part) == NULL)
		fail_msg("'%s' is not in '%s'", part, error.text);
}

static void without_listen_it_is_where_we_are_bound(void **state)
{
	assert_place("", "127.0.0.1", "127.0.0.1", 0);
}

static void address_is_taken_as_it_is(void **state)
{
	assert_place("127.0.0.1", "0.0.0.0", "127.0.0.1", 0);
	assert_place("127.0.0.1:7172", "0.0.0.0", "127.0.0.1", 7172);
}

static void interface_stands_for_its_address(void **state)
{
	assert_place("lo", "0.0.0.0", "127.0.0.1", 0);
	assert_place("lo:7172", "127.0.0.1", "127.0.0.1", 7172);
}

static void listen_needs_nothing_else(void **state)
{
	assert_place("127.0.0.1:7172", "", "127.0.0.1", 7172);
	assert_place("lo", "head", "127.0.0.1", 0);
	assert_refused("", "head", -EINVAL, "'listen'");
}

static void what_is_not_here_is_refused_with_a_hint(void **state)
{
	assert_refused("192.0.2.1", "0.0.0.0", -EADDRNOTAVAIL,
		       "no address of this machine");
	assert_refused("fl-none", "0.0.0.0", -ENODEV, "no interface 'fl-none'");
	assert_refused("0.0.0.0", "127.0.0.1", -EINVAL, "does not say");
	assert_refused("::", "127.0.0.1", -EINVAL, "does not say");
	assert_refused("", "192.0.2.1", -EADDRNOTAVAIL, "'listen'");
	assert_refused("lo:port", "127.0.0.1", -EINVAL, "port");
}

/* What it is depends on the machine: none, one, or several. */
static void wildcard_is_the_only_address_and_never_a_guess(void **state)
{
	char first[INET6_ADDRSTRLEN] = "127.0.0.1";

	if (externals(first) > 1)
		assert_refused("", "0.0.0.0", -ENOTUNIQ, "'listen'");
	else
		assert_place("", "0.0.0.0", first, 0);
}

static void wildcard_with_a_name_is_where_the_name_is(void **state)
{
	char first[INET6_ADDRSTRLEN] = "";
	struct place_terms terms = { "", "0.0.0.0", first };
	struct endpoint_place place;

	if (externals(first) == 0) {
		print_message("only loopback here: nothing has a name\n");
		skip();
	}
	assert_int_equal(place_choose(&terms, &place, NULL), 0);
	assert_string_equal(place.host, first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_listen_it_is_where_we_are_bound),
		cmocka_unit_test(address_is_taken_as_it_is),
		cmocka_unit_test(interface_stands_for_its_address),
		cmocka_unit_test(listen_needs_nothing_else),
		cmocka_unit_test(what_is_not_here_is_refused_with_a_hint),
		cmocka_unit_test(
			wildcard_is_the_only_address_and_never_a_guess),
		cmocka_unit_test(wildcard_with_a_name_is_where_the_name_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
