/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In a namespace of the test's own: the underlay is u0, one end of a veth pair,
 * with 10.9.0.1 and fd00:9::1.
 */
#include "driver/ethernet/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/ptrace.h>

#include "driver/test/netns.h"
#include "sim/heap.h"

#define MANY 1000

static bool is_there; /* the namespace */
static struct netlink *netlink;
static struct fairlead_error error;
static struct lane_peer peers[MANY];

static struct ip_address address_of(const char *text)
{
	struct ip_address address;

	assert_true(ip_address_parse(text, &address));
	return address;
}

/* Device and peers as the nodes number 1 and 2 on have them. */
static struct lane_device device_of(uint32_t vni, uint32_t rail)
{
	struct lane_device device = {
		.vni = vni,
		.rail = rail,
		.mtu = 1450,
		.is_ours = true,
		.underlay_index = (int)if_nametoindex("u0"),
		.underlay = address_of("10.9.0.1"),
		.alias = { .grant_id = 9,
			   .uid = 20001,
			   .gid = 20001,
			   .classes = 0xa,
			   .first_class = 1,
			   .htb_class = 17,
			   .vni_count = 1,
			   .vnis = { vni } },
	};
	struct ethernet_names names;

	ethernet_name(&ethernet_networks_default, vni, rail, 1, &names);
	memcpy(device.name, names.device, sizeof(device.name));
	memcpy(device.mac, names.mac, sizeof(device.mac));
	device.ipv4 = names.ipv4;
	device.ipv4_prefix_size = names.ipv4_prefix_size;
	device.ipv6 = names.ipv6;
	device.port = names.port;
	return device;
}

static void fill_peers(uint32_t vni, uint32_t rail, size_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct ethernet_names names;

		ethernet_name(&ethernet_networks_default, vni, rail, i + 2,
			      &names);
		memcpy(peers[i].mac, names.mac, sizeof(peers[i].mac));
		peers[i].ipv4 = names.ipv4;
		peers[i].ipv6 = names.ipv6;
		peers[i].underlay = (struct ip_address){
			4, { 10, 9, (uint8_t)((i + 2) >> 8), (uint8_t)(i + 2) }
		};
	}
}

static struct lane_device make(uint32_t vni)
{
	struct lane_device device = device_of(vni, 0);

	fill_peers(vni, 0, 1);
	if (device_create(netlink, &device, peers, 1, &error) != 0)
		fail_msg("%s", error.text);
	assert_int_not_equal(device.index, 0);
	return device;
}

struct listed {
	struct lane_device devices[64];
	size_t count;
};

static void take_device(void *arg, const struct lane_device *device)
{
	struct listed *listed = arg;

	assert_in_range(listed->count, 0, 63);
	listed->devices[listed->count++] = *device;
}

static struct listed list(void)
{
	struct listed listed = { 0 };

	assert_int_equal(devices_list(netlink, take_device, &listed, &error),
			 0);
	return listed;
}

static void count_peer(void *arg, const struct ip_address *underlay)
{
	assert_int_equal(underlay->family, 4);
	++*(size_t *)arg;
}

static size_t peers_of(const struct lane_device *device)
{
	size_t count = 0;

	assert_int_equal(
		device_peers(netlink, device, count_peer, &count, &error), 0);
	return count;
}

static int group_setup(void **state)
{
	is_there = netns_enter();
	return 0;
}

static int setup(void **state)
{
	memset(&error, 0, sizeof(error));
	if (!is_there)
		return 0;
	netns_run("ip link add u0 type veth peer name u1 && "
		  "ip addr add 10.9.0.1/16 dev u0 && "
		  "ip addr add fd00:9::1/64 dev u0 nodad && "
		  "ip link set u0 up && ip link set u1 up && "
		  "ip link set lo up");
	return netlink_open(&netlink, NULL);
}

static int teardown(void **state)
{
	if (!is_there)
		return 0;
	netlink_close(netlink);
	netlink = NULL;
	/* Devices on it go, too. */
	if (netns_holds("ip link show u0"))
		netns_run("ip link del u0");
	return 0;
}

