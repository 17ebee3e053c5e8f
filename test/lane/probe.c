/* SPDX-License-Identifier: BSD-3-Clause */
/* The child answers with one message: a result, and the socket if there is one. */
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- addresses --- */

static socklen_t end_fill(const struct probe_end *end, bool is_mapped,
			  struct sockaddr_storage *ret_name)
{
	struct sockaddr_in6 *name6 = (void *)ret_name;
	struct sockaddr_in *name4 = (void *)ret_name;

	memset(ret_name, 0, sizeof(*ret_name));
	if (end->address.family == 6) {
		name6->sin6_family = AF_INET6;
		name6->sin6_port = htons(end->port);
		memcpy(&name6->sin6_addr, end->address.bytes, 16);
		return sizeof(*name6);
	}
	if (is_mapped) {
		name6->sin6_family = AF_INET6;
		name6->sin6_port = htons(end->port);
		memset(name6->sin6_addr.s6_addr + 10, 0xff, 2);
		memcpy(name6->sin6_addr.s6_addr + 12, end->address.bytes, 4);
		return sizeof(*name6);
	}
	name4->sin_family = AF_INET;
	name4->sin_port = htons(end->port);
	memcpy(&name4->sin_addr, end->address.bytes, 4);
	return sizeof(*name4);
}

/* --- the child --- */

static int become(const struct probe_actor *actor)
{
	if (actor->netns >= 0 && setns(actor->netns, CLONE_NEWNET) < 0)
		return -errno;
	if (actor->uid == 0)
		return 0;
	if (setgroups(0, NULL) < 0 ||
	    setresgid(actor->uid, actor->uid, actor->uid) < 0 ||
	    setresuid(actor->uid, actor->uid, actor->uid) < 0)
		return -errno;
	return 0;
}

/*
 * Before the user changes: what it keeps. Linux 6.18 lets nobody name a way
 * over IPv4 without CAP_NET_RAW; older ones let everybody.
 */
static int raw_keep(void)
{
	return prctl(PR_SET_KEEPCAPS, 1) < 0 ? -errno : 0;
}

static int raw_raise(void)
{
	const cap_value_t raw = CAP_NET_RAW;
	cap_t capabilities = cap_get_proc();
	int result = 0;

	if (capabilities == NULL ||
	    cap_set_flag(capabilities, CAP_EFFECTIVE, 1, &raw, CAP_SET) < 0 ||
	    cap_set_proc(capabilities) < 0)
		result = -errno;
	cap_free(capabilities);
	return result;
}

static int bind_to(int fd, const struct probe_call *call)
{
	struct sockaddr_storage name;
	const int on = 1;

	if (call->device != NULL &&
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, call->device,
		       (socklen_t)strlen(call->device)) < 0)
		return -errno;
	if (call->from.address.family == 0)
		return 0;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (void *)&name,
		 end_fill(&call->from, call->is_mapped, &name)) < 0)
		return -errno;
	return 0;
}

static int tos_set(int fd, int family, const struct probe_call *call)
{
	int tos = call->tos;

	if (family == AF_INET6)
		return setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos,
				  sizeof(tos)) < 0
			       ? -errno
			       : 0;
	return setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)) < 0
		       ? -errno
		       : 0;
}

/*
 * By a routing header of IPv6 (SRv6's), or a loose source route of IPv4: the
 * packet is for the first of them, which sends it on to where it is to go.
 */
static int way_set(int fd, int family, const struct ip_address *via)
{
	uint8_t header[40] = { [1] = 4, [2] = 4, [3] = 1, [4] = 1 };
	uint8_t option[8] = { IPOPT_LSRR, 7, 4 };

	if (family == AF_INET6) {
		memcpy(header + 24, via->bytes, 16);
		return setsockopt(fd, IPPROTO_IPV6, IPV6_RTHDR, header,
				  sizeof(header)) < 0
			       ? -errno
			       : 0;
	}
	memcpy(option + 3, via->bytes, 4);
	return setsockopt(fd, IPPROTO_IP, IP_OPTIONS, option, sizeof(option)) <
			       0
		       ? -errno
		       : 0;
}

static int reach(int fd, const struct probe_call *call)
{
	struct sockaddr_storage name;
	socklen_t size;

	if (call->is_listening)
		return listen(fd, 1) < 0 ? -errno : 0;
	if (call->to.address.family == 0)
		return 0;
	size = end_fill(&call->to, call->is_mapped, &name);
	if (call->type == SOCK_STREAM)
		return connect(fd, (void *)&name, size) < 0 &&
				       errno != EINPROGRESS
			       ? -errno
			       : 0;
	return sendto(fd, call->bytes, call->size, 0, (void *)&name, size) < 0
		       ? -errno
		       : 0;
}

