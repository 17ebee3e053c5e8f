/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All run on one CPU, where the loopback keeps the order of packets: when a
 * later one has come, what is before it has come or has been refused.
 */
#include "lanes/driver/test/gate_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define DISCARD_PORT 9

const struct ethernet_gate_options world_options = {
	.pins = PINS,
	.port = ETHERNET_PORT,
};

const struct who alice = { .uid = ALICE };
const struct who bob = { .uid = BOB };
const struct who root = { .uid = 0 };

static void run(const char *command)
{
	if (system(command) != 0) {
		fprintf(stderr, "failed: %s\n", command);
		abort();
	}
}

static socklen_t make_address(const char *text, uint16_t port,
			      struct sockaddr_storage *ret_address)
{
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)ret_address;
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)ret_address;

	memset(ret_address, 0, sizeof(*ret_address));
	if (inet_pton(AF_INET, text, &ipv4->sin_addr) == 1) {
		ipv4->sin_family = AF_INET;
		ipv4->sin_port = htons(port);
		return sizeof(*ipv4);
	}
	if (inet_pton(AF_INET6, text, &ipv6->sin6_addr) != 1)
		abort();
	ipv6->sin6_family = AF_INET6;
	ipv6->sin6_port = htons(port);
	return sizeof(*ipv6);
}

/* The kernel makes the route to an address of IPv6 some time after the address. */
static void await_route(const char *address)
{
	struct sockaddr_storage target;
	socklen_t size = make_address(address, DISCARD_PORT, &target);
	int fd = socket(target.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	while (connect(fd, (struct sockaddr *)&target, size) < 0)
		sched_yield();
	close(fd);
}

void world_network(void)
{
	static const char *const addresses[] = {
		ALICE4 "/22", ALICE6 "/64", ALICE6P "/64",
		BOB4 "/22",   BOB6 "/64",   NOBODY4,
		NOBODY6,      OTHER4 "/32", OTHER6 "/128",
	};
	char command[128];

	run("ip link set lo up");
	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		snprintf(command, sizeof(command),
			 "ip address add %s dev lo %s", addresses[i],
			 strchr(addresses[i], ':') ? "nodad noprefixroute"
						   : "");
		run(command);
	}
	await_route(ALICE6);
	await_route(ALICE6P);
	await_route(BOB6);
	await_route(NOBODY6);
	await_route(OTHER6);
}

int world_remove(const char *pins)
{
	int result = gate_pins_keep(pins, "", NULL, NULL);

	/* EBUSY: the file system is mounted on the directory itself. */
	if (result == 0 && rmdir(pins) < 0 && errno != ENOENT &&
	    errno != EBUSY && errno != ENOTEMPTY)
		result = -errno;
	return result;
}

/* Said here once, since each test would fail by it. */
static bool has_gate(void)
{
	struct fairlead_error error;
	struct ethernet_gate *gate;
	int result = gate_open(&world_options, &gate, &error);

	if (result == -EOPNOTSUPP || result == -EPERM)
		printf("skipped: %s\n", error.text);
	if (result < 0)
		return result != -EOPNOTSUPP && result != -EPERM;
	gate_close(gate);
	return world_remove(PINS) == 0;
}

bool world_enter(void)
{
	cpu_set_t first;

	if (geteuid() != 0) {
		printf("skipped: needs root, for network namespaces\n");
		return false;
	}
	CPU_ZERO(&first);
	CPU_SET(sched_getcpu(), &first);
	if (sched_setaffinity(0, sizeof(first), &first) < 0 ||
	    unshare(CLONE_NEWNET | CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		perror("namespaces of the test");
		abort();
	}
	/* The machine's own would show where a test unmounts ours. */
	while (umount2("/sys/fs/bpf", MNT_DETACH) == 0)
		;
	if (mount("bpf", "/sys/fs/bpf", "bpf", 0, NULL) < 0) {
		perror("the BPF file system of the test");
		abort();
	}
	world_network();
	return has_gate();
}

const char *world_cgroup(void)
{
	static const char *const mounts[] = { "/sys/fs/cgroup",
					      "/sys/fs/cgroup/unified" };
	uint64_t id;

	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		if (gate_cgroup_id(mounts[i], &id, NULL) == 0)
			return mounts[i];
	}
	fail_msg("no cgroup v2");
	return NULL;
}

