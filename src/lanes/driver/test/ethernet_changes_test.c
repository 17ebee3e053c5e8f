/* SPDX-License-Identifier: BSD-3-Clause */
/* What somebody does to a lane's devices by hand, and what becomes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/bytes.h"
#include "lanes/driver/ethernet/device.h"
#include "lanes/driver/ethernet/members.h"
#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/node_world.h"

#define GRANT 9

static struct fairlead_record record;
static struct writer members, members_ipv6;

/* Of this node and of one that is not there, which have these addresses. */
static struct fairlead_lane lane_between(const char *isolation,
					 struct writer *encoded,
					 const char *own, const char *other)
{
	struct ip_address addresses[2];
	struct ethernet_members two = {
		.networks = ethernet_networks_default,
		.rail_count = 1,
		.mtu = { 1400 },
		.node_count = 2,
		.addresses = addresses,
	};
	struct fairlead_lane lane = node_world_lane(GRANT, isolation);

	lane.node_count = 2;
	assert_true(ip_address_parse(own, &addresses[0]));
	assert_true(ip_address_parse(other, &addresses[1]));
	if (encoded->data == NULL) { /* the same of all lanes */
		*encoded = (struct writer){ .limit = 1024 };
		assert_int_equal(ethernet_members_encode(&two, encoded), 0);
	}
	lane.members = encoded->data;
	lane.members_size = encoded->size;
	return lane;
}

static struct fairlead_lane lane_of(const char *isolation)
{
	return lane_between(isolation, &members, "10.204.0.1", "10.204.0.2");
}

/* The first device is made; then others change rules, and the next one fails. */
static bool is_failing;

int __real_device_create(struct netlink *netlink, struct lane_device *device,
			 const struct lane_peer *peers, size_t peer_count,
			 struct fairlead_error *ret_error);
int __wrap_device_create(struct netlink *netlink, struct lane_device *device,
			 const struct lane_peer *peers, size_t peer_count,
			 struct fairlead_error *ret_error);
int __wrap_device_create(struct netlink *netlink, struct lane_device *device,
			 const struct lane_peer *peers, size_t peer_count,
			 struct fairlead_error *ret_error)
{
	if (!is_failing || device->vni == NODE_WORLD_VNI)
		return __real_device_create(netlink, device, peers, peer_count,
					    ret_error);
	netns_run("nft add table inet others");
	return error_set(ret_error, -EIO, "it fails");
}

static int lane_apply(const struct fairlead_lane *lane)
{
	return ethernet_node_ops.apply(world.state, lane, false, &record, NULL,
				       &world.error);
}

static int lane_revoke(const struct fairlead_lane *lane)
{
	return ethernet_node_ops.revoke(world.state, lane, &record, false, NULL,
					&world.error);
}

static int tend(void)
{
	world.error.text[0] = '\0';
	return ethernet_node_ops.tend(world.state, &world.error);
}

static bool rules_have(const char *text)
{
	return netns_holds("nft list table inet fairlead | grep -q -e '%s'",
			   text);
}

/* In the lane's namespace when it has one. */
static void change(const struct fairlead_lane *lane, const char *command)
{
	if (strstr(lane->options, "netns"))
		netns_run("nsenter --net=/mnt/netns/%d %s", GRANT, command);
	else
		netns_run("%s", command);
}

static void peer_goes_and_comes(const char *isolation)
{
	struct fairlead_lane lane = lane_of(isolation);

	node_world_open_bare();
	assert_int_equal(lane_apply(&lane), 0);
	assert_true(rules_have("10.204.0.2"));
	assert_int_equal(tend(), 0);
	change(&lane, "bridge fdb del 02:00:10:00:00:02 dev fl4096 "
		      "dst 10.204.0.2");
	assert_int_equal(tend(), 1);
	assert_non_null(strstr(world.error.text, "somebody has changed"));
	assert_false(rules_have("10.204.0.2"));
	assert_int_equal(tend(), 0);
	change(&lane, "bridge fdb append 02:00:10:00:00:02 dev fl4096 "
		      "dst 10.204.0.2");
	assert_int_equal(tend(), 1);
	assert_true(rules_have("10.204.0.2"));
	assert_int_equal(lane_revoke(&lane), 0);
	assert_int_equal(tend(), 0);
	node_world_close();
}

static void a_peer_that_somebody_deleted_is_no_member_any_more(void **state)
{
	peer_goes_and_comes("host");
}

static void the_same_in_a_namespace(void **state)
{
	peer_goes_and_comes("netns");
}

