/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/ethernet/members.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "fairlead_driver.h"

#define NAMES_MAX 16384

static char name_texts[NAMES_MAX][8];
static const char *names[NAMES_MAX];
static struct ethernet_place places[NAMES_MAX];

static struct ip_address ipv4_of(uint32_t host)
{
	return (struct ip_address){
		.family = 4,
		.bytes = { (uint8_t)(host >> 24), (uint8_t)(host >> 16),
			   (uint8_t)(host >> 8), (uint8_t)host },
	};
}

/* Nodes n0, n1, ... at 10.R.0.1, 10.R.0.2, ... */
static void places_fill(size_t count, uint8_t rails)
{
	for (uint32_t i = 0; i < count; i++) {
		places[i] = (struct ethernet_place){ .rail_count = rails };
		for (uint32_t rail = 0; rail < rails; rail++)
			places[i].rails[rail] = (struct ethernet_rail){
				.address = ipv4_of((10 << 24 | rail << 16) + 1 +
						   i),
				.mtu = 1500,
			};
	}
}

static struct ethernet_members make(size_t count)
{
	struct ethernet_members members = {
		.networks = ethernet_networks_default,
	};
	struct fairlead_error error = { 0 };

	members.networks.ipv4 = (struct ip_network){ 0 };
	if (ethernet_members_make(places, names, count, &members, &error) < 0)
		fail_msg("the places were refused: %s", error.text);
	return members;
}

static void assert_refused(size_t count, const char *part)
{
	struct ethernet_members members = {
		.networks = ethernet_networks_default,
	};
	struct fairlead_error error = { 0 };

	assert_int_equal(ethernet_members_make(places, names, count, &members,
					       &error),
			 -EINVAL);
	if (!strstr(error.text, part))
		fail_msg("'%s' is not in '%s'", part, error.text);
	assert_null(members.addresses);
	assert_int_equal(members.rail_count, 0);
}

/* Bytes that they take; they are read back the same. */
static size_t assert_travels(const struct ethernet_members *members)
{
	_auto_(freep) uint8_t *bytes = NULL;
	struct writer writer = { .limit = FAIRLEAD_MEMBERS_MAX };
	struct ethernet_members again;
	size_t size = 0;

	assert_int_equal(ethernet_members_encode(members, &writer), 0);
	bytes = writer_take(&writer, &size);
	assert_non_null(bytes);
	assert_int_equal(ethernet_members_decode(bytes, size, &again), 0);
	assert_int_equal(again.rail_count, members->rail_count);
	assert_memory_equal(again.rails, members->rails, sizeof(again.rails));
	assert_int_equal(again.lacking, members->lacking);
	assert_int_equal(again.node_count, members->node_count);
	assert_memory_equal(again.mtu, members->mtu, sizeof(again.mtu));
	assert_memory_equal(again.addresses, members->addresses,
			    sizeof(*again.addresses) * again.rail_count *
				    again.node_count);
	assert_true(ip_address_equal(&again.networks.ipv6.address,
				     &members->networks.ipv6.address));
	assert_true(ip_address_equal(&again.networks.ipv4.address,
				     &members->networks.ipv4.address));
	assert_int_equal(again.networks.ipv4.prefix_size,
			 members->networks.ipv4.prefix_size);
	assert_int_equal(again.networks.port, members->networks.port);
	ethernet_members_fini(&again);
	return size;
}

static int places_prepare(void **state)
{
	for (uint32_t i = 0; i < NAMES_MAX; i++) {
		snprintf(name_texts[i], sizeof(name_texts[i]), "n%u", i);
		names[i] = name_texts[i];
	}
	return 0;
}

/* --- places --- */

static const uint8_t golden_place[] = {
	2, 2, 4, 10, 0, 0, 1, 0xdc, 5, 6, 0xfd, 0, 0,    0,
	0, 0, 0, 0,  0, 0, 0, 0,    0, 0, 0,    1, 0x28, 0x23,
};