struct ethernet_gate *world_open(const struct ethernet_gate_options *options)
{
	struct fairlead_error error = { 0 };
	struct ethernet_gate *gate = NULL;

	if (gate_open(options, &gate, &error) < 0)
		fail_msg("%s", error.text);
	return gate;
}

/* The gate's last entries. */
static struct gate_entry entries[8];
static size_t entry_count;

int world_clear(void **state)
{
	entry_count = 0;
	return world_remove(PINS);
}

size_t world_sets(char name[GATE_SET_NAME_MAX])
{
	struct gate_sets sets;

	assert_int_equal(gate_pins_list(PINS, "", &sets, NULL), 0);
	strcpy(name, sets.names[0]);
	return sets.count;
}

struct gate_entry world_entry(const char *address, uint32_t uid,
			      uint64_t cgroup_id)
{
	struct gate_entry entry = { .uid = uid, .cgroup_id = cgroup_id };

	assert_true(ip_address_parse(address, &entry.address));
	entry.prefix_size = entry.address.family == 4 ? 22 : 64;
	return entry;
}

int world_replace(struct ethernet_gate *gate, const struct gate_entry *lanes,
		  size_t count)
{
	struct gate_entry all[10] = {
		{ .address.family = 4,
		  .address.bytes = { 100, 64 },
		  .prefix_size = 10,
		  .is_network = true },
		{ .address.family = 6,
		  .address.bytes = { 0xfd, 0x46, 0x4c },
		  .prefix_size = 32,
		  .is_network = true },
	};

	assert_true(count <= 8);
	if (count > 0)
		memcpy(all + 2, lanes, count * sizeof(*lanes));
	return gate_replace(gate, all, count + 2, NULL);
}

void world_lanes(struct ethernet_gate *gate)
{
	entries[0] = world_entry(ALICE4, ALICE, 0);
	entries[1] = world_entry(ALICE6, ALICE, 0);
	entries[2] = world_entry(BOB4, BOB, 0);
	entries[3] = world_entry(BOB6, BOB, 0);
	entry_count = 4;
	assert_true(world_replace(gate, entries, 4) >= 0);
}

static struct ip_network network_of(const struct gate_entry *entry)
{
	return ip_network_of(&entry->address, entry->prefix_size);
}

void world_remove_lane(struct ethernet_gate *gate,
		       const struct gate_entry *entry)
{
	struct ip_network gone = network_of(entry);
	size_t kept = 0;

	for (size_t i = 0; i < entry_count; i++) {
		struct ip_network own = network_of(&entries[i]);

		if (!ip_network_meets(&own, &gone))
			entries[kept++] = entries[i];
	}
	entry_count = kept;
	assert_true(world_replace(gate, entries, entry_count) >= 0);
}

void world_add_lane(struct ethernet_gate *gate, const struct gate_entry *entry)
{
	struct ip_network network = network_of(entry);
	size_t i = 0;

	for (; i < entry_count; i++) {
		struct ip_network own = network_of(&entries[i]);

		if (ip_network_meets(&own, &network))
			break;
	}
	assert_true(i < sizeof(entries) / sizeof(entries[0]));
	entries[i] = *entry;
	entry_count += i == entry_count;
	assert_true(world_replace(gate, entries, entry_count) >= 0);
}

int world_lanes_setup(void **state)
{
	*state = world_open(&world_options);
	world_lanes(*state);
	return 0;
}

int world_lanes_teardown(void **state)
{
	gate_close(*state);
	return world_clear(state);
}

static void become(const struct who *who)
{
	char path[256];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (who->cgroup) {
		int fd;

		snprintf(path, sizeof(path), "%s/cgroup.procs", who->cgroup);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "0", 1) != 1)
			_exit(255);
		close(fd);
	}
	if (who->uid != 0 && (setgroups(0, NULL) < 0 ||
			      setresgid(who->uid, who->uid, who->uid) < 0 ||
			      setresuid(who->uid, who->uid, who->uid) < 0))
		_exit(255);
}