static void a_member_of_a_lane_that_ended_stays_in_no_rules(void **state)
{
	struct fairlead_lane lane = lane_of("host");

	node_world_open_bare();
	assert_int_equal(lane_apply(&lane), 0);
	netns_run("bridge fdb del 02:00:10:00:00:02 dev fl4096");
	assert_int_equal(lane_revoke(&lane), 0);
	/* The VNI is free from now on. */
	assert_false(rules_have("10.204.0.2"));
	/* That somebody had changed it is said all the same. */
	assert_int_equal(tend(), 1);
	assert_int_equal(tend(), 0);
}

/* Nor where others have changed rules since the node looked at them. */
static void a_lane_that_failed_leaves_its_owner_in_no_rules(void **state)
{
	struct fairlead_lane lane = lane_of("host");

	lane.id_count = 2;
	lane.ids[1] = 4097;
	strcpy(lane.options, "vnis=2,tcs=BEST_EFFORT,isolation=host");
	node_world_open_bare();
	is_failing = true;
	assert_int_equal(lane_apply(&lane), -EIO);
	is_failing = false;
	assert_false(rules_have("fl4096"));
	assert_false(rules_have("20001"));
	assert_false(netns_holds("ip link show fl4096"));
	assert_int_equal(tend(), 0);
}

static void what_nobody_changed_is_not_said(void **state)
{
	struct fairlead_lane lane = lane_of("host");
	struct fairlead_lane other = lane_of("netns");

	other.grant_id++;
	other.ids[0]++;
	node_world_open_bare();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(tend(), 0);
		assert_int_equal(lane_apply(&lane), 0);
		assert_int_equal(tend(), 0);
		assert_int_equal(lane_apply(&other), 0);
		assert_int_equal(tend(), 0);
		assert_int_equal(lane_revoke(&lane), 0);
		assert_int_equal(tend(), 0);
		assert_int_equal(lane_revoke(&other), 0);
		lane.grant_id += 2;
		other.grant_id += 2;
	}
}

static void a_renamed_device_keeps_its_lane(void **state)
{
	struct fairlead_lane lane = lane_of("host");

	node_world_open_bare();
	assert_int_equal(lane_apply(&lane), 0);
	netns_run("ip link set fl4096 down && ip link set fl4096 name other && "
		  "ip link set other up");
	assert_int_equal(tend(), 1);
	assert_true(rules_have("\"other\""));
	assert_false(rules_have("fl4096"));
}

/* The kernel lists the newest address of IPv6 first. */
static void one_more_address_is_not_the_lane_s(void **state)
{
	struct fairlead_lane lane = lane_of("host");

	node_world_open_bare();
	assert_int_equal(lane_apply(&lane), 0);
	netns_run("ip addr add 2001:db8::5/64 dev fl4096 nodad && "
		  "ip addr add 10.99.0.7/24 dev fl4096");
	assert_int_equal(tend(), 0);
	node_world_close();
	node_world_open_bare();
	assert_true(rules_have("fd46:4c00:0:1000::1 . 20001"));
	assert_true(rules_have("100.64.0.1 . 20001"));
	assert_false(rules_have("2001:db8"));
	assert_false(rules_have("10.99.0.7"));
	/* Nor where it is the only one. */
	netns_run("ip addr del fd46:4c00:0:1000::1/64 dev fl4096");
	assert_int_equal(tend(), 1);
	assert_false(rules_have("2001:db8"));
	netns_run("ip addr del 100.64.0.1/22 dev fl4096");
	node_world_close();
	node_world_open_bare();
	assert_false(rules_have("10.99."));
	netns_run("ip addr add 100.64.0.1/22 dev fl4096");
	assert_int_equal(tend(), 1);
	assert_true(rules_have("100.64.0.1 . 20001"));
	assert_int_equal(lane_revoke(&lane), 0);
	assert_false(rules_have("100.64.0.1"));
	assert_int_equal(tend(), 0);
}

/* What is left of it would keep the next lane of the VNI from the node. */
static void a_device_that_somebody_changed_goes_with_its_lane(void **state)
{
	static const char *const changes[] = {
		"ip link set fl4096 down && ip link set fl4096 name other",
		"ip link set fl4096 group 0",
		"ip link set fl4096 group 0 down && "
		"ip link set fl4096 name other",
		"ip link set fl4096 alias mine",
	};
	struct fairlead_lane lane = lane_of("host");

	node_world_open_bare();
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		assert_int_equal(lane_apply(&lane), 0);
		netns_run("%s", changes[i]);
		assert_int_equal(lane_revoke(&lane), 0);
		assert_false(netns_holds("ip -d link | grep -q vxlan"));
		assert_false(rules_have("fl4096"));
		assert_false(rules_have("10.204.0.2"));
		lane.grant_id++;
	}
}