static void a_device_is_listed_as_it_was_made(void **state)
{
	struct lane_device device;
	struct listed listed;

	if (!is_there)
		skip();
	device = make(4242);
	listed = list();
	assert_int_equal(listed.count, 1);
	assert_memory_equal(&listed.devices[0], &device, sizeof(device));
	assert_int_equal(peers_of(&device), 1);
	assert_int_equal(device_up(netlink, &device, &error), 0);
	device.is_up = true;
	listed = list();
	assert_memory_equal(&listed.devices[0], &device, sizeof(device));
}

static void a_device_has_fixed_peers_only(void **state)
{
	if (!is_there)
		skip();
	make(4242);
	netns_run("ip -d link show fl4242 | tr '\\n' ' ' | grep -q "
		  "'NOARP.* group 17996 .*link/ether 02:00:10:92:00:01 "
		  ".*vxlan id 4242 local 10.9.0.1 dev u0 .*dstport 4789 "
		  "nolearning tos inherit ttl 1 .*udp6zerocsumrx "
		  ".*addrgenmode none.*alias fairlead:grant=9:'");
	netns_run("bridge fdb show dev fl4242 | grep -qx "
		  "'02:00:10:92:00:02 dst 10.9.0.2 self permanent *'");
	netns_run("ip neigh show dev fl4242 nud permanent | grep -q "
		  "'^100.66.72.2 lladdr 02:00:10:92:00:02 PERMANENT'");
	netns_run("ip neigh show dev fl4242 nud permanent | grep -q "
		  "'^fd46:4c00:0:1092::2 lladdr 02:00:10:92:00:02 PERMANENT'");
}

static void a_device_that_is_up_has_no_link_local_address(void **state)
{
	struct lane_device device;

	if (!is_there)
		skip();
	device = make(4242);
	assert_int_equal(device_up(netlink, &device, &error), 0);
	assert_false(netns_holds("ip addr show dev fl4242 | grep fe80"));
	netns_run("ip -6 addr show dev fl4242 | grep -q "
		  "'fd46:4c00:0:1092::1/64 scope global'");
	assert_false(netns_holds("ip addr show dev fl4242 | grep tentative"));
}

static void devices_work_over_ipv6(void **state)
{
	struct lane_device device;
	struct listed listed;

	if (!is_there)
		skip();
	device = device_of(4242, 0);
	device.underlay = address_of("fd00:9::1");
	device.mtu = 1430;
	fill_peers(4242, 0, 1);
	peers[0].underlay = address_of("fd00:9::2");
	assert_int_equal(device_create(netlink, &device, peers, 1, &error), 0);
	assert_int_equal(device_up(netlink, &device, &error), 0);
	device.is_up = true;
	listed = list();
	assert_memory_equal(&listed.devices[0], &device, sizeof(device));
	netns_run("bridge fdb show dev fl4242 | grep -q 'dst fd00:9::2 self'");
}

static void all_of_many_peers_are_there(void **state)
{
	struct lane_device device;

	if (!is_there)
		skip();
	device = device_of(4242, 0);
	fill_peers(4242, 0, MANY);
	assert_int_equal(device_create(netlink, &device, peers, MANY, &error),
			 0);
	/* Another one's are not taken for them. */
	make(4243);
	assert_int_equal(peers_of(&device), MANY);
	netns_run("test $(ip -4 neigh show dev fl4242 nud permanent | wc -l) = "
		  "%d",
		  MANY);
	netns_run("test $(ip -6 neigh show dev fl4242 nud permanent | wc -l) = "
		  "%d",
		  MANY);
}

static void dressing_again_changes_nothing(void **state)
{
	struct lane_device device;
	struct lane_device again;
	struct listed listed;

	if (!is_there)
		skip();
	device = make(4242);
	again = device;
	again.index = 0;
	assert_int_equal(device_dress(netlink, &again, peers, 1, &error), 0);
	assert_int_equal(again.index, device.index);
	listed = list();
	assert_memory_equal(&listed.devices[0], &device, sizeof(device));
	assert_int_equal(peers_of(&device), 1);
}