int as(const struct who *who, int (*act)(const void *arg), const void *arg)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		become(who);
		_exit(act(arg));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), 255);
	return WEXITSTATUS(status);
}

static int send_from(int fd, const struct sockaddr_storage *target,
		     socklen_t size, const char *source)
{
	struct in_pktinfo ipv4 = { 0 };
	struct in6_pktinfo ipv6 = { 0 };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(ipv6))];
	} control = { 0 };
	struct iovec data = { .iov_base = "lane", .iov_len = 4 };
	struct msghdr message = { .msg_name = (void *)target,
				  .msg_namelen = size,
				  .msg_iov = &data,
				  .msg_iovlen = 1 };

	if (source && inet_pton(AF_INET, source, &ipv4.ipi_spec_dst) == 1) {
		control.header.cmsg_level = IPPROTO_IP;
		control.header.cmsg_type = IP_PKTINFO;
		control.header.cmsg_len = CMSG_LEN(sizeof(ipv4));
		memcpy(CMSG_DATA(&control.header), &ipv4, sizeof(ipv4));
		message.msg_controllen = CMSG_SPACE(sizeof(ipv4));
	} else if (source && inet_pton(AF_INET6, source, &ipv6.ipi6_addr)) {
		control.header.cmsg_level = IPPROTO_IPV6;
		control.header.cmsg_type = IPV6_PKTINFO;
		control.header.cmsg_len = CMSG_LEN(sizeof(ipv6));
		memcpy(CMSG_DATA(&control.header), &ipv6, sizeof(ipv6));
		message.msg_controllen = CMSG_SPACE(sizeof(ipv6));
	}
	if (source)
		message.msg_control = &control;
	return sendmsg(fd, &message, 0) < 0 ? -1 : 0;
}

static int open_socket(int family, int type)
{
	int protocol = type & SOCK_LITE ? IPPROTO_UDPLITE : 0;

	if (type & SOCK_MULTIPATH)
		protocol = IPPROTO_MPTCP;
	return socket(family,
		      (type & ~(SOCK_MULTIPATH | SOCK_LITE)) | SOCK_CLOEXEC,
		      protocol);
}

int try_call(const void *arg)
{
	const struct call *call = arg;
	struct sockaddr_storage address;
	socklen_t size =
		make_address(call->address,
			     call->port ? call->port : DISCARD_PORT, &address);
	int fd = open_socket(address.ss_family, call->type);
	int result = -1;

	if (call->kind == BIND) {
		/* Users may not have the low ones. */
		if (!call->port)
			size = make_address(call->address, 0, &address);
		result = bind(fd, (struct sockaddr *)&address, size);
	} else if (call->kind == CONNECT) {
		result = connect(fd, (struct sockaddr *)&address, size);
	} else {
		result = send_from(fd, &address, size, call->source);
	}
	result = result < 0 ? errno : 0;
	close(fd);
	return result;
}