/* More than a lane can have: also those that somebody made its own. */
static void all_devices_with_the_lane_s_alias_go(void **state)
{
	struct fairlead_lane lane = lane_of("host");

	node_world_open_bare();
	assert_int_equal(lane_apply(&lane), 0);
	netns_run("for i in $(seq 17); do echo link add x$i group 17996 type "
		  "vxlan id $((100 + i)) dstport 4789 local 10.204.0.1 "
		  "udp6zerocsumrx; echo link set x$i alias "
		  "fairlead:grant=9:uid=20001:gid=20001:tcs=0x8:tc=3:class=0:"
		  "vnis=$((100 + i)); done | ip -batch -");
	assert_int_equal(lane_revoke(&lane), 0);
	assert_false(netns_holds("ip -o link show type vxlan | grep -q ."));
}

static void device_move(const char *device, const char *from, const char *to)
{
	netns_run("nsenter --net=%s ip link set %s netns %s", from, device, to);
}

static bool is_empty(const char *netns)
{
	return !netns_holds("nsenter --net=%s ip -o link show type vxlan | "
			    "grep -q .",
			    netns);
}

static void a_device_in_another_job_s_namespace_goes_with_its_lane(void **state)
{
	struct fairlead_lane lane = lane_of("host"), other = lane_of("netns");

	other.grant_id++;
	other.ids[0]++;
	node_world_open_bare();
	assert_int_equal(lane_apply(&other), 0);
	assert_int_equal(lane_apply(&lane), 0);
	device_move("fl4096", "/proc/self/ns/net", "/mnt/netns/10");
	assert_int_equal(tend(), 1);
	assert_int_equal(tend(), 0);
	node_world_close();
	node_world_open_bare();
	assert_int_equal(lane_revoke(&lane), 0);
	assert_false(netns_holds("nsenter --net=/mnt/netns/10 ip link show "
				 "fl4096"));
	assert_true(netns_holds("nsenter --net=/mnt/netns/10 ip link show "
				"fl4097"));
	assert_int_equal(lane_revoke(&other), 0);
	assert_false(netns_holds("ls /mnt/netns/10"));
}

static void a_namespace_with_another_job_s_device_stays_for_it(void **state)
{
	struct fairlead_lane lane = lane_of("netns"), other = lane_of("netns");

	other.grant_id++;
	other.ids[0]++;
	node_world_open_bare();
	assert_int_equal(lane_apply(&other), 0);
	assert_int_equal(lane_apply(&lane), 0);
	device_move("fl4096", "/mnt/netns/9", "/mnt/netns/10");
	assert_int_equal(lane_revoke(&other), 0);
	assert_false(is_empty("/mnt/netns/10"));
	assert_int_equal(lane_revoke(&lane), 0);
	assert_false(netns_holds("ls /mnt/netns | grep -q ."));
}

static void devices_in_several_namespaces_go_together(void **state)
{
	struct fairlead_lane lane = lane_of("netns"), other = lane_of("netns");

	lane.id_count = 2;
	lane.ids[1] = 4097;
	strcpy(lane.options, "vnis=2,tcs=BEST_EFFORT,isolation=netns");
	other.grant_id++;
	other.ids[0] = 4098;
	node_world_open_bare();
	assert_int_equal(lane_apply(&other), 0);
	assert_int_equal(lane_apply(&lane), 0);
	device_move("fl4097", "/mnt/netns/9", "/mnt/netns/10");
	assert_int_equal(lane_revoke(&lane), 0);
	assert_false(netns_holds("ls /mnt/netns/9"));
	assert_false(netns_holds("nsenter --net=/mnt/netns/10 ip link show "
				 "fl4097"));
	assert_int_equal(lane_revoke(&other), 0);
}

