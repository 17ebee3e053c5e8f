/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows end for the receiver at a time, not with the sender, so that what is
 * still in queues then does not count.
 */
#include "lane_traffic.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lane_pair.h"
#include "rounds.h"

#define PACKET_SIZE  64
#define WRITE_SIZE   (256u << 10)
#define NS_OF_MS     1000000ull
#define FLOWS_MAX    8
#define PACKETS_MAX  100000
#define EXIT_TROUBLE 1

static struct sockaddr_in bound_at(int fd)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		rounds_die("getsockname");
	return address;
}

struct ends traffic_tcp(int sender, int receiver)
{
	struct sockaddr_in to = bound_at(receiver);
	int accepted, on = 1;

	pair_be_owner();
	if (listen(receiver, 1) < 0)
		rounds_die("listen");
	if (connect(sender, (struct sockaddr *)&to, sizeof(to)) < 0)
		rounds_die("connect");
	accepted = accept4(receiver, NULL, NULL, SOCK_CLOEXEC);
	if (accepted < 0)
		rounds_die("accept");
	pair_be_root();
	close(receiver);
	setsockopt(sender, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return (struct ends){ sender, accepted };
}

void traffic_close(struct ends *ends)
{
	close(ends->sender);
	close(ends->receiver);
	*ends = (struct ends){ -1, -1 };
}

void traffic_pin(int which)
{
	int count = (int)sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(which < count ? which : 0, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		rounds_die("sched_setaffinity");
}

/* --- single packets --- */

static void receive_packet(int fd)
{
	char bytes[PACKET_SIZE];

	if (recv(fd, bytes, sizeof(bytes), MSG_WAITALL) != PACKET_SIZE)
		rounds_die("receive a packet");
}

uint64_t traffic_udp_ns(const struct ends *ends, unsigned int count)
{
	struct sockaddr_in to = bound_at(ends->receiver);
	static uint64_t times[PACKETS_MAX];
	const char bytes[PACKET_SIZE] = { 0 };

	pair_be_owner();
	for (unsigned int i = 0; i < count && i < PACKETS_MAX; i++) {
		uint64_t start = rounds_now_ns();

		if (sendto(ends->sender, bytes, sizeof(bytes), 0,
			   (struct sockaddr *)&to, sizeof(to)) < 0)
			rounds_die("send a packet");
		receive_packet(ends->receiver);
		times[i] = rounds_now_ns() - start;
	}
	pair_be_root();
	return rounds_summarize(times, count).median;
}

static void send_packet(int fd)
{
	const char bytes[PACKET_SIZE] = { 0 };

	if (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) != PACKET_SIZE)
		rounds_die("send a packet");
}

uint64_t traffic_tcp_ns(const struct ends *ends, unsigned int count)
{
	static uint64_t times[PACKETS_MAX];

	for (unsigned int i = 0; i < count && i < PACKETS_MAX; i++) {
		uint64_t start = rounds_now_ns();

		send_packet(ends->sender);
		receive_packet(ends->receiver);
		send_packet(ends->receiver);
		receive_packet(ends->sender);
		times[i] = rounds_now_ns() - start;
	}
	return rounds_summarize(times, count).median / 2;
}

/* --- flows --- */

/* What its receiver has counted, and when the last of it came. */
struct flow {
	uint64_t bytes, until_ns;
};

static char buffer[WRITE_SIZE];

__attribute__((noreturn)) static void flow_send(int fd, uint64_t end_ns)
{
	do {
		if (send(fd, buffer, sizeof(buffer), MSG_NOSIGNAL) < 0)
			_exit(EXIT_TROUBLE);
	} while (rounds_now_ns() < end_ns);
	shutdown(fd, SHUT_WR);
	_exit(0);
}

/* Something is always counted, however late it came on a busy machine. */
__attribute__((noreturn)) static void flow_receive(int fd, uint64_t end_ns,
						   struct flow *flow)
{
	ssize_t size;

	while ((size = recv(fd, buffer, sizeof(buffer), 0)) > 0) {
		if (flow->until_ns >= end_ns)
			continue;
		flow->bytes += (uint64_t)size;
		flow->until_ns = rounds_now_ns();
	}
	_exit(size < 0 ? EXIT_TROUBLE : 0);
}

static pid_t fork_pinned(int which, int is_pinned)
{
	pid_t pid = fork();

	if (pid < 0)
		rounds_die("fork");
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (is_pinned)
		traffic_pin(which);
	return 0;
}

void traffic_flow(const struct ends *ends, unsigned int count,
		  unsigned int milliseconds, int is_pinned, double ret_mbit[])
{
	struct flow *flows = rounds_shared(FLOWS_MAX * sizeof(*flows));
	uint64_t start_ns = rounds_now_ns();
	uint64_t end_ns = start_ns + milliseconds * NS_OF_MS;
	int status;

	for (unsigned int i = 0; i < count; i++) {
		if (fork_pinned(1, is_pinned) == 0)
			flow_receive(ends[i].receiver, end_ns, &flows[i]);
		if (fork_pinned(0, is_pinned) == 0)
			flow_send(ends[i].sender, end_ns);
	}
	for (unsigned int i = 0; i < 2 * count; i++) {
		if (wait(&status) < 0 || status != 0)
			rounds_die("a flow");
	}
	for (unsigned int i = 0; i < count; i++)
		ret_mbit[i] = (double)flows[i].bytes * 8e3 /
			      (double)(flows[i].until_ns - start_ns);
	munmap(flows, FLOWS_MAX * sizeof(*flows));
}
