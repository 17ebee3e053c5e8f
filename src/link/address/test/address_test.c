/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/address/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static uint8_t bytes[LINK_ADDRESS_SIZE];
static struct link_address back;
static struct fairlead_error error;

static struct rail_address ipv4(const char *host, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(port) };
	struct rail_address rail = { .size = sizeof(in) };
	assert_int_equal(inet_pton(AF_INET, host, &in.sin_addr), 1);
	memcpy(rail.bytes, &in, sizeof(in));
	return rail;
}

static struct rail_address ipv6(const char *host, uint16_t port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(port) };
	struct rail_address rail = { .size = sizeof(in6) };
	assert_int_equal(inet_pton(AF_INET6, host, &in6.sin6_addr), 1);
	memcpy(rail.bytes, &in6, sizeof(in6));
	return rail;
}

static struct rail_address other(uint8_t size)
{
	struct rail_address rail = { .size = size };
	memset(rail.bytes, 0xc5, size);
	return rail;
}

static struct link_address sample(void)
{
	return (struct link_address){ .flags = LINK_HAS_LOCAL | LINK_READS |
					       LINK_WANTS_EVENTS,
				      .digest = 0x01020304,
				      .number = UINT64_C(0x1122334455667788),
				      .node = UINT64_C(0x99aabbccddeeff00) };
}

/* Encodes, and decodes again: `count` of the rails come back. */
static void comes_back(struct link_address *address, unsigned int count)
{
	assert_int_equal(link_address_encode(address, bytes), count);
	memset(&back, 0xff, sizeof(back));
	assert_int_equal(link_address_decode(bytes, &back, &error), 0);
	address->known_count = count;
	for (unsigned int i = count; i < RAILS_MAX; i++)
		memset(&address->rails[i], 0, sizeof(address->rails[i]));
	assert_memory_equal(&back, address, sizeof(back));
}

static void what_is_put_in_comes_out(void **state)
{
	struct link_address address = sample();
	comes_back(&address, 0);

	address.rail_count = 2;
	address.rails[0] = ipv4("10.1.2.3", 4711);
	address.rails[1] = ipv6("fd00::1", 65535);
	comes_back(&address, 2);

	address.rails[0] = ipv6("fd00::1", 1);
	address.rails[1] = ipv6("fd00::2", 2);
	comes_back(&address, 2);

	address.rail_count = 1;
	address.rails[0] = other(8);
	comes_back(&address, 1);
}

static void what_does_not_fit_is_counted(void **state)
{
	struct link_address address = sample();
	address.rail_count = RAILS_MAX;
	for (unsigned int i = 0; i < RAILS_MAX; i++)
		address.rails[i] = ipv4("10.0.0.1", (uint16_t)i);
	comes_back(&address, 6);
	assert_int_equal(back.rail_count, RAILS_MAX);
}

static void a_first_rail_that_does_not_fit_is_an_error(void **state)
{
	struct link_address address = sample();
	address.rail_count = 1;
	address.rails[0] = other(37);
	comes_back(&address, 1);
	address.rails[0] = other(38);
	assert_int_equal(link_address_encode(&address, bytes), -EMSGSIZE);
}

static void is_refused(const char *because)
{
	struct link_address before;
	memset(&back, 0x55, sizeof(back));
	before = back;
	assert_int_equal(link_address_decode(bytes, &back, &error), -EINVAL);
	assert_memory_equal(&back, &before, sizeof(back));
	assert_non_null(strstr(error.text, because));
}

static void other_bytes_are_refused(void **state)
{
	static const struct {
		unsigned int at;
		uint8_t bits;
		const char *because;
	} damages[] = {
		{ 0, 1, "no address of the provider fairlead" },
		{ 1, 3, "version 2, where this provider knows 1" },
		{ 2, 16, "damaged" }, /* a name with more than that */
		{ 2, 32, "damaged" }, /* an unknown flag */
		{ 3, 2, "damaged" },  /* none given, of one */
		{ 3, 1, "damaged" },  /* three given, of two */
		{ 4, 12, "damaged" }, /* a kind that there is not */
		{ 5, 1, "damaged" },  /* the kind of a rail that is not given */
		{ 63, 1, "damaged" }, /* something after the end */
	};
	struct link_address address = sample();
	address.rail_count = 2;
	address.rails[0] = ipv4("10.1.2.3", 1);
	address.rails[1] = ipv4("10.1.2.4", 2);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		assert_int_equal(link_address_encode(&address, bytes), 2);
		bytes[damages[i].at] ^= damages[i].bits;
		if (damages[i].at == 3)
			bytes[3] = damages[i].bits == 2 ? 0x10 : 0x23;
		is_refused(damages[i].because);
	}
}

/* One rail has one form: as bytes of its own an IPv4 address is none. */
static void a_socket_address_is_not_written_out(void **state)
{
	struct link_address address = sample();
	struct rail_address rail = ipv4("10.1.2.3", 1);
	address.rail_count = 1;
	address.rails[0] = other(sizeof(struct sockaddr_in));
	assert_int_equal(link_address_encode(&address, bytes), 1);
	memcpy(bytes + 27, rail.bytes, rail.size);
	is_refused("damaged");
}

static void a_name_comes_back(void **state)
{
	struct rail_address place = ipv4("10.1.2.3", 9228);
	struct link_address name;

	link_address_name(&name, 77, &place);
	comes_back(&name, 1);
	link_address_name(&name, 77, NULL);
	name.number = link_address_number(5, "9228");
	assert_int_not_equal(name.number, 0);
	assert_int_equal(name.number >> 63, 0);
	assert_int_not_equal(name.number, link_address_number(5, "9229"));
	assert_int_not_equal(name.number, link_address_number(6, "9228"));
	comes_back(&name, 0);
}

static void a_name_with_more_than_that_is_refused(void **state)
{
	struct rail_address place = ipv4("10.1.2.3", 9228);
	struct link_address name;

	link_address_name(&name, 77, &place);
	name.node = 1;
	assert_int_equal(link_address_encode(&name, bytes), 1);
	is_refused("damaged");
	name.node = 0;
	name.number = 1;
	assert_int_equal(link_address_encode(&name, bytes), 1);
	is_refused("damaged");
	name.number = 0;
	name.rails[1] = place;
	name.rail_count = 2;
	assert_int_equal(link_address_encode(&name, bytes), 2);
	is_refused("damaged");
}

static void both_sides_agree_on_who_is_local(void **state)
{
	struct link_address a = sample(), b = sample();
	for (unsigned int flags = 0; flags < 64; flags++) {
		a.flags = flags & 7;
		b.flags = flags >> 3 | LINK_WANTS_EVENTS;
		for (b.node = a.node; b.node <= a.node + 1; b.node++) {
			bool want = flags == 63 && a.node == b.node;
			assert_int_equal(link_address_is_local(&a, &b), want);
			assert_int_equal(link_address_is_local(&b, &a), want);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_in_comes_out),
		cmocka_unit_test(what_does_not_fit_is_counted),
		cmocka_unit_test(a_first_rail_that_does_not_fit_is_an_error),
		cmocka_unit_test(other_bytes_are_refused),
		cmocka_unit_test(a_socket_address_is_not_written_out),
		cmocka_unit_test(a_name_comes_back),
		cmocka_unit_test(a_name_with_more_than_that_is_refused),
		cmocka_unit_test(both_sides_agree_on_who_is_local),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