/* A process in the namespace, which it keeps; NULL: in one of its own. */
static pid_t process_start(const char *netns)
{
	int fds[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = netns ? open(netns, O_RDONLY | O_CLOEXEC) : -1;
		int result =
			netns ? setns(fd, CLONE_NEWNET) : unshare(CLONE_NEWNET);

		/* A test that fails is not to leave it. */
		if (result != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
		    write(fds[1], "x", 1) != 1)
			_exit(1);
		close(fd);
		for (;;)
			pause();
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	return pid;
}

/* A process keeps the namespace of the lane's device, which nobody can find. */
static void vni_is_kept(const struct fairlead_lane *lane, pid_t pid)
{
	int tries = 0;

	assert_int_equal(lane_revoke(lane), -EBUSY);
	assert_non_null(strstr(world.error.text,
			       "a device that cannot be found has VNI 4096"));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* The kernel ends the namespace when it likes. */
	while (lane_revoke(lane) == -EBUSY)
		assert_true(++tries < 1000);
	assert_int_equal(lane_revoke(lane), 0);
	assert_false(netns_holds("ip -o link show type vxlan | grep -q ."));
}

static void a_device_that_nobody_can_find_keeps_its_vni(void **state)
{
	struct fairlead_lane lane = lane_of("netns");
	pid_t pid;

	node_world_open_bare();
	assert_int_equal(lane_apply(&lane), 0);
	pid = process_start("/mnt/netns/9");
	netns_run("umount /mnt/netns/9 && rm /mnt/netns/9");
	vni_is_kept(&lane, pid);
}

/* The kernel has one of each family for a VNI and port. */
static void so_does_one_that_goes_over_IPv6(void **state)
{
	struct fairlead_lane lane =
		lane_between("netns", &members_ipv6, "fd00::1", "fd00::2");
	pid_t pid;

	netns_run("ip addr flush dev eth1 && "
		  "ip addr add fd00::1/64 dev eth1 nodad");
	node_world_open_bare();
	assert_int_equal(lane_apply(&lane), 0);
	pid = process_start("/mnt/netns/9");
	netns_run("umount /mnt/netns/9 && rm /mnt/netns/9");
	vni_is_kept(&lane, pid);
}

static void so_does_one_that_was_moved_out_of_the_host_s_namespace(void **state)
{
	struct fairlead_lane lane = lane_of("host");
	pid_t pid;

	node_world_open_bare();
	assert_int_equal(lane_apply(&lane), 0);
	pid = process_start(NULL);
	netns_run("ip link set fl4096 netns %d", (int)pid);
	vni_is_kept(&lane, pid);
}

static void so_does_one_whose_name_another_device_has_by_now(void **state)
{
	struct fairlead_lane lane = lane_of("host");
	pid_t pid;

	node_world_open_bare();
	assert_int_equal(lane_apply(&lane), 0);
	pid = process_start(NULL);
	netns_run("ip link set fl4096 netns %d && "
		  "ip link add fl4096 type veth peer name fl4096r1",
		  (int)pid);
	vni_is_kept(&lane, pid);
}

/* The VNI would be another job's while the device is there. */
static void a_device_that_says_another_grant_keeps_its_vni(void **state)
{
	static const char alias[] = "fairlead:grant=8:uid=20001:gid=20001:"
				    "tcs=0x8:tc=3:class=0:vnis=4096";
	struct fairlead_lane lane = lane_of("host");

	node_world_open_bare();
	assert_int_equal(lane_apply(&lane), 0);
	netns_run("ip link set fl4096 alias %s", alias);
	assert_int_equal(lane_revoke(&lane), -EBUSY);
	assert_non_null(
		strstr(world.error.text, "fl4096 has VNI 4096 of this lane"));
	assert_non_null(strstr(world.error.text, "grant 8"));
	netns_run("ip link del fl4096");
	assert_int_equal(lane_revoke(&lane), 0);
}

static void a_device_without_any_sign_of_a_lane_is_said(void **state)
{
	struct fairlead_lane lane = lane_of("host");

	node_world_open_bare();
	assert_int_equal(lane_apply(&lane), 0);
	netns_run("ip link set fl4096 group 0 alias mine down && "
		  "ip link set fl4096 name other");
	assert_int_equal(lane_revoke(&lane), 0);
	lane.grant_id++;
	assert_int_equal(lane_apply(&lane), -EEXIST);
	assert_non_null(strstr(world.error.text, "other"));
	assert_non_null(strstr(world.error.text, "`ip link delete other`"));
	netns_run("ip link delete other");
	assert_int_equal(lane_apply(&lane), 0);
}

#define TEST(name)                                              \
	cmocka_unit_test_setup_teardown(name, node_world_setup, \
					node_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_peer_that_somebody_deleted_is_no_member_any_more),
		TEST(the_same_in_a_namespace),
		TEST(a_member_of_a_lane_that_ended_stays_in_no_rules),
		TEST(a_lane_that_failed_leaves_its_owner_in_no_rules),
		TEST(what_nobody_changed_is_not_said),
		TEST(a_renamed_device_keeps_its_lane),
		TEST(one_more_address_is_not_the_lane_s),
		TEST(a_device_that_somebody_changed_goes_with_its_lane),
		TEST(all_devices_with_the_lane_s_alias_go),
		TEST(a_device_in_another_job_s_namespace_goes_with_its_lane),
		TEST(a_namespace_with_another_job_s_device_stays_for_it),
		TEST(devices_in_several_namespaces_go_together),
		TEST(a_device_that_nobody_can_find_keeps_its_vni),
		TEST(so_does_one_that_goes_over_IPv6),
		TEST(so_does_one_that_was_moved_out_of_the_host_s_namespace),
		TEST(so_does_one_whose_name_another_device_has_by_now),
		TEST(a_device_that_says_another_grant_keeps_its_vni),
		TEST(a_device_without_any_sign_of_a_lane_is_said),
	};

	return cmocka_run_group_tests(tests, node_world_group_setup, NULL);
}