static int call_make(const struct probe_actor *actor,
		     const struct probe_call *call, int *ret_fd)
{
	const struct ip_address *address = call->from.address.family != 0
						   ? &call->from.address
						   : &call->to.address;
	int family =
		address->family == 6 || call->is_mapped ? AF_INET6 : AF_INET;
	bool is_raw = call->via.family == 4;
	int result = is_raw ? raw_keep() : 0;

	if (result == 0)
		result = become(actor);
	if (result == 0 && is_raw)
		result = raw_raise();
	if (result < 0)
		return result;
	*ret_fd = socket(family, call->type | SOCK_NONBLOCK,
			 call->is_multipath       ? IPPROTO_MPTCP
			 : call->type == SOCK_RAW ? IPPROTO_RAW
						  : 0);
	if (*ret_fd < 0)
		return -errno;
	result = call->tos != 0 ? tos_set(*ret_fd, family, call) : 0;
	if (result == 0 && call->via.family != 0)
		result = way_set(*ret_fd, family, &call->via);
	if (result == 0)
		result = bind_to(*ret_fd, call);
	return result < 0 ? result : reach(*ret_fd, call);
}

static void answer(int channel, int result, int fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec part = { &result, sizeof(result) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (result == 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	if (sendmsg(channel, &message, 0) < 0)
		_exit(1);
}

/* --- the parent --- */

static int answer_take(int channel)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	int result = -EIO, fd;
	struct iovec part = { &result, sizeof(result) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) != sizeof(result))
		return -EIO;
	if (result < 0)
		return result;
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}

int probe_open(const struct probe_actor *actor, const struct probe_call *call)
{
	int channel[2], fd = -1, result;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		result = call_make(actor, call, &fd);
		answer(channel[1], result, fd);
		_exit(0);
	}
	close(channel[1]);
	result = pid < 0 ? -errno : answer_take(channel[0]);
	close(channel[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return result;
}

int probe_connected(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
	socklen_t size = sizeof(int);
	int error = 0;

	if (poll(&poll_fd, 1, 0) <= 0)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		return -errno;
	return error != 0 ? -error : 1;
}

int probe_accept(int fd)
{
	int accepted = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	return accepted < 0 ? -errno : accepted;
}

ssize_t probe_receive(int fd, void *bytes, size_t capacity)
{
	ssize_t size = recv(fd, bytes, capacity, MSG_DONTWAIT);

	return size < 0 ? -errno : size;
}

/* --- forgeries --- */

static uint8_t *put(uint8_t *at, const void *bytes, size_t size)
{
	memcpy(at, bytes, size);
	return at + size;
}

static uint8_t *put_u16(uint8_t *at, uint32_t value)
{
	return put(at, (uint8_t[2]){ (uint8_t)(value >> 8), (uint8_t)value },
		   2);
}

static uint32_t sum_of(const uint8_t *bytes, size_t size)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += (uint32_t)bytes[i] << (i % 2 == 0 ? 8 : 0);
	return sum;
}