static void a_device_can_be_dressed_in_another_namespace(void **state)
{
	struct netlink *outside;
	struct lane_device device;
	struct listed listed;
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (!is_there)
		skip();
	device = make(4242);
	outside = netlink;
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(netlink_open(&netlink, &error), 0);
	netns_run("nsenter --net=/proc/%d/fd/%d ip link set fl4242 netns %d",
		  getpid(), own, getpid());
	assert_int_equal(device_dress(netlink, &device, peers, 1, &error), 0);
	assert_int_equal(device_up(netlink, &device, &error), 0);
	device.is_up = true;
	listed = list();
	assert_int_equal(listed.count, 1);
	assert_memory_equal(&listed.devices[0], &device, sizeof(device));
	assert_int_equal(peers_of(&device), 1);
	assert_false(netns_holds("ip addr show dev fl4242 | grep fe80"));
	netns_run("test $(ip neigh show dev fl4242 nud permanent | wc -l) = 2");
	netlink_close(netlink);
	netlink = outside;
	assert_int_equal(setns(own, CLONE_NEWNET), 0);
	close(own);
}

static void nobody_dresses_what_is_not_there(void **state)
{
	struct lane_device device;

	if (!is_there)
		skip();
	device = device_of(4242, 0);
	assert_int_equal(device_dress(netlink, &device, NULL, 0, &error),
			 -ENODEV);
	assert_string_equal(error.text,
			    "fl4242: cannot look at it: No such device");
}

/* That it failed with this text, and nothing is left. */
static void assert_refused(struct lane_device *device, size_t peer_count,
			   int code, const char *text)
{
	size_t before = list().count;

	assert_int_equal(device_create(netlink, device, peers, peer_count,
				       &error),
			 code);
	assert_int_equal(error.code, code);
	assert_string_equal(error.text, text);
	assert_int_equal(list().count, before);
	assert_int_equal(device->index, 0);
}

static void a_vni_is_made_once_on_a_port(void **state)
{
	struct lane_device device;

	if (!is_there)
		skip();
	netns_run("ip link add other type vxlan id 4242 dev u0 local 10.9.0.1 "
		  "dstport 4789 udp6zerocsumrx");
	device = device_of(4242, 0);
	assert_refused(&device, 0, -EEXIST,
		       "cannot make fl4242 on u0: VXLAN device other has VNI "
		       "4242 on UDP port 4789");
	/* On another rail's it can be. */
	device = device_of(4242, 1);
	assert_int_equal(device_create(netlink, &device, NULL, 0, &error), 0);
}

static void a_name_that_is_taken_is_left_alone(void **state)
{
	struct lane_device device;

	if (!is_there)
		skip();
	netns_run("ip link add fl4242 type veth peer name u2");
	device = device_of(4242, 0);
	assert_refused(&device, 0, -EEXIST,
		       "cannot make fl4242 on u0: there is a device of that "
		       "name (veth)");
	assert_false(netns_holds("ip link show fl4242 | grep alias"));
	netns_run("ip link del fl4242");
}

static void an_underlay_that_is_gone_is_told(void **state)
{
	struct lane_device device;

	if (!is_there)
		skip();
	device = device_of(4242, 0);
	device.underlay_index = 4242;
	assert_int_equal(device_create(netlink, &device, NULL, 0, &error),
			 -ENODEV);
	assert_non_null(strstr(error.text, "cannot make fl4242: "));
	assert_non_null(strstr(error.text, "(on device 4242)"));
	assert_int_equal(list().count, 0);
}

static void an_mtu_that_the_underlay_cannot_carry_is_refused(void **state)
{
	struct lane_device device;

	if (!is_there)
		skip();
	device = device_of(4242, 0);
	device.mtu = 1451;
	assert_refused(&device, 0, -EINVAL,
		       "cannot make fl4242 on u0: its MTU of 1451 is too "
		       "large, u0 leaves 1450");
}

static void a_peer_that_is_refused_is_named(void **state)
{
	struct lane_device device;

	if (!is_there)
		skip();
	device = device_of(4242, 0);
	fill_peers(4242, 0, MANY);
	peers[701].ipv6 = (struct ip_address){ 0 };
	peers[702].underlay = address_of("fd00:9::7");
	assert_int_equal(device_create(netlink, &device, peers, MANY, &error),
			 -EAFNOSUPPORT);
	assert_non_null(
		strstr(error.text, "fl4242: cannot add the peer fd00:9::7: "));
	assert_int_equal(list().count, 0);
}

