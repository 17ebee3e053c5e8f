/* SPDX-License-Identifier: BSD-3-Clause */
/* cmocka wants the first ones first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/ethernet.h"
#include "lanes/driver/ethernet/naming.h"
#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/two_nodes.h"

struct two_nodes world;

/* --- the world --- */

void nodes_enter(size_t i)
{
	assert_int_equal(setns(world.nodes[i].netns, CLONE_NEWNET), 0);
}

static int netns_open(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

int nodes_netns_make(void)
{
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	netns_run("ip link set lo up");
	return netns_open();
}

int nodes_group_setup(void **state)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
		print_message("skipped: network namespaces need root\n");
		return 0;
	}
	netns_run("mount -t tmpfs -o mode=0755 tmpfs /mnt");
	world.home = netns_open();
	world.is_there = true;
	return 0;
}

/* In place of the setting of that name, or besides. */
static void setting_put(struct fairlead_setting *settings, size_t *count,
			const struct fairlead_setting *setting)
{
	size_t i = 0;

	while (i < *count && strcmp(settings[i].name, setting->name) != 0)
		i++;
	settings[i] = *setting;
	if (i == *count)
		++*count;
}

void nodes_open(size_t i, const struct fairlead_setting *more,
		size_t more_count)
{
	struct fairlead_setting settings[8] = {
		{ .name = "devices", .value = "eth1" },
		{ .name = "namespaces",
		  .value = i == 0 ? NODES_NETNS_0 : NODES_NETNS_1 },
		{ .name = "bpf_pins",
		  .value = i == 0 ? "/mnt/bpf0" : "/mnt/bpf1" },
	};
	size_t count = 3;

	for (size_t k = 0; k < more_count; k++)
		setting_put(settings, &count, &more[k]);
	nodes_enter(i);
	if (ethernet_node_ops.open(settings, count, &world.nodes[i].state,
				   &world.error) < 0)
		fail_msg("%s", world.error.text);
}

int nodes_begin(void (*wire)(void))
{
	if (!world.is_there)
		skip();
	memset(&world.error, 0, sizeof(world.error));
	world.warning_count = 0;
	for (size_t i = 0; i < NODES_COUNT; i++)
		world.nodes[i] = (struct node_under_test){
			.netns = nodes_netns_make(),
		};
	wire();
	return ethernet_manager_ops.configure(NULL, 0, &world.manager,
					      &world.error);
}

static void join(void)
{
	nodes_enter(1);
	netns_run("ip link add eth1 type veth peer name eth1 netns "
		  "/proc/%d/fd/%d",
		  (int)getpid(), world.nodes[0].netns);
	for (size_t i = 0; i < NODES_COUNT; i++) {
		nodes_enter(i);
		netns_run("ip addr add 10.204.0.%zu/16 dev eth1", i + 1);
		netns_run("ip link set eth1 up");
	}
}

int nodes_setup(void **state)
{
	int result = nodes_begin(join);

	for (size_t i = 0; i < NODES_COUNT; i++)
		nodes_open(i, NULL, 0);
	return result;
}

void nodes_close(size_t i)
{
	nodes_enter(i);
	ethernet_node_ops.close(world.nodes[i].state);
	world.nodes[i].state = NULL;
}

int nodes_teardown(void **state)
{
	for (size_t i = 0; i < NODES_COUNT; i++) {
		nodes_close(i);
		close(world.nodes[i].netns);
		netns_run("umount -R /mnt/bpf%zu /mnt/netns%zu 2>/dev/null; "
			  "rm -rf /mnt/netns%zu",
			  i, i, i);
	}
	ethernet_manager_ops.destroy(world.manager);
	return setns(world.home, CLONE_NEWNET);
}

static void warning_take(struct fairlead_warnings *warnings, const char *text)
{
	world.warning_count++;
	snprintf(world.warning, sizeof(world.warning), "%s", text);
}

struct fairlead_warnings nodes_warnings = { .add = warning_take };

/* --- lanes --- */

struct fairlead_lane nodes_lane(uint64_t grant_id, uid_t uid, uint32_t vni)
{
	struct fairlead_lane lane = {
		.grant_id = grant_id,
		.uid = uid,
		.gid = uid,
		.cores = 1,
		.tasks = 1,
		.id_count = 1,
		.ids = { vni },
		.options = "vnis=1,tcs=BEST_EFFORT,isolation=host",
	};

	return lane;
}

