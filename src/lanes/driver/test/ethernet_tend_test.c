/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the node half says and does when the gate of a node with a lane has been
 * taken away. How the gate itself is put back: ethernet_gate_loss_test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/gate_cgroup.h"
#include "lanes/driver/ethernet/gate_pins.h"
#include "lanes/driver/ethernet/gate_set.h"
#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/node_world.h"

#define PINS      "/mnt/bpf"
#define OTHER_UID 20002

static char line[FAIRLEAD_SUMMARY_MAX + 1];

static void assert_line(const char *part)
{
	ethernet_node_ops.summarize(world.state, line);
	if (!strstr(line, part))
		fail_msg("'%s' is not in '%s'", part, line);
}

static int tend(void)
{
	world.error.text[0] = '\0';
	return ethernet_node_ops.tend(world.state, &world.error);
}

static void assert_said(const char *part)
{
	if (!strstr(world.error.text, part))
		fail_msg("'%s' is not in '%s'", part, world.error.text);
}

static void open_with_a_lane(void)
{
	node_world_open(NULL, 0);
	node_world_apply(9, "host");
}

static void find_set(struct gate_set *set)
{
	struct gate_sets sets;
	char path[PATH_MAX];

	assert_int_equal(gate_pins_list(PINS, "", &sets, NULL), 0);
	assert_int_equal(sets.count, 1);
	snprintf(path, sizeof(path), PINS "/%s", sets.names[0]);
	gate_set_find(path, set);
}

static void detach(void)
{
	_auto_(gate_set_fini) struct gate_set set;

	find_set(&set);
	gate_set_detach(&set);
}

