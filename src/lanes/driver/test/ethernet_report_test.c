/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports of the node half: each flaw of a node once, with what to do. Each
 * test has a network namespace of its own with one NIC, eth1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <linux/netfilter/nfnetlink.h>
#include <netlink/netlink.h>

#include "lanes/driver/ethernet/shaper.h"
#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/node_world.h"

#define NOBODY 65534

/* --- without privileges --- */

static int as_nobody(int (*act)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
		    setresuid(NOBODY, NOBODY, NOBODY) < 0)
			_exit(255);
		_exit(act());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int open_and_look(void)
{
	if (node_world_try_open(NULL, 0) < 0 || node_world_look() < 0) {
		print_error("%s\n", world.error.text);
		return 1;
	}
	/* The NIC, and what is on it: the NIC itself and a lane. */
	return world.device_count == 1 && world.device.is_usable &&
			       world.object_count == 2 &&
			       world.objects[1].uid == NODE_WORLD_OWNER
		       ? 0
		       : 2;
}

static void who_has_no_privileges_can_look(void **state)
{
	node_world_open_bare();
	node_world_apply(9, "host");
	assert_int_equal(as_nobody(open_and_look), 0);
}

static void who_only_looked_has_changed_nothing(void **state)
{
	assert_int_equal(as_nobody(open_and_look), 2);
	assert_false(netns_holds("nft list table inet fairlead"));
}

/* --- the line --- */

static char line[FAIRLEAD_SUMMARY_MAX + 1];

static void summarize(void)
{
	ethernet_node_ops.summarize(world.state, line);
}

static void assert_says(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text);
}

static void send_vxlan_by_hand(void)
{
	const struct sockaddr_in peer = {
		.sin_family = AF_INET,
		.sin_port = htons(4789),
		.sin_addr.s_addr = htonl(0x0acc0002), /* 10.204.0.2 */
	};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (sendto(fd, "x", 1, 0, (const struct sockaddr *)&peer,
		   sizeof(peer)) == 1 ||
	    errno != EPERM)
		_exit(1);
}

static int send_two_by_hand(void)
{
	send_vxlan_by_hand();
	send_vxlan_by_hand();
	return 0;
}

static void the_line_says_what_was_refused(void **state)
{
	node_world_open_bare();
	summarize();
	assert_string_equal(
		line, "enforcement nft+bpf, shaping off, refused nothing");
	assert_int_equal(as_nobody(send_two_by_hand), 0);
	summarize();
	assert_string_equal(
		line,
		"enforcement nft+bpf, shaping off, refused: made by hand 2");
}

/* In a mount namespace of its own. */
static int in_child(int (*act)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) < 0)
			_exit(255);
		_exit(act());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool lose_cgroups(void)
{
	return system("for m in $(awk '$3 == \"cgroup2\" { print $2 }' "
		      "/proc/mounts | tac); do umount -l $m || exit 1; done") ==
	       0;
}

static int open_without_cgroups(void)
{
	return lose_cgroups() && node_world_try_open(NULL, 0) == -EOPNOTSUPP &&
			       strstr(world.error.text,
				      "cgroup v2 is not mounted")
		       ? 0
		       : 2;
}

static void a_node_that_cannot_guard_lanes_refuses_with_the_reason(void **state)
{
	assert_int_equal(in_child(open_without_cgroups), 0);
}

/* What a node says that sees the mounts of others, and shows them none. */
static bool lacks_namespaces(const char *isolation)
{
	const struct fairlead_setting more[] = {
		{ .name = "bpf_pins", .value = "/mnt/bpf" },
		{ .name = "namespaces", .value = "/mnt/shared/run/netns" },
		{ .name = "isolation", .value = isolation },
	};
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) < 0 ||
		    mount(NULL, "/mnt/shared", NULL, MS_SLAVE, NULL) < 0 ||
		    ethernet_node_ops.open(more, isolation ? 3 : 2,
					   &world.state, &world.error) < 0)
			_exit(2);
		summarize();
		_exit(strstr(line, "; lacks isolation=netns (launchers would "
				   "not see") != NULL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status);
}

/* As in a unit of systemd with PrivateTmp= and the like. */
static void a_mount_namespace_of_the_daemon_is_said_where_jobs_may_want_netns(
	void **state)
{
	static const struct {
		const char *isolation; /* NULL: not in the file */
		bool is_said;
	} cases[] = { { "host,netns", true },
		      { "netns", true },
		      { "host", false },
		      { NULL, false } };

	netns_run("mkdir -p /mnt/shared && mount -t tmpfs tmpfs /mnt/shared && "
		  "mount --make-shared /mnt/shared");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(lacks_namespaces(cases[i].isolation),
				 cases[i].is_said);
	netns_run("umount /mnt/shared");
}