/* What the manager makes of what the nodes say; the caller frees it. */
uint8_t *nodes_members(const struct fairlead_lane *lane, size_t *ret_size)
{
	static const char *const names[] = { "n0", "n1" };
	struct fairlead_place places[NODES_COUNT];
	uint8_t *bytes = NULL;

	for (size_t i = 0; i < NODES_COUNT; i++) {
		nodes_enter(i);
		assert_int_equal(ethernet_node_ops.place(world.nodes[i].state,
							 &places[i],
							 &world.error),
				 0);
	}
	if (ethernet_manager_ops.assemble(world.manager, lane, names, places,
					  NODES_COUNT, &bytes, ret_size,
					  &world.error) < 0)
		fail_msg("%s", world.error.text);
	return bytes;
}

int nodes_apply(size_t i, struct fairlead_lane *lane)
{
	_auto_(freep) uint8_t *members =
		nodes_members(lane, &lane->members_size);
	int result;

	lane->index = (uint32_t)i;
	lane->node_count = NODES_COUNT;
	lane->members = members;
	nodes_enter(i);
	result = ethernet_node_ops.apply(world.nodes[i].state, lane, false,
					 &world.nodes[i].record,
					 &nodes_warnings, &world.error);
	lane->members = NULL;
	lane->members_size = 0;
	return result;
}

void nodes_apply_all(struct fairlead_lane *lane)
{
	for (size_t i = 0; i < NODES_COUNT; i++) {
		if (nodes_apply(i, lane) < 0)
			fail_msg("%s", world.error.text);
	}
}

int nodes_revoke(size_t i, const struct fairlead_lane *lane, bool has_record)
{
	const struct fairlead_record none = { 0 };

	nodes_enter(i);
	return ethernet_node_ops.revoke(world.nodes[i].state, lane,
					has_record ? &world.nodes[i].record
						   : &none,
					false, &nodes_warnings, &world.error);
}

/* --- traffic --- */

socklen_t nodes_address(uint8_t family, size_t node,
			struct sockaddr_storage *address)
{
	struct ethernet_names names;

	ethernet_name(&ethernet_networks_default, NODES_VNI, 0,
		      (uint32_t)node + 1, &names);
	memset(address, 0, sizeof(*address));
	if (family == 4) {
		struct sockaddr_in *in = (struct sockaddr_in *)address;

		in->sin_family = AF_INET;
		in->sin_port = htons(7000);
		memcpy(&in->sin_addr, names.ipv4.bytes, 4);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)address;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(7000);
	memcpy(&in6->sin6_addr, names.ipv6.bytes, 16);
	return sizeof(*in6);
}

void nodes_be_at(const struct place_to_be *place)
{
	if (place->netns) {
		int fd = open(place->netns, O_RDONLY | O_CLOEXEC);

		if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
			_exit(200);
	} else if (setns(world.nodes[place->node].netns, CLONE_NEWNET) < 0) {
		_exit(201);
	}
	if (setresgid(place->uid, place->uid, place->uid) < 0 ||
	    setresuid(place->uid, place->uid, place->uid) < 0)
		_exit(202);
}

/*
 * A TCP connection from one to the other: 0, or the errno of the client. The
 * listener is there before the client begins.
 */
int nodes_connect(uint8_t family, const struct place_to_be *from,
		  const struct place_to_be *to)
{
	struct sockaddr_storage address;
	socklen_t size = nodes_address(family, to->node, &address);
	int ready[2], status;
	pid_t listener, client;
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	listener = fork();
	assert_true(listener >= 0);
	if (listener == 0) {
		int fd;

		nodes_be_at(to);
		fd = socket(address.ss_family, SOCK_STREAM, 0);
		if (bind(fd, (struct sockaddr *)&address, size) < 0 ||
		    listen(fd, 1) < 0)
			_exit(1);
		if (write(ready[1], "x", 1) != 1)
			_exit(2);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	client = fork();
	assert_true(client >= 0);
	if (client == 0) {
		int fd;

		nodes_be_at(from);
		fd = socket(address.ss_family, SOCK_STREAM, 0);
		_exit(connect(fd, (struct sockaddr *)&address, size) < 0 ? errno
									 : 0);
	}
	assert_int_equal(waitpid(client, &status, 0), client);
	assert_true(WIFEXITED(status));
	kill(listener, SIGKILL);
	assert_int_equal(waitpid(listener, NULL, 0), listener);
	return WEXITSTATUS(status);
}

void nodes_assert_owner_only(void)
{
	const struct place_to_be owners[] = { { .node = 0, .uid = NODES_OWNER },
					      { .node = 1,
						.uid = NODES_OWNER } };
	const struct place_to_be other = { .node = 0, .uid = NODES_OTHER_USER };

	for (uint8_t family = 4; family <= 6; family += 2) {
		assert_int_equal(nodes_connect(family, &owners[0], &owners[1]),
				 0);
		assert_int_equal(nodes_connect(family, &owners[1], &owners[0]),
				 0);
		assert_int_not_equal(nodes_connect(family, &other, &owners[1]),
				     0);
	}
}
