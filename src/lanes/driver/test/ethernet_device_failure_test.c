/* SPDX-License-Identifier: BSD-3-Clause */
/* What the world refuses, and what a crash leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/ptrace.h>

#include "lanes/driver/test/device_world.h"
#include "lanes/driver/test/netns.h"

/* That it failed with this text, and nothing is left. */
static void assert_refused(struct lane_device *device, size_t peer_count,
			   int code, const char *text)
{
	size_t before = device_world_list().count;

	assert_int_equal(device_create(world.netlink, device, world.peers,
				       peer_count, &world.error),
			 code);
	assert_int_equal(world.error.code, code);
	assert_string_equal(world.error.text, text);
	assert_int_equal(device_world_list().count, before);
	assert_int_equal(device->index, 0);
}

static void a_vni_is_made_once_on_a_port(void **state)
{
	struct lane_device device;

	if (!world.is_there)
		skip();
	netns_run("ip link add other type vxlan id 4242 dev u0 local 10.9.0.1 "
		  "dstport 4789 udp6zerocsumrx");
	device = device_world_device(4242, 0);
	assert_refused(&device, 0, -EEXIST,
		       "cannot make fl4242 on u0: another device has that "
		       "name, or VNI 4242 on UDP port 4789; `ip -d link` "
		       "shows it");
	/* On another rail's it can be. */
	device = device_world_device(4242, 1);
	assert_int_equal(device_create(world.netlink, &device, NULL, 0,
				       &world.error),
			 0);
}

static void a_name_that_is_taken_is_left_alone(void **state)
{
	struct lane_device device;

	if (!world.is_there)
		skip();
	netns_run("ip link add fl4242 type veth peer name u2");
	device = device_world_device(4242, 0);
	assert_refused(&device, 0, -EEXIST,
		       "cannot make fl4242 on u0: another device has that "
		       "name, or VNI 4242 on UDP port 4789; `ip -d link` "
		       "shows it");
	assert_false(netns_holds("ip link show fl4242 | grep alias"));
	netns_run("ip link del fl4242");
}

static void a_missing_underlay_is_reported(void **state)
{
	struct lane_device device;

	if (!world.is_there)
		skip();
	device = device_world_device(4242, 0);
	device.underlay_index = 4242;
	assert_int_equal(device_create(world.netlink, &device, NULL, 0,
				       &world.error),
			 -ENODEV);
	assert_non_null(strstr(world.error.text, "cannot make fl4242: "));
	assert_non_null(strstr(world.error.text, "(on device 4242)"));
	assert_int_equal(device_world_list().count, 0);
}

static void an_mtu_that_the_underlay_cannot_carry_is_refused(void **state)
{
	struct lane_device device;

	if (!world.is_there)
		skip();
	device = device_world_device(4242, 0);
	device.mtu = 1451;
	assert_refused(&device, 0, -EINVAL,
		       "cannot make fl4242 on u0: its MTU of 1451 is too "
		       "large, u0 leaves 1450");
}

static void a_peer_that_is_refused_is_named(void **state)
{
	struct lane_device device;

	if (!world.is_there)
		skip();
	device = device_world_device(4242, 0);
	device_world_peers(4242, 0, DEVICE_WORLD_PEERS);
	world.peers[701].ipv6 = (struct ip_address){ 0 };
	world.peers[702].underlay = device_world_address("fd00:9::7");
	assert_int_equal(device_create(world.netlink, &device, world.peers,
				       DEVICE_WORLD_PEERS, &world.error),
			 -EAFNOSUPPORT);
	assert_non_null(strstr(world.error.text,
			       "fl4242: cannot add the peer fd00:9::7: "));
	assert_int_equal(device_world_list().count, 0);
}

static void a_port_with_other_flags_is_refused_when_it_is_set_up(void **state)
{
	struct lane_device device;

	if (!world.is_there)
		skip();
	netns_run("ip link add other type vxlan id 7 dev u0 local 10.9.0.1 "
		  "dstport 4789 noudp6zerocsumrx && ip link set other up");
	device = device_world_make(4242);
	assert_int_equal(device_up(world.netlink, &device, &world.error),
			 -EADDRINUSE);
	assert_int_equal(world.error.code, -EADDRINUSE);
	assert_non_null(
		strstr(world.error.text, "fl4242: UDP port 4789 is in use, "));
	netns_run("ip link set other down");
	assert_int_equal(device_up(world.netlink, &device, &world.error), 0);
}

static void a_program_on_the_port_is_reported(void **state)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_port = htons(ETHERNET_PORT) };
	struct lane_device device;
	int squatter;

	if (!world.is_there)
		skip();
	squatter = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(squatter, (struct sockaddr *)&any, sizeof(any)),
			 0);
	device = device_world_make(4242);
	assert_int_equal(device_up(world.netlink, &device, &world.error),
			 -EADDRINUSE);
	assert_non_null(strstr(world.error.text,
			       "fl4242: UDP port 4789 is in use, by a "
			       "program, "));
	close(squatter);
	assert_int_equal(device_up(world.netlink, &device, &world.error), 0);
}

