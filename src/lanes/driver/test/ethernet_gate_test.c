/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may do what at a lane's addresses. */
#include "lanes/driver/ethernet/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lanes/driver/test/gate_world.h"

static void the_owner_may_use_all_addresses_of_its_lane(void **state)
{
	assert_passes(&alice, ALICE4);
	assert_passes(&alice, ALICE6);
	assert_passes(&alice, ALICE4IN6);
	assert_passes(&alice, ALICE4P);
	assert_passes(&alice, ALICE6P);
	assert_passes(&bob, BOB4);
	assert_passes(&bob, BOB6);
}

static void another_user_may_use_none_of_them(void **state)
{
	assert_refused(&bob, ALICE4);
	assert_refused(&bob, ALICE6);
	assert_refused(&bob, ALICE4IN6);
	assert_refused(&bob, ALICE4P);
	assert_refused(&bob, ALICE6P);
	assert_refused(&alice, BOB4);
	assert_refused(&alice, BOB6);
}

static void an_address_of_no_lane_is_for_root_only(void **state)
{
	assert_refused(&alice, NOBODY4);
	assert_refused(&alice, NOBODY6);
	assert_passes(&root, NOBODY4);
	assert_passes(&root, NOBODY6);
}

static void root_may_use_lanes(void **state)
{
	assert_passes(&root, ALICE4);
	assert_passes(&root, ALICE6);
	assert_passes(&root, ALICE4IN6);
}

static void all_else_is_for_everybody(void **state)
{
	assert_passes(&bob, "127.0.0.1");
	assert_passes(&bob, "::1");
	assert_passes(&bob, OTHER4);
	assert_passes(&bob, OTHER6);
	assert_passes(&bob, OTHER4IN6);
}

static void a_source_chosen_for_one_packet_is_checked(void **state)
{
	struct call call = { .kind = SEND,
			     .type = SOCK_DGRAM,
			     .address = OTHER4,
			     .source = ALICE4 };

	assert_int_equal(as(&bob, try_call, &call), EPERM);
	assert_int_equal(as(&alice, try_call, &call), 0);
	call.address = OTHER6;
	call.source = ALICE6;
	assert_int_equal(as(&bob, try_call, &call), EPERM);
	assert_int_equal(as(&alice, try_call, &call), 0);
}

/* Of one owner's two lanes, both must be its own. */
static void a_source_of_the_one_lane_does_not_open_another(void **state)
{
	const struct call call = { .kind = SEND,
				   .type = SOCK_DGRAM,
				   .address = BOB4,
				   .source = ALICE4 };

	assert_int_equal(as(&alice, try_call, &call), EPERM);
	assert_int_equal(as(&bob, try_call, &call), EPERM);
}

static void another_users_socket_at_no_address_gets_no_datagram(void **state)
{
	int ipv4 = listen_as(&bob, SOCK_DGRAM, "0.0.0.0", 5001);
	int ipv6 = listen_as(&bob, SOCK_DGRAM, "::", 5002);

	assert_false(gets(ipv4, &alice, ALICE4, "127.0.0.1", 5001));
	assert_false(gets(ipv6, &alice, ALICE6, "::1", 5002));
	assert_false(gets(ipv6, &alice, ALICE4, "127.0.0.1", 5002));
	assert_true(gets(ipv4, &bob, BOB4, "127.0.0.1", 5001));
	assert_true(gets(ipv6, &bob, BOB6, "::1", 5002));
	assert_true(gets(ipv6, &bob, BOB4, "127.0.0.1", 5002));
	close(ipv4);
	close(ipv6);
}

static void another_users_listener_at_no_address_gets_no_connection(
	void **state)
{
	int ipv4 = listen_as(&bob, SOCK_STREAM, "0.0.0.0", 5003);
	int ipv6 = listen_as(&bob, SOCK_STREAM, "::", 5004);

	assert_false(accepts(ipv4, &alice, ALICE4, "127.0.0.1", 5003));
	assert_false(accepts(ipv6, &alice, ALICE6, "::1", 5004));
	assert_true(accepts(ipv4, &bob, BOB4, "127.0.0.1", 5003));
	assert_true(accepts(ipv6, &bob, BOB6, "::1", 5004));
	close(ipv4);
	close(ipv6);
}

