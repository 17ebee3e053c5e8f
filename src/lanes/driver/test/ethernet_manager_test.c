/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/ethernet/ethernet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/settings.h"
#include "lanes/driver/ethernet/members.h"

static const struct fairlead_manager_ops *const ops = &ethernet_manager_ops;

#define LIST(...) ((const struct fairlead_setting[]){ __VA_ARGS__ })
#define CONFIGURE(ret_state, ret_error, ...)                 \
	ops->configure(LIST(__VA_ARGS__),                    \
		       sizeof(LIST(__VA_ARGS__)) /           \
			       sizeof(LIST(__VA_ARGS__)[0]), \
		       ret_state, ret_error)

static const char *const node_names[] = { "n3", "n4", "n7" };

static void *configured(const struct fairlead_setting *list, size_t count)
{
	struct fairlead_error error = { 0 };
	void *state = NULL;

	if (ops->configure(list, count, &state, &error) < 0)
		fail_msg("the settings were refused: %s", error.text);
	return state;
}

static void assert_part(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text);
}

static void assert_refused(const struct fairlead_setting *list, size_t count,
			   const char *part)
{
	struct fairlead_error error = { 0 };
	void *state = NULL;

	assert_int_equal(ops->configure(list, count, &state, &error), -EINVAL);
	assert_null(state);
	assert_part(error.text, part);
}

static struct fairlead_plan reserve(void *state, const char *options)
{
	struct fairlead_driver_request request = {
		.key = "s/1/0",
		.options = options,
		.node_count = 3,
		.nodes = node_names,
	};
	struct fairlead_error error = { 0 };
	struct fairlead_plan plan = { 0 };

	if (ops->reserve(state, &request, &plan, &error) < 0)
		fail_msg("'%s' was refused: %s", options, error.text);
	return plan;
}

/* --- settings --- */

static void a_pool_has_vnis_of_24_bits(void **state)
{
	struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX];
	void *data = configured(LIST({ "vni_pool", "1-3,16777215", 1 }), 1);

	assert_int_equal(ops->pools(data, specs), 1);
	assert_string_equal(specs[0].universe, "1-3,16777215");
	ops->destroy(data);
	assert_refused(LIST({ "vni_pool", "0-5", 9 }), 1,
		       "line 9: 'vni_pool': '0-5' has VNI 0, which is no VNI; "
		       "the pool must be within 1-16777215");
	assert_refused(LIST({ "vni_pool", "1-16777216", 9 }), 1,
		       "is no id set");
	assert_refused(LIST({ "vni_pool", "abc", 9 }), 1, "is no id set");
	assert_refused(LIST({ "vni_pool", "", 9 }), 1, "must not be empty");
}

static void two_vnis_with_one_ipv4_network_are_refused(void **state)
{
	assert_refused(LIST({ "vni_pool", "4000-4010,5034", 9 }), 1,
		       "line 9: 'vni_pool': VNIs 4010 and 5034 would have one "
		       "IPv4 network: 100.64.0.0/10 has 1024 lanes of /22");
	assert_refused(LIST({ "ipv4_network", "10.0.0.0/12", 9 }), 1,
		       "line 9: 'ipv4_network': VNIs 4096 and 4352 would");
	assert_refused(LIST({ "ipv4_lane_size", "21", 9 }), 1,
		       "line 9: 'ipv4_lane_size': VNIs 4096 and 4608 would");
}

static void what_is_advised_against_it_helps(void **state)
{
	static const struct fairlead_setting pool = { "vni_pool", "4096-6143",
						      1 };

	assert_refused(&pool, 1, "or ipv4_network none");
	ops->destroy(
		configured(LIST(pool, { "ipv4_network", "10.0.0.0/8", 2 }), 2));
	ops->destroy(configured(LIST(pool, { "ipv4_lane_size", "23", 2 }), 2));
	ops->destroy(configured(LIST(pool, { "ipv4_network", "none", 2 }), 2));
	ops->destroy(configured(LIST({ "vni_pool", "4096-5119", 1 }), 1));
}

static void all_errors_are_reported_at_once(void **state)
{
	struct fairlead_error error = { 0 };
	void *data = NULL;

	assert_int_equal(CONFIGURE(&data, &error, { "vni_pool", "0", 1 },
				   { "default_vnis", "5", 2 },
				   { "reserve_fatal", "perhaps", 3 },
				   { "traffic_classes", "ETH", 4 },
				   { "isolation", "vm", 5 },
				   { "rate_max", "x", 6 },
				   { "ipv4_network", "x", 7 },
				   { "port", "1", 8 }, { "vni_pol", "1", 9 }),
			 -EINVAL);
	assert_null(data);
	for (char line[] = "line 1: "; line[5] <= '9'; line[5]++)
		assert_part(error.text, line);
}

