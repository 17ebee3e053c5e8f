/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanes/driver/test/crash_world.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/ethernet.h"
#include "lanes/driver/ethernet/gate_maps.h"
#include "lanes/driver/ethernet/members.h"
#include "lanes/driver/test/netns.h"

#define GRANT       9u
#define VNI         4242u
#define RAILS       2u
#define PEER_NUMBER 2u
#define PACKET_MAX  2048
#define NAMESPACES  CRASH_DIRECTORY "/netns"

static bool is_there;
static size_t pin_count;
static int home_fd = -1;

/* --- the world --- */

bool crash_world_enter(void)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	if (!netns_enter())
		return false;
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", CRASH_DIRECTORY, "tmpfs", 0, "mode=0755") < 0) {
		print_message("skipped: nothing can be mounted\n");
		return false;
	}
	/* Packets then pass in the order in which they were sent. */
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	/* What the killed have started comes to us. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	return true;
}

bool crash_is_long(void)
{
	const char *length = getenv("FAIRLEAD_TEST");

	return length && strcmp(length, "long") == 0;
}

bool crash_is_there(void)
{
	return is_there;
}

static const struct fairlead_setting *settings(size_t *count)
{
	static struct fairlead_setting list[4];

	list[0] = (struct fairlead_setting){ "devices", "eth1,eth2", 0 };
	list[1] = (struct fairlead_setting){ "shaping", "true", 0 };
	list[2] = (struct fairlead_setting){ "link_rate", "10G", 0 };
	list[3] = (struct fairlead_setting){ "namespaces", NAMESPACES, 0 };
	*count = 4;
	return list;
}

int crash_try_open(void **ret_state, struct fairlead_error *error)
{
	size_t count;
	const struct fairlead_setting *list = settings(&count);

	return ethernet_node_ops.open(list, count, ret_state, error);
}

void *crash_open(void)
{
	struct fairlead_error error = { 0 };
	void *state;

	if (crash_try_open(&state, &error) < 0)
		fail_msg("the driver does not start: %s", error.text);
	return state;
}

void crash_close(void *state)
{
	ethernet_node_ops.close(state);
}

/* --- lanes --- */

static void ignore(struct fairlead_warnings *warnings, const char *text)
{
	print_message("%s\n", text);
}

static struct ip_address address(const char *text)
{
	struct ip_address result;

	assert_true(ip_address_parse(text, &result));
	return result;
}

static struct fairlead_place peer_place(void)
{
	const struct ethernet_place place_of_peer = {
		.rail_count = RAILS,
		.rails = { { address("10.204.0.2"), 1500 },
			   { address("10.205.0.2"), 1500 } },
	};
	struct writer writer = { .limit = FAIRLEAD_PLACE_MAX };
	struct fairlead_place place;

	assert_int_equal(ethernet_place_encode(&place_of_peer, &writer), 0);
	place.size = writer.size;
	memcpy(place.bytes, writer.data, writer.size);
	writer_fini(&writer);
	return place;
}

void crash_lane_make(struct crash_lane *lane, const char *options)
{
	static const char *const nodes[] = { "n0", "n1" };
	struct fairlead_place places[2] = { [1] = peer_place() };
	const struct fairlead_manager_ops *manager = &ethernet_manager_ops;
	struct fairlead_error error = { 0 };
	uint8_t *members;
	size_t count;
	const struct fairlead_setting *list = settings(&count);
	void *half, *state = crash_open();

	assert_int_equal(ethernet_node_ops.place(state, &places[0], &error), 0);
	crash_close(state);
	assert_int_equal(manager->configure(list, count, &half, &error), 0);
	*lane = (struct crash_lane){
		.lane = { .grant_id = GRANT,
			  .uid = CRASH_OWNER,
			  .gid = CRASH_OWNER,
			  .id_count = 1,
			  .ids = { VNI },
			  .node_count = 2 },
		.is_netns = strstr(options, "netns") != NULL,
	};
	strcpy(lane->lane.options, options);
	if (manager->assemble(half, &lane->lane, nodes, places, 2, &members,
			      &lane->lane.members_size, &error) < 0)
		fail_msg("%s", error.text);
	assert_true(lane->lane.members_size <= sizeof(lane->members));
	memcpy(lane->members, members, lane->lane.members_size);
	free(members);
	manager->destroy(half);
}