static void a_place_s_bytes_are_as_documented(void **state)
{
	struct ethernet_place place = {
		.rail_count = 2,
		.rails = { { ipv4_of(10 << 24 | 1), 1500 },
			   { { 6, { 0xfd, [15] = 1 } }, 9000 } },
	};
	_auto_(freep) uint8_t *bytes = NULL;
	struct writer writer = { 0 };
	struct ethernet_place again;
	size_t size = 0;

	assert_int_equal(ethernet_place_encode(&place, &writer), 0);
	bytes = writer_take(&writer, &size);
	assert_int_equal(size, sizeof(golden_place));
	assert_memory_equal(bytes, golden_place, size);
	assert_int_equal(ethernet_place_decode(bytes, size, &again), 0);
	assert_int_equal(again.rail_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_true(ip_address_equal(&again.rails[i].address,
					     &place.rails[i].address));
		assert_int_equal(again.rails[i].mtu, place.rails[i].mtu);
	}
}

static void a_place_keeps_the_number_of_a_rail_whose_nic_is_lacking(
	void **state)
{
	static const uint8_t bytes[] = { 2, 3, 0,    0, 0, 4, 10, 0,
					 0, 1, 0xdc, 5, 0, 0, 0 };
	static const uint8_t none[] = { 2, 1, 0, 0, 0 };
	struct writer writer = { 0 };
	struct ethernet_place place;

	assert_int_equal(ethernet_place_decode(bytes, sizeof(bytes), &place),
			 0);
	assert_int_equal(place.rail_count, 3);
	assert_int_equal(place.rails[0].address.family, 0);
	assert_int_equal(place.rails[1].address.family, 4);
	assert_int_equal(ethernet_place_encode(&place, &writer), 0);
	assert_int_equal(writer.size, sizeof(bytes));
	assert_memory_equal(writer.data, bytes, sizeof(bytes));
	writer_fini(&writer);
	assert_int_equal(ethernet_place_decode(none, sizeof(none), &place),
			 -EBADMSG);
}

static void the_largest_place_fits(void **state)
{
	struct ethernet_place place = { .rail_count = ETHERNET_RAILS_MAX };
	struct writer writer = { .limit = FAIRLEAD_PLACE_MAX };

	for (size_t i = 0; i < ETHERNET_RAILS_MAX; i++)
		place.rails[i].address.family = 6;
	assert_int_equal(ethernet_place_encode(&place, &writer), 0);
	assert_int_equal(writer.size, ETHERNET_PLACE_MAX);
	writer_fini(&writer);
}

static void assert_place_refused(const uint8_t *bytes, size_t size)
{
	struct ethernet_place place = { .rail_count = 77 };

	assert_int_equal(ethernet_place_decode(bytes, size, &place), -EBADMSG);
	assert_int_equal(place.rail_count, 77);
}

static void damaged_places_are_refused(void **state)
{
	uint8_t bytes[sizeof(golden_place) + 1] = { 0 };
	static const struct {
		size_t at;
		uint8_t value;
	} damages[] = { { 1, 0 }, { 1, 1 }, { 1, 5 },
			{ 2, 0 }, { 2, 5 }, { 2, 6 } };

	memcpy(bytes, golden_place, sizeof(golden_place));
	assert_place_refused(bytes, sizeof(bytes));
	for (size_t size = 0; size < sizeof(golden_place); size++)
		assert_place_refused(bytes, size);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		memcpy(bytes, golden_place, sizeof(golden_place));
		bytes[damages[i].at] = damages[i].value;
		assert_place_refused(bytes, sizeof(golden_place));
	}
}

/* --- members --- */

static const uint8_t golden_members[] = {
	2,    0xfd, 0x46, 0x4c, 0, 10, 100, 64,   0,  0, 22, 0xb5, 0x12, 1,
	0xaa, 5,    3,    0,    0, 0,  4,   0x02, 10, 0, 0,  1,    0x31, 9,
};

static void members_bytes_are_as_documented(void **state)
{
	struct ethernet_members members = {
		.networks = ethernet_networks_default,
	};
	struct writer writer = { 0 };

	places_fill(3, 1);
	places[2].rails[0].address = ipv4_of(10 << 24 | 9);
	assert_int_equal(
		ethernet_members_make(places, names, 3, &members, NULL), 0);
	assert_int_equal(ethernet_members_encode(&members, &writer), 0);
	assert_int_equal(writer.size, sizeof(golden_members));
	assert_memory_equal(writer.data, golden_members, writer.size);
	assert_travels(&members);
	writer_fini(&writer);
	ethernet_members_fini(&members);
}