/* What only the gate refuses: a port at the lane's address. */
static int take_a_port(uint32_t uid)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = socket(AF_INET, SOCK_DGRAM, 0);

		inet_pton(AF_INET, "100.64.0.1", &address.sin_addr);
		if (setresuid(uid, uid, uid) < 0)
			_exit(255);
		_exit(bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0
			      ? errno
			      : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void a_lane_whose_gate_was_detached_is_closed_again(void **state)
{
	open_with_a_lane();
	assert_int_equal(take_a_port(OTHER_UID), EPERM);
	assert_line("enforcement nft+bpf, ");
	assert_int_equal(tend(), 0);
	detach();
	assert_int_equal(take_a_port(OTHER_UID), 0);
	assert_line("enforcement none, ");
	assert_line("; lacks bpf (somebody has detached its programs)");
	assert_int_equal(tend(), 1);
	assert_said("somebody has detached its programs; it is put back");
	assert_int_equal(take_a_port(OTHER_UID), EPERM);
	assert_int_equal(take_a_port(NODE_WORLD_OWNER), 0);
	assert_line("enforcement nft+bpf, ");
	assert_null(strstr(line, "lacks bpf"));
	assert_int_equal(tend(), 0);
	assert_string_equal(world.error.text, "");
}

static void a_gate_whose_pins_are_gone_is_in_force_and_pinned_again(
	void **state)
{
	open_with_a_lane();
	assert_int_equal(umount(PINS), 0);
	assert_int_equal(take_a_port(OTHER_UID), EPERM);
	assert_line("enforcement nft+bpf, ");
	assert_line("; lacks pins of bpf (");
	assert_int_equal(tend(), 1);
	assert_said("its pins in " PINS " are gone");
	assert_line("enforcement nft+bpf, ");
	assert_null(strstr(line, "lacks pins"));
	assert_int_equal(tend(), 0);
	/* And not by our descriptors only. */
	node_world_close();
	assert_int_equal(take_a_port(OTHER_UID), EPERM);
	assert_int_equal(take_a_port(NODE_WORLD_OWNER), 0);
}

/* Elements of the gate's map, by its pin. */
static void what_somebody_deletes_from_the_gate_s_map_is_back(void **state)
{
	_auto_(gate_set_fini) struct gate_set set;
	struct gate_key key;

	open_with_a_lane();
	find_set(&set);
	while (bpf_map_get_next_key(set.lanes, NULL, &key) == 0)
		assert_int_equal(bpf_map_delete_elem(set.lanes, &key), 0);
	assert_int_equal(take_a_port(OTHER_UID), 0);
	assert_int_equal(tend(), 1);
	assert_said("somebody has changed the gate's map of lanes; it is as it "
		    "was");
	assert_int_equal(take_a_port(OTHER_UID), EPERM);
	assert_int_equal(take_a_port(NODE_WORLD_OWNER), 0);
	/* And what is the site's, but no lane's. */
	key = (struct gate_key){ .prefix_size = 106,
				 .address = { [10] = 0xff, 0xff, 100, 64 } };
	assert_int_equal(bpf_map_delete_elem(set.lanes, &key), 0);
	assert_int_equal(tend(), 1);
	assert_int_equal(tend(), 0);
}

/* A lane brings the gate back at once; the next lease reports it. */
static void what_a_lane_has_found_missing_is_said_later(void **state)
{
	node_world_open(NULL, 0);
	detach();
	node_world_apply(9, "host");
	assert_line("enforcement nft+bpf, ");
	assert_int_equal(take_a_port(OTHER_UID), EPERM);
	assert_int_equal(tend(), 1);
	assert_said("somebody has detached its programs; it is put back");
	assert_int_equal(tend(), 0);
}

static void rules_that_a_look_has_found_missing_are_said_later(void **state)
{
	open_with_a_lane();
	netns_run("nft flush ruleset");
	assert_int_equal(node_world_look(), 0);
	assert_true(netns_holds("nft list table inet fairlead"));
	assert_int_equal(tend(), 1);
	assert_said("nft flush ruleset?");
	assert_int_equal(tend(), 0);
}

static void rules_and_gate_are_said_together(void **state)
{
	open_with_a_lane();
	netns_run("nft flush ruleset");
	detach();
	assert_int_equal(tend(), 1);
	assert_said("nft flush ruleset?");
	assert_said("somebody has detached its programs; it is put back");
	assert_int_equal(take_a_port(OTHER_UID), EPERM);
	assert_int_equal(tend(), 0);
}

static void a_gate_s_map_that_somebody_filled_is_right_again(void **state)
{
	const struct gate_value value = { .flags = GATE_HAS_OWNER,
					  .prefix_size = 128,
					  .uid = OTHER_UID };
	struct gate_key key = { .prefix_size = 128, .address = { 0xfd, 0x99 } };
	_auto_(gate_set_fini) struct gate_set set;
	struct gate_key own;

	open_with_a_lane();
	find_set(&set);
	while (bpf_map_get_next_key(set.lanes, NULL, &own) == 0)
		assert_int_equal(bpf_map_delete_elem(set.lanes, &own), 0);
	for (int i = 0; i < GATE_LANES_MAX; i++) {
		key.address[14] = (uint8_t)(i >> 8);
		key.address[15] = (uint8_t)i;
		assert_int_equal(bpf_map_update_elem(set.lanes, &key, &value,
						     BPF_ANY),
				 0);
	}
	assert_int_equal(tend(), 1);
	assert_said("somebody has changed the gate's map of lanes");
	assert_int_equal(take_a_port(OTHER_UID), EPERM);
	assert_int_equal(take_a_port(NODE_WORLD_OWNER), 0);
	assert_int_equal(tend(), 0);
}

static void a_gate_is_not_blamed_for_what_a_device_has(void **state)
{
	open_with_a_lane();
	netns_run("ip addr del 100.64.0.1/22 dev fl4096 && "
		  "ip addr add 100.64.0.1/21 dev fl4096");
	assert_int_equal(tend(), 1);
	assert_said("somebody has changed a lane's device");
	assert_int_equal(tend(), 0);
}

/* --- what cannot be put back --- */

static int try_apply(void)
{
	struct fairlead_lane lane = node_world_lane(10, "host");

	lane.ids[0]++;
	return ethernet_node_ops.apply(world.state, &lane, false, &world.record,
				       NULL, &world.error);
}

/* In a child: a node with a lane, and no cgroups to attach a program to. */
static void lose_for_good(char cgroup[PATH_MAX])
{
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	node_world_open(NULL, 0);
	node_world_apply(9, "host");
	assert_int_equal(gate_cgroup_root(cgroup, &world.error), 0);
	detach();
	assert_int_equal(umount2(cgroup, MNT_DETACH), 0);
	assert_true(tend() < 0);
	assert_said("the gate: somebody has detached its programs; it cannot "
		    "be attached: ");
	assert_true(tend() < 0);
	assert_string_equal(world.error.text, "");
	assert_line("enforcement none, ");
	assert_line("; lacks bpf (somebody has detached its programs)");
}

static void come_back(const char *cgroup)
{
	assert_int_equal(mount("none", cgroup, "cgroup2", 0, NULL), 0);
	assert_int_equal(tend(), 1);
	assert_said("it is put back");
	assert_line("enforcement nft+bpf, ");
	assert_int_equal(take_a_port(OTHER_UID), EPERM);
	assert_int_equal(tend(), 0);
}

static void do_not_go_on_without(void)
{
	char cgroup[PATH_MAX];

	lose_for_good(cgroup);
	assert_true(try_apply() < 0);
	assert_said("the gate: somebody has detached");
	/* Nothing of that lane is there; the other one stays. */
	assert_false(netns_holds("ip link show fl%d", NODE_WORLD_VNI + 1));
	assert_true(netns_holds("ip link show fl%d up", NODE_WORLD_VNI));
	assert_int_equal(node_world_look(), 0);
	come_back(cgroup);
	assert_int_equal(try_apply(), 0);
}

/* In a child: started where no program can be attached, beside a lane. */
static void start_without(char cgroup[PATH_MAX])
{
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	node_world_open(NULL, 0);
	node_world_apply(9, "host");
	node_world_close();
	assert_int_equal(gate_cgroup_root(cgroup, &world.error), 0);
	assert_int_equal(umount2(cgroup, MNT_DETACH), 0);
	node_world_open(NULL, 0);
	assert_int_equal(take_a_port(OTHER_UID), EPERM);
	assert_int_equal(take_a_port(NODE_WORLD_OWNER), 0);
	assert_line("enforcement none, ");
	assert_line("; lacks bpf (cgroup v2 is not mounted");
	assert_true(try_apply() < 0);
	assert_said("cgroup v2 is not mounted");
	assert_false(netns_holds("ip link show fl%d", NODE_WORLD_VNI + 1));
	assert_true(tend() < 0);
	assert_said("cgroup v2 is not mounted");
	assert_true(tend() < 0);
	assert_string_equal(world.error.text, "");
	assert_int_equal(take_a_port(OTHER_UID), EPERM);
}

static void start_without_and_find_it(void)
{
	char cgroup[PATH_MAX];

	start_without(cgroup);
	assert_int_equal(mount("none", cgroup, "cgroup2", 0, NULL), 0);
	assert_int_equal(tend(), 0);
	assert_line("enforcement nft+bpf, ");
	assert_int_equal(try_apply(), 0);
	assert_int_equal(take_a_port(OTHER_UID), EPERM);
	assert_int_equal(take_a_port(NODE_WORLD_OWNER), 0);
	assert_int_equal(tend(), 0);
	assert_string_equal(world.error.text, "");
}

static void start_without_and_end_its_lanes(void)
{
	const struct fairlead_lane lane = node_world_lane(9, "host");
	char cgroup[PATH_MAX];

	start_without(cgroup);
	assert_int_equal(ethernet_node_ops.revoke(
				 world.state, &lane, &world.record, false,
				 &node_world_warnings, &world.error),
			 0);
	assert_true(try_apply() < 0);
	node_world_close();
	assert_int_equal(node_world_try_open(NULL, 0), -EOPNOTSUPP);
	assert_int_equal(mount("none", cgroup, "cgroup2", 0, NULL), 0);
	node_world_open(NULL, 0);
}

static void in_child(void (*act)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		act();
		node_world_close();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void without_a_gate_no_lane_is_made(void **state)
{
	in_child(do_not_go_on_without);
}

static void a_gate_that_cannot_be_opened_leaves_the_one_of_lanes(void **state)
{
	in_child(start_without_and_find_it);
}

static void without_a_gate_lanes_are_taken_back(void **state)
{
	in_child(start_without_and_end_its_lanes);
}

static int setup(void **state)
{
	int result = node_world_setup(state);

	/* Each of the tests needs one. */
	if (node_world_try_open(NULL, 0) == -EOPNOTSUPP) {
		print_message("skipped: %s\n", world.error.text);
		skip();
	}
	node_world_close();
	return result;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, setup, node_world_teardown)
		TEST(a_lane_whose_gate_was_detached_is_closed_again),
		TEST(a_gate_whose_pins_are_gone_is_in_force_and_pinned_again),
		TEST(what_somebody_deletes_from_the_gate_s_map_is_back),
		TEST(a_gate_s_map_that_somebody_filled_is_right_again),
		TEST(a_gate_is_not_blamed_for_what_a_device_has),
		TEST(what_a_lane_has_found_missing_is_said_later),
		TEST(rules_that_a_look_has_found_missing_are_said_later),
		TEST(rules_and_gate_are_said_together),
		TEST(without_a_gate_no_lane_is_made),
		TEST(a_gate_that_cannot_be_opened_leaves_the_one_of_lanes),
		TEST(without_a_gate_lanes_are_taken_back),
#undef TEST
	};

	return cmocka_run_group_tests(tests, node_world_group_setup, NULL);
}