static uint16_t folded(uint32_t sum)
{
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

struct ip_part {
	const struct probe_end *from, *to;
	uint8_t protocol; /* of what comes next */
	uint16_t id, cut; /* IPv4's: of the packet; its fragment */
};

static uint8_t *put_ip(uint8_t *at, const struct ip_part *ip,
		       size_t payload_size)
{
	uint8_t *begin = at;

	if (ip->to->address.family == 6) {
		at = put(at, "\x60\0\0\0", 4);
		at = put_u16(at, (uint32_t)payload_size);
		at = put(at, (uint8_t[2]){ ip->protocol, 64 }, 2);
		at = put(at, ip->from->address.bytes, 16);
		return put(at, ip->to->address.bytes, 16);
	}
	at = put(at, "\x45\0", 2);
	at = put_u16(at, (uint32_t)payload_size + 20);
	at = put_u16(at, ip->id);
	at = put_u16(at, ip->cut);
	at = put(at, (uint8_t[4]){ 64, ip->protocol }, 4);
	at = put(at, ip->from->address.bytes, 4);
	at = put(at, ip->to->address.bytes, 4);
	put_u16(begin + 10, folded(sum_of(begin, 20)));
	return at;
}

/* With a checksum: IPv6 asks for one. */
static uint8_t *put_udp(uint8_t *at, const struct probe_end *from,
			const struct probe_end *to, const void *payload,
			size_t payload_size)
{
	size_t size = 8 + payload_size;
	size_t address_size = to->address.family == 6 ? 16 : 4;
	uint8_t *begin = at;
	uint32_t sum;

	at = put_u16(at, from->port);
	at = put_u16(at, to->port);
	at = put_u16(at, (uint32_t)size);
	at = put_u16(at, 0);
	at = put(at, payload, payload_size);
	sum = sum_of(begin, size) + IPPROTO_UDP + (uint32_t)size +
	      sum_of(from->address.bytes, address_size) +
	      sum_of(to->address.bytes, address_size);
	put_u16(begin + 6, folded(sum));
	return at;
}

size_t probe_forge(const struct probe_forgery *forgery,
		   uint8_t packet[PROBE_FORGED_MAX])
{
	static const uint8_t from_mac[ETHERNET_MAC_SIZE] = { 2, 9, 9, 9, 9, 9 };
	bool is_ipv6 = forgery->to.address.family == 6;
	struct ip_part ip = { .from = &forgery->from,
			      .to = &forgery->to,
			      .protocol = IPPROTO_UDP };
	uint8_t *at = packet;

	at = put(at, "\x08\0\0\0", 4);
	at = put(at,
		 (uint8_t[4]){ (uint8_t)(forgery->vni >> 16),
			       (uint8_t)(forgery->vni >> 8),
			       (uint8_t)forgery->vni, 0 },
		 4);
	at = put(at, forgery->to_mac, ETHERNET_MAC_SIZE);
	at = put(at, from_mac, ETHERNET_MAC_SIZE);
	at = put_u16(at, is_ipv6 ? 0x86dd : 0x0800);
	at = put_ip(at, &ip, 8 + strlen(forgery->text));
	at = put_udp(at, ip.from, ip.to, forgery->text, strlen(forgery->text));
	return (size_t)(at - packet);
}

/* --- fragments --- */

#define CUT          8 /* where the first ends, in bytes */
#define MORE_IPV4    0x2000
#define MORE_IPV6    1
#define OFFSET_UNITS 8

static uint8_t *put_options(uint8_t *at, uint8_t protocol)
{
	return put(at, (uint8_t[8]){ protocol, 0, 1, 4 }, 8);
}

static void piece_make(struct ip_part ip, size_t index, const uint8_t *bytes,
		       size_t size, struct probe_piece *ret_piece)
{
	bool is_ipv6 = ip.to->address.family == 6;
	uint16_t offset = index == 0 ? 0 : CUT;
	bool is_last = index + 1 == PROBE_PIECES_COUNT;
	uint8_t *at = ret_piece->bytes;

	ip.protocol = is_ipv6 ? IPPROTO_FRAGMENT : IPPROTO_UDP;
	ip.cut = (uint16_t)(offset / OFFSET_UNITS | (is_last ? 0 : MORE_IPV4));
	at = put_ip(at, &ip, size + (is_ipv6 ? 8 : 0));
	if (is_ipv6) {
		at = put(at, (uint8_t[2]){ IPPROTO_DSTOPTS }, 2);
		at = put_u16(at, offset | (is_last ? 0u : MORE_IPV6));
		at = put_u16(at, 0);
		at = put_u16(at, ip.id);
	}
	at = put(at, bytes, size);
	ret_piece->size = (size_t)(at - ret_piece->bytes);
}

void probe_cut(const struct probe_end *from, const struct probe_end *to,
	       const void *payload, size_t size,
	       struct probe_piece ret_pieces[PROBE_PIECES_COUNT])
{
	struct ip_part ip = { .from = from, .to = to };
	uint8_t bytes[PROBE_PIECE_MAX], *at = bytes;

	if (to->address.family == 6)
		at = put_options(put_options(at, IPPROTO_DSTOPTS), IPPROTO_UDP);
	at = put_udp(at, from, to, payload, size);
	/* Others than those of the last trial, of which one may still wait. */
	ip.id = folded(sum_of(payload, size));
	piece_make(ip, 0, bytes, CUT, &ret_pieces[0]);
	piece_make(ip, 1, bytes + CUT, (size_t)(at - bytes) - CUT,
		   &ret_pieces[1]);
}