static void a_lane_has_the_rails_that_every_node_has(void **state)
{
	struct ethernet_members members;

	places_fill(3, 4);
	places[1].rail_count = 2;
	members = make(3);
	assert_int_equal(members.rail_count, 2);
	assert_int_equal(members.node_count, 3);
	assert_true(ip_address_equal(&members.addresses[2 * 2 + 1],
				     &places[2].rails[1].address));
	assert_travels(&members);
	ethernet_members_fini(&members);
}

static void rails_keep_their_numbers_where_one_is_lacking(void **state)
{
	struct ethernet_members members;

	places_fill(3, 3);
	places[1].rails[0] = (struct ethernet_rail){ 0 };
	places[2].rails[2].mtu = 1400;
	members = make(3);
	assert_int_equal(members.rail_count, 2);
	assert_int_equal(members.rails[0], 1);
	assert_int_equal(members.rails[1], 2);
	assert_int_equal(members.lacking, 1);
	assert_int_equal(members.mtu[1], 1350);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(
			ip_address_equal(ethernet_members_at(&members, i, 1),
					 &places[i].rails[2].address));
	assert_travels(&members);
	ethernet_members_fini(&members);
	/* Who never had one lacks nothing. */
	places_fill(3, 3);
	places[1].rail_count = 1;
	members = make(3);
	assert_int_equal(members.rail_count, 1);
	assert_int_equal(members.lacking, 0);
	ethernet_members_fini(&members);
}

static void nodes_without_a_rail_in_common_have_no_lane(void **state)
{
	places_fill(4, 2);
	places[0].rail_count = 0;
	places[1].rails[1] = places[3].rails[0] = (struct ethernet_rail){ 0 };
	assert_refused(4, "node n3 can use rail 1 only, and those before it "
			  "rail 0");
	places_fill(2, 4);
	places[0].rails[1] = places[0].rails[3] = (struct ethernet_rail){ 0 };
	places[1].rails[0] = places[1].rails[2] = (struct ethernet_rail){ 0 };
	assert_refused(2, "node n1 can use rail 1, 3 only, and those before "
			  "it rail 0, 2");
}

static void nodes_without_rails_have_none_of_the_lane(void **state)
{
	struct ethernet_members members;

	places_fill(6, 4);
	places[0].rail_count = places[3].rail_count = 0;
	places[4].rail_count = 2;
	members = make(6);
	assert_int_equal(members.rail_count, 2);
	assert_int_equal(members.node_count, 6);
	assert_int_equal(ethernet_members_count(&members), 4);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(ethernet_members_has(&members, i),
				 i != 0 && i != 3);
	assert_true(ip_address_equal(&members.addresses[4 * 2 + 1],
				     &places[4].rails[1].address));
	assert_int_equal(members.mtu[0], 1450);
	assert_travels(&members);
	ethernet_members_fini(&members);
	/* The first node with an address decides which family is another. */
	places[1].rails[0].address =
		(struct ip_address){ 6, { 0xfd, [15] = 1 } };
	assert_refused(6, "node n1 has an IPv6 address on rail 0 and node n2 "
			  "an IPv4 one");
}

static void a_lane_of_nodes_without_rails_has_none(void **state)
{
	struct ethernet_members members;

	places_fill(3, 0);
	members = make(3);
	assert_int_equal(members.rail_count, 0);
	assert_int_equal(members.node_count, 3);
	assert_int_equal(ethernet_members_count(&members), 0);
	assert_travels(&members);
	ethernet_members_fini(&members);
}