static void the_directory_of_ip_netns_is_not_for_those_of_jobs(void **state)
{
	const struct fairlead_setting more[] = {
		{ .name = "namespaces", .value = "/run/netns" },
	};

	assert_int_equal(ethernet_node_ops.open(more, 1, &world.state,
						&world.error),
			 -EINVAL);
	assert_non_null(strstr(world.error.text, "`ip netns`"));
}

/* A kernel without HTB cannot be had. */
static const char *shaping_flaw = "";

int __wrap_shaper_probe(struct netlink *netlink, char text[256]);
int __wrap_shaper_probe(struct netlink *netlink, char text[256])
{
	snprintf(text, 256, "%s", shaping_flaw);
	return 0;
}

static void shaping_without_htb_is_said(void **state)
{
	const struct fairlead_setting more[] = {
		{ .name = "shaping", .value = "true" },
	};

	node_world_open(more, 1);
	shaping_flaw = "";
	summarize();
	assert_string_equal(line,
			    "enforcement nft+bpf, shaping on, refused nothing");
	shaping_flaw = "HTB (CONFIG_NET_SCH_HTB)";
	summarize();
	assert_says(line, "; lacks shaping (HTB (CONFIG_NET_SCH_HTB))");
}

static void classes_that_somebody_deleted_are_said(void **state)
{
	const struct fairlead_setting more[] = {
		{ .name = "shaping", .value = "true" },
		{ .name = "link_rate", .value = "10G" },
	};
	struct fairlead_lane other = node_world_lane(10, "netns");

	shaping_flaw = "";
	node_world_open(more, 2);
	node_world_apply(9, "host");
	other.ids[0]++;
	assert_int_equal(ethernet_node_ops.apply(world.state, &other, false,
						 &world.record, NULL,
						 &world.error),
			 0);
	summarize();
	assert_null(strstr(line, "lacks"));
	netns_run("tc qdisc del dev eth1 root");
	summarize();
	assert_says(line, "; lacks classes (somebody has deleted those of 2 "
			  "lanes on eth1, whose rates are not kept any more)");
}

static int summarize_as_nobody(void)
{
	if (node_world_try_open(NULL, 0) < 0)
		return 1;
	summarize();
	return strcmp(line, "; lacks permission (only root can make lanes)");
}

static void who_may_not_make_lanes_says_so(void **state)
{
	assert_int_equal(as_nobody(summarize_as_nobody), 0);
}

/* --- NICs --- */

static void a_nic_that_is_too_small_is_said_with_what_to_set(void **state)
{
	const struct fairlead_setting more[] = {
		{ .name = "devices", .value = "eth1" },
	};

	netns_run("ip link set eth1 mtu 1300");
	node_world_open(more, 1);
	assert_int_equal(node_world_look(), 0);
	assert_int_equal(world.device_count, 1);
	assert_false(world.device.is_usable);
	assert_says(world.device.detail, "set it to 1330 or more");
}

static void that_none_is_found_is_said_with_each_flaw(void **state)
{
	netns_run("ip link set eth1 mtu 1300");
	node_world_open_bare();
	assert_int_equal(node_world_look(), 0);
	assert_int_equal(world.device_count, 0);
	summarize();
	assert_says(line, "; lacks a NIC (");
	assert_says(line, "p1: it has no global address");
	assert_says(line,
		    "eth1: MTU 1300 leaves 1250 bytes, a lane needs 1280: "
		    "set it to 1330 or more");
}

static void rails_in_one_network_are_said_with_what_to_set(void **state)
{
	netns_run("sysctl -q net.ipv4.conf.all.rp_filter=0 "
		  "net.ipv4.conf.eth1.rp_filter=0");
	netns_run("sysctl -q net.ipv4.conf.all.arp_ignore=0 "
		  "net.ipv4.conf.eth1.arp_ignore=0");
	node_world_open_bare();
	netns_run("ip addr add 10.205.0.1/16 dev p1");
	summarize();
	assert_null(strstr(line, "lacks"));
	netns_run("ip addr del 10.205.0.1/16 dev p1; "
		  "ip addr add 10.204.0.7/24 dev p1");
	summarize();
	assert_says(line, "; lacks a network for each rail (eth1 and p1 are "
			  "both in 10.204.0.0/16: set "
			  "net.ipv4.conf.all.arp_ignore to 1)");
	netns_run("sysctl -q net.ipv4.conf.all.arp_ignore=1 "
		  "net.ipv4.conf.p1.rp_filter=1");
	summarize();
	assert_says(line, "set net.ipv4.conf.all.rp_filter to 2)");
	netns_run("sysctl -q net.ipv4.conf.all.rp_filter=2");
	summarize();
	assert_null(strstr(line, "lacks"));
}