static void settings_of_the_nodes_are_checked_too(void **state)
{
	struct fairlead_error error = { 0 };
	void *data = NULL;

	assert_int_equal(CONFIGURE(&data, &error, { "devices", "", 1 },
				   { "bpf_pins", "relative", 2 },
				   { "shaping", "perhaps", 3 },
				   { "dscp_bulk_data", "64", 4 }),
			 -EINVAL);
	for (char line[] = "line 1: "; line[5] <= '4'; line[5]++)
		assert_part(error.text, line);
}

static void a_node_reads_the_networks_and_not_the_pool(void **state)
{
	static const struct {
		const char *name;
		bool is_node;
	} cases[] = {
		{ "vni_pool", false },
		{ "ipv4_network", true },
		/* By it a node says what it lacks. */
		{ "isolation", true },
	};

	for (size_t i = 0; i < 3; i++) {
		const struct fairlead_setting_spec *spec =
			ethernet_settings.specs;

		while (strcmp(spec->name, cases[i].name) != 0)
			spec++;
		assert_int_equal((spec->flags &
				  FAIRLEAD_SETTING_RESTART_NODE) != 0,
				 cases[i].is_node);
	}
}

/* --- reservations --- */

static void the_site_s_policy_travels_in_the_options(void **state)
{
	void *data = configured(LIST({ "traffic_classes", "BULK_DATA", 1 },
				     { "isolation", "netns", 2 },
				     { "rate_reserved", "1G", 3 },
				     { "rate_max", "25G", 4 }),
				4);

	assert_string_equal(reserve(data, "").options,
			    "vnis=1,tcs=BULK_DATA,isolation=netns,"
			    "reserved=1G,max=25G");
	ops->destroy(data);
}

static void isolations_that_the_site_does_not_have_are_refused(void **state)
{
	struct fairlead_driver_request request = {
		.options = "isolation=netns",
		.node_count = 1,
	};
	/* By default, as on nodes with the unit that is shipped. */
	void *data = configured(NULL, 0);
	struct fairlead_error error = { 0 };
	struct fairlead_plan plan;

	assert_int_equal(ops->reserve(data, &request, &plan, &error), -EINVAL);
	assert_part(error.text, "'netns' is not one that jobs can have here");
	ops->destroy(data);
	data = configured(LIST({ "isolation", "host,netns", 1 }), 1);
	assert_string_equal(reserve(data, "isolation=netns").options,
			    "vnis=1,tcs=LOW_LATENCY:BEST_EFFORT,"
			    "isolation=netns");
	ops->destroy(data);
}

static void more_nodes_than_addresses_are_refused(void **state)
{
	struct fairlead_driver_request request = { .options = "" };
	struct fairlead_error error = { 0 };
	struct fairlead_plan plan;
	void *data = configured(NULL, 0);

	request.node_count = 1022;
	assert_int_equal(ops->reserve(data, &request, &plan, &error), 0);
	request.node_count = 1023;
	assert_int_equal(ops->reserve(data, &request, &plan, &error), -EINVAL);
	assert_part(error.text, "ipv4_lane_size");
	request.options = "off";
	assert_int_equal(ops->reserve(data, &request, &plan, &error), 0);
	ops->destroy(data);
	data = configured(LIST({ "ipv4_network", "none", 1 }), 1);
	request.options = "";
	request.node_count = ETHERNET_NODES_MAX;
	assert_int_equal(ops->reserve(data, &request, &plan, &error), 0);
	request.node_count++;
	assert_int_equal(ops->reserve(data, &request, &plan, &error), -EINVAL);
	ops->destroy(data);
}

/* --- places --- */

static struct fairlead_place place_at(uint8_t last_byte)
{
	struct ethernet_place place = {
		.rail_count = 1,
		.rails = { { { 4, { 10, 77, 0, last_byte } }, 1500 } },
	};
	struct fairlead_place bytes = { 0 };
	struct writer writer = { 0 };

	assert_int_equal(ethernet_place_encode(&place, &writer), 0);
	memcpy(bytes.bytes, writer.data, writer.size);
	bytes.size = writer.size;
	writer_fini(&writer);
	return bytes;
}

static int assemble(void *state, const struct fairlead_place *places,
		    uint8_t **ret_bytes, size_t *ret_size,
		    struct fairlead_error *error)
{
	struct fairlead_lane lane = { .id_count = 1, .ids = { 4096 } };