static void gaps_of_every_length_are_read_back(void **state)
{
	struct ethernet_members members;

	for (uint32_t length = 1; length < 20; length++) {
		places_fill(60, 2);
		for (uint32_t i = 0; i < 60; i++) {
			if (i / length % 2 == 0)
				places[i].rail_count = 0;
		}
		members = make(60);
		assert_travels(&members);
		ethernet_members_fini(&members);
	}
	places_fill(NAMES_MAX, 1);
	for (uint32_t i = 1; i < NAMES_MAX; i++)
		places[i].rail_count = 0;
	members = make(NAMES_MAX);
	assert_true(assert_travels(&members) < 64);
	ethernet_members_fini(&members);
}

static void the_smallest_mtu_of_a_rail_counts(void **state)
{
	struct ethernet_members members;

	places_fill(3, 2);
	places[1].rails[0].mtu = 1400;
	places[2].rails[1].mtu = 9000;
	members = make(3);
	assert_int_equal(members.mtu[0], 1350);
	assert_int_equal(members.mtu[1], 1450);
	ethernet_members_fini(&members);
}

static void ipv6_underlays_take_more_of_the_mtu(void **state)
{
	struct ethernet_members members;

	places_fill(1, 1);
	places[0].rails[0].address =
		(struct ip_address){ 6, { 0xfd, [15] = 1 } };
	members = make(1);
	assert_int_equal(members.mtu[0], 1430);
	assert_travels(&members);
	ethernet_members_fini(&members);
}

static void places_that_do_not_go_together_are_refused_by_name(void **state)
{
	places_fill(3, 2);
	places[2].rails[1].address = places[1].rails[0].address;
	assert_refused(3, "nodes n1 and n2 both say that they are at 10.0.0.2");
	places_fill(3, 2);
	places[1].rails[1] = places[1].rails[0];
	assert_refused(3, "node n1 says twice that it is at 10.0.0.2");
	places_fill(3, 2);
	places[1].rails[1].address =
		(struct ip_address){ 6, { 0xfd, [15] = 1 } };
	assert_refused(3, "node n0 has an IPv4 address on rail 1 and node n1 "
			  "an IPv6 one");
	places_fill(3, 2);
	places[2].rails[1].mtu = 1329;
	assert_refused(3, "node n2 has an MTU of 1329 on rail 1, a lane needs "
			  "1330");
}

static void addresses_that_others_cannot_reach_are_refused(void **state)
{
	static const char *const texts[] = { "127.0.0.1", "0.0.0.0",
					     "224.0.0.1", "::1",
					     "::",        "fe80::1",
					     "ff02::1",   "255.255.255.255" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct ip_address address;

		places_fill(1, 1);
		assert_true(ip_address_parse(texts[i], &address));
		places[0].rails[0].address = address;
		assert_refused(1, texts[i]);
		assert_refused(1, "node n0 has the address");
	}
}

static void a_lane_has_no_more_nodes_than_addresses(void **state)
{
	struct ethernet_members members = {
		.networks = ethernet_networks_default,
	};

	places_fill(1023, 1);
	assert_refused(1023, "1023 nodes are more than the 1022");
	assert_refused(0, "1 to 65534 nodes, not 0");
	assert_refused(65535, "1 to 65534 nodes, not 65535");
	assert_int_equal(
		ethernet_members_make(places, names, 1022, &members, NULL), 0);
	ethernet_members_fini(&members);
}

static void nodes_in_a_row_take_few_bytes(void **state)
{
	struct ethernet_members members;

	places_fill(NAMES_MAX, 4);
	members = make(NAMES_MAX);
	assert_true(assert_travels(&members) < 64);
	ethernet_members_fini(&members);
}

static void ten_thousand_nodes_at_random_fit(void **state)
{
	struct ethernet_members members;

	places_fill(10000, 2);
	for (uint32_t i = 0; i < 20000; i++) {
		/* Odd multipliers reach each value once. */
		uint32_t host = i * 2654435761u % (100u << 24) + (1u << 24);

		places[i / 2].rails[i % 2].address = ipv4_of(host);
	}
	members = make(10000);
	assert_true(assert_travels(&members) > 64 * 1024);
	ethernet_members_fini(&members);
}

static void runs_of_every_length_are_read_back(void **state)
{
	struct ethernet_members members;

	for (uint32_t length = 1; length < 20; length++) {
		places_fill(60, 1);
		for (uint32_t i = 0; i < 60; i++)
			places[i].rails[0].address =
				ipv4_of((10 << 24) + i + i / length * 100 + 1);
		members = make(60);
		assert_travels(&members);
		ethernet_members_fini(&members);
	}
}