static void a_port_with_other_flags_is_refused_when_it_is_set_up(void **state)
{
	struct lane_device device;

	if (!is_there)
		skip();
	netns_run("ip link add other type vxlan id 7 dev u0 local 10.9.0.1 "
		  "dstport 4789 noudp6zerocsumrx && ip link set other up");
	device = make(4242);
	assert_int_equal(device_up(netlink, &device, &error), -EADDRINUSE);
	assert_int_equal(error.code, -EADDRINUSE);
	assert_non_null(strstr(error.text, "fl4242: VXLAN device other has UDP "
					   "port 4789 with other flags"));
	netns_run("ip link set other down");
	assert_int_equal(device_up(netlink, &device, &error), 0);
}

static void a_program_on_the_port_is_told(void **state)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_port = htons(ETHERNET_PORT) };
	struct lane_device device;
	int squatter;

	if (!is_there)
		skip();
	squatter = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(squatter, (struct sockaddr *)&any, sizeof(any)),
			 0);
	device = make(4242);
	assert_int_equal(device_up(netlink, &device, &error), -EADDRINUSE);
	assert_string_equal(error.text,
			    "fl4242: UDP port 4789 is in use by a program, or "
			    "in another network namespace");
	close(squatter);
	assert_int_equal(device_up(netlink, &device, &error), 0);
}

static void without_privileges_nothing_is_made_and_all_is_left(void **state)
{
	struct lane_device device;
	pid_t child;
	int status;

	if (!is_there)
		skip();
	device = make(4242);
	child = fork();
	assert_int_not_equal(child, -1);
	if (child == 0) {
		struct lane_device other = device_of(4243, 0);
		struct lane_device both[2] = { device, device };
		bool is_left[2] = { false, false };

		if (setuid(65534) != 0 || netlink_open(&netlink, NULL) != 0)
			_exit(1);
		if (device_create(netlink, &other, NULL, 0, &error) != -EPERM ||
		    !strstr(error.text, "on u0"))
			_exit(2);
		if (devices_delete(netlink, both, 2, is_left, &error) !=
			    -EPERM ||
		    !is_left[0] || !is_left[1] || !strstr(error.text, "fl4242"))
			_exit(3);
		is_left[0] = false;
		if (devices_delete(netlink, both, 1, is_left, &error) !=
			    -EPERM ||
		    !is_left[0])
			_exit(4);
		if (device_up(netlink, &device, &error) != -EPERM)
			_exit(5);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(list().count, 1);
}

static void a_node_without_ipv6_is_told(void **state)
{
	struct lane_device device;

	if (!is_there)
		skip();
	netns_run("sysctl -q net.ipv6.conf.default.disable_ipv6=1");
	device = device_of(4242, 0);
	assert_int_equal(device_create(netlink, &device, NULL, 0, &error),
			 -EACCES);
	assert_non_null(strstr(error.text,
			       "fl4242: IPv6 is off on this node, and lanes "
			       "need it: see "
			       "net.ipv6.conf.default.disable_ipv6"));
	assert_int_equal(list().count, 0);
	netns_run("sysctl -q net.ipv6.conf.default.disable_ipv6=0");
	make(4242);
}

static int create_without_memory(void *arg)
{
	struct lane_device *device = arg;

	return device_create(netlink, device, peers, 1, NULL);
}

static void a_creation_without_memory_leaves_nothing(void **state)
{
	struct lane_device device;
	unsigned int n;
	int result;

	if (!is_there)
		skip();
	device = device_of(4242, 0);
	fill_peers(4242, 0, 1);
	for (n = 1; sim_heap_fails(n, &result, create_without_memory, &device);
	     n++) {
		assert_int_equal(result, -ENOMEM);
		assert_int_equal(list().count, 0);
	}
	assert_int_equal(result, 0);
	assert_in_range(n, 2, 100);
}

static int list_without_memory(void *arg)
{
	struct listed *listed = arg;

	listed->count = 0;
	return devices_list(netlink, take_device, listed, NULL);
}

static void a_list_without_memory_is_refused_whole(void **state)
{
	struct listed listed;
	unsigned int n;
	int result;

	if (!is_there)
		skip();
	make(4242);
	make(4243);
	for (n = 1; sim_heap_fails(n, &result, list_without_memory, &listed);
	     n++) {
		assert_int_equal(result, -ENOMEM);
		assert_int_equal(listed.count, 0);
	}
	assert_int_equal(result, 0);
	assert_int_equal(listed.count, 2);
	assert_in_range(n, 2, 100);
}

/* Makes two devices, one of them up, and deletes them. */
static void live_a_life(void)
{
	struct lane_device devices[2] = { device_of(4242, 0),
					  device_of(4243, 0) };
	bool is_left[2];

	fill_peers(4242, 0, MANY);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 ||
	    netlink_open(&netlink, NULL) != 0)
		_exit(1);
	raise(SIGSTOP);
	if (device_create(netlink, &devices[0], peers, MANY, NULL) != 0 ||
	    device_create(netlink, &devices[1], NULL, 0, NULL) != 0 ||
	    device_up(netlink, &devices[0], NULL) != 0 ||
	    devices_delete(netlink, devices, 2, is_left, NULL) != 0)
		_exit(2);
	_exit(0);
}