static const struct call kinds[] = {
	{ .kind = BIND, .type = SOCK_STREAM },
	{ .kind = BIND, .type = SOCK_DGRAM },
	{ .kind = CONNECT, .type = SOCK_STREAM },
	{ .kind = CONNECT, .type = SOCK_DGRAM },
	{ .kind = SEND, .type = SOCK_DGRAM },
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static void check_calls(const struct who *who, const char *address, int other,
			int answer)
{
	for (size_t i = 0; i < KIND_COUNT; i++) {
		struct call call = kinds[i];
		int expected = call.kind == CONNECT && call.type == SOCK_STREAM
				       ? answer
				       : other;
		int result;

		call.address = address;
		result = as(who, try_call, &call);
		if (result != expected)
			fail_msg("user %u, call %d, type %d, %s: %s, not %s",
				 who->uid, call.kind, call.type, address,
				 strerrorname_np(result),
				 strerrorname_np(expected));
	}
}

void assert_passes(const struct who *who, const char *address)
{
	check_calls(who, address, 0, ECONNREFUSED);
}

void assert_refused(const struct who *who, const char *address)
{
	check_calls(who, address, EPERM, EPERM);
}

struct socket_wanted {
	int type;
	const char *address;
	uint16_t port;
	bool is_connected;
	int channel;
};

static int make_socket(const void *arg)
{
	const struct socket_wanted *wanted = arg;
	struct sockaddr_storage address;
	socklen_t size = make_address(wanted->address, wanted->port, &address);
	int fd = open_socket(address.ss_family, wanted->type);
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec data = { .iov_base = "", .iov_len = 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	if (fd < 0)
		return errno;
	if (wanted->is_connected) {
		if (connect(fd, (struct sockaddr *)&address, size) < 0)
			return errno;
	} else if (bind(fd, (struct sockaddr *)&address, size) < 0 ||
		   ((wanted->type & SOCK_STREAM) && listen(fd, 8) < 0)) {
		return errno;
	}
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return sendmsg(wanted->channel, &message, 0) == 1 ? 0 : errno;
}

static int socket_as(const struct who *who, struct socket_wanted wanted)
{
	int channel[2];
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int fd;

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel), 0);
	wanted.channel = channel[1];
	assert_int_equal(as(who, make_socket, &wanted), 0);
	assert_int_equal(recvmsg(channel[0], &message, MSG_CMSG_CLOEXEC), 1);
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	close(channel[0]);
	close(channel[1]);
	return fd;
}

int listen_as(const struct who *who, int type, const char *address,
	      uint16_t port)
{
	return socket_as(who, (struct socket_wanted){ .type = type,
						      .address = address,
						      .port = port });
}

int connect_as(const struct who *who, const char *address, uint16_t port)
{
	return socket_as(who, (struct socket_wanted){ .type = SOCK_DGRAM,
						      .address = address,
						      .port = port,
						      .is_connected = true });
}

bool gets(int fd, const struct who *sender, const char *address,
	  const char *open, uint16_t port)
{
	const struct call call = { .kind = SEND,
				   .type = SOCK_DGRAM,
				   .address = address,
				   .port = port };
	struct sockaddr_storage target;
	socklen_t size = make_address(open, port, &target);
	int last = socket(target.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char text[8];
	bool is_lane;

	assert_int_equal(as(sender, try_call, &call), 0);
	assert_int_equal(sendto(last, "last", 4, 0, (struct sockaddr *)&target,
				size),
			 4);
	assert_int_equal(recv(fd, text, sizeof(text), 0), 4);
	is_lane = memcmp(text, "lane", 4) == 0;
	if (is_lane)
		assert_int_equal(recv(fd, text, sizeof(text), 0), 4);
	assert_memory_equal(text, "last", 4);
	close(last);
	return is_lane;
}

static int begin_connection(const void *arg)
{
	const struct call *call = arg;
	struct sockaddr_storage target;
	socklen_t size = make_address(call->address, call->port, &target);
	int fd = socket(target.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (connect(fd, (struct sockaddr *)&target, size) < 0 &&
	    errno != EINPROGRESS)
		return errno;
	return 0;
}

bool accepts(int fd, const struct who *sender, const char *address,
	     const char *open, uint16_t port)
{
	const struct call call = { .address = address, .port = port };
	struct sockaddr_storage target;
	struct sockaddr_storage local;
	socklen_t size = make_address(open, port, &target);
	socklen_t local_size = sizeof(local);
	int last = socket(target.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int first;
	bool is_lane;

	assert_int_equal(as(sender, begin_connection, &call), 0);
	assert_int_equal(connect(last, (struct sockaddr *)&target, size), 0);
	first = accept(fd, NULL, NULL);
	assert_true(first >= 0);
	assert_int_equal(
		getsockname(first, (struct sockaddr *)&local, &local_size), 0);
	make_address(address, port, &target);
	is_lane = local_size == size && memcmp(&local, &target, size) == 0;
	if (is_lane)
		close(accept(fd, NULL, NULL));
	close(first);
	close(last);
	return is_lane;
}