static void members_that_are_too_large_are_not_cut(void **state)
{
	struct writer writer = { .limit = 20 };
	struct ethernet_members members;

	places_fill(3, 1);
	members = make(3);
	assert_int_equal(ethernet_members_encode(&members, &writer), -EMSGSIZE);
	writer_fini(&writer);
	ethernet_members_fini(&members);
}

static void assert_members_refused(const uint8_t *bytes, size_t size)
{
	struct ethernet_members members = { .node_count = 77 };

	assert_int_equal(ethernet_members_decode(bytes, size, &members),
			 -EBADMSG);
	assert_int_equal(members.node_count, 77);
}

static void damaged_members_are_refused(void **state)
{
	uint8_t bytes[sizeof(golden_members) + 1] = { 0 };
	static const struct {
		const char *what;
		size_t at;
		uint8_t value;
	} damages[] = {
		{ "prefix", 5, 33 },
		{ "bits behind the prefix", 9, 1 },
		{ "no room for rails", 10, 11 },
		{ "lanes of too few addresses", 10, 31 },
		{ "port", 12, 0 },
		{ "addresses of no rail", 13, 0 },
		{ "another count of rails", 13, 5 },
		{ "a rail that nodes lack", 13, 0x11 },
		{ "mtu", 15, 4 },
		{ "no node", 16, 0 },
		{ "too many nodes", 18, 1 },
		{ "more nodes than IPv4 addresses", 17, 4 },
		{ "family", 20, 5 },
		{ "no address in a run", 21, 0x00 },
		{ "a gap that is too long", 26, 0x20 },
		{ "a run that is too long", 21, 0x04 },
		{ "more same bytes than there are", 26, 0x41 },
	};

	memcpy(bytes, golden_members, sizeof(golden_members));
	assert_members_refused(bytes, sizeof(bytes));
	for (size_t size = 0; size < sizeof(golden_members); size++)
		assert_members_refused(bytes, size);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		memcpy(bytes, golden_members, sizeof(golden_members));
		bytes[damages[i].at] = damages[i].value;
		print_message("%s\n", damages[i].what);
		assert_members_refused(bytes, sizeof(golden_members));
	}
}

/* Version 1 had a count of rails where their bits are now. */
static void other_versions_are_distinguished_from_damage(void **state)
{
	static const uint8_t versions[] = { 0, 1, 3, 255 };
	uint8_t place[sizeof(golden_place)];
	uint8_t bytes[sizeof(golden_members)];
	struct ethernet_place decoded = { .rail_count = 77 };
	struct ethernet_members members = { .node_count = 77 };

	memcpy(place, golden_place, sizeof(place));
	memcpy(bytes, golden_members, sizeof(bytes));
	for (size_t i = 0; i < sizeof(versions); i++) {
		place[0] = bytes[0] = versions[i];
		assert_int_equal(ethernet_place_decode(place, sizeof(place),
						       &decoded),
				 -EPROTONOSUPPORT);
		assert_int_equal(ethernet_members_decode(bytes, sizeof(bytes),
							 &members),
				 -EPROTONOSUPPORT);
	}
	assert_int_equal(decoded.rail_count, 77);
	assert_int_equal(members.node_count, 77);
}

static void a_run_does_not_pass_the_last_address(void **state)
{
	uint8_t bytes[sizeof(golden_members)];

	memcpy(bytes, golden_members, sizeof(bytes));
	memset(bytes + 22, 0xff, 4);
	assert_members_refused(bytes, sizeof(bytes));
}

/* Two nodes on two rails; rest: of each rail its family and runs. */
static void assert_rails_refused(const uint8_t *rest, size_t size)
{
	static const uint8_t head[] = { 2,    0xfd, 0x46, 0x4c, 0, 0,
					0xb5, 0x12, 3,    0xaa, 5, 0xaa,
					5,    2,    0,    0,    0 };
	uint8_t bytes[64];

	memcpy(bytes, head, sizeof(head));
	memcpy(bytes + sizeof(head), rest, size);
	assert_members_refused(bytes, sizeof(head) + size);
}