static void an_address_in_the_sites_networks_is_said(void **state)
{
	node_world_open_bare();
	netns_run("ip addr add 100.66.1.1/16 dev p1");
	assert_int_equal(node_world_look(), 0);
	assert_false(world.device.is_usable);
	assert_says(world.device.detail, "100.64.0.0/10");
	assert_says(world.device.detail, "p1");
}

/* --- others' things --- */

static void somebody_elses_table_is_an_error_that_says_what_to_do(void **state)
{
	netns_run("nft add table inet fairlead");
	assert_int_equal(node_world_try_open(NULL, 0), -EEXIST);
	assert_says(world.error.text, "nft list table inet fairlead");
	assert_true(netns_holds("nft list table inet fairlead"));
}

static void somebody_elses_vxlan_on_our_port_is_listed(void **state)
{
	netns_run("ip link add vx7 type vxlan id 7 dstport 4789 dev eth1");
	node_world_open_bare();
	assert_int_equal(node_world_look(), 0);
	assert_string_equal(world.objects[1].device, "vx7");
	assert_int_equal(world.objects[1].ids[0], 7);
	assert_says(world.objects[1].detail, "not ours, port=4789");
}

static void a_device_with_a_lanes_name_withholds_its_vni(void **state)
{
	netns_run("ip link add fl4096 type veth peer name p2");
	netns_run("ip link add fl4097r1 type vxlan id 9 dstport 8472 dev eth1");
	netns_run("ip link add flat1 type veth peer name p3");
	node_world_open_bare();
	assert_int_equal(node_world_look(), 0);
	assert_int_equal(world.object_count, 3);
	assert_string_equal(world.objects[2].device, "fl4097r1");
	assert_int_equal(world.objects[2].ids[0], 4097);
	assert_string_equal(world.objects[1].device, "fl4096");
	assert_int_equal(world.objects[1].ids[0], 4096);
	assert_int_equal(ethernet_node_ops.destroy(world.state,
						   &world.objects[1], false,
						   &world.error),
			 -EPERM);
	assert_says(world.error.text, "rename it");
	assert_true(netns_holds("ip link show fl4096"));
}

static void a_port_that_a_program_has_is_said(void **state)
{
	const struct sockaddr_in any = { .sin_family = AF_INET,
					 .sin_port = htons(4789) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&any, sizeof(any)),
			 0);
	node_world_open_bare();
	assert_int_equal(node_world_look(), 0);
	assert_false(world.device.is_usable);
	assert_says(world.device.detail,
		    "UDP port 4789 is in use by another program");
	close(fd);
	assert_int_equal(node_world_look(), 0);
	assert_true(world.device.is_usable);
	/* A lane's own socket is none. */
	node_world_apply(9, "host");
	assert_int_equal(node_world_look(), 0);
	assert_true(world.device.is_usable);
}

/* As in a job whose lane is in a namespace. */
static const char *variable_get(void *arg, const char *name)
{
	if (strcmp(name, "FAIRLEAD_INTERFACES") == 0)
		return "fl4096";
	if (strcmp(name, "FAIRLEAD_ADDRESSES") == 0)
		return "100.64.0.1";
	return strcmp(name, "FAIRLEAD_ISOLATION") == 0 ? "netns:/mnt/netns/9"
						       : NULL;
}

static int look_from_outside(void)
{
	if (node_world_try_open(NULL, 0) < 0 || node_world_look() < 0 ||
	    !world.device.is_usable) {
		print_error("%s%s\n", world.error.text, world.device.detail);
		return 1;
	}
	/* It may as well be somebody else's, as far as can be seen. */
	if (netns_holds("test -e /mnt/netns/9") !=
	    !!strstr(world.device.detail,
		     "only root sees who has UDP port 4789"))
		return 2;
	return -ethernet_node_ops.inherit(world.state, NODE_WORLD_OWNER,
					  variable_get, NULL, &world.error);
}

/* Its socket stays with the host. */
static void a_lane_in_a_namespace_is_no_other_program(void **state)
{
	const struct fairlead_lane lane = node_world_lane(9, "netns");

	node_world_open_bare();
	node_world_apply(9, "netns");
	assert_int_equal(node_world_look(), 0);
	assert_true(world.device.is_usable);
	assert_null(strstr(world.device.detail, "only root"));
	assert_int_equal(as_nobody(look_from_outside), 0);
	assert_int_equal(ethernet_node_ops.revoke(world.state, &lane,
						  &world.record, false, NULL,
						  &world.error),
			 0);
	assert_int_equal(as_nobody(look_from_outside), ENODEV);
}