static void roots_socket_at_no_address_gets_nothing_from_a_lane(void **state)
{
	int datagrams = listen_as(&root, SOCK_DGRAM, "0.0.0.0", 5005);
	int listener = listen_as(&root, SOCK_STREAM, "::", 5005);

	assert_false(gets(datagrams, &alice, ALICE4, "127.0.0.1", 5005));
	assert_false(accepts(listener, &alice, ALICE6, "::1", 5005));
	close(datagrams);
	close(listener);
}

static void roots_socket_at_a_lanes_address_serves_it(void **state)
{
	const struct call call = { .kind = CONNECT,
				   .type = SOCK_STREAM,
				   .address = ALICE4,
				   .port = 5006 };
	int ipv4 = listen_as(&root, SOCK_STREAM, ALICE4, 5006);

	assert_int_equal(as(&alice, try_call, &call), 0);
	assert_int_equal(as(&bob, try_call, &call), EPERM);
	close(ipv4);
}

static void root_has_answers_to_its_ping(void **state)
{
	struct icmphdr echo = { .type = ICMP_ECHO };
	struct sockaddr_in peer = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
	uint8_t answer[128];

	echo.checksum = htons((uint16_t) ~(ICMP_ECHO << 8));
	assert_int_equal(inet_pton(AF_INET, ALICE4, &peer.sin_addr), 1);
	assert_int_equal(sendto(fd, &echo, sizeof(echo), 0,
				(struct sockaddr *)&peer, sizeof(peer)),
			 sizeof(echo));
	do {
		assert_true(recv(fd, answer, sizeof(answer), 0) >=
			    (ssize_t)(sizeof(struct iphdr) + sizeof(echo)));
	} while (answer[sizeof(struct iphdr)] != ICMP_ECHOREPLY);
	close(fd);
}

static void vxlan_by_hand_is_for_root_only(void **state)
{
	static const char *const addresses[] = { OTHER4, OTHER6, OTHER4IN6,
						 ALICE4, ALICE6, ALICE4IN6 };
	struct call call = { .type = SOCK_DGRAM };

	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		call.address = addresses[i];
		for (call.kind = CONNECT; call.kind <= SEND; call.kind++) {
			call.port = ETHERNET_PORT;
			assert_int_equal(as(&alice, try_call, &call), EPERM);
			assert_int_equal(as(&root, try_call, &call), 0);
			call.port = ethernet_port(ETHERNET_PORT, 3);
			assert_int_equal(as(&alice, try_call, &call), EPERM);
			call.port++;
			assert_int_equal(as(&alice, try_call, &call), 0);
			call.port = ETHERNET_PORT - 1;
			assert_int_equal(as(&alice, try_call, &call), 0);
			call.port = ETHERNET_PORT_ROCE;
			assert_int_equal(as(&alice, try_call, &call), 0);
		}
	}
	call.kind = CONNECT;
	call.type = SOCK_STREAM;
	call.port = ETHERNET_PORT;
	assert_int_equal(as(&alice, try_call, &call), ECONNREFUSED);
}

/* The kernel needs them, from the first lane on. */
static void a_port_of_vxlan_is_nobody_s_to_take(void **state)
{
	static const char *const addresses[] = { "0.0.0.0", "::",   "127.0.0.1",
						 OTHER4,    ALICE4, ALICE4IN6 };
	struct call call = { .kind = BIND, .type = SOCK_DGRAM };

	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		call.address = addresses[i];
		call.port = ETHERNET_PORT;
		assert_int_equal(as(&alice, try_call, &call), EPERM);
		assert_int_equal(as(&root, try_call, &call), 0);
		call.port = ethernet_port(ETHERNET_PORT, 3);
		assert_int_equal(as(&alice, try_call, &call), EPERM);
		call.port++;
		assert_int_equal(as(&alice, try_call, &call), 0);
		call.port = ETHERNET_PORT_ROCE;
		assert_int_equal(as(&alice, try_call, &call), 0);
	}
	call.type = SOCK_STREAM;
	call.port = ETHERNET_PORT;
	assert_int_equal(as(&alice, try_call, &call), 0);
}