/* Kill the child when its n-th request is done. False: it made fewer. */
static bool kill_at(pid_t child, unsigned int n)
{
	struct ptrace_syscall_info info;
	unsigned int requests = 0;
	bool is_sending = false;
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, child, NULL,
				(void *)PTRACE_O_TRACESYSGOOD),
			 0);
	while (WIFSTOPPED(status) && requests < n) {
		assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		if (!WIFSTOPPED(status))
			break;
		assert_true(ptrace(PTRACE_GET_SYSCALL_INFO, child,
				   (void *)sizeof(info), &info) > 0);
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
			is_sending = info.entry.nr == SYS_sendto;
		else if (info.op == PTRACE_SYSCALL_INFO_EXIT && is_sending)
			requests++;
	}
	if (!WIFSTOPPED(status)) {
		assert_int_equal(status, 0);
		return false;
	}
	assert_int_equal(kill(child, SIGKILL), 0);
	while (!WIFSIGNALED(status))
		assert_int_equal(waitpid(child, &status, 0), child);
	return true;
}

static void a_crash_after_any_request_loses_no_device(void **state)
{
	unsigned int without_alias = 0;
	unsigned int n = 0;
	bool is_killed;

	if (!is_there)
		skip();
	do {
		bool is_left[2];
		struct listed listed;
		pid_t child = fork();

		assert_int_not_equal(child, -1);
		if (child == 0)
			live_a_life();
		/* The peers are many requests of one kind. */
		n += n > 8 && n < 50 ? 7 : 1;
		is_killed = kill_at(child, n);
		listed = list();
		for (size_t i = 0; i < listed.count; i++) {
			const struct lane_device *device = &listed.devices[i];

			assert_true(device->is_ours);
			if (device->alias.grant_id == 0) {
				assert_false(device->is_up);
				without_alias++;
			}
		}
		assert_int_equal(devices_delete(netlink, listed.devices,
						listed.count, is_left, &error),
				 0);
		assert_int_equal(list().count, 0);
	} while (is_killed);
	assert_int_not_equal(without_alias, 0);
	assert_in_range(n, 50, 100);
}

static void a_device_without_an_alias_is_ours_by_group_and_name(void **state)
{
	struct listed listed;

	if (!is_there)
		skip();
	/* What a crash leaves between creation and alias. */
	netns_run("ip link add fl77r1 group 17996 type vxlan id 77 dev u0 "
		  "dstport 4790");
	listed = list();
	assert_int_equal(listed.count, 1);
	assert_true(listed.devices[0].is_ours);
	assert_int_equal(listed.devices[0].vni, 77);
	assert_int_equal(listed.devices[0].rail, 1);
	assert_int_equal(listed.devices[0].alias.grant_id, 0);
}

static void what_is_not_ours_is_listed_as_such(void **state)
{
	struct listed listed;

	if (!is_there)
		skip();
	netns_run("ip link add fl78 type vxlan id 78 dev u0 dstport 4789 && "
		  "ip link add my79 group 17996 type vxlan id 79 dev u0 "
		  "dstport 4789 && "
		  "ip link add fl80 group 17996 type vxlan id 81 dev u0 "
		  "dstport 4789 && "
		  "ip link set fl78 alias "
		  "fairlead:grant=9:uid=1:gid=1:tcs=0xa:tc=1:class=0:vnis=78 "
		  "&& ip link set u1 group 17996");
	listed = list();
	assert_int_equal(listed.count, 3);
	for (size_t i = 0; i < listed.count; i++) {
		assert_false(listed.devices[i].is_ours);
		assert_int_equal(listed.devices[i].alias.grant_id, 0);
		assert_int_equal(listed.devices[i].port, 4789);
	}
	assert_int_equal(listed.devices[2].vni, 81);
}

