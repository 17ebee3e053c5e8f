/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a job within a job was given: it is passed on when it is what a lane of
 * this user has on this node.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/node_world.h"

struct inherited {
	const char *devices;
	const char *addresses;
	const char *isolation;
	const char *open_mpi;
};

static const struct inherited ours = { "fl4096", "100.64.0.1", "host",
				       "fl4096" };

static const char *variable_get(void *arg, const char *name)
{
	const struct inherited *inherited = arg;

	if (strcmp(name, "FAIRLEAD_INTERFACES") == 0)
		return inherited->devices;
	if (strcmp(name, "FAIRLEAD_ADDRESSES") == 0)
		return inherited->addresses;
	if (strcmp(name, "FAIRLEAD_ISOLATION") == 0)
		return inherited->isolation;
	return strcmp(name, "OMPI_MCA_btl_tcp_if_include") == 0
		       ? inherited->open_mpi
		       : NULL;
}

static int inherit(struct inherited inherited, uid_t uid)
{
	return ethernet_node_ops.inherit(world.state, uid, variable_get,
					 &inherited, &world.error);
}

static void assert_refused(struct inherited inherited, uid_t uid,
			   const char *words)
{
	assert_int_equal(inherit(inherited, uid), -ENODEV);
	if (!strstr(world.error.text, words))
		fail_msg("no '%s' in: %s", words, world.error.text);
}

static void a_lane_of_the_user_is_passed_on(void **state)
{
	struct fairlead_lane lane = node_world_lane(9, "host");

	node_world_open_bare();
	node_world_apply(9, "host");
	assert_int_equal(inherit(ours, NODE_WORLD_OWNER), 0);
	assert_refused(ours, NODE_WORLD_OWNER + 1,
		       "inherited device fl4096 is not for uid 20002");
	assert_int_equal(ethernet_node_ops.revoke(world.state, &lane,
						  &world.record, false, NULL,
						  &world.error),
			 0);
	assert_refused(ours, NODE_WORLD_OWNER,
		       "inherited device 'fl4096' is not there any more");
}

static void devices_and_addresses_belong_together(void **state)
{
	struct inherited forged = ours;

	node_world_open_bare();
	node_world_apply(9, "host");
	forged.addresses = "100.64.4.1";
	assert_refused(forged, NODE_WORLD_OWNER,
		       "inherited address '100.64.4.1' is not that of fl4096");
	forged.addresses = "100.64.0.1,100.64.4.1";
	assert_refused(forged, NODE_WORLD_OWNER,
		       "inherited address '100.64.4.1' is of no device");
	forged.devices = "fl4096,fl4097";
	assert_refused(forged, NODE_WORLD_OWNER,
		       "inherited device 'fl4097' is not there any more");
	forged.devices = "fl4096,";
	assert_refused(forged, NODE_WORLD_OWNER, "inherited device ''");
	forged.devices = "fl4096,eth1";
	assert_refused(forged, NODE_WORLD_OWNER, "inherited device 'eth1'");
}

static void a_part_of_it_is_refused(void **state)
{
	const struct inherited parts[] = {
		{ NULL, "100.64.0.1", "host", NULL },
		{ "fl4096", NULL, "host", NULL },
		{ "fl4096", "100.64.0.1", NULL, NULL },
	};

	node_world_open_bare();
	node_world_apply(9, "host");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		assert_refused(parts[i], NODE_WORLD_OWNER, "only some of");
}

/* Who sets it without a lane means another network. */
static void what_others_set_too_is_not_looked_at(void **state)
{
	struct inherited other = ours;

	node_world_open_bare();
	node_world_apply(9, "host");
	other.open_mpi = "eth1";
	assert_int_equal(inherit(other, NODE_WORLD_OWNER), 0);
	assert_int_equal(inherit((struct inherited){ .open_mpi = "eth1" },
				 NODE_WORLD_OWNER),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name)                                              \
	cmocka_unit_test_setup_teardown(name, node_world_setup, \
					node_world_teardown)
		TEST(a_lane_of_the_user_is_passed_on),
		TEST(devices_and_addresses_belong_together),
		TEST(a_part_of_it_is_refused),
		TEST(what_others_set_too_is_not_looked_at),
#undef TEST
	};

	return cmocka_run_group_tests(tests, node_world_group_setup, NULL);
}