static void a_node_has_all_rails_or_none(void **state)
{
	static const uint8_t none[] = { 4, 0x20, 4, 0x20 };
	static const uint8_t apart[] = { 4, 0x01, 10,   0,  0, 1, 0x10,
					 4, 0x10, 0x01, 10, 1, 0, 1 };
	static const uint8_t one_rail[] = { 4,    0x02, 10, 0, 0, 1,   4,
					    0x01, 10,   1,  0, 1, 0x10 };

	assert_rails_refused(none, sizeof(none));
	assert_rails_refused(apart, sizeof(apart));
	assert_rails_refused(one_rail, sizeof(one_rail));
}

static void a_lane_without_rails_lacks_none(void **state)
{
	uint8_t bytes[] = {
		2, 0xfd, 0x46, 0x4c, 0, 0, 0xb5, 0x12, 0, 3, 0, 0, 0
	};
	struct ethernet_members members;

	assert_int_equal(
		ethernet_members_decode(bytes, sizeof(bytes), &members), 0);
	ethernet_members_fini(&members);
	bytes[8] = 0x10;
	assert_members_refused(bytes, sizeof(bytes));
}

static void the_port_of_rocev2_is_refused(void **state)
{
	uint8_t bytes[sizeof(golden_members)];

	memcpy(bytes, golden_members, sizeof(bytes));
	bytes[11] = 4791 & 0xff;
	bytes[12] = 4791 >> 8;
	assert_members_refused(bytes, sizeof(bytes));
}

static void a_length_that_fits_in_the_head_is_not_written_apart(void **state)
{
	uint8_t bytes[sizeof(golden_members)];

	memcpy(bytes, golden_members, 21);
	memcpy(bytes + 21, (const uint8_t[]){ 0x0f, 3, 0, 10, 0, 0, 1 }, 7);
	assert_members_refused(bytes, sizeof(bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_s_bytes_are_as_documented),
		cmocka_unit_test(
			a_place_keeps_the_number_of_a_rail_whose_nic_is_lacking),
		cmocka_unit_test(the_largest_place_fits),
		cmocka_unit_test(damaged_places_are_refused),
		cmocka_unit_test(members_bytes_are_as_documented),
		cmocka_unit_test(a_lane_has_the_rails_that_every_node_has),
		cmocka_unit_test(rails_keep_their_numbers_where_one_is_lacking),
		cmocka_unit_test(nodes_without_a_rail_in_common_have_no_lane),
		cmocka_unit_test(nodes_without_rails_have_none_of_the_lane),
		cmocka_unit_test(a_lane_of_nodes_without_rails_has_none),
		cmocka_unit_test(gaps_of_every_length_are_read_back),
		cmocka_unit_test(the_smallest_mtu_of_a_rail_counts),
		cmocka_unit_test(ipv6_underlays_take_more_of_the_mtu),
		cmocka_unit_test(
			places_that_do_not_go_together_are_refused_by_name),
		cmocka_unit_test(
			addresses_that_others_cannot_reach_are_refused),
		cmocka_unit_test(a_lane_has_no_more_nodes_than_addresses),
		cmocka_unit_test(nodes_in_a_row_take_few_bytes),
		cmocka_unit_test(ten_thousand_nodes_at_random_fit),
		cmocka_unit_test(runs_of_every_length_are_read_back),
		cmocka_unit_test(members_that_are_too_large_are_not_cut),
		cmocka_unit_test(damaged_members_are_refused),
		cmocka_unit_test(other_versions_are_distinguished_from_damage),
		cmocka_unit_test(a_run_does_not_pass_the_last_address),
		cmocka_unit_test(a_node_has_all_rails_or_none),
		cmocka_unit_test(a_lane_without_rails_lacks_none),
		cmocka_unit_test(the_port_of_rocev2_is_refused),
		cmocka_unit_test(
			a_length_that_fits_in_the_head_is_not_written_apart),
	};

	return cmocka_run_group_tests(tests, places_prepare, NULL);
}