static void devices_are_deleted_together(void **state)
{
	struct lane_device devices[5];
	bool is_left[5];

	if (!is_there)
		skip();
	for (uint32_t i = 0; i < 5; i++)
		devices[i] = make(4242 + i);
	assert_int_equal(devices_delete(netlink, devices, 4, is_left, &error),
			 0);
	for (int i = 0; i < 4; i++)
		assert_false(is_left[i]);
	assert_int_equal(list().count, 1);
	/* Once more, and among one that is there. */
	assert_int_equal(devices_delete(netlink, devices, 5, is_left, &error),
			 0);
	assert_int_equal(list().count, 0);
	assert_int_equal(devices_delete(netlink, devices, 1, is_left, &error),
			 0);
	assert_int_equal(devices_delete(netlink, devices, 0, is_left, &error),
			 0);
}

static void anothers_in_the_same_place_is_not_deleted(void **state)
{
	struct lane_device devices[3];
	bool is_left[3] = { true, true, true };

	if (!is_there)
		skip();
	for (uint32_t i = 0; i < 3; i++)
		devices[i] = make(4242 + i);
	devices[0].vni = 7;
	strcpy(devices[1].name, "fl7");
	devices[2].index = (int)if_nametoindex("u1");
	assert_int_equal(devices_delete(netlink, devices, 3, is_left, &error),
			 0);
	assert_false(is_left[0]);
	assert_int_equal(list().count, 3);
	netns_run("ip link show u1 >/dev/null");
}

static void a_deletion_that_was_interrupted_is_gone_on_with(void **state)
{
	struct lane_device devices[3];
	struct listed listed;
	bool is_left[3];

	if (!is_there)
		skip();
	for (uint32_t i = 0; i < 3; i++)
		devices[i] = make(4242 + i);
	netns_run("ip link set fl4244 group %d", ETHERNET_LINK_GROUP_ENDING);
	listed = list();
	assert_int_equal(listed.count, 3);
	assert_true(listed.devices[2].is_ours);
	assert_int_equal(listed.devices[2].alias.grant_id, 9);
	assert_int_equal(devices_delete(netlink, devices, 2, is_left, &error),
			 0);
	assert_int_equal(list().count, 0);
}

static void a_stranger_in_the_group_is_not_deleted(void **state)
{
	struct lane_device devices[2];
	bool is_left[2];

	if (!is_there)
		skip();
	devices[0] = make(4242);
	devices[1] = make(4243);
	netns_run("ip link set u1 group %d", ETHERNET_LINK_GROUP_ENDING);
	assert_int_equal(devices_delete(netlink, devices, 2, is_left, &error),
			 0);
	assert_int_equal(list().count, 0);
	netns_run("ip link show u1 >/dev/null");
}

static void devices_go_with_their_underlay(void **state)
{
	struct lane_device devices[2];
	bool is_left[2] = { true, true };

	if (!is_there)
		skip();
	devices[0] = make(4242);
	devices[1] = make(4243);
	netns_run("ip link del u0");
	assert_int_equal(list().count, 0);
	assert_int_equal(devices_delete(netlink, devices, 2, is_left, &error),
			 0);
	assert_false(is_left[0] || is_left[1]);
}

static socklen_t to_socket(const struct ip_address *address, in_port_t port,
			   struct sockaddr_storage *ret_address)
{
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)ret_address;
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)ret_address;

	memset(ret_address, 0, sizeof(*ret_address));
	if (address->family == 4) {
		ipv4->sin_family = AF_INET;
		ipv4->sin_port = port;
		memcpy(&ipv4->sin_addr, address->bytes, 4);
		return sizeof(*ipv4);
	}
	ipv6->sin6_family = AF_INET6;
	ipv6->sin6_port = port;
	memcpy(&ipv6->sin6_addr, address->bytes, 16);
	return sizeof(*ipv6);
}

static int bound_to(const struct ip_address *address, in_port_t port)
{
	struct sockaddr_storage own;
	socklen_t size = to_socket(address, port, &own);
	int fd = socket(own.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&own, size), 0);
	return fd;
}