static void sockets_older_than_the_gate_are_checked(void **state)
{
	struct ethernet_gate *gate;
	int vxlan;
	int lane;
	int mine;

	gate_close(*state);
	*state = NULL;
	assert_int_equal(world_remove(PINS), 0);
	vxlan = connect_as(&bob, OTHER4IN6, ETHERNET_PORT);
	lane = connect_as(&bob, ALICE6, 5008);
	mine = connect_as(&bob, BOB6, 5008);
	assert_int_equal(world_lanes_setup((void **)&gate), 0);
	*state = gate;
	assert_int_equal(send(vxlan, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(send(lane, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(send(mine, "x", 1, 0), 1);
	close(vxlan);
	close(lane);
	close(mine);
}

static int connect_from_elsewhere(const void *arg)
{
	const struct who *who = arg;
	struct sockaddr_in address = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, ALICE4, &address.sin_addr);
	address.sin_port = htons(5009);
	if (unshare(CLONE_NEWNET) < 0 ||
	    setresuid(who->uid, who->uid, who->uid) < 0)
		return 254;
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0
		       ? errno
		       : 0;
}

static void a_socket_that_is_taken_elsewhere_is_checked(void **state)
{
	assert_int_equal(as(&root, connect_from_elsewhere, &bob), EPERM);
	assert_int_equal(as(&root, connect_from_elsewhere, &alice), 0);
}

static void a_cgroup_keeps_out_other_jobs_of_the_owner(void **state)
{
	char job[256];
	char step[300];
	struct who inside = { .uid = ALICE, .cgroup = step };
	const struct who other = { .uid = BOB, .cgroup = job };
	struct gate_entry entry;
	uint64_t id;
	int in;
	int out;

	snprintf(job, sizeof(job), "%s/fairlead-gate-test-%d", world_cgroup(),
		 getpid());
	assert_int_equal(mkdir(job, 0755), 0);
	snprintf(step, sizeof(step), "%s/step", job);
	assert_int_equal(mkdir(step, 0755), 0);
	assert_int_equal(gate_cgroup_id(job, &id, NULL), 0);
	entry = world_entry(ALICE4, ALICE, id);
	world_add_lane(*state, &entry);
	entry = world_entry(ALICE6, ALICE, id);
	world_add_lane(*state, &entry);
	in = listen_as(&inside, SOCK_DGRAM, "::", 5010);
	out = listen_as(&alice, SOCK_DGRAM, "::", 5011);

	assert_passes(&inside, ALICE4);
	assert_passes(&inside, ALICE6);
	assert_refused(&alice, ALICE4);
	assert_refused(&alice, ALICE6);
	assert_refused(&other, ALICE4);
	assert_true(gets(in, &inside, ALICE6, "::1", 5010));
	assert_true(gets(in, &inside, ALICE4, "127.0.0.1", 5010));
	assert_false(gets(out, &inside, ALICE6, "::1", 5011));
	assert_false(gets(out, &inside, ALICE4, "127.0.0.1", 5011));
	inside.cgroup = job;
	assert_passes(&inside, ALICE6);
	close(in);
	close(out);
	assert_int_equal(rmdir(step), 0);
	assert_int_equal(rmdir(job), 0);
}

static void what_is_refused_is_counted(void **state)
{
	struct call call = { .type = SOCK_DGRAM, .address = ALICE4 };
	struct gate_counters counters;
	int fd = listen_as(&bob, SOCK_DGRAM, "0.0.0.0", 5012);

	assert_int_equal(gate_counters(*state, &counters), 0);
	assert_int_equal(counters.refused_bind, 0);
	assert_int_equal(counters.refused_send, 0);
	assert_int_equal(counters.refused_receive, 0);
	assert_int_equal(counters.refused_raw, 0);
	for (call.kind = BIND; call.kind <= SEND; call.kind++)
		assert_int_equal(as(&bob, try_call, &call), EPERM);
	call.kind = SEND;
	call.port = ETHERNET_PORT;
	assert_int_equal(as(&bob, try_call, &call), EPERM);
	assert_false(gets(fd, &alice, ALICE4, "127.0.0.1", 5012));
	assert_int_equal(gate_counters(*state, &counters), 0);
	assert_int_equal(counters.refused_bind, 1);
	assert_int_equal(counters.refused_send, 2);
	assert_int_equal(counters.refused_receive, 1);
	assert_int_equal(counters.refused_raw, 1);
	close(fd);
}

#define TUNNEL                                                              \
	"ip link add fl4242 address 02:00:10:92:00:0%d type vxlan id 4242 " \
	"local 10.9.0.%d remote 10.9.0.%d dstport 4789 && "                 \
	"ip address add 100.64.12.%d/22 dev fl4242 && "                     \
	"ip link set fl4242 up && ip neighbour add 100.64.12.%d "           \
	"lladdr 02:00:10:92:00:0%d dev fl4242"

static void add_tunnel(int number)
{
	const int peer = 3 - number;
	char command[512];

	snprintf(command, sizeof(command), TUNNEL, number, number, peer, number,
		 peer, peer);
	assert_int_equal(system(command), 0);
}

struct peer {
	int ready[2];
	int linked[2];
};

/* A node without a gate: what comes there has passed ours. */
static int be_peer(const struct peer *peer)
{
	char text[8];
	char byte;
	int fd;

	if (unshare(CLONE_NEWNET) < 0 || write(peer->ready[1], "", 1) != 1 ||
	    read(peer->linked[0], &byte, 1) != 1 ||
	    system("ip link set underlay name eth0 up && "
		   "ip address add 10.9.0.2/24 dev eth0") != 0)
		return 1;
	add_tunnel(2);
	fd = listen_as(&root, SOCK_DGRAM, "0.0.0.0", 5015);
	if (write(peer->ready[1], "", 1) != 1)
		return 1;
	return recv(fd, text, sizeof(text), 0) == 4 ? 0 : 1;
}

/* The tunnel's own packets have a socket of root's, or somebody's within. */
static void the_owners_packets_leave_through_the_tunnel(void **state)
{
	const struct gate_entry entry = world_entry("100.64.12.1", ALICE, 0);
	const struct call call = { .kind = SEND,
				   .type = SOCK_DGRAM,
				   .address = "100.64.12.2",
				   .port = 5015 };
	struct gate_counters counters;
	struct peer peer;
	char command[256];
	char byte;
	int status;
	pid_t pid;

	world_add_lane(*state, &entry);
	assert_int_equal(pipe(peer.ready), 0);
	assert_int_equal(pipe(peer.linked), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(be_peer(&peer));
	}
	assert_int_equal(read(peer.ready[0], &byte, 1), 1);
	snprintf(command, sizeof(command),
		 "ip link add eth0 up type veth peer name underlay netns %d "
		 "&& ip address add 10.9.0.1/24 dev eth0",
		 pid);
	assert_int_equal(system(command), 0);
	add_tunnel(1);
	assert_int_equal(write(peer.linked[1], "", 1), 1);
	assert_int_equal(read(peer.ready[0], &byte, 1), 1);
	assert_int_equal(as(&bob, try_call, &call), EPERM);
	assert_int_equal(as(&alice, try_call, &call), 0);
	assert_int_equal(gate_counters(*state, &counters), 0);
	assert_int_equal(counters.refused_raw, 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(system("ip link delete fl4242"), 0);
}

#define GATE_TEST(name)                                          \
	cmocka_unit_test_setup_teardown(name, world_lanes_setup, \
					world_lanes_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		GATE_TEST(the_owner_may_use_all_addresses_of_its_lane),
		GATE_TEST(another_user_may_use_none_of_them),
		GATE_TEST(an_address_of_no_lane_is_for_root_only),
		GATE_TEST(root_may_use_lanes),
		GATE_TEST(all_else_is_for_everybody),
		GATE_TEST(a_source_chosen_for_one_packet_is_checked),
		GATE_TEST(a_source_of_the_one_lane_does_not_open_another),
		GATE_TEST(another_users_socket_at_no_address_gets_no_datagram),
		GATE_TEST(
			another_users_listener_at_no_address_gets_no_connection),
		GATE_TEST(roots_socket_at_no_address_gets_nothing_from_a_lane),
		GATE_TEST(roots_socket_at_a_lanes_address_serves_it),
		GATE_TEST(root_has_answers_to_its_ping),
		GATE_TEST(vxlan_by_hand_is_for_root_only),
		GATE_TEST(a_port_of_vxlan_is_nobody_s_to_take),
		GATE_TEST(sockets_older_than_the_gate_are_checked),
		GATE_TEST(a_socket_that_is_taken_elsewhere_is_checked),
		GATE_TEST(a_cgroup_keeps_out_other_jobs_of_the_owner),
		GATE_TEST(what_is_refused_is_counted),
		GATE_TEST(the_owners_packets_leave_through_the_tunnel),
	};

	if (!world_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