	return ops->assemble(state, &lane, node_names, places, 3, ret_bytes,
			     ret_size, error);
}

static void members_have_the_places_in_order_and_the_networks(void **state)
{
	const struct fairlead_place places[] = { place_at(3), place_at(1),
						 place_at(2) };
	void *data = configured(LIST({ "port", "8472", 1 }), 1);
	_auto_(freep) uint8_t *bytes = NULL;
	struct ethernet_members members;
	size_t size = 0;

	assert_int_equal(assemble(data, places, &bytes, &size, NULL), 0);
	assert_int_equal(ethernet_members_decode(bytes, size, &members), 0);
	assert_int_equal(members.networks.port, 8472);
	assert_int_equal(members.node_count, 3);
	assert_int_equal(members.addresses[0].bytes[3], 3);
	assert_int_equal(members.addresses[1].bytes[3], 1);
	assert_int_equal(members.addresses[2].bytes[3], 2);
	ethernet_members_fini(&members);
	ops->destroy(data);
}

static void a_node_without_a_place_is_named(void **state)
{
	struct fairlead_place places[] = { place_at(1), { 0 }, place_at(2) };
	struct fairlead_error error = { 0 };
	void *data = configured(NULL, 0);
	uint8_t *bytes = NULL;
	size_t size;

	assert_int_equal(assemble(data, places, &bytes, &size, &error),
			 -EINVAL);
	assert_null(bytes);
	assert_string_equal(
		error.text,
		"node n4 has not reported its addresses; is its driver "
		"ethernet usable?");
	places[1] = place_at(3);
	places[1].bytes[1] = 77;
	assert_int_equal(assemble(data, places, &bytes, &size, &error),
			 -EINVAL);
	assert_part(error.text, "the addresses that node n4 reports cannot be");
	places[1].bytes[0] = 1;
	assert_int_equal(assemble(data, places, &bytes, &size, &error),
			 -EINVAL);
	assert_part(error.text,
		    "node n4 reports its addresses in version 1, and the "
		    "manager's is 2: update fairlead on the node");
	places[1].bytes[0] = 3;
	assert_int_equal(assemble(data, places, &bytes, &size, &error),
			 -EINVAL);
	assert_part(error.text, "update fairlead on the manager's host");
	places[1] = place_at(2);
	assert_int_equal(assemble(data, places, &bytes, &size, &error),
			 -EINVAL);
	assert_part(error.text, "nodes n4 and n7 both");
	ops->destroy(data);
}

#define MANY 10000

static void addresses_that_do_not_fit_are_refused(void **state)
{
	static struct fairlead_place places[MANY];
	static const char *names[MANY];
	void *data = configured(LIST({ "ipv4_network", "none", 1 }), 1);
	struct fairlead_lane lane = { .id_count = 1, .ids = { 4096 } };
	struct fairlead_error error = { 0 };
	uint8_t *bytes = NULL;
	size_t size;

	for (uint32_t i = 0; i < MANY; i++) {
		struct ethernet_place place = {
			.rail_count = 1,
			.rails = { { { 6, { 0xfd } }, 1500 } },
		};
		struct writer writer = { 0 };
		uint32_t far = i * 2654435761u;

		memcpy(place.rails[0].address.bytes + 1, &far, sizeof(far));
		ethernet_place_encode(&place, &writer);
		memcpy(places[i].bytes, writer.data, writer.size);
		places[i].size = writer.size;
		writer_fini(&writer);
		names[i] = "n";
	}
	assert_int_equal(ops->assemble(data, &lane, names, places, MANY, &bytes,
				       &size, &error),
			 -EMSGSIZE);
	assert_null(bytes);
	assert_part(error.text, "10000 nodes on 1 rails take more than 131072");
	ops->destroy(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pool_has_vnis_of_24_bits),
		cmocka_unit_test(two_vnis_with_one_ipv4_network_are_refused),
		cmocka_unit_test(what_is_advised_against_it_helps),
		cmocka_unit_test(all_errors_are_reported_at_once),
		cmocka_unit_test(settings_of_the_nodes_are_checked_too),
		cmocka_unit_test(a_node_reads_the_networks_and_not_the_pool),
		cmocka_unit_test(the_site_s_policy_travels_in_the_options),
		cmocka_unit_test(
			isolations_that_the_site_does_not_have_are_refused),
		cmocka_unit_test(more_nodes_than_addresses_are_refused),
		cmocka_unit_test(
			members_have_the_places_in_order_and_the_networks),
		cmocka_unit_test(a_node_without_a_place_is_named),
		cmocka_unit_test(addresses_that_do_not_fit_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