static void send_until_there(int sender, int receiver,
			     const struct ip_address *address, in_port_t port)
{
	struct sockaddr_storage target;
	socklen_t size = to_socket(address, port, &target);
	char byte = 0;

	/* The veth pair needs a moment until it takes packets. */
	while (recv(receiver, &byte, 1, MSG_DONTWAIT) != 1) {
		assert_int_equal(sendto(sender, "!", 1, 0,
					(struct sockaddr *)&target, size),
				 1);
		sched_yield();
	}
	assert_int_equal(byte, '!');
	close(sender);
	close(receiver);
}

/* The other node, number 2, in this thread's namespace. */
static struct lane_device make_other(uint32_t vni)
{
	struct lane_device device = device_of(vni, 0);
	struct ethernet_names own;
	struct lane_peer peer;

	fill_peers(vni, 0, 1);
	ethernet_name(&ethernet_networks_default, vni, 0, 1, &own);
	memcpy(device.mac, peers[0].mac, sizeof(device.mac));
	device.ipv4 = peers[0].ipv4;
	device.ipv6 = peers[0].ipv6;
	device.underlay = address_of("10.9.0.2");
	device.underlay_index = (int)if_nametoindex("u1");
	peer = (struct lane_peer){ .underlay = address_of("10.9.0.1"),
				   .ipv4 = own.ipv4,
				   .ipv6 = own.ipv6 };
	memcpy(peer.mac, own.mac, sizeof(peer.mac));
	if (device_create(netlink, &device, &peer, 1, &error) != 0)
		fail_msg("%s", error.text);
	assert_int_equal(device_up(netlink, &device, &error), 0);
	return device;
}

static void a_lane_carries_packets_of_both_families(void **state)
{
	const in_port_t port = htons(4242);
	struct netlink *outside = netlink;
	struct lane_device device;
	struct lane_device other;
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int senders[2];

	if (!is_there)
		skip();
	device = make(4242);
	assert_int_equal(device_up(netlink, &device, &error), 0);
	senders[0] = bound_to(&device.ipv4, port);
	senders[1] = bound_to(&device.ipv6, port);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	netns_run("nsenter --net=/proc/%d/fd/%d ip link set u1 netns %d && "
		  "ip addr add 10.9.0.2/16 dev u1 && ip link set u1 up",
		  getpid(), own, getpid());
	assert_int_equal(netlink_open(&netlink, &error), 0);
	other = make_other(4242);
	send_until_there(senders[0], bound_to(&other.ipv4, port), &other.ipv4,
			 port);
	send_until_there(senders[1], bound_to(&other.ipv6, port), &other.ipv6,
			 port);
	netlink_close(netlink);
	netlink = outside;
	assert_int_equal(setns(own, CLONE_NEWNET), 0);
	close(own);
}

#define one(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		one(a_device_is_listed_as_it_was_made),
		one(a_device_has_fixed_peers_only),
		one(a_device_that_is_up_has_no_link_local_address),
		one(devices_work_over_ipv6),
		one(all_of_many_peers_are_there),
		one(dressing_again_changes_nothing),
		one(a_device_can_be_dressed_in_another_namespace),
		one(nobody_dresses_what_is_not_there),
		one(a_vni_is_made_once_on_a_port),
		one(a_name_that_is_taken_is_left_alone),
		one(an_underlay_that_is_gone_is_told),
		one(an_mtu_that_the_underlay_cannot_carry_is_refused),
		one(a_peer_that_is_refused_is_named),
		one(a_port_with_other_flags_is_refused_when_it_is_set_up),
		one(a_program_on_the_port_is_told),
		one(without_privileges_nothing_is_made_and_all_is_left),
		one(a_node_without_ipv6_is_told),
		one(a_creation_without_memory_leaves_nothing),
		one(a_list_without_memory_is_refused_whole),
		one(a_crash_after_any_request_loses_no_device),
		one(a_device_without_an_alias_is_ours_by_group_and_name),
		one(what_is_not_ours_is_listed_as_such),
		one(devices_are_deleted_together),
		one(anothers_in_the_same_place_is_not_deleted),
		one(a_deletion_that_was_interrupted_is_gone_on_with),
		one(a_stranger_in_the_group_is_not_deleted),
		one(devices_go_with_their_underlay),
		one(a_lane_carries_packets_of_both_families),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
