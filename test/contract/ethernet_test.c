/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `ethernet` against the contract, on the real kernel: each case has a network
 * namespace of its own with two NICs. The owner's processes really bind and
 * send; an object is held by a class of somebody else's below the lane's own,
 * which the kernel does not delete.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "contract/contract.h"
#include "lanes/driver/driver.h"
#include "lanes/driver/ethernet/device.h"
#include "lanes/driver/ethernet/shaper.h"

#define OWNER   20001
#define SKIPPED 77

static char directory[] = "/tmp/fairlead-contract.XXXXXX";
static char namespaces[64];
static int home_fd = -1; /* the network namespace of the program */
static bool is_second_failing;

/* --- a device that cannot be made --- */

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
	if (is_second_failing && device->rail == 1) {
		is_second_failing = false;
		return error_set(ret_error, -ENOBUFS,
				 "eth2: cannot make device %s", device->name);
	}
	return __real_device_create(netlink, device, peers, peer_count,
				    ret_error);
}

/* --- the world --- */

static void run(const char *command)
{
	int status = system(command);

	if (status != 0)
		fail_msg("'%s' ended with %d", command, status);
}

static void start(struct contract_fixture *fixture)
{
	is_second_failing = false;
	home_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_true(home_fd >= 0);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	run("ip link set lo up");
	run("ip link add eth1 type veth peer name p1");
	run("ip link add eth2 type veth peer name p2");
	run("ip addr add 10.204.0.1/16 dev eth1");
	run("ip addr add 10.205.0.1/16 dev eth2");
	run("ip link set p1 up; ip link set p2 up");
	run("ip link set eth1 up; ip link set eth2 up");
	run("mount -t bpf bpf /sys/fs/bpf");
	fixture->owner = OWNER;
	fixture->setting_count = 0;
#define SET(name_, value_)                            \
	fixture->settings[fixture->setting_count++] = \
		(struct fairlead_setting){ .name = name_, .value = value_ }
	SET("devices", "eth1,eth2");
	SET("shaping", "true");
	SET("link_rate", "10G");
	SET("namespaces", namespaces);
#undef SET
}

static void stop(struct contract_fixture *fixture)
{
	/* With its file system the programs of the case are gone. */
	run("umount /sys/fs/bpf");
	assert_int_equal(setns(home_fd, CLONE_NEWNET), 0);
	close(home_fd);
}

static void fail_second(struct contract_fixture *fixture)
{
	is_second_failing = true;
}

static void remove_second(struct contract_fixture *fixture)
{
	run("ip link del eth2");
}

/* --- using it --- */

static struct sockaddr_in address_of(const struct fairlead_object *object)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct ethernet_names names;

	ethernet_name(&ethernet_networks_default, object->ids[0],
		      strcmp(object->device, "eth1") == 0 ? 0 : 1, 1, &names);
	memcpy(&address.sin_addr, names.ipv4.bytes, 4);
	return address;
}

/* Bind to the lane's address, and send to it what then arrives. */
static int exchange(const struct fairlead_object *object)
{
	struct sockaddr_in address = address_of(object);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t size = sizeof(address);
	char byte = 'x';

	if (fd < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0 ||
	    sendto(fd, &byte, 1, 0, (struct sockaddr *)&address, size) < 0 ||
	    recv(fd, &byte, 1, 0) < 0)
		return errno;
	return 0;
}

static int use(struct contract_fixture *fixture,
	       const struct fairlead_object *object)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (setresgid(OWNER, OWNER, OWNER) < 0 ||
		    setresuid(OWNER, OWNER, OWNER) < 0)
			_exit(255);
		_exit(exchange(object));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static char held_device[32];

/* The first lane has the first class. */
static pid_t hold(struct contract_fixture *fixture,
		  const struct fairlead_object *object)
{
	char command[256];

	snprintf(held_device, sizeof(held_device), "%s", object->device);
	snprintf(command, sizeof(command),
		 "tc class add dev %s parent %x:%x classid %x:9999 htb "
		 "rate 1mbit quantum 1500",
		 held_device, SHAPER_HANDLE, SHAPER_FIRST_MINOR, SHAPER_HANDLE);
	run(command);
	return 0;
}

static void let_go(struct contract_fixture *fixture)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "tc class del dev %s classid %x:9999", held_device,
		 SHAPER_HANDLE);
	run(command);
}

int main(void)
{
	struct contract_fixture fixture = {
		.driver = driver_find("ethernet"),
		.options = "vnis=2,tcs=BEST_EFFORT",
		.options_none = "off",
		.options_bad = "vnis=5",
		.device_count = 2,
		.start = start,
		.stop = stop,
		.fail_second = fail_second,
		.remove_second = remove_second,
		.use = use,
		.hold = hold,
		.let_go = let_go,
	};
	int result;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		printf("skipped: needs root, to make network namespaces\n");
		return SKIPPED;
	}
	assert_non_null(mkdtemp(directory));
	snprintf(namespaces, sizeof(namespaces), "%s/netns", directory);
	result = contract_run(&fixture);
	rmdir(namespaces);
	rmdir(directory);
	return result;
}