static void without_privileges_nothing_is_made_and_all_is_left(void **state)
{
	struct lane_device device;
	pid_t child;
	int status;

	if (!world.is_there)
		skip();
	device = device_world_make(4242);
	child = fork();
	assert_int_not_equal(child, -1);
	if (child == 0) {
		struct lane_device other = device_world_device(4243, 0);
		struct lane_device both[2] = { device, device };
		bool is_left[2] = { false, false };

		if (setuid(65534) != 0 ||
		    netlink_open(&world.netlink, NULL) != 0)
			_exit(1);
		if (device_create(world.netlink, &other, NULL, 0,
				  &world.error) != -EPERM ||
		    !strstr(world.error.text, "on u0"))
			_exit(2);
		if (devices_delete(world.netlink, both, 2, is_left,
				   &world.error) != -EPERM ||
		    !is_left[0] || !is_left[1] ||
		    !strstr(world.error.text, "fl4242"))
			_exit(3);
		is_left[0] = false;
		if (devices_delete(world.netlink, both, 1, is_left,
				   &world.error) != -EPERM ||
		    !is_left[0])
			_exit(4);
		if (device_up(world.netlink, &device, &world.error) != -EPERM)
			_exit(5);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(device_world_list().count, 1);
}

static void a_node_without_ipv6_is_reported(void **state)
{
	struct lane_device device;

	if (!world.is_there)
		skip();
	netns_run("sysctl -q net.ipv6.conf.default.disable_ipv6=1");
	device = device_world_device(4242, 0);
	assert_int_equal(device_create(world.netlink, &device, NULL, 0,
				       &world.error),
			 -EACCES);
	assert_non_null(strstr(world.error.text,
			       "fl4242: IPv6 is off on this node, and lanes "
			       "need it: see "
			       "net.ipv6.conf.default.disable_ipv6"));
	assert_int_equal(device_world_list().count, 0);
	netns_run("sysctl -q net.ipv6.conf.default.disable_ipv6=0");
	device_world_make(4242);
}

/* Makes two devices, one of them up, and deletes them. */
static void live_a_life(void)
{
	struct lane_device devices[2] = { device_world_device(4242, 0),
					  device_world_device(4243, 0) };
	bool is_left[2];

	device_world_peers(4242, 0, DEVICE_WORLD_PEERS);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 ||
	    netlink_open(&world.netlink, NULL) != 0)
		_exit(1);
	raise(SIGSTOP);
	if (device_create(world.netlink, &devices[0], world.peers,
			  DEVICE_WORLD_PEERS, NULL) != 0 ||
	    device_create(world.netlink, &devices[1], NULL, 0, NULL) != 0 ||
	    device_up(world.netlink, &devices[0], NULL) != 0 ||
	    devices_delete(world.netlink, devices, 2, is_left, NULL) != 0)
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
	assert_int_equal(
		ptrace(PTRACE_SETOPTIONS, child, NULL,
		       (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)),
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

	if (!world.is_there)
		skip();
	do {
		bool is_left[2];
		struct device_list listed;
		pid_t child = fork();

		assert_int_not_equal(child, -1);
		if (child == 0)
			live_a_life();
		/* The peers are many requests of one kind. */
		n += n > 8 && n < 50 ? 7 : 1;
		is_killed = kill_at(child, n);
		listed = device_world_list();
		for (size_t i = 0; i < listed.count; i++) {
			const struct lane_device *device = &listed.devices[i];

			assert_true(device->is_ours);
			if (device->alias.grant_id == 0) {
				assert_false(device->is_up);
				without_alias++;
			}
		}
		assert_int_equal(devices_delete(world.netlink, listed.devices,
						listed.count, is_left,
						&world.error),
				 0);
		assert_int_equal(device_world_list().count, 0);
	} while (is_killed);
	assert_int_not_equal(without_alias, 0);
	assert_in_range(n, 50, 100);
}

#define one(name)                                                 \
	cmocka_unit_test_setup_teardown(name, device_world_setup, \
					device_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		one(a_vni_is_made_once_on_a_port),
		one(a_name_that_is_taken_is_left_alone),
		one(a_missing_underlay_is_reported),
		one(an_mtu_that_the_underlay_cannot_carry_is_refused),
		one(a_peer_that_is_refused_is_named),
		one(a_port_with_other_flags_is_refused_when_it_is_set_up),
		one(a_program_on_the_port_is_reported),
		one(without_privileges_nothing_is_made_and_all_is_left),
		one(a_node_without_ipv6_is_reported),
		one(a_crash_after_any_request_loses_no_device),
	};

	return cmocka_run_group_tests(tests, device_world_group_setup, NULL);
}