int crash_apply(void *state, struct crash_lane *lane)
{
	struct fairlead_warnings warnings = { ignore };
	struct fairlead_error error = { 0 };
	int result;

	lane->lane.members = lane->members;
	result = ethernet_node_ops.apply(state, &lane->lane, false,
					 &lane->record, &warnings, &error);

	if (result < 0)
		print_message("apply: %s\n", error.text);
	return result;
}

int crash_revoke(void *state, struct crash_lane *lane)
{
	struct fairlead_warnings warnings = { ignore };
	struct fairlead_error error = { 0 };
	int result = ethernet_node_ops.revoke(state, &lane->lane, &lane->record,
					      false, &warnings, &error);

	if (result < 0)
		print_message("revoke: %s\n", error.text);
	return result;
}

int crash_revoke_all(void *state, struct crash_lane *lanes, size_t count)
{
	struct fairlead_warnings warnings = { ignore };
	_auto_(freep) struct fairlead_revocation *list =
		calloc(count, sizeof(*list));
	int result = 0;

	assert_non_null(list);
	for (size_t i = 0; i < count; i++)
		list[i] = (struct fairlead_revocation){
			.lane = &lanes[i].lane,
			.record = &lanes[i].record,
			.warnings = &warnings,
			.result = 1, /* it has to be set */
		};
	ethernet_node_ops.revoke_all(state, list, count);
	for (size_t i = 0; i < count && result == 0; i++) {
		result = list[i].result;
		if (result < 0)
			print_message("revoke: %s\n", list[i].error.text);
	}
	return result;
}

/* --- what leaves --- */

/* What comes to the far end of a NIC, from now on. */
static int capture(const char *far_end)
{
	struct sockaddr_ll name = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(far_end),
	};
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	return fd;
}

static void send_text(const struct ip_address *to, const char *text)
{
	struct sockaddr_in name4 = { .sin_family = AF_INET, .sin_port = 9 };
	struct sockaddr_in6 name6 = { .sin6_family = AF_INET6, .sin6_port = 9 };
	bool is_ipv6 = to->family == 6;
	int fd = socket(is_ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);

	memcpy(&name4.sin_addr, to->bytes, 4);
	memcpy(&name6.sin6_addr, to->bytes, 16);
	/* Refused or not, what counts is what leaves. */
	sendto(fd, text, strlen(text), 0,
	       is_ipv6 ? (struct sockaddr *)&name6 : (struct sockaddr *)&name4,
	       is_ipv6 ? sizeof(name6) : sizeof(name4));
	close(fd);
}

static void become(const struct crash_lane *lane, uid_t uid)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), NAMESPACES "/%" PRIu64,
		 lane->lane.grant_id);
	if (lane->is_netns && uid == CRASH_OWNER) {
		fd = open(path, O_RDONLY);
		if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
			_exit(1);
	}
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		_exit(1);
}