static void a_port_that_other_vxlan_has_is_said(void **state)
{
	netns_run("ip link add vx7 type vxlan id 7 dstport 4789 dev eth1 "
		  "noudp6zerocsumrx");
	netns_run("ip link set vx7 up");
	node_world_open_bare();
	assert_int_equal(node_world_look(), 0);
	assert_false(world.device.is_usable);
	assert_says(world.device.detail,
		    "UDP port 4789 is in use by VXLAN device vx7");
}

/* --- what is needed --- */

static int open_without_the_capability(void)
{
	cap_t now = cap_get_proc();
	const cap_value_t capability = CAP_NET_ADMIN;

	if (cap_set_flag(now, CAP_EFFECTIVE, 1, &capability, CAP_CLEAR) < 0 ||
	    cap_set_flag(now, CAP_PERMITTED, 1, &capability, CAP_CLEAR) < 0 ||
	    cap_set_proc(now) < 0)
		return 1;
	cap_free(now);
	return node_world_try_open(NULL, 0) == -EPERM &&
			       strstr(world.error.text, "CAP_NET_ADMIN")
		       ? 0
		       : 2;
}

static void root_without_the_capability_is_reported(void **state)
{
	assert_int_equal(in_child(open_without_the_capability), 0);
}

/*
 * A kernel without something is asked for what no kernel has: the answer is its
 * own.
 */
static const char *missing = "";

int __real_nla_put_string(struct nl_msg *message, int type, const char *text);
int __wrap_nla_put_string(struct nl_msg *message, int type, const char *text);
int __wrap_nla_put_string(struct nl_msg *message, int type, const char *text)
{
	return __real_nla_put_string(
		message, type, strcmp(text, missing) == 0 ? "nonesuch" : text);
}

struct nl_msg *__real_nlmsg_alloc_simple(int type, int flags);
struct nl_msg *__wrap_nlmsg_alloc_simple(int type, int flags);
struct nl_msg *__wrap_nlmsg_alloc_simple(int type, int flags)
{
	if (type >> 8 == NFNL_SUBSYS_NFTABLES &&
	    strcmp(missing, "nf_tables") == 0)
		type = (NFNL_SUBSYS_COUNT + 1) << 8 | (type & 0xff);
	return __real_nlmsg_alloc_simple(type, flags);
}

static void assert_kernel_without(const char *what, const char *words)
{
	int result;

	missing = what;
	result = node_world_try_open(NULL, 0);
	missing = "";
	assert_int_equal(result, -EOPNOTSUPP);
	assert_says(world.error.text, words);
}

static void a_kernel_without_vxlan_is_reported(void **state)
{
	assert_kernel_without("vxlan", "the kernel has no devices of kind "
				       "vxlan, nor a module for them");
	node_world_open_bare();
	assert_false(netns_holds("ip link show type vxlan | grep ."));
}

static void a_kernel_without_nftables_is_reported(void **state)
{
	assert_kernel_without("nf_tables", "the kernel has no nftables "
					   "(CONFIG_NF_TABLES");
	node_world_open_bare();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name)                                              \
	cmocka_unit_test_setup_teardown(name, node_world_setup, \
					node_world_teardown)
		TEST(who_has_no_privileges_can_look),
		TEST(who_only_looked_has_changed_nothing),
		TEST(the_line_says_what_was_refused),
		TEST(a_node_that_cannot_guard_lanes_refuses_with_the_reason),
		TEST(a_mount_namespace_of_the_daemon_is_said_where_jobs_may_want_netns),
		TEST(the_directory_of_ip_netns_is_not_for_those_of_jobs),
		TEST(shaping_without_htb_is_said),
		TEST(classes_that_somebody_deleted_are_said),
		TEST(who_may_not_make_lanes_says_so),
		TEST(a_nic_that_is_too_small_is_said_with_what_to_set),
		TEST(that_none_is_found_is_said_with_each_flaw),
		TEST(an_address_in_the_sites_networks_is_said),
		TEST(rails_in_one_network_are_said_with_what_to_set),
		TEST(somebody_elses_table_is_an_error_that_says_what_to_do),
		TEST(somebody_elses_vxlan_on_our_port_is_listed),
		TEST(a_device_with_a_lanes_name_withholds_its_vni),
		TEST(a_port_that_a_program_has_is_said),
		TEST(a_lane_in_a_namespace_is_no_other_program),
		TEST(a_port_that_other_vxlan_has_is_said),
		TEST(root_without_the_capability_is_reported),
		TEST(a_kernel_without_vxlan_is_reported),
		TEST(a_kernel_without_nftables_is_reported),
#undef TEST
	};

	return cmocka_run_group_tests(tests, node_world_group_setup, NULL);
}