static void send_as(const struct crash_lane *lane, uid_t uid, uint32_t rail)
{
	struct ethernet_names names;
	pid_t pid = fork();
	int status;

	assert_int_not_equal(pid, -1);
	ethernet_name(&ethernet_networks_default, lane->lane.ids[0], rail,
		      PEER_NUMBER, &names);
	if (pid == 0) {
		become(lane, uid);
		send_text(&names.ipv4, "through the lane");
		send_text(&names.ipv6, "through the lane");
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* How many packets of the lane have come before root's own. */
static unsigned int count_packets(int fd)
{
	unsigned int count = 0;
	uint8_t bytes[PACKET_MAX];

	for (;;) {
		ssize_t size = recv(fd, bytes, sizeof(bytes), 0);

		assert_true(size > 0);
		if (memmem(bytes, (size_t)size, "all are past", 12))
			return count;
		if (memmem(bytes, (size_t)size, "through the lane", 16))
			count++;
	}
}

bool crash_gets_out(const struct crash_lane *lane, uid_t uid)
{
	static const char *const far_ends[RAILS] = { "p1", "p2" };
	static const char *const peers[RAILS] = { "10.204.0.2", "10.205.0.2" };
	unsigned int count = 0;

	for (uint32_t rail = 0; rail < RAILS; rail++) {
		_auto_(closep) int fd = capture(far_ends[rail]);
		struct ip_address peer = address(peers[rail]);

		send_as(lane, uid, rail);
		send_text(&peer, "all are past");
		count += count_packets(fd);
	}
	/* All of it, or nothing: IPv4 and IPv6, on each rail. */
	if (uid == CRASH_OWNER)
		assert_int_equal(count, 2 * RAILS);
	return count > 0;
}

/* --- what is left --- */

/* Networks and lanes that the gate has. */
static size_t gate_keys(void)
{
	struct gate_key key, *before = NULL;
	_auto_(closep) int fd = -1;
	size_t count = 0;
	glob_t found;

	assert_int_equal(glob("/sys/fs/bpf/fairlead/*/lanes", 0, NULL, &found),
			 0);
	assert_int_equal(found.gl_pathc, 1);
	fd = bpf_obj_get(found.gl_pathv[0]);
	globfree(&found);
	assert_true(fd >= 0);
	while (bpf_map_get_next_key(fd, before, &key) == 0) {
		before = &key;
		count++;
	}
	return count;
}

static size_t gate_pins(void)
{
	size_t count;
	glob_t found;

	count = glob("/sys/fs/bpf/fairlead/*/*", 0, NULL, &found) == 0
			? found.gl_pathc
			: 0;
	globfree(&found);
	return count;
}

void crash_assert_nothing_left(void)
{
	netns_run("test -z \"$(ip -o link show type vxlan)\"");
	netns_run("nft -s list table inet fairlead | "
		  "cmp - " CRASH_DIRECTORY "/rules");
	netns_run("for nic in eth1 eth2; do tc class show dev $nic; done | "
		  "sort | cmp - " CRASH_DIRECTORY "/classes");
	netns_run("test ! -e " NAMESPACES " || test -z \"$(ls -A " NAMESPACES
		  ")\"");
	assert_int_equal(gate_keys(), 2);
	assert_int_equal(gate_pins(), pin_count);
}

/* What a node without lanes has, once it has had one. */
static void take_baseline(void)
{
	struct crash_lane lane;
	void *state;

	crash_lane_make(&lane, "tcs=BEST_EFFORT");
	state = crash_open();
	netns_run("nft -s list table inet fairlead >" CRASH_DIRECTORY "/rules");
	pin_count = gate_pins();
	assert_int_equal(crash_apply(state, &lane), 0);
	/* So that nothing is taken for what it is not. */
	assert_true(crash_gets_out(&lane, CRASH_OWNER));
	netns_run("! nft -s list table inet fairlead | "
		  "cmp -s - " CRASH_DIRECTORY "/rules");
	assert_int_equal(crash_revoke(state, &lane), 0);
	netns_run("for nic in eth1 eth2; do tc class show dev $nic; done | "
		  "sort >" CRASH_DIRECTORY "/classes");
	crash_close(state);
	crash_assert_nothing_left();
}

int crash_setup(void **state)
{
	struct fairlead_error error = { 0 };
	void *node;
	int result;

	home_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	netns_run("ip link set lo up && mount -t bpf bpf /sys/fs/bpf");
	for (int i = 1; i <= 2; i++)
		netns_run("ip link add eth%d type veth peer name p%d && "
			  "ip link set p%d up && ip link set eth%d up && "
			  "ip address add 10.20%d.0.1/16 dev eth%d && "
			  "ip neighbour add 10.20%d.0.2 dev eth%d "
			  "lladdr 02:77:00:00:00:02 nud permanent",
			  i, i, i, i, i + 3, i, i + 3, i);
	result = crash_try_open(&node, &error);
	is_there = result == 0;
	if (result == -EOPNOTSUPP)
		print_message("skipped: %s\n", error.text);
	else if (result < 0)
		fail_msg("%s", error.text);
	if (!is_there)
		return 0;
	crash_close(node);
	take_baseline();
	return 0;
}

int crash_teardown(void **state)
{
	/* With its file system the programs are gone. */
	netns_run("umount /sys/fs/bpf");
	assert_int_equal(setns(home_fd, CLONE_NEWNET), 0);
	close(home_fd);
	return 0;
}
